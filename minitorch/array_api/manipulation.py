"""Shapes and places, with the array API standard's arguments."""

import minitorch as torch

from .promotion import together

__all__ = ["broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "expand_dims", "flip", "moveaxis",
           "permute_dims", "repeat", "reshape", "roll", "squeeze", "stack", "take", "take_along_axis", "tile",
           "unstack"]


def axes_of(axis, ndim):
    """The axes that `axis`, an int, several, or None for all, stands for: not negative, each once; IndexError else."""
    axes = range(ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    for a in axes:
        if not -ndim <= a < ndim:
            raise IndexError(f"axis {a} is out of range for {ndim} axes")
    found = [a % ndim for a in axes]
    if len(set(found)) < len(found):
        raise IndexError(f"an axis is named twice in {axis} of {ndim} axes")
    return tuple(found)


def broadcast_arrays(*arrays):
    """All tensors with their common shape."""
    return tuple(torch.broadcast_tensors(*arrays))


def broadcast_shapes(*shapes):
    """The shape that several lead to; ValueError if they do not fit together."""
    try:
        return tuple(torch.broadcast_shapes(*shapes))
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def broadcast_to(x, /, shape):
    """A view of `x` with another shape, whose sizes of 1 are repeated."""
    return torch.broadcast_to(x, shape)


def concat(arrays, /, *, axis=0):
    """Tensors one behind the other along an axis; with None, all their elements."""
    arrays = together(*arrays)
    return torch.cat([x.flatten() for x in arrays] if axis is None else arrays, axis or 0)


def stack(arrays, /, *, axis=0):
    """Tensors side by side along a new axis."""
    return torch.stack(together(*arrays), axis)


def expand_dims(x, /, axis):
    """A view with new axes of size 1 at these places of the result."""
    axes = (axis,) if isinstance(axis, int) else axis
    for a in sorted(axes_of(axes, x.ndim + len(axes))):
        x = x.unsqueeze(a)
    return x


def squeeze(x, /, axis):
    """A view without these axes, which must be of size 1 (ValueError)."""
    axes = axes_of(axis, x.ndim)
    if any([x.shape[a] != 1 for a in axes]):
        raise ValueError(f"squeezed dimensions must be equal to 1: axis={axis} of {tuple(x.shape)}")
    return torch.squeeze(x, axes)


def flip(x, /, *, axis=None):
    """`x` in the reverse order along axes, by default all."""
    return torch.flip(x, axes_of(axis, x.ndim))


def moveaxis(x, source, destination, /):
    """A view whose axes `source` stand at `destination`."""
    return torch.moveaxis(x, source, destination)


def permute_dims(x, /, axes):
    """A view with its axes in another order."""
    return torch.permute(x, axes)


def repeat(x, repeats, /, *, axis=None):
    """Each element along an axis several times, a number or one for each; with None, of all elements."""
    if isinstance(repeats, torch.Tensor):
        repeats = repeats.to(torch.int64)
    return torch.repeat_interleave(x, repeats, axis)


def reshape(x, /, shape, *, copy=None):
    """`x` with another shape; `copy`: True always, False never (ValueError if it would have to), None where needed."""
    if copy is False:
        try:
            return x.view(shape)
        except RuntimeError as error:
            raise ValueError(f"a copy would be needed: {error}") from None
    found = torch.reshape(x, shape)
    return found.clone() if copy and found._base is not None else found


def roll(x, /, shift, *, axis=None):
    """Elements moved along axes, those that leave entering at the other end; with None, of all elements in one row."""
    return torch.roll(x, shift, axis)


def tile(x, repetitions, /):
    """Copies of the whole of `x` side by side."""
    return torch.tile(x, repetitions)


def unstack(x, /, *, axis=0):
    """The slices along an axis, views, as a tuple."""
    return tuple(torch.unbind(x, axis))


def from_front(indices, size):
    """Indices, the negative ones counted from the end, as PyTorch's functions want them."""
    return torch.where(indices < 0, indices + size, indices)


def take(x, indices, /, *, axis=None):
    """Slices at a vector of indices along an axis, which only a vector can leave out."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"axis must be specified when ndim > 1: this tensor has {x.ndim}")
        axis = 0
    return torch.index_select(x, axis, from_front(indices, x.shape[axis]))


def take_along_axis(x, indices, /, *, axis=-1):
    """Elements at indices along an axis, one tensor of indices for all."""
    return torch.take_along_dim(x, from_front(indices, x.shape[axis]), axis)
