"""Whether calls are recorded, in each thread. The modes that users enter are in `minitorch/autograd/grad_mode.py`."""

import threading


class GradMode(threading.local):
    """The mode of the current thread. `batches`: the backends of the `vmap`s that run, the innermost last; `each`:
    whether gradients of what is the same for all elements of a batch are those of each element, not their sum."""

    enabled, inference, each = True, False, False
    batches: tuple = ()
    levels: tuple = ()                                     # of forward mode that are open, the innermost last


grad_mode = GradMode()
open_levels: list = []                                     # and batches, of all threads: empty, they spare calls a look
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
