"""Classes of tensors by their backend: a tensor is a `DTensor` if its array lies on a mesh.

Results of calls are plain tensors on the backend of their inputs. A class whose metaclass is
`TensorKind` stands for all tensors on one class of backends, which names it as ``kind``. Such a
tensor is an instance of the class, and has its attributes where `Tensor` has none of that name; its
Python class may be another, such as Parameter.
"""

from ..core.attributes import kept
from ..core.tensor import Tensor

__all__ = ["TensorKind"]


class TensorKind(type):
    """The metaclass of a class that stands for the tensors on a class of backends."""

    def __init__(cls, name, bases, namespace):
        super().__init__(name, bases, namespace)
        Tensor.__getattr__ = attribute

    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor) and any([
            issubclass(kind, cls) for kind in kinds_of(getattr(instance, "backend", None))])


def kinds_of(backend):
    """The classes that a backend stands for, and those that it stands on."""
    while backend is not None:
        kind = getattr(backend, "kind", None)
        if kind is not None:
            yield kind
        backend = vars(backend).get("inner")


def attribute(self, name):
    """The attribute of a tensor by a name that Tensor does not know: that of its kind."""
    if not name.startswith("__"):
        for kind in kinds_of(kept.__get__(self).get("backend")):
            if name in kind.__dict__:
                return kind.__dict__[name].__get__(self)
    raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name,
                         obj=self)
