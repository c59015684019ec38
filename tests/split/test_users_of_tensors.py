"""Differences that programs of users of tensors met: views that a Function makes, masks without elements, numbers."""

import math
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch.autograd import Function
from minitorch.distributed import threads
from minitorch.nn.parallel import DistributedDataParallel


# ---- views that a Function has made ------------------------------------------------------------------------
class Same(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return 7 * g


class Rest(Function):
    @staticmethod
    def forward(ctx, x):
        return x[1:]

    @staticmethod
    def backward(ctx, g):
        return torch.cat([g.new_zeros(1), 7 * g])


class FreshView(Function):
    @staticmethod
    def forward(ctx, x):
        return (2 * x).view(-1)

    @staticmethod
    def backward(ctx, g):
        return 2 * g


@pytest.mark.parametrize("function", [Same, Rest])
@pytest.mark.parametrize("view", [lambda y: y, lambda y: y[0], lambda y: y.view(-1, 1), lambda y: y.unbind()[0]],
                         ids=["itself", "element", "view", "unbind"])
def test_a_view_that_a_function_has_made_is_not_written_to(function, view):
    x = torch.ones(3, requires_grad=True)
    a = x * 1
    y = function.apply(a)
    assert y._base is a and y.data_ptr() in (a.data_ptr(), a[1:].data_ptr()) and y._is_view() and not a._is_view()
    with pytest.raises(RuntimeError, match="custom Function"):
        view(y).mul_(2)
    assert a.tolist() == [1, 1, 1]                         # nothing was written before the refusal
    y.sum().backward()
    assert x.grad.tolist() == ([7, 7, 7] if function is Same else [0, 7, 7])


def test_a_write_to_the_base_makes_gradients_through_the_functions_view_an_error():
    x = torch.ones(3, requires_grad=True)
    a = x * 1
    y, other = Rest.apply(a), a[:2]
    part = y[0]
    a.mul_(3)
    assert y.tolist() == [3, 3] and other.grad_fn.name() == "AsStridedBackward0"
    for stale in (y, part):
        with pytest.raises(RuntimeError, match="its base or another view of its base has been modified"):
            stale.sum().backward(retain_graph=True)
    (a + other.sum()).sum().backward()
    assert x.grad.tolist() == [12, 12, 3]


def test_views_of_what_a_function_itself_has_made_are_not_written_to_either():
    y = FreshView.apply(torch.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="in-place"):
        y[1:].mul_(5)


def test_without_a_graph_views_of_functions_are_like_any_others():
    a = torch.ones(3)
    Rest.apply(a).mul_(2)
    assert a.tolist() == [1, 2, 2]
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        Same.apply(x * 1).mul_(2)


class Forgetful(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x.mul_(2))
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g


def test_a_dirty_input_must_be_returned():
    for x in (torch.ones(2), torch.ones(2, requires_grad=True) * 1):
        with pytest.raises(RuntimeError, match="marked as dirty"):
            Forgetful.apply(x)


class Scaled(Function):
    @staticmethod
    def forward(ctx, x, k=2):
        return x * k

    @staticmethod
    def backward(ctx, g):
        return 3 * g, None


class ScaledApart(Function):
    @staticmethod
    def forward(x, k=2):
        return x * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.k = inputs

    @staticmethod
    def backward(ctx, g):
        return ctx.k * g, None


def test_keywords_and_defaults_have_their_places():
    x = torch.ones(2, requires_grad=True)
    assert Scaled.apply(x, k=5).tolist() == [5, 5] and Scaled.apply(k=4, x=x).tolist() == [4, 4]
    assert torch.autograd.grad(Scaled.apply(x, k=5).sum(), x)[0].tolist() == [3, 3]
    for call, k in ((lambda: ScaledApart.apply(x), 2), (lambda: ScaledApart.apply(x, k=5), 5)):
        assert torch.autograd.grad(call().sum(), x)[0].tolist() == [k, k]
    with pytest.raises(TypeError):
        Scaled.apply(x, wrong=5)


class Squared(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_forward(x)
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 2 * x * g

    @staticmethod
    def jvp(ctx, t):
        x, = ctx.saved_tensors
        return 2 * x * t


def test_what_is_kept_for_both_modes_is_checked_and_freed():
    x = torch.ones(3, requires_grad=True)
    w = x * 1
    y = Squared.apply(w)
    w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    y = Squared.apply(x)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        list(y.grad_fn.saved_tensors)


def test_what_is_kept_for_forward_mode_serves_all_levels():
    def slope(x):
        return torch.func.jvp(OnlyForward.apply, (x,), (torch.ones(2),))[1]

    class OnlyForward(Squared):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(x)
            return x * x

    x = torch.tensor([1.0, 3.0])
    assert torch.func.jvp(slope, (x,), (torch.ones(2),))[1].tolist() == [2, 2]


# ---- masks -------------------------------------------------------------------------------------------------
@settings(max_examples=30)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=3), st.data())
def test_a_mask_must_have_the_size_of_what_it_selects_from(shape, data):
    x = torch.zeros(shape)
    at = data.draw(st.integers(0, len(shape) - 1))
    mask = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=len(shape) - at))
    index = (slice(None),) * at + (torch.zeros(mask, dtype=torch.bool),)
    if list(mask) == shape[at:at + len(mask)]:
        assert list(x[index].shape) == [*shape[:at], 0, *shape[at + len(mask):]]
        x[index] = 1
        return
    with pytest.raises(IndexError, match="shape of the mask"):
        x[index]
    with pytest.raises(IndexError, match="shape of the mask"):
        x[index] = 1


def test_the_indices_of_nonzero_elements_are_contiguous():
    found = torch.arange(24).reshape(2, 3, 4).nonzero(as_tuple=True)
    assert all(i.is_contiguous() for i in found) and torch.where(torch.ones(2, 2) > 0)[1].stride() == (1,)


# ---- numbers -----------------------------------------------------------------------------------------------
@settings(max_examples=30)
@given(st.integers(-2**66, 2**66), st.sampled_from([torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]))
def test_integers_wrap_around_up_to_64_bits_and_not_beyond(n, dtype):
    x = torch.ones(1, dtype=dtype)
    if -2**63 <= n < 2**64:
        bits = 8 * dtype.itemsize
        want = (n + 1) % 2**bits
        assert (x + n).item() == (want - 2**bits if dtype.is_signed and want >= 2**(bits - 1) else want)
    else:
        with pytest.raises(OverflowError):
            x + n


def test_data_out_of_range_is_refused_by_kind():
    with pytest.raises(OverflowError):
        torch.tensor([-1], dtype=torch.uint64)
    for dtype in (torch.float32, torch.int32):
        with pytest.raises(TypeError, match="not complex"):
            torch.tensor([1j], dtype=dtype)
    with pytest.raises(RuntimeError, match="Unknown Complex"):
        torch.int32.to_complex()
    with pytest.raises(RuntimeError, match="bool"):
        +torch.tensor(True)


@settings(max_examples=30)
@given(st.complex_numbers(max_magnitude=10), st.complex_numbers(max_magnitude=10), st.integers(0, 5))
def test_complex_numbers_at_equal_distances(start, end, steps):
    found = torch.linspace(start, end, steps)
    assert found.dtype == torch.complex64
    np.testing.assert_allclose(found.numpy(), np.linspace(start, end, steps), rtol=1e-5, atol=1e-5)
    powers = torch.logspace(start / 10, end / 10, steps, dtype=torch.complex128)
    np.testing.assert_allclose(powers.numpy(), 10.0 ** np.linspace(start / 10, end / 10, steps), rtol=1e-9)
    with pytest.raises(RuntimeError, match="safely cast"):
        torch.linspace(start, end, steps, dtype=torch.float32)


def test_bounds_of_both_kinds():
    x = torch.tensor([-1.0, 0.5, 3.0], requires_grad=True)
    high = torch.tensor(1.0)
    assert x.clamp(0, high).tolist() == [0, 0.5, 1] == x.clip(torch.tensor(0.0), 1).tolist()
    x.clamp(0, high).sum().backward()
    assert x.grad.tolist() == [0, 1, 0]
    assert torch.arange(3).clamp(0.5, torch.tensor(1)).tolist() == [0.5, 1, 1]
    with pytest.raises(TypeError, match="both"):
        x.clamp(0, torch.ones(3))


def test_frequencies_of_no_samples_and_no_distance():
    assert torch.fft.fftfreq(0).shape == (0,) and math.isnan(torch.fft.rfftfreq(0).item())
    found = torch.fft.fftfreq(4, 0.0).tolist()
    assert math.isnan(found[0]) and found[1:] == [math.inf, -math.inf, -math.inf]
    with pytest.raises(RuntimeError, match="floating point"):
        torch.fft.fftfreq(4, dtype=torch.int64)


# ---- linear algebra ----------------------------------------------------------------------------------------
def test_singular_values_of_nan_are_a_linalg_error():
    x = torch.full((2, 2), math.nan)
    for function in (torch.linalg.svd, torch.linalg.svdvals, torch.linalg.pinv, torch.linalg.matrix_rank):
        with pytest.raises(torch.linalg.LinAlgError, match="failed to converge"):
            function(x)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_the_gradient_through_eigenvectors_is_symmetric(dtype):
    torch.manual_seed(0)
    x = torch.randn(4, 4, dtype=dtype)
    x = (x + x.mH).requires_grad_()
    weight = torch.randn(4, 4, dtype=torch.float64)
    values, vectors = torch.linalg.eigh(x)
    g, = torch.autograd.grad((vectors.abs() * weight).sum() + values.pow(2).sum(), x)
    assert torch.allclose(g, g.mH)

    def loss(x):
        values, vectors = torch.linalg.eigh(x)
        return (vectors.abs() * weight).sum() + values.pow(2).sum()

    step = torch.randn(4, 4, dtype=dtype)
    step = (step + step.mH) * 1e-6
    with torch.no_grad():
        change = loss(x + step) - loss(x - step)
    assert abs(change - 2 * (g.conj() * step).sum().real) < 1e-9


# ---- Python's protocols ------------------------------------------------------------------------------------
def test_reversed_and_states():
    x = torch.arange(6).reshape(2, 3)
    assert reversed(x).tolist() == [[3, 4, 5], [0, 1, 2]] and reversed(torch.tensor(3)).item() == 3
    g = torch.Generator()
    assert g.set_state(g.get_state()) is g


def test_a_sparse_tensor_of_one_element_is_a_number():
    x = torch.tensor([2.5]).to_sparse()
    assert bool(x) and float(x) == 2.5 and int(x) == 2 and x.item() == 2.5 and not bool(torch.zeros(1).to_sparse())
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(torch.ones(2).to_sparse())


# ---- memory ------------------------------------------------------------------------------------------------
def test_memory_formats_of_new_memory():
    last = torch.channels_last
    assert torch.empty(2, 3, 4, 5, memory_format=last).is_contiguous(memory_format=last)
    assert torch.empty((2, 3, 4, 5, 6), memory_format=torch.channels_last_3d).stride() == (360, 1, 90, 18, 3)
    x = torch.arange(120.0).resize_(2, 3, 4, 5, memory_format=last)
    assert x.stride() == (60, 1, 15, 3) and x.permute(0, 2, 3, 1).flatten().tolist() == list(range(120))
    with pytest.raises(RuntimeError, match="rank 4"):
        torch.empty(2, 3, memory_format=last)
    with pytest.raises(RuntimeError, match="Preserve"):
        torch.empty(2, 3, memory_format=torch.preserve_format)


def test_views_as_another_dtype():
    x = torch.ones(4, requires_grad=True)
    bits = x.view(torch.int32)
    assert bits.tolist() == [0x3F800000] * 4 and not x.view(torch.float32).requires_grad
    bits[0] = 0
    assert x.tolist() == [0, 1, 1, 1] and x._version == 1
    with pytest.raises(RuntimeError, match="divisible by 2"):
        torch.ones(3, dtype=torch.int8)[1:].view(torch.int16)
    assert torch.ones(4, dtype=torch.int8)[2:].view(torch.int16).tolist() == [257]


# ---- functions of the package that pass tensors on ---------------------------------------------------------
def test_the_output_of_a_parallel_model_is_written_to():
    def program(rank):
        model = DistributedDataParallel(torch.nn.Linear(2, 1))
        out = model(torch.ones(3, 2))
        out.mul_(rank + 1)
        out.sum().backward()
        return model.module.weight.grad.tolist()

    assert threads.run(program, 2, timeout=timedelta(seconds=20)) == [[[4.5, 4.5]]] * 2


def test_a_hooked_module_before_one_in_place_is_refused_as_in_pytorch():
    linear = torch.nn.Linear(2, 2)
    linear.register_full_backward_hook(lambda module, grad_input, grad_output: None)
    with pytest.raises(RuntimeError, match="in-?place"):
        torch.nn.Sequential(linear, torch.nn.ReLU(inplace=True))(torch.ones(1, 2, requires_grad=True))
