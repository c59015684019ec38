"""A node: one call in the list of a graph, its arguments, and the nodes that use it."""

import builtins
import collections.abc
import functools
import operator
import types
import typing

from .. import Tensor, device, dtype, layout, memory_format
from ..extend import FUNCTIONS
from .immutable_collections import immutable_dict, immutable_list

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

OPS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")
BASE_TYPES = (str, int, float, complex, dtype, device, memory_format, layout, type(...))

# Types for annotations: what a node calls, and what it may be given.
Target = collections.abc.Callable[..., typing.Any] | str
BaseArgumentTypes = typing.Union[str, int, float, bool, complex, dtype, Tensor, device, memory_format, layout]
Argument = typing.Union[tuple["Argument", ...], collections.abc.Sequence["Argument"],
                        collections.abc.Mapping[str, "Argument"], slice, range, "Node", BaseArgumentTypes, None]

# Functions that are called for what they do: dead code is theirs only if nobody says so here.
side_effects = {operator.setitem, operator.delitem}


def has_side_effect(fn):
    """Keep calls of `fn` whose results nobody uses; returns `fn`, so that it serves as a decorator."""
    side_effects.add(fn)
    return fn


# ------------------------------------------------------------------ nested arguments
def map_aggregate(a, fn):
    """`a` with ``fn(leaf)`` in the place of each leaf; tuples (named ones too), lists, dicts and slices are nested, and
    lists and dicts come back immutable."""
    if isinstance(a, tuple):
        mapped = [map_aggregate(x, fn) for x in a]
        return type(a)(*mapped) if hasattr(a, "_fields") else tuple(mapped)
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict({k: map_aggregate(v, fn) for k, v in a.items()})
    if isinstance(a, slice):
        return slice(*[map_aggregate(x, fn) for x in (a.start, a.stop, a.step)])
    return fn(a)


def map_arg(a, fn):
    """`map_aggregate` that calls `fn` for nodes only. AssertionError if `fn` is not a function."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


# ------------------------------------------------------------------ names of targets
def public_name(function):
    """The name of a public function, such as ``torch.nn.functional.relu``; None for others."""
    return public_names(len(FUNCTIONS)).get(id(function), (None,))[0]


@functools.cache
def public_names(count):
    """{id of a public function: its name, and it}, for all `count`; of several names its own, and of these the one in
    ``torch``."""
    names = sorted(FUNCTIONS.items(), key=lambda item: (item[0][1] == item[1].call.__name__, not item[0][0]))
    return {id(public.call): (".".join(filter(None, ("torch", *key))), public.call) for key, public in names}


def qualified_name(function):
    """The name that code needs for `function`; PyTorch's for those of this package: ``torch.relu``."""
    if getattr(builtins, getattr(function, "__name__", ""), None) is function:
        return function.__name__
    found = public_name(function)
    if found is not None:
        return found
    name = getattr(function, "__qualname__", None) or function.__name__
    if "<lambda>" in name:
        raise RuntimeError(f"a lambda has no name that code could call it by: {function}; define it with def")
    module = "operator" if function.__module__ == "_operator" else function.__module__
    if module == "minitorch" or module.startswith("minitorch."):
        module = "torch" + module[len("minitorch"):]
    return f"{module}.{name}"


def short_name(function):
    """The name that nodes are named after: with the namespace before it where PyTorch's functions are called so."""
    found = (public_name(function) or "").split(".")
    return "_".join(found[1:]) if found[1:2] and found[1] in ("fft", "linalg", "special") else function.__name__


def type_repr(kind):
    """A type as annotations of generated code spell it."""
    if isinstance(kind, type) and not isinstance(kind, types.GenericAlias):
        module = kind.__module__
        if module == "builtins":
            return kind.__qualname__
        if module == "minitorch" or module.startswith("minitorch."):
            module = "torch" + module[len("minitorch"):]
        return f"{module}.{kind.__qualname__}"
    if kind is ...:
        return "..."
    if isinstance(kind, types.FunctionType):
        return kind.__name__
    origin = typing.get_origin(kind)
    if origin is None:
        return repr(kind)
    name = getattr(kind, "_name", None) or getattr(origin, "__name__", str(origin))
    prefix = "typing." if type(kind).__module__ == "typing" else ""
    return f"{prefix}{name}[{', '.join(type_repr(a) for a in typing.get_args(kind))}]"


def shown(a):
    """An argument as a node's line shows it: nodes with a percent sign, texts without quotes."""
    if isinstance(a, Node):
        return f"%{a.name}"
    if isinstance(a, list):
        return "[" + ", ".join(map(shown, a)) + "]"
    if isinstance(a, tuple):
        return "(" + ", ".join(map(shown, a)) + ("," if len(a) == 1 else "") + ")"
    if isinstance(a, dict):
        return "{" + ", ".join(f"{k}: {shown(v)}" for k, v in a.items()) + "}"
    return str(a)


# ------------------------------------------------------------------ the node
class Node:
    """One step of a `Graph`. Graphs make nodes; do not call this class.

    `op` says what kind of step it is, `target` what it is about:
      placeholder    a parameter of the function: `target` is its name, ``args[0]`` its default, if there is one;
      get_attr       a value of the module: `target` is its qualified name;
      call_function  ``target(*args, **kwargs)``;
      call_module    the submodule named `target`, called;
      call_method    the method `target` of ``args[0]``;
      output         the result, ``args[0]``.
    `users` are the nodes with this one among their arguments, in the order of their making; `meta` is for passes.
    """

    def __init__(self, graph, name, op, target, args, kwargs, return_type=None):
        if op not in OPS:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        if op == "call_function" and not callable(target):
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                             f"{type(target).__name__} but a Callable is expected")
        if op != "call_function" and not isinstance(target, str):
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                             f"{type(target).__name__} but a str is expected")
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.users, self.meta, self._inputs = {}, {}, {}
        self._args, self._kwargs = (), immutable_dict()
        self._prev = self._next = self
        self._erased = False
        self._set(args, kwargs)

    # -- arguments ---------------------------------------------------------------------------------------------
    @property
    def args(self):
        """The positional arguments, a tuple; lists and dicts in it are immutable. Assign to change them."""
        return self._args

    @args.setter
    def args(self, args):
        self._set(args, self._kwargs)

    @property
    def kwargs(self):
        """The arguments by name, an immutable dict. Assign to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs):
        self._set(self._args, kwargs)

    def _set(self, args, kwargs):
        """Take new arguments, and count this node among the users of the nodes in them, no longer of others."""
        for node in self._inputs:
            node.users.pop(self, None)
        self._inputs = {}

        def use(node):
            self._inputs[node] = node.users[self] = None
            return node
        self._args, self._kwargs = map_arg(tuple(args), use), map_arg(dict(kwargs), use)

    @property
    def all_input_nodes(self):
        """The nodes among the arguments, each once."""
        return list(self._inputs)

    def update_arg(self, idx, arg):
        """Replace positional argument `idx`."""
        args = list(self.args)
        args[idx] = arg
        self.args = args

    def insert_arg(self, idx, arg):
        """Put `arg` in front of positional argument `idx`. AssertionError outside of 0 ... ``len(args)``."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key, arg):
        """Set the argument named `key`."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input, new_input):
        """Use `new_input` wherever the arguments have `old_input`."""
        def other(node):
            return new_input if node is old_input else node
        self._set(map_arg(self._args, other), map_arg(self._kwargs, other))

    def replace_all_uses_with(self, replace_with, delete_user_cb=lambda user: True, *, propagate_meta=False):
        """Let all users that `delete_user_cb` agrees to use `replace_with` instead of this node; returns them.

        `propagate_meta` copies this node's meta to `replace_with`, whose own must be empty (else AssertionError).
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError("Called node.replace_all_uses_with(replace_with, propagate_meta=True), but "
                                     "replace_with already has .meta keys")
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    # -- place in the graph ------------------------------------------------------------------------------------
    @property
    def next(self):
        """The node after this one; that of the last is the graph's root."""
        return self._next

    @property
    def prev(self):
        """The node before this one; that of the first is the graph's root."""
        return self._prev

    def prepend(self, x):
        """Put or move `x` in front of this node. AssertionError for a node of another graph."""
        if x.graph is not self.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x):
        """Put or move `x` behind this node."""
        self._next.prepend(x)

    def _unlink(self):
        self._prev._next, self._next._prev = self._next, self._prev

    # -- questions ---------------------------------------------------------------------------------------------
    def is_impure(self, impure_random=True):
        """True if a call does something beside its result: parameters and results of the program,
        assertions, writes in place, ``out=``, functions given to `has_side_effect`, modules with a
        true attribute ``_is_impure``.

        Random functions too, if `impure_random`: without them, later ones draw other numbers.
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.kwargs.get("inplace") is True or self.kwargs.get("out") is not None:
            return True
        if self.op == "call_method":
            return writes_in_place(self.target)
        if self.op == "call_function":
            name = getattr(self.target, "__name__", "")
            return (self.target in side_effects or name in ("_assert", "_assert_is_none", "assert_as_tensor")
                    or writes_in_place(name) or (impure_random and name in RANDOM))
        if self.op == "call_module":
            module = self.graph.owning_module.get_submodule(self.target)
            return bool(getattr(module, "_is_impure", False) or getattr(module, "inplace", False))
        return False

    @property
    def stack_trace(self):
        """The place of the call in the traced program, if the tracer records it (`record_stack_traces`), or None."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace):
        self.meta["stack_trace"] = trace

    def format_node(self, placeholder_names=None, maybe_return_typename=None):
        """A line about the node. Given the lists, names of placeholders and the result's type are put into these, and
        the node of a placeholder gets no line (None)."""
        count = f"[num_users={len(self.users)}]"
        if self.op == "placeholder":
            kind = f"{type_repr(self.type)} " if self.type else ""
            if placeholder_names is not None:
                placeholder_names.append(self.target + (f" : {kind.strip()}" if kind else ""))
            default = f"(default={self.args[0]})" if self.args else ""
            return f"%{self.name} : {kind}{count} = placeholder[target={self.target}]{default}"
        kind = f"{type_repr(self.type)} " if self.type else ""
        if self.op == "get_attr":
            return f"%{self.name} : {kind}{count} = get_attr[target={self.target}]"
        if self.op == "output":
            if self.type and maybe_return_typename is not None:
                maybe_return_typename.append(f" -> {type_repr(self.type)}")
            return f"return {self.args[0]}"
        return (f"%{self.name} : {kind}{count} = {self.op}[target={self.shown_target()}]"
                f"(args = {shown(self.args)}, kwargs = {shown(self.kwargs)})")

    def shown_target(self):
        if isinstance(self.target, str):
            return self.target
        name = qualified_name(self.target)
        return name if "." in name else f"builtins.{name}"

    def __repr__(self):
        return self.name

    # Sets and dicts of nodes go by identity; a copy is made by `Graph.node_copy`, which knows the graph.
    def __deepcopy__(self, memo):
        raise TypeError("a node belongs to its graph: copy the graph, or use Graph.node_copy")


def writes_in_place(name):
    """True if a function or method of that name writes to its first argument: ``add_``, but not
    ``__add__``."""
    return name.endswith("_") and not name.endswith("__") or name in ("__setitem__", "__delitem__")


RANDOM = frozenset({"rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "bernoulli",
                    "multinomial", "normal", "poisson", "binomial", "dropout", "alpha_dropout", "feature_alpha_dropout",
                    "dropout1d", "dropout2d", "dropout3d", "rrelu", "gumbel_softmax"})
