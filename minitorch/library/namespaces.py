"""``torch.ops``: operators of the user's own by namespace and name, ``torch.ops.mylib.sin(x)``."""

from functools import cache

from .operators import OPERATORS

__all__ = ["Namespace", "namespace"]


class Namespace:
    """The operators whose names begin with ``name::``, as attributes."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, name):
        found = OPERATORS.get(f"{self.name}::{name}")
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        return found

    def __dir__(self):
        return sorted(key.partition("::")[2] for key in OPERATORS if key.startswith(f"{self.name}::"))

    def __repr__(self):
        return f"<operators {self.name}::...>"


@cache
def known(name):
    return Namespace(name)


def namespace(name):
    """The operators of a namespace. AttributeError if there are none: tools ask modules for names of all kinds."""
    if not any([key.startswith(f"{name}::") for key in OPERATORS]):
        raise AttributeError(f"module 'minitorch.ops' has no attribute {name!r}: no operator of a namespace {name!r} "
                             f"has been defined")
    return known(name)
