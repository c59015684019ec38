"""`Work`: a call that is under way; and the threads that carry such calls out, in order."""

import queue
import threading
import traceback

from .. import futures

__all__ = ["Future", "Work"]


class Future(futures.Future):
    """The result of a `Work`, once it is done."""

    ready = None                                           # for work of a device: makes what comes after wait for it

    def value(self):
        """The value, or the error raised."""
        found = super().value()
        if self.ready is not None:
            self.ready()
        return found


class Work:
    """A call that is under way. ``wait()`` returns True when it is done, or raises what went wrong.

    The tensors of the call must be left alone until then.
    """

    def __init__(self, tensors=(), source=-1):
        self._future, self._tensors, self._source = Future(), list(tensors), source

    def wait(self, timeout=None):
        """Wait until the call is done, up to `timeout` (a timedelta)."""
        if timeout is not None and timeout.total_seconds() > 0:
            if not self._future._settled.wait(timeout.total_seconds()):
                raise RuntimeError(f"Timed out after {timeout.total_seconds():g} s waiting for a call to finish")
        self._future.wait()
        return True

    synchronize = wait

    def is_completed(self):
        """True if the call is done, with or without an error."""
        return self._future.done()

    def is_success(self):
        """True if the call is done without an error."""
        return self._future.done() and self._future._error is None

    def exception(self):
        """The error, or None."""
        return self._future._error

    def result(self):
        """The list of the tensors that the call has written."""
        self._future.wait()
        return self._tensors

    def get_future(self):
        """A Future of the list of tensors."""
        return self._future

    get_future_result = get_future

    def source_rank(self):
        """The rank that a received message came from."""
        self._future.wait()
        return self._source

    def run(self, function):
        """Carry the call out."""
        try:
            found = function()
            if found is not None:
                self._source = found
        except BaseException as error:
            self._future._settle(None, error)
        else:
            self._future.set_result(self._tensors)


class Lane:
    """Calls that must keep their order. They run in the caller's thread while none is under way, else one by one in a
    thread of the lane."""

    def __init__(self, name):
        self.name, self.calls, self.pending = name, queue.SimpleQueue(), 0
        self.lock, self.thread = threading.Lock(), None

    def now(self, function):
        """Run `function` after all that is under way; returns what it returns."""
        if not self.pending:
            return function()
        found = []
        self.start(lambda: found.append(function()), Work()).wait()
        return found[0]

    def start(self, function, work):
        """Have `function` run in the thread of the lane; returns `work`."""
        with self.lock:
            self.pending += 1
            if self.thread is None:
                self.thread = threading.Thread(target=self.loop, name=self.name, daemon=True)
                self.thread.start()
        self.calls.put((function, work))
        return work

    def loop(self):
        while True:
            function, work = self.calls.get()
            if function is None:
                return

            def counted(function=function):
                try:
                    return function()
                finally:
                    with self.lock:
                        self.pending -= 1
            try:
                work.run(counted)
            except BaseException:                          # of a callback: the call itself is done
                traceback.print_exc()

    def close(self):
        """End the thread, after what is under way."""
        if self.thread is not None:
            self.calls.put((None, None))
            if self.thread is not threading.current_thread():
                self.thread.join(1)
            self.thread = None
