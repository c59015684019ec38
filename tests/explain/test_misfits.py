"""Errors of calls whose sizes do not go together: they say which input to give which shape.

Every definition with two tensors or more is called with inputs that fit, but for one size.
"""

import os
import random
import re

import numpy as np
import pytest

import minitorch as torch
from minitorch.core.registry import OPS
from minitorch.testing.strategies import Draw

F = torch.nn.functional
ROWS = [row for row in OPS.values() if row.variadic or len(row.inputs) > 1]
each_op = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
# NumPy's words, about arrays that the caller never wrote.
RAW = re.compile(r"operands could not|objects cannot|core dimension|output operand|reshape array|"
                 r"broadcast input array|remapp|to unpack \(|input operand|array dimensions|index notation")
SIZES = re.compile(r"\((\d+)\)[^()]* must (?:match|be)[^()]*\((\d+)\)|(\d+), must be [^,]*, (\d+)")
WAY = re.compile(r"(\w+)(?:\[(\d+)\])? of shape \[([\d, ]*)\]")
# Ops that need more than their index notation says, so that the shape named may not be enough.
MORE = {
    **dict.fromkeys(("convolution", "convolution_backward_input", "group_norm"),
                    "sizes that are multiples of an attribute"),
    **dict.fromkeys(("rnn_layer", "rnn_layer_backward"), "weights that are multiples of the state"),
    "nll_loss_backward": "an attribute has the same sizes",
    "masked_scatter": "as many elements as places", "solve": "a matrix that is not singular",
}
COUNT = int(os.environ.get("MINITORCH_MISFITS", 6))


def call(row, arrays, attrs):
    given = [torch.from_numpy(np.array(x)) if isinstance(x, np.ndarray) else x for x in arrays]
    return row.call(given, **attrs) if row.variadic else row.call(*given, **attrs)


def resized(x, shape):
    return np.resize(x, shape) if x.size else np.zeros(shape, x.dtype)


def wrong_calls(row, count):
    """Calls of the op that it refuses, with one size changed: (arrays, attributes, input, error)."""
    for seed in range(count):
        r = random.Random(f"{row.name} {seed}")
        arrays, attrs = Draw(r).op_sample(row)
        places = [(i, d) for i, x in enumerate(arrays) for d in range(np.ndim(x))]
        if not places or sum([isinstance(x, np.ndarray) for x in arrays]) < 2:
            continue
        i, d = r.choice(places)
        shape = list(arrays[i].shape)
        shape[d] = r.choice([n for n in range(2, 7) if n != shape[d]])
        arrays = [*arrays[:i], resized(arrays[i], shape), *arrays[i + 1:]]
        try:
            call(row, arrays, attrs)
        except Exception as error:
            yield arrays, attrs, i, error


def ways(row, text):
    """The (position, shape) pairs with which the call fits, as the text says."""
    names = [x.name for x in row.inputs]
    for name, index, shape in WAY.findall(text.partition("It fits with")[2]):
        yield int(index or names.index(name)), tuple(map(int, re.findall(r"\d+", shape)))


@each_op
def test_a_wrong_size_is_found_where_it_is(row):
    for arrays, attrs, changed, error in wrong_calls(row, COUNT):
        text = str(error)
        assert not RAW.search(text), text
        for found in SIZES.findall(text):
            first, second = [n for n in found if n]
            assert first != second, text
        named = dict(ways(row, text))
        assert not named or changed in named, text
        for i, shape in named.items() if row.name not in MORE else ():
            mended = [*arrays[:i], resized(arrays[i], shape), *arrays[i + 1:]]
            try:
                call(row, mended, attrs)
            except IndexError as other:                    # an index that the sample means for other sizes
                assert "out of bounds" in str(other), text


r = torch.randn


@pytest.mark.parametrize("function, wrong, words", [
    (lambda b: F.linear(r(2, 3), r(4, 3), b), (5,), "weight .4. .* bias .5.*bias of shape .4."),
    (lambda b: torch.addmm(b, r(2, 3), r(3, 4)), (5,), "a is input, b is mat2"),
    (lambda b: torch.baddbmm(b, r(2, 7, 3), r(2, 3, 5)), (2, 7, 4), "input must broadcast"),
    (lambda b: torch.where(r(2, 3) > 0, r(2, 3), b), (2, 4), "In where.* b is other.*other of"),
    (lambda b: torch.clamp(r(2, 3), r(2, 3), b), (2, 4), "b is max. It fits with max of"),
    (lambda b: torch.lerp(r(2, 3), r(2, 3), b), (2, 4), "b is weight"),
    (lambda b: torch.addcmul(r(2, 3), r(2, 3), b), (2, 4), "tensor2 of shape .2, 3."),
    (lambda b: torch.addcdiv(r(2, 3), r(2, 3), b), (2, 4), "tensor2 of shape .2, 3."),
    (lambda b: torch.cross(r(2, 3), b), (4, 3), "must match the size of tensor b .4."),
    (lambda b: F.bilinear(r(2, 3), r(2, 4), b), (5, 3, 5), "weight must be"),
    (lambda b: F.layer_norm(r(2, 3), (3,), r(3), b), (4,), "Expected bias to be"),
    (lambda b: F.batch_norm(r(2, 4), r(4), b), (5,), "running_var should"),
    (lambda b: F.conv2d(r(1, 3, 8, 8), r(4, 3, 3, 3), b), (5,), "expected bias"),
    (lambda b: F.binary_cross_entropy(torch.rand(2, 3), torch.rand(2, 3), b), (5,), "weight must"),
    (lambda b: F.cross_entropy(r(2, 3), torch.tensor([0, 1]), b), (4,), "weight tensor should"),
    (lambda b: F.triplet_margin_loss(r(2, 3), r(2, 3), b), (2, 4), "a is anchor, b is negative"),
    (lambda b: F.scaled_dot_product_attention(*r(3, 2, 4, 5), b), (4, 7), "attn_mask of shape"),
])
def test_operands_have_the_names_that_the_caller_gave_them(function, wrong, words):
    with pytest.raises(RuntimeError) as raised:
        function(r(wrong))
    assert re.search(words, str(raised.value), re.DOTALL) and not RAW.search(str(raised.value))
