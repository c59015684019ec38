"""A few of everything on the simulator beside PyTorch on the CPU: values, dtypes and gradients."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is the yardstick of these tests")

import minitorch  # noqa: E402

try:
    minitorch.backends.get("sim")
except (ImportError, RuntimeError) as error:
    pytest.skip(f"kernels cannot run here: {error}", allow_module_level=True)

CALLS = {
    "arithmetic": lambda t, x, y: (x * y - x / (y * y + 1)) ** 2 + 3,
    "functions": lambda t, x, y: t.exp(x).log1p() + t.sin(y) * t.tanh(x) + t.sqrt(y * y + 1),
    "comparisons": lambda t, x, y: t.where(x > y, x, y) + t.maximum(x, y * 2) + x.clamp(-0.5, 0.5),
    "sums": lambda t, x, y: x.sum(1) + x.mean((1,)) + y.amax(1) + x.var(1) + y.norm(dim=1),
    "views": lambda t, x, y: x.t()[1:, ::2].reshape(-1) + y[::2, 1:].t().flatten(),
    "joins": lambda t, x, y: t.cat([x, y.flip(0)], 1).roll(1, 0).tril() + t.stack([x, y]).sum(),
    "products": lambda t, x, y: x @ y.t() + t.einsum("ij,kj->ik", x, y),
    "softmax": lambda t, x, y: x.softmax(1) * y.log_softmax(0),
    "activations": lambda t, x, y: sum(f(x) for f in (t.relu, t.nn.functional.gelu, t.nn.functional.silu,
                                                      t.sigmoid, t.nn.functional.softplus)),
    "norms": lambda t, x, y: t.nn.functional.layer_norm(x, (6,), y[0], y[1]) + t.nn.functional.rms_norm(y, (6,)),
    "linear": lambda t, x, y: t.nn.functional.linear(x, y, y[:, 0]),
    "convolution": lambda t, x, y: t.nn.functional.conv1d(x[None], y[:, :4, None].expand(4, 4, 3) * 1.0, padding=1),
    "pooling": lambda t, x, y: t.nn.functional.max_pool1d(x, 2) + t.nn.functional.avg_pool1d(y, 2),
    "indices": lambda t, x, y: x[[0, 2, 2]] + y.gather(1, t.zeros(3, 6, dtype=t.int64, device=y.device)),
    "scatter": lambda t, x, y: x.index_add(0, t.tensor([1, 1, 3, 0], device=x.device), y),
    "cumulative": lambda t, x, y: x.cumsum(1) + (y * 0.1).cumprod(0),
    "loss": lambda t, x, y: t.nn.functional.cross_entropy(x, t.tensor([0, 5, 2, 2], device=x.device), reduction="none")
    + t.nn.functional.mse_loss(x, y),
    "attention": lambda t, x, y: t.nn.functional.scaled_dot_product_attention(x[None], y[None], (x * y)[None],
                                                                              is_causal=True),
    "sort": lambda t, x, y: x.sort(1).values + y.topk(6, 1).values,
}


@pytest.mark.parametrize("name", CALLS)
def test_beside_pytorch(name):
    rng = np.random.default_rng(len(name))
    arrays = [rng.standard_normal((4, 6), np.float32) for _ in range(2)]
    results = []
    for library, device in ((torch, "cpu"), (minitorch, "sim")):
        inputs = [library.tensor(a, device=device, requires_grad=True) for a in arrays]
        out = CALLS[name](library, *inputs)
        (out * out).sum().backward()
        results.append([out, *[x.grad for x in inputs]])
    for theirs, ours in zip(*results):
        if theirs is None:
            assert ours is None
            continue
        assert str(ours.dtype) == str(theirs.dtype) and tuple(ours.shape) == tuple(theirs.shape)
        np.testing.assert_allclose(ours.detach().cpu().numpy(), theirs.detach().numpy(), rtol=2e-4, atol=2e-5)
