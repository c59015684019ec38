"""Dropout inside attention: the kernels' draw against the reference's, its rate, seeds, captured graphs, plans."""

import numpy as np
import pytest

import minitorch
import minitorch.nn.functional as F
from minitorch.backends.cuda.ops import attention
from minitorch.random.philox import Place
from tests.backends.cuda.kernel_checks import DTYPES, device, launches
from tests.backends.cuda.test_attention import BACKWARD, FORWARD, check, inputs

f16, bf16, f32, f64 = DTYPES.values()


@pytest.mark.parametrize(("dtype", "query", "key", "mask", "causal"), [
    (bf16, (2, 2, 37, 64), (2, 1, 45, 64), None, True), (f16, (2, 20, 72), (2, 35, 72), "numbers", False),
    (f32, (1, 20, 68), (1, 20, 68), "bools", False)], ids=str)
def test_attention(dtype, query, key, mask, causal):
    """The reference multiplies the weights by what the words of the draw say, forward and backward."""
    arrays = inputs(dtype, query, key, mask)
    place = Place(7 << 40 | 3, 12)
    assert check(arrays, scale=0.3, causal=causal, p=0.4, place=place)[1] == FORWARD + BACKWARD


def dropped(q, k, v):
    """Attention by the first draw of a seed."""
    minitorch.manual_seed(5)
    return F.scaled_dot_product_attention(q, k, v, dropout_p=0.3)


def test_rate_and_gradients_of_the_mask():
    """Equal weights and values that are unit vectors give the mask itself; with it in float64, gradients follow."""
    n, where = 64, device.device
    nothing, units = minitorch.zeros(2, 2, n, n, device=where), minitorch.eye(n, device=where).expand(2, 2, n, n)
    mask = dropped(nothing, nothing, units).cpu().double() * n
    kept = (mask != 0).numpy().reshape(4, -1)
    assert abs(mask[mask != 0] - 1 / 0.7).max() < 1e-5
    assert abs(kept.mean() - 0.7) < 5 * (0.3 * 0.7 / kept.size) ** 0.5         # five deviations of a binomial number
    assert abs(np.corrcoef(kept) - np.eye(4)).max() < 5 / kept.shape[1] ** 0.5

    rng, found = np.random.default_rng(0), []
    arrays = [minitorch.tensor(rng.normal(size=(2, 2, n, n)).astype("f4")) for _ in range(4)]
    for on, kind in (("cpu", minitorch.float64), (where, minitorch.float32)):
        *xs, g = [x.to(device=on, dtype=kind).requires_grad_() for x in arrays]
        with launches() as names:
            out = (minitorch.softmax(xs[0] @ xs[1].mT / 8, -1) * mask) @ xs[2] if on == "cpu" else dropped(*xs)
            out.backward(g)
        found.append([x.detach().cpu().double().numpy() for x in (out, *[x.grad for x in xs])])
    assert [x for x in names if x.startswith("attention")] == FORWARD + BACKWARD
    for a, b in zip(*found):
        assert abs(a - b).max() < 1e-5 * abs(a).max()


def test_seeds_and_captured_graphs():
    """Each call draws new numbers, the same after the same seed; so does each run of a graph,
    forward and backward alike."""
    q, k, v = [x.requires_grad_() for x in minitorch.randn(3, 1, 2, 20, 64, device=device.device).unbind()]

    def step():
        q.grad = None
        out = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
        out.sum().backward()
        return out.detach(), q.grad
    minitorch.manual_seed(1)
    wanted = [[x.cpu().numpy() for x in step()] for _ in range(4)]
    assert all((a[0] != b[0]).any() for a, b in zip(wanted, wanted[1:]))
    minitorch.manual_seed(1)
    graph = minitorch.cuda.CUDAGraph(device.device)
    step()
    minitorch.manual_seed(1)
    with minitorch.cuda.graph(graph):
        made = step()
    for row in wanted:
        graph.replay()
        for a, b in zip(made, row):
            np.testing.assert_array_equal(a.cpu().numpy(), b)


def test_what_the_kernel_leaves_to_the_reference_is_the_same_draw():
    """Heads of 136 features go by products and softmax; all or nothing dropped needs no kernel."""
    arrays = [device.from_host(x) for x in inputs(f32, (2, 20, 136), (2, 20, 136), None)[1:4]]
    short = [device.from_host(x[..., :64].copy()) for x in inputs(f32, (2, 20, 136), (2, 20, 136), None)[1:4]]
    how = dict(scale=1e-6, p=0.5, place=Place(3, 8))       # all weights nearly equal
    found = [device.to_host(attention.scaled_dot_product_attention(device, *x, **how)[0]) for x in (arrays, short)]
    np.testing.assert_allclose(found[0][..., :64], found[1], rtol=1e-4, atol=1e-5)
    q, k, v = [minitorch.ones(1, 5, 8, device=device.device) for _ in range(3)]
    assert (F.scaled_dot_product_attention(q, k, v, dropout_p=1.0) == 0).all()
    assert (F.scaled_dot_product_attention(q, k, v, dropout_p=-0.5) == 1).all()
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        F.scaled_dot_product_attention(q, k, v, dropout_p=1.5)
