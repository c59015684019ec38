"""``torch._foreach_*``: a function of each tensor of a list, which optimisers of other libraries are written in.

Each is made when it is asked for, from the method of that name: ``_foreach_add_(tensors, others, alpha=2)`` is
``x.add_(y, alpha=2)`` for each pair. An argument is a list, with one element for each tensor, or stands for all.
"""

from ..core.registry import FUNCTIONS
from ..core.tensor import Tensor

__all__ = []

# Functions that take numbers here, and the methods of one tensor that do.
NUMBERS = {"maximum": "clamp_min", "minimum": "clamp_max"}


def __getattr__(name):
    method = name.removeprefix("_foreach_")
    public = FUNCTIONS.get(("linalg", "vector_norm") if method == "norm" else ("", method))
    writer = getattr(Tensor, method, None)                 # which writes plain sums in place, without a copy
    function = public.call if public and not (method.endswith("_") and writer) else writer
    if function is None and ("", method[:-1]) in FUNCTIONS:    # `maximum_`
        plain = FUNCTIONS["", method[:-1]].call
        function = lambda x, *args: x.copy_(plain(x, *args))                        # noqa: E731
    if number := NUMBERS.get(method.removesuffix("_")):
        function = getattr(Tensor, number + "_" * method.endswith("_"))
    if method == name or function is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return of_lists(name, function)


def of_lists(name, function):
    """The function of lists that calls `function` for each element."""
    def foreach(self, *args, **kwargs):
        count = len(self if isinstance(self, (list, tuple)) else args[0])
        if "_addc" in name and len(args) == 3:             # a factor, or one for each, or a tensor of these
            *args, value = args
            kwargs["value"] = value.unbind() if isinstance(value, Tensor) and value.dim() else value
        columns = [each(value, count) for value in (self, *args)]
        named = {key: each(value, count) for key, value in kwargs.items()}
        found = [function(*row, **{key: value[i] for key, value in named.items()})
                 for i, row in enumerate(zip(*columns))]
        return self if name.endswith("_") else tuple(found)

    foreach.__name__ = foreach.__qualname__ = name
    foreach.__doc__ = f"`{name.removeprefix('_foreach_')}` of each tensor of a list: see `minitorch.optim.foreach`."
    return foreach


def each(value, count):
    """An argument as a list of `count` elements; RuntimeError for a list of another length."""
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise RuntimeError(f"Tensor lists must have the same number of tensors, got {count} and {len(value)}")
    return value
