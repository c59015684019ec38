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
        kind = getattr(getattr(instance, "backend", None), "kind", None)
        return isinstance(instance, Tensor) and kind is not None and issubclass(kind, cls)


def attribute(self, name):
    """The attribute of a tensor by a name that Tensor does not know: that of its kind."""
    kind = getattr(kept.__get__(self).get("backend"), "kind", None)
    found = None if kind is None or name.startswith("__") else kind.__dict__.get(name)
    if found is None:
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name,
                             obj=self)
    return found.__get__(self)
