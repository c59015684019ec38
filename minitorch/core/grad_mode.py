"""The modes of each thread: recording, inference, `vmap`, forward mode, mixed precision.

Users switch them by the classes of `minitorch/autograd/grad_mode.py`.
"""

import threading

from . import dtypes


class GradMode(threading.local):
    """The mode of the current thread.

    - `enabled`: calls are recorded
    - `inference`: `inference_mode` is on
    - `batches`: the `BatchedBackend`s of the running `vmap`s, the innermost last
    - `each`: a value shared by all elements of a batch gets one gradient per element, not their sum
    - `levels`: the open levels of forward mode, the innermost last
    """

    enabled, inference, each = True, False, False
    batches: tuple = ()
    levels: tuple = ()


class MixedPrecision(threading.local):
    """Mixed precision in the current thread.

    - `enabled`: it is on for some type of device
    - `devices`: the 16-bit dtype for each type of device for which it is on
    - `defaults`: that dtype for blocks that do not give one
    """

    def __init__(self):
        self.enabled, self.devices = False, {}
        self.defaults = {"cuda": dtypes.float16, "cpu": dtypes.bfloat16}


grad_mode, mixed_precision = GradMode(), MixedPrecision()
# The open batches of all threads. A list is quicker to test than an attribute of a
# `threading.local`, so calls look at `grad_mode` only if it is not empty.
open_batches: list = []


class recording:
    """Switches recording on or off in a block: the plain form of `enable_grad` and `no_grad`."""

    def __init__(self, on):
        self.on = on

    def __enter__(self):
        self.outer = grad_mode.enabled, grad_mode.inference
        grad_mode.enabled, grad_mode.inference = self.on, False

    def __exit__(self, *exc):
        grad_mode.enabled, grad_mode.inference = self.outer
