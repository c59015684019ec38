"""Batches from a worker process to the main one: the arrays through shared memory, the rest through a pipe.

A worker keeps a few blocks of shared memory and writes each batch into a free one; the main process copies the arrays
out when the batch is wanted, and its next message to the worker says that the block is free again. So shared memory
holds no more than the batches under way, whatever the program keeps of them, and blocks are mapped once, not per batch.

A block has no name: the worker sends it as an open file, behind the first message about it. So nothing is left behind
however the processes end, by kill -9 too. (On Windows blocks have names, which end with the processes that know them.)
Without shared memory (a container may have as little as 64 MB of it), the arrays go through the
pipe, slower, with a warning.
"""

import io
import mmap
import os
import pickle
import secrets
import socket
import sys
import warnings
from collections.abc import Callable, Sequence
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
from typing import Any, NamedTuple

import numpy as np

from ...core.device import host
from ...core.tensor import Tensor, wrap

_ALIGN = 64
_SMALL = 1 << 14  # bytes below which a block of shared memory is not worth its while


class Packed(NamedTuple):
    """A batch on its way: a pickle, and the raw bytes of its arrays, in the block ``name`` or beside it."""

    head: bytes
    name: str | None
    parts: list  # with a block the sizes of the arrays, without one their bytes
    is_new: bool = False  # whether the block itself follows, as an open file


class _Block:
    """Shared memory without a name, that of the open file ``file``; ``name`` is for the two processes only."""

    def __init__(self, file: int, name: str) -> None:
        self.name, self.size, self.file = name, os.fstat(file).st_size, file
        self.map = mmap.mmap(file, self.size)
        self.buf = memoryview(self.map)

    def close(self) -> None:
        self.buf.release()
        self.map.close()
        self.sent()

    def sent(self) -> None:
        """The file is no longer needed."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


class Sender:
    """The worker's end: packs batches, and owns the blocks. To be made before another thread uses ``connection``."""

    def __init__(self, connection: Any) -> None:
        self._free: list[Any] = []
        self._lent: dict[str, Any] = {}
        self._connection = connection
        self._socket = _socket_of(connection) if os.name == "posix" else None

    def send(self, result: Any, packed: Any) -> None:
        """Send ``result``, which holds ``packed``, and the block of that, if the other end does not have it yet."""
        self._connection.send(result)
        if isinstance(packed, Packed) and packed.is_new and self._socket is not None:
            block = self._lent[packed.name]  # type: ignore[index]
            socket.send_fds(self._socket, [b"."], [block.file])
            block.sent()

    def pack(self, data: Any) -> Packed:
        buffers: list[pickle.PickleBuffer] = []
        file = io.BytesIO()
        _Pickler(file, buffers.append).dump(data)
        parts = [buffer.raw() for buffer in buffers]
        total = sum(_aligned(len(part)) for part in parts)
        block = self._block(total) if total > _SMALL else None
        if block is None:
            return Packed(file.getvalue(), None, [bytes(part) for part in parts])
        start = 0
        for part in parts:
            block.buf[start : start + len(part)] = part  # type: ignore[index]
            start += _aligned(len(part))
        self._lent[block.name] = block
        is_new = getattr(block, "file", -1) >= 0
        return Packed(file.getvalue(), block.name, [len(part) for part in parts], is_new)

    def release(self, names: Sequence[str]) -> None:
        """The main process has copied the batches in these blocks."""
        self._free += [self._lent.pop(name) for name in names]

    def _block(self, size: int) -> Any:
        """A free block of at least ``size`` bytes, or a new one, or None where the system has no more to give."""
        for i, block in enumerate(self._free):
            if block.size >= size:
                return self._free.pop(i)
        for block in self._free:
            block.close()
        self._free = []
        try:
            return _new_block(1 << (size - 1).bit_length())
        except OSError:
            return None


class Receiver:
    """The main process's end: maps the workers' blocks when it first hears of them, and copies batches out."""

    def __init__(self) -> None:
        self._blocks: dict[str, Any] = {}
        self._warned = False

    def receive(self, connection: Any) -> Any:
        """Read an object from a worker. After an exception, Ctrl-C included, the connection is of no more use."""
        result = connection.recv()
        packed = result.packed
        if not isinstance(packed, Packed) or packed.name is None or packed.name in self._blocks:
            return result
        if not packed.is_new:
            self._blocks[packed.name] = SharedMemory(packed.name)
            return result
        with _socket_of(connection) as incoming:
            data, files, _, _ = socket.recv_fds(incoming, 1, 1)
        if not data:
            raise EOFError
        if not files:
            raise RuntimeError("a DataLoader got a batch in shared memory, but has too many files open to look at it")
        self._blocks[packed.name] = block = _Block(files[0], packed.name)
        block.sent()
        return result

    def unpack(self, packed: Packed) -> Any:
        """The batch, in memory of its own."""
        if packed.name is None:
            buffers = [np.array(memoryview(part)) for part in packed.parts]
            self._warn_if_large(sum(map(len, packed.parts)))
        else:
            memory, start, buffers = self._blocks[packed.name].buf, 0, []
            for size in packed.parts:
                buffers.append(np.array(memory[start : start + size]))  # type: ignore[index]
                start += _aligned(size)
        return pickle.loads(packed.head, buffers=buffers)

    def _warn_if_large(self, size: int) -> None:
        if size > _SMALL and not self._warned:
            self._warned = True
            warnings.warn(
                f"A DataLoader worker got no shared memory for a batch of {size} bytes and sent it through a pipe, "
                "which is slower. Enlarge /dev/shm, or use smaller batches or fewer workers.",
                stacklevel=2,
            )

    def close(self) -> None:
        for block in self._blocks.values():
            block.close()
        self._blocks = {}


def prepare() -> None:
    """To be called before workers start: they must share one resource tracker with the main process."""
    if os.name == "posix" and sys.platform != "linux":
        resource_tracker.ensure_running()


def _socket_of(connection: Any) -> socket.socket:
    """The socket behind one end of a two-way pipe."""
    found = socket.socket(fileno=os.dup(connection.fileno()))
    found.setblocking(True)  # whatever socket.setdefaulttimeout() has been told: both share one mode
    return found


def _new_block(size: int) -> Any:
    if os.name != "posix":
        return SharedMemory(create=True, size=size)
    file = _unnamed_file(size)
    try:
        return _Block(file, secrets.token_hex(8))
    except BaseException:
        os.close(file)
        raise


def _unnamed_file(size: int) -> int:
    """An open file in memory, ``size`` bytes long; OSError where the system has no more to give."""
    if sys.platform != "linux":
        block = SharedMemory(create=True, size=size)
        file = os.dup(block._fd)  # type: ignore[attr-defined]
        block.unlink()
        block.close()
        return file
    try:
        file = os.open("/dev/shm", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:  # not mounted, or not a file system that knows such files
        file = os.memfd_create("minitorch")
    try:
        os.posix_fallocate(file, 0, size)  # otherwise Linux may kill with SIGBUS whoever writes to it
    except BaseException:
        os.close(file)
        raise
    return file


def _aligned(size: int) -> int:
    return -(-size // _ALIGN) * _ALIGN


class _Pickler(pickle.Pickler):
    """Leaves the bytes of tensors and arrays out of the pickle and hands them to ``masked``."""

    def __init__(self, file, keep: Callable[[pickle.PickleBuffer], None]) -> None:
        super().__init__(file, protocol=5, buffer_callback=keep)

    def reducer_override(self, obj: Any):
        if type(obj) is Tensor:
            return _to_tensor, (_plain(obj), obj.requires_grad)
        if type(obj) is np.ndarray and not obj.dtype.hasobject:
            return _to_array, _flatten(obj)
        return NotImplemented


def _plain(tensor: Tensor) -> np.ndarray:
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "A DataLoader worker cannot send a tensor that has a grad_fn: the graph behind it stays in the worker. "
            "Call detach() on it in the dataset or in collate_fn."
        )
    if tensor.device.type != "cpu":
        raise RuntimeError(
            f"A DataLoader worker cannot send a tensor on {tensor.device}. Keep batches on the CPU in the workers "
            "(pin_memory=True makes the copy to the GPU fast) and move them in the training loop."
        )
    return tensor.array


def _flatten(array: np.ndarray) -> tuple:
    """``array`` as its bytes in the order of memory, and what it takes to restore it with the same order of strides."""
    axes = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    dense = np.ascontiguousarray(array.transpose(axes)).reshape([array.shape[axis] for axis in axes])
    return pickle.PickleBuffer(dense.reshape(-1).view(np.uint8).data), dense.dtype, dense.shape, axes


def _to_array(data: np.ndarray, dtype: np.dtype, shape: tuple, axes: list[int]) -> np.ndarray:
    return data.view(dtype).reshape(shape).transpose(np.argsort(axes))


def _to_tensor(array: np.ndarray, requires_grad: bool) -> Tensor:
    return wrap(array, host()).requires_grad_(requires_grad)
