"""Watching the ops of all backends from outside: what the profiler and `nn.summary` stand on.

Nothing is checked in a call. A backend finds each op once and keeps it as an attribute of its own; while somebody
watches, it finds a function around it instead. Afterwards the old attributes are put back, so that watching costs
nothing while nobody does.
"""

import functools

from ..core.device import MADE

__all__ = ["watching"]


class watching:
    """Within the block, ``begin(name, arrays, attrs, backend)`` is called before each op on raw arrays,
    ``end(token, result)`` after it, where `token` is what `begin` returned and `result` None if the op raised. Blocks
    may not be nested.
    """

    current = None                                         # who watches; functions that outlive a block ask for it

    def __init__(self, begin, end):
        self.begin, self.end, self.kept = begin, end, {}

    def __enter__(self):
        if watching.current is not None:
            raise RuntimeError("ops are being watched already: end the other profile (or summary) first")
        watching.current = self
        for backend in dict.fromkeys(MADE.values()):
            self.watch(backend)
        return self

    def watch(self, backend):
        """Watch one more backend, which has just been made."""
        self.kept[backend] = type(backend), forget_ops(backend)
        backend.__class__ = watched_class(type(backend))

    def __exit__(self, *exc):
        watching.current = None
        for backend, (cls, attributes) in self.kept.items():
            forget_ops(backend)
            backend.__class__ = cls
            backend.__dict__.update(attributes)


def forget_ops(backend):
    """Take away the ops that a backend has found; returns them."""
    from ..core.registry import OPS
    names = [k for k in backend.__dict__ if k == "wide" or k.removeprefix("full_") in OPS]
    return {k: backend.__dict__.pop(k) for k in names}


@functools.cache
def watched_class(cls):
    """A backend's class whose ops tell of themselves."""

    def find(self, name):
        from ..core.registry import OPS
        found = cls.__getattr__(self, name)
        if name.removeprefix("full_") in OPS:
            found = told(name.removeprefix("full_"), found, self)
            setattr(self, name, found)
        return found

    return type(cls.__name__, (cls,), {"__getattr__": find, "__module__": cls.__module__})


def told(name, function, backend):
    """`function`, an op of `backend`, which tells who watches of each call."""

    @functools.wraps(function, updated=())
    def call(*arrays, **attrs):
        watcher = watching.current
        if watcher is None:                                # kept by a graph that has outlived the block
            return function(*arrays, **attrs)
        token, result = watcher.begin(name, arrays, attrs, backend), None
        try:
            result = function(*arrays, **attrs)
            return result
        finally:
            watcher.end(token, result)

    call.takes_halves = getattr(function, "takes_halves", False)
    return call
