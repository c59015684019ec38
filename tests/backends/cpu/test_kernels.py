"""Every kernel of the CPU backend against the reference of its op definition, because it exists.

The samples are the definition's own, small and large; a kernel that they do not reach brings further ones:
``@kernel("name", sample=...)``, a function of a `Draw` that returns inputs and attributes.
"""

import ast
import inspect
import random
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch
from minitorch.backends.cpu.backend import CPU, cpu
from minitorch.backends.kernels import Kernels
from minitorch.core.arrays import is_half
from minitorch.core.backend import Reference, widened
from minitorch.core.registry import OPS
from minitorch.ops.dims import is_elementwise
from minitorch.testing.strategies import Draw

SPECIAL = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan]
DTYPES = ["float64", "float32", "float16"]
FEW, OWN = 5, 20                                           # how many samples of a definition and of a kernel are drawn
each_kernel = pytest.mark.parametrize("name", sorted(cpu.kernels))


# ---- samples -----------------------------------------------------------------------------------------------
class Large(Draw):
    """Draws arrays of some ten thousand elements wherever a definition leaves the sizes open."""

    def shape(self, min_dims=0, max_dims=3, min_side=1, max_side=3):
        found = [s for s in ((9000,), (90, 100), (4, 3, 750), (30, 7, 40)) if min_dims <= len(s) <= max_dims]
        return self.choice(found) if found else super().shape(min_dims, max_dims, min_side, max_side)

    def broadcastable(self, n, max_dims=3, max_side=3):
        full = self.shape(0, max_dims)
        return [full, *[full[self.int(0, len(full)):] for _ in range(n - 1)]]

    def shapes_of(self, text):
        small = Draw(self.rng).shapes_of(text)             # equal sizes stay equal
        return [tuple([(1, 8, 30, 40)[n] for n in shape]) for shape in small]


def samples_of(name, dtype):
    """(inputs, attributes) of floats of `dtype`, small samples first."""
    rng, row, own = random.Random(name), OPS[name], getattr(cpu.kernels[name], "sample", None)
    draws = [Draw(rng).op_sample(row) for _ in range(FEW)]
    draws += [Large(rng).op_sample(row) for _ in range(FEW)]
    draws += [own(Draw(rng)) for _ in range(OWN if own else 0)]
    for inputs, attrs in draws:
        yield [cast(x, dtype) for x in inputs], attrs


def cast(x, dtype):
    return x.astype(dtype) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x


def layouts(inputs):
    """The inputs as they are, transposed in memory, and with gaps between their elements."""
    yield inputs
    yield [np.asarray(x, order="F") if isinstance(x, np.ndarray) else x for x in inputs]
    yield [np.repeat(x, 2, -1)[..., ::2] if isinstance(x, np.ndarray) and x.ndim else x for x in inputs]


# ---- what is compared --------------------------------------------------------------------------------------
class Counted(CPU):
    """The CPU, counting how often a kernel falls back to the reference of its own op."""

    def __init__(self, name):
        super().__init__(cpu.device, cpu.xp, cpu.kernels)
        self.fallbacks, reference = 0, Reference(self)
        original = getattr(reference, name)

        def counted(*inputs, **attrs):
            self.fallbacks += 1
            return original(*inputs, **attrs)
        setattr(reference, name, counted)
        self.reference = reference


def kernel_of(backend, name, lean=False):
    """The kernel as calls use it: 16-bit floats are widened for it unless it takes them."""
    found = backend.kernels[name]
    function = (found.lean if lean else found).__get__(backend)
    row = OPS[name]
    keeps = not lean and row.keeps
    return function if found.takes_halves or not row.promotion or row.native else widened(backend, function, keeps)


def call(function, inputs, attrs):
    """The results as a list, of raw NumPy arrays."""
    minitorch.manual_seed(0)
    attrs = {k: (minitorch.core.dtypes.as_np(v) if k == "dtype" and v is not None else v) for k, v in attrs.items()}
    out = function(*inputs, **attrs)
    return list(out) if isinstance(out, (tuple, list)) else [out]


def agree(a, b, largest):
    """Equal dtypes, shapes and values, floats up to rounding in another order; `largest`: the size of the inputs."""
    assert np.asarray(a).dtype == np.asarray(b).dtype and np.shape(a) == np.shape(b)
    a, b = np.asarray(a), np.asarray(b)
    if b.dtype.kind != "f":
        return np.testing.assert_array_equal(a, b)
    room = np.finfo(b.dtype).eps * (4 if is_half(b.dtype) else 64)
    wide = b.astype("float64")
    scale = max(1.0, np.abs(wide[np.isfinite(wide)]).max(initial=0), largest**0.5 if b.size < largest else 0.0)
    np.testing.assert_allclose(a.astype("float64"), wide, room, room * scale)


def compare(name, found, expected, inputs):
    """The first results, and what is kept for the backward pass where kernel and reference keep the same."""
    largest = max([x.size for x in inputs if isinstance(x, np.ndarray)], default=0)
    kept = len(OPS[name].keeps)
    for i, (a, b) in enumerate(zip(found, expected)):
        if i < len(expected) - kept:
            for one, other in zip(*[x if isinstance(x, (tuple, list)) else [x] for x in (a, b)], strict=True):
                if one is not None and other is not None:  # gradients that nobody asked for
                    agree(one, other, largest)
        elif isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and (a.shape, a.dtype) == (b.shape, b.dtype):
            agree(a, b, largest)


@each_kernel
@pytest.mark.parametrize("dtype", DTYPES)
def test_kernel_agrees_with_its_reference(name, dtype):
    kernel, reference = kernel_of(cpu, name), getattr(cpu.reference, name)
    lean = kernel_of(cpu, name, lean=True) if cpu.kernels[name].lean else None
    for inputs, attrs in samples_of(name, dtype):
        for arrays in layouts(inputs):
            before = [x.copy() if isinstance(x, np.ndarray) else x for x in arrays]
            try:
                expected = call(reference, arrays, attrs)
            except (RuntimeError, TypeError) as error:     # the op does not take this dtype
                with pytest.raises(type(error)):
                    call(kernel, arrays, attrs)
                continue
            compare(name, call(kernel, arrays, attrs), expected, arrays)
            if lean:
                compare(name, call(lean, arrays, attrs), expected[:len(expected) - len(OPS[name].keeps)], arrays)
            for x, old in zip(arrays, before):
                assert not isinstance(x, np.ndarray) or np.array_equal(x, old, x.dtype.kind == "f"), "input written to"


ELEMENTWISE = [name for name in sorted(cpu.kernels) if not (
    OPS[name].sample or OPS[name].attrs or OPS[name].keeps or OPS[name].outputs != 1
    or OPS[name].dims and not is_elementwise(OPS[name]))]


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("dtype", DTYPES[:2])
@pytest.mark.parametrize("size", [7, 200, 9000])
def test_elementwise_kernels_agree_on_special_values(name, dtype, size):
    draw, row = np.random.default_rng(size), OPS[name]
    arrays = [draw.random(size) < 0.5 if x.kind == "other" else draw.choice(np.array(SPECIAL, dtype), size)
              for x in row.inputs]
    a, b = [np.asarray(f(*arrays)) for f in (kernel_of(cpu, name), getattr(cpu.reference, name))]
    assert a.dtype == b.dtype and a.shape == b.shape
    np.testing.assert_allclose(a, b, 64 * np.finfo(dtype).eps, np.finfo(dtype).tiny)


OF_ONE = [name for name in sorted(cpu.kernels) if len(OPS[name].inputs) == 1 and not OPS[name].sample
          and OPS[name].inputs[0].kind != "variadic"
          and not any(default is inspect.Parameter.empty for _, default in OPS[name].attrs)]


@pytest.mark.parametrize("name", OF_ONE)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (0, 3)], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_kernels_agree_on_numbers_and_empty_arrays(name, shape):
    for dtype in DTYPES[:2]:
        x = np.full(shape, 0.6, dtype)
        try:
            expected = call(getattr(cpu.reference, name), [x], {})
        except (RuntimeError, IndexError) as error:        # an extreme of nothing
            with pytest.raises(type(error)):
                call(kernel_of(cpu, name), [x], {})
            continue
        compare(name, call(kernel_of(cpu, name), [x], {}), expected, [x])


# ---- samples reach the kernels -----------------------------------------------------------------------------
def returns_of(function):
    """The lines (first, last) of a function's own ``return`` statements; those that call the reference do not count."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    definition = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    inside = {n for f in ast.walk(definition) if isinstance(f, (ast.FunctionDef, ast.Lambda)) and f is not definition
              for n in ast.walk(f)}
    first = function.__code__.co_firstlineno - 1
    return [(first + n.lineno, first + n.end_lineno) for n in ast.walk(definition)
            if isinstance(n, ast.Return) and n not in inside and "F.reference" not in ast.unparse(n)]


@each_kernel
def test_samples_reach_every_return_of_a_kernel(name):
    """A kernel for arrays of some size must be given such arrays, or nothing was compared."""
    backend = Counted(name)
    function, ran, runs = inspect.unwrap(cpu.kernels[name]), set(), 0

    def trace(frame, event, arg):
        if frame.f_code is function.__code__:
            ran.add(frame.f_lineno)
            return trace

    for dtype in DTYPES[:2]:
        for inputs, attrs in samples_of(name, dtype):
            for arrays in layouts(inputs):
                runs += 1
                sys.settrace(trace)
                try:
                    call(kernel_of(backend, name), arrays, attrs)
                finally:
                    sys.settrace(None)
    missed = [a for a, b in returns_of(function) if not ran & set(range(a, b + 1))]
    assert backend.fallbacks < runs, f"all samples fall back to the reference: give kernel({name!r}) a sample="
    assert not missed, f"no sample reaches lines {missed} of {function.__code__.co_filename}: give the kernel a sample="


# ---- in detail ---------------------------------------------------------------------------------------------
def arrays_of(result):
    """The arrays of an op's result, in order; None where it has none."""
    return [x for part in result for x in arrays_of(part)] if isinstance(result, (tuple, list)) else [result]


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    np.testing.assert_array_equal(np.signbit(a), np.signbit(b))


@given(rng=st.randoms(use_true_random=False), dtype=st.sampled_from(["float32", "float64", "float16", "int64", "bool"]),
       shape=st.sampled_from([(), (3,), (8192,), (100, 90), (3, 1, 3000)]), number=st.sampled_from([None, 0.0, 2.5, 1]))
def test_where(rng, dtype, shape, number):
    draw = np.random.default_rng(rng.getrandbits(32))
    condition = draw.random(shape) < 0.5
    special = np.array(SPECIAL if dtype.startswith("float") else [0, 1, -2], dtype)
    input = draw.choice(special, shape)
    other = draw.choice(special, shape[-1:]) if number is None else number
    for a, b in ((input, other), (other, input)):
        same(cpu.where(condition, a, b), OPS["where"].forward(cpu, condition, a, b))


@pytest.mark.parametrize("name", ["erf", "erfc", "lgamma"])
@pytest.mark.parametrize("values", [[], [0.3], [-2.5, 0.1, 30.0, np.nan, np.inf], [-1.0, 0.0, 1e30], [[1.5, 2.5]]])
def test_functions_of_few_numbers(name, values):
    for dtype, rtol in (("float64", 1e-14), ("float32", 2e-7)):
        x = np.array(values, dtype)
        a, b = getattr(cpu, name)(x), OPS[name].forward(cpu, x)
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol, 1e-300)


@pytest.mark.parametrize("name", [name for name, kernel in cpu.kernels.items() if kernel.lean is not None])
@given(rng=st.randoms(use_true_random=False))
def test_lean_forward_passes_give_the_same(name, rng):
    inputs, attrs = OPS[name].sample(Draw(rng))
    a, (b, *_) = cpu.kernels[name].lean(cpu, *inputs, **attrs), cpu.kernels[name](cpu, *inputs, **attrs)
    for one, other in zip(arrays_of(a), arrays_of(b), strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_allclose(one, other, 1e-12)


def test_entering_a_kernel_is_checked():
    kernel = Kernels("my")
    with pytest.raises(TypeError, match="no op definition of this name"):
        kernel("no_such_op")(lambda F, input: input)
    with pytest.raises(TypeError, match=r"takes \['x'\], its definition \['input'\]"):
        kernel("erf")(lambda F, x: x)
    kernel("erf")(lambda F, input: input)
    kernel("erfc", halves=True)(lambda F, input, **attrs: input)
    with pytest.raises(TypeError, match="it already has one"):
        kernel("erf")(lambda F, input: input)
    assert set(kernel.found) == {"erf", "erfc"} and kernel.found["erfc"].takes_halves


def test_a_kernel_falls_back_to_the_reference():
    """Which is given 16-bit floats as float32."""
    kernel = Kernels("my")
    kernel("erf", when=lambda F, input: input.size > 1, halves=True)(lambda F, input: "kernel")
    assert kernel.found["erf"](cpu, np.ones(2)) == "kernel"
    for dtype in ("float16", "float32"):
        x = np.array([0.3], dtype)
        found, exact = kernel.found["erf"](cpu, x), OPS["erf"].forward(cpu, x.astype("float32"))
        assert found.dtype == dtype and found == exact.astype(dtype)
