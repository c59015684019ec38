"""`Batch`: what nested tensors of both layouts have in common."""

from ...extend import WrappingTensor
from . import calls

__all__ = ["Batch"]


class Batch(WrappingTensor):
    """A batch of tensors, `elements`, whose numbers lie in one tensor, `_inner`."""

    is_nested = True

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if not all([issubclass(t, WrappingTensor) and t.is_nested for t in types]):
            return NotImplemented
        return calls.answer(func, args, kwargs or {})

    def elements(self):
        """The elements, views of `_inner`."""
        raise NotImplementedError

    def element_sizes(self):
        """The sizes of an element, with a symbol such as j1 where elements differ."""
        raise NotImplementedError

    def is_like(self, other):
        """True if another batch of this layout has the same structure."""
        raise NotImplementedError

    def packed(self):
        """This batch with its elements behind each other."""
        return self

    def __iter__(self):
        return iter(self.elements())

    def contiguous(self, memory_format=None):
        """This batch with its elements behind each other, and their numbers in order."""
        if self.is_contiguous():
            return self
        packed = self.packed()
        return packed.like(packed._inner.contiguous())

    # -- another type or device, of what says the structure, too -----------------------------------
    def to(self, *args, layout=None, **kwargs):
        """This batch with another type or on another device; itself if it is there already."""
        found = self._inner.to(*[getattr(x, "_inner", x) for x in args], **kwargs)
        return self if found is self._inner else self.like(found)

    def cpu(self, memory_format=None):
        """This batch in the processor's memory."""
        return self.to("cpu")

    def cuda(self, device=None, non_blocking=False, memory_format=None):
        """This batch on a CUDA device."""
        return self.to("cuda" if device is None else device, non_blocking=non_blocking)

    def pin_memory(self, device=None):
        """This batch in page-locked memory."""
        return self.like(self._inner.pin_memory())
