"""Lists and dicts that refuse to be changed: the arguments of nodes, whose users are counted when they are set."""

from ..utils import _pytree

__all__ = ["immutable_dict", "immutable_list"]


def refuse(self, *args, **kwargs):
    """TypeError: a change would pass by the nodes' count of users."""
    raise TypeError(f"{type(self).__name__!r} object does not support mutation. If you are attempting to modify the "
                    f"kwargs or args of a torch.fx.Node object,\ninstead create a new copy of it and assign the copy "
                    f"to the node:\n    new_args = ...  # copy and mutate args\n    node.args = new_args")


def frozen(name, kind, writes):
    """A subclass of list or dict that refuses its methods `writes`; hashable, pickled by its content."""
    methods = dict.fromkeys(writes, refuse)
    return type(name, (kind,), {**methods, "__reduce__": lambda self: (type(self), (kind(self),)),
                                "__module__": __name__})


immutable_list = frozen("immutable_list", list, (
    "__delitem__", "__iadd__", "__imul__", "__setitem__", "append", "clear", "extend", "insert", "pop", "remove",
    "reverse", "sort"))
immutable_list.__hash__ = lambda self: hash(tuple(self))
immutable_dict = frozen("immutable_dict", dict, (
    "__delitem__", "__ior__", "__setitem__", "clear", "pop", "popitem", "setdefault", "update"))
immutable_dict.__hash__ = lambda self: hash(frozenset(self.items()))

_pytree.register_pytree_node(immutable_list, lambda x: (list(x), None), lambda values, _: immutable_list(values))
_pytree.register_pytree_node(immutable_dict, lambda x: (list(x.values()), list(x)),
                             lambda values, keys: immutable_dict(zip(keys, values)))
