"""How a call on nested tensors is answered.

A public function runs as it is written, on tensors whose arrays (`backend.py`) hold the tensors
that were given. So it comes down to its ops, and each of them is answered by what its index
notation says (`ways.py`). A few functions have a rule of their own: those that tell the elements of
the batch apart, or refuse what PyTorch refuses (`rules.py`).
"""

from ... import Tensor
from ...autograd import backward, grad
from ...autograd.graph import GradientEdge
from ...extend import FUNCTIONS, WrappingTensor, inner_of, worded
from ...ops.dims import is_elementwise
from ...utils._pytree import tree_leaves, tree_map
from .backend import lifted, lowered
from .nested_int import RaggedSize

__all__ = ["answer", "as_written", "name_of", "not_there", "rule"]

RULES: dict = {}                                           # name of a function or method: its rule


def rule(names):
    """A decorator of a function that answers calls of these names, separated by spaces.

    It is called as ``rule(func, *args, **kwargs)``.
    """
    def enter(function):
        RULES.update(dict.fromkeys(names.split(), function))
        return function
    return enter


def name_of(func):
    """The name under which rules are entered for a public function, a method or a property."""
    stored = getattr(func, "__self__", None)
    if isinstance(stored, property):
        return next((name for name, found in vars(Tensor).items() if found is stored), "a property")
    return func.__name__


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


def differentiate(func, args, kwargs):
    """`autograd.backward` and `autograd.grad`; gradients have the structures of their inputs."""
    found = func(*tree_map(inner_of, args), **tree_map(inner_of, kwargs))
    if func is not grad:
        return found
    inputs = args[1] if len(args) > 1 else kwargs["inputs"]
    if isinstance(inputs, (Tensor, GradientEdge)):
        inputs = (inputs,)
    return tuple([x.like(g) if isinstance(x, WrappingTensor) and g is not None else g
                  for x, g in zip(inputs, found, strict=True)])


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
    public = FUNCTIONS.get(("", name_of(func)[:-1]))       # that of ``add_`` is `add`
    written = None if public is None else public.call
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
