"""Dropout at the edges of its blocks: whole ones, rests, views that no vector fits, with the words that decide."""

import numpy as np
import pytest

from minitorch.random.philox import PhiloxGenerator, words
from tests.backends.cuda.kernel_checks import DTYPES, device, put

BLOCK = 256 * 64                                           # bytes, as in random.cu


def dropped(x, p, layout="dense"):
    generator = PhiloxGenerator(device.device).manual_seed(11)
    return device.to_host(device.kernels["dropout"](device, put(x, layout), place=generator.take(), p=p))


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f64"])
def test_edges_of_blocks(dtype):
    most = BLOCK // DTYPES[dtype].itemsize
    for n, layout in ((most + 5, "dense"), (most, "dense"), (37, "offset"), (1, "dense")):
        x = np.random.default_rng(n).normal(size=n).astype(DTYPES[dtype])
        x[0] = np.inf
        kept = words(11, 0, n)[:n] >= 2**30
        wanted = np.where(kept, x.astype("f8") * np.float32(1 / 0.75), 0).astype(DTYPES[dtype])
        found = dropped(x, 0.25, layout)
        if dtype == "f64":
            np.testing.assert_allclose(found, wanted, rtol=2e-7)
        else:
            np.testing.assert_array_equal(found.astype("f4"), wanted.astype("f4"))


def test_nothing_dropped_and_nothing_there():
    x = np.array([1.0, np.nan, -np.inf], "f4")
    np.testing.assert_array_equal(dropped(x, 0.0), x)
    assert dropped(np.ones((0, 3), "f4"), 0.5).shape == (0, 3)
