"""Conversion between layouts, dtypes and devices, masks, copies."""

from .. import Tensor, full_like, ones_like, randn_like, strided
from ..extend import wrap
from .functions import ToDense, build, coalesce, dense, pick, picked, reordered, values_of
from .layouts import LAYOUTS
from .patterns import Pattern
from .tensor import FAMILY, SparseTensor, answers, made, refused

__all__ = ["sparse_mask", "to_dense", "to_layout", "to_sparse"]

answers("values")(values_of)


@answers("coalesce")
def coalesced(input):
    """The COO tensor with each place once and in order, values at one place added up; itself if it is so already."""
    input.need("coalesce", "sparse_coo")
    return coalesce(input)


@answers("to_dense")
def to_dense(input, dtype=None, *, masked_grad=True):
    """All elements. The gradient is sparse, of the same layout, and has the entries of `input` alone, unless
    `masked_grad` is False: then it has all elements."""
    out = ToDense.apply(input) if masked_grad is False else dense(input)
    return out if dtype is None else out.to(dtype)


def to_sparse(input, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """The elements that are not 0 as a sparse tensor of `layout`, COO by default; gradients flow.

    `sparse_dim`: how many of the first dimensions of a COO tensor are kept by indices, by default all; of each such
    place all values are kept if one is not 0. `dense_dim`, of a compressed tensor, is what is left over. A sparse
    tensor is converted.
    """
    if blocksize is not None:
        raise NotImplementedError("to_sparse: block layouts (blocksize=) are not supported")
    if sparse_dim is not None and not isinstance(sparse_dim, int):
        # PyTorch has no such call as ``x.to_sparse(torch.sparse_csr)``.
        sparse_dim, layout = None, sparse_dim
    name = "sparse_coo" if layout is None else layout.name
    if sparse_dim is not None and name != "sparse_coo":
        raise RuntimeError(f"to_sparse: expected layout argument to be sparse_coo with sparse_dim, but got {name}")
    if isinstance(input, SparseTensor):
        return to_layout(input, name)
    if name == "strided":
        return input
    if name != "sparse_coo":
        return compressed_of(input, name, dense_dim or 0)
    n = input.ndim - (dense_dim or 0) if sparse_dim is None else sparse_dim
    if not 0 <= n <= input.ndim or (n == 0 and input.ndim > 0):
        raise RuntimeError(f"sparse_dim argument must be in [1, {input.ndim}] range, but {n} is given")
    return build(*found_in(input, n))


def found_in(input, sparse_dims):
    """The values of a dense tensor that are not 0, with the pattern of their places."""
    F, shape = input.backend, input.array.shape
    xp = F.xp
    is_zero = input.array.reshape(*shape[:sparse_dims], -1) == 0
    indices = xp.stack(xp.nonzero(~is_zero.all(-1))) if sparse_dims else xp.zeros((0, int(not is_zero.all())), "int64")
    pattern = Pattern(F, shape[:sparse_dims], indices=indices, coalesced=True)
    return pick_all(input, pattern), pattern


def pick_all(input, pattern):
    """The values at the places of a pattern; a number is one value."""
    return pick(input, pattern)


def compressed_of(input, name, dense_dim=0):
    """A dense matrix in a compressed layout."""
    if input.ndim - dense_dim != 2:
        raise (RuntimeError if input.ndim - dense_dim < 2 else NotImplementedError)(
            f"to_{name}: expected a matrix, but got {input.ndim} dimensions, {dense_dim} of them dense; a batch of "
            "matrices can be COO")
    values, pattern = found_in(input, 2)
    pattern, order = pattern.compressed_as(name)
    return build(values if order is None else values[wrap(order, input.backend)], pattern)


def to_layout(input, name):
    """A tensor of any layout in the layout `name`; itself if it has it."""
    own = input.array.pattern.layout if isinstance(input, SparseTensor) else "strided"
    if own == name:
        return input
    if own == "strided":
        return compressed_of(input, name) if name != "sparse_coo" else build(*found_in(input, input.ndim))
    if name == "strided":
        return dense(input)
    if name == "sparse_coo":
        return coalesce(input)
    if input.sparse_dim() != 2:
        raise RuntimeError(f"to_{name}: only matrices can be compressed, got {input.sparse_dim()} sparse dimensions")
    return reordered(input, name)


def to_sparse_csr(input, dense_dim=None):
    """The matrix row by row (CSR); of a dense one, the elements that are not 0."""
    return to_sparse(input, layout=LAYOUTS["sparse_csr"], dense_dim=dense_dim)


def to_sparse_csc(input, dense_dim=None):
    """The matrix column by column (CSC); of a dense one, the elements that are not 0."""
    return to_sparse(input, layout=LAYOUTS["sparse_csc"], dense_dim=dense_dim)


def sparse_mask(input, mask):
    """The elements of `input` at the entries of the sparse tensor `mask`, in its layout; gradients flow to `input`."""
    if not isinstance(mask, SparseTensor):
        raise RuntimeError("sparse_mask: expected the mask to be sparse, but got a dense tensor: mask.to_sparse()")
    if input.shape != mask.shape:
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size {list(input.shape)} but "
                           f"mask has size {list(mask.shape)}")
    pattern = mask.array.pattern
    if not pattern.once:
        pattern = pattern.merged[0]
    return build(picked(input, pattern), pattern)


# ---- copies ------------------------------------------------------------------------------------------------
@answers("clone")
def clone(input, *, memory_format=None):
    return build(values_of(input).clone(), input.array.pattern)


@answers("to")
def to(input, *args, **kwargs):
    """The tensor with its values in another dtype, and all of it on another device."""
    values, *args = [values_of(x) if isinstance(x, SparseTensor) else x for x in (input, *args)]
    kwargs = {k: values_of(x) if isinstance(x, SparseTensor) else x for k, x in kwargs.items()}
    moved = values.to(*args, **kwargs)
    if moved is values or not isinstance(input, SparseTensor):
        return input if moved is values else moved
    return build(moved, on_backend(input.array.pattern, moved.backend))


def on_backend(pattern, F):
    """The same pattern with its indices on another backend."""
    if pattern.F is F:
        return pattern
    def there(x):
        return None if x is None else F.from_backend(x, pattern.F)
    if pattern.layout == "sparse_coo":
        return Pattern(F, pattern.sizes, indices=there(pattern.indices), coalesced=pattern.coalesced)
    return Pattern(F, pattern.sizes, layout=pattern.layout, compressed=there(pattern.compressed),
                   plain=there(pattern.plain))


def converted(name):
    def convert(input, *args, **kwargs):
        moved = getattr(Tensor, name)(values_of(input), *args, **kwargs)
        return build(moved, on_backend(input.array.pattern, moved.backend))
    return convert


for _name in ("float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool", "cfloat",
              "cdouble"):
    answers(_name)(converted(_name))


@answers("zeros_like", "empty_like")
def zeros_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """A tensor without entries, or a dense one of zeros for another `layout`."""
    like = to(input.detach(), device=device, dtype=dtype)
    if layout is not None and layout == strided:
        return wrap(like.backend.xp.zeros(like.shape, like.array.dtype), like.backend).requires_grad_(requires_grad)
    array = like.array.copy()
    array.fill(0)
    return to_sparse(made(array, like.backend), layout=layout or input.layout).requires_grad_(requires_grad)


def filled_like(function):
    """`function` of a compressed tensor, at the same places; refuses COO tensors, as PyTorch."""
    def fill(input, *args, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, **options):
        if input.is_sparse:
            raise refused(function.__name__, input)
        like = to(input.detach(), device=device, dtype=dtype)
        found = build(function(values_of(like), *args, **options), like.array.pattern)
        return found.requires_grad_(requires_grad)
    return fill


for _like in (ones_like, full_like, randn_like):
    answers(_like.__name__)(filled_like(_like))


# ---- questions ---------------------------------------------------------------------------------------------
@answers("numpy", "__array__")
def numpy(input, *args, **kwargs):
    raise TypeError(f"can't convert {FAMILY[input.array.pattern.layout]} layout tensor to numpy. Use Tensor.to_dense() "
                    "first.")


@answers("stride")
def stride(input, dim=None):
    if not input.is_sparse:
        raise RuntimeError("Sparse CSR tensors do not have strides")
    return (0,) * input.ndim if dim is None else 0


@answers("is_contiguous")
def is_contiguous(input, memory_format=None):
    if not input.is_sparse:
        raise RuntimeError("Sparse CSR tensors do not have is_contiguous")
    return False


@answers("type")
def type_of(input, dtype=None, non_blocking=False):
    if dtype is not None:
        return to(input, getattr(dtype, "dtype", dtype))
    return values_of(input.detach()).type().replace("torch.", "torch.sparse." if input.is_sparse else "torch.")
