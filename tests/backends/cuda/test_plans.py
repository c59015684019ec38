"""Plans of a device's calls: recorded once, they do what the functions do, on whatever arrays they are given."""

import random

import numpy as np
import pytest

import minitorch
from minitorch.backends.cuda.runtime import parameters, plans
from minitorch.core import layers
from minitorch.core.registry import OPS
from minitorch.testing.strategies import Draw
from tests.backends.cuda.kernel_checks import device

# One op of each kind: elementwise, reduction, product, norm, convolution, loss, copy, and references of many launches.
NAMES = ("add", "where", "sum", "mean", "amax", "linear", "matmul", "full_softmax", "full_layer_norm", "full_gelu",
         "convolution", "convolution_backward_weight", "full_cross_entropy", "cat", "clone", "full_batch_norm",
         "affine_norm_backward", "full_scaled_dot_product_attention", "max_pool", "embedding_backward", "addmm",
         "full_rnn_layer", "masked", "lerp", "nll_loss", "logcumsumexp", "dist", "renorm", "group_norm")


def sample(name, seed):
    arrays, attrs = Draw(random.Random(seed)).op_sample(OPS[name.removeprefix("full_")])
    return [x.astype("f4") if getattr(x, "dtype", None) == np.float64 else x for x in arrays], attrs


def put(x):
    return device.from_host(x) if isinstance(x, np.ndarray) else x


def leaves(x):
    return [leaf for part in x for leaf in leaves(part)] if isinstance(x, (tuple, list)) else [x]


def seen(found):
    """All that can be seen of a result, bit by bit."""
    return [(x.shape, x.strides, x.dtype, device.to_host(x).tobytes()) if isinstance(x, device.ndarray) else x
            for x in leaves(found)]


def other(x):
    """Other values in an array of the same kind."""
    return np.ascontiguousarray(x[::-1]) * x.dtype.type(0.75) if x.ndim and x.dtype.kind == "f" else x


@pytest.mark.parametrize("name", [n for n in NAMES if n.removeprefix("full_") in OPS])
def test_a_plan_does_what_the_function_does(name):
    device.plans.clear()
    call = getattr(device, name)
    for seed in range(2):
        arrays, attrs = sample(name, seed)
        expected = seen(call.without_plans(*map(put, arrays), **attrs))
        for _ in range(3):
            assert seen(call(*map(put, arrays), **attrs)) == expected
        arrays = [other(x) if isinstance(x, np.ndarray) else x for x in arrays]
        assert seen(call(*map(put, arrays), **attrs)) == seen(call.without_plans(*map(put, arrays), **attrs))


def run_until_planned(function, *arguments):
    for _ in range(3):
        found = function(*arguments)
    return found


def array(*shape, seed=0):
    return device.from_host(np.random.default_rng(seed).standard_normal(shape).astype("f4"))


def test_arguments_that_are_one_array_are_not_taken_for_one_another_later():
    x, y = array(4, 6), array(4, 6, seed=1)
    run_until_planned(device.sub, x, x)
    assert np.array_equal(device.to_host(device.sub(x, y)), device.to_host(x) - device.to_host(y))


def test_numbers_tell_calls_apart():
    x = minitorch.arange(4, device=device.device)
    found = [[(x / n).dtype, (x * n).dtype, (x * n).tolist()] for n in (1, 1.0) for _ in range(3)]
    assert found[2] == found[0] and found[5] == found[3] and found[2] != found[5]
    y = device.from_host(np.zeros(3, "f4"))
    signs = [np.signbit(device.to_host(run_until_planned(device.mul, y, zero))).any() for zero in (0.0, -0.0)]
    assert signs == [False, True]


def test_alignment_and_strides_tell_calls_apart():
    flat = array(65)
    for x in (flat[:64], flat[1:], flat[:64].reshape(8, 8).T, flat[:64].reshape(8, 8)[:, ::2]):
        expected = np.exp(device.to_host(x.copy()))
        np.testing.assert_allclose(device.to_host(run_until_planned(device.exp, x)), expected, rtol=1e-6)


def test_settings_tell_calls_apart():
    from minitorch.backends import precision
    a, b = array(64, 64), array(64, 64, seed=1)
    exact = seen(run_until_planned(device.matmul, a, b))
    minitorch.set_float32_matmul_precision("high")
    try:
        assert precision.float32_matmul() == "high"
        assert seen(run_until_planned(device.matmul, a, b)) != exact
    finally:
        minitorch.set_float32_matmul_precision("highest")
    assert seen(device.matmul(a, b)) == exact


def test_results_own_their_memory_and_inputs_come_back_as_they_are():
    x = array(5, 7)
    for _ in range(3):
        y = device.sum(x, dim=(0,))
        assert y.base is None and y.data.ptr != x.data.ptr
    first, second = device.exp(x), device.exp(x)
    assert first.data.ptr != second.data.ptr


def test_what_reads_values_has_no_plan():
    """Its shape depends on them, or the host takes part."""
    mask = device.from_host(np.array([True, False, True]))
    for _ in range(3):
        assert device.to_host(device.masked_select(array(3), mask)).shape == (2,)
    mask = device.from_host(np.array([True, True, True]))
    assert device.to_host(device.masked_select(array(3), mask)).shape == (3,)


def test_indices_are_looked_at_in_plans_too():
    if device.machine.kind != "sim":
        pytest.skip("the host does not see the values of a GPU")
    table = minitorch.ones(4, 3, device=device.device)
    good, bad = [minitorch.tensor(x, device=device.device) for x in ([0, 3, 1], [0, 4, 1])]
    for _ in range(3):
        minitorch.nn.functional.embedding(good, table)
    with pytest.raises(IndexError, match="from 0 to 3, got 4"):
        minitorch.nn.functional.embedding(bad, table)


def test_an_array_that_a_function_keeps_makes_no_plan():
    kept = []

    def keeper(F, x):
        kept.append(F.xp.ones((3,), "f4"))
        return x + kept[-1]
    call = plans.planned(device, "keeper", lambda x: keeper(device, x), lambda shadow: lambda x: keeper(shadow, x))
    shadow = device.shadow
    for _ in range(3):
        assert device.to_host(call(device.from_host(np.ones(3, "f4")))).tolist() == [2, 2, 2]
    assert device.shadow is not shadow


def test_what_a_machine_learns_later_is_not_for_recorders():
    machine = device.machine
    recorder = plans.Recorder(machine)
    assert recorder.kind == machine.kind and recorder == machine and hash(recorder) == hash(machine)
    for name in ("handle", "start", "synchronize", "view", "begin_capture"):
        with pytest.raises(plans.Unplannable):
            getattr(recorder, name)()
    assert not hasattr(recorder, "__array_interface__")


def test_many_arrays_of_one_call_have_a_plan_or_none():
    """Addresses within structs are found, too: those of the pieces of a concatenation."""
    for n in (3, 40, plans.MOST_ARRAYS + 3):
        pieces = [array(2, 3, seed=k) for k in range(n)]
        expected = np.concatenate([device.to_host(x) for x in pieces])
        for _ in range(3):
            assert np.array_equal(device.to_host(device.cat(*pieces, dim=0)), expected)
        pieces = pieces[::-1]
        assert np.array_equal(device.to_host(device.cat(*pieces, dim=0)), np.concatenate(
            [device.to_host(x) for x in pieces]))


def test_products_by_tensor_maps_are_made_for_each_address(monkeypatch):
    from minitorch.backends.cuda.ops import product
    monkeypatch.setattr(product, "multiprocessors", lambda machine: 1)
    product.plan.cache_clear()
    half, rng = minitorch.bfloat16.np, np.random.default_rng(0)
    if product.capability(device.machine) != 90:
        pytest.skip("needs a kernel with tensor maps")
    try:
        a, b, c = [device.from_host(rng.integers(-2, 3, (128, 128)).astype(half)) for _ in range(3)]
        run_until_planned(device.matmul, a, b)
        found = device.to_host(device.matmul(b, c)).astype("f4")
        np.testing.assert_array_equal(found, (device.to_host(b).astype("f4") @ device.to_host(c).astype("f4")
                                              ).astype(half).astype("f4"))
    finally:
        product.plan.cache_clear()
        device.plans.clear()


def test_layers_see_what_is_within_a_call():
    x, told = array(3, 4), []
    run_until_planned(device.addcmul, x, x, x)
    with layers.observed(lambda name, *rest: told.append(name), lambda *rest: None):
        device.addcmul(x, x, x)
        assert not hasattr(device.addcmul, "without_plans")
    assert told[0] == "addcmul" and hasattr(device.addcmul, "without_plans")


def test_a_captured_graph_runs_plans_again():
    x = minitorch.ones(4, 5, device=device.device)
    for _ in range(3):
        y = (x * x).softmax(-1)
    from minitorch.backends.cuda.runtime.graphs import Capture
    capture = Capture(device)
    capture.begin()
    y = (x * x).softmax(-1)
    capture.end()
    x.copy_(minitorch.arange(20.0, device=device.device).reshape(4, 5) / 10)
    capture.run()
    np.testing.assert_allclose(y.cpu().numpy(), (x.cpu() ** 2).softmax(-1).numpy(), rtol=1e-5)


# ---- parameter buffers -------------------------------------------------------------------------------------
def test_parameters_lie_as_the_compiled_kernels_read_them():
    """Offsets by C++'s rules of alignment are those of the PTX, structs and small numbers included."""
    from minitorch.backends.cuda.runtime.kernel import Kernel
    if device.machine.kind != "sim":
        pytest.skip("needs the PTX")
    kernel = Kernel("""
        struct Odd { char a; double b; short c; };
        struct Wide { int a[3]; };
        extern "C" __global__ void odd(unsigned char a, long long* out, bool b, Wide w, short c, Odd o, float d) {
            *out = a + 10 * b + 100 * w.a[2] + 1000 * c + 10000 * o.c + 100000 * (int)d;
        }
    """, "odd", "u8 a, i64* out, bool b, Wide w, i16 c, Odd o, f32 d")
    wide = np.zeros((), [("a", "i4", 3)])
    wide["a"] = 7, 8, 3
    odd = np.zeros((), np.dtype([("a", "i1"), ("b", "f8"), ("c", "i2")], align=True))
    odd["c"] = 5
    out = device.xp.zeros((), np.int64)
    arguments = 1, out, True, wide, 4, odd, 6.0
    _, values = kernel.checked(device.machine, arguments, {})
    data, places = parameters.lay_out(values)
    (function, _), = kernel.ready.values()
    module, entry = function
    offsets, end = [], 0
    for size, align in module.entries[entry].parameters:
        end += -end % align
        offsets.append((end, size))
        end += size
    assert places == offsets and len(data) == end

    def call(F, out):
        kernel(F.machine, 1, 1, 1, out, True, wide, 4, odd, 6.0)
        return out
    planned = plans.planned(device, "odd", lambda x: call(device, x), lambda shadow: lambda x: call(shadow, x))
    for _ in range(3):
        out[...] = 0
        planned(out)
        assert int(out) == 1 + 10 + 300 + 4000 + 50000 + 600000


@pytest.mark.parametrize("seed", range(20))
def test_memory_on_the_way_is_shared_only_by_what_is_never_needed_together(seed):
    draw, pieces = random.Random(seed), []
    for begin in sorted(draw.choices(range(20), k=12)):
        piece = plans.Made(draw.choice([0, 1, 512, 513, 4096]), begin)
        piece.end = draw.choice([begin, begin + 1, begin + draw.randrange(6), None])
        pieces.append(piece)
    offsets, total = plans.arrange(pieces, 20)
    ends = [20 if p.end is None else p.end for p in pieces]
    for i, p in enumerate(pieces):
        assert offsets[i] % plans.UNIT == 0 and offsets[i] + p.nbytes <= total
        for j, q in enumerate(pieces[:i]):
            if p.nbytes and q.nbytes and p.begin < ends[j] and q.begin < ends[i]:
                assert offsets[i] + p.nbytes <= offsets[j] or offsets[j] + q.nbytes <= offsets[i]
    assert total <= sum(-(-p.nbytes // plans.UNIT) * plans.UNIT for p in pieces)


def test_threads_have_buffers_of_their_own():
    from concurrent.futures import ThreadPoolExecutor
    arrays = [array(33, seed=k) for k in range(8)]
    for x in arrays[:1] * 3:
        device.exp(x)
    expected = [seen(device.exp.without_plans(x)) for x in arrays]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda k: seen(device.exp(arrays[k % 8])), range(64))) == expected * 8


# ---- launches of training steps ----------------------------------------------------------------------------
def test_a_product_with_sums_of_rows(monkeypatch):
    from minitorch.backends.cuda.ops import product
    rng = np.random.default_rng(0)
    for rows, columns, depth in ((5, 7, 3), (33, 40, 70), (64, 72, 900)):        # the last one in pieces of the depth
        for kind, error in (("f4", 1e-4), ("f8", 1e-4), ("f2", 2.0**-11), (minitorch.bfloat16.np, 2.0**-8)):
            g, x = (rng.standard_normal((depth, n)).astype(kind) for n in (rows, columns))
            out, sums = product.product_and_sums(device, device.from_host(g).T, device.from_host(x))
            g, x = g.astype("f8"), x.astype("f8")
            np.testing.assert_allclose(device.to_host(out).astype("f8"), g.T @ x, rtol=error, atol=1e-4)
            np.testing.assert_allclose(device.to_host(sums).astype("f8"), g.sum(0), rtol=error, atol=1e-4)
    a = device.from_host(rng.standard_normal((3, 8)).astype("f4"))
    assert product.product_and_sums(device, a[:1], a.T) is None                # a vector
    monkeypatch.setattr(product, "LONGEST_SUM", 4)
    assert product.product_and_sums(device, a, a.T) is None


@pytest.mark.parametrize("shape", [(6, 5), (2, 3, 5), (1, 5)])
def test_gradients_of_a_layer_at_once_are_those_one_by_one(shape):
    def gradients(where, at_once):
        torch, leaves = minitorch, []
        for n, s in enumerate((shape, (4, 5), (4,))):
            values = np.random.default_rng(n).standard_normal(s).astype("f4")
            leaves.append(torch.tensor(values, device=where).requires_grad_())
        x, weight, bias = leaves if at_once else (leaves[0], leaves[1], leaves[2] * 1.0)
        (torch.nn.functional.linear(x, weight, bias) ** 2).sum().backward()
        return [leaf.grad.cpu().numpy() for leaf in leaves]
    expected = gradients("cpu", True)
    for at_once in (True, False):
        for ours, theirs in zip(gradients(device.device, at_once), expected):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
