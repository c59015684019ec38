"""The CUDA kernel of rotary positions against the op's reference."""

import random

import numpy as np
import pytest
from hypothesis import given, settings

import minitorch
from minitorch.backends.cuda.arrays import layout
from minitorch.backends.cuda.ops import rope
from minitorch.testing.strategies import Draw, draws
from tests.backends.cuda.kernel_checks import (
    DTYPES,
    cast,
    check_resources,
    close,
    device,
    launches,
    put,
    reference,
    rounding,
    run,
    same_in_every_order,
    smallest,
    unit,
)


def case(d, dtype, shape, tables=None):
    half = shape[-1] // 2
    sizes = shape, *(tables or [(*shape[-2:-1], half)] * 2)
    return [cast(d.array(size), DTYPES[dtype]) for size in sizes]


def check(arrays, interleaved, order="dense"):
    """Two products and a sum of numbers of up to 2: at most four roundings of 8, and that of the result."""
    wanted = reference("rope", arrays, dict(interleaved=interleaved))[0]
    got, launched = run("rope", arrays, dict(interleaved=interleaved), order)
    dtype = arrays[0].dtype
    assert "turn_pairs" in launched and got[0].dtype == dtype
    close(got[0], wanted, 32 * unit(dtype) + rounding(dtype) * abs(wanted) + smallest(dtype))
    return got


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_in_packs(dtype, interleaved):
    arrays = case(Draw(random.Random(0)), dtype, (2, 3, 7, 32))
    got = check(arrays, interleaved)
    same_in_every_order(lambda: run("rope", arrays, dict(interleaved=interleaved))[0], got)


@settings(max_examples=30, deadline=None)
@given(draws())
def test_small_shapes_and_tables(d):
    shape, tables = d.choice([
        ((2,), [(1,), (1,)]), ((5, 6), [(3,), (5, 3)]), ((2, 3, 4, 2), [(4, 1), (3, 1, 1)]),
        ((2, 3, 5, 12), [(2, 1, 5, 6), (5, 6)]), ((2, 9, 3, 8), [(9, 1, 4), (9, 1, 4)])])
    check(case(d, "f32", shape, tables), d.bool(), d.choice(["dense", "offset", "transposed", "gaps"]))


def views():
    x, table = (put(cast(np.random.default_rng(0).normal(size=s), DTYPES["f32"])) for s in ((2, 7, 3, 16), (9, 8)))
    return x.transpose(0, 2, 1, 3), table[2:], table[:7]   # (N, T, H, D) seen as (N, H, T, D); later places


def test_views_are_read_where_they_lie():
    arrays = views()
    wanted = reference("rope", [device.to_host(x) for x in arrays], {})[0]
    with launches() as names:
        out = rope.rope(device, *arrays)
    assert names == ["turn_pairs"]
    close(device.to_host(out), wanted, 100 * unit(wanted.astype("f").dtype) * (1 + abs(wanted)))


def test_more_than_one_launch(monkeypatch):
    arrays = views()
    wanted = device.to_host(rope.rope(device, *arrays))
    monkeypatch.setattr(layout, "MAX_SIZE", 10)
    with launches() as names:
        out = rope.rope(device, *arrays)
    assert len(names) > 1 and device.to_host(out).tobytes() == wanted.tobytes()


def test_what_is_not_supported():
    assert device.rope(*map(put, case(Draw(random.Random(0)), "f32", (0, 4)))).shape == (0, 4)
    mixed = case(Draw(random.Random(0)), "f32", (3, 4))
    mixed[1] = mixed[1].astype("float64")
    assert device.rope(*map(put, mixed)).dtype == "float64"
    with pytest.raises(RuntimeError, match="broadcasts"):
        device.rope(*map(put, case(Draw(random.Random(0)), "f32", (3, 4), [(2, 2), (3, 2)])))


@pytest.mark.parametrize("interleaved", [False, True])
def test_through_autograd(interleaved):
    rng, found = np.random.default_rng(0), []
    values = [rng.normal(size=s) for s in ((2, 3, 5, 8), (5, 4), (5, 4), (2, 3, 5, 8))]
    for where, dtype in (("cpu", minitorch.float64), (device.device, minitorch.float32)):
        *inputs, seed = [minitorch.tensor(v, dtype=dtype, device=where) for v in values]
        for x in inputs:
            x.requires_grad_()
        minitorch.nn.functional.rope(*inputs, interleaved).backward(seed)
        found.append([x.grad.cpu().double().numpy() for x in inputs])
    for a, b in zip(*found, strict=True):
        close(b, a, 2.0**-24 * 1000 * (1 + abs(a)))        # sums of 12 products of numbers below 4


def test_resources():
    for dtype, vector in (("f16", 8), ("f32", 4), ("f64", 2)):
        check_resources(rope.PAIRS, [DTYPES[dtype]], VECTOR=vector, INTERLEAVED=1)
