"""`Variable`, from the time when variables and tensors were two things."""

from ..core.tensor import Tensor
from ..explain.callers import warn

__all__ = ["Variable"]


class VariableMeta(type):
    """The type of `Variable`: tensors are its instances."""

    def __instancecheck__(cls, other):
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """``Variable(data, requires_grad=False)`` is a leaf tensor over the memory of `data`.

    `volatile` only causes a warning. TypeError if `data` is not a tensor.

    >>> import minitorch
    >>> minitorch.autograd.Variable(minitorch.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """

    def __new__(cls, data=None, requires_grad=False, volatile=False):
        if volatile:
            warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")
        if data is None:
            return Tensor().requires_grad_(bool(requires_grad))
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}: write "
                            f"torch.tensor(data)")
        return data.detach().requires_grad_(bool(requires_grad))
