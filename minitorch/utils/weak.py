"""``torch.utils.weak``: dictionaries whose keys are tensors, compared by identity and not kept alive."""

import weakref
from collections.abc import MutableMapping

from ..core.tensor import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):
    """A weak reference that is equal to another of the very same object, and hashed by its identity."""

    __slots__ = ["_id"]

    def __init__(self, key, callback=None):
        super().__init__(key, callback)
        self._id = id(key)

    def __call__(self):
        found = super().__call__()
        return found if found is None or id(found) == self._id else None

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        mine, others = self(), other()
        return self is other if mine is None or others is None else mine is others


class TensorWeakRef:
    """A weak reference to a tensor: called, the tensor or None."""

    def __init__(self, tensor):
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}.")
        self.ref = weakref.ref(tensor)

    def __call__(self):
        return self.ref()


class WeakIdKeyDictionary(MutableMapping):
    """A dictionary whose keys are compared by identity, and go when nobody else holds them."""

    def __init__(self, dict=None, ref_type=WeakIdRef):     # noqa: A002  (PyTorch's name)
        self.data, self.ref_type = {}, ref_type
        data = self.data
        self._forget = lambda ref: data.pop(ref, None)
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key):
        return self.data[self.ref_type(key)]

    def __setitem__(self, key, value):
        self.data[self.ref_type(key, self._forget)] = value

    def __delitem__(self, key):
        del self.data[self.ref_type(key)]

    def __contains__(self, key):
        try:
            return self.ref_type(key) in self.data
        except TypeError:                                  # an object that cannot be referred to weakly
            return False

    def __iter__(self):
        for ref in list(self.data):
            key = ref()
            if key is not None:
                yield key

    def __len__(self):
        return len(list(iter(self)))

    def __repr__(self):
        return f"<{type(self).__name__} at {id(self):#x}>"

    def keyrefs(self):
        """The weak references to the keys."""
        return list(self.data)

    def copy(self):
        """A dictionary of the same keys and values."""
        return type(self)(self, self.ref_type)

    __copy__ = copy


WeakTensorKeyDictionary = WeakIdKeyDictionary
