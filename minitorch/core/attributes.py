"""``Tensor.__dict__``: the attributes that users have set on a tensor."""

__all__ = ["Kept", "OwnAttributes", "attributes", "kept"]


class Kept:
    """Holds all attributes of a tensor. A base class, because `Tensor.__dict__` is a property that
    shows only those that users have set, as in PyTorch."""


kept = Kept.__dict__["__dict__"]                     # ``kept.__get__(tensor)`` has all attributes


def attributes(tensor):
    """The attributes that the user has set on a tensor, such as ``weight.name = "w"``."""
    return {key: value for key, value in kept.__get__(tensor).items()
            if key not in ("array", "backend") and not hasattr(type(tensor), key)}


class OwnAttributes(dict):
    """``Tensor.__dict__``: the attributes that users have set. Changes of this dict are made on the
    tensor too."""

    def __init__(self, tensor):
        super().__init__(attributes(tensor))
        self.all = kept.__get__(tensor)

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        self.all[key] = value

    def __delitem__(self, key):
        super().__delitem__(key)
        del self.all[key]

    def pop(self, key, *default):
        found = super().pop(key, *default)
        self.all.pop(key, None)
        return found

    def setdefault(self, key, default=None):
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *args, **kwargs):
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def clear(self):
        for key in list(self):
            del self[key]
