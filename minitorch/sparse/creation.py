"""Constructors of sparse tensors, and the checks of what they are given."""

import functools

from .. import Size, Tensor, get_default_dtype, int64, tensor
from ..extend import get_backend, wrap
from .functions import build, of_indices
from .layouts import sparse_csc, sparse_csr
from .patterns import COMPRESSED, Pattern

__all__ = ["check_sparse_tensor_invariants", "sparse_compressed_tensor", "sparse_coo_tensor", "sparse_csc_tensor",
           "sparse_csr_tensor"]


class check_sparse_tensor_invariants:
    """The setting by which constructors check that indices are valid: they always do, whatever it
    says.

    A block or a decorator as in PyTorch, ``with check_sparse_tensor_invariants(enable=True)``,
    and the functions `enable`, `disable` and `is_enabled`. The state is kept and nothing depends on it: an index
    outside the tensor would not be found later, and the checks take one look at the indices.
    """

    enabled = False

    def __init__(self, enable=True):
        self.state, self.outer = enable, None

    @classmethod
    def is_enabled(cls):
        """True if checks have been asked for."""
        return check_sparse_tensor_invariants.enabled

    @classmethod
    def enable(cls):
        """Ask for checks."""
        check_sparse_tensor_invariants.enabled = True

    @classmethod
    def disable(cls):
        """Ask for no checks; they are made all the same."""
        check_sparse_tensor_invariants.enabled = False

    def __enter__(self):
        if self.outer is not None:
            raise RuntimeError("This context manager instance is already activated. Use a different context manager "
                               "instance for context nesting.")
        self.outer = self.is_enabled()
        check_sparse_tensor_invariants.enabled = self.state

    def __exit__(self, *exc):
        check_sparse_tensor_invariants.enabled, self.outer = self.outer, None

    def __call__(self, function):
        def called(*args, **kwargs):
            with type(self)(self.state):
                return function(*args, **kwargs)
        return functools.wraps(function)(called)


def check_size(size, indices, shape):
    """RuntimeError unless indices, an array (sparse dimensions, nnz), and values of this shape fit into the size."""
    n, dense = indices.shape[0], shape[1:]
    if len(size) != n + len(dense):
        raise RuntimeError(f"number of dimensions must be sparse_dim ({n}) + dense_dim ({len(dense)}), but got "
                           f"{len(size)}")
    if size[n:] != dense:
        raise RuntimeError(f"values has incorrect size, expected {[indices.shape[1], *size[n:]]}, got {list(shape)}")
    if indices.size and int(indices.min()) < 0:
        d = next(d for d in range(n) if int(indices[d].min()) < 0)
        raise RuntimeError(f"found negative index {int(indices[d].min())} for dim {d}")
    for d in range(n) if indices.shape[1] else ():
        if int(indices[d].max()) >= size[d]:
            raise RuntimeError(f"size is inconsistent with indices: for dim {d}, size is {size[d]} but found index "
                               f"{int(indices[d].max())}")


def sparse_coo_tensor(indices, values=None, size=None, *, dtype=None, layout=None, device=None, requires_grad=False,
                      check_invariants=None, is_coalesced=None, pin_memory=False):
    """A sparse COO tensor: `values` (nnz, *dense sizes) at `indices` (sparse dimensions, nnz), 0 elsewhere.

    Values at the same place are added up. `size`, by default the smallest that holds all indices, has the dense sizes
    at its end. Gradients flow to `values` if it is a tensor. ``sparse_coo_tensor(size)`` is one without entries.
    RuntimeError for indices outside the size, TypeError for indices that are not integers.
    """
    if values is None and (size is not None or not isinstance(indices, Tensor) and all(
            isinstance(n, int) for n in indices)):
        size = tuple(indices) if size is None else tuple(size)
        indices, values = tensor([[]] * len(size), dtype=int64).reshape(len(size), 0), tensor(
            [], dtype=dtype or get_default_dtype())
        is_coalesced = True
    values, indices = parts(values, dtype, device, indices=indices)
    indices = indices["indices"]
    if indices.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if values.ndim < 1 or values.array.shape[0] != indices.shape[1]:
        found = values.array.shape[0] if values.ndim else "a number"
        raise RuntimeError(f"indices and values must have same nnz, but got nnz from indices: {indices.shape[1]}, nnz "
                           f"from values: {found}")
    n, xp = indices.shape[0], values.backend.xp
    dense = values.array.shape[1:]
    if size is None:
        size = (*([int(row.max()) + 1 for row in indices] if indices.shape[1] else [0] * n), *dense)
    size = Size(size)
    check_size(size, indices, values.array.shape)
    empty = n > 0 and indices.shape[1] == 0
    if is_coalesced and check_invariants is not False:
        keys = Pattern(values.backend, size[:n], indices=indices).keys
        if not bool(xp.all(keys[1:] > keys[:-1])):
            raise RuntimeError("is_coalesced is True, but indices are not sorted, or occur more than once")
    return wanting(of_indices(values.backend, indices, values, size[:n], bool(is_coalesced) or empty), requires_grad)


def parts(values, dtype, device, **indices):
    """The values as a tensor, its graph included, and indices as raw arrays of integers beside it, int64 or int32."""
    if not isinstance(values, Tensor):
        values = tensor(values, dtype=dtype, device=device)
    elif dtype is not None or device is not None:
        values = values.to(device=device, dtype=dtype)
    found = {}
    for name, x in indices.items():
        if not isinstance(x, Tensor):
            x = tensor(x, device=values.device)
            x = x.to(int64) if not x.array.size else x
        if x.array.dtype.kind not in "iu":
            raise TypeError(f"{name} must be an int tensor, but got: {x.dtype}") if name != "indices" else RuntimeError(
                f"indices must be an int64 tensor, got {x.dtype}")
        x = x.to(values.device).array
        found[name] = x.astype("int64") if name == "indices" or x.dtype not in ("int32", "int64") else x
    return values, found


def wanting(out, requires_grad):
    """The tensor, requiring grad if that is asked for; without a graph then, as other constructors."""
    return out.detach().requires_grad_() if requires_grad else out


def sparse_compressed_tensor(compressed_indices, plain_indices, values, size=None, *, dtype=None, layout=None,
                             device=None, requires_grad=False, check_invariants=None, pin_memory=False):
    """A matrix in a compressed `layout`, `sparse_csr` or `sparse_csc`.

    `compressed_indices` say where each row (column) begins among the entries, and at their end how many there are;
    `plain_indices` the column (row) of each entry, in ascending order within a row; `values` (nnz, *dense sizes).
    `size` is by default the smallest that holds them. Gradients flow to `values` if it is a tensor. RuntimeError for
    indices that do not fit together; NotImplementedError for layouts of blocks and for batches of matrices.
    """
    if layout is None:
        raise RuntimeError("expected sparse compressed tensor layout but got strided")
    if layout.name not in COMPRESSED:
        raise NotImplementedError(f"compressed tensors are sparse_csr or sparse_csc here, not "
                                  f"{layout}: block layouts are not supported")
    values, found = parts(values, dtype, device, compressed=compressed_indices, plain=plain_indices)
    compressed, plain = found["compressed"], found["plain"]
    if compressed.ndim != 1 or plain.ndim != 1:
        raise NotImplementedError("a compressed tensor is one matrix here: compressed and plain indices must have one "
                                  f"dimension, but have {compressed.ndim} and {plain.ndim}; a batch can be COO")
    axis = COMPRESSED[layout.name]
    if size is None:
        sizes = [len(compressed) - 1, int(plain.max()) + 1 if len(plain) else 0]
        size = (*(sizes if axis == 0 else sizes[::-1]), *values.array.shape[1:])
    size = Size(size)
    pattern = Pattern(values.backend, size[:2], layout=layout.name, compressed=compressed, plain=plain)
    check_compressed(pattern, values, size, ("crow", "col", "row") if axis == 0 else ("ccol", "row", "column"))
    return wanting(build(values, pattern), requires_grad)


def check_compressed(pattern, values, size, words):
    """RuntimeError unless the parts of a compressed matrix fit together."""
    xp, (head, tail, line) = pattern.F.xp, words
    compressed, plain, axis = pattern.compressed, pattern.plain, COMPRESSED[pattern.layout]
    lines, others = (size[axis], size[1 - axis]) if len(size) >= 2 else (0, 0)
    n = len(plain)
    wrong = None
    if len(size) != 1 + values.ndim:
        wrong = f"tensor dimensionality must be sum of batch, base, and dense dimensionalities, got size {list(size)}"
    elif len(compressed) != lines + 1:
        wrong = f"{head}_indices.shape[-1] must be equal to the number of {line}s + 1 (={lines + 1}), but got " \
                f"{len(compressed)}"
    elif values.array.shape[0] != n:
        wrong = f"number of {tail}_indices ({n}) must be the number of values ({values.array.shape[0]})"
    elif values.array.shape[1:] != size[2:]:
        wrong = f"values.shape[1:] must be the dense sizes {list(size[2:])}, but is {list(values.array.shape[1:])}"
    elif int(compressed[0]) != 0:
        wrong = f"`{head}_indices[..., 0] == 0` is not satisfied."
    elif int(compressed[-1]) != n:
        wrong = f"`{head}_indices[..., -1] == nnz` is not satisfied."
    elif bool(xp.any(xp.diff(compressed) < 0)) or int(xp.diff(compressed).max(initial=0)) > others:
        wrong = f"`0 <= {head}_indices[..., 1:] - {head}_indices[..., :-1] <= {others}` is not satisfied."
    elif n and (int(plain.min()) < 0 or int(plain.max()) >= others):
        wrong = f"`0 <= {tail}_indices < {others}` is not satisfied."
    elif n > 1:
        along = xp.repeat(xp.arange(lines), xp.diff(compressed))
        if bool(xp.any((plain[1:] <= plain[:-1]) & (along[1:] == along[:-1]))):
            wrong = f"`{tail}_indices[..., {head}_indices[..., i - 1]:{head}_indices[..., i]] for all i = 1, ..., " \
                    f"{line}s are sorted and distinct along the last dimension values` is not satisfied."
    if wrong:
        raise RuntimeError(wrong)


def sparse_csr_tensor(crow_indices, col_indices, values, size=None, *, dtype=None, layout=None, device=None,
                      requires_grad=False, check_invariants=None, pin_memory=False):
    """A matrix row by row: see `sparse_compressed_tensor`.

    >>> import minitorch as torch
    >>> torch.sparse_csr_tensor([0, 1, 3], [1, 0, 1], [5.0, 6.0, 7.0]).to_dense()
    tensor([[0., 5.],
            [6., 7.]])
    """
    return sparse_compressed_tensor(crow_indices, col_indices, values, size, dtype=dtype, layout=layout or sparse_csr,
                                    device=device, requires_grad=requires_grad, check_invariants=check_invariants)


def sparse_csc_tensor(ccol_indices, row_indices, values, size=None, *, dtype=None, layout=None, device=None,
                      requires_grad=False, check_invariants=None, pin_memory=False):
    """A matrix column by column: see `sparse_compressed_tensor`."""
    return sparse_compressed_tensor(ccol_indices, row_indices, values, size, dtype=dtype, layout=layout or sparse_csc,
                                    device=device, requires_grad=requires_grad, check_invariants=check_invariants)


def empty_of(maker, size, layout, dtype=None, device=None, requires_grad=False):
    """A sparse tensor without entries, for `zeros` and `empty`; NotImplementedError for other makers."""
    if maker == "ones":
        raise NotImplementedError(f"Could not run 'aten::fill_.Scalar': a tensor of ones has no zeros, which a layout "
                                  f"such as {layout} would leave out")
    backend = get_backend(device)
    values = wrap(backend.xp.zeros(0, (dtype or get_default_dtype()).np), backend)
    if layout.name == "sparse_coo":
        return sparse_coo_tensor(wrap(backend.xp.zeros((len(size), 0), "int64"), backend), values, size,
                                 is_coalesced=True, requires_grad=requires_grad)
    if layout.name in COMPRESSED and len(size) != 2:
        raise RuntimeError(f"a tensor of layout {layout} is a matrix, got size {list(size)}")
    lines = [0] * (size[COMPRESSED.get(layout.name, 0)] + 1)
    return sparse_compressed_tensor(lines, [], values, size, layout=layout, requires_grad=requires_grad)
