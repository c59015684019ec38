"""The layers at the backend interface: functions around the ops of all backends, while a block
runs.

    def wrap(name, function, backend):
        return function            # or another function with its parameters and result

    with pushed(wrap): ...

A backend looks each op up once and keeps the function. Entering and leaving make all backends look
up again, and then `wrap` is asked for the function to keep: a call never asks whether there are
layers, and costs nothing more. ``full_x`` stands for op `x` with all that it keeps. The function
returned must have the `takes_halves` of the one given.

Layers nest, and leave in any order. The stack is one for all threads; an op that has begun ends as
it began.
"""

import functools
import threading
import weakref

__all__ = ["pushed", "observed"]

stack: tuple = ()                                 # the layers, in the order in which they are asked
backends: weakref.WeakSet = weakref.WeakSet()              # all that live
_changing = threading.Lock()


class pushed:
    """A layer on the stack, as a context. `first`: beneath the layers there are, for one that puts
    another function in the place of its own, such as the reference in the place of a kernel.
    """

    def __init__(self, wrap, first=False):
        self.wrap, self.first = wrap, first

    def __enter__(self):
        with _changing:
            change((self, *stack) if self.first else (*stack, self))
        return self

    def __exit__(self, *exc):
        with _changing:
            change(tuple([layer for layer in stack if layer is not self]))


def change(layers):
    """Replace the stack, then have all backends look up again: in this order, see
    `Backend.look_up`."""
    global stack
    stack = layers
    for backend in list(backends):
        backend.forget()


class observed(pushed):
    """A layer that tells of calls: ``begin(name, arrays, attrs, backend)`` is called before each op
    on raw arrays, ``end(token, result)`` after it, where `token` is what `begin` returned and
    `result` None if the op raised.
    """

    def __init__(self, begin, end):
        super().__init__(self.told)
        self.begin, self.end = begin, end

    def told(self, name, function, backend):
        """`function`, which tells of its calls while the layer is on the stack: somebody may have
        kept it."""
        name = name.removeprefix("full_")

        @functools.wraps(function, updated=())
        def call(*arrays, **attrs):
            if self not in stack:
                return function(*arrays, **attrs)
            token, result = self.begin(name, arrays, attrs, backend), None
            try:
                result = function(*arrays, **attrs)
                return result
            finally:
                self.end(token, result)

        call.takes_halves = getattr(function, "takes_halves", False)
        return call
