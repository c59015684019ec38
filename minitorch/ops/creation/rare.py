"""Methods and functions of PyTorch that few programs use: Python's functions element by element, other memory, orders.

No op definitions.
"""

from math import prod

from ...core.graph import bump_version
from ...core.inplace import check_is_no_leaf
from ...core.tensor import Tensor, wrap
from ..define import composite, method
from ..linalg.matrices import matrix_norm
from ..reductions.norms import vector_norm
from ..shapes.memory import UntypedStorage
from ..shapes.view import split_with_sizes
from .create import empty, tensor


# ---- by functions of Python ------------------------------------------------------------------------------------
def require_no_grad(name, *tensors):
    """RuntimeError if a tensor requires gradients: a Python function has no derivative."""
    if any([x.needs_grad for x in tensors]):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")


def written(x, values, name):
    """`x` with other values, given as numbers in the order of its indices."""
    numbers = tensor(values, dtype=x.dtype, device=x.backend) if values else empty(0, dtype=x.dtype, device=x.backend)
    x.array[...] = numbers.array.reshape(x.array.shape)
    bump_version(x, name)
    return x


@method
def apply_(self, callable):                                # noqa: A002  (PyTorch's name)
    """Replace each element by ``callable(element)``: slow, since it is a loop of Python."""
    require_no_grad("apply_", self)
    return written(self, [callable(v) for v in self.detach().reshape(-1).tolist()], "apply_")


@method
def map_(self, tensor, callable):                          # noqa: A002
    """Replace each element by ``callable(element, other)``, `other` of `tensor` (broadcast): a loop of Python."""
    require_no_grad("map_", self, tensor)
    if tensor.array.dtype != self.array.dtype:
        raise TypeError(f"map_: expected {self.type()} for 'other' (got {tensor.type()})")
    others = tensor.expand(self.shape).reshape(-1).tolist()
    return written(self, [callable(a, b) for a, b in zip(self.detach().reshape(-1).tolist(), others)], "map_")


# ---- memory ----------------------------------------------------------------------------------------------------
@method
def set_(self, source=None, storage_offset=0, size=None, stride=None):
    """Let this tensor look at the memory of another, or of a storage, or at none; other tensors keep theirs.

    With `size` (and `stride`) at elements `storage_offset` on. The dtype stays. RuntimeError for tensors that require
    gradients: write ``x.data = source``, or compute with `source`.
    """
    check_is_no_leaf(self, "set_")
    if self.needs_grad:
        raise RuntimeError("set_ of a computed tensor would lose its gradient: use x.detach().set_(...)")
    if source is None:
        source = empty(0, dtype=self.dtype, device=self.backend)
    elif isinstance(source, UntypedStorage):
        source = wrap(source.memory.reshape(-1, order="A").view("uint8").view(self.array.dtype), self.backend)
        source, size = source if size is None and not storage_offset else source, size or [len(source) - storage_offset]
    if source.array.dtype != self.array.dtype:
        raise RuntimeError(f"Could not set tensor of type {source.dtype} to a tensor of type {self.dtype}")
    if size is not None:
        steps = stride if stride is not None else contiguous(size)
        source = source.detach().as_strided(size, steps, storage_offset)
    self.array, self.backend, self._base, self._views = source.array, source.backend, None, None
    return self


def contiguous(size):
    """The strides of a contiguous tensor."""
    steps = [1]
    for n in reversed(size[1:]):
        steps.insert(0, steps[0] * max(n, 1))
    return steps[:len(size)]


@method
def dim_order(self, *, ambiguity_check=False):
    """The dimensions in the order in which they lie in memory, the outermost first."""
    strides, shape = self.stride(), self.array.shape

    def order(a, b):
        """1 if dimension a is further out than b, -1 if further in, 0 if that is undetermined."""
        if not strides[a] or not strides[b]:
            return 0
        return (strides[a] > strides[b]) - (strides[a] < strides[b]) or int(shape[a] > shape[b])
    perm = list(reversed(range(len(shape))))
    for i in range(1, len(perm)):
        place = i
        for j in reversed(range(i)):
            found = order(perm[j], perm[place])
            if found > 0:
                perm[j], perm[place], place = perm[place], perm[j], j
            elif found < 0:
                break
    return tuple(reversed(perm))


@method
def const_data_ptr(self):
    """The address of the first element."""
    return self.data_ptr()


def same_size(x, size):
    """`x` in another shape; RuntimeError for one of another number of elements."""
    if x.numel() != prod(size):
        raise RuntimeError(f"requested resize to {'x'.join(map(str, size))} ({prod(size)} elements in total), but "
                           f"the given tensor has a size of {'x'.join(map(str, x.shape))} ({x.numel()} elements). "
                           "autograd's resize can only change the shape of a given tensor, while preserving the number "
                           "of elements.")
    return x.reshape(size)


@method
def resize(self, *sizes):
    """`reshape` by its oldest name."""
    return same_size(self, sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes)


@method
def resize_as(self, tensor):
    """`reshape_as` by its oldest name."""
    return same_size(self, tensor.shape)


# ---- functions --------------------------------------------------------------------------------------------------
@composite
def is_distributed(input):
    """False: a tensor is in one process."""
    return not isinstance(input, Tensor)


@composite(method=False)
def is_inference(input):
    """True if the memory of `input` was made in `inference_mode`."""
    return input.is_inference()


@composite(method=False)
def is_vulkan_available():
    """False."""
    return False


@composite
def unsafe_split_with_sizes(input, split_sizes, dim=0):
    """`split_with_sizes`."""
    return split_with_sizes(input, split_sizes, dim)


@composite(method=False)
def nuclear_norm(input, dim=None, keepdim=False):
    """``linalg.matrix_norm(input, "nuc", dim)``, by its older name; `dim` is the last two by default."""
    return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim)


@composite(method=False)
def frobenius_norm(input, dim, keepdim=False):
    """The root of the sum of squares along one dimension or several, by its older name."""
    return vector_norm(input, 2, dim, keepdim)


@composite(method=False)
def norm_except_dim(v, pow=2, dim=0):
    """The norm of each slice along `dim`, with ones for the other sizes; with -1 of the whole tensor."""
    if dim == -1:
        return v.norm(pow)
    others = [d for d in range(v.dim()) if d != dim]
    return v.norm(pow, others, keepdim=True)
