"""A mode of PyTorch's compiler for masks that are computed by index, under `vmap`."""

import contextlib

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex(contextlib.nullcontext):
    """``mask[b, h]`` with 0-d tensors as indices, within `vmap`: that works without a mode here."""
