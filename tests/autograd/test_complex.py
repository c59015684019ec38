"""Gradients of complex numbers, in PyTorch's convention: ``dL/dx + i dL/dy`` for a real L of ``z = x + iy``."""

import math
import random

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn
from minitorch.autograd import api
from minitorch.backends.cpu.backend import cpu
from minitorch.core.registry import OPS
from minitorch.core.tensor import wrap
from minitorch.nn import functional as F
from minitorch.testing import GradcheckError
from minitorch.testing.strategies import Draw
from tests.helpers.op_calls import outputs_of
from tests.helpers.own_functions import Square

L = torch.linalg
# Definitions whose results are unique up to phases only: tests below take functions that do not depend on them.
UP_TO_PHASES = {"svd", "eigh", "eig"}
ROWS = [row for row in OPS.values() if row.differentiable and "c" not in row.refuses and row.name not in UP_TO_PHASES
        and row.promotion not in ("floating", "norm") and (row.sample or row.inputs[0].kind != "variadic")]
OF_REALS = {"complex", "polar", "view_as_complex", "fft_half"}   # definitions that take real numbers only


def numbers(rng, shape, kind="c"):
    z = rng.normal(size=shape)
    return np.asarray(z + 1j * rng.normal(size=shape) if kind == "c" else z)


def tensor(*shape, seed=0, kind="c"):
    return torch.from_numpy(numbers(np.random.default_rng(seed), shape, kind)).requires_grad_()


# ---- every definition --------------------------------------------------------------------------------------
def sample(row, seed):
    """A sample of the definition with complex numbers for its floats; and which inputs have a gradient."""
    rng = np.random.default_rng(seed)
    arrays, attrs = Draw(random.Random(seed)).op_sample(row)
    kinds = [row.inputs[0]] * len(arrays) if row.inputs[0].kind == "variadic" else row.inputs
    live = [i for i, (x, kind) in enumerate(zip(arrays, kinds)) if isinstance(x, np.ndarray) and x.dtype.kind in "fc"
            and kind.kind != "other" and (row.joint or row.vjps[kind.name])]           # samples: no bfloat16
    if row.name not in OF_REALS:
        for i in live:
            arrays[i] = np.asarray(arrays[i] + 0.3j * rng.normal(size=arrays[i].shape))
    return list(arrays), attrs, live


def outputs(row, arrays, attrs, live=()):
    leaves = [wrap(x, cpu).requires_grad_(i in live) if isinstance(x, np.ndarray) else x for i, x in enumerate(arrays)]
    return [leaves[i] for i in live], outputs_of(row, leaves, attrs)


def along(grads, directions):
    """The change of L in the `directions`, by its gradients."""
    return sum(float((g.conj() * d).sum().real) for g, d in zip(grads, directions))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_first_and_second_derivatives_agree_with_differences(row):
    for seed in (0, 1):
        compare_with_differences(row, seed)


def compare_with_differences(row, seed):
    """Along a random direction: of L, a sum of results with complex weights, and of the gradient of L along another."""
    rng = np.random.default_rng(seed)
    arrays, attrs, live = sample(row, seed)
    leaves, outs = outputs(row, arrays, attrs, live)
    outs = [o if o.needs_grad else None for o in outs]
    weights = [o if o is None else numbers(rng, o.shape, o.array.dtype.kind) for o in outs]
    directions, others = [[numbers(rng, x.shape, x.array.dtype.kind) for x in leaves] for _ in range(2)]
    if not any(o is not None for o in outs) or not leaves:
        return

    def moved(step):
        changed = list(arrays)
        for i, d in zip(live, directions):
            changed[i] = np.asarray(arrays[i] + step * d)
        return changed

    def value(step):
        found = outputs(row, moved(step), attrs)[1]
        return sum(float((w.conj() * o.array).sum().real) for o, w in zip(found, weights) if w is not None)

    def first(step, create_graph=False):
        leaves, outs = outputs(row, moved(step), attrs, live)
        pairs = [(o, wrap(w, cpu)) for o, w in zip(outs, weights) if w is not None]
        return leaves, api.grad(*[[p[0] for p in pairs], leaves, [p[1] for p in pairs]],
                                create_graph=create_graph, materialize_grads=True)
    eps = 1e-6
    grads = [g.array for g in first(0)[1]]
    assert [g.dtype for g in grads] == [arrays[i].dtype for i in live]
    wanted = (value(eps) - value(-eps)) / (2 * eps)
    assert along(grads, directions) == pytest.approx(wanted, rel=2e-5, abs=2e-5)

    leaves, recorded = first(0, create_graph=True)
    for a, b in zip(recorded, grads):
        np.testing.assert_allclose(a.array, b, rtol=1e-9, atol=1e-9)
    live_grads = [(g, wrap(d, cpu)) for g, d in zip(recorded, others) if g.needs_grad]
    second = api.grad([g for g, _ in live_grads], leaves, [d for _, d in live_grads],
                      materialize_grads=True) if live_grads else ()
    wanted = [along([g.array for g in first(step)[1]], others) for step in (eps, -eps)]
    assert along([g.array for g in second], directions) == pytest.approx(
        (wanted[0] - wanted[1]) / (2 * eps), rel=5e-4, abs=5e-4)


def test_the_dtype_is_known_where_formulas_are_conjugated():
    assert {row.complex for row in OPS.values()} == {None, "holomorphic", "conjugate"}
    assert [row.name for row in OPS.values() if row.complex == "holomorphic" and not row.promotion] == []


@pytest.mark.parametrize("call", [
    torch.relu, F.gelu, F.leaky_relu, torch.erf, torch.lgamma, torch.sign, lambda z: z.softmax(0), lambda z: z.sort(),
    lambda z: z.max(), lambda z: z.clamp(0), lambda z: z.floor(), lambda z: z % 2, lambda z: z // 2, lambda z: z < z,
    lambda z: torch.atan2(z, z), lambda z: F.layer_norm(z, (3,)), lambda z: F.mse_loss(z, z),
    lambda z: F.max_pool1d(z[None], 2), lambda z: F.cross_entropy(z[None], torch.tensor([0]))])
def test_what_complex_numbers_do_not_have(call):
    with pytest.raises(NotImplementedError, match="not implemented for 'ComplexDouble'.*x.abs()"):
        call(tensor(3))


# ---- backward ----------------------------------------------------------------------------------------------
def test_the_convention():
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    (z * (2 - 1j)).real.sum().backward()                   # Re(w z) grows along conj(w)
    assert z.grad.tolist() == [2 + 1j, 2 + 1j] and z.grad.dtype is torch.complex64
    z.grad = None
    (z.abs() ** 2).sum().backward()                        # |z|^2 grows along 2 z
    torch.testing.assert_close(z.grad, 2 * z.detach())
    z.grad.zero_()
    (z * z).backward(torch.tensor([1j, 1]))
    torch.testing.assert_close(z.grad, torch.tensor([1j, 1]) * (2 * z.detach()).conj())
    (z * z).backward(torch.tensor([1j, 1]))                # added up
    torch.testing.assert_close(z.grad, 2 * torch.tensor([1j, 1]) * (2 * z.detach()).conj())


def test_a_step_against_the_gradient_descends():
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    optimizer = torch.optim.SGD([z], lr=0.1)
    losses = []
    for _ in range(50):
        optimizer.zero_grad()
        loss = ((z - (2 + 1j)).abs() ** 2).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True) and losses[-1] < 1e-6


def test_where_backward_starts():
    z = torch.tensor([1 + 2j], requires_grad=True)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for real scalar outputs but got "
                                           "torch.complex64"):
        z.sum().backward()
    with pytest.raises(RuntimeError, match="Mismatch in dtype: grad_output.0. has a dtype of torch.float32 and output"):
        (z * 2).backward(torch.ones(1))
    with pytest.raises(RuntimeError, match="are required to have the same dtype"):
        z.abs().backward(torch.tensor([1j]))
    (z * 2).backward(torch.ones(1, dtype=torch.complex128))
    assert z.grad.dtype is torch.complex64


@pytest.mark.parametrize("make", [lambda x, z: x * z, lambda x, z: x + z, lambda x, z: z / x, lambda x, z: z - x,
                                  lambda x, z: x ** z, lambda x, z: z ** x, lambda x, z: x * 2j + z.real,
                                  lambda x, z: torch.where(z.real > 0, x, z), lambda x, z: torch.cat([x, z]),
                                  lambda x, z: torch.stack([x * 1j, z]), lambda x, z: x.to(torch.complex128) @ z,
                                  lambda x, z: torch.addcmul(z, x.to(torch.complex128), z, value=2),
                                  lambda x, z: z.index_put((torch.tensor([0]),), x[:1].to(torch.complex128)),
                                  lambda x, z: (1 - 2j) / x + 1j ** x])
def test_the_gradient_of_a_real_operand_is_real(make):
    x, z = torch.rand(3, dtype=torch.float64).add(0.5).requires_grad_(), tensor(3)
    out = make(x, z)
    assert out.is_complex()
    assert torch.autograd.gradcheck(make, (x, z)) and torch.autograd.gradgradcheck(make, (x, z))
    g, = torch.autograd.grad(out, x, torch.ones_like(out))
    assert g.dtype is torch.float64


def test_sums_of_gradients_of_both_kinds():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    ((x * (1 + 1j)).abs().sum() + x.sum() + (x * 3j).imag.sum()).backward()
    torch.testing.assert_close(x.grad, torch.full((2,), 4 + math.sqrt(2)))


def test_user_functions_hooks_and_packing():
    assert torch.autograd.gradcheck(Square.apply, (tensor(3),)) and torch.autograd.gradgradcheck(
        Square.apply, (tensor(3),))
    z, seen = tensor(3), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy().copy(), torch.from_numpy):
        y = (z * z).exp()
    y.retain_grad()
    y.register_hook(lambda g: seen.append(g.dtype) or 2 * g)
    y.abs().sum().backward()
    direct, = torch.autograd.grad(2 * (z * z).exp().abs().sum(), z)
    torch.testing.assert_close(z.grad, direct)
    assert seen == [torch.complex128] and y.grad.is_complex()
    with torch.no_grad():
        assert not (z * z).abs().requires_grad


# ---- parts -------------------------------------------------------------------------------------------------
def test_parts_are_views():
    z = torch.tensor([1 + 2j, 3 - 1j])
    z.real.mul_(2)
    z.imag[0] = 7
    assert z.tolist() == [2 + 7j, 6 - 1j]
    torch.view_as_real(z).add_(1)
    z.real = torch.tensor([5.0, 6.0])
    assert z.tolist() == [5 + 8j, 6] and torch.real(z)._base is z and torch.view_as_complex(
        torch.view_as_real(z)).data_ptr() == z.data_ptr()
    x = torch.ones(2)
    assert torch.real(x) is x and x.conj() is x and x.resolve_conj() is x and not z.conj().is_conj()
    assert z.conj().tolist() == [5 - 8j, 6] and torch.conj_physical(z).tolist() == z.conj().tolist()
    assert z.clone().conj_physical_().tolist() == z.conj().tolist()
    assert z.reshape(1, 2).mH.tolist() == z.reshape(1, 2).H.tolist() == [[5 - 8j], [6]]


def test_writes_to_parts_are_in_the_graph():
    def written(z, x):
        y, pairs = z * 1, torch.stack([x, x * x], -1) * 1
        part = y[1:].imag
        y.real.mul_(x)
        part.add_(3 * x[1:])
        numbers = torch.view_as_complex(pairs)
        numbers.mul_(z)
        numbers[0] = z[1]
        y.real[:1] = x[1:2] ** 2
        torch.view_as_real(y).mul_(2)
        return y, part * y[1:].real, pairs, numbers

    def plain(z, x):
        real, imag = z.real * x, z.imag + torch.cat([x[:1] * 0, 3 * x[1:]])
        y = 2 * torch.complex(torch.cat([x[1:2] ** 2, real[1:]]), imag)
        numbers = torch.complex(x, x * x) * z
        numbers = torch.cat([z[1:2], numbers[1:]])
        return y, y[1:].imag * y[1:].real, torch.view_as_real(numbers), numbers
    inputs = tensor(4), tensor(4, seed=1, kind="f")
    for a, b in zip(written(*inputs), plain(*inputs)):
        torch.testing.assert_close(a, b)
    grads = [torch.autograd.grad(sum((o * torch.arange(1.0, o.numel() + 1).reshape(o.shape)).abs().sum()
                                     for o in f(*inputs)), inputs) for f in (written, plain)]
    for a, b in zip(*grads):
        torch.testing.assert_close(a, b)
    with pytest.raises(RuntimeError, match="view of a leaf"):
        inputs[0].real.mul_(2)


def test_what_has_no_parts():
    x = torch.ones(2, 2)
    with pytest.raises(RuntimeError, match="imag is not implemented for tensors with non-complex dtypes"):
        x.imag                                             # noqa: B018
    with pytest.raises(RuntimeError, match="only supported for complex tensors"):
        torch.view_as_real(x)
    for bad, words in ((torch.ones(3), "last dimension of size 2"), (torch.tensor(1.0), "one or more dimensions"),
                       (torch.ones(2, 3).t(), "stride 1"), (torch.ones(2, 3)[:, :2], "stride divisible by 2"),
                       (torch.ones(2).int(), "only supported for float and double")):
        with pytest.raises(RuntimeError, match=words):
            torch.view_as_complex(bad)
    with pytest.raises(RuntimeError, match="Expected both inputs to be Float or Double"):
        torch.complex(x.int(), x.int())
    with pytest.raises(RuntimeError, match="Expected object of scalar type float32 but got scalar type float64"):
        torch.polar(x, x.double())


def test_as_python_numbers():
    one = torch.tensor(2 + 0j)
    assert float(one) == 2.0 and int(one) == 2 and complex(one) == 2
    for convert in (float, int):
        with pytest.raises(RuntimeError, match="without overflow"):
            convert(torch.tensor(2j))


def test_angles_and_directions():
    z = torch.polar(torch.tensor([2.0, 0.0, 3.0]), torch.tensor([0.5, 1.0, -2.0]))
    torch.testing.assert_close(z.angle(), torch.tensor([0.5, 0.0, -2.0]))
    torch.testing.assert_close(z.sgn().abs(), torch.tensor([1.0, 0.0, 1.0]))
    angles = torch.angle(torch.tensor([-1.0, 0.0, 2.0, math.nan]))
    assert angles[:3].tolist() == [pytest.approx(math.pi), 0, 0] and angles[3].isnan()
    z = torch.zeros(2, dtype=torch.complex64, requires_grad=True)
    (z.abs() + z.angle() + z.sgn().real).sum().backward()
    assert z.grad.tolist() == [0, 0]


def test_rotary_embedding_by_complex_numbers():
    """As Llama writes it; the same as with real rotations."""
    x = tensor(2, 3, 8, kind="f")
    angles = torch.outer(torch.arange(3.0, dtype=torch.float64), torch.rand(4, dtype=torch.float64))
    turn = torch.polar(torch.ones_like(angles), angles)

    def rotated(x):
        return torch.view_as_real(torch.view_as_complex(x.reshape(2, 3, 4, 2)) * turn).flatten(-2)
    a, b = x.reshape(2, 3, 4, 2).unbind(-1)
    cos, sin = angles.cos(), angles.sin()
    torch.testing.assert_close(rotated(x), torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2))
    assert torch.autograd.gradcheck(rotated, (x,))


# ---- linear algebra ----------------------------------------------------------------------------------------
def hermitian(a):
    return a + a.mH


@pytest.mark.parametrize("function, shape", [
    (lambda a: L.svd(a, full_matrices=False)[1:2], (3, 2)),
    (lambda a: [f(x) for f, x in zip((torch.abs, lambda s: s, torch.abs), L.svd(a, full_matrices=False))], (3, 2)),
    (lambda a: (lambda u, s, v: u[:, :1] @ v[:1])(*L.svd(a, full_matrices=False)), (2, 3)),
    (lambda a: (lambda w, v: (w, v.abs(), v[:, :1] @ v[:, :1].mH))(*L.eigh(hermitian(a))), (3, 3)),
    (lambda a: (lambda w, v: (w, v.abs()))(*L.eig(a)), (3, 3)),
    (lambda a: L.cholesky(a @ a.mH + torch.eye(3)), (3, 3)),
    (lambda a: L.cholesky(a @ a.mH + torch.eye(3), upper=True), (3, 3)),
    (lambda a: torch.cholesky_solve(a, L.cholesky(a @ a.mH + torch.eye(3))), (3, 3)),
    (lambda a: L.qr(a), (3, 2)), (lambda a: L.qr(a), (2, 3)),
    (lambda a: L.pinv(a), (3, 2)), (lambda a: L.slogdet(a), (3, 3)), (lambda a: torch.logdet(a), (3, 3)),
    (lambda a: L.lu(a)[1:], (3, 3)), (lambda a: L.lstsq(a, a[:, :1] * 2j)[0], (3, 2)), (lambda a: L.cond(a), (3, 3)),
    (lambda a: L.lu_solve(*L.lu_factor(a), a, adjoint=True), (2, 2)), (lambda a: L.matrix_norm(a, "nuc"), (3, 2)),
    (lambda a: L.householder_product(a, a[0, :2] * 0.1), (3, 2)), (lambda a: L.vector_norm(a, 3), (3,)),
    (lambda a: L.vecdot(a, a * 1j), (3,)), (lambda a: torch.cov(a), (2, 3)), (lambda a: torch.corrcoef(a), (2, 3))])
def test_factors(function, shape):
    a = tensor(*shape, seed=3)
    assert torch.autograd.gradcheck(function, (a,), nondet_tol=1e-9)


def test_eigenvalues_of_a_real_matrix():
    a = tensor(3, 3, kind="f")
    values, vectors = L.eig(a)
    torch.testing.assert_close(a.to(torch.complex128) @ vectors, vectors * values)
    torch.testing.assert_close(L.eigvals(a), values)
    assert torch.autograd.gradcheck(lambda a: L.eigvals(a), (a,)) and a.grad is None
    assert torch.autograd.grad(values.abs().sum(), a)[0].dtype is torch.float64


# ---- Fourier transforms ------------------------------------------------------------------------------------
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_transforms(name, norm):
    x = tensor(2, 4, kind="f" if name in ("rfft", "ihfft") else "c")
    for n in (None, 3, 6):
        assert torch.autograd.gradcheck(lambda x, n=n: getattr(torch.fft, name)(x, n=n, norm=norm), (x,))
    assert torch.autograd.gradcheck(lambda x: getattr(torch.fft, name + "2")(x, s=(3, 5), norm=norm), (x,))
    assert torch.autograd.gradgradcheck(lambda x: getattr(torch.fft, name + "n")(x, norm=norm).abs(), (x,))


@pytest.mark.parametrize("options", [dict(), dict(hop_length=3), dict(win_length=6, normalized=True),
                                     dict(onesided=False), dict(center=False)])
def test_short_time_transforms_are_inverses(options):
    x = tensor(2, 40, kind="f")
    window = torch.hann_window(options.get("win_length", 8), dtype=torch.float64) + 0.1
    z = torch.stft(x, 8, window=window, return_complex=True, **options)
    assert z.shape == (2, 8 if "onesided" in options else 5, 1 + (40 - (8 if "center" in options else 0))
                       // options.get("hop_length", 2))
    y = torch.istft(z, 8, window=window, length=None if "center" in options else 40, **options)
    torch.testing.assert_close(y, x[:, :y.shape[-1]])


def test_gradients_of_short_time_transforms():
    x, window = tensor(12, kind="f"), tensor(4, seed=1, kind="f").detach().abs().add(0.5).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, w: torch.stft(x, 4, window=w, return_complex=True), (x, window))
    assert torch.autograd.gradcheck(lambda x: torch.stft(x, 4), (tensor(12),))
    assert torch.autograd.gradcheck(lambda z, w: torch.istft(z, 4, window=w), (tensor(3, 4), window))
    torch.testing.assert_close(torch.view_as_real(torch.stft(x, 4, return_complex=True)),
                               torch.stft(x, 4, return_complex=False))
    with pytest.raises(RuntimeError, match="return_complex parameter be given for real inputs"):
        torch.stft(x, 4)
    with pytest.raises(RuntimeError, match="requires a complex-valued input"):
        torch.istft(x, 4)
    with pytest.raises(RuntimeError, match="Cannot have onesided output"):
        torch.stft(tensor(12), 4, onesided=True)
    with pytest.raises(RuntimeError, match="window overlap add min"):
        torch.istft(tensor(3, 4), 4, window=torch.zeros(4))


# ---- layers and checks -------------------------------------------------------------------------------------
def test_layers_of_complex_numbers():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4, dtype=torch.complex128), nn.Tanh(), nn.Linear(4, 1, dtype=torch.complex128))
    x = tensor(8, 3).detach()
    wanted = (x * torch.tensor([1j, 1, 2 - 1j])).sum(1, keepdim=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = (model(x) - wanted).abs().square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]
    conv = nn.Conv1d(2, 3, 2, dtype=torch.complex128)
    assert torch.autograd.gradcheck(conv, (tensor(1, 2, 4),))
    assert torch.autograd.gradcheck(lambda a, b: F.l1_loss(a, b), (tensor(3), tensor(3, seed=1)))
    assert torch.autograd.gradgradcheck(lambda a: F.rms_norm(a, (3,)), (tensor(2, 3),))


def test_gradcheck_finds_a_conjugate_that_is_missing():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            ctx.save_for_backward(z)
            return z * z

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]
    with pytest.raises(GradcheckError, match="its real and its imaginary part"):
        torch.autograd.gradcheck(Wrong.apply, (tensor(2),))
    with pytest.raises(RuntimeError, match="float64 or complex128"), pytest.warns(UserWarning, match="precision"):
        torch.autograd.gradcheck(lambda z: z * z, (tensor(2).to(torch.complex64),))


@pytest.mark.parametrize("value", [2 + 0.5j, -2 + 0.5j, -2 - 0.5j, 0.3 - 1j])
def test_the_slope_of_acosh_is_of_its_branch(value):
    x = torch.tensor(value, dtype=torch.complex128, requires_grad=True)
    torch.view_as_real(torch.acosh(x))[0].backward()
    slope = (np.arccosh(value + 1e-6) - np.arccosh(value - 1e-6)) / 2e-6
    assert complex(x.grad) == pytest.approx(complex(slope.conjugate()), rel=1e-6)
