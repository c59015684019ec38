"""The graph's classes under PyTorch's name of the module: see `minitorch/core/graph.py`."""

from ..core.graph import Node
from .hooks import RemovableHandle

__all__ = ["Node", "RemovableHandle"]
