"""The op table, indexing: ``x[...]`` and ``x[...] = v`` with everything PyTorch takes between the brackets.

Integers, slices, None and Ellipsis give views. Lists and tensors, of integers or bools, give copies; the gradient of
an element that was taken several times is summed.
"""

import numpy as np

from ...core.dtypes import fit
from ...core.errors import wrong_index
from ...core.grad_mode import grad_mode
from ...core.graph import written
from ...core.inplace import check_is_no_leaf, overwrite
from ...core.op import Number, method, op
from ...core.tensor import Tensor
from ..shapes.shape import count

ALL = slice(None)


# ---- reading -----------------------------------------------------------------------------------------------
@op(view=True, namespace=None, node_name="SliceBackward0", shown="slice",
    input=lambda F, g, index, input_shape: F.unslice(g, index=index, shape=input_shape),
    sample=lambda d: ([d.array((3, 4, 2))], dict(index=d.choice(
        [(1,), (slice(0, 2), None, -1), (Ellipsis, slice(None, None, 2), 1), (slice(3, 1),)]))))
def slice_view(F, input, *, index):
    """``input[index]`` for integers, slices, None and Ellipsis: a view."""
    out = input[index]
    return out if out.__class__ is F.ndarray else input[index + (...,)]  # one element: as a 0-d view, not a number


@op(namespace=None, input=lambda F, g, index: F.slice_view(g, index=index),
    sample=lambda d: ([d.array((4, 2))], dict(index=(1,), shape=(3, 4, 2))))
def unslice(F, input, *, index, shape):
    """Zeros of `shape` with `input` put at `index`: the transpose of `slice_view`."""
    out = F.xp.zeros(shape, input.dtype)
    out[index] = input
    return out


@op(namespace=None, node_name="IndexBackward0",
    input=lambda F, g, index, input_shape: F.index_add_zeros(g, index=index, shape=input_shape),
    sample=lambda d: ([d.array((3, 4, 2))], dict(index=d.choice(
        [(np.array([0, 0, 2]),), (slice(None), np.array([[1, 1], [3, 0]])), (np.array([True, False, True]), 1)]))))
def index(F, input, *, index):
    """``input[index]`` where a list or a tensor is among the indices: a copy."""
    return F.xp.ascontiguousarray(input[index]) if input.ndim > 1 else input[index]   # not NumPy's order in memory


@op(namespace=None, input=lambda F, g, index: F.index(g, index=index),
    sample=lambda d: ([d.array((3, 4, 2))], dict(index=(np.array([0, 0, 2]),), shape=(4, 4, 2))))
def index_add_zeros(F, input, *, index, shape):
    """Zeros of `shape` with `input` added at `index`, as often as it names a place: the transpose of `index`."""
    out = F.xp.zeros(shape, input.dtype)
    add_at(F.xp, out, index, input)
    return out


def add_at(xp, out, index, values):
    """``out[index] += values``, counting repeated places, for index arrays with whole dimensions between them.

    `numpy.add.at` takes 4 times as long with several indices as with one of single elements. So many are made one:
    the index arrays are brought to the front and combined, whole dimensions counted through.
    """
    parts = [i for p in index for i in (p.nonzero() if getattr(p, "dtype", "") == "bool" and p.ndim else [p])]
    at = [d for d, p in enumerate(parts) if is_array(p)]
    if values.size < 1000 or not at or any(p != ALL for d, p in enumerate(parts) if d not in at):
        xp.add.at(out, index, values)
        return
    arrays = xp.broadcast_arrays(*[parts[d] for d in at])
    n = arrays[0].ndim
    first = at[0] if at == list(range(at[0], at[0] + len(at))) else 0     # where NumPy puts the dimensions of the index
    values = xp.moveaxis(values, range(first, first + n), range(n))
    target, places = xp.moveaxis(out, at, range(len(at))), 0
    for i, size in zip(arrays, target.shape):
        places = places * size + xp.where(i < 0, i + size, i)
    sums = target if target.flags.c_contiguous else xp.zeros(target.shape, out.dtype)
    width = count(target.shape[len(at):])
    if width > 1:
        places = places.reshape(-1, 1) * width + xp.arange(width)
    xp.add.at(sums.reshape(-1), places.reshape(-1), values.reshape(-1))
    if sums is not target:
        target += sums


# ---- what stands between the brackets ----------------------------------------------------------------------
PLAIN = (int, type(None))


def parse(x, item):
    """An index in two steps, as PyTorch takes it: first the views (basic), then the arrays (or None).

    Integers select before index arrays do: ``x[0, :, [1, 2]]`` is ``x[0][:, [1, 2]]``, where NumPy would broadcast
    the 0 as an array and move its dimension to the front.
    """
    parts = [clean(p, x.backend) for p in as_parts(item)]
    used = sum(n_dims(p) for p in parts)
    if used > x.array.ndim:
        raise IndexError(f"too many indices for tensor of dimension {x.array.ndim}")
    if not any(map(is_array, parts)):
        return tuple(parts), None
    if not any(p is Ellipsis for p in parts):
        parts.append(Ellipsis)
    basic, advanced = [], []
    for p in parts:
        if p is Ellipsis:
            basic += [ALL] * (x.array.ndim - used)
            advanced += [ALL] * (x.array.ndim - used)
        elif is_array(p):
            basic += [None] if p.ndim == 0 else [ALL] * n_dims(p)
            advanced.append(p.reshape(1) if p.ndim == 0 else p)
        else:
            basic.append(p)
            advanced += [] if p.__class__ is int else [ALL]
    while advanced[-1] is ALL:
        advanced.pop()
    return (None if all(b is ALL for b in basic) else tuple(basic)), tuple(advanced)


def as_parts(item):
    if isinstance(item, tuple):
        return item
    if isinstance(item, list) and any(isinstance(i, (slice, type(None), type(...))) for i in item):
        return item                                        # a list with slices stands for a tuple; one with lists, as
                                                           # PyTorch announced for itself, for an array
    return (item,)


def is_array(part):
    """Whether a part is an array of any backend, not an int, a slice, None or Ellipsis."""
    return hasattr(part, "ndim")


def n_dims(part):
    """How many dimensions of the tensor a part uses up."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if is_array(part) and part.dtype == bool else 1


INDEX_DTYPES = tuple(map(np.dtype, ("int64", "int32", "uint8", "bool")))


def clean(part, backend):
    """One part of an index: an int, a slice, None, Ellipsis, or the backend's array of integers or bools."""
    if part is None or part is Ellipsis or part.__class__ is int:
        return part
    if isinstance(part, slice):
        return clean_slice(part)
    if isinstance(part, (bool, np.bool_)):
        return backend.from_host(np.array(bool(part)))
    if isinstance(part, (Tensor, np.ndarray)):
        array = part.to(backend.device).array if isinstance(part, Tensor) else part
        if array.ndim == 0 and array.dtype.kind in "iu":
            return int(array)                              # a 0-d integer tensor is an integer
        if isinstance(part, Tensor) and array.dtype not in INDEX_DTYPES:
            raise IndexError(f"tensors used as indices must be long, int, byte or bool tensors, not {part.dtype}")
    elif isinstance(part, (list, tuple, range)):
        array = np.asarray([p.tolist() if isinstance(p, Tensor) else p for p in part]
                           if isinstance(part, (list, tuple)) else part)
        array = array if array.size else array.astype(np.int64)
    elif hasattr(part, "__index__"):
        return part.__index__()
    else:
        raise IndexError(f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
                         f"indices (got {type(part).__name__})")
    if array.dtype.kind not in "iub":
        raise IndexError(f"tensors used as indices must be long, int, byte or bool tensors, not {array.dtype}")
    array = array.astype(bool) if array.dtype == np.uint8 else array
    return array if array.__class__ is backend.ndarray else backend.from_host(array)


def clean_slice(s):
    """A slice with plain bounds; PyTorch knows no negative step."""
    start, stop, step = (p if p is None or p.__class__ is int else p.__index__() for p in (s.start, s.stop, s.step))
    if step is not None and step <= 0:
        raise ValueError("step must be greater than zero: use flip() to reverse a dimension")
    return slice(start, stop, step)


@method
def __getitem__(self, item):
    """``x[item]``: a view for integers, slices, None and Ellipsis, a copy where a list or a tensor is among them."""
    if item.__class__ is int:
        return slice_view(self, (item,))
    parts = item if item.__class__ is tuple else (item,)
    for p in parts:                                        # the common case: nothing to translate
        if p.__class__ is slice:
            if p.start.__class__ not in PLAIN or p.stop.__class__ not in PLAIN or p.step is not None:
                break
        elif p.__class__ is not int and p is not None and p is not Ellipsis:
            break
    else:
        return slice_view(self, parts)
    basic, advanced = parse(self, item)
    if basic is not None:
        self = slice_view(self, basic)
    return self if advanced is None else index(self, advanced)


# ---- writing -----------------------------------------------------------------------------------------------
@op(namespace=None, node_name="IndexPutBackward0", promotion=None,
    input=lambda F, g, index: F.index_set(g, 0.0, index=index),
    values=lambda F, g, index, values_shape: F.sum_to(F.index(g, index=index), shape=values_shape),
    sample=lambda d: ([d.array((3, 4)), d.array((2, 4))], dict(index=d.choice([(np.array([0, 2]),), (slice(0, 2),)]))))
def index_set(F, input, values: Number, *, index):
    """A copy of `input` with `values` at `index`, which names no place twice."""
    out = F.xp.array(input)
    out[index] = values
    return out


@op(namespace=None, node_name="IndexPutBackward0", promotion=None,
    input=lambda F, g: g,
    values=lambda F, g, index, values_shape: F.sum_to(F.index(g, index=index), shape=values_shape),
    sample=lambda d: ([d.array((3, 4)), d.array((3, 4))], dict(index=(np.array([0, 2, 0]),))))
def index_accumulate(F, input, values: Number, *, index):
    """A copy of `input` with `values` added at `index`, as often as it names a place."""
    out = F.xp.array(input)
    add_at(F.xp, out, index, F.xp.broadcast_to(values, out[index].shape))
    return out


@method
def __setitem__(self, item, value):
    """``x[item] = value``, a number or a tensor, with broadcasting; recorded like any in-place op.

    A value that overlaps the piece it is written to, as in ``x[1:] = x[:-1]``, is read first; PyTorch refuses it.
    """
    basic, advanced = parse(self, item)
    piece = self if basic is None else slice_view(self, basic)
    is_tensor = isinstance(value, Tensor)
    if not is_tensor:
        value = as_number(value, self.dtype)
    elif advanced is not None and value.array.dtype != self.array.dtype and not is_fill(advanced, value):
        raise RuntimeError(f"Index put requires the source and destination dtypes match, got {self.dtype.name} for the "
                           f"destination and {value.dtype.name} for the source: write value.to(x.dtype)")
    if is_tensor and value.backend is not self.backend and value.array.ndim:
        value = value.to(self.device)
    if grad_mode.enabled and (self.needs_grad or is_tensor and value.needs_grad):
        value = value.to(self.dtype) if is_tensor else value
        if advanced is None:
            overwrite(piece, index_set(piece, value, (Ellipsis,)), "__setitem__")
        else:
            overwrite(piece, index_set(piece, value, advanced), "__setitem__")
        return
    check_is_no_leaf(self, "__setitem__")
    try:
        piece.array[advanced if advanced is not None else Ellipsis] = value.array if is_tensor else value
    except ValueError as error:
        raise RuntimeError(f"shape mismatch in x[...] = value: {error}") from None
    except IndexError as error:
        raise wrong_index(error) from None
    written(self, "__setitem__")


def as_number(value, dtype):
    """A number to be written into a tensor of `dtype`; TypeError for anything else."""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError(f"can't assign a {type(value).__name__} to a {dtype} tensor: make it a tensor first, by "
                        f"minitorch.tensor(value)")
    return fit(value, dtype)


def is_fill(advanced, value):
    """Whether one number is written where a mask is True: then its dtype does not matter."""
    masks = [i for i in advanced if is_array(i)]
    return value.array.size == 1 and len(masks) == 1 and masks[0].dtype == bool
