"""Which tensors, graph nodes, generators and optimisers there are: a trace puts traced arrays into
tensors and nodes, and watches the others.

They are found through the garbage collector. It does not list frozen objects (`gc.freeze`), and
unfreezing makes it scan all of them again, so the frozen ones that were found are remembered until
more objects are frozen. A program that freezes its many other objects is therefore traced as
quickly as a small one.
"""

import gc
import weakref

from .. import Generator, Tensor
from ..extend import Node, Saved, Stepping, attributes_of
from .traced import Traced

__all__ = ["living_objects", "tensors_of", "untraced"]


class Mark:
    """An object made when the frozen objects were scanned. While the collector lists it, nothing
    has been frozen since.

    An instance is tracked by the collector, for it has a ``__dict__``, and `gc.freeze` takes all
    that is tracked.
    """

    def __init__(self, objects=()):
        self.frozen = [weakref.ref(x) for x in objects]


last: list = [None]                                        # a mark, from the first look on


def living_objects():
    """All tensors, graph nodes, generators, optimisers and schedules there are, and what custom
    functions have saved."""
    kinds = kinds_now()
    # something may have been frozen before this was imported
    if last[0] is None and not gc.get_freeze_count():
        last[0] = Mark()
    found = unfrozen({*kinds, Mark})
    if any(x is last[0] for x in found):  # by identity: tensors compare their elements
        frozen = [x for x in (known() for known in last[0].frozen) if x is not None]
        return list({id(x): x for x in (*found, *frozen) if type(x) is not Mark}.values())
    gc.unfreeze()  # tested after the mark, because counting frozen objects takes long
    try:
        found = unfrozen(kinds)
    finally:
        gc.freeze()
    last[0] = Mark(found)
    return found


def kinds_now():
    """The classes that are asked for, with their subclasses."""
    found = [Tensor, Node, Generator, Stepping, Saved]
    for kind in found:                                     # grows while it is read
        if kind is not Saved:
            found += kind.__subclasses__()
    return set(found)


def unfrozen(kinds):
    return [x for x in gc.get_objects() if type(x) in kinds]


def tensors_of(backend, living=None):
    """All living tensors of a backend that have memory; uninitialized parameters have none, sparse
    tensors several."""
    return [x for x in (living_objects() if living is None else living) if isinstance(x, Tensor)
            and (own := attributes_of.__get__(x)).get("backend") is backend
            and has_memory(own.get("array"))]


def has_memory(array):
    """True for an array with strides; a traced one, whose strides have not to be read, is one."""
    return isinstance(array, Traced) or getattr(array, "strides", None) is not None


def untraced(living):
    """Why nothing can be traced while these objects live; None if it can. Backends that compute
    past a trace say so."""
    backends = {attributes_of.__get__(x).get("backend") for x in living if isinstance(x, Tensor)}
    return next(filter(None, [F.untraced for F in backends if hasattr(type(F), "untraced")]), None)
