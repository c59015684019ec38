"""Op definitions: indexing (``x[...]`` and ``x[...] = v``) with everything that PyTorch takes in brackets.

Indices are translated in `host/indices.py`; functions that take an index tensor are in `scatter.py`.

Integers, slices, None and Ellipsis give views. Lists and tensors, of integers or bools, give copies; the gradient of
an element that was taken several times is summed.
"""

from functools import reduce

from ...core.grad_mode import grad_mode, open_batches
from ...core.graph import bump_version
from ...core.inplace import check_is_no_leaf, overwrite
from ...core.memory import require_apart, require_no_overlap
from ...core.op import Number
from ...core.tensor import Tensor, wrap
from ...explain.failures import wrong_index
from ...host.data import as_number
from ...host.indices import is_array, parse
from ..define import method, op
from ..dims import broadcast
from ..shapes.memory import is_same_memory


# ---- reading -----------------------------------------------------------------------------------------------
def name_of_view(node):
    """PyTorch's name for the last of the views that an index consists of."""
    index = node.saved[node.op.saved_fields.index("index")]
    last = [part for part in index if part is not Ellipsis and part != slice(None)][-1:]
    kinds = {int: "SelectBackward0", type(None): "UnsqueezeBackward0"}
    return kinds.get(type(last[0]), "SliceBackward0") if last else "AliasBackward0"


def words_of(index):
    """Index notation of ``x[index]``: the words of `x` and of the result. None for a mask, whose
    values say how many elements there are."""
    arrays = [part for part in index if hasattr(part, "shape")]
    if any([part.dtype.kind == "b" for part in arrays]):
        return None
    ins, outs, taken = [], [], []                          # taken: places in `ins` and `outs`
    dotted = any([part is Ellipsis for part in index])
    for i, part in enumerate(index if dotted else (*index, ...)):
        if part is Ellipsis or isinstance(part, slice) and part == slice(None):
            word = "*" if part is Ellipsis else f"d{i}"
            ins.append(word)
            outs.append(word)
        elif part is None:
            outs.append(f"n{i}=1")
        elif isinstance(part, slice):
            ins.append(f"[d{i}]")
            outs.append(f"s{i}=sliced(d{i}, {part.start}, {part.stop}, {part.step})")
        else:
            ins.append(f"[d{i}]")
            taken.append((i, len(outs)))
    if arrays:                                             # side by side: the dimensions stay there
        side_by_side = taken[-1][0] - taken[0][0] == len(taken) - 1
        place = taken[0][1] if side_by_side else 0
        sizes = reduce(broadcast, [part.shape for part in arrays])
        outs[place:place] = [f"i{i}={n}" for i, n in enumerate(sizes)]
    return ins, outs


def slice_dims(index):
    """Index notation of an index, an attribute: what it takes as a whole stays a dimension."""
    words = words_of(index)
    return words and f"{' '.join(words[0])} -> {' '.join(words[1])} by moving"


def slice_backward_dims(index):
    """That of the transpose: the dimensions that the index made are used up."""
    words = words_of(index)
    return words and f"{used(words[1])} -> {' '.join(words[0])} of shape"


def put_dims(index):
    """That of an index that is written to."""
    words = words_of(index)
    return words and f"{' '.join(words[0])}, + {used(words[1])} -> {' '.join(words[0])}"


def used(outs):
    return " ".join([f"[{word.partition('=')[0]}]" if "=" in word else word for word in outs])


@op(dims=slice_dims,
    name="slice", view=True, namespace=None, node_name=name_of_view,
    input=lambda F, g, index, input_shape: F.slice_backward(g, index=index, shape=input_shape),
    sample=lambda d: ([d.array((3, 4, 2))], dict(index=d.choice(
        [(1,), (slice(0, 2), None, -1), (Ellipsis, slice(None, None, 2), 1), (slice(3, 1),)]))))
def _slice(F, input, *, index):
    """``input[index]`` for integers, slices, None and Ellipsis: a view."""
    out = input[index]
    return out if out.__class__ is F.ndarray else input[index + (...,)]  # one element: as a 0-d view, not a number


@op(dims=slice_backward_dims,
    namespace=None, input=lambda F, g, index: F.slice(g, index=index),
    sample=lambda d: ([d.array((4, 2))], dict(index=(1,), shape=(3, 4, 2))))
def slice_backward(F, input, *, index, shape):
    """Zeros of `shape` with `input` put at `index`: the transpose of `slice`."""
    out = F.xp.zeros(shape, input.dtype)
    out[index] = input
    return out


@op(dims=slice_dims,
    namespace=None, node_name="IndexBackward0",
    input=lambda F, g, index, input_shape: F.index_backward(g, index=index, shape=input_shape),
    sample=lambda d: ([d.array((3, 4, 2))], dict(index=d.choice(
        [(d.given([0, 0, 2]),), (slice(None), d.given([[1, 1], [3, 0]])), (d.given([True, False, True]), 1)]))))
def index(F, input, *, index):
    """``input[index]`` where a list or a tensor is among the indices: a copy."""
    return input[index]


@op(dims=slice_backward_dims,
    namespace=None, input=lambda F, g, index: F.index(g, index=index),
    sample=lambda d: ([d.array((3, 4, 2))], dict(index=(d.given([0, 0, 2]),), shape=(4, 4, 2))))
def index_backward(F, input, *, index, shape):
    """Zeros of `shape` with `input` added at `index`, repeated positions summed: the transpose of `index`."""
    out = F.xp.zeros(shape, input.dtype)
    F.xp.add.at(out, index, input)
    return out


PLAIN = (int, type(None))                                  # the bounds of a slice, in the common case


@method
def __getitem__(self, item):
    """``x[item]``: a view for integers, slices, None and Ellipsis, a copy where a list or a tensor is among them."""
    if item.__class__ is int:
        return _slice(self, (item,))
    parts = item if item.__class__ is tuple else (item,)
    for p in parts:                                        # the common case: nothing to translate
        if p.__class__ is slice:
            if p.start.__class__ not in PLAIN or p.stop.__class__ not in PLAIN or p.step is not None:
                break
        elif p.__class__ is not int and p is not None and p is not Ellipsis:
            break
    else:
        try:
            return _slice(self, parts)
        except IndexError:
            if parts.count(Ellipsis) < 2:
                raise
    if grad_mode.batches:
        self = of_one_batch(self, item)
    basic, advanced = parse(self, item)
    if basic is not None:
        self = _slice(self, basic)
    return self if advanced is None else index(self, advanced)


def of_one_batch(x, item):
    """`x` on the backend of the tensors among its indices, where these are of a batch and `x` is not."""
    for p in item if item.__class__ is tuple else (item,):
        if isinstance(p, Tensor) and p.backend.depth > x.backend.depth:
            x = p.backend.together((x, p))[0]
    return x


# ---- writing -----------------------------------------------------------------------------------------------
@op(dims=put_dims,
    layout="first", name="index_put", namespace=None, promotion=None,
    input=lambda F, g, index: F.index_put(g, 0.0, index=index),
    values=lambda F, g, index, values_shape: F.sum_to(F.index(g, index=index), shape=values_shape),
    sample=lambda d: ([d.array((3, 4)), d.array((2, 4))], dict(index=d.choice([(d.given([0, 2]),), (slice(0, 2),)]))))
def _index_put(F, input, values: Number, *, index):
    """A copy of `input` with `values` at `index`, which names no position twice."""
    out = F.xp.array(input)
    out[index] = values
    return out


@op(dims=put_dims,
    namespace=None, node_name="IndexPutBackward0", promotion=None,
    input=lambda F, g: g,
    values=lambda F, g, index, values_shape: F.sum_to(F.index(g, index=index), shape=values_shape),
    sample=lambda d: ([d.array((3, 4)), d.array((3, 4))], dict(index=(d.given([0, 2, 0]),))))
def index_put_accumulate(F, input, values: Number, *, index):
    """A copy of `input` with `values` added at `index`, as often as it names a position."""
    out = F.xp.array(input)
    F.xp.add.at(out, index, values)
    return out


@method
def __setitem__(self, item, value):
    """``x[item] = value``, a number or a tensor, with broadcasting; recorded like any in-place op.

    As in PyTorch a value must not overlap the elements that it is written to, as in ``x[1:] = x[:-1]``.
    """
    if item is False:                                      # a mask that is True nowhere
        return
    if open_batches and grad_mode.batches:
        require_memory_for(self, item)
    basic, advanced = parse(self, item)
    is_tensor = isinstance(value, Tensor)
    needs_grad = self.needs_grad or is_tensor and value.needs_grad
    dual = self.backend.level is not None or is_tensor and value.backend.level is not None
    recorded = needs_grad and grad_mode.enabled or dual
    piece = self if basic is None else _slice(self, basic) if recorded else part(self, basic)
    if is_tensor:
        value = source_of(value, self, advanced)
        if (advanced is None and not needs_grad and not recorded
                and is_same_memory(piece.array, value.array)):
            return                                         # the last step of ``x[0] += 1``
        require_apart(piece.array, value)
    else:
        value = as_number(value, self.dtype)
    if advanced is None:
        require_no_overlap(piece.array)
        advanced = (Ellipsis,)
    if recorded:
        value = value.to(self.dtype) if is_tensor else value
        overwrite(piece, _index_put(piece, value, advanced), "__setitem__")
    else:
        check_is_no_leaf(self, "__setitem__")
        write(piece.array, advanced, value.array if is_tensor else value)
        bump_version(self, "__setitem__")


def require_memory_for(x, written):
    """Raise if a tensor to be written, or an index, is of a batch that `x` has no memory for."""
    for y in written if written.__class__ is tuple else (written,):
        if isinstance(y, Tensor) and y.backend.depth > x.backend.depth and y.backend.level is None:
            raise y.backend.not_in_place()


def source_of(value, x, advanced):
    """The tensor `value` as it is written into `x`: on its device, of its dtype if need be."""
    if advanced is not None and value.array.dtype != x.array.dtype and not is_fill(advanced, value):
        raise RuntimeError(f"Index put requires the source and destination dtypes match, got "
                           f"{x.dtype.name} for the destination and {value.dtype.name} for the "
                           f"source: write value.to(x.dtype)")
    if value.backend is not x.backend:
        require_memory_for(x, value)
        value = value.to(x.device) if value.array.ndim else value
    return without_leading(value) if advanced is not None and value.array.ndim > 1 else value


def write(array, index, value):
    """Write a number or an array into a raw array, with PyTorch's errors."""
    try:
        array[index] = value
    except ValueError as error:
        raise RuntimeError(f"shape mismatch in x[...] = value: {error}") from None
    except IndexError as error:
        raise wrong_index(error) from None


def part(x, index):
    """The elements of `x` at a basic index, to be written to: a tensor that nobody else sees, not noted as a view."""
    try:
        return wrap(x.backend.slice(x.array, index=index), x.backend)
    except Exception:
        return _slice(x, index)                            # which explains the error


def without_leading(value):
    """A view of `value` without its leading dimensions of size 1, which do not matter in PyTorch.

    NumPy refuses to broadcast them to a mask.
    """
    lead = 0
    while lead < value.array.ndim and value.array.shape[lead] == 1:
        lead += 1
    return _slice(value, (0,) * lead) if lead else value


def is_fill(advanced, value):
    """True if one number is written where a mask is True: then its dtype does not matter."""
    masks = [i for i in advanced if is_array(i)]
    return value.array.size == 1 and len(masks) == 1 and masks[0].dtype == bool


@method
def fill_diagonal_(self, fill_value, wrap=False):
    """Write `fill_value` to the elements whose indices are all equal. With `wrap`, the diagonal of a matrix that is
    higher than wide starts again after one row is left out.

    Raises RuntimeError for fewer than two dimensions, and for more than two of different lengths.
    """
    shape = self.array.shape
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len({*shape}) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    rows = [*range(shape[0] if wrap and len(shape) == 2 else min(shape))]
    places = [(i, i % (shape[1] + 1)) for i in rows] if len(shape) == 2 else [(i,) * len(shape) for i in rows]
    places = [place for place in places if place[1] < shape[1]]
    if places:
        self[tuple([list(i) for i in zip(*places)])] = fill_value
    return self
