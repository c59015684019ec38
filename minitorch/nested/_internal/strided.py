"""`StridedNestedTensor`: a batch of tensors that may differ in all sizes, in the layout ``torch.strided``.

The elements lie behind each other, flattened, in one buffer. Calls are answered element by element, but for those that
work on each number: these run on the buffer.
"""

import math

from ... import Tensor, arange, cat, get_default_dtype, strided
from ...answering import (
    differentiate,
    implementation_of,
    is_along,
    is_question,
    name_of,
    ruling,
    written_by,
)
from ...extend import WrappingTensor
from ...ops.dims import is_elementwise
from ...utils._pytree import tree_leaves, tree_map
from .rules import RULES as JAGGED
from .rules import along_dense, arguments, in_place_by_name, pointwise, spread

__all__ = ["StridedNestedTensor", "of_elements"]

RULES: dict = {}
rule = ruling(RULES)


class StridedNestedTensor(WrappingTensor):
    """A batch of tensors of one dtype and number of dimensions. Made by the functions of `nested`."""

    is_nested = True
    layout = strided                                       # type: ignore[assignment]

    def __new__(cls, buffer, sizes):
        self = object.__new__(cls)
        self._inner, self._sizes = buffer, tuple(map(tuple, sizes))
        return self

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if not all([issubclass(t, StridedNestedTensor) for t in types]):
            return NotImplemented
        return answer(func, args, kwargs or {})

    def like(self, inner):
        """The same sizes around another buffer."""
        return StridedNestedTensor(inner, self._sizes)

    # -- what it is ----------------------------------------------------------------------------------------
    def values(self):
        """The buffer."""
        return self._inner.view_as(self._inner)

    def _nested_tensor_size(self):
        return self._inner.new_tensor(self._sizes).long()

    @property
    def shape(self):
        """Refused, as PyTorch does: `size` works for a dimension in which the elements agree."""
        raise RuntimeError("Internal error: NestedTensorImpl doesn't support sizes. Please file an issue. "
                           "size(dim) works for dimensions in which all elements agree")

    ndim = property(lambda self: len(self._sizes[0]) + 1 if self._sizes else 1, doc="The number of dimensions.")

    def dim(self):
        """The number of dimensions, the batch included."""
        return self.ndim

    def __len__(self):
        return len(self._sizes)

    def __iter__(self):
        return iter(self.unbind())

    def size(self, dim=None):
        """The size of a dimension in which all elements agree."""
        if dim is None:
            return self.shape
        if not -self.ndim <= dim < self.ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-self.ndim}, {self.ndim - 1}], but "
                             f"got {dim})")
        dim %= self.ndim
        found = {sizes[dim - 1] for sizes in self._sizes} if dim else {len(self)}
        if len(found) > 1:
            raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
        return found.pop()

    def numel(self):
        """The number of elements of all."""
        return self._inner.numel()

    def is_contiguous(self, memory_format=None):
        """True: the elements lie behind each other."""
        return True

    def unbind(self, dim=0):
        """The elements, views of the buffer."""
        if dim not in (0, -self.ndim):
            raise RuntimeError(f"NestedTensor can only be unbound along dimension 0 got dimension {dim} instead.")
        counts = [math.prod(sizes) for sizes in self._sizes]
        return tuple([x.view(sizes) for x, sizes in zip(self._inner.split(counts), self._sizes, strict=True)])

    def to_padded_tensor(self, padding, output_size=None):
        """A dense tensor as large as the largest element in each dimension, or as `output_size` says."""
        if not self._sizes:
            raise RuntimeError("at least one constituent tensor should have non-zero numel: the nested tensor is empty")
        largest = [len(self), *map(max, zip(*self._sizes, strict=True))]
        if output_size is not None and (len(output_size) != len(largest) or any(
                a < b for a, b in zip(output_size, largest, strict=True))):
            raise RuntimeError(f"Value in output_size is less than NestedTensor padded size. Truncation is not "
                               f"supported: got {tuple(output_size)}, needed are {tuple(largest)}")
        sizes = list(largest if output_size is None else output_size)
        out = self._inner.new_full(sizes, padding)
        for i, x in enumerate(self.unbind()):
            out[i][tuple([slice(n) for n in x.shape])] = x
        return out

    def __repr__(self, *, tensor_contents=None):
        elements = ",\n".join("  " + repr(x.detach()).replace("\n", "\n  ") for x in self.unbind())
        grad = f", grad_fn=<{self.grad_fn.name()}>" if self.grad_fn else ", requires_grad=True" * self.requires_grad
        return f"nested_tensor([\n{elements}\n]{grad})"


def of_elements(elements):
    """A batch of these tensors."""
    buffer = cat([x.reshape(-1) for x in elements]) if elements else arange(0).to(get_default_dtype())
    return StridedNestedTensor(buffer, [tuple(x.shape) for x in elements])


# ------------------------------------------------------------------ answers
def answer(func, args, kwargs):
    """The answer of strided nested tensors to a call."""
    name = name_of(func)
    if kwargs.get("out") is not None:
        raise NotImplementedError(f"{name}() does not support out= for nested tensors")
    if is_question(name, args, kwargs):
        return func(args[0]._inner)
    if name in RULES:
        return RULES[name](func, *args, **kwargs)
    by_number = is_elementwise(func) or JAGGED.get(name) is pointwise
    writes = JAGGED.get(name) is in_place_by_name or (w := written_by(name)) is not None and is_elementwise(w)
    if by_number or writes:
        return of_numbers(func, args, kwargs, writes)
    if is_along(func) or JAGGED.get(name) is along_dense:
        return along(func, *args, **kwargs)
    if (body := implementation_of(func)) is not None:
        return body(*args, **kwargs)
    raise NotImplementedError(f"{name}() is not supported for nested tensors of the layout "
                              f"torch.strided: unbind() gives the elements")


def nested_among(*args):
    return [x for x in tree_leaves(args) if isinstance(x, StridedNestedTensor)]


def of_numbers(func, args, kwargs, writes):
    """Number by number: on the buffers, if nothing has to be broadcast."""
    found = nested_among(args, kwargs)
    if any(x._sizes != found[0]._sizes for x in found):
        raise RuntimeError(f"{name_of(func)}() expected nested tensors of the same sizes, got {found[0]._sizes} and "
                           f"{next(x._sizes for x in found if x._sizes != found[0]._sizes)}")
    if any(isinstance(x, Tensor) and not isinstance(x, StridedNestedTensor) and x.dim() for x in
           tree_leaves([args, kwargs])):
        return by_element(func, args, kwargs)
    args, kwargs = tree_map(lambda x: x._inner if isinstance(x, StridedNestedTensor) else x, [args, kwargs])
    result = func(*args, **kwargs)
    return found[0] if writes else tree_map(lambda y: found[0].like(y) if isinstance(y, Tensor) else y, result)


def by_element(func, args, kwargs):
    """One call for each element; dense tensors of as many dimensions have an element for each, or one for all."""
    batch = nested_among(args, kwargs)[0]

    def at(i):
        def pick(x):
            if isinstance(x, StridedNestedTensor):
                return x.unbind()[i]
            if isinstance(x, Tensor) and x.dim() == batch.dim() and func.__name__ not in ("linear", "conv2d", "conv1d"):
                return x[i if len(x) == len(batch) else 0]
            return x
        return pick
    found = [func(*tree_map(at(i), args), **tree_map(at(i), kwargs)) for i in range(len(batch))]
    return together(found)


def together(found):
    """Results for each element as a batch; a batch of each, if the results are several."""
    if isinstance(found[0], Tensor):
        return of_elements(found)
    return type(found[0])([of_elements(x) for x in zip(*found, strict=True)])


@rule("cat log_softmax max min narrow norm_except_dim softmax split split_with_sizes squeeze stack "
      "unbind unflatten unsqueeze")
def along(func, *args, **kwargs):
    """A function with dimensions, which are one less for an element."""
    given = {**arguments(func, args, kwargs)}
    batch = nested_among(args, kwargs)[0]
    if given.get("dim") is None:
        return func(batch._inner, **{k: kwargs[k] for k in ("dtype",) if k in kwargs})
    several = isinstance(given["dim"], (tuple, list))
    dims = [element_dim(func, batch, d) for d in (given["dim"] if several else (given["dim"],))]
    given["dim"] = tuple(dims) if several else dims[0]
    return by_element(func, *spread(func, given))


def element_dim(func, batch, dim):
    if -batch.dim() < dim < 0:                             # counted from the end, where an element has it too
        return dim
    if not 0 < dim <= batch.dim():
        raise RuntimeError(f"{name_of(func)}(): dimension {dim} of a nested tensor of {batch.dim()} dimensions is not "
                           f"one of its elements'")
    return dim - 1


@rule("select __getitem__")
def select(func, nt, *index):
    """An element, or a place in one."""
    index = index[0] if len(index) == 1 else index[::-1][:1][0] if index[0] in (0, -nt.dim()) else index
    if isinstance(index, tuple) and index and isinstance(index[0], int):
        return nt.unbind()[index[0]][index[1:]]
    if not isinstance(index, int):
        raise NotImplementedError(f"{name_of(func)}() of a nested tensor of the layout torch.strided takes the number "
                                  f"of an element, got {index!r}")
    return nt.unbind()[index]


@rule("transpose swapaxes swapdims")
def transpose(func, nt, dim0, dim1):
    """Two dimensions of each element exchanged."""
    a, b = element_dim(func, nt, dim0), element_dim(func, nt, dim1)
    return of_elements([x.transpose(a, b) for x in nt.unbind()])


@rule("view reshape")
def view(func, nt, *shape):
    """Each element in another shape; -1 stands for its own size, where that is ragged."""
    shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    if not shape or shape[0] != len(nt):
        raise RuntimeError(f"{func.__name__}(): for now nested views and reshapes keep the batch of {len(nt)}, got "
                           f"{tuple(shape)}")
    sizes = [[own[i] if n == -1 and i < len(own) and len({s[i] for s in nt._sizes}) > 1 else n
              for i, n in enumerate(shape[1:])] for own in nt._sizes]
    return of_elements([x.reshape(s) for x, s in zip(nt.unbind(), sizes, strict=True)])


@rule("chunk")
def chunk(func, nt, chunks, dim=0):
    """Pieces of each element."""
    dim = element_dim(func, nt, dim)
    return together([x.chunk(chunks, dim) for x in nt.unbind()])


@rule("contiguous")
def contiguous(func, nt, memory_format=None):
    return nt


@rule("to float double half bfloat16 int long short bool char byte cfloat cdouble cpu cuda type detach_")
def converted(func, nt, *args, **kwargs):
    """Another type or device."""
    return nt.like(func(nt._inner, *args, **kwargs))


@rule("linear matmul bmm layer_norm rms_norm group_norm scaled_dot_product_attention embedding mT "
      "conv2d conv1d prelu")
def of_each(func, *args, **kwargs):
    """Rule of calls that take an element as they take a tensor, without a dimension to be counted again."""
    return by_element(func, args, kwargs)


@rule("backward grad")
def differentiated(func, *args, **kwargs):
    return differentiate(func, args, kwargs)


@rule("equal")
def equal(func, input, other):
    return input._sizes == other._sizes and func(input._inner, other._inner)
