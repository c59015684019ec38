"""How a call on nested tensors is answered.

A public function runs as it is written, on tensors whose arrays (`backend.py`) hold the tensors
that were given. So it comes down to its ops, and each of them is answered by what its index
notation says (`ways.py`). A few functions have a rule of their own: those that tell the elements of
the batch apart, or refuse what PyTorch refuses (`rules.py`).
"""

from ... import Tensor
from ...answering import differentiate, name_of, ruling, written_by
from ...autograd import backward, grad
from ...extend import WrappingTensor, worded
from ...ops.dims import is_elementwise
from ...utils._pytree import tree_leaves, tree_map
from .backend import lifted, lowered
from .nested_int import RaggedSize

__all__ = ["answer", "as_written", "not_there", "rule"]

RULES: dict = {}                                           # name of a function or method: its rule
rule = ruling(RULES)


def answer(func, args, kwargs):
    """The answer of nested tensors to a call of a public function."""
    name = name_of(func)
    if not is_ours(func):
        raise not_there(name)
    if kwargs.get("out") is not None:
        raise not_there(name, " with out=")
    if func in (backward, grad):
        return differentiate(func, args, kwargs)
    if name in RULES:
        return RULES[name](func, *args, **kwargs)
    if name.endswith("_") and not name.endswith("__"):
        return in_place(func, *args, **kwargs)
    return as_written(func, *args, **kwargs)


def is_ours(func):
    """True for functions, methods and properties of the library, which come down to its ops."""
    return (hasattr(func, "op") or isinstance(getattr(func, "__self__", None), property)
            or "_inner" in (getattr(func, "__kwdefaults__", None) or ()))


def as_written(func, *args, **kwargs):
    """The results of a function as it is written, on nested arrays."""
    inside: dict = {}
    given = tree_map(lambda x: lifted(x, inside), [args, kwargs])
    try:
        return tree_map(lowered, func(*given[0], **given[1]))
    except (ArithmeticError, AttributeError, IndexError, MemoryError, RuntimeError, TypeError,
            ValueError) as error:
        raise reworded(error, name_of(func), [args, kwargs]) from None


def reworded(error, name, given):
    """An error with the symbols of ragged sizes in place of the numbers that stand for them."""
    text = str(error)
    for x in tree_leaves(given):
        for n in (x.element_sizes() if isinstance(x, WrappingTensor) else ()):
            if isinstance(n, RaggedSize):
                text = text.replace(str(n.stand_in), str(n))
    if isinstance(error, (MemoryError, AttributeError)):   # as many pieces as there are places
        return not_there(name, f": {text}")
    return worded(type(error)(text))


def not_there(name, why=""):
    """The error of a call that nested tensors refuse."""
    return NotImplementedError(f"{name}() is not supported for nested tensors{why}. unbind() gives "
                               f"the elements, values() all of them, to_padded_tensor() a dense "
                               f"tensor")


def in_place(func, target, *others, **kwargs):
    """A method that writes to the values."""
    if not isinstance(target, WrappingTensor):
        raise worded(RuntimeError(f"{name_of(func)}(): a nested tensor cannot be written into a "
                                  f"dense one"))
    written = written_by(name_of(func))
    alike = [isinstance(x, WrappingTensor) and x.is_like(target) or not isinstance(x, Tensor)
             or not x.dim() for x in tree_leaves([others, kwargs])]
    if written is not None and is_elementwise(written) and all(alike):
        func(*[getattr(x, "_inner", x) for x in (target, *others)],
             **{k: getattr(x, "_inner", x) for k, x in kwargs.items()})
    elif written is not None:                              # of a copy, which the graph may keep
        result = as_written(written, target.clone(), *others, **kwargs)
        if not isinstance(result, WrappingTensor) or not result.is_like(target):
            raise worded(RuntimeError(f"{name_of(func)}(): the result does not have the shape of "
                                      f"the nested tensor"))
        target._inner.copy_(result._inner)
    else:
        as_written(func, target, *others, **kwargs)
    return target
