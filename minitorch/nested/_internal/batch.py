"""`Batch`: what the structures of nested tensors of both layouts have in common."""

from typing import Any

__all__ = ["Batch"]


class Batch:
    """The structure of a batch of tensors, `elements`, around the tensor of all their numbers,
    `_inner`.

    Nested tensors have its attributes and methods. Those of each layout are ``like(inner)``, the
    structure around another tensor; `elements`, views of `_inner`; `element_sizes`, with a symbol
    such as j1 where these differ; ``is_like(other)``, for the same structure; `text`.
    """

    _inner: Any
    _kept: dict                                            # what structures of the same sizes share
    tensor_class: Any                                      # that of the tensors, in `nested_tensor`
    dtype = property(lambda self: self._inner.dtype)
    device = property(lambda self: self._inner.device)
    backend = property(lambda self: self._inner.backend)

    def laid(self, other):
        """The numbers of another batch with the same sizes, as they lie in this one."""
        return other._inner

    def values(self):
        """All numbers, holes included, in the same memory: differentiable."""
        return self._inner.view_as(self._inner)

    def packed(self):
        """This batch with its elements behind each other."""
        return self

    def contiguous(self, memory_format=None):
        """This batch with its elements behind each other, and their numbers in order."""
        if self.is_contiguous():
            return self
        packed = self.packed()
        return packed.like(packed._inner.contiguous())

    def pin_memory(self, device=None):
        """This batch in page-locked memory."""
        return self.like(self._inner.pin_memory())
