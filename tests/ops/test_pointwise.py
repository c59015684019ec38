"""Arithmetic, comparisons, rounding, clamp and where: against Python's own arithmetic, and what calls must keep to."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch as torch

whole = st.integers(-1000, 1000)
number = st.floats(-1e6, 1e6)
divisor = number.filter(lambda x: abs(x) > 1e-3)


# ---- against Python ----------------------------------------------------------------------------------------
@given(whole, whole.filter(bool))
def test_integer_division(a, b):
    x, y = torch.tensor([a]), torch.tensor([b])
    assert (x // y).item() == a // b and (x % y).item() == a % b
    assert torch.div(x, y, rounding_mode="trunc").item() == math.trunc(a / b)
    assert torch.fmod(x, y).item() == int(math.fmod(a, b))
    assert torch.gcd(x, y).item() == math.gcd(a, b) and torch.lcm(x, y).item() == math.lcm(a, b)


@given(number, divisor)
def test_float_division(a, b):
    x, y = torch.tensor([a], dtype=torch.float64), torch.tensor([b], dtype=torch.float64)
    assert (x % y).item() == a % b and torch.fmod(x, y).item() == math.fmod(a, b)
    assert (x // y).item() == a // b
    assert torch.hypot(x, y).item() == pytest.approx(math.hypot(a, b))
    assert torch.atan2(x, y).item() == pytest.approx(math.atan2(a, b))


@given(st.integers(-9, 9), st.integers(-5, 9))
def test_integer_powers(a, b):
    found = torch.pow(torch.tensor([a]), torch.tensor([b])).item()
    assert found == (a**b if b >= 0 else {1: 1, -1: (-1) ** b}.get(a, 0))
    if b < 0:
        with pytest.raises(RuntimeError, match="negative integer powers"):
            torch.tensor([a]) ** b


@given(number)
def test_rounding(a):
    x = torch.tensor([a], dtype=torch.float64)
    assert (x.floor().item(), x.ceil().item(), x.trunc().item()) == (math.floor(a), math.ceil(a), math.trunc(a))
    assert x.round().item() == round(a) and x.frac().item() == a - math.trunc(a)
    mantissa, exponent = torch.frexp(x)
    assert (mantissa.item(), exponent.item()) == math.frexp(a) and exponent.dtype is torch.int32
    assert torch.ldexp(mantissa, exponent).item() == a


@given(number, number)
def test_bounds(a, b):
    x, low, high = torch.tensor([a]), min(a, b), max(a, b)
    assert torch.equal(x.clamp(min=b), torch.maximum(x, torch.tensor([b])))
    assert x.clamp(high, low).item() == np.float32(low)
    assert torch.equal(x.clamp(low, high), x)


# ---- dtypes and numbers ------------------------------------------------------------------------------------
def test_comparisons_with_numbers_that_the_dtype_does_not_hold():
    x = torch.tensor([44, 255], dtype=torch.uint8)
    assert (x == 300).tolist() == [False, False]
    assert (x < 300).tolist() == [True, True] == (x >= -1).tolist()


def test_results_of_mixed_types():
    x = torch.tensor([3])
    assert x.clamp(0.5).dtype is torch.float32 and x.pow(0.5).dtype is torch.float32
    assert torch.float_power(x, 2).dtype is torch.float64 and (x / x).dtype is torch.float32
    assert torch.where(x > 0, 1, 2).dtype is torch.int64 and torch.where(x > 0, 1.0, 2).dtype is torch.float32
    assert torch.tensor([True]).square().dtype is torch.int64


def test_two_numbers():
    assert torch.add(2, 3).item() == 5 and torch.mul(2.5, 2).dtype is torch.float32
    with pytest.raises(TypeError):
        torch.pow(2, 3)


def test_alpha():
    x = torch.tensor([1, 2])
    assert torch.add(x, x, alpha=3).tolist() == [4, 8] and torch.rsub(x, 10, alpha=2).tolist() == [8, 6]
    assert x.clone().sub_(x, alpha=2).tolist() == [-1, -2]
    with pytest.raises(RuntimeError, match="floating point"):
        torch.add(x, x, alpha=0.5)
    with pytest.raises(RuntimeError, match="Boolean alpha"):
        torch.add(x, x, alpha=True)


# ---- errors that help --------------------------------------------------------------------------------------
@pytest.mark.parametrize("call, error, words", [
    (lambda x: torch.clamp(x), RuntimeError, "'min' or 'max'"),
    (lambda x: x.clamp(x, 1.0), TypeError, "both be tensors or both be numbers"),
    (lambda x: x.bool() - x.bool(), RuntimeError, "logical_xor"),
    (lambda x: 1 - x.bool(), RuntimeError, "bool tensor"),
    (lambda x: -x.bool(), RuntimeError, "logical_not"),
    (lambda x: x.bool().floor(), NotImplementedError, "'Bool'"),
    (lambda x: x & 1, NotImplementedError, "'Float'"),
    (lambda x: torch.where(x, x, x), RuntimeError, "boolean tensor"),
    (lambda x: torch.isclose(x, x.double()), RuntimeError, "Float did not match Double"),
    (lambda x: torch.lerp(x, x.double(), 0.5), RuntimeError, "expected dtype"),
    (lambda x: torch.addcdiv(x, x.int(), x.int()), RuntimeError, "Integer division"),
    (lambda x: x.int() // 0, RuntimeError, "ZeroDivisionError"),
    (lambda x: torch.div(x, x, rounding_mode="up"), RuntimeError, "rounding_mode"),
    (lambda x: torch.atan2(x, 1.0), TypeError, "must be Tensor"),
    (lambda x: x.float_power_(2), RuntimeError, "float64"),
    (lambda x: x.add("1"), TypeError, "Tensor or a number"),
    (lambda x: x.add_(torch.zeros(3, 1)), RuntimeError, "broadcast shape"),
])
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call(torch.tensor([1.0, 2.0]))


# ---- forms of a call ---------------------------------------------------------------------------------------
FORMS = """abs acos ceil cos deg2rad erf exp floor log1p neg reciprocal round rsqrt sigmoid sign sin sqrt square tanh
trunc""".split()
MORE = "log lgamma digamma erfinv sinc logit nan_to_num frac exp2 i0 acosh atanh".split()


@pytest.mark.parametrize("name", FORMS)
def test_function_method_in_place_and_out(name):
    x = torch.tensor([0.25, 0.75])
    wanted = getattr(torch, name)(x)
    out = torch.empty(2)
    assert getattr(torch, name)(x, out=out) is out and torch.equal(out, wanted)
    assert torch.equal(getattr(x, name)(), wanted)
    assert getattr(x, name + "_")() is x and torch.equal(x, wanted)


def test_where_alone_gives_indices():
    x = torch.tensor([[0, 1], [2, 0]])
    assert [i.tolist() for i in torch.where(x > 0)] == [[0, 1], [1, 0]]


def test_in_place_with_smaller_and_larger_operands():
    x = torch.zeros(2, 3)
    x += torch.ones(3)
    x *= torch.tensor(2.0)
    assert x.tolist() == [[2.0] * 3] * 2
    with pytest.raises(RuntimeError):
        torch.ones(3).mul_(x)


@given(st.lists(number, min_size=1), st.integers(0, 2**16))
def test_where_takes_the_rest_from_other(values, seed):
    x = np.array(values)
    mask = np.random.default_rng(seed).random(x.shape) < 0.5
    found = torch.where(torch.from_numpy(mask), torch.from_numpy(x), -1.0)
    np.testing.assert_array_equal(found.numpy(), np.where(mask, x, -1.0))


# ---- gradients where there are several ---------------------------------------------------------------------
def slope(f, *values):
    xs = [torch.tensor([v], dtype=torch.float64, requires_grad=True) for v in values]
    return [g.item() for g in torch.autograd.grad(f(*xs).sum(), xs, materialize_grads=True)]


def test_gradients_at_ties_and_kinks():
    assert slope(torch.maximum, 1.0, 1.0) == [0.5, 0.5] and slope(torch.fmax, 1.0, 1.0) == [1.0, 0.0]
    assert slope(torch.abs, 0.0) == [0.0] and slope(torch.sinc, 0.0) == [0.0]
    assert slope(lambda x: x.clamp(0.0, 1.0), 1.0) == [1.0] and slope(lambda x: x.clamp(0.0, 1.0), 1.5) == [0.0]
    assert slope(torch.pow, 0.0, 0.0) == [0.0, 0.0] and slope(torch.atan2, 0.0, 0.0) == [0.0, 0.0]
    assert slope(torch.clamp, 2.0, 3.0, 1.0) == [0.0, 0.0, 1.0]        # bounds that cross: the upper one


def test_second_derivative_of_sinc_at_0():
    x = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    first, = torch.autograd.grad(torch.sinc(x).sum(), x, create_graph=True)
    second, = torch.autograd.grad(first.sum(), x)          # PyTorch has NaN here
    assert second.item() == pytest.approx(-(math.pi**2) / 3)


def test_zero_gradients_even_of_infinite_ones():
    x = torch.tensor([1.5], requires_grad=True)
    for f in (torch.floor, torch.sign, torch.round):
        g, = torch.autograd.grad(f(x), x, torch.tensor([math.inf]))
        assert g.item() == 0.0


def test_no_warnings():
    x = torch.tensor([0.0, -1.0, math.inf, -math.inf, math.nan, 1e38])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"minitorch\.")   # as the package has it
        for name in FORMS + MORE:
            getattr(torch, name)(x)
        x / 0, x // 0.0, x % 0.0, torch.pow(x, x), torch.xlogy(x, x), torch.logaddexp(x, x), torch.hypot(x, x)
        torch.special.ndtri(x), torch.special.zeta(x, x), torch.special.log_ndtr(x), torch.igamma(x, x)
    assert not caught, [str(w.message) for w in caught]


def test_infinities_are_replaced_by_what_is_given():
    x = torch.tensor([float("inf"), -float("inf"), float("nan"), 1.0])
    assert x.nan_to_num(5.0, 6.0, -7.0).tolist() == [6, -7, 5, 1]
    limit = torch.finfo(torch.float32).max
    assert x.nan_to_num().tolist() == [limit, -limit, 0, 1] and x.nan_to_num(neginf=3.0).tolist() == [limit, 3, 0, 1]
    assert torch.tensor([3]).nan_to_num(1.0).tolist() == [3]


vector = torch.tensor([0.5, 1.0, 2.0])


def test_the_slope_of_logit_at_its_bounds():
    x = torch.tensor([0.2, 0.25, 0.5, 0.75, 0.8], requires_grad=True)
    torch.logit(x, 0.25).sum().backward()
    np.testing.assert_allclose(x.grad.tolist(), [0, 1 / 0.1875, 4, 1 / 0.1875, 0], rtol=1e-6)


def test_equal_looks_at_shapes_and_at_values():
    assert torch.equal(vector, vector.clone()) and not torch.equal(vector, -vector)
    assert not torch.equal(torch.ones(2), torch.ones(3)) and not torch.equal(torch.ones(1), torch.ones(3))


def test_bounds_of_both_kinds():
    x = torch.tensor([-1.0, 0.5, 3.0], requires_grad=True)
    high = torch.tensor(1.0)
    assert x.clamp(0, high).tolist() == [0, 0.5, 1] == x.clip(torch.tensor(0.0), 1).tolist()
    x.clamp(0, high).sum().backward()
    assert x.grad.tolist() == [0, 1, 0]
    assert torch.arange(3).clamp(0.5, torch.tensor(1)).tolist() == [0.5, 1, 1]
    with pytest.raises(TypeError, match="both"):
        x.clamp(0, torch.ones(3))
