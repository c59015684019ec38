"""`DataLoader`: an iterable of batches from a dataset, and the iterator that makes them in this process.

`multiprocess` holds the iterator that has worker processes make them.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeAlias, TypeVar

from . import collate
from .collate import default_collate, default_convert
from .dataset import Dataset, IterableDataset
from .fetch import Fetcher
from .iterator import _BaseDataLoaderIter
from .sampler import BatchSampler, InfiniteSampler, RandomSampler, Sampler, SequentialSampler
from .worker import get_worker_info

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]



def __getattr__(name):
    """The iterator over worker processes, which few programs need, imported when it is asked for."""
    if name != "_MultiProcessingDataLoaderIter":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .multiprocess import _MultiProcessingDataLoaderIter
    return _MultiProcessingDataLoaderIter


T_co = TypeVar("T_co", covariant=True)
_T = TypeVar("_T")
_collate_fn_t: TypeAlias = Callable[[list[_T]], Any]       # a name for annotations

_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class DataLoader(Generic[T_co]):
    """Batches of ``dataset``, in the order of a sampler, made here or by worker processes.

    dataset: map-style (`Dataset`) or a stream (`IterableDataset`, which admits no sampler and no shuffle).
    batch_size: samples per batch; None hands out single samples (or whatever ``sampler`` asks for), not collated.
    shuffle: a new random order in each epoch.
    sampler: any iterable of indices instead of ``shuffle``.
    batch_sampler: any iterable of lists of indices instead of batch_size, shuffle, sampler and drop_last.
    num_workers: processes that read and collate; 0 does it in this one.
    collate_fn: list of samples -> batch; by default `default_collate`, or `default_convert` with ``batch_size=None``.
    pin_memory: put tensors into page-locked memory, for a faster copy to the GPU; a warning where there is none.
    drop_last: leave out the last batch if it is shorter than the others.
    timeout: seconds to wait for a batch from the workers before RuntimeError; 0 waits for ever.
    worker_init_fn: called in each worker with its number, after seeding and before reading.
    multiprocessing_context: a start method ("fork", "spawn", "forkserver") or a context; None is Python's default.
    generator: source of the shuffle and of the workers' seeds; None is the default generator.
    prefetch_factor: batches that each worker makes ahead, by default 2.
    persistent_workers: keep the workers from one epoch to the next.
    in_order: False hands out batches as the workers finish them, which is no longer reproducible.

    A worker is seeded with ``base_seed + number`` for Python's `random` and for minitorch, and with a mix of the two
    for NumPy, as in PyTorch. Unlike PyTorch's, workers take no notice of Ctrl-C: the main process gets it and decides.
    """

    _ready = False

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler | Iterable | None = None,
        batch_sampler: Sampler[list] | Iterable[list] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        streams = isinstance(dataset, IterableDataset)
        if streams:
            _check_stream(shuffle, sampler, batch_sampler)
        _check_batching(batch_size, shuffle, sampler, batch_sampler, drop_last)

        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.generator = generator
        self.persistent_workers = persistent_workers

        if sampler is None:
            if streams:
                sampler = InfiniteSampler()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)  # type: ignore[arg-type]
            else:
                sampler = SequentialSampler(dataset)  # type: ignore[arg-type]
        if batch_sampler is not None:
            batch_size = None
        elif batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)  # type: ignore[arg-type]
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)

        self._iterator: _BaseDataLoaderIter | None = None
        self._promised: int | None = None  # what len() said of a stream, to be checked against what it yields
        self._ready = True
        self._warn_of_too_many_workers()

    def __setattr__(self, name: str, value: Any) -> None:
        if self._ready and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        try:
            from .multiprocess import _MultiProcessingDataLoaderIter
        except ImportError as error:                       # in a browser
            raise RuntimeError(f"this Python starts no processes ({error}): write "
                               f"DataLoader(..., num_workers=0)") from error

        if not self.persistent_workers:
            return _MultiProcessingDataLoaderIter(self)
        iterator = self._iterator
        if isinstance(iterator, _MultiProcessingDataLoaderIter) and iterator.alive:
            iterator.reset(self)
        else:
            iterator = self._iterator = _MultiProcessingDataLoaderIter(self)
        return iterator

    def __len__(self) -> int:
        """Batches per epoch. Of a stream, ``len(dataset)`` by the batch size: true only if the workers share it out."""
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)  # type: ignore[arg-type]
        length = self._promised = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    @property
    def multiprocessing_context(self):
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context) -> None:
        if context is not None:
            if self.num_workers == 0:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
                    f"but got num_workers={self.num_workers}"
                )
            context = _as_context(context)
        self._context = context

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Iterable:
        """The sampler that the loop draws from: lists of indices where batches are collated, single ones otherwise."""
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def _warn_of_too_many_workers(self) -> None:
        if self.num_workers == 0:
            return
        cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if cpus is None or self.num_workers > cpus:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number "
                f"of worker in current system is {cpus}, which is smaller than that. "
                "More workers than processors make loading slower, not faster.",
                stacklevel=3,
            )


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    if num_workers < 0:
        raise ValueError(
            f"num_workers option should be non-negative, got {num_workers}; "
            "use num_workers=0 to disable multiprocessing."
        )
    if timeout < 0:
        raise ValueError(f"timeout option should be non-negative, got {timeout}")
    if num_workers == 0:
        if prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing. "
                "Let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
            )
        if persistent_workers:
            raise ValueError("persistent_workers option needs num_workers > 0")
    elif prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError(f"prefetch_factor option should be non-negative, got {prefetch_factor}")


def _check_stream(shuffle, sampler, batch_sampler) -> None:
    """A stream has an order of its own, so nothing may ask for another."""
    given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
            )


def _check_batching(batch_size, shuffle, sampler, batch_sampler, drop_last) -> None:
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
            )
    elif batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")


def _as_context(context):
    import multiprocessing
    from multiprocessing.context import BaseContext

    if isinstance(context, str):
        methods = multiprocessing.get_all_start_methods()
        if context not in methods:
            raise ValueError(
                f"multiprocessing_context option should specify a valid start method in {methods!r}, "
                f"but got multiprocessing_context={context!r}"
            )
        return multiprocessing.get_context(context)
    if not isinstance(context, BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start method, "
            f"but got multiprocessing_context={context}"
        )
    return context


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        if loader.timeout != 0:
            raise AssertionError(f"timeout needs num_workers > 0, got timeout={loader.timeout} without workers")
        self._fetcher = Fetcher(loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last)

    def _next_data(self) -> Any:
        data = self._fetcher.fetch(next(self._sampler_iter))  # either may raise StopIteration
        return collate.pin_memory(data) if self._pin_memory else data
