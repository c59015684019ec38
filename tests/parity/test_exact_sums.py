"""How far reductions in float32 are off, beside PyTorch's: at most twice as far, and a few units in the last place."""

import numpy as np
import pytest

import minitorch

torch = pytest.importorskip("torch", reason="PyTorch is the yardstick")

EPS = np.finfo(np.float32).eps
rng = np.random.default_rng(0)

INPUTS = {
    "tenths, a million rows": np.full((1_000_000, 4), 0.1, "f"),
    "years": rng.integers(2000, 2021, (300_000, 2)).astype("f"),
    "far from 0": (rng.standard_normal((100_000, 3)) + 1e4).astype("f"),
    "noise": rng.standard_normal((50_000, 5)).astype("f"),
    "an image": rng.random((300, 400, 3), dtype="f"),
    "a batch": rng.random((3000, 4, 5, 5), dtype="f") + 7,
    "a crop": rng.random((500, 400, 4), dtype="f")[:, :350, :3],
    "transposed": np.full((4, 200_000), 0.1, "f").T,
    "rows of a thousand": np.full((50, 1000), 0.1, "f"),
    "long rows": np.full((3, 50_000), 0.1, "f"),
    "few": (rng.random((33, 7), dtype="f") + 1000),
}
ALONG = {"sum": lambda x, d: x.sum(d), "mean": lambda x, d: x.mean(d), "std": lambda x, d: x.std(d),
         "var": lambda x, d: x.var(d), "nansum": lambda x, d: x.nansum(d), "norm": lambda x, d: x.norm(2, dim=d),
         "norm 1": lambda x, d: x.norm(1, dim=d), "norm 3": lambda x, d: x.norm(3, dim=d),
         "logsumexp": lambda x, d: (x / 1024).logsumexp(d)}
RUNNING = {"cumsum": lambda x, d: x.cumsum(d), "logcumsumexp": lambda x, d: (x / 1024).logcumsumexp(d)}


def compare(function, x, size):
    """`size` are the magnitudes, in float64, that units in the last place are those of."""
    wanted = function(torch.from_numpy(x).double()).numpy()
    found, theirs = [function(lib.from_numpy(x)).numpy() for lib in (minitorch, torch)]
    mine, allowed = np.abs(found - wanted), 2 * np.abs(theirs - wanted).max() + 8 * EPS * size
    assert (mine <= allowed).all(), (mine.max(), np.abs(theirs - wanted).max())


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("reduction", ALONG)
def test_reductions_are_as_exact(name, reduction):
    x = INPUTS[name]
    wide = np.abs(x.astype("d"))
    dims = [*range(x.ndim), tuple(range(x.ndim - 1)), tuple(range(1, x.ndim))] + ([(0, 2, 3)] if x.ndim == 4 else [])
    for d in dims:
        if wide.size > 10**6 and d != 0:                   # one large sum is enough
            continue
        size = wide.sum(d) if "sum" in reduction else None
        if size is None:
            size = np.abs(ALONG[reduction](torch.from_numpy(x).double(), d).numpy())
        compare(lambda t, d=d: ALONG[reduction](t, d), x, size)


@pytest.mark.parametrize("name", ["years", "noise", "an image", "few"])
@pytest.mark.parametrize("running", RUNNING)
def test_running_sums_are_as_exact(name, running):
    x = INPUTS[name][:20_000]
    for d in range(x.ndim):
        compare(lambda t, d=d: RUNNING[running](t, d), x, np.abs(x.astype("d")).cumsum(d) / 1024 ** ("log" in running)
                + 10)


@pytest.mark.parametrize("shape", [(100_000, 3), (2000, 3, 6, 6)])
def test_batch_norm_is_as_exact(shape):
    x = (rng.standard_normal(shape) + 1000).astype("f")

    def run(lib, dtype):
        leaf = [lib.from_numpy(v).to(dtype).requires_grad_() for v in (x, np.ones(3, "f"), np.zeros(3, "f"))]
        y = lib.nn.functional.batch_norm(leaf[0], None, None, *leaf[1:], training=True)
        (y * y * y).mul(0.1).sum().backward()
        return [y.detach().numpy(), *(v.grad.numpy() for v in leaf)]
    exact = run(torch, torch.float64)
    for mine, theirs, wanted in zip(run(minitorch, minitorch.float32), run(torch, torch.float32), exact):
        of_mean = EPS * 1000 * max(1, np.abs(wanted).max())                     # a unit in the last place of the mean
        assert np.abs(mine - wanted).max() <= 2 * np.abs(theirs - wanted).max() + of_mean


@pytest.mark.parametrize("offset", [0, 1e4, 1e6, 1e8])
def test_cross_entropy_is_as_exact(offset):
    z = (rng.standard_normal((1000, 10)) + offset).astype("f")
    target = rng.integers(0, 10, 1000)
    for reduction in ("none", "mean", "sum"):
        def loss(t, reduction=reduction):
            lib = torch if isinstance(t, torch.Tensor) else minitorch
            return lib.nn.functional.cross_entropy(t, lib.from_numpy(target), reduction=reduction)
        compare(loss, z, np.abs(loss(torch.from_numpy(z).double()).numpy()) + 1)


@pytest.mark.parametrize("shape", [((1, 2, 48, 48), (2, 2, 25, 25), 12, 1), ((1, 64, 32, 32), (64, 64, 3, 3), 1, 1),
                                   ((2, 64, 40, 40), (64, 1, 3, 3), 1, 64)], ids=["fft", "winograd", "depthwise"])
@pytest.mark.parametrize("value", [1e7, np.inf, np.nan])
@pytest.mark.parametrize("which", [0, 1, 2], ids=["input", "weight", "gradient"])
def test_convolutions_smear_no_more(shape, value, which):
    """As many results that are not finite, and the others not further off."""
    if which == 1 and not np.isfinite(value):
        pytest.skip("weights that are not finite are multiplied by the padding, too (docs/differences_from_pytorch.md)")
    size, kernel, padding, groups = shape
    arrays = [rng.standard_normal(s).astype("f") for s in (size, kernel, (size[0], kernel[0], *size[2:]))]
    arrays[which][0, 0, kernel[2] // 2, kernel[3] // 2] = value             # no window reaches over it into padding

    def run(lib, dtype):
        x, w, g = [lib.from_numpy(v).to(dtype) for v in arrays]
        y = lib.nn.functional.conv2d(x.requires_grad_(), w.requires_grad_(), padding=padding, groups=groups)
        y.backward(g)
        return [v.detach().numpy() for v in (y, x.grad, w.grad)]
    for mine, theirs, wanted in zip(run(minitorch, minitorch.float32), run(torch, torch.float32),
                                    run(torch, torch.float64)):
        finite = np.isfinite(wanted)
        np.testing.assert_array_equal(np.isfinite(mine), np.isfinite(theirs))
        usual = np.median(np.abs(wanted[finite])) if finite.any() else 0
        assert (np.abs(mine - wanted)[finite] <= 8 * np.abs(theirs - wanted)[finite] + 1e-5 * usual
                + 1e-5 * np.abs(wanted[finite])).all()
