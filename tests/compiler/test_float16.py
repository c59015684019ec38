"""float16 in compiled programs: rounded once after each call, as eager runs round it; sums are float32's."""

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch.backends import native
from tests.compiler.test_lowering import whole

needs_compiler = pytest.mark.skipif(native.reason() is not None, reason=f"{native.reason()}")


def every():
    """All numbers of float16, and the numbers of float32 where rounding to it changes."""
    half = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    real = np.sort(half[np.isfinite(half)].astype(np.float32))
    middle = ((real[:-1].astype(np.float64) + real[1:]) / 2).astype(np.float32)
    ends = np.float32([65519.99, 65520, 65536, 1e30, 2.0**-25, 2.0**-26, -2.0**-25, 1e-40, np.inf, -np.inf, np.nan])
    return half, np.concatenate([real, middle, *[np.nextafter(middle, np.float32(e)) for e in (np.inf, -np.inf)], ends])


def same(a, b):
    here = ~np.isnan(a)
    np.testing.assert_array_equal(a[here].view(np.uint16), b[here].view(np.uint16))
    assert np.isnan(b[~here]).all()


@needs_compiler
def test_widening_and_rounding_of_every_number():
    half, single = every()
    run = lambda x, y: (x.float(), x * 2, x + x * 0.3333, y.half(), (y * 1.0).half() - 1)
    compiled = torch.compile(run, backend="c")
    with np.errstate(all="ignore"):
        for _ in range(2):
            wide, *rest = compiled(torch.tensor(half), torch.tensor(single))
            wanted, *others = run(torch.tensor(half), torch.tensor(single))
            np.testing.assert_array_equal(wide.numpy(), wanted.numpy())
            for a, b in zip(others, rest):
                same(a.numpy(), b.numpy())
    whole(compiled)


@needs_compiler
def test_networks_and_their_gradients():
    rng = np.random.default_rng(0)
    x, w = (torch.tensor(rng.standard_normal(s).astype(np.float16)) for s in ((6, 8), (4, 8)))
    t, k = torch.tensor([3, 0, 1, 1, 2, 0]), torch.tensor([5, 0, 0])

    def run(x, w, t, k):
        y = F.layer_norm(F.gelu(F.linear(x, w)), (4,))
        return (F.cross_entropy(y, t), y.softmax(0), x[k].sum(0), x.index_select(1, k).cumsum(0),
                F.embedding(k, x).amax(1), x.gather(0, k[:, None]), torch.where(x > 0, x, x * 0.1).var(), y.argmax(),
                x.max(1).indices)
    compiled, found = torch.compile(run, backend="c"), []
    for f in (run, compiled, compiled):
        inputs = [v.clone().requires_grad_() for v in (x, w)]
        outs = f(*inputs, t, k)
        sum(o.float().square().sum() for o in outs if o.requires_grad).backward()
        found.append([o.detach().float().numpy() for o in (*outs, *[v.grad for v in inputs])])
        assert all(o.dtype in (torch.float16, torch.int64) for o in outs) and inputs[0].grad.dtype == torch.float16
    for other in found[1:]:
        for a, b in zip(found[0], other):
            np.testing.assert_allclose(b, a, 4e-3, 4e-3)
    whole(compiled)


def test_on_a_device():
    x = torch.tensor(np.random.default_rng(1).standard_normal((5, 40)).astype(np.float16), device="sim")
    run = lambda x: ((x * 2 + 1).abs().sqrt(), (x * 3 - 1).exp().float() * 0.1)
    compiled = torch.compile(run)
    for _ in range(2):
        for a, b in zip(run(x), compiled(x)):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(b.cpu().float().numpy(), a.cpu().float().numpy(), 2e-3)
    assert "CUDA: 2 kernels" in str(compiled.notes) or "CUDA: 1 kernels" in str(compiled.notes), compiled.notes


@needs_compiler
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_export_writes_16_bit_weights_as_they_lie_in_memory(tmp_path, dtype):
    net = torch.nn.Linear(3, 2).to(getattr(torch, dtype))
    path = torch.export_c(net, torch.ones(1, 3, dtype=getattr(torch, dtype)), str(tmp_path / "net.c"))
    bits = net.weight.detach().view(torch.int16).flatten().tolist()
    text = open(path).read()
    assert all(str(b % (1 << 16)) in text for b in bits) and "static const uint16_t" in text
