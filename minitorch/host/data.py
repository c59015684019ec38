"""Data of the host: Python's numbers and nested lists, NumPy's arrays, buffers and sequences, on their way to a tensor.

Results are NumPy arrays, the same for every device; a backend takes them over by `from_host`. Functions that return
tensors are in `ops/creation`.
"""

import builtins
import math
import mmap
import os

import numpy as np

from ..core import dtypes, ranges
from ..core.arrays import is_floating, pointer
from ..core.device import get, host
from ..core.dtypes import as_np, get_default_dtype
from ..core.registry import extends
from ..core.tensor import Size, Tensor, wrap

__all__ = ["array_of", "as_number", "from_buffer", "from_dlpack", "is_array", "is_capsule",
           "is_same_start", "shares_memory"]


# ---- from data ---------------------------------------------------------------------------------------------
NUMBERS = "iufcb"                                          # kinds of arrays of Python's numbers, among them no bfloat16


def array_of(data, dtype):
    """Python or NumPy data as a new NumPy array of the dtype that PyTorch would give it."""
    if isinstance(data, (np.ndarray, np.generic)):
        found = as_np(dtype) if dtype is not None else dtypes.from_np(data.dtype).np
        return np.array(data, dtype=found)
    numbers = plain(data)
    try:
        array = np.array(numbers)
    except (ValueError, OverflowError):
        raise explain_data(numbers) from None
    if array.dtype.kind not in NUMBERS or array.dtype == "uint64" and dtype is None:
        raise explain_data(numbers, dtype)
    return cast_data(array, inferred(data) if dtype is None else dtype)


def inferred(data):
    """The dtype of nested lists: that of the NumPy numbers, arrays and tensors in them, or by Python's types."""
    found = None
    for kind in kinds_in(data if isinstance(data, (list, tuple)) else [data]):
        d = kind if isinstance(kind, dtypes.dtype) else dtypes.of_scalar(kind(0))
        found = d if found is None else dtypes.promote_types(found, d)
    return found or get_default_dtype()


PYTHON_NUMBERS = frozenset((bool, int, float, complex))


def kinds_in(data):
    """The types of the numbers in nested lists; of NumPy's numbers, arrays and tensors, the dtypes."""
    kinds = set(map(type, data))
    if kinds <= PYTHON_NUMBERS:
        return kinds
    found = set()
    for x in data:
        if isinstance(x, (Tensor, np.ndarray, np.generic)):
            found.add(dtypes.from_np(x.dtype) if isinstance(x.dtype, np.dtype) else x.dtype)
        elif hasattr(x, "__len__"):
            found |= kinds_in(x)
        else:
            found.add(next(t for t in (bool, int, float, complex) if isinstance(x, t)))
    return found


def cast_data(array, dtype):
    """The numbers in `array` as a NumPy array of `dtype`; RuntimeError if one is out of range."""
    found = as_np(dtype)
    if array.size and found.kind in "iufV" and array.dtype.kind in "iufVc" and found != array.dtype:
        if array.dtype.kind == "c":
            raise TypeError(f"must be real number, not complex, for a tensor of {dtype}: take x.real")
        if found == "uint64" and array.min() < 0:
            raise OverflowError("can't convert negative int to unsigned")
        elif found.kind in "iu":                           # all numbers fit if these do; NaN is the minimum, too
            ranges.fit(array.min().item(), dtype)
            ranges.fit(array.max().item(), dtype)
    return array.astype(found)


def plain(data):
    """Nested sequences with tensors inside as nested lists: a tensor in a list is a number, whatever its dimensions."""
    if isinstance(data, Tensor):
        return data.tolist()
    if isinstance(data, (list, tuple)):
        return [number_of(x) if isinstance(x, Tensor) else plain(x) for x in data] if any_tensor(data) else data
    if hasattr(data, "__array__"):
        return np.asarray(data)
    is_sequence = hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, (str, bytes, dict))
    return list(data) if is_sequence else data


@extends(Tensor, "__new__", kind=staticmethod)
def new(cls, *data, device=None, requires_grad=False):
    self, backend, dtype = object.__new__(cls), get(device), get_default_dtype().np
    if len(data) == 1 and isinstance(data[0], Tensor):
        self.array, backend = data[0].array, data[0].backend
    elif len(data) == 1 and isinstance(data[0], Size):
        self.array = backend.xp.empty(data[0], dtype)
    elif len(data) == 1 and hasattr(data[0], "__len__"):
        self.array = backend.from_host(np.array(plain(data[0]), dtype))
    elif all(isinstance(n, int) for n in data):
        self.array = backend.xp.empty(data or (0,), dtype)
    else:
        raise TypeError(f"new(): data must be a sequence or sizes must be ints (got {type(data[0]).__name__}); "
                        f"minitorch.tensor({data[0]!r}) makes a tensor of one number")
    self.backend = backend
    return self.requires_grad_() if requires_grad else self


def number_of(tensor):
    if tensor.array.size != 1:
        raise ValueError(f"only one element tensors can be converted to Python scalars: one of shape "
                         f"{list(tensor.shape)} is in a list; torch.stack() joins tensors")
    return tensor.item()


def any_tensor(data):
    return builtins.any(isinstance(x, (Tensor, list, tuple)) for x in data)


def first_of(data):
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return data


def explain_data(data, dtype=None):
    """The error for nested lists that do not form an array."""
    sizes = {len(x) if isinstance(x, (list, tuple)) else None for x in data} if isinstance(data, list) else set()
    item = first_of(data)
    if isinstance(item, (str, bytes)):
        return (TypeError(f"new(): invalid data type '{type(item).__name__}'") if item is data else
                ValueError(f"too many dimensions '{type(item).__name__}': expected nested lists of numbers"))
    if not isinstance(item, (int, float, bool, complex)):
        if dtype is not None:
            return TypeError(f"must be real number, not {type(item).__name__}")
        return RuntimeError(f"Could not infer dtype of {type(item).__name__}: expected a number or nested lists of "
                            f"them")
    if len(sizes) > 1:
        first, other = len(data[0]) if isinstance(data[0], (list, tuple)) else 0, sorted(s or 0 for s in sizes)
        return ValueError(f"expected sequence of length {first} at dim 1 (got {[n for n in other if n != first][0]}): "
                          f"all rows must have the same length")
    words = [x for x in data if isinstance(x, (str, bytes))] if isinstance(data, (list, tuple)) else []
    if words:
        return TypeError(f"new(): invalid data type '{type(words[0]).__name__}'")
    if item is data or len(sizes) == 1 and None in sizes:
        return ValueError("Overflow when unpacking long long: an integer is out of the range of int64")
    return ValueError("expected nested sequences of numbers with equal lengths in each dimension")


def as_number(value, dtype):
    """A number to be written into a tensor of `dtype`; TypeError for anything else."""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError(f"can't assign a {type(value).__name__} to a {dtype} tensor: make it a tensor first, by "
                        f"minitorch.tensor(value)")
    return ranges.fit(value, dtype)


# ---- memory of others --------------------------------------------------------------------------------------
def is_array(x):
    """True for a NumPy array."""
    return isinstance(x, np.ndarray)


def is_same_start(a, b):
    """True if two arrays of one dtype that may overlap begin at the same element.

    An address takes NumPy a while, and of two single elements that may overlap it is known without. Arrays of devices,
    traces and batches may always overlap as far as `may_overlap` knows: their addresses are compared.
    """
    return (is_array(a) and is_array(b) and a.size == b.size == 1 and a.itemsize == a.dtype.alignment
            or pointer(a) == pointer(b))


def shares_memory(tensor, data):
    """True if a tensor of the CPU and other data, a tensor or a NumPy array, have an element in common."""
    return isinstance(data, (Tensor, np.ndarray)) and np.shares_memory(tensor.array, getattr(data, "array", data))


def from_buffer(buffer, dtype, count, offset):
    """A vector over the memory of a Python buffer; errors for a range outside of it."""
    found = as_np(dtype)
    size = memoryview(buffer).nbytes
    if not size:
        raise ValueError("both buffer length (0) and count (-1) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} "
                         f"bytes) minus 1")
    if count > 0 and offset + count * found.itemsize > size:
        raise ValueError(f"requested buffer length ({count} * {found.itemsize} bytes) after offset ({offset} bytes) "
                         f"must not be greater than actual buffer length ({size} bytes)")
    if count < 0 and (size - offset) % found.itemsize:
        raise ValueError(f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple of "
                         f"element size ({found.itemsize})")
    return wrap(np.frombuffer(buffer, found, count, offset), host())


class Capsule:
    """A capsule of DLPack as an object that gives it away, as NumPy wants it."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **options):
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0


class Writable:
    """The memory of an array that NumPy takes for read-only; arrays over it keep it."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


def is_capsule(x):
    """True for what `__dlpack__` returns, before somebody has taken it."""
    return type(x).__name__ == "PyCapsule" and "dltensor" in repr(x) and "used" not in repr(x)


def from_dlpack(ext_tensor, copy):
    """A tensor over the memory of an object that speaks DLPack, or over a copy."""
    if is_capsule(ext_tensor):                             # of DLPack before 1.0, which cannot say "read-only"
        old = "versioned" not in repr(ext_tensor)
        array = np.from_dlpack(Capsule(ext_tensor))
        array = np.asarray(Writable(array)) if old else array
    else:
        array = np.from_dlpack(ext_tensor, **({"copy": False} if copy is False else {}))
    return wrap(array.copy() if copy else array, host())


# ---- sequences ---------------------------------------------------------------------------------------------
def check_range(start, end, step):
    """RuntimeError unless a whole number of steps, or none, leads from `start` to `end`."""
    if not (step > 0 or step < 0):                         # zero or NaN
        raise RuntimeError(f"step must be nonzero, and a number: got {step}")
    if not (np.isfinite(start) and np.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def numbers_between(start, end, step, dtype):
    """Numbers from `start` up to, but without, `end`, as a NumPy array of `dtype` (None: by the numbers' types)."""
    check_range(start, end, step)
    whole = builtins.all(isinstance(x, int) for x in (start, end, step))
    found = as_np(dtype or (dtypes.int64 if whole else get_default_dtype()))
    if found.kind in "iu":
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError("step must be nonzero, also as a whole number: pass a floating-point dtype")
        return at_steps(start, step, -((start - end) // step), found)
    return at_steps(start, step, int(np.ceil((end - start) / step)), found)


def numbers_up_to(start, end, step, dtype):
    """Numbers from `start` to `end`, both included, as a NumPy array of `dtype`."""
    found = as_np(dtype)
    if is_half(found):
        start, end, step = [np.float32(x) for x in (start, end, step)]
    i = np.arange(int(np.floor((end - start) / step)) + 1)
    return (start + (i.astype("float32") if is_half(found) else i) * step).astype(found)


def is_half(found):
    """True for the dtypes of 16 bits."""
    return is_floating(found) and found.itemsize == 2


def at_steps(start, step, n, found):
    """``start + i * step`` as NumPy array of the dtype `found`: in float64, for 16 bits in float32.

    These are PyTorch's numbers, except that it computes those that fill a vector of the processor
    from the first one of the vector on, which is rounded already.
    """
    if found.kind in "iub":
        return (start + np.arange(n) * step).astype(found)
    if is_half(found):
        start, step = np.float32(start), np.float32(step)
    start, step, i = float(start), float(step), np.arange(n, dtype="float64")
    if start.is_integer() and step.is_integer():
        return (start + i * step).astype(found)
    if found.itemsize == 8:
        return fused(step, i, start).astype(found)
    product = step * i                                     # fused only where it decides a float32
    values = start + product
    room = 2.0 ** -51 * (abs(product) + abs(values))
    close = (values - room).astype("float32") != (values + room).astype("float32")
    values[close] = fused(step, i[close], start)
    return (values.astype("float32") if is_half(found) else values).astype(found)


def fused(a, b, c):
    """``a * b + c`` of float64, rounded once, as processors do that have an instruction for it.

    S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums", 2008.
    """
    def halves(x):
        high = x * 134217729.0                             # 2 ** 27 + 1
        high = high - (high - x)
        return high, x - high

    def added(x, y):                                       # the sum, and what its rounding lost
        total = x + y
        part = total - x
        return total, (x - (total - part)) + (y - part)

    with np.errstate(all="ignore"):
        product = np.multiply(a, b)
        (ah, al), (bh, bl) = halves(np.float64(a)), halves(np.float64(b))
        low, lost = added(c, ((ah * bh - product) + ah * bl + al * bh) + al * bl)
        total, rest = added(product, low)
        low, lost = map(np.asarray, added(lost, rest))     # rounded to odd: so a tie stays none
        even = (lost != 0) & (low.view("int64") & 1 == 0)
        low = np.where(even, np.nextafter(low, np.copysign(np.inf, lost)), low)
        return np.where(np.isfinite(total + low), total + low, product + c)


def spaced(start, end, steps, found):
    """`steps` numbers at equal distances, in the NumPy dtype `found`.

    Counted from both ends, as PyTorch counts, so that both bounds are exact and the middle is
    symmetric. Products and sums are rounded at once to float32 or float64, and one after the other
    to 16 bits, as in PyTorch.
    """
    if steps == 1:
        return np.array([start]).astype(found)
    if found.kind == "c":
        first, last, low = found.type(start), found.type(end), np.arange(steps).astype(found)
        step = (last - first) / found.type(max(steps - 1, 1))
        low, high = first + step * low, last - step * low[::-1]
    elif is_half(found):
        first, last, low = [np.asarray(x).astype(found) for x in (start, end, np.arange(steps))]
        step = (last - first) / np.asarray(max(steps - 1, 1)).astype(found)
        low, high = first + step * low, last - step * low[::-1]
    else:
        wide = np.float32 if found == np.float32 else np.float64
        first, last = [wide(int(x) if found.kind in "iu" else x) for x in (start, end)]
        step, low = float((last - first) / wide(max(steps - 1, 1))), np.arange(steps, dtype="float64")
        first, last = float(first), float(last)
        if found == np.float32 and steps < 1 << 29:        # then products are exact: 24 bits by 29
            low, high = first + step * low, last - step * low[::-1]
        else:
            low, high = fused(step, low, first), fused(-step, low[::-1], last)
    return np.where(np.arange(steps) < steps // 2, low, high).astype(found)


def powers(base, start, end, steps, found):
    """`steps` powers of `base` with exponents at equal distances, in the NumPy dtype `found`."""
    if steps == 1 and found.kind != "c":                   # PyTorch rounds the power alone
        return np.array([power(float(base), float(start))]).astype(found)
    if found.kind in "iu":
        start, end = int(start), int(end)
    exponents = spaced(start, end, steps, np.dtype("float64") if found.kind in "iu" else found)
    if found.kind in "iuc":
        return np.power(float(base), exponents).astype(found)
    base = float(np.asarray(base).astype(found))
    return np.array([power(base, float(x)) for x in exponents], "float64").astype(found)


def power(base, x):
    """``base ** x`` by the C library, infinite or NaN where Python raises an error."""
    try:
        return math.pow(base, x)
    except (OverflowError, ValueError):
        with np.errstate(all="ignore"):
            return np.float64(base) ** x


def identity(n, m, found):
    """An n by m matrix with ones on the diagonal, in the NumPy dtype `found`."""
    return np.eye(n, m, dtype=found)


def triangle(name, row, col, offset, dtype):
    """Rows and columns of the elements of a triangle (`name`: "tril_indices" or "triu_indices"), as a (2, n) array."""
    return np.stack(getattr(np, name)(row, offset, col)).astype(as_np(dtype))


# ---- indices -----------------------------------------------------------------------------------------------
def rows_of(tuples, width):
    """Tuples of `width` integers as the rows of an int64 matrix, also if there are none."""
    return np.array(tuples, np.int64).reshape(-1, width)


def counts_of(repeats):
    """Numbers of repetitions, given as an int, a list or a tensor, as a NumPy array."""
    return repeats.backend.to_host(repeats.array) if isinstance(repeats, Tensor) else np.asarray(repeats)


def repeated(n, counts):
    """Each of 0, 1, ..., n - 1 as often as `counts` says, as an int64 array."""
    return np.repeat(np.arange(n), counts)


def ends_of(lengths):
    """Where segments of these lengths (..., n) begin and end: (..., n + 1)."""
    return np.concatenate([np.zeros((*lengths.shape[:-1], 1), np.int64), np.cumsum(lengths, -1)], -1)


def segment_places(ends, size):
    """The segment in which each of `size` places lies, or n: `ends` (..., n + 1) are where n segments begin and end."""
    n = ends.shape[-1] - 1
    counts = np.concatenate([ends[..., :1], np.diff(ends), size - ends[..., -1:]], -1)
    places = np.broadcast_to(np.arange(-1, n + 1) % (n + 1), counts.shape)
    return np.repeat(places.reshape(-1), counts.reshape(-1)).reshape(*ends.shape[:-1], size)


def positions(size, stride, offset):
    """The offset in memory of each element of a tensor, in elements."""
    out = np.full(size, offset, np.int64)
    for i, (n, step) in enumerate(zip(size, stride)):
        out += (np.arange(n) * step).reshape((n,) + (1,) * (len(size) - i - 1))
    return out


def places_of_view(size, stride, offset, layout):
    """The flat index in a tensor of each element that a view of its memory reads; -1 for memory
    outside the tensor, which lies in memory by `layout`: its size, stride and offset."""
    read, held = positions(size, stride, offset), positions(*layout)
    table = np.full(max(read.max(initial=-1), held.max(initial=-1)) + 1, -1, np.int64)
    table[held.ravel()] = np.arange(held.size)
    return table[read]


def mapped_file(filename, shared, nbytes):
    """The bytes of a file as an array, see `UntypedStorage.from_file`."""
    if shared and not os.path.exists(filename):
        open(filename, "wb").close()
    with open(filename, "r+b" if shared else "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < nbytes and not shared:
            raise RuntimeError(f"from_file(): {nbytes} bytes were asked for, and the file {filename} has {size}")
        if size < nbytes:
            file.truncate(nbytes)
        if not (nbytes or size):
            return np.empty(0, np.uint8)
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        return np.frombuffer(mmap.mmap(file.fileno(), nbytes or size, access=access), np.uint8)
