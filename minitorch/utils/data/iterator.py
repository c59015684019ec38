"""The part that all iterators of a `DataLoader` share, with worker processes or without."""

import warnings
from collections.abc import Iterator
from typing import Any

from ... import cuda
from .dataset import IterableDataset
from .sampler import draw_seed


class _BaseDataLoaderIter:
    """One pass over the loader's samples.

    What is drawn from the random generators, and when, is PyTorch's: the sampler is opened, then the workers' base
    seed is drawn (even without workers), and a shuffling sampler draws its own seed when its first index is asked for.
    """

    def __init__(self, loader: Any) -> None:
        self._dataset = loader.dataset
        self._streams = isinstance(loader.dataset, IterableDataset)
        self._num_workers = loader.num_workers
        self._index_sampler = loader._index_sampler
        self._pin_memory = loader.pin_memory and _can_pin(loader)
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = draw_seed(loader.generator)
        self._promised = loader._promised
        self._num_yielded = 0

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        data = self._next_data()
        self._num_yielded += 1
        if self._streams and self._promised is not None and self._num_yielded > self._promised:
            self._warn_of_length()
        return data

    def __len__(self) -> int:
        return len(self._index_sampler)  # type: ignore[arg-type]

    def __getstate__(self):
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")

    def _next_data(self) -> Any:
        raise NotImplementedError

    def _warn_of_length(self) -> None:
        hint = (
            " With worker processes, the dataset must be shared out between them; see IterableDataset."
            if self._num_workers
            else ""
        )
        warnings.warn(
            f"Length of IterableDataset {self._dataset} was reported to be {self._promised} (when accessing "
            f"len(dataloader)), but {self._num_yielded} samples have been fetched.{hint}",
            stacklevel=3,
        )


def _can_pin(loader: Any) -> bool:
    if loader.pin_memory_device:
        warnings.warn(
            "pin_memory_device is deprecated, the current accelerator will be used as the device, "
            f"ignore pin_memory_device='{loader.pin_memory_device}'.",
            stacklevel=5,
        )
    if cuda.is_available():
        return True
    warnings.warn(
        "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.",
        stacklevel=5,
    )
    return False
