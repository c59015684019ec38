"""`Strided`: a batch of tensors that may differ in all sizes, in the layout ``torch.strided``.

The elements lie behind each other, flattened, in one buffer. Calls are answered element by element, but for those that
work on each number: these run on the buffer.
"""

import math

from ... import arange, cat, get_default_dtype, strided
from .batch import Batch
from .nested_int import size_of_elements

__all__ = ["Strided"]


class Strided(Batch):
    """The structure of a `StridedNestedTensor`: the `_sizes` of each element of the buffer
    `_inner`."""

    layout = strided

    def __init__(self, buffer, sizes):
        self._inner, self._sizes = buffer, tuple(map(tuple, sizes))
        self._kept = {}                                    # what is computed once

    def like(self, inner):
        """The same sizes around another buffer."""
        made = Strided(inner, self._sizes)
        made._kept = self._kept
        return made

    @classmethod
    def of_elements(cls, elements):
        """A batch of these tensors."""
        buffer = (cat([x.reshape(-1) for x in elements]) if elements
                  else arange(0).to(get_default_dtype()))
        return cls(buffer, [tuple(x.shape) for x in elements])

    # -- what it is ----------------------------------------------------------------------------------------
    def element_sizes(self):
        """The sizes of an element, with a symbol where the elements differ."""
        found = [set(sizes) for sizes in zip(*self._sizes)]
        return [n.pop() if len(n) == 1 else size_of_elements(sizes)
                for n, sizes in zip(found, zip(*self._sizes))]

    def is_like(self, other):
        """True if another batch has elements of the same sizes."""
        return self._sizes == other._sizes

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

    def elements(self):
        """The elements, views of the buffer."""
        counts = [math.prod(sizes) for sizes in self._sizes]
        return [x.view(sizes) for x, sizes in zip(self._inner.split(counts), self._sizes, strict=True)]

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
        for i, x in enumerate(self.elements()):
            out[i][tuple([slice(n) for n in x.shape])] = x
        return out

    def text(self, grad):
        """``repr`` of a nested tensor; `grad` says what its graph is."""
        elements = ",\n".join("  " + repr(x.detach()).replace("\n", "\n  ") for x in self.elements())
        return f"nested_tensor([\n{elements}\n]{grad})"
