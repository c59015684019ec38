"""Reductions of segments: runs of neighbouring slices, given by their lengths or by where they begin."""

from ...core.errors import not_implemented
from ...core.tensor import wrap
from ...host import data as host_data
from ..define import composite
from ..elementwise.compare import where
from .scatter import axis as axis_of
from .scatter import neutral, reduced

KINDS = {"sum": "sum", "mean": "sum", "prod": "prod", "max": "amax", "min": "amin", "amax": "amax", "amin": "amin"}


@composite(method=False)
def segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    """The "sum", "mean", "prod", "max" or "min" of each segment of `data`, a tensor of floats, along `axis`.

    `lengths` (..., n) says how long the n segments are, `offsets` (..., n + 1) where each begins and the last one ends;
    dimensions before the last are those of `data` before `axis`. Of both, `offsets` are used. The result has size n
    along `axis`. `initial` takes part in each segment; without it an empty segment gives 0, NaN, 1, -inf or inf.
    Lengths must add up to the size of `axis` unless `unsafe`: then what lies behind them does not count. `indices` is
    refused, as in PyTorch.
    """
    if reduce not in KINDS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet: use index_reduce")
    if not data.dtype.is_floating_point:
        raise not_implemented("_segment_reduce_cpu", data.array.dtype)
    d, shape, kind = axis_of(data.array, axis), data.array.shape, KINDS[reduce]
    ends = segment_ends(shape, d, lengths, offsets, unsafe)
    n, rest = ends.shape[-1] - 1, (1,) * (len(shape) - d - 1)
    places = shaped(host_data.segment_places(ends, shape[d]), rest, data).expand(shape)
    base = data.detach().new_full((*shape[:d], n + 1, *shape[d + 1:]), neutral(kind, data.array.dtype))
    out = reduced(base, d, places, data, kind, True).narrow(d, 0, n)           # without what is in no segment
    if initial is not None:
        out = (out + initial if kind == "sum" else out * initial if kind == "prod" else
               where(out < initial if kind == "amax" else out > initial, initial, out))
    if reduce != "mean":
        return out
    sizes = shaped(ends[..., 1:] - ends[..., :-1], rest, data)
    return out / sizes if initial is None else where(sizes == 0, initial, out / sizes.clamp(min=1))


def shaped(array, rest, like):
    """An array of the host as a tensor beside `like`, with the dimensions `rest` at its end."""
    return wrap(like.backend.from_host(array.reshape(*array.shape, *rest)), like.backend)


def segment_ends(shape, axis, lengths, offsets, unsafe):
    """Where the segments of each row begin and the last one ends, on the host; RuntimeError if they do not fit."""
    given = lengths if offsets is None else offsets
    if given is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if given.array.dtype.kind not in "iu":
        raise not_implemented("segment_reduce(): lengths or offsets", given.array.dtype)
    if not shape or given.ndim != axis + 1 or given.array.shape[:-1] != shape[:axis]:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of "
                           f"{'lengths' if offsets is None else 'offsets'} but got {axis}: for data of shape "
                           f"{list(shape)} its shape is {[*shape[:axis], 'n']}, not {list(given.array.shape)}")
    ends = host_data.counts_of(given).astype("int64")
    ends = host_data.ends_of(ends) if offsets is None else ends
    if not ends.shape[-1]:
        raise RuntimeError("segment_reduce(): offsets must have an element more than there are segments, got none")
    if (ends[..., 1:] < ends[..., :-1]).any() or (ends[..., 0] < 0).any():
        raise RuntimeError("segment_reduce(): lengths contains negative value!" if offsets is None else
                           "segment_reduce(): offsets must not be negative nor decrease")
    if (ends[..., -1] > shape[axis]).any() or offsets is None and not unsafe and (ends[..., -1] < shape[axis]).any():
        raise RuntimeError(f"segment_reduce(): Expected all rows of lengths along axis to sum to data.size(axis), "
                           f"{shape[axis]}, but got {ends[..., -1].tolist()}")
    return ends
