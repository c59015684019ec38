"""Shapes at which planted bugs showed that no other test of the kernels noticed: one element short of a block, views
narrower than their rows, more keys than one round of blocks sorts, more outputs than one tile, sizes past 2**16, sums
beside products."""

import numpy as np
import pytest
from kernel_checks import DTYPES, close, device, exact, launches, put, unit
from test_cuda_convolve import check as check_convolution
from test_cuda_convolve import tasks

from minitorch.backends.cuda.ops import product, sort
from minitorch.ops.nn.conv import Geometry


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


@pytest.mark.parametrize(("depth", "names"), [(24, ["matmul_simt"]), (1041, ["matmul_simt", "combine"])])
def test_products_that_sum_up_rows_too(depth, names):
    """For several tiles of columns, of which one sums up; the depth as it is, and cut into pieces."""
    a, b = floats(6, 35, depth), floats(7, depth, 70)
    with launches() as launched:
        found = [device.to_host(x) for x in product.product_and_sums(device, put(a), put(b))]
    assert launched == names
    bound = (depth + 1) * unit(a.dtype)
    close(found[0], exact(a) @ exact(b), bound * (abs(exact(a)) @ abs(exact(b))))
    close(found[1], exact(a).sum(1), bound * abs(exact(a)).sum(1))


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
