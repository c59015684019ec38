"""Modes that switch recording: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`.

Each is a context manager and a decorator, and each thread has its own mode.
"""

import functools
import inspect
from typing import Any

from ..core.grad_mode import grad_mode

__all__ = ["no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "is_grad_enabled",
           "is_inference_mode_enabled", "set_multithreading_enabled"]


def is_grad_enabled():
    """True if this thread currently records calls on tensors that require grad."""
    return grad_mode.enabled


def is_inference_mode_enabled():
    """True if `inference_mode` is on in this thread."""
    return grad_mode.inference


class _Mode:
    """Sets the mode on entry and restores the old one on exit; decorates functions and
    generators."""

    enabled: bool | None = None
    inference: bool | None = None

    def __enter__(self):
        # A stack, so that one object can be entered inside itself.
        self.__dict__.setdefault("_outer", []).append((grad_mode.enabled, grad_mode.inference))
        if self.enabled is not None:
            grad_mode.enabled = self.enabled
        if self.inference is not None:
            grad_mode.inference = self.inference
        return self

    def __exit__(self, *exc):
        grad_mode.enabled, grad_mode.inference = self._outer.pop()

    def clone(self):
        """A new mode object with the arguments of this one."""
        return type(self)()

    def __call__(self, function):
        if inspect.isclass(function):
            raise TypeError(f"{type(self).__name__} decorates functions, not classes: got {function!r}")
        if inspect.isgeneratorfunction(function):
            return _wrap_generator(self.clone, function)

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self.clone():
                return function(*args, **kwargs)
        return wrapped


def _wrap_generator(make_mode, function):
    """A generator that runs its steps, but not the code between them, in the mode."""
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        generator = function(*args, **kwargs)
        step, value = generator.send, None
        try:
            while True:
                with make_mode():
                    try:
                        item = step(value)
                    except StopIteration as stop:
                        return stop.value
                try:
                    value = yield item
                    step = generator.send
                except GeneratorExit:
                    raise
                except BaseException as error:
                    step, value = generator.throw, error
        finally:
            with make_mode():
                generator.close()
    return wrapped


class no_grad(_Mode):
    """Inside, nothing is recorded and results do not require grad.

    >>> import minitorch
    >>> x = minitorch.ones(2, requires_grad=True)
    >>> with minitorch.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    enabled = False

    def __new__(cls, orig_func: Any = None) -> Any:
        mode = super().__new__(cls)
        return mode if orig_func is None else mode(orig_func)  # ``@no_grad`` without the parentheses


class enable_grad(no_grad):
    """Inside, calls are recorded, also within `no_grad`."""

    enabled = True


class set_grad_enabled(_Mode):
    """Turn recording on or off: at once when called as a function, until the end of the block with ``with``."""

    def __init__(self, mode):
        self.enabled = bool(mode)
        self._outer = [(grad_mode.enabled, grad_mode.inference)]
        grad_mode.enabled = self.enabled

    def __enter__(self):
        if not self._outer:                                # entered a second time
            return super().__enter__()
        return self

    def __call__(self, function):
        grad_mode.enabled = self._outer.pop()[0]           # a decorator does not change the mode outside
        return super().__call__(function)

    def clone(self):
        return set_grad_enabled(self.enabled)


class inference_mode(_Mode):
    """`no_grad`, and a promise: tensors that `ones`, `tensor` and the like make inside are never
    recorded later.

    ``is_inference()`` of such tensors is True. Outside, they cannot require grad, be written to, or
    be saved for a backward pass. Unlike in PyTorch, results of other calls inside are ordinary
    tensors that do not require grad: marking them would slow down every call.
    """

    def __new__(cls, mode: Any = True) -> Any:
        if callable(mode):
            made = super().__new__(cls)
            made.__init__()  # type: ignore[misc]
            return made(mode)
        return super().__new__(cls)

    def __init__(self, mode=True):
        self.mode = mode
        self.enabled, self.inference = (False, True) if mode else (None, False)

    def clone(self):
        return inference_mode(self.mode)


class set_multithreading_enabled(_Mode):
    """Accepted for compatibility, as a function or for a block: backward passes run in the calling
    thread anyway."""

    def __init__(self, mode):
        self.mode = bool(mode)

    def clone(self):
        return set_multithreading_enabled(self.mode)
