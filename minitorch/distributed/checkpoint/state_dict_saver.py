"""PyTorch's place of `save` and `async_save`."""

from enum import Enum

from .. import checkpoint

__all__ = ["AsyncCheckpointerType", "async_save", "save"]

async_save, save = checkpoint.async_save, checkpoint.save


class AsyncCheckpointerType(Enum):
    """The kind of worker that writes an `async_save`: a thread; a process is not supported."""

    THREAD = "thread"
    PROCESS = "process"
