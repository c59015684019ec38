"""Training with parameters that are sharded over the ranks: ``torch.distributed.fsdp``, as of `fully_shard` (FSDP2).

>>> import minitorch
>>> from minitorch import nn
>>> from minitorch.distributed import threads
>>> from minitorch.distributed.fsdp import fully_shard
>>> def program(rank):
...     model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
...     for layer in model:
...         fully_shard(layer)
...     fully_shard(model)
...     model(minitorch.ones(3, 4)).sum().backward()
...     return tuple(model[0].weight.to_local().shape), model[0].weight.grad.placements
>>> threads.run(program, 2)
[((4, 4), (Shard(dim=0),)), ((4, 4), (Shard(dim=0),))]

`group` has the parameters of one call of `fully_shard`, `module` what it makes of a module.
"""

from .fully_sharded_data_parallel import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    FullyShardedDataParallel,
    MixedPrecision,
    OptimStateKeyType,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictType,
)
from .module import FSDPModule, UnshardHandle, fully_shard, register_fsdp_forward_method
from .policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy

__all__ = ["BackwardPrefetch", "CPUOffload", "CPUOffloadPolicy", "FSDPModule",
           "FullOptimStateDictConfig", "FullStateDictConfig", "FullyShardedDataParallel",
           "MixedPrecision", "MixedPrecisionPolicy", "OffloadPolicy", "OptimStateKeyType",
           "ShardedOptimStateDictConfig", "ShardedStateDictConfig", "ShardingStrategy",
           "StateDictType", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]
