"""Nodes of the graph as users see them: with PyTorch's class names, and `AccumulateGrad` for the
leaves.

In the graph a node is a plain `Node`, and a leaf is its tensor. The first access to a node
(``y.grad_fn``, ``next_functions``) gives it a class named after its op; so calls pay nothing for
this. A node made with that class would cost the calls whose name depends on their inputs (`linear`,
`matmul`, a slice): 0.36 us, 12 % of a small `linear`. A second object around the node could not be
one and the same as long as the node lives, unless both refer to each other.
"""

import functools
import weakref

from ..core.graph import Node, OutputNode
from ..core.hooks import hooks_of
from ..core.recording import rewrap
from ..core.registry import extends
from ..core.tensor import Tensor
from ..explain.graphs import raise_freed
from .function import FunctionNode
from .hooks import added

__all__ = ["AccumulateGrad", "accumulate_grad", "shown"]

NAMES = {"self": "input", "result": "out", "self_sizes": "input_shape",
         "self_sym_sizes": "input_shape", "other": "other"}


def shown(node):
    """The node of a tensor's op as `grad_fn` shows it: with a class named after the op."""
    if node.__class__ is OutputNode:
        node = node.parents[0]
    name = node.name()
    if node.__class__.__name__ != name:
        node.__class__ = named(name, node.__class__)
    return node


@functools.cache
def named(name, base):
    """A subclass of a node's class that is called `name` and has the same slots."""
    return type(name, (base,), {"__slots__": (), "__module__": "minitorch.autograd.graph",
                                "__getattr__": saved_value, "__dir__": with_saved_values})


def with_saved_values(node):
    """The attributes of a node, with the names of its saved values; PyTorch's names if they
    differ."""
    theirs = {ours: name for name, ours in NAMES.items()}
    fields = () if isinstance(node, FunctionNode) else getattr(node.op, "saved_fields", ())
    return [*object.__dir__(node), *[f"_saved_{theirs.get(field, field)}" for field in fields]]


def saved_value(node, name):
    """``node._saved_self``: a value that the node saved for its derivative formula, by PyTorch's
    name."""
    if isinstance(node, FunctionNode):                     # PyTorch's node is the context itself
        return attribute_of(node, name)
    fields = getattr(node.op, "saved_fields", ())
    field = name.removeprefix("_saved_")
    field = field if field in fields else NAMES.get(field, field)
    if not name.startswith("_saved_") or field not in fields:
        raise AttributeError(f"'{type(node).__name__}' object has no attribute {name!r}")
    if node.saved is None:
        raise_freed(node)
    values = node.saved if node.saved.__class__ is tuple else node.saved.unpacked()
    value = values[fields.index(field)]
    if not isinstance(value, node.backend.ndarray):
        return value
    place = node.op.saved_places[fields.index(field)]
    parent = (*node.parents, node)[place] if isinstance(place, int) else None
    return rewrap(value, parent, node.backend)


def attribute_of(node, name):
    """An attribute of the context of a user-defined function's node."""
    context = node.saved
    # `saved_tensors` unpacks the values of `_node`
    context._node, outer = node, context._node
    try:
        return getattr(context, name)
    finally:
        context._node = outer


class AccumulateGrad(Node):
    """The node that represents a leaf in `next_functions`, as in PyTorch; `variable` is the
    leaf."""

    __slots__ = ("variable",)
    next_functions = ()

    def __init__(self, variable):
        self.variable = variable

    def name(self):
        """Its name in PyTorch, where it is a class of C++."""
        return "torch::autograd::AccumulateGrad"

    def register_hook(self, hook):
        """Run ``hook((), grad_outputs)`` when a gradient has been added to the leaf's `grad`."""
        return added(self.variable, "post", hook)

    def register_prehook(self, hook):
        """Run ``hook(grad_outputs)`` before a gradient is added; a returned tuple replaces the
        gradient."""
        return added(self.variable, "node_pre", hook)

    @property
    def metadata(self):
        """A dict for the user's own notes."""
        return hooks_of(self.variable).metadata


# id of a leaf -> its AccumulateGrad
_accumulators: weakref.WeakValueDictionary = weakref.WeakValueDictionary()


def accumulate_grad(leaf):
    """The node that represents a leaf: the same object as long as it is referenced."""
    found = _accumulators.get(id(leaf))
    if found is None or found.variable is not leaf:
        found = _accumulators[id(leaf)] = AccumulateGrad(leaf)
    return found


# ---- PyTorch's view of the graph ----------------------------------------------------------------
@extends(Tensor, kind=property)
def grad_fn(self):
    """The node of the call that made this tensor; None for a leaf."""
    return None if self.node is None else shown(self.node)


@extends(Node, kind=property)
def next_functions(self):
    """The edges as in PyTorch: ((node or AccumulateGrad or None, index of its output), ...)."""
    node = self.parents[0] if isinstance(self, OutputNode) else self
    return tuple([(None, 0) if p is None else edge(p) for p in node.parents])


def edge(place):
    """The pair in `next_functions` for a node or a leaf: the node, and the index of its output."""
    if isinstance(place, Tensor):
        return accumulate_grad(place), 0
    return ((shown(place.parents[0]), place.op) if isinstance(place, OutputNode)
            else (shown(place), 0))
