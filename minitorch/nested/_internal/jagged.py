"""`Jagged`: a batch of tensors that differ in one size, in the layout ``torch.jagged``.

The elements lie behind each other in one tensor, `values`, along the ragged dimension; `offsets` says where each begins
and the last ends. With `lengths` an element is shorter than the distance to the next one: there are holes.
"""

from ... import Size, arange, cat, jagged
from ...extend import grad_mode
from .batch import Batch
from .nested_int import ragged_size

__all__ = ["Jagged", "offsets_of"]


class Jagged(Batch):
    """The structure of a `NestedTensor`: `_inner` has the shape of an element, with all elements
    behind each other along the ragged dimension, which is dimension `_ragged_idx` of the batch.
    `_offsets` has B + 1 whole numbers, `_lengths` is None or has B.
    """

    layout = jagged

    def __init__(self, inner, offsets, lengths=None, ragged=1):
        self._inner, self._ragged_idx = inner, ragged
        self._offsets, self._lengths = offsets, lengths
        self._kept = {}                                    # what is computed once: sizes, indices

    def like(self, inner, ragged=None):
        """The same batch of other values, with its ragged dimension at `ragged`."""
        offsets, lengths = self._offsets, self._lengths
        if inner.device != offsets.device:
            offsets = offsets.to(inner.device)
            lengths = None if lengths is None else lengths.to(inner.device)
        made = Jagged(inner, offsets, lengths, self._ragged_idx if ragged is None else ragged)
        if offsets is self._offsets:
            made._kept = self._kept
        return made

    def laid(self, other):
        """The numbers of another batch with the same sizes, as they lie in this one; 0 in holes."""
        if other._offsets is self._offsets:
            return other._inner
        rows = other.packed()._inner
        if self._lengths is None:
            return rows
        blank = rows.new_zeros(self._inner.shape)
        return blank.index_copy(self._ragged_idx - 1, self.places()[2], rows)

    # -- what it is ----------------------------------------------------------------------------------------
    _values = property(lambda self: self._inner, doc="The tensor of all elements.")
    _size = property(lambda self: tuple(self.shape), doc="The shape as a tuple.")

    def offsets(self):
        """Where each element begins in `values`, and where the last one ends: int64, one more than elements."""
        return self._offsets

    def lengths(self):
        """The lengths of the elements, if there are holes between them; else None, and ``offsets().diff()`` says."""
        return self._lengths

    def element_sizes(self):
        """The sizes of an element, with a symbol such as j1 for the ragged one."""
        sizes = list(self._inner.shape)
        sizes[self._ragged_idx - 1] = self.ragged_size()
        return sizes

    def ragged_size(self):
        """The symbol such as j1, which belongs to the offsets, or to the lengths."""
        if "size" not in self._kept:
            source = self._offsets if self._lengths is None else self._lengths
            self._kept["size"] = ragged_size(source)
        return self._kept["size"]

    def is_like(self, other):
        """True if another jagged tensor of as many dimensions has the same ragged one."""
        return (self.dim() == other.dim() and self._ragged_idx == other._ragged_idx
                and self.ragged_size() == other.ragged_size())

    @property
    def shape(self):
        """The batch, then the sizes of an element, with a symbol such as j1 for the ragged one."""
        # Size itself would make an int of the symbol.
        return tuple.__new__(Size, (self._offsets.shape[0] - 1, *self.element_sizes()))

    ndim = property(lambda self: self._inner.ndim + 1, doc="The number of dimensions, the batch included.")

    def dim(self):
        """The number of dimensions, the batch included."""
        return self._inner.ndim + 1

    ndimension = dim

    def size(self, dim=None):
        """The shape, or the size of dimension `dim`."""
        return self.shape if dim is None else self.shape[self.dim_of(dim)]

    def numel(self):
        """The number of elements, without holes."""
        length = self._inner.shape[self._ragged_idx - 1]
        return self._inner.numel() // max(length, 1) * sum(self.sizes())

    nelement = numel

    def stride(self, dim=None):
        """The strides: that of the batch is a multiple of the ragged size."""
        inner = self._inner.stride()
        found = (self.shape[self._ragged_idx] * inner[self._ragged_idx - 1], *inner)
        return found if dim is None else found[self.dim_of(dim)]

    def is_contiguous(self, memory_format=None):
        """True if the values are contiguous, without holes."""
        return self._lengths is None and self._inner.is_contiguous()

    def dim_of(self, dim):
        """`dim` counted from the front; IndexError if it is out of range."""
        n = self.dim()
        if not -n <= dim < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
        return dim % n

    def __len__(self):
        return self._offsets.shape[0] - 1

    def text(self, grad):
        """``repr`` of a nested tensor; `grad` says what its graph is."""
        return (f"NestedTensor(size={self._size}, offsets={self._offsets}{grad}, "
                f"contiguous={self.is_contiguous()})")

    # -- elements ------------------------------------------------------------------------------------------
    def elements(self):
        """The elements, views of the values."""
        r, begins = self._ragged_idx - 1, self._offsets[:-1].tolist()
        return [self._inner.narrow(r, begin, n)
                for begin, n in zip(begins, self.sizes(), strict=True)]

    def sizes(self):
        """The ragged sizes as a list of ints."""
        if "sizes" not in self._kept:
            self._kept["sizes"] = (self._offsets.diff() if self._lengths is None else self._lengths).tolist()
        return self._kept["sizes"]

    def _get_max_seqlen(self):
        return max(self.sizes(), default=0)

    def _get_min_seqlen(self):
        return min(self.sizes(), default=0)

    _max_seqlen = property(_get_max_seqlen, doc="The largest ragged size.")
    _min_seqlen = property(_get_min_seqlen, doc="The smallest ragged size.")

    def places(self):
        """For each row of the batch, behind each other: its element, its place there, and its place in `values`."""
        if (found := self._kept.get("places")) is None:
            device, lengths = self._inner.device, self._lengths
            lengths = self._offsets.diff() if lengths is None else lengths
            element = arange(len(self), device=device).repeat_interleave(lengths)
            place = arange(sum(self.sizes()), device=device) - (lengths.cumsum(0) - lengths)[element]
            found = element, place, place + self._offsets[:-1][element]
            if not grad_mode.inference:                    # graphs cannot keep what is made there
                self._kept["places"] = found
        return found

    def packed(self):
        """This batch without holes: itself, if it has none."""
        if self._lengths is None:
            return self
        if "packed" not in self._kept:
            self._kept["packed"] = offsets_of(self._lengths)
        inner = self._inner.index_select(self._ragged_idx - 1, self.places()[2])
        return Jagged(inner, self._kept["packed"], ragged=self._ragged_idx)

    def of_elements(self, elements, ragged=None):
        """A batch of elements with the ragged sizes of this one, in dimension `ragged`."""
        ragged = self._ragged_idx if ragged is None else ragged
        return self.packed().like(cat(elements, ragged - 1), ragged)

    def padded(self, fill, length=None):
        """A tensor with `fill` behind the shorter elements, up to `length` (default: that of the longest)."""
        r, length = self._ragged_idx, self._get_max_seqlen() if length is None else length
        element, place, row = self.places()
        rows = self._inner.movedim(r - 1, 0)
        rows = rows if self._lengths is None else rows[row]
        blank = rows.new_full((len(self) * length, *rows.shape[1:]), fill)
        filled = blank.index_copy(0, element * length + place, rows)
        return filled.view(len(self), length, *rows.shape[1:]).movedim(1, r)

    def unpadded(self, padded):
        """The inverse of `padded`: the values that this batch would have in a padded tensor."""
        r = self._ragged_idx
        element, place, _ = self.places()
        rows = padded.movedim(r, 1).flatten(0, 1)
        return rows.index_select(0, element * padded.shape[r] + place).movedim(0, r - 1)

    def row_of(self, x):
        """A dense tensor beside this batch, which has something else for each element or place, as
        one row with a place for each; None if the batch has holes."""
        r = self._ragged_idx
        x = x.reshape((1,) * (self.dim() - x.dim()) + tuple(x.shape))
        if x.shape[r] != 1:                                # padded: each element takes its first rows
            return self.unpadded(x.expand(len(self), *x.shape[1:])).unsqueeze(0)
        if self._lengths is not None:
            return None
        return x.squeeze(r).index_select(0, self.places()[0]).movedim(0, r - 1).unsqueeze(0)

    def to_padded_tensor(self, padding, output_size=None):
        """A dense tensor with `padding` where elements end, as long as the longest or as `output_size` says."""
        r, sizes = self._ragged_idx, [*self.shape]
        sizes[r] = self._get_max_seqlen() if output_size is None else output_size[r]
        if output_size is not None and (list(output_size) != sizes or sizes[r] < self._get_max_seqlen()):
            raise RuntimeError(f"Value in output_size is less than NestedTensor padded size, or differs in a dense "
                               f"dimension: got {tuple(output_size)} for {tuple(self.shape)} with elements up to "
                               f"{self._get_max_seqlen()}")
        return self.padded(padding, sizes[r])


def offsets_of(lengths):
    """Offsets of elements of these lengths."""
    return cat([lengths.new_zeros(1), lengths.cumsum(0)])
