"""Communication hooks: how `DistributedDataParallel` averages a bucket; smaller messages, and an approximation."""

from . import default_hooks, powerSGD_hook

__all__ = ["default_hooks", "powerSGD_hook"]
