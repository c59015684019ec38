"""`DataParallel` and `data_parallel`, as programs for several GPUs use them; here one device does all the work.

`scatter` divides a batch among devices, `gather` brings the parts to one.

A batch is not divided: there is one device, and PyTorch does the same where it finds one or none. Training by several
processes is ``DistributedDataParallel``, which lies in `minitorch/distributed` and is imported when it is asked for.
"""

from ..core.device import device as as_device
from ..core.registry import guests
from ..core.tensor import Tensor
from ..explain.callers import warn
from ..ops.shapes.join import cat
from ..utils._pytree import tree_flatten, tree_unflatten
from .modules.module import Module

__all__ = ["DataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter",
           "scatter_kwargs"]


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


def scatter(inputs, target_gpus, dim=0):
    """The tensors in `inputs`, a pytree, in chunks along `dim`, one for each of the devices; other things repeated.

    A list of such pytrees, or a tuple of tensors for a tensor. A number stands for a CUDA device. There are fewer parts
    than devices if a tensor has too few elements.
    """
    devices = [as_device("cuda", d) if isinstance(d, int) else d for d in target_gpus]
    leaves, structure = tree_flatten(inputs)
    columns = [[part.to(device) for part, device in zip(x.chunk(len(devices), dim), devices)]
               if isinstance(x, Tensor) else [x] * len(devices) for x in leaves]
    parts = [tree_unflatten(row, structure) for row in zip(*columns)] if leaves else [inputs] * len(devices)
    return tuple(parts) if isinstance(inputs, Tensor) else parts


def scatter_kwargs(inputs, kwargs, target_gpus, dim=0):
    """`scatter` of positional arguments and of keywords: a tuple of each, of one length."""
    rows = scatter(tuple(inputs), target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    length = max(len(rows), len(named))
    return (*rows, *[()] * (length - len(rows))), (*named, *[{} for _ in range(length - len(named))])


def replicate(network, devices, detach=False):
    """A copy of a module for each of several devices. With one device it is the module itself;
    ValueError for more: a batch is not divided here."""
    _one_device(devices)
    return [network] * len(devices)


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None):
    """The results of modules, each of its inputs (a tuple, or one) and keywords, one by one."""
    if len(modules) != len(inputs):
        raise AssertionError(f"{len(modules)} modules for {len(inputs)} inputs")
    named = kwargs_tup or [{}] * len(modules)
    rows = [row if isinstance(row, (list, tuple)) else (row,) for row in inputs]
    return [module(*row, **kwargs) for module, row, kwargs in zip(modules, rows, named)]


def gather(outputs, target_device, dim=0):
    """The pytrees of tensors `outputs`, all of one structure, as one on a device: tensors joined along `dim`.

    0-d tensors become a vector, with a warning. A number stands for a CUDA device.
    """
    device = as_device("cuda", target_device) if isinstance(target_device, int) else target_device
    flat = [tree_flatten(x) for x in outputs]
    return tree_unflatten([_joined(column, device, dim) for column in zip(*[leaves for leaves, _ in flat])], flat[0][1])


def _joined(parts, device, dim):
    if not isinstance(parts[0], Tensor):
        return parts[0] if parts[0] is None else type(parts[0])(parts)
    if all(x.dim() == 0 for x in parts) and dim == 0:
        warn("Was asked to gather along dimension 0, but all input tensors were scalars; will instead unsqueeze and "
             "return a vector.")
        parts = [x.unsqueeze(0) for x in parts]
    return parts[0].to(device) if len(parts) == 1 else cat([x.to(device) for x in parts], dim)


def __getattr__(name):
    if name == "DistributedDataParallel":
        return guests.DistributedDataParallel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _one_device(device_ids):
    if device_ids is not None and len(device_ids) > 1:
        raise ValueError(f"device_ids={list(device_ids)}: a batch is not divided among several devices here; "
                         "leave device_ids out, or name one")
