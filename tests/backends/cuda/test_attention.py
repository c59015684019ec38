"""The CUDA kernels of attention against the reference in float64: masks, sizes, layouts, gradients, barriers."""

import numpy as np
import pytest

import minitorch
import minitorch.nn.functional as F
from minitorch.backends.cuda.ops import attention
from minitorch.backends.cuda.runtime import compile as compiler
from minitorch.backends.cuda.runtime.kernel import Kernel
from tests.backends.cuda.kernel_checks import (
    DEVICE,
    DTYPES,
    close,
    device,
    launches,
    put,
    reference,
    rounding,
    same_in_every_order,
    unit,
)

f16, bf16, f32, f64 = DTYPES.values()
FORWARD, BACKWARD = ["attention_forward"], ["attention_delta", "attention_query_grad", "attention_key_grad"]


def numbers(rng, *shape, dtype):
    return rng.normal(size=shape).astype(dtype)


def inputs(dtype, query, key, mask, seed=0, features=None):
    """The gradient of the result, queries, keys, values, and a mask of 0 and 1, of numbers, or None; `features` are
    those of the values."""
    rng = np.random.default_rng(seed)
    by_value = [(*s[:-1], features or s[-1]) for s in (query, key)]
    g, q, k, v = [numbers(rng, *s, dtype=dtype) for s in (by_value[0], query, key, by_value[1])]
    if mask == "bools":
        mask = rng.random((query[-2], key[-2])) > 0.4
        mask[3] = False                                    # a query that sees no key
    elif mask == "numbers":
        mask = numbers(rng, query[0], *[1] * (len(query) - 2), key[-2], dtype=dtype)
    return g, q, k, v, mask


def run(arrays, layout="dense", **attrs):
    """Result and gradients by the kernels, and what was launched."""
    g, q, k, v = [put(x, layout) for x in arrays[:4]]
    mask = put(arrays[4])
    with launches() as names:
        out, logs = attention.scaled_dot_product_attention(device, q, k, v, mask, **attrs)
        grads = attention.scaled_dot_product_attention_backward(device, g, q, k, v, mask, out, logs, **attrs)
    return [device.to_host(x) for x in (out, *grads)], names


def exact(arrays, attrs):
    g, q, k, v, mask = arrays
    return [*reference("scaled_dot_product_attention", [q, k, v, mask], attrs),
            *reference("scaled_dot_product_attention_backward", [g, q, k, v, mask, None, None], attrs)]


def bounds(arrays, out, scale, causal, p=0.0, place=None):
    """How far the results may be from the exact ones, to first order.

    A score is wrong by `e`, from a sum of E products and a few roundings, and so a weight by 2 e of itself. Weights and
    slopes are rounded to 16 bits before they are multiplied; delta is made of the rounded result.
    """
    g, q, k, v, mask = arrays
    weights = reference("scaled_dot_product_attention_weights",
                        [q, k, None if mask is None or mask.dtype == bool else mask,
                                              mask if mask is not None and mask.dtype == bool else None],
                        dict(scale=scale, causal=causal))[0] / (1 - p)     # of those that dropout keeps
    r, u, (g, q, k, v) = rounding(g.dtype), 2 * unit(f32), [abs(x.astype("f8")) for x in (g, q, k, v)]
    n = q.shape[-1] + k.shape[-2] + 8
    e = u * n * (scale * (q @ k.swapaxes(-1, -2)).max() + (0 if mask is None else abs(mask.astype("f8")).max()) + 4)
    size = g @ v.swapaxes(-1, -2) + (g * abs(out)).sum(-1, keepdims=True)
    slopes = weights * size
    slope_error = slopes * (2 * e + 2 * r + n * u)
    return [(2 * e + r) * weights @ v + r * abs(out), scale * slope_error @ k, scale * slope_error.swapaxes(-1, -2) @ q,
            (2 * e + r) * weights.swapaxes(-1, -2) @ g]


def check(arrays, layout="dense", **attrs):
    got, names = run(arrays, layout, **attrs)
    wanted = exact(arrays, attrs)
    for a, b, allowed in zip(got, wanted, bounds(arrays, wanted[0], **attrs)):
        assert a.dtype == arrays[0].dtype
        close(a, b, allowed + rounding(a.dtype) * abs(b) + 1e-7)
    return got, names


@pytest.mark.parametrize(("dtype", "query", "key", "mask", "layout", "causal"), [
    (f16, (2, 70, 24), (2, 75, 24), "bools", "dense", False),
    (bf16, (1, 2, 2, 70, 32), (1, 2, 1, 70, 32), None, "dense", True),
    (f16, (2, 2, 2, 20, 20), (2, 1, 2, 67, 20), "numbers", "gaps", False),
    (f32, (2, 1, 36, 68), (2, 1, 43, 68), "numbers", "gaps", False)], ids=str)
def test_attention(dtype, query, key, mask, layout, causal):
    arrays = inputs(dtype, query, key, mask)
    got, names = check(arrays, layout, scale=0.3, causal=causal)
    assert names == FORWARD + BACKWARD
    same_in_every_order(lambda: run(arrays, layout, scale=0.3, causal=causal)[0], got)
    if mask == "bools":
        assert (got[0][:, 3] == 0).all() and (got[1][:, 3] == 0).all()


@pytest.mark.parametrize(("dtype", "head", "features"), [(f32, 40, 60), (bf16, 96, 72)], ids=str)
def test_blocks_of_four_warps_and_values_of_another_size(monkeypatch, dtype, head, features):
    """Where there are few multiprocessors: each of them has a block."""
    monkeypatch.setattr(attention, "multiprocessors", lambda machine: 1)
    arrays = inputs(dtype, (1, 130, head), (1, 134, head), None, features=features)
    got, names = check(arrays, scale=0.2, causal=True)
    assert names == FORWARD + BACKWARD and got[0].shape == (1, 130, features)


def test_large_scores_and_few_keys():
    """Weights of 0 and 1; one key and one query; fewer queries than keys under a causal mask."""
    g, q, k, v, _ = inputs(bf16, (2, 3, 32), (2, 67, 32), None)
    check((g, q, k, v, None), scale=30.0, causal=True)
    check(inputs(bf16, (1, 1, 8), (1, 1, 8), None), scale=1.0, causal=True)


@pytest.mark.parametrize(("dtype", "head"), [(f64, 8), (f16, 136)])
def test_what_is_left_to_the_reference(dtype, head):
    arrays = inputs(dtype, (1, 4, head), (1, 5, head), None)
    got = device.to_host(attention.scaled_dot_product_attention(device, *map(put, arrays[1:4]), scale=0.1)[0])
    wanted = exact(arrays, dict(scale=0.1, causal=False))[0]
    assert got.dtype == dtype
    close(got, wanted, 400 * unit(f32) * abs(arrays[3].astype("f8")).max() + rounding(dtype) * abs(wanted))


def check_autograd(kind, head):
    """Gradients of queries, and of keys and values that they share, beside those of the CPU; what was launched."""
    rng = np.random.default_rng(0)
    q, k, v, g = [minitorch.tensor(rng.normal(size=(2, n, 9, head))).to(kind) for n in (4, 2, 2, 4)]
    found = []
    for where, dtype in (("cpu", minitorch.float64), (device.device, kind)):
        xs = [x.to(device=where, dtype=dtype).requires_grad_() for x in (q, k, v)]
        with launches() as names:
            out = F.scaled_dot_product_attention(*xs, is_causal=True, enable_gqa=True)
            out.backward(g.to(device=where, dtype=dtype))
        found.append([x.detach().cpu().double().numpy() for x in (out, *[x.grad for x in xs])])
    for a, b in zip(*found):                               # a few roundings of sums of a few such terms
        assert abs(a - b).max() < 8 * (2.0**-8 if kind is minitorch.bfloat16 else 2.0**-21) * abs(a).max()
    return [x for x in names if x.startswith("attention")]


@pytest.mark.parametrize(("kind", "head", "few"), [(minitorch.bfloat16, 32, 132), (minitorch.float32, 64, 1)], ids=str)
def test_through_autograd(monkeypatch, kind, head, few):
    monkeypatch.setattr(attention, "multiprocessors", lambda machine: few)
    assert check_autograd(kind, head) == FORWARD + BACKWARD


# ---- barriers and resources ----------------------------------------------------------------------------------
BARRIERS = ("wait_copies<0>();", "__syncthreads();", "__syncwarp();")


def without(source, number):
    """A source whose kernels lack their `number`-th barrier or wait, those in the products of a warp counted first."""
    texts = dict(source.includes) | {source.name: source.text}
    shared = texts["attention_simt.cuh"].split("\n")
    at = [i for i, line in enumerate(shared) if line.strip() in BARRIERS]
    if number < len(at):
        shared[at[number]] = ""
        texts["attention_simt.cuh"] = "\n".join(shared)
    else:
        kernels = texts[source.name].split('extern "C"')
        for k, kernel in enumerate(kernels):
            lines = kernel.split("\n")
            found = [i for i, line in enumerate(lines) if line.split("//")[0].strip() in BARRIERS]
            for i in found[number - len(at):][:1]:
                lines[i] = ""
            kernels[k] = "\n".join(lines)
        texts[source.name] = 'extern "C"'.join(kernels)
    return source._replace(text=texts.pop(source.name), includes=tuple(texts.items()))


@pytest.mark.skipif(DEVICE != "sim", reason="a race may go unnoticed on a GPU")
@pytest.mark.parametrize(("number", "dtype", "names"), [
    *[(i, f32, ["FORWARD"]) for i in (0, 1)], *[(i, bf16, ["FORWARD", "QUERY_GRAD", "KEY_GRAD"]) for i in (2, 3)],
    *[(i, bf16, ["FORWARD"]) for i in (4, 5)]], ids=str)
def test_every_barrier_is_needed(monkeypatch, number, dtype, names):
    """The forward kernel has two of each kind, the others one; and two that hand over weights in float32."""
    from minitorch.backends.sim import SimulatorError
    source = without(attention.FORWARD.source, number)
    assert source != attention.FORWARD.source
    arrays = inputs(dtype, (1, 70, 32), (1, 100, 32), None)
    for name in names:
        kernel = getattr(attention, name)
        with monkeypatch.context() as patch, pytest.raises((SimulatorError, AssertionError)):
            patch.setattr(attention, name, Kernel(source, kernel.entry, attention.SIGNATURES[name]))
            check(arrays, scale=0.2, causal=True)


@pytest.mark.parametrize(("dtype", "arch", "head", "mask"), [(f16, "80", 128, 2), (f32, "80", 64, 2)], ids=str)
def test_resources(dtype, arch, head, mask):
    kernel, sizes = attention.FORWARD, attention.Sizes.of(dtype == f16, head, mask, False)
    constants = dict(HEAD=head, MASK=mask, CAUSAL=1, DROPOUT=0, ALIGNED=1, WARPS=4)
    found = compiler.resources(kernel.source, kernel.macros({"T": dtype, "V": dtype}, constants), arch)
    found |= compiler.resources(attention.DELTA.source, attention.DELTA.macros({"T": dtype}, dict(WARPS=4)), arch)
    for entry in FORWARD + BACKWARD:
        assert found[entry].spills == found[entry].stack == 0, (entry, found[entry])
        assert 2 * found[entry].registers * 128 <= 65536
    for shared in (sizes.shared_forward(4, head), *[sizes.shared_backward(4, rows, head)
                                                    for rows in (sizes.query_grad, sizes.key_grad)]):
        assert shared * dtype.itemsize <= 99 * 1024        # what a block may have on 8.6 and 8.9
