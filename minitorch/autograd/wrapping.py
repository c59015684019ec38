"""Tensors that wrap another tensor: nested ones.

A `WrappingTensor` has no array. It holds an ordinary tensor, `_inner`, and data that say how to
read it (offsets). All calls on it go to ``__torch_function__`` and compute with the inner
tensor, so gradients, hooks, forward mode, autocast and devices are those of the inner tensor. This
file only delegates the attributes and methods of a tensor itself. A gradient has the structure of
its tensor: `like` puts the same structure around another inner tensor.
"""

import copy

from ..core.tensor import Tensor
from ..utils._pytree import tree_map
from . import api
from .dispatch import asked, disabled_torch_function

__all__ = ["NoArray", "WrappingTensor", "inner_of"]

HANDED_OVER = ("dtype", "device", "itemsize", "nbytes", "is_cuda", "is_cpu", "is_leaf", "grad_fn", "needs_grad", "node",
               "backend", "requires_grad", "retains_grad", "_version", "output_nr")
QUESTIONS = ("is_floating_point", "is_complex", "is_signed", "element_size", "get_device", "is_inference", "is_pinned",
             "is_shared", "is_conj", "is_neg", "storage_offset", "data_ptr", "untyped_storage", "retain_grad")


class NoArray(NotImplementedError):
    """Raised when code needs the array of a tensor that has none."""


class WrappingTensor(Tensor):
    """A tensor that wraps another one, `_inner`. Subclasses define how calls on them work, and
    `like`."""

    # As for Parameter: this class itself overrides no calls; classes derived from it do.
    __torch_function__ = disabled_torch_function
    _inner: Tensor

    def like(self, inner):
        """This structure around another inner tensor of the same shape."""
        raise NotImplementedError

    def array(self):
        kind = type(self).__name__
        raise NoArray(f"this function is not there for a {kind}, which has no array of its own: compute "
                                  f"with the tensor that it is made of, and make a {kind} of the result")

    array = property(array, doc="Raises `NoArray`.")  # type: ignore[assignment]

    # -- the graph -----------------------------------------------------------------------------------------
    def requires_grad_(self, requires_grad=True):
        """Switch gradients on or off, as for any tensor."""
        self._inner.requires_grad_(requires_grad)
        return self

    @property
    def grad(self):
        """The sum of the gradients for this leaf, in the structure of this tensor; None before the
        first."""
        found = self._inner.grad
        return None if found is None else self.like(found)

    @grad.setter
    def grad(self, g):
        if g is not None and type(g) is not type(self):
            raise TypeError(f"assigned grad expected to be a {type(self).__name__} or None but got grad of type "
                            f"{type(g).__name__}")
        self._inner.grad = None if g is None else g._inner

    @grad.deleter
    def grad(self):
        self.grad = None

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Add this tensor's gradients to the `grad` of every leaf it depends on: see
        `autograd.backward`."""
        api.backward(self._inner, *tree_map(inner_of, [gradient, retain_graph, create_graph]),
                     inputs=tree_map(inner_of, inputs))

    def register_hook(self, hook):
        """Run ``hook(gradient)`` when the gradient is complete; a returned tensor replaces it."""
        return self._inner.register_hook(lambda g: inner_of(asked(hook, self.like(g))))

    def register_post_accumulate_grad_hook(self, hook):
        """Run ``hook(tensor)`` each time a backward pass has added to the `grad` of this leaf."""
        return self._inner.register_post_accumulate_grad_hook(lambda _: asked(hook, self))

    def detach(self):
        """The same memory without the graph."""
        return self.like(self._inner.detach())

    def detach_(self):
        """Forget the call that made this tensor."""
        self._inner.detach_()
        return self

    @property
    def data(self):
        """The same memory without the graph."""
        return self.detach()

    @data.setter
    def data(self, other):
        if type(other) is not type(self):
            raise TypeError(f"the data of a {type(self).__name__} has to be one too, got {type(other).__name__}")
        self._inner.data = other._inner

    # -- what it is ----------------------------------------------------------------------------------------
    def __len__(self):
        return self.shape[0]

    def __bool__(self):
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous: use any() or all()")

    def __format__(self, spec):
        return format(repr(self), spec)

    def _repr_html_(self):
        return None

    def numpy(self, *args, **kwargs):
        """Raises an error: a NumPy array has no such structure."""
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def tolist(self):
        """Raises an error, as in PyTorch."""
        raise RuntimeError(f".tolist() is not supported for tensor subclasses, got {type(self).__name__}")

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = self.like(copy.deepcopy(self._inner, memo))
        return memo[id(self)]

    def __dir__(self):
        return object.__dir__(self)


def inner_of(x):
    """The inner tensor of a `WrappingTensor`; any other value unchanged."""
    return x._inner if isinstance(x, WrappingTensor) else x


for _name in HANDED_OVER:
    def _get(self, name=_name):
        return getattr(self._inner, name)
    setattr(WrappingTensor, _name, property(_get, doc=f"`{_name}` of the inner tensor."))
WrappingTensor.requires_grad = WrappingTensor.requires_grad.setter(WrappingTensor.requires_grad_)  # type: ignore
for _name in QUESTIONS:
    def _ask(self, *args, name=_name, **kwargs):
        return getattr(self._inner, name)(*args, **kwargs)
    setattr(WrappingTensor, _name, _ask)
