"""Means that keep the host's part of a call short: plans that are given places of random numbers
and keep tables, statistics moved in one launch, 16-bit tensors that need no promotion."""

import numpy as np
import pytest

import minitorch
import minitorch.nn.functional as F
from minitorch.backends.cuda.runtime.graphs import Capture
from minitorch.backends.cuda.runtime.kernel import Kernel
from minitorch.random.philox import Place, words
from tests.backends.cuda.kernel_checks import device, launches

where = device.device


# ---- running statistics ------------------------------------------------------------------------------------
def normed(x, statistics, on, **options):
    """The result of a batch norm in training, and what has become of the running statistics."""
    put = lambda v: v if v is None else minitorch.tensor(v).to(on, copy=True)     # noqa: E731
    mean, var = map(put, statistics)
    with launches() as names:
        y = F.batch_norm(put(x), mean, var, training=True, **options)
    return [v if v is None else v.cpu().numpy() for v in (y, mean, var)], names


@pytest.mark.parametrize(("shape", "kernels"), [
    ((5, 3, 9, 9), ["sum_planes", "scale_planes"]),
    ((30, 2, 20, 20), ["sum_planes", "scale_planes"]),     # a channel is shared by blocks
    ((40, 5), ["sum_columns", "conclude_moments", "scale_channels"]),
    ((4, 3, 2, 2), ["sum_columns", "conclude_moments", "scale_channels"])])
def test_statistics_move_in_one_launch(shape, kernels):
    rng = np.random.default_rng(0)
    for dtype, given, momentum in (("f4", (True, True), 0.1), ("f8", (True, True), 1.0), ("f4", (False, True), 0.25),
                                   ("f4", (True, False), 0.0)):
        x = rng.standard_normal(shape).astype(dtype) + 2
        statistics = [rng.uniform(0.5, 2, shape[1]).astype(dtype) if k else None for k in given]
        found, names = normed(x, statistics, where, momentum=momentum)
        expected, _ = normed(x, statistics, "cpu", momentum=momentum)
        assert names == [*kernels, "move_statistics"]
        for a, b in zip(found, expected):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


def test_statistics_of_other_types_and_layouts():
    """Float32 statistics of a 16-bit batch; such as lie in gaps or are of another type than the kernel's, by arrays."""
    x = minitorch.arange(72.0, device=where).reshape(4, 3, 6).bfloat16()
    mean, var = minitorch.zeros(3, device=where), minitorch.ones(6, device=where)[::2]
    with launches() as names:
        F.batch_norm(x, mean, var, training=True)
    assert "move_statistics" not in names
    expected = minitorch.zeros(3), minitorch.ones(3)
    F.batch_norm(x.cpu().float(), *expected, training=True)
    for a, b in zip((mean, var), expected):
        np.testing.assert_allclose(a.cpu().numpy(), b.numpy(), rtol=1e-5)
    var = minitorch.ones(3, device=where)
    version = var._version
    with launches() as names:
        F.batch_norm(x, None, var, training=True)
    assert names[-1] == "move_statistics" and var._version == version + 1
    np.testing.assert_allclose(var.cpu().numpy(), expected[1].numpy(), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_gradients_of_a_batch_norm_in_two_launches(dtype):
    def gradients(on):
        rng, found = np.random.default_rng(0), []
        for shape in ((30, 2, 20, 20), (2,), (2,)):
            values = rng.standard_normal(shape).astype("f4") + (0 if len(shape) > 1 else 2)
            found.append(minitorch.tensor(values, dtype=getattr(minitorch, dtype), device=on).requires_grad_())
        factor = minitorch.tensor(rng.standard_normal((30, 2, 20, 20)).astype("f4"), device=on).to(found[0].dtype)
        y = F.batch_norm(found[0], None, None, *found[1:], training=True)
        with launches() as names:
            y.backward(factor)
        return [x.grad.float().cpu().numpy() for x in found], names
    found, names = gradients(where)
    assert names == ["sum_planes", "scale_planes_backward"]
    for a, b in zip(found, gradients("cpu")[0]):
        np.testing.assert_allclose(a, b, rtol=2e-3 if dtype == "float16" else 2e-4,
                                   atol=(2e-2 if dtype == "float16" else 2e-5) * abs(b).max())


# ---- plans -------------------------------------------------------------------------------------------------
def without_python(monkeypatch):
    """From here on no function of a kernel may be run: all is planned."""
    monkeypatch.setattr(Kernel, "checked", None)


def test_a_plan_is_told_the_place_of_random_numbers(monkeypatch):
    x = device.from_host(np.ones(700, "f4"))
    state = device.from_host(np.array([5, 8], np.uint64))
    for _ in range(3):
        device.dropout(x, place=Place(3, 4), p=0.5)
        device.dropout(x, place=Place(0, 4, state), p=0.5)
    without_python(monkeypatch)
    for seed, offset in ((3, 4), (3, 8), (2**63 + 1, 2**40)):
        found = device.to_host(device.dropout(x, place=Place(seed, offset), p=0.5))
        np.testing.assert_array_equal(found != 0, words(seed, offset, 700) >= 2**31)
    found = device.to_host(device.dropout(x, place=Place(0, 4, state), p=0.5))
    np.testing.assert_array_equal(found != 0, words(5, 12, 700) >= 2**31)


def test_a_function_that_computes_with_a_place_has_no_plan():
    """For the reference, the host makes the numbers: it is called again each time."""
    x, found = device.from_host(np.ones(70, "f4")), []
    call = device.planned("by the host", lambda x, place: device.reference.dropout(x, place=place, p=0.5),
                          lambda shadow: lambda x, place: shadow.reference.dropout(x, place=place, p=0.5))
    for offset in (4, 4, 4, 8, 8):
        found.append(device.to_host(call(x, place=Place(3, offset))))
        np.testing.assert_array_equal(found[-1] != 0, words(3, offset, 70) >= 2**31)


TABLES = {"avg_pool2d": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
          "interpolate": lambda x: F.interpolate(x, size=(7, 3), mode="bilinear"),
          "avg_pool backward": lambda x: minitorch.autograd.grad(
              F.avg_pool2d(x, 3, 2, 1, count_include_pad=False).sum(), x)[0]}


@pytest.mark.parametrize("name", TABLES)
def test_a_plan_keeps_the_tables_that_a_function_has_in_a_cache(name, monkeypatch):
    from minitorch.backends.cuda.ops import pool, resize
    function = TABLES[name]
    values = np.random.default_rng(0).standard_normal((2, 3, 5, 5)).astype("f4")
    x = minitorch.tensor(values, device=where).requires_grad_("backward" in name)
    for _ in range(3):
        function(x)
    for table in (pool.inverse, resize.table):
        table.cache_clear()
    minitorch.zeros(999, device=where).exp()               # what takes the place of memory that is given back
    without_python(monkeypatch)
    expected = function(minitorch.tensor(values).requires_grad_("backward" in name))
    np.testing.assert_allclose(function(x).detach().cpu().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_a_captured_graph_keeps_the_tables_of_its_plans():
    x = minitorch.arange(50.0, device=where).reshape(1, 2, 5, 5)
    for _ in range(3):
        expected = TABLES["avg_pool2d"](x)
    capture = Capture(device)
    capture.begin()
    y = TABLES["avg_pool2d"](x)
    capture.end()
    device.plans.clear()
    from minitorch.backends.cuda.ops import pool
    pool.inverse.cache_clear()
    minitorch.zeros(9, device=where).exp()
    capture.run()
    np.testing.assert_array_equal(y.cpu().numpy(), expected.cpu().numpy())


def test_results_of_plans_know_their_kind():
    """A view, another layout and another offset are other kinds than the array that they were made of."""
    x = device.from_host(np.random.default_rng(0).standard_normal((8, 8)).astype("f4"))
    for _ in range(3):
        y = device.exp(x)
        s = device.softmax(y, dim=-1)
    assert s.kind is y.kind is x.kind
    for view in (s.T, s[1:], s[:, 1:], s.reshape(4, 16), s[::2]):
        for _ in range(3):
            found = device.softmax(view, dim=-1)
        powers = np.exp(device.to_host(view.copy()).astype("f8"))
        np.testing.assert_allclose(device.to_host(found), powers / powers.sum(-1, keepdims=True), rtol=1e-5)


# ---- 16-bit tensors ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_tensors_of_one_kind_need_no_promotion(dtype, monkeypatch):
    from minitorch.core import call
    x = minitorch.rand(4, 4).to(getattr(minitorch, dtype)).requires_grad_()
    w = minitorch.ones(4, dtype=x.dtype)
    expected = [f(x.detach().float()).to(x.dtype) for f in (lambda x: x @ x, lambda x: x + x, lambda x: x.softmax(-1))]
    x @ x, x + x, x.softmax(-1), F.layer_norm(x, (4,), w)
    with monkeypatch.context() as patch:
        patch.setattr(call, "PROMOTIONS", None)
        patch.setattr(call, "accept", None)
        found = [x @ x, x + x, x.softmax(-1)]
        F.layer_norm(x, (4,), w)
    for a, b in zip(found, expected):
        assert a.dtype is x.dtype and a.grad_fn is not None
        assert a.detach().equal(b)
    found[0].sum().backward()
    assert x.grad.dtype is x.dtype


def test_16_bit_tensors_meet_others_as_before():
    half, full = minitorch.ones(2, dtype=minitorch.bfloat16), minitorch.ones(2)
    assert (half + full).dtype is minitorch.float32 and (half * 2.0).dtype is minitorch.bfloat16
    assert (half + minitorch.ones(2, dtype=minitorch.float16)).dtype is minitorch.float32
    assert minitorch.add(half, half, out=minitorch.empty(2)).dtype is minitorch.float32
    with pytest.raises(RuntimeError, match="same dtype"):
        half[None] @ full[:, None]


# ---- products ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_an_activation_in_a_product_is_the_one_by_itself(dtype):
    """To the last bit, in the tails too: they are one function of the device."""
    from minitorch.backends.cuda.ops.product import product
    x = minitorch.linspace(-14, 14, 99, dtype=minitorch.float64).to(getattr(minitorch, dtype)).to(where)
    one = minitorch.ones(1, 1, dtype=x.dtype, device=where).array
    for activation, alone in (("gelu", F.gelu),
                              ("gelu_tanh", lambda x: F.gelu(x, approximate="tanh")), ("silu", F.silu)):
        found = device.to_host(product(device, x.array.reshape(-1, 1), one, activation=activation)).reshape(-1)
        assert found.tobytes() == device.to_host(alone(x).array).tobytes()
