"""The order in which a `DataLoader` reads a dataset: samplers yield indices, `BatchSampler` lists of them.

Random samplers draw what PyTorch draws, in the same order, so a seed gives the same shuffle.
"""

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import chain, islice, repeat
from typing import Generic, TypeVar

from ...core.dtypes import float64, int64
from ...ops.creation.create import as_tensor, empty
from ...ops.creation.random import multinomial, randint, randperm
from ...random.generator import Generator

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """Base of all samplers. Subclasses write ``__iter__``; ``__len__`` gives ``len(loader)`` its value."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("Subclasses of Sampler should implement __iter__.")


class SequentialSampler(Sampler[int]):
    """``0, 1, ..., len(data_source) - 1``."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """A fresh permutation of the dataset each time, or independent draws with ``replacement=True``.

    num_samples: how many indices to give, by default ``len(data_source)``; more than that without replacement
        starts further permutations.
    generator: by default a new one each time, seeded by one draw from the default generator.
    """

    def __init__(
        self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator=None
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n = len(self.data_source)
        generator = self.generator
        if generator is None:
            generator = Generator()
            generator.manual_seed(draw_seed())
        if self.replacement:
            # In blocks of 32, as PyTorch draws them: the block size shows in what a shared generator gives next.
            full, rest = divmod(self.num_samples, 32)
            for size in chain(repeat(32, full), [rest]):
                yield from randint(n, (size,), dtype=int64, generator=generator).tolist()
        else:
            full, rest = divmod(self.num_samples, n)
            for _ in range(full):
                yield from randperm(n, generator=generator).tolist()
            yield from randperm(n, generator=generator).tolist()[:rest]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """A fresh permutation of the given ``indices`` each time."""

    def __init__(self, indices: Sequence[int], generator=None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """``num_samples`` draws of ``0 .. len(weights) - 1``, index ``i`` with probability in proportion to ``weights[i]``.

    The weights need not sum to one. Without replacement no index is drawn twice.
    """

    def __init__(self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator=None) -> None:
        _check_count("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.dim() != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of ``batch_size`` indices from ``sampler``; a shorter last list is given unless ``drop_last``.

    >>> list(BatchSampler(range(7), batch_size=3, drop_last=False))
    [[0, 1, 2], [3, 4, 5], [6]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        _check_count("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        full, rest = divmod(len(self.sampler), self.batch_size)  # type: ignore[arg-type]
        return full + bool(rest and not self.drop_last)


class InfiniteSampler(Sampler[None]):
    """None for ever: the "indices" of an `IterableDataset`, whose own end is the only one that counts."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


def draw_seed(generator=None) -> int:
    """One int64 from ``generator`` or from the default one, as PyTorch draws the seeds of shuffles and of workers."""
    return int(empty((), dtype=int64).random_(generator=generator).item())


def _check_count(name: str, value) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")
