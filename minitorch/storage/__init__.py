"""The memory of tensors, under the name that PyTorch has for it."""

from ..ops.shapes.memory import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
