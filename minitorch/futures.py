"""``torch.futures``: values that will be there later, with what is to be done when they are.

A `Future` is set by whoever has the value (``jit.fork``, the program itself, on any thread) and waited for by others.
"""

import functools
import threading

__all__ = ["Future", "collect_all", "wait_all"]


class Future:
    """A value, or an error, that will be there later.

    devices: taken as PyTorch takes it: values on GPUs are ready when they are set.

    >>> from minitorch.futures import Future
    >>> later = Future()
    >>> doubled = later.then(lambda done: 2 * done.value())
    >>> later.set_result(21)
    >>> doubled.wait()
    42
    """

    def __init__(self, *, devices=None):
        self._settled, self._lock = threading.Event(), threading.Lock()
        self._value = self._error = None
        self._callbacks = []

    def __class_getitem__(cls, kind):
        return cls

    def done(self):
        """True if there is a value or an error."""
        return self._settled.is_set()

    def wait(self):
        """The value, as soon as it is there; the error is raised, if it became one."""
        self._settled.wait()
        return self.value()

    def value(self):
        """The value that is there; the error is raised, if it became one. RuntimeError while there is neither."""
        if not self.done():
            raise RuntimeError("value() was called on a Future that is not complete: wait() waits for it")
        if self._error is not None:
            raise self._error
        return self._value

    def then(self, callback):
        """A future of ``callback(self)``, which is called when this one is complete, at once if it is."""
        after = Future()

        def call(done):
            try:
                result = callback(done)
            except BaseException as error:
                after._settle(None, error)
            else:
                after.set_result(result)
        self._when_done(call)
        return after

    def add_done_callback(self, callback):
        """Call ``callback(self)`` when this future is complete, at once if it is."""
        self._when_done(callback)

    def set_result(self, result):
        """Complete the future with a value. RuntimeError if it is complete."""
        self._settle(result, None)

    def set_exception(self, result):
        """Complete the future with an error, which `wait` and `value` raise."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._settle(None, result)

    def _settle(self, value, error):
        with self._lock:
            if self.done():
                raise RuntimeError("Future can only be marked completed once")
            self._value, self._error = value, error
            callbacks, self._callbacks = self._callbacks, []
            self._settled.set()
        for callback in callbacks:
            callback(self)

    def _when_done(self, callback):
        with self._lock:
            if not self.done():
                self._callbacks.append(callback)
                return
        callback(self)


def collect_all(futures):
    """A future of the list `futures`, complete when all of them are; an error of one is an error of the whole."""
    futures, after, lock = list(futures), Future(), threading.Lock()
    left = [len(futures)]

    def count(_):
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            error = next((f._error for f in futures if f._error is not None), None)
            after._settle(None if error else futures, error)
    if not futures:
        after.set_result([])
    for future in futures:
        future._when_done(count)
    return after


def wait_all(futures):
    """The values of all `futures`, as soon as they are there; an error of one is raised."""
    return [future.value() for future in collect_all(futures).wait()]


def completed(function, *args, **kwargs):
    """A future of a call that is made at once."""
    future = Future()
    try:
        future.set_result(functools.partial(function, *args, **kwargs)())
    except Exception as error:
        future.set_exception(error)
    return future
