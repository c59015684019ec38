"""Layers at the backend interface: functions wrapped around the ops of all backends while a block
runs.

    def wrap(name, function, backend):
        return function            # or another function with its parameters and result

    with pushed(wrap): ...

A backend looks each op up once and keeps the function. Entering or leaving a layer makes all
backends look up again, and each lookup calls `wrap` for the function to keep. So calls do not check
for layers and cost nothing extra. ``full_x`` is op `x` with the values that it keeps for the
backward pass. The function that `wrap` returns must have the same attribute `takes_halves` as the
one given.

Layers nest, and may be left in any order. All threads share one stack. A change of the stack does
not affect ops that are already running.
"""

import functools
import threading
import weakref

__all__ = ["pushed", "observed"]

stack: tuple = ()                                          # the layers, from the innermost
backends: weakref.WeakSet = weakref.WeakSet()              # all living backends
_changing = threading.Lock()


class pushed:
    """A context that puts a layer on the stack. `first`: below the layers already there, for a
    layer that replaces functions, such as a kernel by its reference; the others then wrap the
    replacement.
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
    """Replace the stack, then make all backends look up again. The order matters: see
    `Backend.look_up`."""
    global stack
    stack = layers
    for backend in list(backends):
        backend.forget()


class observed(pushed):
    """A layer that reports each call: ``begin(name, arrays, attrs, backend)`` is called before each
    op on raw arrays, ``end(token, result)`` after it. `token` is the value that `begin` returned;
    `result` is None if the op raised.
    """

    def __init__(self, begin, end):
        super().__init__(self.told)
        self.begin, self.end = begin, end

    def told(self, name, function, backend):
        """`function`, which reports its calls while the layer is on the stack. It checks for that
        since other code may have kept the function."""
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
