"""Backends that stand on another one, and how tensors of several of them come together.

Arrays of such a backend consist of arrays of the backend `inner`, as a dual array does of a value
and a tangent. Its `marks` are those of `inner` and one of its own, which has a `number` and makes
the backend that is marked so ``above(inner)``. The order is one for all: a batch of `vmap` stands
on a device, and on that what has marks, by their numbers. So tensors of any backends meet on the
one that has the marks of all of them, above the innermost batch.
"""

from ..core.backend import Backend
from ..core.tensor import Tensor

__all__ = ["Standing", "join", "on", "together"]


class Standing(Backend):
    """A backend that stands on `inner`. It has a method ``lift(x)``, which makes a tensor of that
    one of the backend itself, and ``through(function, x)``, which calls a function of tensors of
    `inner` for each part of a tensor."""

    @property
    def below(self):
        return self.inner.below

    def together(self, inputs):
        return together(inputs)

    @staticmethod
    def meet(base, inputs):
        """`meet`, for backends that choose the `base`."""
        return meet(base, inputs)


def together(inputs):
    """The inputs of a call, with the tensors on one backend, of all their marks and batches."""
    tensors = [x for x in inputs if isinstance(x, Tensor)]
    bases = list(dict.fromkeys([x.backend.below for x in tensors]))
    if own := next((F for F in bases if F.together and not F.depth), None):
        return own.together(inputs)                        # such as that of nested tensors
    base = max(bases, key=lambda F: F.depth)
    if not base.depth and len(bases) > 1:                  # numbers go to the others' device
        base = next((x.backend.below for x in tensors if x.array.ndim or not x.is_cpu), base)
    return meet(base, inputs)


def meet(base, inputs):
    """The inputs of a call on the backend above `base` that has all their marks."""
    F = on(base, {mark for x in inputs if isinstance(x, Tensor) for mark in x.backend.marks})
    return [join(F, x) if isinstance(x, Tensor) else x for x in inputs]


def on(base, marks):
    """The backend with these marks on `base`."""
    for mark in sorted(marks, key=lambda mark: mark.number):
        base = mark.above(base)
    return base


def join(F, x):
    """A tensor of some of the marks and batches of `F`, as one of `F`."""
    if x.backend is F:
        return x
    if not F.marks:
        return F.join(x)
    if F.marks[-1:] == x.backend.marks[-1:]:
        return x.backend.through(lambda t: join(F.inner, t), x)
    return F.lift(join(F.inner, x))
