"""Sequences of different lengths: padded to a common length, or packed without padding.

A packed batch holds the first elements of all sequences, then the second elements of those that have one, and so on,
longest sequence first.
"""

from collections import namedtuple
from collections.abc import Iterable

from ...core.dtypes import float16, float32, float64, int64
from ...core.tensor import Tensor
from ...ops.creation.create import tensor
from ...ops.shapes.join import cat, stack

PackedSequence_ = namedtuple("PackedSequence_", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])


class PackedSequence(PackedSequence_):
    """Sequences for recurrent layers, in place of a padded tensor. Made by ``pack_padded_sequence``.

    ``data`` (sum of lengths, *); ``batch_sizes[t]``, how many sequences have an element t (int64, on the CPU);
    ``sorted_indices`` and ``unsorted_indices``, the order of the sequences by length and back, or None.
    """

    __slots__ = ()

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None:             # PackedSequence((data, batch_sizes)) is an old spelling
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError("batch_sizes should always be on CPU. Instances of PackedSequence should never be created "
                             "manually. They should be instantiated by functions like pack_sequence and "
                             "pack_padded_sequences in nn.utils.rnn.")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """``data`` moved or cast as by ``Tensor.to``, the indices moved along."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = (None if i is None else i.to(data.device) for i in (self.sorted_indices, self.unsorted_indices))
        return type(self)(data, self.batch_sizes, *indices)

    def cpu(self):
        """On the CPU."""
        return self.to("cpu")

    def cuda(self, device=None):
        """On a GPU."""
        return self.to("cuda" if device is None else device)

    def pin_memory(self):
        """``data`` in pinned memory."""
        return type(self)(self.data.pin_memory(), self.batch_sizes, self.sorted_indices, self.unsorted_indices)

    def double(self):
        """As float64."""
        return self.to(float64)

    def float(self):
        """As float32."""
        return self.to(float32)

    def half(self):
        """As float16."""
        return self.to(float16)

    @property
    def is_cuda(self):
        """True if ``data`` is on a GPU."""
        return self.data.is_cuda

    def is_pinned(self):
        """True if ``data`` is in pinned memory."""
        return self.data.is_pinned()


def invert_permutation(permutation):
    """The inverse of a permutation of 0..n-1 as a 1-D tensor; None stays None."""
    if permutation is None:
        return None
    return permutation.argsort()


def _places(lengths):
    """``(batch_sizes, index)`` for lengths in falling order: ``index`` gives each packed element as t * B + b."""
    B = len(lengths)
    batch_sizes = [sum(n > t for n in lengths) for t in range(lengths[0])]
    return batch_sizes, [t * B + b for t, alive in enumerate(batch_sizes) for b in range(alive)]


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Pack ``input`` (T, B, *), or (B, T, *) with ``batch_first``, whose sequences have ``lengths`` (B,).

    With ``enforce_sorted`` the lengths must be falling; otherwise the sequences are sorted and the order is kept.
    """
    lengths = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
    lengths = [int(n) for n in lengths]
    batch_size = input.size(0 if batch_first else 1)
    if len(lengths) != batch_size:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} "
                           f"(batch_size={batch_size})")
    if any(n <= 0 for n in lengths):
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that "
                           "is <= 0")
    falling = sorted(lengths, reverse=True)
    sorted_indices = None
    if enforce_sorted:
        if lengths != falling:
            raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
                               "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence.")
    else:
        order = sorted(range(batch_size), key=lambda b: -lengths[b])
        sorted_indices = tensor(order, dtype=int64, device=input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    if batch_first:
        input = input.transpose(0, 1)
    if falling[0] > input.size(0):
        raise RuntimeError(f"Expected all lengths to be at most the padded length {input.size(0)}, got {falling[0]}")
    batch_sizes, index = _places(falling)
    data = input.flatten(0, 1).index_select(0, tensor(index, device=input.device))
    return PackedSequence(data, tensor(batch_sizes, device="cpu"), sorted_indices)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """The inverse of ``pack_padded_sequence``: ``(padded (T, B, *), lengths (B,))``.

    ``total_length`` pads to that length; ValueError if a sequence is longer.
    """
    data, batch_sizes, _, unsorted_indices = sequence
    sizes = batch_sizes.tolist()
    B, longest = sizes[0], len(sizes)
    T = longest if total_length is None else total_length
    if longest > T:
        raise ValueError("Expected total_length to be at least the length of the longest sequence in input, but got "
                         f"total_length={total_length} and max sequence length being {longest}")
    lengths = [sum(alive > b for alive in sizes) for b in range(B)]
    # Every place of the result takes its row of data, or the row of padding that is put behind them.
    index = [len(data)] * (T * B)
    for row, place in enumerate(_places(lengths)[1]):
        index[place] = row
    rows = cat([data, data.new_full((1, *data.shape[1:]), padding_value)])
    padded = rows.index_select(0, tensor(index, device=data.device)).unflatten(0, (T, B))
    padded = padded.transpose(0, 1) if batch_first else padded
    lengths = tensor(lengths)
    if unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, unsorted_indices)
        lengths = lengths[unsorted_indices.cpu()]
    return padded, lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Tensors of shapes (L_i, *) as one of shape (T, B, *), or (B, T, *) with ``batch_first``; T is the longest."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got arg of type: "
                           f"{type(sequences)}")
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    T = max(s.size(0) for s in sequences)
    padded = []
    for s in sequences:
        fill = s.new_full((T - s.size(0), *s.shape[1:]), padding_value)
        padded.append(cat([s, fill] if padding_side == "right" else [fill, s]))
    return stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The inverse of ``pad_sequence``: a list of tensors (L_i, *)."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [s[:int(n)] for s, n in zip(padded_sequences, lengths)]


def pack_sequence(sequences, enforce_sorted=True):
    """Pack a list of tensors (L_i, *)."""
    lengths = [s.size(0) for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The inverse of ``pack_sequence``: a list of tensors (L_i, *)."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
