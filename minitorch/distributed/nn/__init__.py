"""Collectives that gradients pass through: ``torch.distributed.nn.functional``."""

# ruff: noqa: F401, F403
from . import functional
from .functional import *
