"""How ops are computed on a batch: the ways that follow from their index notation, chosen once."""

import inspect
import re
from pathlib import Path

import pytest

import minitorch as torch
from minitorch.backends.batched import rules, ways
from minitorch.backends.batched.backend import rule
from minitorch.core.registry import OPS
from minitorch.func import vmap
from minitorch.ops.labels import bind

F = torch.nn.functional


def way_of(name, shapes, **attrs):
    """The name of the way of a call whose inputs have values of these shapes."""
    found = ways.way_of(OPS[name], name, shapes, attrs)
    return None if found is None else found.__qualname__.partition(".")[0]


@pytest.mark.parametrize("name, shapes, attrs, expected", [
    ("cat", [(3, 2, 2), (1, 2, 2)], dict(dim=1), "lead"),
    ("gather", [(3, 2, 2), (1, 2, 2)], dict(dim=-1), "lead"),
    ("matmul", [(3, 2, 4), (3, 4, 5)], {}, "contract"),
    ("matmul", [(3, 6, 2, 4), (1, 6, 4, 5)], {}, "lead"),
    ("bmm", [(3, 6, 2, 4), (3, 6, 4, 5)], {}, "contract"),
    ("addmm", [(3, 5), (3, 2, 4), (3, 4, 5)], dict(beta=1, alpha=1), "add"),
    ("addmm", [(3, 5), (3, 2, 4), (3, 4, 5)], dict(beta=2, alpha=1), None),
    ("matmul", [(3, 2, 4), (1, 4, 5)], {}, "joined_with"),
    ("matmul", [(1, 2, 4), (3, 4)], {}, "contract"),
    ("mm", [(3, 2, 4), (3, 4, 5)], {}, "contract"),
    ("linear", [(3, 2, 4), (3, 5, 4), (3, 5)], {}, "add"),
    ("linear", [(1, 2, 4), (1, 5, 4), (3, 5)], {}, "add"),
    ("mse_loss", [(3, 2), (1, 2)], dict(reduction="mean"), "combine"),
    ("batch_norm_inference", [(1, 2, 4), (3, 4), None, (1, 4), (1, 4)], {}, "joined_with"),
    ("fft_complex", [(1, 4)], dict(dims=(0,), norm=None, inverse=False), "lead"),
    ("index_select", [(3, 2, 4), (3, 2)], dict(dim=0), None),            # no letter in both
    ("layer_norm", [(3, 2, 4), (3, 4), None], dict(dims=(1,), eps=0.1, centred=True), None),
    ("mm", [(3, 2, 4), (3, 5, 6)], {}, None),              # shapes that do not fit
])
def test_ways_follow_from_labels(name, shapes, attrs, expected):
    assert way_of(name, shapes, **attrs) == expected


def test_choice_is_made_once_for_shapes_and_attributes(monkeypatch):
    seen = []
    monkeypatch.setattr(ways, "bind", lambda op, *args: seen.append(op.name) or bind(op, *args))
    f = vmap(lambda x, k: x.softmax(0).roll(k, 0), (0, None))
    x = torch.randn(3, 7, 2)
    for _ in range(3):
        f(x, 2)
    assert seen == ["roll"]
    f(x, 1)
    f(torch.randn(4, 7, 2), 1)
    assert seen == ["roll"] * 3


def test_an_index_of_a_batch_is_not_kept():
    found = vmap(lambda x, i: x[i])(torch.arange(12.0).reshape(3, 4), torch.tensor([[0, 1], [3, 2], [0, 0]]))
    assert found.tolist() == [[0, 1], [7, 6], [8, 8]]
    assert ways.has_arrays(dict(index=(vmap_array(),))) and not ways.has_arrays(dict(index=(1,), dim=0))


def vmap_array():
    held = []
    vmap(lambda x: (held.append(x.array), x)[1])(torch.ones(2))
    return held[0]


@pytest.mark.parametrize("call, words", [
    (lambda x: torch.mm(x, x), r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"),
    (lambda x: torch.cat([x, x[0]]), "Tensors must have same number of dimensions: got 2 and 1"),
    (lambda x: x.flip(2), r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)"),
    (lambda x: F.cross_entropy(x, torch.tensor([0, 5])), "Target 5 is out of bounds"),
])
def test_errors_are_those_of_one_element(call, words):
    """Their words are about the shapes that the function sees."""
    with pytest.raises((RuntimeError, IndexError), match=words):
        call(torch.ones(2, 3))
    with pytest.raises((RuntimeError, IndexError), match=words):
        vmap(call)(torch.ones(4, 2, 3))


def test_rules_by_hand_say_why():
    texts = [path.read_text() for path in Path(rules.__file__).parent.glob("*.py")]
    reasons = sum([len(re.findall(r"^# (?:Values|Speed): .*\n(?:# .*\n)*(?:@rule|by_groups)", text, re.M))
                   for text in texts])
    assert reasons == len(rule.found) == 8
    for name, function in rule.found.items():
        assert OPS[name].dims is not None, name            # where it says nothing, the reference is the rule
        assert inspect.getmodule(function).__name__.startswith(rules.__name__)
