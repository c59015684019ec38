"""PyTorch's older signatures, ``x.add_(0.5, y)`` and ``x.addcmul_(0.5, y, z)``, as optimisers of
its first years write.

There the numbers stand among the tensors, in the order of the keywords that they are today. PyTorch
takes them with a warning. A call in today's signature pays nothing: these calls have too many
positional arguments for it.
"""

from .registry import late
from .tensor import Tensor

__all__ = ["older", "sorted_out"]


def sorted_out(name, args, tensors, numbers):
    """The arguments `args` of a call in an older signature: (tensors, {keyword: number}), for
    `tensors` of the first.

    TypeError if it is no such call.
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
    """The answer of an op that takes older signatures, where one of the numbers `attrs` is a tensor
    or a scalar.

    That is so in an older call, whose arguments are shifted, and in one of today with
    ``value=tensor``.
    """
    today = all(isinstance(x, Tensor) for x in inputs)
    if not today:
        given = [*inputs, *[x for (_, default), x in zip(op.attrs, attrs.values())
                            if x is not default]]
        inputs, attrs = sorted_out(op.name, given, len(inputs), list(attrs))
    attrs = {k: x.item() if hasattr(x, "item") else x for k, x in attrs.items()}
    return op.call(*inputs, **attrs, out=out)
