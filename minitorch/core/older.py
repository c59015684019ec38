"""PyTorch's older signatures, ``x.add_(0.5, y)`` and ``x.addcmul_(0.5, y, z)``, which optimisers
from its first years use.

In them the numbers that are keywords today stand among the tensors, in the same order. PyTorch
accepts such calls with a warning. They cost calls in today's signature nothing: they have too many
positional arguments for it.
"""

from .ranges import number_of
from .registry import late
from .tensor import Tensor

__all__ = ["older", "sorted_out"]


def sorted_out(name, args, tensors, numbers):
    """Sort the arguments `args` of a call in an older signature into (tensors, {keyword: number}).

    `tensors` is the number of tensors, and `numbers` the keywords. TypeError for any other call.
    """
    found = [x for x in args if isinstance(x, Tensor)]
    rest = [x for x in args if not isinstance(x, Tensor)]
    are_numbers = all([isinstance(x, (int, float, complex)) for x in rest])
    if len(found) != tensors or len(rest) > len(numbers) or not are_numbers:
        given = ", ".join(type(x).__name__ for x in args)
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({given}), "
                        f"but expected {tensors} tensors, and the numbers {', '.join(numbers)} as "
                        f"keywords")
    late.warn(f"This overload of {name} is deprecated: numbers among its tensors. Write them as "
              f"keywords: {', '.join(f'{k}={x}' for k, x in zip(numbers, rest))}")
    return found, dict(zip(numbers, rest))


def older(op, inputs, attrs, out):
    """Call an op that takes older signatures, if one of its numbers `attrs` is a tensor or a NumPy
    scalar.

    There are two such calls: one in an older signature, whose arguments are shifted, and one in
    today's with ``value=tensor``.
    """
    today = all(isinstance(x, Tensor) for x in inputs)
    if not today:
        given = [*inputs, *[x for (_, default), x in zip(op.attrs, attrs.values())
                            if x is not default]]
        inputs, attrs = sorted_out(op.name, given, len(inputs), list(attrs))
    attrs = {k: number_of(x) if hasattr(x, "item") else x for k, x in attrs.items()}
    return op.call(*inputs, **attrs, out=out)
