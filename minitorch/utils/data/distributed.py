"""`DistributedSampler`: which samples of a dataset one process of several is to read."""

import math
from collections.abc import Iterator

from ...core.registry import process_group_place
from ...ops.creation.random import randperm
from ...random.generator import Generator
from .dataset import Dataset
from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Every ``num_replicas``-th index from ``rank`` on, of the dataset in order or shuffled.

    All processes get equally many: the list of indices is extended by its own beginning, or cut short with
    ``drop_last``, to a multiple of ``num_replicas``. The shuffle depends on ``seed`` and on the epoch alone, so the
    processes agree; call ``set_epoch(epoch)`` before each epoch or every epoch has the same order.

    num_replicas, rank: by default those of the process group (``minitorch.distributed``).
    """

    def __init__(
        self,
        dataset: Dataset,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            place = process_group_place()
            if place is None:
                raise RuntimeError("Requires init_process_group to be called first, or num_replicas= and rank= to be "
                                   "given")
            rank = place[0] if rank is None else rank
            num_replicas = place[1] if num_replicas is None else num_replicas
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed
        size = len(dataset)  # type: ignore[arg-type]
        self.num_samples = size // num_replicas if drop_last else math.ceil(size / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        size = len(self.dataset)  # type: ignore[arg-type]
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = randperm(size, generator=generator).tolist()
        else:
            indices = list(range(size))
        if size:  # repeat from the start where there are too few, cut where there are too many
            indices = (indices * math.ceil(self.total_size / size))[: self.total_size]
        return iter(indices[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the next iteration."""
        self.epoch = epoch
