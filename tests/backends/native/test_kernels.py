"""Native kernels of eager calls: each against its reference, because it exists, and in what programs do with them.

The comparison is that of `cpu/test_kernels.py`, with every size sent to the native kernels.
"""

import random

import numpy as np
import pytest

import minitorch
from minitorch.backends import native
from minitorch.backends.cpu.backend import cpu
from minitorch.core.backend import widened
from minitorch.core.registry import OPS
from minitorch.testing.strategies import Draw
from tests.backends.cpu.test_kernels import Large, call, cast, compare, layouts

if native.reason() is not None:
    pytest.skip(f"native kernels need a compiler: {native.reason()}", allow_module_level=True)

from minitorch.backends.native import eager, ops  # noqa: E402,F401

each_kernel = pytest.mark.parametrize("name", sorted(eager.kernel.found))
DTYPES = ["float64", "float32"]


@pytest.fixture(autouse=True)
def on(monkeypatch):
    """Native kernels, for arrays of any size."""
    monkeypatch.setattr(eager.limits, "least", 1)
    with native.enabled():
        yield


# ---- each kernel against its reference ---------------------------------------------------------------------
def samples_of(name, dtype):
    rng, row, own = random.Random(name), OPS[name], eager.kernel.found[name].sample
    draws = [Draw(rng).op_sample(row) for _ in range(3)] + [Large(rng).op_sample(row) for _ in range(2)]
    draws += [own(Draw(rng)) for _ in range(6 if own else 0)]
    for inputs, attrs in draws:
        yield [cast(x, dtype) for x in inputs], attrs


def kernel_of(name, lean=False):
    found = eager.kernel.found[name]
    function = (found.lean if lean else found).__get__(cpu)
    row = OPS[name]
    return function if found.takes_halves or not row.promotion or row.native else widened(cpu, function, not lean
                                                                                          and row.keeps)


@each_kernel
@pytest.mark.parametrize("dtype", DTYPES)
def test_kernel_agrees_with_its_reference(name, dtype):
    reference, lean = getattr(cpu.reference, name), eager.kernel.found[name].lean
    for inputs, attrs in samples_of(name, dtype):
        for arrays in layouts(inputs):
            before = [x.copy() if isinstance(x, np.ndarray) else x for x in arrays]
            expected = call(reference, arrays, attrs)
            compare(name, call(kernel_of(name), arrays, attrs), expected, arrays)
            if lean:
                compare(name, call(kernel_of(name, True), arrays, attrs), expected[:1], arrays)
            for x, old in zip(arrays, before):
                assert not isinstance(x, np.ndarray) or np.array_equal(x, old, x.dtype.kind == "f"), "input written to"


@each_kernel
def test_samples_reach_the_native_code(name, monkeypatch):
    """Not only what lies under it."""
    reached = []
    original = eager.compiled

    def noted(file, function, *rest):
        reached.append(function)
        return original(file, function, *rest)
    monkeypatch.setattr(eager, "compiled", noted)
    for dtype in DTYPES:
        reached.clear()
        for inputs, attrs in samples_of(name, dtype):
            call(kernel_of(name), inputs, attrs)
        assert reached, f"all samples are refused: give kernel({name!r}) a sample="


# ---- special values, sizes, layouts ------------------------------------------------------------------------
SPECIAL = [0.0, -0.0, 1.5, -2.0, 90.0, -120.0, 1e-40, np.inf, -np.inf, np.nan]


def same_values(found, expected, dtype):
    room = 64 * np.finfo(dtype).eps
    np.testing.assert_allclose(found, expected, room, room)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["relu", "silu", "gelu"])
def test_elementwise_kernels_agree_on_special_values(name, dtype):
    x = np.array(SPECIAL * 5 + [1.0], dtype)
    for attrs in [dict(approximate=a) for a in ("none", "tanh")] if name == "gelu" else [{}]:
        found, expected = [call(f, [x], attrs)[0] for f in (kernel_of(name), getattr(cpu.reference, name))]
        same_values(found, expected, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["gelu_backward", "silu_backward", "relu_backward", "threshold_backward"])
def test_slopes_agree_on_special_values(name, dtype):
    x = np.array([v for v in SPECIAL if np.isfinite(v) or v != v] * 5, dtype)
    attrs = dict(level=0) if name == "threshold_backward" else {}
    found, expected = [call(f, [np.ones_like(x), x], attrs)[0] for f in (kernel_of(name), getattr(cpu.reference, name))]
    same_values(found, expected, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "layer_norm", "cross_entropy", "max_pool", "batch_norm"])
@pytest.mark.parametrize("special", SPECIAL[-3:] + [1e30], ids=str)
def test_rows_keep_to_themselves_what_is_no_number(name, dtype, special):
    x = np.random.default_rng(0).standard_normal((6, 3, 40)).astype(dtype)
    x[1, 1, 7] = x[2, 0, 0] = special
    inputs, attrs = [x], dict(dim=-1)
    if name == "layer_norm":
        attrs = dict(dims=(2,), eps=1e-5)
    elif name == "batch_norm":
        attrs = dict(dims=(0, 2), eps=1e-5)
    elif name == "max_pool":
        attrs = dict(pooling=minitorch.ops.nn.pool.Pooling((3,), (2,), (1,), (1,), (20,)))
    elif name == "cross_entropy":
        inputs, attrs = [x.reshape(18, 40), np.arange(18)], dict(reduction="none")
    expected, found = [call(f, inputs, attrs)[0] for f in (getattr(cpu.reference, name), kernel_of(name))]
    for a, b in zip(*[y if isinstance(y, tuple) else [y] for y in (found, expected)]):
        same_values(a, b, dtype)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (1, 5000), (33, 17)], ids=str)
def test_sizes_of_one(shape):
    x = minitorch.randn(*shape, requires_grad=True)
    g = minitorch.randn(*shape)
    for f in (lambda x: minitorch.softmax(x, -1), lambda x: minitorch.log_softmax(x, 1), minitorch.nn.functional.gelu,
              lambda x: minitorch.nn.functional.layer_norm(x, shape[1:], minitorch.full(shape[1:], 2.0))):
        with native.enabled(False):
            expected = f(x), *minitorch.autograd.grad(f(x), x, g)
        for a, b in zip((f(x), *minitorch.autograd.grad(f(x), x, g)), expected):
            minitorch.testing.assert_close(a, b)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)], ids=str)
def test_nothing_is_left_to_numpy(shape):
    x = minitorch.empty(shape)
    assert minitorch.softmax(x, -1).shape == x.shape and minitorch.relu(x).shape == x.shape


def test_targets_out_of_range_are_refused():
    x, y = minitorch.randn(200, 40), minitorch.full((200,), 40)
    with pytest.raises(IndexError, match="Target 40 is out of bounds"):
        minitorch.nn.functional.cross_entropy(x, y)
    ignored = minitorch.full((200,), -100)
    assert minitorch.nn.functional.cross_entropy(x, ignored).isnan()


# ---- in programs -------------------------------------------------------------------------------------------
def make_model():
    nn = minitorch.nn
    minitorch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(2, 8, 3, stride=2, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(72, 20, bias=False), nn.LayerNorm(20), nn.GELU(), nn.Linear(20, 10))


def train(steps=4, optimizer="AdamW", **options):
    model = make_model()
    stepping = getattr(minitorch.optim, optimizer)(model.parameters(), lr=0.01, **options)
    x, y = minitorch.randn(16, 2, 14, 14), minitorch.arange(16) % 10
    for _ in range(steps):
        stepping.zero_grad()
        loss = minitorch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        stepping.step()
    return [loss, *model.parameters()]


@pytest.mark.parametrize("optimizer, options", [
    ("AdamW", {}), ("Adam", dict(amsgrad=True, weight_decay=0.1, maximize=True)), ("SGD", dict(momentum=0.9,
     nesterov=True)), ("SGD", dict(momentum=0.5, dampening=0.5, weight_decay=0.1)), ("SGD", dict(maximize=True))])
def test_training_gives_the_same(optimizer, options):
    native_state = train(optimizer=optimizer, **options)
    with native.enabled(False):
        expected = train(optimizer=optimizer, **options)
    for a, b in zip(native_state, expected):
        minitorch.testing.assert_close(a, b, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN"])
def test_a_graph_can_be_recorded_with_native_kernels_and_run_without(mode):
    x = minitorch.randn(5, 3, 4, requires_grad=True)
    model = getattr(minitorch.nn, mode)(4, 6, bidirectional=True)
    grads = []
    for forward, backward in ((True, True), (True, False), (False, True), (False, False)):
        with native.enabled(forward):
            y = minitorch.nn.functional.gelu(minitorch.nn.functional.layer_norm(model(x)[0], (12,)))
            loss = minitorch.nn.functional.cross_entropy(y.reshape(15, 12), minitorch.arange(15) % 12)
        with native.enabled(backward):
            grads.append(minitorch.autograd.grad(loss, [x, *model.parameters()]))
    for others in grads[1:]:
        for a, b in zip(grads[0], others):
            minitorch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


def test_one_thread_and_two_give_the_same_bits(monkeypatch):
    from minitorch.backends.cpu.tuning import tuning
    from minitorch.backends.native import parts
    monkeypatch.setattr(parts, "ENOUGH", 200)
    found = []
    for n in (1, 2):
        with tuning.changed(threads=n):
            found.append(train(2))
    for a, b in zip(*found):
        assert np.array_equal(a.detach().numpy(), b.detach().numpy())


def test_views_writes_in_place_hooks_and_second_derivatives():
    F = minitorch.nn.functional
    base = minitorch.randn(40, 30, requires_grad=True)

    def program():
        x = base * 1
        x[3:9].mul_(2)
        x.t()[2] = 0.5
        y = F.layer_norm(x, (30,))
        y.register_hook(lambda g: g * 3)
        z = minitorch.softmax(y[:, :25], -1) + F.gelu(y.t())[:25].t()
        z.relu_()
        g, = minitorch.autograd.grad((z * z).sum(), base, create_graph=True)
        return z, g, *minitorch.autograd.grad((g * g).sum(), base)
    found = program()
    with native.enabled(False):
        expected = program()
    for a, b in zip(found, expected):
        minitorch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3)
    with minitorch.no_grad():
        x = minitorch.randn(30, 30)
        kept = x.clone()
        F.relu(x, inplace=True)
        assert minitorch.equal(x, kept.clamp(min=0))


def test_a_write_to_what_a_kernel_saved_is_noticed():
    x = minitorch.randn(20, 30, requires_grad=True)
    y = x * 1
    z = minitorch.nn.functional.gelu(y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="saved by gelu"):
        z.sum().backward()


@pytest.mark.parametrize("dtype", [minitorch.float16, minitorch.bfloat16])
def test_16_bit_floats_go_where_they_went(dtype):
    x = minitorch.randn(50, 60).to(dtype)
    f = lambda: minitorch.nn.functional.layer_norm(minitorch.softmax(x, -1), (60,))
    found = f()
    with native.enabled(False):
        expected = f()
    assert found.dtype == dtype
    minitorch.testing.assert_close(found, expected, rtol=0.02, atol=0.01)       # the softmax may round the other way


def test_off_means_off():
    with native.enabled(False):
        assert not native.is_enabled() and cpu.kernels is eager.host.kernel.found and cpu.stepping is None
    assert native.is_enabled()


def test_small_arrays_stay_with_numpy(monkeypatch):
    monkeypatch.setattr(eager.limits, "least", 4096)
    monkeypatch.setattr(eager, "compiled", lambda *args: pytest.fail("called C"))
    minitorch.softmax(minitorch.randn(3, 4), -1)
