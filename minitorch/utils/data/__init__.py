"""Feeding data to a training loop: datasets, the order to read them in, batches, worker processes.

The names, defaults, errors and orders of shuffling are those of ``torch.utils.data``: with the same seed a
`DataLoader` here and one there hand out the same samples in the same order.

- `dataset`: what is read (`Dataset`, `TensorDataset`, `Subset`, `random_split`, ...).
- `sampler`, `distributed`: in which order (`RandomSampler`, `BatchSampler`, `DistributedSampler`, ...).
- `collate`: how samples become a batch (`default_collate`).
- `dataloader`: the loop over batches in this process; `multiprocess`, `worker` and `channel`: the same in others.
"""

from .collate import default_collate, default_convert
from .dataloader import DataLoader
from .dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .distributed import DistributedSampler
from .sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from .worker import get_worker_info

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]
