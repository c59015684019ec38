"""The text of tensors and the print options, compared with PyTorch's character by character."""

import contextlib
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minitorch import printing

torch = pytest.importorskip("torch", reason="PyTorch is the yardstick of the parity tests")
torch_printing = torch._tensor_str

DTYPES = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()
DEFAULTS = ["float16", "float32", "float64"]
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=9)
# Values near the borders of the rules: whole or not, ranges of 1000, 1e-4 and 1e8, signs, what is not finite.
FLOATS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 2.5, 12345.678, math.inf, -math.inf, math.nan]),
    st.sampled_from([1e-4, 9.9e-5, 1e8, 1.1e8, 1e-7, 999.9, 1000.0, 1001.0]),
    st.integers(-2000, 2000).map(float),
    st.floats(-10, 10),
    st.floats(),
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "precision": st.integers(0, 9),
        "threshold": st.sampled_from([0, 1, 5, 20, 100, math.inf]),
        "edgeitems": st.integers(0, 4),
        "linewidth": st.integers(1, 130),
        "profile": st.sampled_from(["default", "short", "full"]),
        "sci_mode": st.sampled_from([None, True, False]),
    },
)


def elements(dtype):
    kind = np.dtype(dtype).kind
    if kind in "biu":
        return hnp.from_dtype(np.dtype(dtype))
    limit = float(np.finfo(dtype).max)

    def fitted(x):  # huge finite values stay finite in the narrower dtype
        return x if not math.isfinite(x) else min(max(x, -limit), limit)

    floats = FLOATS.map(fitted)
    return st.builds(complex, floats, floats) if kind == "c" else floats


@st.composite
def arrays(draw):
    """An array of any dtype and shape, sometimes a view that is not contiguous."""
    dtype = draw(st.sampled_from(DTYPES))
    # Few distinct values, so that one rule of the style, not always the widest, gets its turn.
    some = draw(st.lists(elements(dtype), min_size=1, max_size=6))
    shape = draw(SHAPES)
    picks = np.random.default_rng(draw(st.integers(0, 99))).integers(len(some), size=shape)
    array = np.asarray(np.array(some, dtype)[picks])
    view = draw(st.sampled_from(["whole", "transposed", "every other"]))
    if view == "transposed":
        array = array.T
    elif view == "every other" and array.ndim:
        array = array[..., ::2]
    return array


class Tensor(SimpleNamespace):
    """Stands in for minitorch's: holds what `tensor_repr` reads."""


class Parameter(Tensor):
    pass


def stand_in(tensor, array, cls=Tensor):
    words = {name: getattr(tensor, name) for name in ("dtype", "device", "grad_fn", "requires_grad")}
    return cls(array=array, **words)


@contextlib.contextmanager
def torch_default(name):
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, name))
    try:
        yield getattr(torch, name)
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def both_options(options):
    with torch_printing.printoptions(**options), printing.printoptions(**options):
        yield


def agree(tensor, array, options, default="float32"):
    with torch_default(default) as dtype, both_options(options):
        assert printing.tensor_repr(stand_in(tensor, array), default_dtype=dtype) == repr(tensor)


@settings(max_examples=300, deadline=None)
@given(arrays(), OPTIONS, st.sampled_from(DEFAULTS), st.booleans())
@example(np.zeros((3, 4, 5), np.float32), {"threshold": 5, "edgeitems": 0}, "float32", False)
@example(np.zeros((2, 0), np.int64), {}, "float32", False)
@example(np.array([1e308, 5e-324]), {}, "float64", False)
@example(np.arange(40.0), {"linewidth": 7}, "float64", True)
@example(np.array([1, 999.9]), {}, "float64", False)
@example(np.array([1, 1000.0]), {}, "float64", False)
@example(np.array([1, 1000.1]), {}, "float64", False)
@example(np.array([1e-4, 0.01]), {}, "float64", False)
@example(np.array([9.99e-5, 0.01]), {}, "float64", False)
@example(np.arange(9), {"threshold": 9}, "float32", False)
@example(np.arange(9), {"threshold": 8}, "float32", False)
def test_any_tensor(array, options, default, requires_grad):
    tensor = torch.as_tensor(array)
    tensor.requires_grad_(requires_grad and array.dtype.kind in "fc")
    agree(tensor, array, options, default)


@settings(max_examples=100, deadline=None)
@given(st.lists(FLOATS, max_size=30), OPTIONS)
def test_bfloat16(values, options):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="NumPy has no bfloat16 of its own")
    tensor = torch.tensor(values, dtype=torch.bfloat16)
    agree(tensor, tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16), options)


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
def test_wide_unsigned(dtype):
    array = np.array([[0, 1], [np.iinfo(dtype).max, 7]], dtype)
    agree(torch.from_numpy(array), array, {})


@settings(max_examples=100, deadline=None)
@given(arrays().filter(lambda array: array.dtype.kind in "fc"), OPTIONS)
def test_grad_fn(array, options):
    tensor = torch.as_tensor(array).requires_grad_().clone()
    agree(tensor, array, options)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 12), st.lists(st.integers(1, 20), min_size=1, max_size=5), st.integers(20, 40))
def test_line_breaks_of_suffixes(length, suffix_lengths, linewidth):
    # A CPU build shows too few suffixes for whole tensors to meet every line break.
    array, suffixes = np.arange(length), ["x" * n for n in suffix_lengths]
    with both_options({"linewidth": linewidth}):
        body = "tensor(" + torch_printing._tensor_str(torch.as_tensor(array), 7)
        expected = torch_printing._add_suffixes(body, suffixes, 7, force_newline=False)
        assert printing.format_tensor(array, suffixes=suffixes) == expected


@settings(max_examples=100, deadline=None)
@given(st.lists(OPTIONS, min_size=1, max_size=4), OPTIONS)
def test_options(sequence, inner):
    def same():
        return printing.get_printoptions() == torch_printing.get_printoptions()

    with both_options({}):
        for options in sequence:
            torch_printing.set_printoptions(**options)
            printing.set_printoptions(**options)
            assert same()
        with both_options(inner):
            assert same()
        assert same()


@pytest.mark.parametrize("base", ["Tensor", "Parameter"])
@pytest.mark.parametrize("derived", [False, True])
def test_subclasses(base, derived):
    mine, theirs = globals()[base], {"Tensor": torch.Tensor, "Parameter": torch.nn.Parameter}[base]
    if derived:
        mine, theirs = type("Weights", (mine,), {}), type("Weights", (theirs,), {})
    array = np.eye(3, dtype=np.float32)
    tensor = torch.from_numpy(array).as_subclass(theirs).requires_grad_()
    assert printing.tensor_repr(stand_in(tensor, array, mine), default_dtype=torch.float32) == repr(tensor)


def test_contents():
    array = np.eye(3)
    tensor = torch.from_numpy(array)
    mine = printing.tensor_repr(stand_in(tensor, array), contents="...", default_dtype=torch.float32)
    assert mine == tensor.__repr__(tensor_contents="...")
