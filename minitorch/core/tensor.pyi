"""Tensor: an array with a node in the graph.

A tensor is a raw array (`array`) on a backend (`backend`). `node` is the call that made it, None
for a leaf; `needs_grad` is the plain attribute behind `requires_grad`. Most methods are generated
from op definitions; this file has the others. Views share memory as NumPy's do, and refer to the
tensor that they are a view of (`_base`), so that a write to either changes both, in the numbers and
in the graph.
"""
# Generated from the op registry by `python docs/build_stubs.py`: edit docs/stub_types.py, or the definition, instead.
import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, SupportsIndex, TypeAlias, overload

import numpy as _np
from .. import return_types
from .device import device as _device
from .dtypes import dtype as _dtype
from ..ops.shapes.memory import TypedStorage as _TypedStorage
from ..ops.shapes.memory import UntypedStorage as _UntypedStorage
from .storage import layout as _layout
from .storage import memory_format as _memory_format
from ..random.generator import Generator as _Generator

_bool: TypeAlias = builtins.bool                           # the plain names are dtypes, and methods of Tensor
_int: TypeAlias = builtins.int
_Int: TypeAlias = builtins.int | _np.integer[Any]
_float: TypeAlias = builtins.float
_complex: TypeAlias = builtins.complex
_str: TypeAlias = builtins.str
_Number: TypeAlias = _complex | _np.generic
_Operand: TypeAlias = Tensor | _complex | _np.generic | _np.ndarray[Any, Any]

class Size(tuple[_int, ...]):
    """The shape of a tensor: a tuple of sizes, printed as PyTorch prints it.
    """
    def __new__(cls, sizes: Any = ...) -> Size: ...
    def numel(self) -> _int:
        """The number of elements of a tensor of this shape."""
    @overload  # type: ignore[override]
    def __getitem__(self, index: SupportsIndex) -> _int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __add__(self, other: Any) -> Size: ...  # type: ignore[override]
    def __radd__(self, other: Any) -> Size: ...
    def __mul__(self, n: Any) -> Size: ...  # type: ignore[override]
    def __rmul__(self, n: Any) -> Size: ...  # type: ignore[override]

class Tensor:
    """An n-dimensional array of one dtype that can be differentiated. `minitorch.tensor` and other
    functions make one.

    ``Tensor(data)`` makes one of the default dtype from a (nested) list, ``Tensor(2, 3)`` an
    uninitialised one of that shape, as PyTorch's constructor does; `device` and `requires_grad` may
    be given by name.
    """
    array: Any
    backend: Any
    __array_priority__: _int
    def __hash__(self) -> _int: ...
    node: Any
    hooks: Any
    _grad: Any
    _base: Any
    _views: Any
    needs_grad: _bool
    parents: Any
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @property
    def shape(self) -> Size:
        """The size of each dimension."""
    @property
    def dtype(self) -> _dtype:
        """The type of the elements."""
    @property
    def device(self) -> _device:
        """Where the memory is."""
    @property
    def ndim(self) -> _int:
        """The number of dimensions."""
    @property
    def itemsize(self) -> _int:
        """The size of one element in bytes."""
    @property
    def nbytes(self) -> _int:
        """The size of all elements in bytes."""
    @property
    def is_cuda(self) -> _bool:
        """True if the memory is on a CUDA device."""
    @property
    def is_cpu(self) -> _bool:
        """True if the memory is the host's."""
    @property
    def is_leaf(self) -> _bool:
        """True if no recorded call made it."""
    is_sparse: _bool
    is_sparse_csr: _bool
    is_quantized: _bool
    is_mkldnn: _bool
    is_nested: _bool
    is_xpu: _bool
    is_mps: _bool
    is_xla: _bool
    is_mtia: _bool
    is_vulkan: _bool
    is_ipu: _bool
    is_maia: _bool
    volatile: _bool
    @property
    def layout(self) -> Any:
        """Equal to `strided`; called, ``x.layout()``, a picture."""
    @overload
    def size(self, dim: None = None) -> Size:
        """The shape, or the size of dimension `dim`."""
    @overload
    def size(self, dim: _Int) -> _int: ...
    def dim(self) -> _int:
        """The number of dimensions."""
    def ndimension(self) -> _int:
        """The number of dimensions."""
    def numel(self) -> _int:
        """The number of elements."""
    def nelement(self) -> _int:
        """The number of elements."""
    def checked_dim(self, dim: _Int) -> _int:
        """`dim` counted from the front; IndexError, with the valid range, if there is no such
        dimension.
        """
    def element_size(self) -> _int:
        """The size of one element in bytes."""
    def is_inference(self) -> _bool:
        """True if its memory was allocated in `inference_mode`."""
    def __len__(self) -> _int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __bool__(self) -> _bool: ...
    def item(self) -> Any:
        """The one element as a Python number; RuntimeError if there is not exactly one."""
    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers (a number for a 0-d tensor)."""
    @property
    def _version(self) -> _int:
        """The number of writes in place to its memory."""
    @property
    def requires_grad(self) -> _bool:
        """True if gradients flow to this tensor."""
    @requires_grad.setter
    def requires_grad(self, value: _bool) -> None: ...
    def requires_grad_(self, requires_grad: _bool = True) -> Tensor:
        """Switch gradients for this tensor on or off. It must be a leaf; to require gradients, its
        dtype must be floating-point or complex.
        """
    @property
    def retains_grad(self) -> _bool:
        """True if `retain_grad` was called on this computed tensor."""
    @property
    def grad(self) -> Tensor | None:
        """The sum of the gradients of all backward passes for this leaf; None before the first."""
    @grad.setter
    def grad(self, value: Tensor | None) -> None: ...
    @grad.deleter
    def grad(self) -> None: ...
    def detach(self) -> Tensor:
        """A new tensor over the same memory, outside of the graph: it does not require grad."""
    def detach_(self) -> Tensor:
        """Forget the call that made this tensor; it becomes a leaf that does not require grad."""
    def graph(self, model: Any = None, params: Any = None) -> Any:
        """A picture of the graph behind this tensor: see `minitorch.viz.graph`."""
    def __repr__(self, *, tensor_contents: Any = None) -> _str: ...
    def _repr_html_(self) -> Any: ...
    def __deepcopy__(self, memo: Any) -> Any: ...
    def __reduce_ex__(self, protocol: SupportsIndex) -> Any: ...
    @property
    def data(self) -> Tensor:
        """A tensor over the same memory, outside of the graph; a backward pass does not notice writes
        through it.
        """
    @data.setter
    def data(self, value: Tensor) -> None: ...
    def __new__(self, *data: Any, device: _device | _str | _Int | None = None, requires_grad: _bool = False) -> Tensor: ...
    @property
    def is_meta(self) -> Tensor:
        """True if it has a shape, but no memory."""
    @property
    def T(self) -> Tensor:
        """All dimensions in reverse order: a view. Deprecated but for matrices: a batch is transposed by `mT`."""
    @property
    def H(self) -> Tensor:
        """The conjugate transpose of a matrix; of real numbers a view."""
    @property
    def mT(self) -> Tensor:
        """The last two dimensions swapped: a view."""
    @property
    def mH(self) -> Tensor:
        """The last two dimensions swapped and the elements conjugated; of real numbers a view."""
    @property
    def real(self) -> Tensor:
        """The real parts, as a view; of a real tensor itself."""
    @real.setter
    def real(self, value: Tensor) -> None: ...
    @property
    def imag(self) -> Tensor:
        """The imaginary parts of a complex tensor, as a view."""
    @imag.setter
    def imag(self, value: Tensor) -> None: ...
    def retain_grad(self) -> None:
        """Keep the gradient of this tensor, the result of a call, in its `grad`."""
    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Run ``hook(gradient)`` when this tensor's gradient is complete; a returned tensor replaces
        it.
        """
    def register_post_accumulate_grad_hook(self, hook: Callable[..., Any]) -> Any:
        """Run ``hook(tensor)`` each time a backward pass has added to the `grad` of this leaf."""
    @property
    def output_nr(self) -> _int:
        """The index of this tensor among the outputs of its graph node."""
    @property
    def grad_fn(self) -> Any:
        """The node of the call that made this tensor; None for a leaf."""
    def backward(self, gradient: Tensor | None = None, retain_graph: _bool | None = None, create_graph: _bool = False, inputs: Any = None) -> None:
        """Add this tensor's gradients to the `grad` of every leaf it depends on: see
        `autograd.backward`.
        """
    def transpose(self, dim0: _Int, dim1: _Int) -> Tensor:
        """A view with two dimensions swapped."""
    def swapdims(self, dim0: _Int, dim1: _Int) -> Tensor:
        """A view with two dimensions swapped."""
    @overload
    def unsqueeze(self, dim: _Int) -> Tensor:
        """A view with a dimension of size 1 inserted at `dim`."""
    @overload
    def unsqueeze(self, *, axis: _Int | Sequence[_Int]) -> Tensor: ...
    def clone(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """A copy with memory of its own; gradients flow through it. The elements keep their order in memory, unless
        `memory_format` asks for another.
        """
    def is_floating_point(self) -> _bool:
        """True if the dtype of `input` is a floating-point type."""
    def is_complex(self) -> _bool:
        """True if the dtype of `input` is complex."""
    def is_signed(self) -> _bool:
        """True if the dtype of `input` has negative values."""
    def is_nonzero(self) -> _bool:
        """True if the one element of `input` is not zero."""
    def get_device(self) -> _int:
        """The index of the device of `input`; -1 for the CPU."""
    def is_same_size(self, other: _Operand) -> _bool:
        """True if both tensors have the same shape."""
    def is_conj(self) -> _bool:
        """False: conjugates are computed at once, not marked."""
    def is_neg(self) -> _bool:
        """False: negations are computed at once, not marked."""
    def flatten(self, start_dim: _Int = 0, end_dim: _Int = -1) -> Tensor:
        """`input` with the dimensions from `start_dim` to `end_dim` as one; a view where the strides allow it."""
    def unflatten(self, dim: _Int, sizes: _Int | Sequence[_Int]) -> Tensor:
        """`input` with dimension `dim` as several of `sizes`; one size may be -1."""
    def ravel(self) -> Tensor:
        """`input` as one row; a view where the strides allow it."""
    def squeeze(self, dim: _Int | Sequence[_Int] | None = None) -> Tensor:
        """`input` without its dimensions of size 1, or without those of them that are among `dim`: a view."""
    def expand_as(self, other: _Operand) -> Tensor:
        """`input` expanded to the shape of `other`."""
    def broadcast_to(self, size: _Int | Sequence[_Int]) -> Tensor:
        """A view of `input` broadcast to `size`."""
    def swapaxes(self, axis0: _Int, axis1: _Int) -> Tensor:
        """The same as `transpose`."""
    def movedim(self, source: _Int | Sequence[_Int], destination: _Int | Sequence[_Int]) -> Tensor:
        """`input` with the dimensions `source` moved to the positions `destination`: a view."""
    def moveaxis(self, source: _Int | Sequence[_Int], destination: _Int | Sequence[_Int]) -> Tensor:
        """The same as `movedim`."""
    def t(self) -> Tensor:
        """The transpose of a matrix; a vector or number as it is."""
    def select(self, dim: _Int, index: _Int) -> Tensor:
        """The slice of `input` at `index` of dimension `dim`, which disappears: a view."""
    def narrow(self, dim: _Int, start: _Int | Tensor, length: _Int) -> Tensor:
        """`length` slices of `input` from `start` on, along `dim`: a view."""
    def diagonal(self, offset: _Int = 0, dim1: _Int = 0, dim2: _Int = 1) -> Tensor:
        """The diagonal of the matrices in dimensions `dim1` and `dim2`, as the last dimension: a view."""
    def unbind(self, dim: _Int = 0) -> tuple[Tensor, ...]:
        """The slices of `input` along `dim` as a tuple of views."""
    def split(self, split_size: _Int, dim: _Int = 0) -> tuple[Tensor, ...]:
        """Consecutive chunks along `dim`, of one size (the last may be smaller) or of the sizes given: views."""
    def split_with_sizes(self, split_sizes: Sequence[_Int], dim: _Int = 0) -> tuple[Tensor, ...]:
        """Consecutive chunks of the given sizes along `dim`: views."""
    def chunk(self, chunks: _Int, dim: _Int = 0) -> tuple[Tensor, ...]:
        """`input` in at most `chunks` parts of one size along `dim` (the last may be smaller): views."""
    def tensor_split(self, sections: _Int | Sequence[_Int] | Tensor | None = None, dim: _Int = 0, *, indices: _Int | Sequence[_Int] | Tensor | None = None, indices_or_sections: _Int | Sequence[_Int] | Tensor | None = None, tensor_indices_or_sections: _Int | Sequence[_Int] | Tensor | None = None) -> tuple[Tensor, ...]:
        """`input` in `sections` parts of nearly one size, or cut at the given `indices`, along `dim`: views.

        The second argument may be an int, a list of ints or a tensor, under any of PyTorch's names for it.
        """
    def hsplit(self, sections: _Int | Sequence[_Int] | Tensor | None = None, *, indices: _Int | Sequence[_Int] | Tensor | None = None, indices_or_sections: _Int | Sequence[_Int] | Tensor | None = None) -> tuple[Tensor, ...]:
        """`input` in equal pieces, or cut at indices, along dimension 1: views."""
    def vsplit(self, sections: _Int | Sequence[_Int] | Tensor | None = None, *, indices: _Int | Sequence[_Int] | Tensor | None = None, indices_or_sections: _Int | Sequence[_Int] | Tensor | None = None) -> tuple[Tensor, ...]:
        """`input` in equal pieces, or cut at indices, along dimension 0: views."""
    def dsplit(self, sections: _Int | Sequence[_Int] | Tensor | None = None, *, indices: _Int | Sequence[_Int] | Tensor | None = None, indices_or_sections: _Int | Sequence[_Int] | Tensor | None = None) -> tuple[Tensor, ...]:
        """`input` in equal pieces, or cut at indices, along dimension 2: views."""
    def bernoulli(self, p: _Number | None = None, *, generator: _Generator | None = None, out: Tensor | None = None) -> Tensor:
        """Ones, each with the probability that `input` has there (or the number `p`), and zeros."""
    def multinomial(self, num_samples: _Int, replacement: _bool = False, *, generator: _Generator | None = None, out: Tensor | None = None) -> Tensor:
        """Indices drawn with probabilities proportional to the weights in `input`, a vector or one for each row.

        Without `replacement` an index comes up once at most. The result is int64, of shape (num_samples,) or
        (rows, num_samples).
        """
    def sum(self, dim: _Int | Sequence[_Int] | None = None, keepdim: _bool = False, dtype: _dtype | builtins.type[Any] | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
        """The sum over `dim`. Integers and bools are summed in int64."""
    def mean(self, dim: _Int | Sequence[_Int] | None = None, keepdim: _bool = False, dtype: _dtype | builtins.type[Any] | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
        """The mean over `dim`; of floating-point tensors only, unless `dtype` says what to compute in."""
    def nansum(self, dim: _Int | Sequence[_Int] | None = None, keepdim: _bool = False, dtype: _dtype | builtins.type[Any] | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
        """The sum over `dim`, NaN counting as 0. Integers and bools are summed in int64."""
    def nanmean(self, dim: _Int | Sequence[_Int] | None = None, keepdim: _bool = False, *, dtype: _dtype | builtins.type[Any] | None = None, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
        """The mean over `dim` of what is not NaN; NaN if nothing else is there."""
    def count_nonzero(self, dim: _Int | Sequence[_Int] | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
        """How many elements are not zero, over `dim`; NaN is not zero."""
    def prod(self, dim: _Int | Sequence[_Int] | None = (), keepdim: _bool = False, dtype: _dtype | builtins.type[Any] | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
        """The product over `dim`, one dimension or, by default, all. Integers and bools are multiplied in int64."""
    @overload
    def logsumexp(self, dim: _Int | Sequence[_Int] | None, keepdim: _bool = False, *, out: Tensor | None = None, keepdims: _bool = ...) -> Tensor:
        """``log(exp(input).sum(dim))``, shifted by the maximum so that it cannot overflow. An empty sum gives -inf."""
    @overload
    def logsumexp(self, keepdim: _bool = False, *, axis: _Int | Sequence[_Int], out: Tensor | None = None, keepdims: _bool = ...) -> Tensor: ...
    def norm(self, p: _Number | _str = 'fro', dim: _Int | Sequence[_Int] | None = None, keepdim: _bool = False, dtype: _dtype | builtins.type[Any] | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
        """The norm over `dim`, or of all elements: of a vector for a number `p` and for "fro", of a matrix for "nuc"."""
    def dist(self, other: _Operand, p: _Number = 2) -> Tensor:
        """The `p`-norm of ``input - other``."""
    def renorm(self, p: _Number, dim: _Int, maxnorm: _Number, *, out: Tensor | None = None) -> Tensor:
        """`input` with each slice along `dim` scaled down to a `p`-norm of `maxnorm`, if it has a larger one."""
    def renorm_(self, p: _Number, dim: _Int, maxnorm: _Number) -> Tensor:
        """In-place twin of `renorm`: writes the result into this tensor and returns it."""
    def combinations(self, r: _Int = 2, with_replacement: _bool = False) -> Tensor:
        """All choices of `r` elements of a vector, as rows."""
    def tile(self, *args: _Int | Sequence[_Int], dims: _Int | Sequence[_Int] | None = None) -> Tensor:
        """This tensor side by side with itself; fewer `dims` than dimensions mean the last ones."""
    def fliplr(self) -> Tensor:
        """The columns in reverse order."""
    def flipud(self) -> Tensor:
        """The rows in reverse order."""
    def rot90(self, k: _Int = 1, dims: Sequence[_Int] = (0, 1)) -> Tensor:
        """`input` turned by k times 90 degrees in the plane of two dimensions, from the first towards the second."""
    def roll(self, shifts: _Int | Sequence[_Int], dims: _Int | Sequence[_Int] | None = None) -> Tensor:
        """A copy with the slices moved by `shifts` along `dims`, around the ends; flattened if no `dims` are given."""
    def tril(self, diagonal: _Int = 0, *, out: Tensor | None = None) -> Tensor:
        """The lower triangles of the matrices in the last two dimensions; zeros above `diagonal`."""
    def tril_(self, diagonal: _Int = 0) -> Tensor:
        """In-place twin of `tril`: writes the result into this tensor and returns it."""
    def triu(self, diagonal: _Int = 0, *, out: Tensor | None = None) -> Tensor:
        """The upper triangles of the matrices in the last two dimensions; zeros below `diagonal`."""
    def triu_(self, diagonal: _Int = 0) -> Tensor:
        """In-place twin of `triu`: writes the result into this tensor and returns it."""
    def diag_embed(self, offset: _Int = 0, dim1: _Int = -2, dim2: _Int = -1) -> Tensor:
        """Matrices with the last dimension of `input` on a diagonal, in dimensions `dim1` and `dim2` of the result."""
    def diag(self, diagonal: _Int = 0, *, out: Tensor | None = None) -> Tensor:
        """The diagonal of a matrix (a copy), or the matrix with a vector on its diagonal."""
    def diagflat(self, offset: _Int = 0) -> Tensor:
        """A matrix with the elements of `input`, flattened, on its diagonal."""
    def trace(self) -> Tensor:
        """The sum of the diagonal of a matrix."""
    def select_scatter(self, src: Tensor, dim: _Int, index: _Int) -> Tensor:
        """A copy of `input` with the slice at `index` of `dim` replaced by `src`."""
    def slice_scatter(self, src: Tensor, dim: _Int = 0, start: _Int | None = None, end: _Int | None = None, step: _Int = 1) -> Tensor:
        """A copy of `input` with the slices ``start:end:step`` of `dim` replaced by `src`."""
    def diagonal_scatter(self, src: Tensor, offset: _Int = 0, dim1: _Int = 0, dim2: _Int = 1) -> Tensor:
        """A copy of `input` with a diagonal replaced by `src`."""
    def as_strided_scatter(self, src: Tensor, size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int], storage_offset: _Int | None = None) -> Tensor:
        """A copy of `input` with the elements that `as_strided` would read replaced by `src`."""
    def narrow_copy(self, dim: _Int, start: _Int | Tensor, length: _Int) -> Tensor:
        """A copy of `narrow`."""
    def unsafe_chunk(self, chunks: _Int, dim: _Int = 0) -> tuple[Tensor, ...]:
        """The same as `chunk`."""
    def unsafe_split(self, split_size: _Int, dim: _Int = 0) -> tuple[Tensor, ...]:
        """The same as `split`."""
    def eq(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input == other``, as bools."""
    def eq_(self, other: _Operand) -> Tensor:
        """In-place twin of `eq`: writes the result into this tensor and returns it."""
    def ne(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input != other``, as bools."""
    def ne_(self, other: _Operand) -> Tensor:
        """In-place twin of `ne`: writes the result into this tensor and returns it."""
    def not_equal(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input != other``, as bools."""
    def not_equal_(self, other: _Operand) -> Tensor:
        """In-place twin of `not_equal`: writes the result into this tensor and returns it."""
    def lt(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input < other``, as bools."""
    def lt_(self, other: _Operand) -> Tensor:
        """In-place twin of `lt`: writes the result into this tensor and returns it."""
    def less(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input < other``, as bools."""
    def less_(self, other: _Operand) -> Tensor:
        """In-place twin of `less`: writes the result into this tensor and returns it."""
    def le(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input <= other``, as bools."""
    def le_(self, other: _Operand) -> Tensor:
        """In-place twin of `le`: writes the result into this tensor and returns it."""
    def less_equal(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input <= other``, as bools."""
    def less_equal_(self, other: _Operand) -> Tensor:
        """In-place twin of `less_equal`: writes the result into this tensor and returns it."""
    def gt(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input > other``, as bools."""
    def gt_(self, other: _Operand) -> Tensor:
        """In-place twin of `gt`: writes the result into this tensor and returns it."""
    def greater(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input > other``, as bools."""
    def greater_(self, other: _Operand) -> Tensor:
        """In-place twin of `greater`: writes the result into this tensor and returns it."""
    def ge(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input >= other``, as bools."""
    def ge_(self, other: _Operand) -> Tensor:
        """In-place twin of `ge`: writes the result into this tensor and returns it."""
    def greater_equal(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input >= other``, as bools."""
    def greater_equal_(self, other: _Operand) -> Tensor:
        """In-place twin of `greater_equal`: writes the result into this tensor and returns it."""
    def logical_and(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """True where both are nonzero."""
    def logical_and_(self, other: _Operand) -> Tensor:
        """In-place twin of `logical_and`: writes the result into this tensor and returns it."""
    def logical_or(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """True where one or both are nonzero."""
    def logical_or_(self, other: _Operand) -> Tensor:
        """In-place twin of `logical_or`: writes the result into this tensor and returns it."""
    def logical_xor(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """True where just one of them is nonzero."""
    def logical_xor_(self, other: _Operand) -> Tensor:
        """In-place twin of `logical_xor`: writes the result into this tensor and returns it."""
    def logical_not(self, *, out: Tensor | None = None) -> Tensor:
        """True where `input` is zero."""
    def logical_not_(self) -> Tensor:
        """In-place twin of `logical_not`: writes the result into this tensor and returns it."""
    def bitwise_and(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input & other`` for integers, bit by bit, and bools."""
    def bitwise_and_(self, other: _Operand) -> Tensor:
        """In-place twin of `bitwise_and`: writes the result into this tensor and returns it."""
    def bitwise_or(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input | other`` for integers, bit by bit, and bools."""
    def bitwise_or_(self, other: _Operand) -> Tensor:
        """In-place twin of `bitwise_or`: writes the result into this tensor and returns it."""
    def bitwise_xor(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input ^ other`` for integers, bit by bit, and bools."""
    def bitwise_xor_(self, other: _Operand) -> Tensor:
        """In-place twin of `bitwise_xor`: writes the result into this tensor and returns it."""
    def bitwise_not(self, *, out: Tensor | None = None) -> Tensor:
        """``~input`` for integers, bit by bit, and bools."""
    def bitwise_not_(self) -> Tensor:
        """In-place twin of `bitwise_not`: writes the result into this tensor and returns it."""
    def bitwise_left_shift(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input << other``; 0 when all bits are shifted out."""
    def bitwise_left_shift_(self, other: _Operand) -> Tensor:
        """In-place twin of `bitwise_left_shift`: writes the result into this tensor and returns it."""
    def bitwise_right_shift(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input >> other``; the sign stays when all bits are shifted out."""
    def bitwise_right_shift_(self, other: _Operand) -> Tensor:
        """In-place twin of `bitwise_right_shift`: writes the result into this tensor and returns it."""
    def isnan(self, *, out: Tensor | None = None) -> Tensor:
        """True where `input` is not a number."""
    def isinf(self, *, out: Tensor | None = None) -> Tensor:
        """True where `input` is infinite."""
    def isfinite(self, *, out: Tensor | None = None) -> Tensor:
        """True where `input` is neither infinite nor NaN."""
    def isposinf(self, *, out: Tensor | None = None) -> Tensor:
        """True if `input` is positive infinity."""
    def isneginf(self, *, out: Tensor | None = None) -> Tensor:
        """True if `input` is negative infinity."""
    def isreal(self, *, out: Tensor | None = None) -> Tensor:
        """True if `input` has no imaginary part: True for every real dtype."""
    def maximum(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The larger of the two, NaN if either is; the gradient of equal values is shared."""
    def minimum(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The smaller of the two, NaN if either is; the gradient of equal values is shared."""
    def fmax(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The larger of the two, the other one if one is NaN; equal values leave the gradient to `input`."""
    def fmin(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The smaller of the two, the other one if one is NaN; equal values leave the gradient to `input`."""
    def clamp(self, min: _Operand | None = None, max: _Operand | None = None, *, out: Tensor | None = None) -> Tensor:
        """`input` between `min` and `max`, tensors or numbers, or None for no bound; `max` if they cross.

        Beside a number, a tensor without dimensions is one too. The gradient at a bound goes to `input`.

        >>> import minitorch
        >>> minitorch.clamp(minitorch.tensor([-2.0, 0.5, 2.0]), -1, 1)
        tensor([-1.0000,  0.5000,  1.0000])
        """
    def clamp_(self, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
        """In-place twin of `clamp`: writes the result into this tensor and returns it."""
    def clip(self, min: _Operand | None = None, max: _Operand | None = None, *, out: Tensor | None = None) -> Tensor:
        """`input` between `min` and `max`, tensors or numbers, or None for no bound; `max` if they cross.

        Beside a number, a tensor without dimensions is one too. The gradient at a bound goes to `input`.

        >>> import minitorch
        >>> minitorch.clamp(minitorch.tensor([-2.0, 0.5, 2.0]), -1, 1)
        tensor([-1.0000,  0.5000,  1.0000])
        """
    def clip_(self, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
        """In-place twin of `clip`: writes the result into this tensor and returns it."""
    def clamp_min(self, min: _Operand, *, out: Tensor | None = None) -> Tensor:
        """`input`, but not below `min`, a number or a tensor."""
    def clamp_min_(self, min: _Operand) -> Tensor:
        """In-place twin of `clamp_min`: writes the result into this tensor and returns it."""
    def clamp_max(self, max: _Operand, *, out: Tensor | None = None) -> Tensor:
        """`input`, but not above `max`, a number or a tensor."""
    def clamp_max_(self, max: _Operand) -> Tensor:
        """In-place twin of `clamp_max`: writes the result into this tensor and returns it."""
    def heaviside(self, values: _Operand, *, out: Tensor | None = None) -> Tensor:
        """0 where `input` is negative (or NaN), `values` where it is 0, 1 where it is positive."""
    def heaviside_(self, values: _Operand) -> Tensor:
        """In-place twin of `heaviside`: writes the result into this tensor and returns it."""
    def isclose(self, other: _Operand, rtol: _Number | Tensor = 1e-05, atol: _Number | Tensor = 1e-08, equal_nan: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """``|input - other| <= atol + rtol |other|``, elementwise; infinities are close to themselves only.

        NaN is close to nothing, or with `equal_nan` to NaN.
        """
    def allclose(self, other: _Operand, rtol: _Number | Tensor = 1e-05, atol: _Number | Tensor = 1e-08, equal_nan: _bool = False) -> _bool:
        """True if all elements are close (see `isclose`), as a bool."""
    def equal(self, other: Tensor) -> _bool:
        """True if two tensors have the same shape and equal elements, as a bool."""
    def conj(self) -> Tensor:
        """The complex conjugates ``x - iy``, a copy (in PyTorch a view, see `is_conj`); a real tensor itself."""
    def conj_physical(self, *, out: Tensor | None = None) -> Tensor:
        """The complex conjugates, a copy; a real tensor itself."""
    def resolve_conj(self) -> Tensor:
        """`input` itself: conjugates are computed at once."""
    def resolve_neg(self) -> Tensor:
        """`input` itself: negations are computed at once."""
    def adjoint(self) -> Tensor:
        """The last two dimensions swapped and the elements conjugated; of a real tensor a view."""
    def angle(self, *, out: Tensor | None = None) -> Tensor:
        """The angles of complex numbers, between -pi and pi; of real numbers 0, or pi where they are negative.

        float32 of complex64, float64 of complex128; integers and bools give the default float. NaN stays.
        """
    def mul(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input * other``."""
    def mul_(self, other: _Operand) -> Tensor:
        """In-place twin of `mul`: writes the result into this tensor and returns it."""
    def multiply(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input * other``."""
    def multiply_(self, other: _Operand) -> Tensor:
        """In-place twin of `multiply`: writes the result into this tensor and returns it."""
    def neg(self, *, out: Tensor | None = None) -> Tensor:
        """``-input``."""
    def neg_(self) -> Tensor:
        """In-place twin of `neg`: writes the result into this tensor and returns it."""
    def negative(self, *, out: Tensor | None = None) -> Tensor:
        """``-input``."""
    def negative_(self) -> Tensor:
        """In-place twin of `negative`: writes the result into this tensor and returns it."""
    def add(self, other: _Operand, *tensor: Tensor, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
        """``input + alpha * other``, elementwise with broadcasting and PyTorch's type promotion."""
    def add_(self, other: _Operand, *tensor: Tensor, alpha: _Number = 1) -> Tensor:
        """In-place twin of `add`: writes the result into this tensor and returns it."""
    def sub(self, other: _Operand, *tensor: Tensor, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
        """``input - alpha * other``, elementwise with broadcasting and PyTorch's type promotion."""
    def sub_(self, other: _Operand, *tensor: Tensor, alpha: _Number = 1) -> Tensor:
        """In-place twin of `sub`: writes the result into this tensor and returns it."""
    def subtract(self, other: _Operand, *tensor: Tensor, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
        """``input - alpha * other``, elementwise with broadcasting and PyTorch's type promotion."""
    def subtract_(self, other: _Operand, *tensor: Tensor, alpha: _Number = 1) -> Tensor:
        """In-place twin of `subtract`: writes the result into this tensor and returns it."""
    def div(self, other: _Operand, *, rounding_mode: _str | None = None, out: Tensor | None = None) -> Tensor:
        """``input / other``; with `rounding_mode` "trunc" or "floor" rounded to whole numbers of the promoted type."""
    def div_(self, other: _Operand, *, rounding_mode: _str | None = None) -> Tensor:
        """In-place twin of `div`: writes the result into this tensor and returns it."""
    def divide(self, other: _Operand, *, rounding_mode: _str | None = None, out: Tensor | None = None) -> Tensor:
        """``input / other``; with `rounding_mode` "trunc" or "floor" rounded to whole numbers of the promoted type."""
    def divide_(self, other: _Operand, *, rounding_mode: _str | None = None) -> Tensor:
        """In-place twin of `divide`: writes the result into this tensor and returns it."""
    def true_divide(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input / other``, true division."""
    def true_divide_(self, other: _Operand) -> Tensor:
        """In-place twin of `true_divide`: writes the result into this tensor and returns it."""
    def floor_divide(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input / other``, rounded down; RuntimeError for integers divided by zero."""
    def floor_divide_(self, other: _Operand) -> Tensor:
        """In-place twin of `floor_divide`: writes the result into this tensor and returns it."""
    def remainder(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The rest of ``input / other`` with the sign of `other`, as Python's ``%``."""
    def remainder_(self, other: _Operand) -> Tensor:
        """In-place twin of `remainder`: writes the result into this tensor and returns it."""
    def fmod(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The rest of ``input / other`` with the sign of `input`, as C's fmod."""
    def fmod_(self, other: _Operand) -> Tensor:
        """In-place twin of `fmod`: writes the result into this tensor and returns it."""
    def gcd(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The greatest common divisor of integers."""
    def gcd_(self, other: _Operand) -> Tensor:
        """In-place twin of `gcd`: writes the result into this tensor and returns it."""
    def lcm(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The least common multiple of integers."""
    def lcm_(self, other: _Operand) -> Tensor:
        """In-place twin of `lcm`: writes the result into this tensor and returns it."""
    def pow(self, exponent: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input ** exponent``, elementwise.

        Negative exponents of integers: refused as a number; as a tensor they leave 1, -1 or 0.
        """
    def pow_(self, exponent: _Operand) -> Tensor:
        """In-place twin of `pow`: writes the result into this tensor and returns it."""
    def float_power(self, exponent: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input ** exponent``, computed and returned in float64, of complex numbers in complex128."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, value: _Number = 1, *, out: Tensor | None = None) -> Tensor:
        """``input + value * tensor1 * tensor2``."""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, value: _Number = 1) -> Tensor:
        """In-place twin of `addcmul`: writes the result into this tensor and returns it."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, value: _Number = 1, *, out: Tensor | None = None) -> Tensor:
        """``input + value * tensor1 / tensor2``."""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, value: _Number = 1) -> Tensor:
        """In-place twin of `addcdiv`: writes the result into this tensor and returns it."""
    def lerp(self, end: _Operand, weight: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input + weight * (end - input)``, computed from the nearer of the two ends.

        >>> import minitorch
        >>> minitorch.lerp(minitorch.tensor([0.0, 10.0]), minitorch.tensor([1.0, 20.0]), 0.25)
        tensor([ 0.2500, 12.5000])
        """
    def lerp_(self, end: _Operand, weight: _Operand) -> Tensor:
        """In-place twin of `lerp`: writes the result into this tensor and returns it."""
    def matmul(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The matrix product of (..., n, k) and (..., k, m): (..., n, m), batched by broadcasting.

        A 1-D `input` is one row, a 1-D `other` one column, and that dimension is not in the result. The dtypes must
        agree. RuntimeError if the shapes do not fit.

        >>> import minitorch as torch
        >>> torch.matmul(torch.tensor([[1, 2], [3, 4]]), torch.tensor([1, 10]))
        tensor([21, 43])
        """
    def mm(self, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The product of two matrices: (n, k), (k, m) -> (n, m). No broadcasting; see `matmul`."""
    def bmm(self, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The products of two batches of matrices: (b, n, k), (b, k, m) -> (b, n, m). No broadcasting; see `matmul`."""
    def mv(self, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The product of a matrix and a vector: (n, k), (k) -> (n)."""
    def dot(self, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The sum of products of two vectors of one length, as a 0-d tensor."""
    def vdot(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The sum of products of two vectors of one length, as a 0-d tensor; of complex ones `input` is conjugated."""
    def addmm(self, mat1: Tensor, mat2: Tensor, beta: _Number = 1, alpha: _Number = 1, *, out: Tensor | None = None) -> Tensor:
        """``beta * input + alpha * mat1 @ mat2``: (n, k), (k, m), and an `input` that broadcasts to (n, m).

        With ``beta=0`` the values of `input` do not matter, not even NaN.
        """
    def addmm_(self, mat1: Tensor, mat2: Tensor, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """In-place twin of `addmm`: writes the result into this tensor and returns it."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
        """``beta * input + alpha * mat @ vec``: (n, k), (k), and an `input` that broadcasts to (n)."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """In-place twin of `addmv`: writes the result into this tensor and returns it."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
        """``beta * input + alpha * (batch1 @ batch2).sum(0)``: (b, n, k), (b, k, m), `input` broadcasts to (n, m)."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """In-place twin of `addbmm`: writes the result into this tensor and returns it."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
        """``beta * input + alpha * batch1 @ batch2``: (b, n, k), (b, k, m), `input` broadcasts to (b, n, m)."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """In-place twin of `baddbmm`: writes the result into this tensor and returns it."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
        """``beta * input + alpha * outer(vec1, vec2)``: (n), (m), and an `input` that broadcasts to (n, m)."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """In-place twin of `addr`: writes the result into this tensor and returns it."""
    def outer(self, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """All products of an element of `input` and one of `vec2`: (n), (m) -> (n, m)."""
    def ger(self, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """All products of an element of `input` and one of `vec2`: (n), (m) -> (n, m)."""
    def inner(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Sums of products over the last dimensions: (..., k), (***, k) -> (..., ***). A number multiplies."""
    def tensordot(self, b: Tensor, dims: Any = 2, *, out: Tensor | None = None) -> Tensor:
        """Sums of products over `dims`: so many last ones of `a` and first ones of `b`, or a pair of lists of dimensions.

        The result has the remaining dimensions of `a`, then those of `b`.
        """
    def kron(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The Kronecker product: every element of `input` times the whole of `other`, as blocks."""
    def triangular_solve(self, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False) -> return_types.triangular_solve:
        """The X of ``A X = b`` (or ``A.T X = b``) for a triangular `A`, and `A` itself. See `linalg.solve_triangular`."""
    def cholesky_inverse(self, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The inverse of the matrix with Cholesky factor `input`: ``(L @ L.mH)^-1``, or ``(U.mH @ U)^-1`` if `upper`."""
    def cholesky_solve(self, L: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The X of ``A X = input`` for the A with Cholesky factor `L` (or upper factor): (..., n, k), (..., n, n).

        Only the triangle of `L` is read, and only there it has a gradient (PyTorch gives the other one a gradient too).
        """
    def cholesky(self, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The Cholesky factor of a symmetric positive definite matrix. See `linalg.cholesky`."""
    def qr(self, some: _bool = True, *, out: Sequence[Tensor] | None = None) -> return_types.qr:
        """Q and R with ``input = Q @ R``; Q square if not `some`. See `linalg.qr`."""
    def svd(self, some: _bool = True, compute_uv: _bool = True, *, out: Sequence[Tensor] | None = None) -> return_types.svd:
        """U, S and V (not its transpose) with ``input = U @ diag(S) @ V.mH``. See `linalg.svd`."""
    def orgqr(self, input2: Tensor) -> Tensor:
        """The same as `linalg.householder_product`."""
    def lu_unpack(self, LU_pivots: Tensor, unpack_data: _bool = True, unpack_pivots: _bool = True) -> return_types.lu_unpack:
        """P, L and U as matrices, from what `linalg.lu_factor` returns; empty tensors for what is not asked for."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The X of ``A X = b`` from what `linalg.lu_factor` returns for A. See `linalg.lu_solve`."""
    def inverse(self, *, out: Tensor | None = None) -> Tensor:
        """The inverses of square matrices. The same as `linalg.inv`."""
    def pinverse(self, rcond: _Number | Tensor = 1e-15) -> Tensor:
        """The pseudo-inverses of matrices. See `linalg.pinv`."""
    def matrix_power(self, n: _Int, *, out: Tensor | None = None) -> Tensor:
        """The n-th powers of square matrices. The same as `linalg.matrix_power`."""
    def matrix_exp(self) -> Tensor:
        """The exponentials of square matrices. The same as `linalg.matrix_exp`."""
    def cross(self, other: _Operand, dim: _Int | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
        """The cross products of vectors of length 3 in dimension `dim`, by default the first of that size."""
    def is_distributed(self) -> Tensor:
        """False: a tensor is in one process."""
    def unsafe_split_with_sizes(self, split_sizes: Sequence[_Int], dim: _Int = 0) -> Tensor:
        """`split_with_sizes`."""
    def exp(self, *, out: Tensor | None = None) -> Tensor:
        """The exponential, e to the power `input`."""
    def exp_(self) -> Tensor:
        """In-place twin of `exp`: writes the result into this tensor and returns it."""
    def exp2(self, *, out: Tensor | None = None) -> Tensor:
        """2 to the power `input`."""
    def exp2_(self) -> Tensor:
        """In-place twin of `exp2`: writes the result into this tensor and returns it."""
    def expm1(self, *, out: Tensor | None = None) -> Tensor:
        """``exp(input) - 1``, without cancellation near 0."""
    def expm1_(self) -> Tensor:
        """In-place twin of `expm1`: writes the result into this tensor and returns it."""
    def log(self, *, out: Tensor | None = None) -> Tensor:
        """The natural logarithm."""
    def log_(self) -> Tensor:
        """In-place twin of `log`: writes the result into this tensor and returns it."""
    def log2(self, *, out: Tensor | None = None) -> Tensor:
        """The logarithm to base 2."""
    def log2_(self) -> Tensor:
        """In-place twin of `log2`: writes the result into this tensor and returns it."""
    def log10(self, *, out: Tensor | None = None) -> Tensor:
        """The logarithm to base 10."""
    def log10_(self) -> Tensor:
        """In-place twin of `log10`: writes the result into this tensor and returns it."""
    def log1p(self, *, out: Tensor | None = None) -> Tensor:
        """``log(1 + input)``, without cancellation near 0."""
    def log1p_(self) -> Tensor:
        """In-place twin of `log1p`: writes the result into this tensor and returns it."""
    def sigmoid(self, *, out: Tensor | None = None) -> Tensor:
        """``1 / (1 + exp(-input))``; to full relative precision also where it is close to 0."""
    def sigmoid_(self) -> Tensor:
        """In-place twin of `sigmoid`: writes the result into this tensor and returns it."""
    def logit(self, eps: _Number | None = None, *, out: Tensor | None = None) -> Tensor:
        """``log(input / (1 - input))``, with `input` clamped to [eps, 1 - eps] first if `eps` is given.

        Without `eps` NaN outside [0, 1].
        """
    def logit_(self, eps: _Number | None = None) -> Tensor:
        """In-place twin of `logit`: writes the result into this tensor and returns it."""
    def sqrt(self, *, out: Tensor | None = None) -> Tensor:
        """The square root."""
    def sqrt_(self) -> Tensor:
        """In-place twin of `sqrt`: writes the result into this tensor and returns it."""
    def rsqrt(self, *, out: Tensor | None = None) -> Tensor:
        """``1 / sqrt(input)``."""
    def rsqrt_(self) -> Tensor:
        """In-place twin of `rsqrt`: writes the result into this tensor and returns it."""
    def reciprocal(self, *, out: Tensor | None = None) -> Tensor:
        """``1 / input``."""
    def reciprocal_(self) -> Tensor:
        """In-place twin of `reciprocal`: writes the result into this tensor and returns it."""
    def square(self, *, out: Tensor | None = None) -> Tensor:
        """``input ** 2``; bools become int64."""
    def square_(self) -> Tensor:
        """In-place twin of `square`: writes the result into this tensor and returns it."""
    def sin(self, *, out: Tensor | None = None) -> Tensor:
        """The sine of `input` (radians)."""
    def sin_(self) -> Tensor:
        """In-place twin of `sin`: writes the result into this tensor and returns it."""
    def cos(self, *, out: Tensor | None = None) -> Tensor:
        """The cosine of `input` (radians)."""
    def cos_(self) -> Tensor:
        """In-place twin of `cos`: writes the result into this tensor and returns it."""
    def tan(self, *, out: Tensor | None = None) -> Tensor:
        """The tangent of `input` (radians)."""
    def tan_(self) -> Tensor:
        """In-place twin of `tan`: writes the result into this tensor and returns it."""
    def asin(self, *, out: Tensor | None = None) -> Tensor:
        """The angle, between -pi/2 and pi/2, whose sine is `input`."""
    def asin_(self) -> Tensor:
        """In-place twin of `asin`: writes the result into this tensor and returns it."""
    def arcsin(self, *, out: Tensor | None = None) -> Tensor:
        """The angle, between -pi/2 and pi/2, whose sine is `input`."""
    def arcsin_(self) -> Tensor:
        """In-place twin of `arcsin`: writes the result into this tensor and returns it."""
    def acos(self, *, out: Tensor | None = None) -> Tensor:
        """The angle, between 0 and pi, whose cosine is `input`."""
    def acos_(self) -> Tensor:
        """In-place twin of `acos`: writes the result into this tensor and returns it."""
    def arccos(self, *, out: Tensor | None = None) -> Tensor:
        """The angle, between 0 and pi, whose cosine is `input`."""
    def arccos_(self) -> Tensor:
        """In-place twin of `arccos`: writes the result into this tensor and returns it."""
    def atan(self, *, out: Tensor | None = None) -> Tensor:
        """The angle, between -pi/2 and pi/2, whose tangent is `input`."""
    def atan_(self) -> Tensor:
        """In-place twin of `atan`: writes the result into this tensor and returns it."""
    def arctan(self, *, out: Tensor | None = None) -> Tensor:
        """The angle, between -pi/2 and pi/2, whose tangent is `input`."""
    def arctan_(self) -> Tensor:
        """In-place twin of `arctan`: writes the result into this tensor and returns it."""
    def atan2(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The angle, between -pi and pi, from the first axis to the point (`other`, `input`)."""
    def atan2_(self, other: _Operand) -> Tensor:
        """In-place twin of `atan2`: writes the result into this tensor and returns it."""
    def arctan2(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The angle, between -pi and pi, from the first axis to the point (`other`, `input`)."""
    def arctan2_(self, other: _Operand) -> Tensor:
        """In-place twin of `arctan2`: writes the result into this tensor and returns it."""
    def deg2rad(self, *, out: Tensor | None = None) -> Tensor:
        """Degrees as radians: ``input * pi / 180``."""
    def deg2rad_(self) -> Tensor:
        """In-place twin of `deg2rad`: writes the result into this tensor and returns it."""
    def rad2deg(self, *, out: Tensor | None = None) -> Tensor:
        """Radians as degrees: ``input * 180 / pi``."""
    def rad2deg_(self) -> Tensor:
        """In-place twin of `rad2deg`: writes the result into this tensor and returns it."""
    def sinc(self, *, out: Tensor | None = None) -> Tensor:
        """``sin(pi input) / (pi input)``, and 1 at 0."""
    def sinc_(self) -> Tensor:
        """In-place twin of `sinc`: writes the result into this tensor and returns it."""
    def sinh(self, *, out: Tensor | None = None) -> Tensor:
        """The hyperbolic sine."""
    def sinh_(self) -> Tensor:
        """In-place twin of `sinh`: writes the result into this tensor and returns it."""
    def cosh(self, *, out: Tensor | None = None) -> Tensor:
        """The hyperbolic cosine."""
    def cosh_(self) -> Tensor:
        """In-place twin of `cosh`: writes the result into this tensor and returns it."""
    def tanh(self, *, out: Tensor | None = None) -> Tensor:
        """The hyperbolic tangent."""
    def tanh_(self) -> Tensor:
        """In-place twin of `tanh`: writes the result into this tensor and returns it."""
    def asinh(self, *, out: Tensor | None = None) -> Tensor:
        """The number whose hyperbolic sine is `input`."""
    def asinh_(self) -> Tensor:
        """In-place twin of `asinh`: writes the result into this tensor and returns it."""
    def arcsinh(self, *, out: Tensor | None = None) -> Tensor:
        """The number whose hyperbolic sine is `input`."""
    def arcsinh_(self) -> Tensor:
        """In-place twin of `arcsinh`: writes the result into this tensor and returns it."""
    def acosh(self, *, out: Tensor | None = None) -> Tensor:
        """The number, not negative, whose hyperbolic cosine is `input`."""
    def acosh_(self) -> Tensor:
        """In-place twin of `acosh`: writes the result into this tensor and returns it."""
    def arccosh(self, *, out: Tensor | None = None) -> Tensor:
        """The number, not negative, whose hyperbolic cosine is `input`."""
    def arccosh_(self) -> Tensor:
        """In-place twin of `arccosh`: writes the result into this tensor and returns it."""
    def atanh(self, *, out: Tensor | None = None) -> Tensor:
        """The number whose hyperbolic tangent is `input`."""
    def atanh_(self) -> Tensor:
        """In-place twin of `atanh`: writes the result into this tensor and returns it."""
    def arctanh(self, *, out: Tensor | None = None) -> Tensor:
        """The number whose hyperbolic tangent is `input`."""
    def arctanh_(self) -> Tensor:
        """In-place twin of `arctanh`: writes the result into this tensor and returns it."""
    def logaddexp(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``log(exp(input) + exp(other))``, without overflow."""
    def logaddexp2(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``log2(2 ** input + 2 ** other)``, without overflow."""
    def hypot(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``sqrt(input ** 2 + other ** 2)``, without overflow."""
    def hypot_(self, other: _Operand) -> Tensor:
        """In-place twin of `hypot`: writes the result into this tensor and returns it."""
    def xlogy(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input * log(other)``, and 0 where `input` is 0 (NaN where `other` is NaN)."""
    def xlogy_(self, other: _Operand) -> Tensor:
        """In-place twin of `xlogy`: writes the result into this tensor and returns it."""
    def erf(self, *, out: Tensor | None = None) -> Tensor:
        """The error function, ``2 / sqrt(pi) * integral of exp(-t^2) from 0 to input``."""
    def erf_(self) -> Tensor:
        """In-place twin of `erf`: writes the result into this tensor and returns it."""
    def erfc(self, *, out: Tensor | None = None) -> Tensor:
        """``1 - erf(input)``, without cancellation."""
    def erfc_(self) -> Tensor:
        """In-place twin of `erfc`: writes the result into this tensor and returns it."""
    def erfinv(self, *, out: Tensor | None = None) -> Tensor:
        """The number whose error function is `input`; infinite at -1 and 1, NaN outside."""
    def erfinv_(self) -> Tensor:
        """In-place twin of `erfinv`: writes the result into this tensor and returns it."""
    def lgamma(self, *, out: Tensor | None = None) -> Tensor:
        """The logarithm of the absolute value of the gamma function."""
    def lgamma_(self) -> Tensor:
        """In-place twin of `lgamma`: writes the result into this tensor and returns it."""
    def digamma(self, *, out: Tensor | None = None) -> Tensor:
        """The derivative of `lgamma`."""
    def digamma_(self) -> Tensor:
        """In-place twin of `digamma`: writes the result into this tensor and returns it."""
    def mvlgamma(self, p: _Number, *, out: Tensor | None = None) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension `p`.

        ``p (p - 1) / 4 log(pi) + sum over j < p of lgamma(input - j / 2)``.
        """
    def mvlgamma_(self, p: _Number) -> Tensor:
        """In-place twin of `mvlgamma`: writes the result into this tensor and returns it."""
    def igamma(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The regularized lower incomplete gamma function P(input, other).

        ``1 / Gamma(a) * integral of t^(a-1) exp(-t) from 0 to x`` for a = `input`, x = `other`; differentiable in `other`.
        """
    def igamma_(self, other: _Operand) -> Tensor:
        """In-place twin of `igamma`: writes the result into this tensor and returns it."""
    def igammac(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The regularized upper incomplete gamma function: ``1 - igamma(input, other)``, without cancellation."""
    def igammac_(self, other: _Operand) -> Tensor:
        """In-place twin of `igammac`: writes the result into this tensor and returns it."""
    def i0(self, *, out: Tensor | None = None) -> Tensor:
        """The modified Bessel function of the first kind of order 0."""
    def i0_(self) -> Tensor:
        """In-place twin of `i0`: writes the result into this tensor and returns it."""
    def relu(self, *, out: Tensor | None = None) -> Tensor:
        """``max(input, 0)``; the gradient at 0 is 0, at NaN 1."""
    def relu_(self) -> Tensor:
        """In-place twin of `relu`: writes the result into this tensor and returns it."""
    def prelu(self, weight: Tensor) -> Tensor:
        """`input` where positive, elsewhere ``weight * input``, with one learnt weight or one per channel (dimension 1).

        Source: K. He et al., "Delving Deep into Rectifiers", 2015.
        """
    def hardshrink(self, lambd: _Number = 0.5, *, out: Tensor | None = None) -> Tensor:
        """`input` where ``|input| > lambd``, elsewhere 0."""
    def abs(self, *, out: Tensor | None = None) -> Tensor:
        """The absolute value; its gradient at 0 is 0."""
    def abs_(self) -> Tensor:
        """In-place twin of `abs`: writes the result into this tensor and returns it."""
    def absolute(self, *, out: Tensor | None = None) -> Tensor:
        """The absolute value; its gradient at 0 is 0."""
    def absolute_(self) -> Tensor:
        """In-place twin of `absolute`: writes the result into this tensor and returns it."""
    def sign(self, *, out: Tensor | None = None) -> Tensor:
        """-1, 0 or 1 by the sign of `input`; 0 for NaN. Complex numbers have no sign, see `sgn`."""
    def sign_(self) -> Tensor:
        """In-place twin of `sign`: writes the result into this tensor and returns it."""
    def sgn(self, *, out: Tensor | None = None) -> Tensor:
        """The direction of a complex number, ``x / |x|`` and 0 for 0; the `sign` of real numbers."""
    def sgn_(self) -> Tensor:
        """In-place twin of `sgn`: writes the result into this tensor and returns it."""
    def signbit(self, *, out: Tensor | None = None) -> Tensor:
        """True if the sign is negative, that of -0.0 included."""
    def copysign(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The absolute value of `input` with the sign of `other`; the gradient at 0 is 0."""
    def copysign_(self, other: _Operand) -> Tensor:
        """In-place twin of `copysign`: writes the result into this tensor and returns it."""
    def positive(self) -> Tensor:
        """`input` itself; RuntimeError for bools."""
    def floor(self, *, out: Tensor | None = None) -> Tensor:
        """The largest whole number that is not above `input`. The gradient is 0."""
    def floor_(self) -> Tensor:
        """In-place twin of `floor`: writes the result into this tensor and returns it."""
    def ceil(self, *, out: Tensor | None = None) -> Tensor:
        """The smallest whole number that is not below `input`. The gradient is 0."""
    def ceil_(self) -> Tensor:
        """In-place twin of `ceil`: writes the result into this tensor and returns it."""
    def trunc(self, *, out: Tensor | None = None) -> Tensor:
        """`input` without what follows the point. The gradient is 0."""
    def trunc_(self) -> Tensor:
        """In-place twin of `trunc`: writes the result into this tensor and returns it."""
    def fix(self, *, out: Tensor | None = None) -> Tensor:
        """`input` without what follows the point. The gradient is 0."""
    def fix_(self) -> Tensor:
        """In-place twin of `fix`: writes the result into this tensor and returns it."""
    def round(self, decimals: _Int = 0, *, out: Tensor | None = None) -> Tensor:
        """`input` rounded to `decimals` places (to tens, hundreds, ... if negative), halves to the even neighbour.

        Integers are returned as they are; with `decimals` they are refused.
        """
    def round_(self, decimals: _Int = 0) -> Tensor:
        """In-place twin of `round`: writes the result into this tensor and returns it."""
    def frac(self, *, out: Tensor | None = None) -> Tensor:
        """The fractional part: ``input - trunc(input)``, with the sign of `input`."""
    def frac_(self) -> Tensor:
        """In-place twin of `frac`: writes the result into this tensor and returns it."""
    def nan_to_num(self, nan: _Number | None = None, posinf: _Number | None = None, neginf: _Number | None = None, *, out: Tensor | None = None) -> Tensor:
        """`input` with NaN replaced by `nan` (0) and infinities by `posinf`, `neginf` (the dtype's limits)."""
    def nan_to_num_(self, nan: _Number | None = None, posinf: _Number | None = None, neginf: _Number | None = None) -> Tensor:
        """In-place twin of `nan_to_num`: writes the result into this tensor and returns it."""
    def nextafter(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The next float after `input` towards `other`."""
    def nextafter_(self, other: _Operand) -> Tensor:
        """In-place twin of `nextafter`: writes the result into this tensor and returns it."""
    def frexp(self, *, out: Sequence[Tensor] | None = None) -> return_types.frexp:
        """(mantissa, exponent) with ``input = mantissa * 2 ** exponent`` and the mantissa in [0.5, 1); int32 exponents.

        >>> import minitorch
        >>> minitorch.frexp(minitorch.tensor([6.0])).exponent
        tensor([3], dtype=torch.int32)
        """
    def ldexp(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """``input * 2 ** other``; for floats and integers exactly, even where the power alone would overflow."""
    def ldexp_(self, other: _Operand) -> Tensor:
        """In-place twin of `ldexp`: writes the result into this tensor and returns it."""
    @overload
    def gather(self, dim: _Int, index: Tensor, *, sparse_grad: _bool = False, out: Tensor | None = None) -> Tensor:
        """The elements of `input` that `index` names along `dim`, in the shape of `index`.

        ``out[i][j] = input[index[i][j]][j]`` for ``dim=0``, ``input[i][index[i][j]]`` for ``dim=1``. `index` is an
        integer tensor with as many dimensions as `input`, nowhere larger but in `dim`. RuntimeError for an index outside
        the dimension. `sparse_grad` is accepted and has no effect: gradients are dense.

        >>> import minitorch as torch
        >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0, 0], [1, 0]]))
        tensor([[1, 1],
                [4, 3]])
        """
    @overload
    def gather(self, index: Tensor, *, axis: _Int | Sequence[_Int], sparse_grad: _bool = False, out: Tensor | None = None) -> Tensor: ...
    @overload
    def scatter(self, dim: _Int, index: Tensor, src: _Operand | None = None, *, value: _Number | None = None, reduce: _str | None = None, out: Tensor | None = None) -> Tensor:
        """A copy of `input` with the elements that `index` names along `dim` replaced by those of `src`, or by a number.

        The opposite of `gather`: ``out[index[i][j]][j] = src[i][j]`` for ``dim=0``. Where `index` names a position twice,
        the last one counts. `reduce` "add" or "multiply" combines instead of replacing. RuntimeError for an index outside
        the dimension, and where the dtypes differ.
        """
    @overload
    def scatter(self, index: Tensor, src: _Operand | None = None, *, axis: _Int | Sequence[_Int], value: _Number | None = None, reduce: _str | None = None, out: Tensor | None = None) -> Tensor: ...
    @overload
    def scatter_(self, dim: _Int, index: Tensor, src: _Operand | None = None, *, value: _Number | None = None, reduce: _str | None = None) -> Tensor:
        """In-place twin of `scatter`: writes the result into this tensor and returns it."""
    @overload
    def scatter_(self, index: Tensor, src: _Operand | None = None, *, axis: _Int | Sequence[_Int], value: _Number | None = None, reduce: _str | None = None) -> Tensor: ...
    def scatter_add(self, dim: _Int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
        """A copy of `input` with `src` added where `index` says along `dim`, as often as it names a position."""
    def scatter_add_(self, dim: _Int, index: Tensor, src: Tensor) -> Tensor:
        """In-place twin of `scatter_add`: writes the result into this tensor and returns it."""
    @overload
    def scatter_reduce(self, dim: _Int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
        """The "sum", "prod", "mean", "amax" or "amin" of `input` and all of `src` that `index` sends to the same position.

        With ``include_self=False`` the positions that `index` names begin empty; the others keep what they hold. Equal
        extremes share the gradient.
        """
    @overload
    def scatter_reduce(self, index: Tensor, src: Tensor, reduce: _str, *, axis: _Int | Sequence[_Int], include_self: _bool = True, out: Tensor | None = None) -> Tensor: ...
    @overload
    def scatter_reduce_(self, dim: _Int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = True) -> Tensor:
        """In-place twin of `scatter_reduce`: writes the result into this tensor and returns it."""
    @overload
    def scatter_reduce_(self, index: Tensor, src: Tensor, reduce: _str, *, axis: _Int | Sequence[_Int], include_self: _bool = True) -> Tensor: ...
    def take_along_dim(self, indices: Tensor, dim: _Int | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
        """The elements of `input` that `indices` names along `dim`, other dimensions broadcast; flattened if None."""
    @overload
    def index_select(self, dim: _Int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The slices of `input` along `dim` that the integer vector `index` names: a copy.

        >>> import minitorch as torch
        >>> torch.index_select(torch.tensor([[1, 2, 3], [4, 5, 6]]), 1, torch.tensor([2, 0]))
        tensor([[3, 1],
                [6, 4]])
        """
    @overload
    def index_select(self, index: Tensor, *, axis: _Int | Sequence[_Int], out: Tensor | None = None) -> Tensor: ...
    @overload
    def index_add(self, dim: _Int, index: Tensor, source: Tensor, *, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
        """A copy of `input` with the slices of `source`, times `alpha`, added to those that `index` names along `dim`."""
    @overload
    def index_add(self, index: Tensor, source: Tensor, *, axis: _Int | Sequence[_Int], alpha: _Number = 1, out: Tensor | None = None) -> Tensor: ...
    @overload
    def index_add_(self, dim: _Int, index: Tensor, source: Tensor, *, alpha: _Number = 1) -> Tensor:
        """In-place twin of `index_add`: writes the result into this tensor and returns it."""
    @overload
    def index_add_(self, index: Tensor, source: Tensor, *, axis: _Int | Sequence[_Int], alpha: _Number = 1) -> Tensor: ...
    def index_copy(self, dim: _Int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
        """A copy of `input` with the slices that `index` names along `dim` replaced by those of `source`."""
    def index_copy_(self, dim: _Int, index: Tensor, source: Tensor) -> Tensor:
        """In-place twin of `index_copy`: writes the result into this tensor and returns it."""
    @overload
    def index_fill(self, dim: _Int, index: Tensor, value: _Operand, *, out: Tensor | None = None) -> Tensor:
        """A copy of `input` with the slices that `index` names along `dim` filled with a number or 0-d tensor."""
    @overload
    def index_fill(self, index: Tensor, value: _Operand, *, axis: _Int | Sequence[_Int], out: Tensor | None = None) -> Tensor: ...
    @overload
    def index_fill_(self, dim: _Int, index: Tensor, value: _Operand) -> Tensor:
        """In-place twin of `index_fill`: writes the result into this tensor and returns it."""
    @overload
    def index_fill_(self, index: Tensor, value: _Operand, *, axis: _Int | Sequence[_Int]) -> Tensor: ...
    @overload
    def index_reduce(self, dim: _Int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
        """The "prod", "mean", "amax" or "amin" of slices of `input` and all slices of `source` sent there by `index`."""
    @overload
    def index_reduce(self, index: Tensor, source: Tensor, reduce: _str, *, axis: _Int | Sequence[_Int], include_self: _bool = True, out: Tensor | None = None) -> Tensor: ...
    @overload
    def index_reduce_(self, dim: _Int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = True) -> Tensor:
        """In-place twin of `index_reduce`: writes the result into this tensor and returns it."""
    @overload
    def index_reduce_(self, index: Tensor, source: Tensor, reduce: _str, *, axis: _Int | Sequence[_Int], include_self: _bool = True) -> Tensor: ...
    def index_put(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
        """A copy of `input` with ``input[indices] = values``, or ``+= values`` with `accumulate`.

        `indices` is a tuple of integer or bool tensors, `values` a tensor of the same dtype that broadcasts to
        ``input[indices]``.
        """
    def index_put_(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
        """In-place twin of `index_put`: writes the result into this tensor and returns it."""
    def take(self, index: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The elements of the flattened `input` that `index` names, in the shape of `index`; negative ones from the end."""
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """A copy of `input` with the elements that `index` names in flattened order replaced by (or added to) `source`."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """In-place twin of `put`: writes the result into this tensor and returns it."""
    def masked_fill(self, mask: Tensor, value: _Operand, *, out: Tensor | None = None) -> Tensor:
        """`input` with `value`, a number or 0-d tensor, where the bool tensor `mask` is True; the two are broadcast.

        >>> import minitorch as torch
        >>> torch.zeros(2, 3).masked_fill(torch.tensor([True, False, True]), 5)
        tensor([[5., 0., 5.],
                [5., 0., 5.]])
        """
    def masked_fill_(self, mask: Tensor, value: _Operand) -> Tensor:
        """In-place twin of `masked_fill`: writes the result into this tensor and returns it."""
    def masked_select(self, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The elements where the bool tensor `mask` is True, as one row; the two are broadcast."""
    def masked_scatter(self, mask: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
        """`input` with the first elements of `source`, one after the other, where the bool tensor `mask` is True."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """In-place twin of `masked_scatter`: writes the result into this tensor and returns it."""
    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False, out: Tensor | None = None) -> Tensor:
        """The indices of the elements that are not zero, in order, as int64: (N, D), one row of D indices for each.

        With `as_tuple` a tuple of D vectors of length N, which can stand between brackets: ``x[x.nonzero(as_tuple=True)]``.
        """
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
    def nonzero_static(self, *, size: _Int | Sequence[_Int], fill_value: _Number = -1) -> Tensor:
        """`nonzero` with exactly `size` rows: those too many are left out, missing ones filled with `fill_value`."""
    def argwhere(self) -> Tensor:
        """The indices of the elements that are not zero, in order: (N, D), one row for each. The same as `nonzero`."""
    def unique(self, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _Int | None = None) -> Any:
        """The distinct elements, or slices along `dim`, in order, also without `sorted`.

        With `return_inverse` also where among them each one of `input` is found, with `return_counts` also how often each
        occurs.
        """
    def unique_consecutive(self, return_inverse: _bool = False, return_counts: _bool = False, dim: _Int | None = None) -> Any:
        """The elements, or slices along `dim`, without those equal to the one just before them; see `unique`."""
    def amax(self, dim: _Int | Sequence[_Int] | None = (), keepdim: _bool = False, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
        """The largest element over `dim` (all dimensions by default)."""
    def amin(self, dim: _Int | Sequence[_Int] | None = (), keepdim: _bool = False, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
        """The smallest element over `dim` (all dimensions by default)."""
    def argmax(self, dim: _Int | None = None, keepdim: _bool = False, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
        """The index of the largest element along `dim`, or in the flattened tensor; the first one of several."""
    def argmin(self, dim: _Int | None = None, keepdim: _bool = False, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
        """The index of the smallest element along `dim`, or in the flattened tensor; the first one of several."""
    @overload
    def max(self, *, out: Tensor | None = None) -> Tensor:
        """The maximum of all elements; with `dim` the maxima along it and their indices, as a named tuple; with a second tensor the elementwise `maximum`."""
    @overload
    def max(self, dim: _Int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None) -> return_types.max: ...
    @overload
    def max(self, *, axis: _Int, keepdims: _bool = False, out: Sequence[Tensor] | None = None) -> return_types.max: ...
    @overload
    def max(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def min(self, *, out: Tensor | None = None) -> Tensor:
        """The minimum of all elements; with `dim` the minima along it and their indices, as a named tuple; with a second tensor the elementwise `minimum`."""
    @overload
    def min(self, dim: _Int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None) -> return_types.min: ...
    @overload
    def min(self, *, axis: _Int, keepdims: _bool = False, out: Sequence[Tensor] | None = None) -> return_types.min: ...
    @overload
    def min(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def aminmax(self, *, dim: _Int | None = None, keepdim: _bool = False, out: Sequence[Tensor] | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> return_types.aminmax:
        """The smallest and the largest elements, of all or along `dim`, as a named tuple."""
    def all(self, dim: _Int | Sequence[_Int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
        """True if all elements (along `dim`) are nonzero."""
    def any(self, dim: _Int | Sequence[_Int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
        """True if an element (along `dim`) is nonzero."""
    def sort(self, dim: _Int = -1, descending: _bool = False, stable: _bool = False, *, out: Sequence[Tensor] | None = None, axis: _Int | Sequence[_Int] | None = ...) -> return_types.sort:
        """The elements in order along `dim`, and their indices in `input`, as a named tuple (values, indices).

        NaN counts as the largest. Equal elements keep their order, also without `stable`.
        """
    def argsort(self, dim: _Int = -1, descending: _bool = False, stable: _bool = False, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
        """The indices that put the elements in order along `dim`: those of `sort`."""
    def msort(self) -> Tensor:
        """The elements in order along the first dimension."""
    def topk(self, k: _Int, dim: _Int = -1, largest: _bool = True, sorted: _bool = True, *, out: Sequence[Tensor] | None = None, axis: _Int | Sequence[_Int] | None = ...) -> return_types.topk:
        """The `k` largest (or smallest) elements along `dim` and their indices, as a named tuple (values, indices).

        They come in order, whether `sorted` or not. NaN counts as the largest.
        """
    def kthvalue(self, k: _Int, dim: _Int = -1, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> return_types.kthvalue:
        """The `k`-th smallest element along `dim`, counted from 1, and its index, as a named tuple."""
    @overload
    def median(self, *, out: Tensor | None = None) -> Tensor:
        """The median of all elements, or along `dim` with its index, as a named tuple.

        Of an even number of elements it is the lower of the two in the middle. NaN if an element is.
        """
    @overload
    def median(self, dim: _Int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None) -> return_types.median: ...
    @overload
    def median(self, *, axis: _Int, keepdims: _bool = False, out: Sequence[Tensor] | None = None) -> return_types.median: ...
    @overload
    def nanmedian(self, *, out: Tensor | None = None) -> Tensor:
        """The median of what is not NaN: of all elements, or along `dim` with its index, as a named tuple."""
    @overload
    def nanmedian(self, dim: _Int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None) -> return_types.nanmedian: ...
    @overload
    def nanmedian(self, *, axis: _Int, keepdims: _bool = False, out: Sequence[Tensor] | None = None) -> return_types.nanmedian: ...
    def mode(self, dim: _Int = -1, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> return_types.mode:
        """The most frequent element along `dim`, the smallest of several, and its last index, as a named tuple."""
    def quantile(self, q: _Number | Tensor, dim: _Int | None = None, keepdim: _bool = False, *, interpolation: _str = 'linear', out: Tensor | None = None) -> Tensor:
        """The `q`-th quantiles, of all elements or along `dim`; the dimension of a vector `q` comes first. NaN if one is.

        `interpolation` decides for a rank between two elements: "linear", "lower", "higher", "midpoint", "nearest".
        """
    def nanquantile(self, q: _Number | Tensor, dim: _Int | None = None, keepdim: _bool = False, *, interpolation: _str = 'linear', out: Tensor | None = None) -> Tensor:
        """The quantiles of what is not NaN; see `quantile`."""
    def slogdet(self, *, out: Sequence[Tensor] | None = None) -> return_types.slogdet:
        """The same as `linalg.slogdet`."""
    def det(self, *, out: Tensor | None = None) -> Tensor:
        """The determinants of square matrices. The same as `linalg.det`."""
    def logdet(self) -> Tensor:
        """The logarithms of the determinants; -inf for a singular matrix, NaN where a real determinant is negative."""
    def softmax(self, dim: _Int, dtype: _dtype | builtins.type[Any] | None = None, *, out: Tensor | None = None) -> Tensor:
        """The softmax over `dim`: ``exp(x) / sum(exp(x))``; with `dtype`, `input` is cast to it first.

        >>> import minitorch
        >>> minitorch.softmax(minitorch.tensor([0.0, 0.0]), 0)
        tensor([0.5000, 0.5000])
        """
    def log_softmax(self, dim: _Int, dtype: _dtype | builtins.type[Any] | None = None, *, out: Tensor | None = None) -> Tensor:
        """The logarithm of the softmax over `dim`, without overflow; with `dtype`, `input` is cast to it first."""
    @overload
    def cumsum(self, dim: _Int, dtype: _dtype | builtins.type[Any] | None = None, *, out: Tensor | None = None) -> Tensor:
        """The sums of the elements up to and including each one along `dim`. Integers and bools are summed in int64."""
    @overload
    def cumsum(self, dtype: _dtype | builtins.type[Any] | None = None, *, axis: _Int | Sequence[_Int], out: Tensor | None = None) -> Tensor: ...
    @overload
    def cumsum_(self, dim: _Int, dtype: _dtype | builtins.type[Any] | None = None) -> Tensor:
        """In-place twin of `cumsum`: writes the result into this tensor and returns it."""
    @overload
    def cumsum_(self, dtype: _dtype | builtins.type[Any] | None = None, *, axis: _Int | Sequence[_Int]) -> Tensor: ...
    @overload
    def cumprod(self, dim: _Int, dtype: _dtype | builtins.type[Any] | None = None, *, out: Tensor | None = None) -> Tensor:
        """The products of the elements up to and including each one along `dim`; of integers and bools in int64.

        The derivative by ``x[i]`` of all products together is the product before it times ``y[i]``, where
        ``y[i] = g[i] + x[i + 1] * y[i + 1]``.
        """
    @overload
    def cumprod(self, dtype: _dtype | builtins.type[Any] | None = None, *, axis: _Int | Sequence[_Int], out: Tensor | None = None) -> Tensor: ...
    @overload
    def cumprod_(self, dim: _Int, dtype: _dtype | builtins.type[Any] | None = None) -> Tensor:
        """In-place twin of `cumprod`: writes the result into this tensor and returns it."""
    @overload
    def cumprod_(self, dtype: _dtype | builtins.type[Any] | None = None, *, axis: _Int | Sequence[_Int]) -> Tensor: ...
    @overload
    def cummax(self, dim: _Int, *, out: Sequence[Tensor] | None = None) -> return_types.cummax:
        """The largest elements so far along `dim`, and their indices, as a named tuple; of equal ones the last."""
    @overload
    def cummax(self, *, axis: _Int | Sequence[_Int], out: Sequence[Tensor] | None = None) -> return_types.cummax: ...
    @overload
    def cummin(self, dim: _Int, *, out: Sequence[Tensor] | None = None) -> return_types.cummin:
        """The smallest elements so far along `dim`, and their indices, as a named tuple; of equal ones the last."""
    @overload
    def cummin(self, *, axis: _Int | Sequence[_Int], out: Sequence[Tensor] | None = None) -> return_types.cummin: ...
    @overload
    def logcumsumexp(self, dim: _Int, *, out: Tensor | None = None) -> Tensor:
        """``log(cumsum(exp(input)))`` along `dim`, without overflow."""
    @overload
    def logcumsumexp(self, *, axis: _Int | Sequence[_Int], out: Tensor | None = None) -> Tensor: ...
    def diff(self, n: _Int = 1, dim: _Int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
        """The differences of neighbours along `dim`, `n` times over, of `input` between `prepend` and `append`."""
    def bincount(self, weights: Tensor | None = None, minlength: _Int = 0, *, out: Tensor | None = None) -> Tensor:
        """How often each of 0, 1, 2, ... occurs in a vector, up to its largest element or `minlength`, as int64.

        With `weights`, of the shape of `input`, the sums of the weights, as float64, or float32 if they are.
        """
    def histc(self, bins: _Int = 100, min: _Number = 0, max: _Number = 0, *, out: Tensor | None = None) -> Tensor:
        """How many elements lie in each of `bins` equal bins between `min` and `max`; if these are equal, between the
        least and the largest element. NaN counts nowhere.
        """
    def histogram(self, bins: Any = 100, *, range: Any = None, weight: Tensor | None = None, density: _bool = False) -> return_types.histogram:
        """The histogram of all elements and the edges of its bins, as a named tuple (hist, bin_edges).

        `bins` is the number of equal bins between the two of `range` (the extremes by default), or a vector of edges.
        `weight`, of the shape of `input`, counts each element by that much; `density` makes the integral 1.
        """
    def var(self, dim: _Int | Sequence[_Int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, correction: _Number | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
        """The variance over `dim`: ``((x - mean) ** 2).sum() / (n - correction)``; `correction` is 1 by default.

        ``unbiased=False`` is another spelling of ``correction=0``. In two passes, so that no digits cancel.
        """
    def std(self, dim: _Int | Sequence[_Int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, correction: _Number | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
        """The standard deviation over `dim`, the square root of `var`. Its gradient at 0 is 0."""
    def cov(self, *, correction: _Int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """The covariances of the rows of `input`, (N, D) to (N, N): each column is one observation of N variables.

        `fweights`, integers, says how often each observation was made, `aweights` how much it weighs; `correction` as in
        `var`.
        """
    def corrcoef(self) -> Tensor:
        """The correlations of the rows of `input`, (N, D) to (N, N): their covariances over their standard deviations."""
    def stft(self, n_fft: Any, hop_length: Any = None, win_length: Any = None, window: Any = None, center: Any = True, pad_mode: Any = 'reflect', normalized: Any = False, onesided: Any = None, return_complex: Any = None, align_to_window: Any = None) -> Tensor:
        """Fourier transforms of overlapping frames: (length) or (batch, length) to (..., frequencies, frames), complex.

        Args:
            n_fft: how many points each frame has.
            hop_length: how far apart frames begin; default ``n_fft // 4``.
            win_length: the size of the window, padded with zeros on both sides to `n_fft`; default `n_fft`.
            window: what each frame is multiplied by, (win_length); default ones.
            center: pad both ends by ``n_fft // 2``, so that frame t is centred on ``t * hop_length``.
            pad_mode: how to pad, as in `nn.functional.pad`.
            normalized: divide by the root of `n_fft`.
            onesided: only the first ``n_fft // 2 + 1`` frequencies, the default for a real input and window.
            return_complex: must be given for a real input; False: the parts along a last dimension of size 2.
            align_to_window: only for ``center=False``: frames of the window's length, not of `n_fft`.

        Frame t at frequency w is ``sum_k window[k] input[t hop + k] exp(-2 pi i w k / n_fft)``. Gradients flow to the
        input and the window. RuntimeError for sizes that do not fit.
        """
    def istft(self, n_fft: Any, hop_length: Any = None, win_length: Any = None, window: Any = None, center: Any = True, normalized: Any = False, onesided: Any = None, length: _Int | None = None, return_complex: Any = False) -> Tensor:
        """The signal whose `stft` is nearest to `input`: complex (..., frequencies, frames) to (length) or (batch, length).

        The arguments are those of `stft`; `length` cuts the result or pads it with zeros. Frames are transformed back,
        multiplied by the window and added, and the sum is divided by that of the squares of the windows: RuntimeError where
        this is 0. The result is real, or complex with `return_complex`, for a transform that has all frequencies.
        """
    def _is_view(self) -> Tensor:
        """True if this tensor was made as a view of another one, `_base`."""
    @overload
    def stride(self, dim: None = None) -> tuple[_int, ...]:
        """How many elements apart neighbours are in memory, along each dimension or along `dim`.

        For a tensor without elements, where NumPy keeps no strides, those of a contiguous one.
        """
    @overload
    def stride(self, dim: _Int) -> _int: ...
    def storage_offset(self) -> _int:
        """The offset of the tensor in its memory, in elements."""
    def storage_range(self) -> tuple[_int, _int]:
        """Where the first element lies in the memory that owns it, and how many it holds, in elements."""
    def is_contiguous(self, memory_format: _memory_format | None = None) -> _bool:
        """True if the elements lie in memory in the order of the indices, without gaps."""
    def data_ptr(self) -> _int:
        """The address of the first element."""
    def untyped_storage(self) -> _UntypedStorage:
        """The memory that the tensor looks at, as bytes: ``nbytes()``, ``data_ptr()``."""
    def storage(self) -> _TypedStorage:
        """The memory that the tensor looks at, as elements."""
    def expand(self, *args: _Int | Sequence[_Int], size: _Int | Sequence[_Int] | None = None, implicit: _bool = False) -> Tensor:
        """A view with dimensions of size 1 repeated to the given sizes, without copying; -1 keeps a size."""
    def reshape(self, *args: _Int | Sequence[_Int], shape: _Int | Sequence[_Int] | None = None) -> Tensor:
        """This tensor with another shape: a view where the strides allow it, otherwise a copy. One size may be -1."""
    def permute(self, *args: _Int | Sequence[_Int], dims: _Int | Sequence[_Int] | None = None) -> Tensor:
        """A view with the dimensions in the order `dims`."""
    def contiguous(self, memory_format: _memory_format | None = None) -> Tensor:
        """`input` itself if its elements lie in memory in the order of the indices, else a copy in which they do.

        With `memory_format`, in the order that this asks for.
        """
    def new_zeros(self, *shape: _Int | Sequence[_Int], size: _Int | Sequence[_Int] | None = None, dtype: _dtype | builtins.type[Any] | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False, layout: _layout | None = None, pin_memory: _bool = False) -> Tensor:
        """`minitorch.zeros` with the dtype and device of this tensor."""
    def new_ones(self, *shape: _Int | Sequence[_Int], size: _Int | Sequence[_Int] | None = None, dtype: _dtype | builtins.type[Any] | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False, layout: _layout | None = None, pin_memory: _bool = False) -> Tensor:
        """`minitorch.ones` with the dtype and device of this tensor."""
    def new_empty(self, *shape: _Int | Sequence[_Int], size: _Int | Sequence[_Int] | None = None, dtype: _dtype | builtins.type[Any] | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False, layout: _layout | None = None, pin_memory: _bool = False) -> Tensor:
        """`minitorch.empty` with the dtype and device of this tensor."""
    def new_full(self, size: _Int | Sequence[_Int], fill_value: _Number, *, dtype: _dtype | builtins.type[Any] | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False, layout: _layout | None = None, pin_memory: _bool = False) -> Tensor:
        """A tensor filled with a number, with the dtype and device of this one."""
    def new_tensor(self, data: Any, *, dtype: _dtype | builtins.type[Any] | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False, layout: _layout | None = None, pin_memory: _bool = False) -> Tensor:
        """`minitorch.tensor` with the dtype and device of this tensor."""
    def new_empty_strided(self, size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int], dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
        """`minitorch.empty_strided` with the dtype and device of this tensor."""
    def __float__(self) -> _float: ...
    def __int__(self) -> _int: ...
    def __complex__(self) -> _complex: ...
    def only_element(self) -> Any:
        """`item`, with the words of a conversion to a Python number."""
    def __index__(self) -> _int: ...
    def numpy(self, *, force: _bool = False) -> _np.ndarray[Any, Any]:
        """The elements as a NumPy array that shares this tensor's memory (with `force`: or a copy).

        RuntimeError for a tensor that requires grad, but in `no_grad`.
        """
    def __array__(self, dtype: Any = None, copy: Any = None) -> _np.ndarray[Any, Any]: ...
    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: _bool = False) -> Any: ...
    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Tensor: ...
    def __array_namespace__(self, *, api_version: Any = None) -> Tensor: ...
    def __dlpack__(self, *, stream: Any = -1, max_version: Any = None, dl_device: Any = None, copy: _bool | None = None) -> Any: ...
    def __dlpack_device__(self) -> Any: ...
    def __contains__(self, element: Any) -> _bool: ...
    def __format__(self, spec: _str) -> _str: ...
    def to(self, *args: _dtype | builtins.type[Any] | _device | _str | _Int | Tensor | _bool | _memory_format | None, dtype: _dtype | builtins.type[Any] | None = None, device: _device | _str | _Int | None = None, other: Tensor | None = None, non_blocking: _bool = False, copy: _bool = False, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor with another dtype or on another device; itself if it is already there (unless `copy`).

        Takes a dtype, a device, a device and a dtype, or another tensor whose dtype and device to take.
        """
    def float(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as float32: ``to(torch.float32)``."""
    def double(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as float64: ``to(torch.float64)``."""
    def half(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as float16: ``to(torch.float16)``."""
    def bfloat16(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as bfloat16: ``to(torch.bfloat16)``."""
    def int(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as int32: ``to(torch.int32)``."""
    def long(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as int64: ``to(torch.int64)``."""
    def short(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as int16: ``to(torch.int16)``."""
    def bool(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as bool: ``to(torch.bool)``."""
    def cfloat(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as complex64: ``to(torch.complex64)``."""
    def cdouble(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as complex128: ``to(torch.complex128)``."""
    def char(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as int8: ``to(torch.int8)``."""
    def byte(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as uint8: ``to(torch.uint8)``."""
    def cpu(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor in the processor's memory; itself if it is there."""
    def cuda(self, device: _device | _str | _Int | None = None, non_blocking: _bool = False, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor on a CUDA device (the current one by default)."""
    def type_as(self, other: Tensor) -> Tensor:
        """This tensor in the dtype of `other`."""
    def zero_(self) -> Tensor:
        """Fill this tensor with zeros."""
    def fill_(self, value: _Operand) -> Tensor:
        """Fill this tensor with a number or a 0-d tensor."""
    def copy_(self, other: Tensor, non_blocking: _bool = False) -> Tensor:
        """Write the elements of `other`, broadcast and cast, into this tensor; gradients flow back to `other`."""
    def module_load(self, other: _Operand, assign: Any = False) -> Tensor:
        """This tensor with the elements of `other`, or with `assign` `other` itself: how a module loads its state."""
    @overload
    def type(self, dtype: None = None) -> _str:
        """The name of the tensor's type, such as ``torch.FloatTensor``; with `dtype`, the tensor as that type."""
    @overload
    def type(self, dtype: _dtype | _str, non_blocking: _bool = False) -> Tensor: ...
    def new(self, *data: Any, device: _device | _str | _Int | None = None) -> Tensor:
        """A tensor of data, or an uninitialised one of a size, with the dtype and device of this one.

        >>> import minitorch as torch
        >>> torch.ones(2, dtype=torch.int64).new([1, 2])
        tensor([1, 2])
        """
    def storage_type(self) -> Any:
        """The type of the tensor's storage, such as `FloatStorage`."""
    def is_set_to(self, tensor: Tensor) -> _bool:
        """True if both tensors look at the same elements of the same memory."""
    def is_shared(self) -> _bool:
        """True if the memory is shared between processes: see `share_memory_`. That of a GPU counts as shared."""
    def share_memory_(self) -> Tensor:
        """Move this tensor, and all that looks at its memory, to memory that processes share; on a GPU nothing happens.

        Processes that are forked later, or get it through a `multiprocessing.Queue`, see each other's writes.
        """
    def pin_memory(self, device: _device | _str | _Int | None = None) -> Tensor:
        """This tensor in page-locked memory, from which a GPU copies by itself; without a GPU the tensor itself.

        `device`: whose page-locked memory; the GPU in use for None. The simulator, "sim", has such memory, too, and notices
        if it is written while a copy with ``non_blocking=True`` may still read it.
        """
    def is_pinned(self, device: _device | _str | _Int | None = None) -> _bool:
        """True if the memory is page-locked."""
    def __getitem__(self, item: Any) -> Tensor: ...
    def __setitem__(self, item: Any, value: Any) -> None: ...
    def fill_diagonal_(self, fill_value: _Number, wrap: Any = False) -> Tensor:
        """Write `fill_value` to the elements whose indices are all equal. With `wrap`, the diagonal of a matrix that is
        higher than wide starts again after one row is left out.

        Raises RuntimeError for fewer than two dimensions, and for more than two of different lengths.
        """
    def view(self, *shape: _Int | Sequence[_Int] | _dtype, dtype: _dtype | builtins.type[Any] | None = None, size: _Int | Sequence[_Int] | None = None) -> Tensor:
        """This tensor in another shape, or its memory as another dtype, without gradients; RuntimeError if it cannot be."""
    def view_as(self, other: Tensor) -> Tensor:
        """This tensor in the shape of `other`, without copying."""
    def reshape_as(self, other: Tensor) -> Tensor:
        """This tensor in the shape of `other`."""
    def unfold(self, dimension: _Int, size: _Int, step: _Int) -> Tensor:
        """Windows of `size`, `step` apart, along `dimension`, as a further last dimension: a view."""
    def as_strided(self, size: Sequence[_Int], stride: Sequence[_Int], storage_offset: _Int | None = None) -> Tensor:
        """A view of `input`'s memory by size, stride and offset (default: `input`'s own), in elements."""
    def sum_to_size(self, *args: _Int | Sequence[_Int], size: _Int | Sequence[_Int] | None = None) -> Tensor:
        """This tensor summed to `size`, to which it would have to be broadcastable."""
    def squeeze_(self, dim: _Int | Sequence[_Int] | None = None) -> Tensor:
        """In-place twin of `squeeze`: gives this tensor the shape of the view."""
    @overload
    def unsqueeze_(self, dim: _Int) -> Tensor:
        """In-place twin of `unsqueeze`: gives this tensor the shape of the view."""
    @overload
    def unsqueeze_(self, *, axis: _Int | Sequence[_Int]) -> Tensor: ...
    def transpose_(self, dim0: _Int, dim1: _Int) -> Tensor:
        """In-place twin of `transpose`: gives this tensor the shape of the view."""
    def t_(self) -> Tensor:
        """In-place twin of `t`: gives this tensor the shape of the view."""
    def swapaxes_(self, axis0: _Int, axis1: _Int) -> Tensor:
        """In-place twin of `swapaxes`: gives this tensor the shape of the view."""
    def swapdims_(self, dim0: _Int, dim1: _Int) -> Tensor:
        """In-place twin of `swapdims`: gives this tensor the shape of the view."""
    def as_strided_(self, size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int], storage_offset: _Int | None = None) -> Tensor:
        """In-place twin of `as_strided`: gives this tensor the shape of the view."""
    def resize_(self, *sizes: _Int | Sequence[_Int], memory_format: _memory_format | None = None) -> Tensor:
        """Give this tensor another shape; it gets new memory if the old has too few elements."""
    def resize_as_(self, the_template: Tensor, *, memory_format: _memory_format | None = None) -> Tensor:
        """Give this tensor the shape of another."""
    def uniform_(self, *bounds: _float, generator: _Generator | None = None, **named: _float) -> Tensor:
        """Fill with uniform numbers in [from, to): ``x.uniform_(from=0, to=1, *, generator=None)``."""
    def normal_(self, mean: _Operand = 0.0, std: _Operand = 1.0, *, generator: _Generator | None = None) -> Tensor:
        """Fill with normal numbers; `std` must not be negative."""
    def random_(self, *bounds: _Int | None, generator: _Generator | None = None, **named: _Int | None) -> Tensor:
        """Fill with integers: ``x.random_(from, to)`` in [from, to), ``x.random_(to)`` in [0, to).

        ``x.random_()``: from 0 to the largest of an integer dtype; to 2**24 in float32, up to which all integers are
        exact (2**53 in float64, 2**11 in float16, 2**8 in bfloat16). With ``to=None`` and `from` given: from there.
        """
    def bernoulli_(self, p: _Number | Tensor = 0.5, *, generator: _Generator | None = None) -> Tensor:
        """Fill with ones, each with probability `p` (a number, or a tensor that broadcasts), and zeros."""
    def exponential_(self, lambd: _Number = 1.0, *, generator: _Generator | None = None) -> Tensor:
        """Fill with exponential numbers of rate `lambd`."""
    def geometric_(self, p: _Number, *, generator: _Generator | None = None) -> Tensor:
        """Fill with geometric numbers: the trials up to the first success, each of probability `p`."""
    def cauchy_(self, median: _Number = 0.0, sigma: Any = 1.0, *, generator: _Generator | None = None) -> Tensor:
        """Fill with Cauchy numbers."""
    def log_normal_(self, mean: _Number = 1.0, std: _Number = 2.0, *, generator: _Generator | None = None) -> Tensor:
        """Fill with log-normal numbers; `mean` and `std` are those of their logarithms."""
    def repeat(self, *args: _Int | Sequence[_Int], repeats: _Int | Sequence[_Int] | None = None) -> Tensor:
        """This tensor side by side with itself, `repeats` times along each dimension."""
    def repeat_interleave(self, repeats: _Int | Sequence[_Int] | Tensor, dim: _Int | None = None, *, output_size: _Int | None = None) -> Tensor:
        """Each slice of this tensor along `dim` repeated, as by the function."""
    def flip(self, *args: _Int | Sequence[_Int], dims: _Int | Sequence[_Int] | None = None) -> Tensor:
        """A copy of this tensor with the order along `dims` reversed."""
    def __reversed__(self) -> Tensor: ...
    def where(self, condition: Tensor, other: _Operand) -> Tensor:
        """This tensor where `condition` (bools) holds, `other` elsewhere."""
    def conj_physical_(self) -> Tensor:
        """In-place twin of `conj_physical`: writes the conjugates into this tensor and returns it."""
    def float_power_(self, exponent: _Operand) -> Tensor:
        """In-place twin of `float_power`, for float64 and complex128 tensors."""
    def lu(self, pivot: _bool = True, get_infos: _bool = False) -> Any:
        """L and U in one, and the pivots. See `linalg.lu_factor_ex`."""
    def apply_(self, callable: Any) -> Tensor:
        """Replace each element by ``callable(element)``: slow, since it is a loop of Python."""
    def map_(self, tensor: Tensor, callable: Any) -> Tensor:
        """Replace each element by ``callable(element, other)``, `other` of `tensor` (broadcast): a loop of Python."""
    def set_(self, source: Tensor | None = None, storage_offset: _Int = 0, size: _Int | Sequence[_Int] | None = None, stride: _Int | Sequence[_Int] | None = None) -> Tensor:
        """Let this tensor look at the memory of another, or of a storage, or at none; other tensors keep theirs.

        With `size` (and `stride`) at elements `storage_offset` on. The dtype stays. RuntimeError for tensors that require
        gradients: write ``x.data = source``, or compute with `source`.
        """
    def dim_order(self, *, ambiguity_check: Any = False) -> Tensor:
        """The dimensions in the order in which they lie in memory, the outermost first."""
    def const_data_ptr(self) -> Tensor:
        """The address of the first element."""
    def resize(self, *sizes: _Int | Sequence[_Int]) -> Tensor:
        """`reshape` by its oldest name."""
    def resize_as(self, tensor: Tensor) -> Tensor:
        """`reshape_as` by its oldest name."""
    def polygamma(self, n: _Int) -> Tensor:
        """The `n`-th derivative of `digamma` at this tensor."""
    def polygamma_(self, n: _Int) -> Tensor:
        """In-place twin of `polygamma`: writes the result into this tensor and returns it."""
    def indices(self) -> Tensor:
        """`indices` of a sparse tensor, see `minitorch.sparse`; RuntimeError for a dense one."""
    def _indices(self) -> Tensor:
        """`_indices` of a sparse tensor, see `minitorch.sparse`; RuntimeError for a dense one."""
    def _values(self) -> Tensor:
        """`_values` of a sparse tensor, see `minitorch.sparse`; RuntimeError for a dense one."""
    def coalesce(self) -> Tensor:
        """`coalesce` of a sparse tensor, see `minitorch.sparse`; RuntimeError for a dense one."""
    def is_coalesced(self) -> Tensor:
        """`is_coalesced` of a sparse tensor, see `minitorch.sparse`; RuntimeError for a dense one."""
    def _nnz(self) -> Tensor:
        """`_nnz` of a sparse tensor, see `minitorch.sparse`; RuntimeError for a dense one."""
    def values(self) -> Tensor:
        """`values` of a sparse tensor, see `minitorch.sparse`; RuntimeError for a dense one."""
    def crow_indices(self) -> Tensor:
        """`crow_indices` of a sparse tensor, see `minitorch.sparse`; RuntimeError for a dense one."""
    def col_indices(self) -> Tensor:
        """`col_indices` of a sparse tensor, see `minitorch.sparse`; RuntimeError for a dense one."""
    def ccol_indices(self) -> Tensor:
        """`ccol_indices` of a sparse tensor, see `minitorch.sparse`; RuntimeError for a dense one."""
    def row_indices(self) -> Tensor:
        """`row_indices` of a sparse tensor, see `minitorch.sparse`; RuntimeError for a dense one."""
    def sparse_dim(self) -> Tensor:
        """The number of dimensions that are kept by indices: 0."""
    def dense_dim(self) -> Tensor:
        """The number of dimensions whose elements are all kept: all."""
    def to_dense(self, dtype: _dtype | builtins.type[Any] | None = None, *, masked_grad: Any = True) -> Tensor:
        """All elements of a sparse tensor; a dense one is returned as it is, or in another `dtype`.

        The gradient of a sparse tensor is sparse and has its entries alone, unless `masked_grad` is False.
        """
    def to_sparse(self, sparse_dim: Any = None, *, layout: _layout | None = None, blocksize: Any = None, dense_dim: Any = None) -> Tensor:
        """The elements that are not 0, as a sparse tensor of `layout` (default: `sparse_coo`); gradients flow.

        `sparse_dim`: how many of the first dimensions are kept by indices, by default all. RuntimeError for more than there
        are; NotImplementedError for `blocksize`.
        """
    def to_sparse_coo(self) -> Tensor:
        """The elements that are not 0, with their indices (COO)."""
    def to_sparse_csr(self, dense_dim: Any = None) -> Tensor:
        """The elements of a matrix that are not 0, row by row (CSR)."""
    def to_sparse_csc(self, dense_dim: Any = None) -> Tensor:
        """The elements of a matrix that are not 0, column by column (CSC)."""
    def sparse_mask(self, mask: Tensor) -> Tensor:
        """The elements at the entries of the sparse tensor `mask`, in its layout; the gradient is dense, 0 elsewhere."""
    def smm(self, mat: Tensor) -> Tensor:
        """The product of a COO and a dense matrix, as a COO matrix; RuntimeError for a dense first one."""
    def sspaddmm(self, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """``beta * self + alpha * (mat1 @ mat2)`` of COO matrices `self` and `mat1`; RuntimeError for a dense one."""
    def resize_as_sparse_(self, the_template: Tensor) -> Tensor:
        """Give a sparse tensor the size and the sparse dimensions of another, and no entries."""
    def __add__(self, other: _Operand) -> Tensor: ...
    def __radd__(self, other: _Operand) -> Tensor: ...
    def __iadd__(self, other: _Operand) -> Tensor: ...
    def __sub__(self, other: _Operand) -> Tensor: ...
    def __rsub__(self, other: _Operand) -> Tensor: ...
    def __isub__(self, other: _Operand) -> Tensor: ...
    def __mul__(self, other: _Operand) -> Tensor: ...
    def __rmul__(self, other: _Operand) -> Tensor: ...
    def __imul__(self, other: _Operand) -> Tensor: ...
    def __truediv__(self, other: _Operand) -> Tensor: ...
    def __rtruediv__(self, other: _Operand) -> Tensor: ...
    def __itruediv__(self, other: _Operand) -> Tensor: ...
    def __floordiv__(self, other: _Operand) -> Tensor: ...
    def __rfloordiv__(self, other: _Operand) -> Tensor: ...
    def __ifloordiv__(self, other: _Operand) -> Tensor: ...
    def __mod__(self, other: _Operand) -> Tensor: ...
    def __rmod__(self, other: _Operand) -> Tensor: ...
    def __imod__(self, other: _Operand) -> Tensor: ...
    def __pow__(self, other: _Operand) -> Tensor: ...
    def __rpow__(self, other: _Operand) -> Tensor: ...
    def __ipow__(self, other: _Operand) -> Tensor: ...
    def __matmul__(self, other: _Operand) -> Tensor: ...
    def __rmatmul__(self, other: _Operand) -> Tensor: ...
    def __and__(self, other: _Operand) -> Tensor: ...
    def __rand__(self, other: _Operand) -> Tensor: ...
    def __iand__(self, other: _Operand) -> Tensor: ...
    def __or__(self, other: _Operand) -> Tensor: ...
    def __ror__(self, other: _Operand) -> Tensor: ...
    def __ior__(self, other: _Operand) -> Tensor: ...
    def __xor__(self, other: _Operand) -> Tensor: ...
    def __rxor__(self, other: _Operand) -> Tensor: ...
    def __ixor__(self, other: _Operand) -> Tensor: ...
    def __lshift__(self, other: _Operand) -> Tensor: ...
    def __rlshift__(self, other: _Operand) -> Tensor: ...
    def __ilshift__(self, other: _Operand) -> Tensor: ...
    def __rshift__(self, other: _Operand) -> Tensor: ...
    def __rrshift__(self, other: _Operand) -> Tensor: ...
    def __irshift__(self, other: _Operand) -> Tensor: ...
    def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __lt__(self, other: _Operand) -> Tensor: ...
    def __le__(self, other: _Operand) -> Tensor: ...
    def __gt__(self, other: _Operand) -> Tensor: ...
    def __ge__(self, other: _Operand) -> Tensor: ...
    def __idiv__(self, other: _Operand) -> Tensor: ...
    def __rdiv__(self, other: _Operand) -> Tensor: ...
    def __neg__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def as_subclass(self, cls: Any) -> Tensor:
        """A tensor of the class `cls` over the same memory; gradients flow through."""
    def _make_subclass(self, data: Any, require_grad: Any = False, **options: Any) -> Tensor:
        """A leaf of the class `cls` over the memory of `data`, without its graph: for the ``__new__``
        of subclasses.
        """
    def _make_wrapper_subclass(self, *args: Any, **options: Any) -> Tensor:
        """Raises NotImplementedError: tensors without memory need ``__torch_dispatch__``, which is not
        supported.
        """
    __init_subclass__: Any
    __torch_function__: Any

new_size: Any
def wrap(array: Any, backend: Any, new: Any = ...) -> Tensor:
    """A leaf tensor around a raw array, without a copy."""
def from_numpy(ndarray: Any) -> Tensor:
    """A tensor over the memory of a NumPy array; an error for byte orders, strides and dtypes that
    tensors cannot have.
    """
def check_grad(x: Tensor, g: Any) -> None:
    """Raise an error if `g` cannot be the `grad` of the tensor `x`."""
def mark_view(view: Tensor, source: Tensor, ref: Any = ...) -> None:
    """Note that `view` shares the memory of `source`, unless the op had to copy."""
