"""`assert_close` with PyTorch's tolerances and messages, and `make_tensor`."""

import numpy as np

from ..core import dtypes
from ..core.arrays import is_floating
from ..core.tensor import Tensor
from ..ops.creation.random import rand, randint
from ..ops.shapes.shape import ints

__all__ = ["assert_close", "make_tensor"]

# (rtol, atol) by dtype, https://pytorch.org/docs/stable/testing.html
TOLERANCES = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
              "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7)}


def assert_close(actual, expected, *, allow_subclasses=True, rtol=None, atol=None, equal_nan=False, check_device=True,
                 check_dtype=True, check_layout=True, check_stride=False, msg=None):
    """Raise AssertionError unless ``|actual - expected| <= atol + rtol * |expected|`` everywhere.

    Takes tensors, numbers, NumPy arrays, and sequences and mappings of them. The default tolerances depend on the
    dtype: 1.3e-6 and 1e-5 for float32, 1e-7 and 1e-7 for float64, exact for integers and bools. `msg`: a text, or a
    function of the generated text.
    """
    if (rtol is None) != (atol is None):
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or unspecified, but got no "
                         f"{'rtol' if rtol is None else 'atol'}.")
    options = dict(rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=check_device, check_dtype=check_dtype,
                   check_stride=check_stride)
    text = compare(actual, expected, "", options)
    if text:
        raise AssertionError(msg(text) if callable(msg) else msg or text)


def compare(a, b, where, options):
    """The difference in words; None if there is none."""
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if len(a) != len(b):
            return f"The length of the sequences mismatch: {len(a)} != {len(b)}" + place(where)
        pairs = [(x, y, f"{where}[{i}]") for i, (x, y) in enumerate(zip(a, b))]
    elif isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            return (f"The keys of the mappings do not match:\nMissing keys in the actual mapping: "
                    f"{sorted(b.keys() - a.keys(), key=str)}\nAdditional keys in the actual mapping: "
                    f"{sorted(a.keys() - b.keys(), key=str)}")
        pairs = [(a[k], b[k], f"{where}[{k!r}]") for k in b]
    elif a is None or b is None:
        return None if a is b else f"None mismatch: {a} is not {b}" + place(where)
    else:
        return compare_leaves(a, b, where, options)
    return next((text for text in (compare(*pair, options) for pair in pairs) if text), None)


def place(where):
    return f"\n\nThe failure occurred for item {where}" if where else ""


def compare_leaves(a, b, where, options):
    kinds = ("Tensor-likes", Tensor) if isinstance(a, Tensor) or isinstance(b, Tensor) else None
    x, y = host(a), host(b)
    if not {x.dtype.kind, y.dtype.kind} <= set("biufc") or kinds and x.ndim != y.ndim and not (
            isinstance(a, Tensor) and isinstance(b, Tensor)):
        raise TypeError(f"No comparison pair was able to handle inputs of type {type(a)} and {type(b)}.")
    noun = "Tensor-likes" if x.ndim or y.ndim else "Scalars"
    if x.shape != y.shape:
        return f"The values for attribute 'shape' do not match: {_size(x)} != {_size(y)}." + place(where)
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if options["check_device"] and a.device != b.device:
            return f"The values for attribute 'device' do not match: {a.device} != {b.device}." + place(where)
        if options["check_dtype"] and a.dtype != b.dtype:
            return f"The values for attribute 'dtype' do not match: {a.dtype} != {b.dtype}." + place(where)
        if options["check_stride"] and a.stride() != b.stride():
            return f"The values for attribute 'stride()' do not match: {a.stride()} != {b.stride()}." + place(where)
    return compare_values(x, y, noun, where, options)


def _size(x):
    return f"torch.Size({list(x.shape)})"


def host(x):
    if isinstance(x, Tensor):
        array = x.backend.to_host(x.array)
        return array.astype(np.float32) if array.dtype.kind == "V" else array
    return np.asarray(x)


def tolerances(a, b, options):
    if options["rtol"] is not None:
        return options["rtol"], options["atol"]
    found = [TOLERANCES.get(x.dtype.name, (0.0, 0.0)) for x in (a, b)]
    return max(f[0] for f in found), max(f[1] for f in found)


def compare_values(x, y, noun, where, options):
    rtol, atol = tolerances(x, y, options)
    if "c" in (x.dtype.kind, y.dtype.kind):
        wide = np.complex128
    elif is_floating(x.dtype) or is_floating(y.dtype) or rtol or atol:
        wide = np.float64
    else:
        wide = np.int64
    x, y = x.astype(wide), y.astype(wide)
    with np.errstate(all="ignore"):
        difference = np.abs(x - y)
        good = (x == y) | (difference <= atol + rtol * np.abs(y)) & np.isfinite(y)
        if options["equal_nan"]:
            good |= np.isnan(x) & np.isnan(y)
        if good.all():
            return None
        relative = difference / np.abs(y)
    if noun == "Scalars":
        exact = not rtol and not atol
        return (f"Scalars are not {'equal' if exact else 'close'}!\n\nExpected {y.item()} but got {x.item()}.\n"
                f"Absolute difference: {difference.item()}{_up_to(atol, exact)}\n"
                f"Relative difference: {relative.item()}{_up_to(rtol, exact)}" + place(where))
    exact, bad = not rtol and not atol, np.argwhere(~good)
    difference[good] = relative[good] = -1

    def worst(values):
        values = np.where(np.isnan(values), np.inf, values)
        at = np.unravel_index(np.argmax(values), values.shape)
        value = values[at]
        return "nan" if np.isinf(value) and np.isnan(x[at] - y[at]) else value, tuple(int(i) for i in at)
    a, at_a = worst(difference)
    r, at_r = worst(relative)
    return (f"{noun} are not {'equal' if exact else 'close'}!\n\n"
            f"Mismatched elements: {len(bad)} / {x.size} ({100 * len(bad) / x.size:.1f}%)\n"
            f"Greatest absolute difference: {a} at index {at_a}{_up_to(atol, exact)}\n"
            f"Greatest relative difference: {r} at index {at_r}{_up_to(rtol, exact)}" + place(where))


def _up_to(tol, exact):
    return "" if exact else f" (up to {tol} allowed)"


def make_tensor(*shape, dtype, device=None, low=None, high=None, requires_grad=False, noncontiguous=False,
                exclude_zero=False, memory_format=None):
    """A tensor of random numbers between `low` and `high` (by default -9 to 9; 0 to 9 for uint8; bools)."""
    shape = ints(shape)
    full = (*shape[:-1], 2 * shape[-1]) if noncontiguous and shape else shape
    if dtype is dtypes.bool:
        out = randint(0, 2, full, dtype=dtypes.int64).to(dtype)
    elif dtype.is_floating_point:
        low, high = -9 if low is None else low, 9 if high is None else high
        out = (rand(full, dtype=dtypes.float64) * (high - low) + low).to(dtype)
    else:
        low, high = (0 if not dtype.is_signed else -9) if low is None else low, 10 if high is None else high
        out = randint(int(low), int(high), full, dtype=dtypes.int64).to(dtype)
    if exclude_zero:
        out[out == 0] = 1
    if full != shape:
        out = out[..., ::2]
    out = out.to(device=device) if device is not None else out
    return out.requires_grad_() if requires_grad else out
