"""Pytrees: nested containers, taken apart into a flat list of leaves and a `TreeSpec`, and put together again.

The functions are those of ``torch.utils._pytree``. Nodes are tuples, named tuples, lists, dicts, `OrderedDict`,
`defaultdict`, `deque`, and what `register_pytree_node` adds; everything else, None too, is a leaf. Dicts are walked in
their own order. Two things are nodes here that PyTorch takes for leaves: subclasses of tuple, list and dict, which are
rebuilt by calling the class with one iterable, and slices, whose ends may be arrays in a traced program.
"""

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Context", "FlattenFunc", "GetAttrKey", "KeyEntry", "KeyPath", "LeafSpec", "MappingKey", "NodeDef", "PyTree",
           "SUPPORTED_NODES", "SequenceKey", "TreeSpec", "UnflattenFunc", "arg_tree_leaves", "is_namedtuple",
           "is_namedtuple_class", "is_namedtuple_instance", "key_get", "keystr", "map_only", "register_constant",
           "register_dataclass", "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only",
           "tree_flatten", "tree_flatten_with_path", "tree_is_leaf", "tree_iter", "tree_leaves",
           "tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only", "tree_map_only_", "tree_map_with_path",
           "tree_structure", "tree_unflatten", "treespec_dict", "treespec_leaf", "treespec_tuple"]

PyTree = Context = KeyEntry = Any                          # for annotations, as in PyTorch
FlattenFunc = UnflattenFunc = Callable
KeyPath = tuple


class NodeDef(NamedTuple):
    """How a class is walked: ``flatten(x)`` is (children, context), ``unflatten(children, context)`` the inverse.

    ``keyed(x)`` is ([(key, child), ...], context), with a `MappingKey`, `SequenceKey` or `GetAttrKey` for each child.
    """

    flatten: Callable
    unflatten: Callable
    keyed: Callable | None = None


# ---- the way to a leaf -------------------------------------------------------------------------------------
class Key:
    """One step on the way from the root to a leaf; equal to others of its kind with the same value."""

    __slots__ = ("_value",)
    name_of_value = ""

    def __init_subclass__(cls):
        setattr(cls, cls.name_of_value, property(lambda self: self._value, doc="Where the step leads."))

    def __init__(self, value):
        self._value = value

    def __eq__(self, other):
        return self._value == other._value if type(other) is type(self) else NotImplemented

    def __hash__(self):
        return hash((type(self), self._value))

    def __repr__(self):
        return f"{type(self).__name__}({self.name_of_value}={self._value!r})"

    def __str__(self):
        return f"[{self._value!r}]"

    def get(self, obj):
        """The child of `obj` that the step leads to."""
        return obj[self._value]


class MappingKey(Key):
    """A step into a dict."""

    __slots__ = ()
    name_of_value = "key"


class SequenceKey(Key):
    """A step into a list, a tuple or a deque."""

    __slots__ = ()
    name_of_value = "idx"


class GetAttrKey(Key):
    """A step to an attribute: of a named tuple or a dataclass."""

    __slots__ = ()
    name_of_value = "name"

    def __str__(self):
        return f".{self._value}"

    def get(self, obj):
        return getattr(obj, self._value)


def keystr(kp):
    """The text of a path of keys, such as ``['a'][0].x``."""
    return "".join(map(str, kp))


def key_get(obj, kp):
    """The part of `obj` at the end of the path `kp`."""
    for key in kp:
        obj = key.get(obj)
    return obj


def by_index(x):
    return [(SequenceKey(i), child) for i, child in enumerate(x)], None


def by_key(x):
    return [(MappingKey(k), child) for k, child in x.items()], list(x)


# ---- the kinds of nodes ------------------------------------------------------------------------------------
SUPPORTED_NODES: dict[type, NodeDef] = {
    tuple: NodeDef(lambda x: (list(x), None), lambda children, _: tuple(children), by_index),
    list: NodeDef(lambda x: (list(x), None), lambda children, _: list(children), by_index),
    dict: NodeDef(lambda x: (list(x.values()), list(x)), lambda children, keys: dict(zip(keys, children)), by_key),
    OrderedDict: NodeDef(lambda x: (list(x.values()), list(x)), lambda children, keys: OrderedDict(zip(keys, children)),
                         by_key),
    defaultdict: NodeDef(lambda x: (list(x.values()), [x.default_factory, list(x)]),
                         lambda children, context: defaultdict(context[0], zip(context[1], children)), by_key),
    deque: NodeDef(lambda x: (list(x), x.maxlen), lambda children, maxlen: deque(children, maxlen), by_index),
    slice: NodeDef(lambda x: ([x.start, x.stop, x.step], None), lambda children, _: slice(*children),
                   lambda x: ([(GetAttrKey(k), getattr(x, k)) for k in ("start", "stop", "step")], None)),
}
NAMED_TUPLE = NodeDef(lambda x: (list(x), type(x)), lambda children, cls: cls(*children),
                      lambda x: ([(GetAttrKey(k), child) for k, child in zip(x._fields, x)], type(x)))
SUBCLASS_OF_SEQUENCE = NodeDef(lambda x: (list(x), type(x)), lambda children, cls: cls(children), by_index)
SUBCLASS_OF_DICT = NodeDef(lambda x: (list(x.values()), [type(x), list(x)]),
                           lambda children, context: context[0](zip(context[1], children)), by_key)
CONSTANTS: set[type] = set()
_dict_flatten, _dict_unflatten, _dict_flatten_with_keys = SUPPORTED_NODES[dict]
_list_flatten, _list_unflatten, _list_flatten_with_keys = SUPPORTED_NODES[list]


def register_pytree_node(cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None,
                         from_dumpable_context=None, flatten_with_keys_fn=None):
    """Make instances of `cls` nodes: ``flatten_fn(x)`` returns (children, context), ``unflatten_fn(children, context)``
    the object, ``flatten_with_keys_fn(x)``, which only functions with "path" in their names need, ([(key, child), ...],
    context). The other keyword arguments are accepted for PyTorch's sake. ValueError if `cls` is a node already."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(flatten_fn, unflatten_fn, flatten_with_keys_fn)


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Make instances of a dataclass nodes, whose children are the fields that are not None.

    `field_names`: the fields that ``cls(...)`` takes, needed if `cls` is not a dataclass;
    `drop_field_names`: fields that are left out. ValueError if they are not the fields, or `cls` is
    a node already.
    """
    dropped = set(drop_field_names or ())
    if dataclasses.is_dataclass(cls):
        fields = [f.name for f in dataclasses.fields(cls) if f.init]
        expected = set(fields) - dropped
        if field_names is not None and expected != set(field_names):
            text = "field_names does not include all dataclass fields.\n"
            if missing := expected - set(field_names):
                text += (f"Missing fields in `field_names`: {missing}. If you want to include these fields in the "
                         f"pytree, please add them to `field_names`, otherwise please add them to `drop_field_names`."
                         f"\n")
            if unexpected := set(field_names) - expected:
                text += (f"Unexpected fields in `field_names`: {unexpected}. Please remove these fields, or add them "
                         f"to `drop_field_names`.\n")
            raise ValueError(text)
        names = fields if field_names is None else list(field_names)
    elif field_names is None:
        raise ValueError(f"field_names must be specified with a list of all fields used to initialize {cls}, as it is "
                         f"not a dataclass.")
    else:
        names = list(field_names)

    def flatten(x):
        given = [k for k in names if getattr(x, k) is not None]
        return [getattr(x, k) for k in given], [given, [k for k in names if k not in given]]

    def unflatten(children, context):
        return cls(**dict(zip(context[0], children)), **dict.fromkeys(context[1]))

    def keyed(x):
        children, context = flatten(x)
        return [(GetAttrKey(k), child) for k, child in zip(context[0], children)], context

    register_pytree_node(cls, flatten, unflatten, flatten_with_keys_fn=keyed)


def _register_pytree_node(cls, flatten_fn, unflatten_fn, *args, **kwargs):
    """`register_pytree_node` by its older name; `args` are accepted."""
    register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs)


class ConstantNode(NamedTuple):
    """The context of a constant: the object itself."""

    value: Any


def register_constant(cls):
    """Make instances of `cls` nodes without leaves: they are part of the structure, and compared by ``==``.

    TypeError unless the class has an ``__eq__`` and a ``__hash__`` of its own.
    """
    for method, is_missing in (("__eq__", cls.__eq__ in (None, object.__eq__)), ("__hash__", cls.__hash__ is None)):
        if is_missing:
            raise TypeError(f"register_constant(cls) expects `cls` to have a non-default `{method}` implementation.")
    register_pytree_node(cls, lambda x: ([], ConstantNode(x)), lambda _, context: context.value,
                         flatten_with_keys_fn=lambda x: ([], ConstantNode(x)))
    CONSTANTS.add(cls)


def is_constant_class(cls):
    """True if `register_constant` was called with a class."""
    return isinstance(cls, type) and cls in CONSTANTS


def _deregister_pytree_node(cls):
    """Make instances of a class leaves again; KeyError if they are."""
    del SUPPORTED_NODES[cls]
    CONSTANTS.discard(cls)


def is_namedtuple_class(cls):
    """True if a class is a named tuple class."""
    return (isinstance(cls, type) and issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)
            and all(type(field) is str for field in cls._fields) and callable(getattr(cls, "_make", None))
            and callable(getattr(cls, "_asdict", None)))


def is_namedtuple_instance(obj):
    """True if an object is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj):
    """True if an object is a named tuple or a named tuple class."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def _get_node_type(tree):
    """The type under which the nodes of a container are registered: `namedtuple` for all named tuples."""
    return namedtuple if is_namedtuple_class(type(tree)) else type(tree)


def node_of(cls):
    """The `NodeDef` of a class; None for those of leaves."""
    node = SUPPORTED_NODES.get(cls)
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
        """True if this is the structure of a leaf."""
        return False

    def children(self):
        """The structures of the root's children."""
        return list(self.children_specs)

    def child(self, index):
        """The structure of one child."""
        return self.children_specs[index]

    def flatten_up_to(self, tree):
        """The parts of a larger pytree that stand where this structure has leaves; ValueError if it does not fit."""
        found = []
        leaf = object()
        here = self.unflatten([leaf] * self.num_leaves)
        tree_map(lambda _, part: found.append(part), here, tree, is_leaf=lambda x: x is leaf)
        return found

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
    """The children of `other` in the order of those of `tree`; ValueError if it is not a node of
    the same kind."""
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


def tree_map_(func, tree, *rests, is_leaf=None):
    """Call ``func`` as `tree_map` does, for its effects; returns `tree` itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def map_only(kind):
    """A decorator of functions of a leaf: other leaves than those of `kind` are returned as they are.

    `kind`: a class, a tuple of classes, or a predicate.
    """
    is_class = isinstance(kind, (type, tuple)) or hasattr(kind, "__args__")          # the last: ``int | float``
    if not is_class and not callable(kind):
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")
    wanted = (lambda x: isinstance(x, kind)) if is_class else kind
    return lambda func: lambda x: func(x) if wanted(x) else x


def tree_map_only(kind, func, tree, is_leaf=None):
    """`tree_map` for the leaves of `kind`, a class, a tuple of classes or a predicate; others stay."""
    return tree_map(map_only(kind)(func), tree, is_leaf=is_leaf)


def tree_map_only_(kind, func, tree, is_leaf=None):
    """`tree_map_` for the leaves of `kind`, a class, a tuple of classes or a predicate."""
    return tree_map_(map_only(kind)(func), tree, is_leaf=is_leaf)


# ---- questions ---------------------------------------------------------------------------------------------
def tree_is_leaf(tree, is_leaf=None):
    """True if a pytree is nothing but a leaf."""
    return node_of(type(tree)) is None or (is_leaf is not None and bool(is_leaf(tree)))


def tree_all(pred, tree, is_leaf=None):
    """True if ``pred(leaf)`` holds for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """True if ``pred(leaf)`` holds for any leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(kind, pred, tree, is_leaf=None):
    """True if ``pred(leaf)`` holds for all leaves that are instances of `kind`."""
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, kind))


def tree_any_only(kind, pred, tree, is_leaf=None):
    """True if ``pred(leaf)`` holds for any leaf that is an instance of `kind`."""
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, kind))


def arg_tree_leaves(*args, **kwargs):
    """The leaves of all arguments of a call."""
    return tree_leaves([*args, *kwargs.values()])


# ---- paths -------------------------------------------------------------------------------------------------
def tree_flatten_with_path(tree, is_leaf=None):
    """``([(path, leaf), ...], spec)``; a path is a tuple of keys, which `keystr` writes and `key_get` follows."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree, is_leaf=None):
    """The leaves of a pytree and the paths to them, as pairs; ValueError for a node registered without keys."""
    found = []

    def collect(path, x):
        node = None if is_leaf is not None and is_leaf(x) else node_of(type(x))
        if node is None:
            found.append((path, x))
            return
        if node.keyed is None:
            raise ValueError(f"Did not find a flatten_with_keys_fn for type: {type(x)}. Please pass a "
                             f"flatten_with_keys_fn argument to register_pytree_node.")
        for key, child in node.keyed(x)[0]:
            collect((*path, key), child)
    collect((), tree)
    return found


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """`tree_map` with ``func(path, leaf, *leaves of rests at the same place)``."""
    paths = iter(tree_leaves_with_path(tree, is_leaf))
    return tree_map(lambda *leaves: func(next(paths)[0], *leaves), tree, *rests, is_leaf=is_leaf)


# ---- structures --------------------------------------------------------------------------------------------
def treespec_leaf():
    """The structure of a leaf."""
    return _LEAF


def treespec_tuple(iterable=(), /):
    """The structure of a tuple, from those of its elements."""
    children = list(iterable)
    if not all(isinstance(child, TreeSpec) for child in children):
        raise ValueError(f"Expected a tuple of TreeSpec values, got: {children!r}.")
    return TreeSpec(tuple, None, children)


def treespec_dict(mapping=(), /, **kwargs):
    """The structure of a dict, from those of its values."""
    children = dict(mapping, **kwargs)
    if not all(isinstance(child, TreeSpec) for child in children.values()):
        raise ValueError(f"Expected a dictionary of TreeSpec values, got: {children!r}.")
    return TreeSpec(dict, list(children), list(children.values()))


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """One leaf of `tree`, whose structure may be a part of `treespec`, for each leaf of that; None if it does not fit.

    >>> _broadcast_to_and_flatten((0, None), tree_structure((1, [2, 3])))
    [0, None, None]
    """
    found = []
    whole = treespec.unflatten([0] * treespec.num_leaves)
    try:
        tree_map_(lambda x, part: found.extend([x] * len(tree_leaves(part, is_leaf))), tree, whole, is_leaf=is_leaf)
    except ValueError:
        return None
    return found
