"""Where the plain sum is zero so is the result: every definition and its gradients, on all ways.

Methods that mix numbers leave 1e-9 there, and what takes the sign of a gradient reads noise. So
every definition is called on inputs with regions of zeros, by its kernels and by its reference, and
zeros are compared.
"""

import random
from contextlib import contextmanager, nullcontext

import numpy as np
import pytest

import minitorch
from minitorch.autograd import api
from minitorch.backends import convolution_method, native
from minitorch.backends.cpu import backend as host
from minitorch.core import layers
from minitorch.core.device import get
from minitorch.core.tensor import Tensor, wrap
from minitorch.testing.strategies import Draw
from tests.helpers.op_calls import definitions_with_inputs, outputs_of

cpu = get("cpu")


@contextmanager
def references():
    """The CPU without any kernels."""
    before, host.cpu.kernels = host.cpu.kernels, {}
    layers.change(layers.stack)
    try:
        yield
    finally:
        host.cpu.kernels = before
        layers.change(layers.stack)


def small_native():
    from minitorch.backends.native import eager

    @contextmanager
    def any_size():
        least, eager.limits.least = eager.limits.least, 1
        try:
            with native.enabled():
                yield
        finally:
            eager.limits.least = least
    return any_size()


needs_compiler = pytest.mark.skipif(native.reason() is not None, reason="needs a compiler")
in_c = pytest.param(small_native, marks=needs_compiler, id="native")
each_way = pytest.mark.parametrize("way", [pytest.param(nullcontext, id="NumPy"), in_c])


def with_dead_regions(rng, x):
    """`x` with a block of zeros."""
    x = x.copy()
    block = [slice(*sorted(rng.sample(range(n + 1), 2))) if n and rng.random() < 0.7 else slice(None)
             for n in x.shape]
    x[tuple(block)] = 0
    return x


def sparse(rng, shape, dtype="f"):
    """Random numbers with a block of zeros."""
    return with_dead_regions(rng, Draw(rng).array(tuple(shape))).astype(dtype)


def results_and_gradients(op, arrays, attrs, rng):
    """The results of a recorded call, and the first gradients of all inputs."""
    tensors = [wrap(x.copy(), cpu).requires_grad_(x.dtype.kind == "f")
               if isinstance(x, np.ndarray) else x for x in arrays]
    outputs = outputs_of(op, tensors, attrs)
    live = [t for t in outputs if t.needs_grad]
    leaves = [t for t in tensors if isinstance(t, Tensor) and t.needs_grad]
    found = list(outputs)
    if live:
        seeds = [wrap(sparse(rng, t.shape, t.array.dtype), cpu) for t in live]
        first = api.grad(live, leaves, seeds, allow_unused=True)
        found += [g for g in first if g is not None]
    return [t.detach().numpy() for t in found]


@each_way
@pytest.mark.parametrize("op", definitions_with_inputs(), ids=lambda op: op.name)
@pytest.mark.filterwarnings("ignore")
def test_zeros_stay(op, way):
    for seed in range(2):
        rng = random.Random(seed)
        arrays, attrs = Draw(rng).op_sample(op)
        arrays = [with_dead_regions(rng, x).astype("f")
                  if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x for x in arrays]
        try:
            with references():
                wanted = results_and_gradients(op, arrays, attrs, random.Random(seed))
        except (NotImplementedError, RuntimeError, ValueError, TypeError):
            continue                                       # nothing of this dtype, or of zeros
        with way():
            found = results_and_gradients(op, arrays, attrs, random.Random(seed))
        for a, b in zip(found, wanted, strict=True):
            if b.dtype.kind in "fc":
                assert not a[b == 0].any(), f"{(a[b == 0] != 0).sum()} zeros are lost"


# ---- convolution, in sizes that transforms take ---------------------------------------------------
def forced(name):
    return lambda: convolution_method(name)


def draw_convolution(rng):
    """The function, its input, weight and bias, all with dead regions."""
    n, groups, transposed = rng.choice([1, 2, 2, 2, 3]), rng.choice([1, 1, 2]), rng.random() < 0.3
    plain = rng.random() < 0.6                             # for Winograd's tiles
    kernel = [3] * n if plain else [rng.randint(1, 5 if n < 3 else 3) for _ in range(n)]
    options = dict(padding=rng.randint(0, 2), groups=1) if plain else dict(
        padding=rng.randint(0, 2), stride=rng.choice([1, 1, 2]), dilation=rng.choice([1, 1, 2]),
        groups=groups)
    channels, outputs = [16 if plain and n == 2 else 2 * rng.choice([1, 4]) for _ in range(2)]
    size = [rng.randint(9, 20 if n == 1 else 12) if n < 3 else 9 for _ in range(n)]
    first, second = (channels, outputs) if transposed else (outputs, channels)
    x = sparse(rng, (rng.randint(1, 3), channels, *size))
    w = sparse(rng, (first, second // options["groups"], *kernel))
    f = getattr(minitorch.nn.functional, f"conv{'_transpose' * transposed}{n}d")
    return f, options, x, w, sparse(rng, (outputs,))


def derivatives(f, options, x, w, b, seed):
    """The convolution, its gradients, and the gradients of a sum of those."""
    rng = random.Random(seed)
    x, w, b = leaves = [minitorch.from_numpy(v.copy()).requires_grad_() for v in (x, w, b)]
    y = f(x, w, b * 0, **options)
    g = minitorch.from_numpy(sparse(rng, y.shape)).requires_grad_()
    first = api.grad(y, leaves, g, create_graph=True)
    seeds = [minitorch.from_numpy(sparse(rng, t.shape)) for t in first]
    second = api.grad(first[:2], [x, w, g], seeds[:2], allow_unused=True)
    return [t.detach().numpy() for t in (y, *first[:2], *second) if t is not None]


winograd, fft = [pytest.param(forced(name), id=name) for name in ("winograd", "fft")]


@pytest.mark.parametrize("way", [pytest.param(nullcontext, id="NumPy"), winograd, fft, in_c])
def test_zeros_stay_in_convolutions_and_their_derivatives(way):
    for seed in range(20):
        f, options, *arrays = draw_convolution(random.Random(seed))
        with references():
            wanted = derivatives(f, options, *arrays, seed)
        with way():
            found = derivatives(f, options, *arrays, seed)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)
            assert not a[b == 0].any(), (f.__name__, options, [v.shape for v in arrays])


def dot(channels, outputs):
    """One pixel that lives, and a weight."""
    x = minitorch.zeros(4, channels, 32, 32)
    x[:, :, 4, 4] = 1
    return x, minitorch.randn(outputs, channels, 3, 3)


@pytest.mark.parametrize("channels, outputs", [(3, 4), (32, 32)])
def test_one_pixel_reaches_its_windows_alone(channels, outputs):
    x, weight = dot(channels, outputs)
    assert (minitorch.nn.functional.conv2d(x, weight, padding=1) != 0).sum() == 4 * outputs * 9


@needs_compiler
def test_one_pixel_reaches_its_windows_alone_in_a_compiled_function():
    x, weight = dot(32, 32)
    conv2d = minitorch.nn.functional.conv2d
    f = minitorch.compile(lambda x, w: conv2d(x, w, padding=1) * 2, backend="c")
    for _ in range(2):
        assert (f(x, weight) != 0).sum() == 4 * 32 * 9


@pytest.mark.parametrize("way", [winograd, in_c])
def test_products_that_cancel_are_zero(way):
    """Whole numbers have exact sums, and small results are summed plainly."""
    rng = np.random.default_rng(0)
    x = minitorch.from_numpy(rng.integers(-3, 4, (2, 16, 12, 12)).astype("f"))
    w = minitorch.from_numpy(rng.choice([-1, 1], (16, 16, 3, 3)).astype("f"))
    wanted = minitorch.nn.functional.conv2d(x.long(), w.long())
    with way():
        found = minitorch.nn.functional.conv2d(x, w)
    assert (wanted == 0).any()
    assert ((found == 0) == (wanted == 0)).all()
