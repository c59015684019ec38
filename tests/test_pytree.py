"""Pytrees: taken apart, put together and mapped as by ``torch.utils._pytree``."""

from collections import OrderedDict, defaultdict, deque, namedtuple

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
