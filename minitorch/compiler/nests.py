"""Nests: tuples, named tuples, lists, dicts and slices of anything, as arguments and results of calls come."""

__all__ = ["mapped"]


def mapped(function, x):
    """The nest `x` with ``function(leaf)`` in place of each leaf."""
    if isinstance(x, (tuple, list)):
        items = [mapped(function, v) for v in x]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    if isinstance(x, dict):
        return {k: mapped(function, v) for k, v in x.items()}
    if isinstance(x, slice):
        return slice(mapped(function, x.start), mapped(function, x.stop), mapped(function, x.step))
    return function(x)
