"""rope, add_layer_norm and add_rms_norm against other ways to compute the same."""

import numpy as np
import pytest

import minitorch
import minitorch.nn.functional as F

rng = np.random.default_rng(0)


def normal(*shape, dtype=minitorch.float64):
    return minitorch.tensor(rng.normal(size=shape), dtype=dtype, requires_grad=True)


def tables(length, width):
    """cos and sin of the angles of the paper, (T, D / 2)."""
    angles = np.outer(np.arange(length), 10000.0 ** (-np.arange(0, width, 2) / width))
    return minitorch.tensor(np.cos(angles)), minitorch.tensor(np.sin(angles))


@pytest.mark.parametrize("interleaved", [False, True])
def test_rope_multiplies_complex_numbers(interleaved):
    x, (cos, sin) = normal(2, 3, 5, 8), tables(5, 8)
    out = F.rope(x, cos, sin, interleaved).detach().numpy()
    a = x.detach().numpy()
    real, imag = (a[..., ::2], a[..., 1::2]) if interleaved else (a[..., :4], a[..., 4:])
    turned = (real + 1j * imag) * (cos.numpy() + 1j * sin.numpy())
    parts = (out[..., ::2], out[..., 1::2]) if interleaved else (out[..., :4], out[..., 4:])
    np.testing.assert_allclose(parts[0], turned.real, atol=1e-14)
    np.testing.assert_allclose(parts[1], turned.imag, atol=1e-14)


@pytest.mark.parametrize("interleaved", [False, True])
def test_rope_makes_scores_depend_on_distances_only(interleaved):
    q, k, (cos, sin) = normal(1, 6), normal(1, 6), tables(9, 6)
    rows = [F.rope(v.expand(9, 6), cos, sin, interleaved) for v in (q, k)]
    scores = (rows[0] @ rows[1].T).detach().numpy()
    for shift in range(-8, 9):
        np.testing.assert_allclose(np.diag(scores, shift), scores.diagonal(shift)[0], atol=1e-12)


def test_rope_says_what_fits():
    with pytest.raises(RuntimeError, match="even last dimension"):
        F.rope(normal(2, 3), normal(2, 1), normal(2, 1))
    for shape in ((3, 4), (2, 2), (2, 3, 2), ()):
        with pytest.raises(RuntimeError, match=r"sin of a size that broadcasts to \[3, 2\]"):
            F.rope(normal(3, 4), normal(3, 2), normal(*shape))


def test_rope_of_halves_is_rounded_once():
    x, (cos, sin) = normal(5, 8, dtype=minitorch.float16), (t.half() for t in tables(5, 8))
    out = F.rope(x, cos, sin)
    assert out.dtype is minitorch.float16
    assert minitorch.equal(out, F.rope(x.float(), cos.float(), sin.float()).half())
    assert F.rope(x, cos.float(), sin.float()).dtype is minitorch.float32


def gradients(pair, weights, inputs):
    loss = sum((a * w).sum() for a, w in zip(pair, weights) if w is not None)
    return minitorch.autograd.grad(loss, inputs)


@pytest.mark.parametrize("used", [(True, True), (True, False), (False, True)])
def test_add_norms_are_a_sum_and_a_norm(used):
    x, r, w, b = normal(4, 3, 7), normal(4, 3, 7), normal(7), normal(7)
    seeds = [normal(4, 3, 7).detach() if u else None for u in used]
    pairs = [(lambda: F.add_layer_norm(x, r, w, b), lambda s: F.layer_norm(s, (7,), w, b), [x, r, w, b]),
             (lambda: F.add_layer_norm(x, r), lambda s: F.layer_norm(s, (7,)), [x, r]),
             (lambda: F.add_rms_norm(x, r, w), lambda s: F.rms_norm(s, (7,), w), [x, r, w])]
    for fused, norm, inputs in pairs:
        total = x + r
        inputs = inputs if used[0] else inputs[:2]
        wanted, got = (norm(total), total), fused()
        for a, c in zip(got, wanted):
            np.testing.assert_allclose(a.detach().numpy(), c.detach().numpy(), rtol=1e-13)
        for a, c in zip(gradients(got, seeds, inputs), gradients(wanted, seeds, inputs)):
            np.testing.assert_allclose(a.numpy(), c.numpy(), rtol=1e-10, atol=1e-12)


def test_add_norms_want_one_shape():
    with pytest.raises(RuntimeError, match=r"residual to have the size of input, \[2, 3\], but got \[3\]"):
        F.add_layer_norm(normal(2, 3), normal(3))
    with pytest.raises(RuntimeError, match="same shape as normalized_shape"):
        F.add_rms_norm(normal(2, 3), normal(2, 3), normal(2))


def test_a_float32_residual_stream_takes_halves():
    x, r = normal(2, 4, dtype=minitorch.float16), normal(2, 4, dtype=minitorch.float32)
    out, total = F.add_rms_norm(x, r)
    assert out.dtype is total.dtype is minitorch.float32
    (out.sum() + total.sum()).backward()
    assert x.grad.dtype is minitorch.float16 and r.grad.dtype is minitorch.float32


@pytest.mark.parametrize("recorded", [False, True])
def test_halves_stay_halves(recorded):
    x, w = (normal(*s, dtype=minitorch.float16).detach().requires_grad_(recorded) for s in ((5, 4), (4,)))
    pair = F.add_layer_norm(x, x, w)
    batch = F.batch_norm(x, None, None, w, None, True)     # which has several results and keeps something, too
    assert [t.dtype for t in (*pair, batch)] == [minitorch.float16] * 3
    if recorded:
        (pair[0].sum() + pair[1].sum()).backward()
        assert x.grad.dtype is w.grad.dtype is minitorch.float16
