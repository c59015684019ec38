"""Philox against its published test vectors, and the CUDA kernels of random numbers and dropout against Philox."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch
import minitorch.nn.functional as F
from minitorch.backends.cuda.arrays import random
from minitorch.backends.cuda.ops import dropout
from minitorch.random import sampling
from minitorch.random.generator import unit_double, unit_float
from minitorch.random.philox import PhiloxGenerator, philox, words
from tests.backends.cuda.kernel_checks import (
    DTYPES,
    check_resources,
    close,
    device,
    orders,
    rounding,
)

# Random123's kat_vectors for philox4x32 with 10 rounds: counter, key, result.
KNOWN = [("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
         ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
         ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1")]


def numbers(text):
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_published_vectors(counter, key, result):
    found = philox(numbers(key), [np.array([x], np.uint64) for x in numbers(counter)])
    assert [int(x[0]) for x in found] == numbers(result)


def drawn(sampler, n, *args, dtype="f32", seed=7, offset=8):
    generator = PhiloxGenerator(device.device).manual_seed(seed)
    generator.set_offset(offset)
    out = device.empty((n,), np.dtype(DTYPES.get(dtype, dtype)))
    device.fill_random(out, sampler, generator, args)
    assert generator.get_offset() == offset + 4
    return device.to_host(out)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(0, 2**60), st.integers(1, 600))
def test_kernel_draws_philox_words(seed, offset, n):
    got = drawn(sampling.random_bits, n, dtype="uint32", seed=seed, offset=4 * offset)
    assert (got == words(seed, 4 * offset, n)).all()


def normal(u):
    """Pairs of normal numbers from pairs of uniform ones."""
    radius, angle = np.sqrt(-2 * np.log1p(-u[0::2])), 2 * np.pi * u[1::2]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1).reshape(-1)


N = 1003                                                   # no multiple of a pack
W, W2 = words(7, 8, N + 1), words(7, 8, 2 * N + 2)
U, U2 = unit_float(W).astype("f8"), unit_double(W2)
REAL = [("uniform", (), "f32", U, 0), ("uniform", (-1.0, 2.0), "f32", U * 3 - 1, 4), ("uniform", (), "f64", U2, 0),
        ("normal", (1.0, 2.0), "f32", normal(U) * 2 + 1, 30),
        ("normal", (), "f64", normal(U2), 30), ("normal", (), "bf16", normal(U), 30),
        ("exponential", (2.0,), "f32", -np.log1p(-U) / 2, 10),
        ("log_normal", (0.0, 1.0), "f32", np.exp(normal(U)), 200)]


@pytest.mark.parametrize(("name", "args", "dtype", "wanted", "roundings"), REAL)
def test_distributions(name, args, dtype, wanted, roundings):
    got, wanted = drawn(getattr(sampling, name), N, *args, dtype=dtype), wanted[:N]
    u = 2.0**-24 if dtype != "f64" else 2.0**-53
    if name == "uniform" and not args:                     # rounding to the end that is left out gives the other end
        wanted = np.where(wanted.astype(got.dtype) == 1, 0, wanted)
    close(got, wanted, u * roundings * (1 + abs(wanted)) + rounding(got.dtype) * abs(wanted))
    for order in orders():
        with order():
            again = drawn(getattr(sampling, name), N, *args, dtype=dtype)
        assert again.tobytes() == got.tobytes()


def test_whole_numbers():
    assert (drawn(sampling.bernoulli, N, 0.3) == (W[:N] < 0.3 * 2**32)).all()
    assert (drawn(sampling.bernoulli, N, 1.0, dtype="int64")).all() and not drawn(sampling.bernoulli, N, 0.0).any()
    assert (drawn(sampling.integers, N, -5, 9, dtype="int64") == W[:N].astype("i8") % 14 - 5).all()
    wide = (W2[0::2] << np.uint64(32) | W2[1::2])[:N]
    assert (drawn(sampling.integers, N, 0, 2**40, dtype="int64") == wide % 2**40).all()
    assert (drawn(sampling.geometric, N, 0.3) >= 1).all()
    assert np.isfinite(drawn(sampling.cauchy, N)).all()


def test_moments_of_many_numbers():
    """Means and variances, to five deviations of a mean of n numbers."""
    n = 60_000
    for name, args, mean, variance in (("uniform", (), 0.5, 1 / 12), ("normal", (), 0, 1),
                                       ("exponential", (1.0,), 1, 1), ("geometric", (0.4,), 2.5, 0.6 / 0.16),
                                       ("bernoulli", (0.25,), 0.25, 0.1875)):
        x = drawn(getattr(sampling, name), n, *args).astype("f8")
        assert abs(x.mean() - mean) < 5 * math.sqrt(variance / n), name
        spread = ((x - mean) ** 2).var()
        assert abs(((x - mean) ** 2).mean() - variance) < 5 * math.sqrt(spread / n), name


# ---- generators --------------------------------------------------------------------------------------------
def test_generator_state_is_seed_and_offset():
    g = minitorch.Generator(device=device.device)
    assert isinstance(g, PhiloxGenerator) and g.initial_seed() == 67280421310721
    g.manual_seed(-1)
    first = minitorch.rand(5, device=device.device, generator=g)
    assert g.get_offset() == 4
    state = g.get_state()
    assert state.tolist() == [255] * 8 + [4] + [0] * 7
    second = minitorch.rand(5, device=device.device, generator=g)
    g.set_state(state)
    assert (minitorch.rand(5, device=device.device, generator=g) == second).all() and not (first == second).all()
    g.set_offset(0)
    assert (minitorch.rand(5, device=device.device, generator=g) == first).all()
    assert pickle.loads(pickle.dumps(g)).get_offset() == 4
    with pytest.raises(RuntimeError, match="multiple of 4"):
        g.set_offset(3)
    with pytest.raises(RuntimeError, match="16 bytes"):
        g.set_state(minitorch.zeros(3, dtype=minitorch.uint8))
    with pytest.raises(RuntimeError, match="device type for generator"):
        minitorch.rand(3, generator=g)


def test_default_generator_of_the_device():
    minitorch.manual_seed(3)
    x = minitorch.randn(4, device=device.device)
    with minitorch.random.fork_rng():
        y = minitorch.randn(4, device=device.device)
    assert (minitorch.randn(4, device=device.device) == y).all()
    minitorch.manual_seed(3)
    assert (minitorch.randn(4, device=device.device) == x).all()
    assert sorted(minitorch.randperm(50, device=device.device).tolist()) == list(range(50))


def test_captured_draws_go_on_where_the_host_says():
    g = PhiloxGenerator(device.device).manual_seed(5)
    wanted = [minitorch.rand(6, device=device.device, generator=g) for _ in range(5)]
    g.set_offset(4)
    state = device.from_host(np.zeros(2, np.uint64))
    g.begin_capture(state)
    places = [g.take(), g.take()]                          # what two draws of a graph would be given
    moved = g.end_capture()
    assert moved == 8 and g.get_offset() == 4
    for run in range(2):
        state[...] = device.from_host(g.next_run(moved))
        for k, place in enumerate(places):
            out = device.empty((6,), np.dtype("f"))
            random.FILL(device.machine, 1, 256, out, 6, *place, 0, 0.0, 1.0, 0, 1, WORDS=1, WHOLE=0)
            assert (device.to_host(out) == wanted[1 + 2 * run + k].cpu().numpy()).all()


# ---- dropout -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["f32", "f16", "f64"])
@pytest.mark.parametrize("n", [1, 37, 512])
def test_dropout(dtype, n):
    minitorch.manual_seed(n)
    kind = {"f32": minitorch.float32, "f16": minitorch.float16, "f64": minitorch.float64}
    x = minitorch.ones(n, dtype=kind[dtype], device=device.device, requires_grad=True)
    y = F.dropout(x, 0.25)
    kept = words(n, 0, n) >= 2**30
    assert (y.cpu().double().detach().numpy() == np.where(kept, np.float64(1 / 0.75).astype(DTYPES[dtype]), 0)).all()
    y.backward(minitorch.full((n,), 3.0, dtype=kind[dtype], device=device.device))
    assert ((x.grad != 0).cpu().numpy() == kept).all()     # the backward pass drops the same elements


def test_dropout_of_views_and_twice():
    minitorch.manual_seed(0)
    x = minitorch.ones(7, 9, device=device.device)
    a, b = F.dropout(x[1:, 1:], 0.5), F.dropout(x[1:, 1:], 0.5)
    assert set(a.reshape(-1).tolist()) == {0.0, 2.0} and not (a == b).all()
    assert F.dropout(x, 0.5, training=False) is x


def test_resources():
    check_resources(random.FILL, [DTYPES["f64"]], WORDS=2, WHOLE=0)
    check_resources(dropout.DROP, [DTYPES["f16"]])
