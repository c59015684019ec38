"""Python's `multiprocessing`, and `spawn`, which starts the ranks of a job: ``torch.multiprocessing``.

Tensors that go through a `Queue` or a `Pipe` are copied, but for those in shared memory (``x.share_memory_()``).
"""

# ruff: noqa: F401, F403
import multiprocessing as _multiprocessing
from multiprocessing import *

from .spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [*_multiprocessing.__all__, "ProcessContext", "ProcessException", "ProcessExitedException",
           "ProcessRaisedException", "SpawnContext", "get_all_sharing_strategies", "get_sharing_strategy",
           "set_sharing_strategy", "spawn", "start_processes"]


def get_all_sharing_strategies():
    """The ways in which tensors that are not in shared memory reach other processes: they are copied."""
    return {"copy"}


def get_sharing_strategy():
    """The way in which tensors that are not in shared memory reach other processes."""
    return "copy"


def set_sharing_strategy(new_strategy):
    """Taken as PyTorch takes it; tensors are copied."""
    if new_strategy not in ("copy", "file_descriptor", "file_system"):
        raise AssertionError(f"there is no sharing strategy {new_strategy!r}")
