"""``torch.nested``: batches of tensors that differ in size, without padding.

In the layout ``torch.jagged`` elements differ in one size, which the shape shows as a symbol such as ``j1``:

>>> import minitorch as torch
>>> nt = torch.nested.nested_tensor([torch.zeros(2, 4), torch.ones(3, 4)], layout=torch.jagged)
>>> nt.dim(), nt.size(-1), nt.offsets().tolist()
(3, 4, [0, 2, 5])
>>> nt.sum(1).tolist()
[[0.0, 0.0, 0.0, 0.0], [3.0, 3.0, 3.0, 3.0]]

`docs/nested.md` is the page on them.
"""

from .. import Tensor, arange, as_tensor, cat, jagged, no_grad, strided
from ._internal import multihead, rules, stepping  # noqa: F401  entered by being imported
from ._internal.crossing import of_elements
from ._internal.jagged import offsets_of
from ._internal.nested_tensor import NestedTensor, StridedNestedTensor

__all__ = ["as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged",
           "to_padded_tensor"]


def nested_tensor(tensor_list, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A nested tensor, a leaf, of copies of the elements in `tensor_list`: tensors or what `tensor` takes.

    `layout` is ``torch.strided`` (the default, as in PyTorch) or ``torch.jagged``; `dtype` and `device` are those of
    the elements unless given. RuntimeError if the elements do not fit together.
    """
    elements = [x if isinstance(x, Tensor) else as_tensor(x) for x in listed("nested_tensor", tensor_list)]
    with no_grad():
        made = as_nested_tensor([x.detach() for x in elements], dtype, device, layout)
    return made.requires_grad_(requires_grad)


def as_nested_tensor(ts, dtype=None, device=None, layout=None):
    """A nested tensor of a list of tensors, or of the rows of one, through which gradients flow.

    A nested tensor is returned as it is, of another `dtype` or `device` if these are given.
    """
    if isinstance(ts, Tensor) and ts.is_nested:
        if layout is not None and layout != ts.layout or layout is None and ts.layout != strided:
            raise RuntimeError("as_nested_tensor(): Converting between nested tensor layouts is not supported")
        return ts.to(device=device, dtype=dtype)
    if isinstance(ts, Tensor) and ts.dim() < 2:
        raise RuntimeError("as_nested_tensor(): Expected tensor argument to have dim() > 1")
    layout = strided if layout is None else layout
    if layout not in (strided, jagged):
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    if isinstance(ts, Tensor) and layout == jagged:
        length = ts.shape[1]
        values = ts.contiguous().flatten(0, 1).to(device=device, dtype=dtype)
        return NestedTensor(values, arange(0, ts.shape[0] * length + 1, max(length, 1), device=values.device)
                            if length else values.new_zeros(ts.shape[0] + 1).long())
    elements = ts.unbind() if isinstance(ts, Tensor) else listed("as_nested_tensor", ts)
    made = of_elements(elements) if layout == strided else of_ragged(elements)
    return made.to(device=device, dtype=dtype)


def listed(name, elements):
    """The elements as a list that fits together."""
    if isinstance(elements, Tensor) or not isinstance(elements, (list, tuple)):
        raise TypeError(f"{name}(): Expected first argument to be a tensor or a list / tuple of tensors, got "
                        f"{type(elements).__name__}" if name != "nested_tensor" else
                        f"nested_tensor(): argument 'tensor_list' must be a list, got {type(elements).__name__}")
    tensors = [x for x in elements if isinstance(x, Tensor)]
    for what in ("dtype", "device", "ndim"):
        found = list(dict.fromkeys([getattr(x, what) for x in tensors]))
        if len(found) > 1:
            raise RuntimeError(f"When constructing a nested tensor, all tensors in list must have the same "
                               f"{what.replace('ndim', 'dim')}, got {found[0]} and {found[1]}")
    return list(elements)


def of_ragged(elements):
    """A jagged tensor of elements that differ in one size at most."""
    if not elements:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    sizes = [tuple(x.shape) for x in elements]
    if not sizes[0]:
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")
    ragged = [d for d in range(len(sizes[0])) if len({s[d] for s in sizes}) > 1] or [0]
    if len(ragged) > 1:
        raise RuntimeError("Cannot represent given tensor list as a nested tensor with the jagged layout. Note that "
                           "the jagged layout only allows for a single ragged dimension. For example: (B, *, D_0, D_1, "
                           f"..., D_N), with ragged * dim. The sizes differ in dimensions {ragged}")
    values = cat(elements, ragged[0])
    lengths = as_tensor([s[ragged[0]] for s in sizes], device=values.device)
    return NestedTensor(values, offsets_of(lengths), _ragged_idx=ragged[0] + 1)


def nested_tensor_from_jagged(values, offsets=None, lengths=None, jagged_dim=None, min_seqlen=None, max_seqlen=None):
    """The jagged tensor of elements that lie behind each other in `values`, in the same memory; gradients flow.

    `offsets` (B + 1) says where each begins and the last ends, `lengths` (B) how long each is; with both there may be
    holes. `jagged_dim`, 1 by default, counts the batch. `min_seqlen` and `max_seqlen` are found out when needed.
    """
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets, lengths = offsets_of(lengths), None
    if jagged_dim is not None and jagged_dim < 1:
        raise ValueError(f"Expected jagged_dim >=1, but got {jagged_dim}.")
    return NestedTensor(values.view_as(values), offsets, lengths=lengths, _ragged_idx=jagged_dim or 1)


def masked_select(tensor, mask):
    """The jagged tensor of what `mask`, broadcast to `tensor`, selects in each row along the last dimension."""
    for name, x in (("tensor", tensor), ("mask", mask)):
        if x.is_nested or x.layout != strided:
            raise RuntimeError(f"torch.nested.masked_select requires a strided {name}, given {x.layout}")
    lengths = mask.expand(tensor.shape).sum(-1).view(-1)
    return NestedTensor(tensor.masked_select(mask), offsets_of(lengths))


def narrow(tensor, dim, start, length, layout=strided):
    """The batch of parts of the rows of `tensor` along `dim`: from `start`, `length` long.

    In the layout ``torch.jagged`` these may be tensors with a number for each row, `dim` is 1, and the memory is that
    of `tensor`, with holes.
    """
    for name, x in (("start", start), ("length", length)):
        if not isinstance(x, (int, Tensor)):
            raise RuntimeError(f"{name} must be an integer or a tensor")
    if layout == strided:
        if isinstance(start, Tensor) or isinstance(length, Tensor):
            raise RuntimeError("start and length must be integers for the strided layout NT impl")
        return as_nested_tensor([x.narrow(dim - 1, start, length) for x in tensor.unbind()])
    if layout != jagged:
        raise RuntimeError(f"Specified layout is unsupported for nested narrow: {layout}")
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    rows, size = tensor.shape[:2]
    try:
        starts, lengths = [as_tensor(x, device=tensor.device).expand(rows) for x in (start, length)]
    except RuntimeError:
        raise RuntimeError(f"When constructing a jagged nested tensor using narrow(), your start and length must be "
                           f"Tensors that broadcast to input.shape[0], which is {rows}") from None
    if bool(((starts < 0) | (lengths < 0) | (starts + lengths > size)).any()):
        raise RuntimeError(f"narrow(): parts from {starts.tolist()} with lengths {lengths.tolist()} do not lie in rows "
                           f"of size {size}")
    begins = starts + arange(rows, device=tensor.device) * size
    offsets = cat([begins, begins[-1:] + lengths[-1:]])
    return NestedTensor(tensor.contiguous().view(-1, *tensor.shape[2:]), offsets, lengths=lengths)


def to_padded_tensor(input, padding, output_size=None, out=None):
    """The elements of a nested tensor in a dense one, with `padding` where they end: always a copy.

    `output_size`, of all dimensions, may be larger than the largest element.
    """
    if not isinstance(input, (NestedTensor, StridedNestedTensor)):
        raise RuntimeError(f"to_padded_tensor(): expected a nested tensor, got {type(input).__name__}")
    padded = input.to_padded_tensor(padding, output_size)
    return padded if out is None else out.copy_(padded)
