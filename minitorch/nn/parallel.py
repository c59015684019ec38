"""`DataParallel` and `data_parallel`, as programs for several GPUs use them; here one device does all the work.

A batch is not divided: there is one device, and PyTorch does the same where it finds one or none. Training by several
processes is ``DistributedDataParallel``, which lies in `minitorch/distributed` and is imported when it is asked for.
"""

from ..core.registry import late
from .modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Calls `module` on the device it lives on. Its parameters are named ``module.<name>``, as in checkpoints.

    device_ids: at most one device. output_device, dim: taken as PyTorch takes them; without several devices they
        change nothing. ValueError for several devices.
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        _one_device(device_ids)
        self.module, self.device_ids, self.dim = module, [], dim

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """``module(*inputs, **module_kwargs)`` on the one device there is. A single input need not be in a tuple."""
    _one_device(device_ids)
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*inputs, **(module_kwargs or {}))


def __getattr__(name):
    if name == "DistributedDataParallel":
        return late.DistributedDataParallel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _one_device(device_ids):
    if device_ids is not None and len(device_ids) > 1:
        raise ValueError(f"device_ids={list(device_ids)}: a batch is not divided among several devices here; "
                         "leave device_ids away, or name one")
