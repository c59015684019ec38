"""Pytrees: nested containers, taken apart into a flat list of leaves and a `TreeSpec`, and put together again.

The functions are those of ``torch.utils._pytree``. Nodes are tuples, named tuples, lists, dicts, `OrderedDict`,
`defaultdict`, `deque`, and what `register_pytree_node` adds; everything else, None too, is a leaf. Dicts are walked in
their own order. Two things are nodes here that PyTorch takes for leaves: subclasses of tuple, list and dict, which are
rebuilt by calling the class with one iterable, and slices, whose ends may be arrays in a traced program.
"""

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["TreeSpec", "LeafSpec", "register_pytree_node", "tree_flatten", "tree_unflatten", "tree_iter", "tree_leaves",
           "tree_structure", "tree_map", "tree_map_only"]


class Node(NamedTuple):
    """How a class is walked: ``flatten(x)`` is (children, context), ``unflatten(children, context)`` the inverse."""

    flatten: Callable
    unflatten: Callable


NODES: dict[type, Node] = {
    tuple: Node(lambda x: (list(x), None), lambda children, _: tuple(children)),
    list: Node(lambda x: (list(x), None), lambda children, _: list(children)),
    dict: Node(lambda x: (list(x.values()), list(x)), lambda children, keys: dict(zip(keys, children))),
    OrderedDict: Node(lambda x: (list(x.values()), list(x)), lambda children, keys: OrderedDict(zip(keys, children))),
    defaultdict: Node(lambda x: (list(x.values()), [x.default_factory, list(x)]),
                      lambda children, context: defaultdict(context[0], zip(context[1], children))),
    deque: Node(lambda x: (list(x), x.maxlen), lambda children, maxlen: deque(children, maxlen)),
    slice: Node(lambda x: ([x.start, x.stop, x.step], None), lambda children, _: slice(*children)),
}
NAMED_TUPLE = Node(lambda x: (list(x), type(x)), lambda children, cls: cls(*children))
SUBCLASS_OF_SEQUENCE = Node(lambda x: (list(x), type(x)), lambda children, cls: cls(children))
SUBCLASS_OF_DICT = Node(lambda x: (list(x.values()), [type(x), list(x)]),
                        lambda children, context: context[0](zip(context[1], children)))


def register_pytree_node(cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None,
                         from_dumpable_context=None, flatten_with_keys_fn=None):
    """Make instances of `cls` nodes: ``flatten_fn(x)`` returns (children, context), ``unflatten_fn(children, context)``
    the object. The keyword arguments are accepted for PyTorch's sake. ValueError if `cls` is a node already."""
    if cls in NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    NODES[cls] = Node(flatten_fn, unflatten_fn)


def node_of(cls):
    """The `Node` of a class; None for those of leaves."""
    node = NODES.get(cls)
    if node is None and issubclass(cls, (tuple, list, dict)):
        if issubclass(cls, dict):
            return SUBCLASS_OF_DICT
        return NAMED_TUPLE if hasattr(cls, "_fields") else SUBCLASS_OF_SEQUENCE
    return node


class TreeSpec:
    """The structure of a pytree: the class and the context of its root, and the specs of the root's children."""

    def __init__(self, type, context, children_specs):
        self.type, self.context, self.children_specs = type, context, list(children_specs)
        self.num_children = len(self.children_specs)
        self.num_leaves = sum([child.num_leaves for child in self.children_specs])
        self.num_nodes = 1 + sum([child.num_nodes for child in self.children_specs])

    def is_leaf(self):
        return False

    def unflatten(self, leaves):
        """The pytree with these leaves; ValueError unless there are as many as it has."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a "
                             f"pytree that holds {self.num_leaves} items ({self}).")
        return self._build(iter(leaves))

    def _build(self, leaves):
        children = [child._build(leaves) for child in self.children_specs]
        return node_of(self.type).unflatten(children, self.context)

    def __eq__(self, other):
        return isinstance(other, TreeSpec) and (self.type, self.context, self.children_specs) == (
            other.type, other.context, other.children_specs)

    def __hash__(self):
        return hash((self.type, repr(self.context), tuple(self.children_specs)))

    def __repr__(self):
        return self._shown(0)

    def _shown(self, indent):
        between = ",\n" + " " * (indent + 2)
        children = between.join([child._shown(indent + 2) for child in self.children_specs])
        return f"TreeSpec({self.type.__name__}, {self.context}, [{children}])"


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    def __init__(self):
        super().__init__(None, None, [])
        self.num_leaves = 1

    def is_leaf(self):
        return True

    def _build(self, leaves):
        return next(leaves)

    def _shown(self, indent):
        return "*"


_LEAF = LeafSpec()


def tree_flatten(tree, is_leaf=None):
    """``(leaves, spec)``. `is_leaf`: a predicate that makes leaves of nodes as well."""
    leaves = []

    def spec_of(x):
        node = None if is_leaf is not None and is_leaf(x) else node_of(type(x))
        if node is None:
            leaves.append(x)
            return _LEAF
        children, context = node.flatten(x)
        return TreeSpec(type(x), context, [spec_of(child) for child in children])
    spec = spec_of(tree)
    return leaves, spec


def tree_unflatten(leaves, treespec):
    """The pytree of this structure with these leaves."""
    return treespec.unflatten(leaves)


def tree_structure(tree, is_leaf=None):
    """The `TreeSpec` of a pytree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_leaves(tree, is_leaf=None):
    """The leaves of a pytree as a list."""
    leaves = []

    def collect(x):
        node = None if is_leaf is not None and is_leaf(x) else node_of(type(x))
        if node is None:
            leaves.append(x)
        else:
            for child in node.flatten(x)[0]:
                collect(child)
    collect(tree)
    return leaves


def tree_iter(tree, is_leaf=None):
    """The leaves of a pytree as an iterator."""
    return iter(tree_leaves(tree, is_leaf))


def tree_map(func, tree, *rests, is_leaf=None):
    """The pytree with ``func(leaf, *leaves of rests at the same place)`` in place of each leaf.

    `rests` must have the structure of `tree`, but may have whole pytrees where `tree` has leaves; ValueError otherwise.
    """
    if not rests and is_leaf is None:
        return _map(func, tree)
    node = None if is_leaf is not None and is_leaf(tree) else node_of(type(tree))
    if node is None:
        return func(tree, *rests)
    children, context = node.flatten(tree)
    columns = [_children_like(tree, children, context, other) for other in rests]
    return node.unflatten([tree_map(func, *row, is_leaf=is_leaf) for row in zip(children, *columns)], context)


def _map(func, tree):
    """`tree_map` of one pytree. Plain containers are taken apart here: compiled functions' results pass through it."""
    kind = type(tree)
    if kind is tuple:
        return tuple([_map(func, child) for child in tree])
    if kind is list:
        return [_map(func, child) for child in tree]
    if kind is dict:
        return {key: _map(func, child) for key, child in tree.items()}
    node = node_of(kind)
    if node is None:
        return func(tree)
    children, context = node.flatten(tree)
    return node.unflatten([_map(func, child) for child in children], context)


def _children_like(tree, children, context, other):
    """The children of `other` in the order of those of `tree`; ValueError if it is no node of the same kind."""
    node = node_of(type(other))
    both_dicts = isinstance(tree, dict) and isinstance(other, dict)
    if node is None or not (both_dicts or type(other) is type(tree)):
        raise ValueError(f"Node type mismatch; expected {type(tree)}, but got {type(other)}.")
    found, other_context = node.flatten(other)
    if len(found) != len(children):
        raise ValueError(f"Node arity mismatch; expected {len(children)}, but got {len(found)}.")
    if both_dicts:
        if tree.keys() != other.keys():
            raise ValueError(f"Node keys mismatch; expected {list(tree)}, but got {list(other)}.")
        return [other[key] for key in tree]
    if type(tree) is not deque and other_context != context:
        raise ValueError(f"Node context mismatch for node type {type(tree)}; expected {context!r}, "
                         f"but got {other_context!r}.")
    return found


def tree_map_only(kind, func, tree, is_leaf=None):
    """`tree_map` for the leaves that are instances of `kind`, a class or a tuple of classes; others stay."""
    return tree_map(lambda x: func(x) if isinstance(x, kind) else x, tree, is_leaf=is_leaf)
