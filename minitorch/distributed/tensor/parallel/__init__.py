"""Tensor parallelism: layers whose parameters are split over ranks: ``torch.distributed.tensor.parallel``.

>>> import minitorch
>>> from minitorch import nn
>>> from minitorch.distributed import init_device_mesh, threads
>>> from minitorch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
>>> def program(rank):
...     model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
...     parallelize_module(model, init_device_mesh("cpu", (2,)), {"0": ColwiseParallel(), "2": RowwiseParallel()})
...     return tuple(model[0].weight.to_local().shape), model(minitorch.ones(3, 4)).shape
>>> threads.run(program, 2)
[((4, 4), torch.Size([3, 2])), ((4, 4), torch.Size([3, 2]))]
"""

from .loss import loss_parallel
from .style import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

__all__ = ["ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput",
           "RowwiseParallel", "SequenceParallel", "loss_parallel", "parallelize_module"]
