"""Whether calls are recorded or cast, in each thread. Users enter the modes of
`minitorch/autograd/grad_mode.py`."""

import threading

from . import dtypes


class GradMode(threading.local):
    """The mode of the current thread.

    `batches`: the `BatchedBackend`s of the `vmap`s that run, the innermost last; `each`: whether
    gradients of what is the same for all elements of a batch are those of each element, not their
    sum.
    """

    enabled, inference, each = True, False, False
    batches: tuple = ()
    levels: tuple = ()                           # of forward mode that are open, the innermost last


class MixedPrecision(threading.local):
    """Mixed precision in the current thread.

    `enabled` if it is on for any type of device; `devices`: the 16-bit dtype of each type where it
    is on; `defaults`: that dtype where a block does not say.
    """

    def __init__(self):
        self.enabled, self.devices = False, {}
        self.defaults = {"cuda": dtypes.float16, "cpu": dtypes.bfloat16}


grad_mode, mixed_precision = GradMode(), MixedPrecision()
open_levels: list = []                 # and batches, of all threads: empty, they spare calls a look
open_batches: list = []


class recording:
    """Calls inside the block are recorded or not: the plain form of `enable_grad` and `no_grad`."""

    def __init__(self, on):
        self.on = on

    def __enter__(self):
        self.outer = grad_mode.enabled, grad_mode.inference
        grad_mode.enabled, grad_mode.inference = self.on, False

    def __exit__(self, *exc):
        grad_mode.enabled, grad_mode.inference = self.outer
