"""Every hand-written kernel of a backend against the op's reference forward pass."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitorch.backends.cpu.backend import cpu
from minitorch.core.registry import OPS
from minitorch.testing.strategies import Draw

SPECIAL = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan]

WINDOWED = ["convolution", "convolution_input", "convolution_weight", "max_pool", "max_pool_backward",
            "max_pool_indices", "avg_pool", "avg_pool_backward", "take_places", "add_places", "resample",
            "resample_backward"]


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    np.testing.assert_array_equal(np.signbit(a), np.signbit(b))


def test_every_kernel_is_compared_here():
    assert {"where", "erf", "erfc", "lgamma", *WINDOWED} == set(cpu.kernels)


@given(rng=st.randoms(use_true_random=False), dtype=st.sampled_from(["float32", "float64", "float16", "int64", "bool"]),
       shape=st.sampled_from([(), (3,), (8192,), (100, 90), (3, 1, 3000)]), number=st.sampled_from([None, 0.0, 2.5, 1]))
def test_where(rng, dtype, shape, number):
    draw = np.random.default_rng(rng.getrandbits(32))
    condition = draw.random(shape) < 0.5
    special = np.array(SPECIAL if dtype.startswith("float") else [0, 1, -2], dtype)
    input = draw.choice(special, shape)
    other = draw.choice(special, shape[-1:]) if number is None else number
    for a, b in ((input, other), (other, input)):
        same(cpu.where(condition, a, b), OPS["where"].forward(cpu, condition, a, b))


@pytest.mark.parametrize("shape", [(100, 90), (90, 100)])
def test_where_takes_any_layout(shape):
    draw = np.random.default_rng(0)
    condition, other = draw.random(shape).T < 0.5, draw.random(shape[0])
    input = draw.random((shape[1], 2 * shape[0]))[:, ::2]
    same(cpu.where(condition, input, other), OPS["where"].forward(cpu, condition, input, other))


@pytest.mark.parametrize("name", ["erf", "erfc", "lgamma"])
@pytest.mark.parametrize("values", [[], [0.3], [-2.5, 0.1, 30.0, np.nan, np.inf], [-1.0, 0.0, 1e30], [[1.5, 2.5]]])
def test_functions_of_few_numbers(name, values):
    for dtype, rtol in (("float64", 1e-14), ("float32", 2e-7)):
        x = np.array(values, dtype)
        a, b = getattr(cpu, name)(x), OPS[name].forward(cpu, x)
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol, 1e-300)


@pytest.mark.parametrize("name", WINDOWED)
@given(rng=st.randoms(use_true_random=False))
def test_convolution_pooling_and_resizing(name, rng):
    inputs, attrs = OPS[name].sample(Draw(rng))
    a, b = getattr(cpu, name)(*inputs, **attrs), OPS[name].forward(cpu, *inputs, **attrs)
    assert a.dtype == b.dtype and a.shape == b.shape
    np.testing.assert_allclose(a, b, 1e-10, 1e-10)


@pytest.mark.parametrize("name", [name for name, row in OPS.items() if row.lean is not None])
@given(rng=st.randoms(use_true_random=False))
def test_lean_forward_passes_give_the_same(name, rng):
    row = OPS[name]
    inputs, attrs = row.sample(Draw(rng))
    a, (b, *_) = row.lean(cpu, *inputs, **attrs), row.forward(cpu, *inputs, **attrs)
    for one, other in zip(*[x if isinstance(x, tuple) else (x,) for x in (a, b)], strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_allclose(one, other, 1e-12)
