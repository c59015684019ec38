"""Shapes at the edges of kernels: one element short of a block, views narrower than their
rows, more keys than one round of blocks sorts, more outputs than one tile, sizes past 2**16.
"""

import numpy as np
import pytest

from minitorch.backends.cuda.ops import sort
from minitorch.ops.nn.conv import Geometry
from tests.backends.cuda.kernel_checks import DTYPES, close, device, exact, launches, put, unit
from tests.backends.cuda.test_convolve import check as check_convolution
from tests.backends.cuda.test_convolve import tasks


def floats(seed, *shape):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype("f4")


@pytest.mark.parametrize("n", [2047, 2049])
def test_elementwise_next_to_whole_blocks(n):
    a, b = floats(0, n), floats(1, n)
    assert (device.to_host(put(a) + put(b)) == a + b).all()
    assert (device.to_host(put(a, "offset") * put(b)) == a * b).all()


def test_products_of_views_that_are_narrower_than_their_rows():
    a, b = floats(2, 33, 24), floats(3, 35, 24)
    found = device.to_host(put(a)[:, :20] @ put(b)[:, :20].T)
    wanted = exact(a)[:, :20] @ exact(b)[:, :20].T
    close(found, wanted, 21 * unit(a.dtype) * (abs(exact(a)[:, :20]) @ abs(exact(b)[:, :20].T)))


def test_more_keys_than_one_round_of_blocks_sorts():
    keys = np.random.default_rng(4).integers(0, 51, 143360).astype("uint32")
    found = [device.to_host(x) for x in sort.sorted_places(device, put(keys), 50)]
    order = np.argsort(keys, kind="stable")
    assert (found[0] == keys[order]).all() and (found[1] == order).all()


def test_a_strided_operand_of_many_elements():
    x = floats(5, 2**8, 2**9)
    view = put(x)[:, ::2]
    with launches() as names:
        found = device.to_host(view + view)
    assert names and (found == x[:, ::2] * 2).all()


def test_a_weight_gradient_of_several_tiles():
    case = 3, 8, 64, (19, 19), (3, 3), Geometry((1, 1), (1, 1), (1, 1), 1), DTYPES["f32"]
    check_convolution("convolution_backward_weight", *tasks(*case)["convolution_backward_weight"])
