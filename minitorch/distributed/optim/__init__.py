"""Optimisers of several ranks: ``torch.distributed.optim``."""

from .zero import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]
