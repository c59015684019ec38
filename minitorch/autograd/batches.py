"""The batches that a thread is in: the backends of the `vmap`s that run, the innermost last."""

import threading

__all__ = ["Entered", "running"]


class Running(threading.local):
    """The batched backends (`minitorch/backends/batched`) of the current thread."""

    backends: tuple = ()


running = Running()


class Entered:
    """A block that runs in the batch of a backend."""

    def __init__(self, backend):
        self.backend = backend

    def __enter__(self):
        self.outer = running.backends
        running.backends = (*self.outer, self.backend)

    def __exit__(self, *exc):
        running.backends = self.outer
