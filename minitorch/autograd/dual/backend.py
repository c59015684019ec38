"""`DualBackend`: the ops on dual arrays, on top of another backend."""

from functools import partial
from typing import Any

from ...core.grad_mode import grad_mode, recording
from ...core.registry import OPS
from ...core.tensor import wrap
from ...utils._pytree import tree_map
from ..standing import Standing
from .array import Dual, Functions, dual_array, of_backend, plain
from .calls import Call

__all__ = ["DualBackend", "above"]


def above(inner, level):
    """The dual backend of a level on `inner`."""
    found = level.backends.get(inner)
    if found is None:
        found = level.backends[inner] = DualBackend(inner, level)
    return found


class DualBackend(Standing):
    """Arrays with a tangent at `level`, whose parts lie on the backend `inner`.

    What takes tensors to it and from it is in `crossing.py`: `lift`, `through` and `tangent`.
    """

    lift: Any
    through: Any
    tangent: Any

    def __init__(self, inner, level):
        self.inner, self.level, self.levels = inner, level, (*inner.levels, level)
        self.marks = *inner.marks, level
        self.depth, self.on_host, self.device = inner.depth, inner.on_host, inner.device
        self.xp, self.ndarray, self.ops, self.kernels = Functions(self), Dual, set(), {}

    def __repr__(self):
        return f"<backend {self.device}, with tangents>"

    def __reduce__(self):
        return self.inner.__reduce__()

    @property
    def kind(self):
        return getattr(self.inner, "kind", None)

    @property
    def pull_of(self):
        """That of the backend below, where arrays stand on one with gradients of its own."""
        own = self.inner.pull_of if self.inner.marks else None
        return own and partial(pulled, own)

    # -- ops: found once, for all of these backends ------------------------------------------------
    def __getattr__(self, name):
        if not name.startswith("__") and name.removeprefix("full_") in OPS:
            setattr(DualBackend, name, operation(name))
            return getattr(self, name)
        return super().__getattr__(name)

    @property
    def computes(self):
        """True if calls compute tangents: not where they are switched off. Backward passes through
        calls of a closed level do."""
        return not grad_mode.inference and (self.level.closed or self.level in grad_mode.levels)

    # -- memory ------------------------------------------------------------------------------------
    def asarray(self, x, dtype=None):
        x = of_backend(self, x)
        return x if dtype is None or x.dtype == dtype else x.astype(dtype)

    def of_memory(self, array, size, stride, offset):
        """A view of the memory of the value, without a tangent."""
        return dual_array(self, self.inner.of_memory(array.value, size, stride, offset))

    def from_host(self, array):
        return of_backend(self, self.inner.from_host(array))

    def to_host(self, array):
        return self.inner.to_host(plain(array))

    def physical(self, array):
        return self.inner.physical(plain(array))

    def fill_random(self, array, sampler, generator, args):
        self.inner.fill_random(array.value, sampler, generator, plain(list(args)))

    def room_beside(self, x, other):
        """A copy of the tensor `x` with room for parts of `other`, which may differ in a batch."""
        lowest = self
        while lowest.level is not None:
            lowest = lowest.inner
        every = wrap(lowest.xp.ones((), bool), lowest)
        return OPS["where"].call(every, x, x)

    # -- parts -------------------------------------------------------------------------------------
    def detached(self, array):
        """The value of an array, on the lowest backend."""
        return self.inner.detached(array.value)

    def apart(self, array):
        """A tensor of the value, on the lowest backend, and a function that returns the array with
        another value in that place."""
        tensor, whole, t = wrap(array.value, self.inner), None, array.tangent
        if self.inner.level is not None:
            tensor, whole = self.inner.apart(array.value)
        return tensor, lambda x: dual_array(self, x if whole is None else whole(x), t)


def pulled(own, node, create_graph):
    """A function that computes a node's gradients by `own`, a `pull_of`, from tensors."""
    def pull(over, g, values, parents):
        if create_graph:
            return own(node, True)(over, g, values, parents)
        with recording(False):
            g = tree_map(lambda x: None if x is None else wrap(x, node.backend), g)
            found = own(node, True)(node.op.recorded, g, node.as_tensors(values), parents)
        return [None if x is None else x.array for x in found]
    return pull


def operation(name):
    """The function of an op on dual arrays; ``full_x`` returns what op `x` keeps, too."""
    op, full = OPS[name.removeprefix("full_")], name not in OPS

    def call(self, *arrays, **attrs):
        return Call(self, op, arrays, attrs).result(full)
    return call
