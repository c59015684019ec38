"""`Fetcher`: from what the sampler gave to a batch. The same code runs in the main process and in the workers."""

from collections.abc import Callable
from typing import Any

from .collate import default_collate
from .dataset import Dataset, IterableDataset, fetch_many, gather

_STOPPED = (
    "StopIteration was raised in the dataset ({}) or in collate_fn, for index {}. Only the iterator of an "
    "IterableDataset may end an epoch so: call next() with a default, or catch the exception"
)


class Fetcher:
    """Reads from ``dataset`` and collates; a stream is opened when the fetcher is made."""

    def __init__(self, dataset: Dataset, auto_collation: bool, collate_fn: Callable, drop_last: bool) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.stream = iter(dataset) if isinstance(dataset, IterableDataset) else None
        self.ended = False

    def fetch(self, index: Any) -> Any:
        """The batch at ``index``; StopIteration where a stream has ended, and nowhere else."""
        samples = index if self.stream is None else self._from_stream(index)
        try:
            return self.collate_fn(samples) if self.stream is not None else self._from_map(index)
        except StopIteration as error:  # which would end the epoch without a word
            raise RuntimeError(_STOPPED.format(type(self.dataset).__name__, str(index)[:100])) from error

    def _from_map(self, index: Any) -> Any:
        if not self.auto_collation:
            return self.collate_fn(self.dataset[index])
        if self.collate_fn is default_collate:
            batch = gather(self.dataset, index)
            if batch is not None:
                return batch
        return self.collate_fn(fetch_many(self.dataset, index))

    def _from_stream(self, index: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return next(self.stream)  # type: ignore[arg-type]
        samples = [sample for _, sample in zip(index, self.stream)]  # type: ignore[arg-type]
        self.ended = len(samples) < len(index)
        if not samples or (self.ended and self.drop_last):
            raise StopIteration
        return samples
