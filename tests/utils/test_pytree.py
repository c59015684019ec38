"""Pytrees: taken apart, put together and mapped as by ``torch.utils._pytree``."""

from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass

import pytest

from minitorch.utils import _pytree as ours

Point = namedtuple("Point", "x y")
TREES = [1, None, "abc", (), [], {}, (1,), [1, [2, (3, None)]], {"b": 1, "a": [2, {"c": ()}]}, Point(1, [2]),
         OrderedDict(z=1, a=(2, 3)), defaultdict(list, {"k": [1, 2]}), deque([1, (2,)], 3),
         {1: {2: {3: 4}}, "q": (Point(5, 6),)}]


def libraries():
    yield ours
    try:
        import torch.utils._pytree as theirs
    except ImportError:
        return
    yield theirs


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_there_and_back_as_in_pytorch(tree):
    found = []
    for tool in libraries():
        leaves, spec = tool.tree_flatten(tree)
        back = tool.tree_unflatten(leaves, spec)
        assert back == tree and type(back) is type(tree)
        assert leaves == tool.tree_leaves(tree) == list(tool.tree_iter(tree))
        assert spec == tool.tree_structure(tree) and hash(spec) == hash(tool.tree_structure(tree))
        mapped = tool.tree_map(lambda x: (x, 0), tree)
        assert tool.tree_leaves(mapped, is_leaf=lambda x: isinstance(x, tuple) and x[1:] == (0,)) == [
            (x, 0) for x in leaves]
        whole = tool.tree_leaves(tree, is_leaf=lambda x: isinstance(x, (list, Point)))
        found.append((leaves, "Point" in str(tree) or repr(spec), spec.num_leaves, spec.num_nodes, spec.num_children,
                      mapped, whole, tool.tree_map_only(int, lambda x: -x, tree),
                      tool.tree_map(lambda x, y: (x, y), tree, mapped)))
    assert all(other == found[0] for other in found)


def test_structures_that_do_not_fit():
    short = deque([1], 2)
    for tool in libraries():
        for tree, other in (([1, 2], [3]), ([1, 2], (3, 4)), ({"a": 1}, {"b": 1}), ([1], 1)):
            with pytest.raises(ValueError):
                tool.tree_map(lambda x, y: x, tree, other)
        assert tool.tree_map(lambda x, y: x + y, short, deque([2])).maxlen == 2
        with pytest.raises(ValueError, match="holds 2 items"):
            tool.tree_unflatten([1], tool.tree_flatten([1, 2])[1])
        assert tool.tree_map(lambda a, b: (a, b), {"a": 1, "b": 2}, OrderedDict(b=4, a=3)) == {"a": (1, 3), "b": (2, 4)}


def test_classes_of_ones_own():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    for tool in libraries():
        assert len(tool.tree_leaves(Pair(1, 2))) == 1
        tool.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda children, _: Pair(*children))
        assert tool.tree_leaves([Pair(1, (2,)), 3]) == [1, 2, 3]
        assert tool.tree_map(lambda x: 2 * x, Pair(1, (2,))).b == (4,)
        with pytest.raises(ValueError, match="already registered"):
            tool.register_pytree_node(Pair, None, None)


def test_nodes_beyond_pytorch():
    class Mine(list):
        pass

    doubled = ours.tree_map(lambda x: 2 * x, Mine([1, slice(1, 2, 3)]))
    assert type(doubled) is Mine and doubled == [2, slice(2, 4, 6)]
    leaves, spec = ours.tree_flatten({"k": Mine([1, 2])})
    assert leaves == [1, 2] and type(ours.tree_unflatten(leaves, spec)["k"]) is Mine


# ------------------------------------------------------------------ paths, constants, dataclasses, prefixes
def test_paths_as_in_pytorch():
    for tree in TREES:
        found = []
        for tool in libraries():
            pairs, spec = tool.tree_flatten_with_path(tree)
            assert spec == tool.tree_structure(tree) and pairs == tool.tree_leaves_with_path(tree)
            assert all(tool.key_get(tree, path) is leaf for path, leaf in pairs)
            named = tool.tree_map_with_path(lambda path, x, y, tool=tool: (tool.keystr(path), x, y), tree, tree)
            found.append(([(tool.keystr(path), str(path), leaf) for path, leaf in pairs], named))
        assert all(other == found[0] for other in found), tree


def test_questions_and_effects_as_in_pytorch():
    tree = {"a": [1, 2.5], "b": (None, "x")}
    found = []
    for tool in libraries():
        seen = []
        assert tool.tree_map_(seen.append, tree) is tree
        assert tool.tree_map_only_(int, seen.append, tree) is tree
        found.append((
            seen, tool.tree_all(lambda x: x is not None, tree), tool.tree_any(lambda x: x is None, tree),
            tool.tree_all_only(int, lambda x: x == 1, tree), tool.tree_any_only((int, float), lambda x: x > 2, tree),
            tool.tree_map_only((int, float), lambda x: -x, tree), tool.tree_is_leaf(None), tool.tree_is_leaf([1]),
            tool.tree_map_only(lambda x: x is None, lambda _: 0, tree), tool.tree_is_leaf([1], lambda x: True),
            tool.arg_tree_leaves(1, [2], k=(3,)), tool.is_namedtuple(Point), tool.is_namedtuple_instance(Point(1, 2)),
            tool.is_namedtuple_class(tuple)))
        with pytest.raises(TypeError, match="must be a type"):
            tool.map_only(3)
    assert all(other == found[0] for other in found)


def test_prefixes_as_in_pytorch():
    cases = [(0, [1, {"a": 2}]), ((0, None), (1, [2, 3])), ([0], (1,)), ({"a": 1}, {"a": (1, 2)}), ((0, 1), (1,)),
             ((0, {"x": 1}), (5, {"x": [6, 7]})), ({"a": 1}, {"b": 1})]
    for prefix, tree in cases:
        assert len({str(tool._broadcast_to_and_flatten(prefix, tool.tree_structure(tree)))
                    for tool in libraries()}) == 1
    for tool in libraries():
        assert tool.tree_structure((1, [2])).flatten_up_to(((3, 4), [None])) == [(3, 4), None]
        with pytest.raises(ValueError):
            tool.tree_structure((1, [2])).flatten_up_to((3, 4))
        leaf = tool.treespec_leaf()
        assert tool.treespec_tuple([leaf, leaf]) == tool.tree_structure((1, 2))
        assert tool.treespec_dict({"a": leaf}, b=leaf) == tool.tree_structure({"a": 1, "b": 2})
        assert tool.tree_structure((1, 2)).child(0).is_leaf() and len(tool.tree_structure((1, 2)).children()) == 2
        with pytest.raises(ValueError):
            tool.treespec_tuple([3])
        with pytest.raises(ValueError):
            tool.treespec_dict({"a": 3})


def test_dataclasses_and_constants():
    @dataclass
    class Layer:
        weight: object
        bias: object = None
        kind: str = "a"

    @dataclass(frozen=True)
    class Config:
        name: str

    class Plain:
        def __init__(self, x):
            self.x = x

    for tool in libraries():
        tool.register_dataclass(Layer, field_names=["weight", "bias"], drop_field_names=["kind"])
        tool.register_dataclass(Plain, field_names=["x"])
        tool.register_constant(Config)
        tree = [Layer(1, (2, 3)), Layer(4), Config("c"), Plain([5])]
        leaves, spec = tool.tree_flatten(tree)
        assert leaves == [1, 2, 3, 4, 5] and spec == tool.tree_structure(tool.tree_map(lambda x: -x, tree))
        assert tool.tree_map(lambda x: x + 1, tree)[:3] == [Layer(2, (3, 4)), Layer(5), Config("c")]
        assert spec != tool.tree_structure([Layer(1, (2, 3)), Layer(4), Config("d"), Plain([5])])
        assert [tool.keystr(path) for path, _ in tool.tree_leaves_with_path(tree)] == [
            "[0].weight", "[0].bias[0]", "[0].bias[1]", "[1].weight", "[3].x[0]"]
        with pytest.raises(ValueError, match="Missing fields"):
            tool.register_dataclass(dataclass(type("Other", (), {"__annotations__": {"a": int}})), field_names=[])
        with pytest.raises(ValueError, match="field_names must be specified"):
            tool.register_dataclass(type("Bare", (), {}))
        with pytest.raises(TypeError, match="non-default `__eq__`"):
            tool.register_constant(type("Bare", (), {}))
    for cls in (Layer, Plain, Config):
        ours._deregister_pytree_node(cls)
    assert ours.tree_is_leaf(Config("c"))
