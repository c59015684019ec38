"""How a call on nested tensors is answered.

A public function runs as it is written, on tensors whose arrays (`backend.py`) hold the tensors
that were given. So it comes down to its ops, and each of them is answered by what its index
notation says (`ways.py`). What the structure of a batch has (`batch.py`) says how it is laid out. A
few functions have a rule of their own: those that tell the elements of the batch apart, or refuse
what PyTorch refuses (`rules.py`).
"""

from ... import Tensor
from ...autograd import grad
from ...extend import FUNCTIONS, grad_mode, take_over, worded, wrap
from ...utils._pytree import tree_leaves, tree_map
from .backend import NestedArray, NestedBackend, backend_of
from .batch import Batch
from .crossing import asked_of, batch_of, tensor_of
from .nested_int import RaggedSize

__all__ = ["answer", "as_written", "name_of", "not_there", "rule"]

RULES: dict = {}                                           # name of a function or method: its rule

# Questions and methods of the graph, which ask the tensor, whatever its array is.
OF_THE_TENSOR = set("""
    detach detach_ data dtype device is_cuda is_cpu is_leaf grad_fn requires_grad
    requires_grad_ retain_grad retains_grad output_nr _base
    _is_view __repr__ __format__ __dir__""".split())
# Rules that call what asks nobody.
OF_THE_GRAPH = {"grad", "register_hook", "register_post_accumulate_grad_hook"}
# Questions about memory, which is that of the values.
OF_THE_VALUES = set("""
    _version itemsize nbytes element_size is_inference is_pinned is_shared is_conj is_neg
    storage_offset data_ptr untyped_storage""".split())


def rule(names):
    """A decorator of a function that answers calls of these names, separated by spaces.

    It is called as ``rule(func, *args, **kwargs)``.
    """
    def enter(function):
        RULES.update(dict.fromkeys(names.split(), function))
        return function
    return enter


def is_nested(x):
    """True if `x` is a nested tensor, outside of calls."""
    return isinstance(x, Tensor) and x.is_nested


def name_of(func):
    """The name under which rules are entered for a public function, a method or a property."""
    stored = getattr(func, "__self__", None)
    if isinstance(stored, property):
        return next((name for name, found in vars(Tensor).items() if found is stored), "a property")
    return func.__name__


def answer(func, inner, args, kwargs):
    """The answer of nested tensors to a call of a public function; `inner` asks nobody."""
    name = name_of(func)
    if not is_ours(func):
        raise not_there(name)
    if kwargs.get("out") is not None:
        raise not_there(name, " with out=")
    if func is grad or name == "backward" or name in OF_THE_TENSOR:
        return inner(*args, **kwargs)
    if name in OF_THE_VALUES:
        return func(args[0].array.values, *args[1:], **kwargs)
    if name in RULES:
        return RULES[name](inner if name in OF_THE_GRAPH else func, *args, **kwargs)
    if is_nested(args[0]) and name not in vars(object) and hasattr(
            type(args[0].array.held), name):
        found = asked_of(args[0], name)
        return found(*args[1:], **kwargs) if callable(found) else found
    if name.endswith("_") and not name.endswith("__"):
        return in_place(func, *args, **kwargs)
    return as_written(func, *args, **kwargs)


def is_ours(func):
    """True for functions, methods and properties of the library, which come down to its ops."""
    return (hasattr(func, "op") or isinstance(getattr(func, "__self__", None), property)
            or "_inner" in (getattr(func, "__kwdefaults__", None) or ()))


class Inside:
    """The tensors of one call as functions see them: on a `NestedBackend`. `batch` makes the
    structure of a nested tensor."""

    def __init__(self, batch=None):
        self.batch, self.given, self.known = batch or batch_of, {}, {}

    def lifted(self, x):
        """A tensor that was given, or the number for a ragged size."""
        if isinstance(x, RaggedSize):
            return x.stand_in
        if not isinstance(x, Tensor) or isinstance(x.backend, NestedBackend) and type(x) is Tensor:
            return x
        if id(x) not in self.known:
            held = self.batch(x) if x.is_nested else x
            made = self.known[id(x)] = wrap(NestedArray(held), backend_of(held.backend))
            self.given[id(made)] = x
        return self.known[id(x)]

    def lowered(self, x):
        """The inverse of `lifted`, for results."""
        if id(x) in self.given:
            return self.given[id(x)]
        if not isinstance(x, Tensor) or not isinstance(x.backend, NestedBackend):
            return x
        held = x.array.held
        found = tensor_of(held) if isinstance(held, Batch) else held
        return found.requires_grad_() if x.needs_grad else found


def as_written(func, *args, inside=None, **kwargs):
    """The results of a function as it is written, on nested arrays."""
    inside = Inside() if inside is None else inside
    given = tree_map(inside.lifted, [args, kwargs])
    try:
        return tree_map(inside.lowered, func(*given[0], **given[1]))
    except (ArithmeticError, AttributeError, IndexError, MemoryError, RuntimeError, TypeError,
            ValueError) as error:
        raise reworded(error, name_of(func), [args, kwargs]) from None


def reworded(error, name, given):
    """An error with the symbols of ragged sizes in place of the numbers that stand for them."""
    text = str(error)
    for x in tree_leaves(given):
        for n in (x.element_sizes() if is_nested(x) else ()):
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
    """A method that writes to the values: in the graph, what it computes of a copy."""
    name = name_of(func)
    if not is_nested(target):
        raise worded(RuntimeError(f"{name}(): a nested tensor cannot be written into a dense one"))
    public = FUNCTIONS.get(("", name[:-1]))                # that of ``add_`` is `add`

    def written(held):
        """`held` as the target, or a copy of it, which the graph may keep."""
        given = held if public is None else held.like(held._inner.clone())
        inside = Inside(lambda x: given if x is target else batch_of(x))
        found = as_written(func if public is None else public.call, target, *others,
                           inside=inside, **kwargs)
        if public is None:
            return
        if not is_nested(found) or not found.is_like(target):
            raise worded(RuntimeError(f"{name}(): the result does not have the shape of the "
                                      f"nested tensor"))
        held._inner.copy_(found._inner)
    return rewritten(target, name, written)


def rewritten(target, name, write):
    """`target` after ``write(held)`` has written to its values, which may change their graph."""
    held = batch_of(target, view=target.is_leaf or target._base is not None)
    write(held)
    if grad_mode.enabled:
        take_over(target, tensor_of(held), name)
    return target
