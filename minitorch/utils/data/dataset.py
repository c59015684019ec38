"""Sources of a `DataLoader`: datasets by index (map-style) or as a stream (`IterableDataset`), and their combinations.

A map-style dataset has ``__getitem__`` and usually ``__len__``; it may have ``__getitems__(indices) -> list``, which
the loader then calls once per batch. All datasets here can be pickled if what they hold can.
"""

import itertools
import math
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from ...core.tensor import Tensor
from ...ops.creation.create import as_tensor
from ...ops.creation.random import randperm

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """A map from an index to a sample. Subclasses write ``__getitem__`` and, for most samplers, ``__len__``."""

    def __getitem__(self, index) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: "Dataset") -> "ConcatDataset":
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """A stream of samples. Subclasses write ``__iter__``.

    With worker processes each worker iterates a copy of its own: divide the work by `get_worker_info` inside
    ``__iter__``, or in ``worker_init_fn``, or every sample comes once per worker.
    """

    def __add__(self, other: Dataset) -> "ChainDataset":  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Rows of tensors of one length: sample ``i`` is ``tuple(tensor[i] for tensor in tensors)``.

    Raises AssertionError where the first dimensions differ.
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        lengths = [tensor.size(0) for tensor in tensors]
        if any(length != lengths[0] for length in lengths):
            raise AssertionError(f"Size mismatch between tensors: their first dimensions are {lengths}")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset):
    """Several datasets of one length side by side.

    ``StackDataset(images, labels)[i]`` is ``(images[i], labels[i])``; ``StackDataset(x=images, y=labels)[i]`` is
    ``{"x": images[i], "y": labels[i]}``.
    """

    datasets: tuple | dict

    def __init__(self, *args: Dataset, **kwargs: Dataset) -> None:
        if args and kwargs:
            raise ValueError("give datasets by position (samples are tuples) or by name (dicts), not both")
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        lengths = [len(dataset) for dataset in self._parts()]  # type: ignore[arg-type]
        if any(length != lengths[0] for length in lengths):
            raise ValueError(f"Size mismatch between datasets: their lengths are {lengths}")
        self._length = lengths[0]

    def _parts(self) -> list[Dataset]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def _sample(self, values: Sequence) -> Any:
        return dict(zip(self.datasets, values)) if isinstance(self.datasets, dict) else tuple(values)

    def __getitem__(self, index):
        return self._sample([dataset[index] for dataset in self._parts()])

    def __getitems__(self, indices: list) -> list:
        columns = [fetch_many(dataset, indices) for dataset in self._parts()]
        for column in columns:
            if len(column) != len(indices):
                raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}")
        return [self._sample(values) for values in zip(*columns)]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T_co]):
    """Map-style datasets one after another; ``cumulative_sizes[k]`` is where dataset ``k`` ends."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset; ChainDataset joins streams")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable) -> list[int]:
        return list(itertools.accumulate(len(part) for part in sequence))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int):
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect_right(self.cumulative_sizes, idx)
        start = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][idx - start]


class ChainDataset(IterableDataset):
    """Streams one after another, each opened when the one before it ends."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = datasets

    def _streams(self) -> Iterator[IterableDataset]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError(f"ChainDataset only supports IterableDataset, got {type(dataset).__name__}")
            yield dataset

    def __iter__(self):
        for stream in self._streams():
            yield from stream

    def __len__(self) -> int:
        return sum(len(stream) for stream in self._streams())  # type: ignore[arg-type, misc]


class Subset(Dataset[T_co]):
    """The samples of ``dataset`` at ``indices``, in that order.

    The loader reads a Subset through ``__getitems__``; a subclass that changes ``__getitem__`` must change that too,
    or constructing it raises NotImplementedError.
    """

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        cls = type(self)
        if cls.__getitem__ is not Subset.__getitem__ and cls.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{cls.__name__} overrides __getitem__ but not __getitems__, which is what DataLoader calls. Add\n\n"
                "    def __getitems__(self, indices):\n        return [self[i] for i in indices]"
            )

    def __getitem__(self, idx):
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        return fetch_many(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Dataset, lengths: Sequence[int | float], generator=None) -> list[Subset]:
    """Divide ``dataset`` at random into non-overlapping `Subset`s.

    ``lengths`` are counts that sum to ``len(dataset)``, or fractions that sum to 1: then each part gets
    ``floor(fraction * len(dataset))`` samples, and what remains is dealt out one by one from the first part on.
    The permutation is ``randperm(len(dataset), generator=generator)``, so a seed gives PyTorch's split.

    Raises ValueError where the counts do not add up; warns where a fraction gives an empty part.
    """
    total = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _counts(lengths, total)
    if sum(lengths) != total:
        raise ValueError(
            "Sum of input lengths does not equal the length of the input dataset! "
            f"({list(lengths)} sum to {sum(lengths)}, the dataset has {total} samples; fractions must sum to 1)"
        )
    indices = randperm(total, generator=generator).tolist()
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, indices[end - length : end]) for end, length in zip(ends, lengths)]  # type: ignore[misc]


def _counts(fractions: Sequence[float], total: int) -> list[int]:
    """Fractions of ``total`` as whole numbers that sum to it."""
    for i, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1: {fraction}")
    counts = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(counts)):
        counts[i % len(counts)] += 1
    for i, count in enumerate(counts):
        if count == 0:
            warnings.warn(f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=3)
    return counts


def fetch_many(dataset: Dataset, indices: list) -> list:
    """The samples at ``indices``: by one call of ``__getitems__`` where the dataset has it."""
    many = getattr(dataset, "__getitems__", None)
    return many(indices) if callable(many) else [dataset[i] for i in indices]


def gather(dataset: Dataset, indices: list) -> list[Tensor] | None:
    """``default_collate([dataset[i] for i in indices])`` by one indexing per tensor, or None where that cannot be done.

    It can for a `TensorDataset` and for `Subset`s of one, unless a subclass reads its samples differently.
    """
    cls: Any = type(dataset)
    if isinstance(dataset, Subset):
        if cls.__getitem__ is Subset.__getitem__ and cls.__getitems__ is Subset.__getitems__:
            return gather(dataset.dataset, [dataset.indices[i] for i in indices])
    elif isinstance(dataset, TensorDataset):
        plain = cls.__getitem__ is TensorDataset.__getitem__ and not hasattr(dataset, "__getitems__")
        if plain and indices and all(type(i) is int for i in indices):
            rows = as_tensor(indices)
            return [tensor[rows] for tensor in dataset.tensors]  # type: ignore[index]
    return None
