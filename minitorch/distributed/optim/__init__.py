"""Optimisers of several ranks: ``torch.distributed.optim``."""

from ..errors import absent
from .zero import ZeroRedundancyOptimizer

__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]

DistributedOptimizer = absent("optim.DistributedOptimizer", "it steps parameters of other ranks by RPC: use "
                              "fully_shard or ZeroRedundancyOptimizer, with any optimiser")
PostLocalSGDOptimizer = absent("optim.PostLocalSGDOptimizer", "step any optimiser, with gradients of model.no_sync(), "
                               "and all_reduce the parameters with ReduceOp.AVG every few steps")
