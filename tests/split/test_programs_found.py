"""What random programs beside PyTorch, and compiled ones beside eager ones, found: a test for each cause."""

import math

import pytest

import minitorch as torch
from minitorch.func import grad, hessian, jvp
from tests.backends.cuda.kernel_checks import DEVICE
from tests.compiler.compiled_programs import Case
from tests.compiler.compiled_programs import check as is_same_compiled
from tests.compiler.device_programs import check
from tests.compiler.further_statements import MORE

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("power", [lambda x: x.pow(3), lambda x: x ** 0, lambda x: 2 ** x, lambda x: x ** -1.5,
                                   lambda x: 3 ** x])
def test_slopes_of_powers_of_16_bit_floats_have_slopes(power, dtype):
    """A number beside bfloat16 is one of NumPy's, and no formula may take it for an array."""
    x = torch.tensor([0.5, 1.5, 2.0])
    wanted = jvp(grad(lambda v: power(v).sum()), (x,), (x,))
    found = jvp(grad(lambda v: power(v).sum()), (x.to(dtype),), (x.to(dtype),))
    assert all(torch.allclose(f.float(), w, 0.02, 0.02) and f.dtype == dtype for f, w in zip(found, wanted))
    leaf = x.to(dtype).requires_grad_()
    first, = torch.autograd.grad(power(leaf).sum(), leaf, create_graph=True)
    second, = torch.autograd.grad((first * leaf.detach()).sum(), leaf, allow_unused=True, materialize_grads=True)
    assert torch.allclose(second.float(), wanted[1], 0.02, 0.02)


def test_out_may_lie_between_the_elements_of_an_input():
    for x in (torch.arange(8.0).view(4, 2).t(), torch.arange(8.0, device=DEVICE).view(4, 2).t()):
        torch.mul(x[:1], 2, out=x[1:])
        assert x.tolist() == [[0, 2, 4, 6], [0, 4, 8, 12]] and x._version == 1
        torch.cumsum(x[0], 0, out=x[1])
        assert x[1].tolist() == [0, 2, 6, 12]
    y = torch.arange(8.0)
    for refused in (lambda: torch.mul(y[:4], 2, out=y[2:6]), lambda: torch.cat([y[:4], y[:4]], out=y),
                    lambda: torch.gather(y, 0, torch.arange(8), out=y)):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            refused()
    assert torch.mul(y, 2, out=y).tolist() == [0, 2, 4, 6, 8, 10, 12, 14]


def test_a_gradient_of_nothing_stays_0_whatever_comes_to_it():
    x = torch.tensor([[1.0, 2.0], [1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    same = torch.cdist(x[:2], x[:2])
    for g in (NAN, INF, 1.0):
        assert torch.autograd.grad(same, x, torch.full((2, 2), g), retain_graph=True)[0].tolist() == [[0, 0]] * 3
        assert torch.autograd.grad(x[:2].std(0), x, torch.full((2,), g))[0].tolist() == [[0, 0]] * 3
    assert torch.autograd.grad(x.std(0)[0], x)[0].isfinite().all()
    given = x.detach()[:2]
    for distance in (lambda v: torch.cdist(v, v), lambda v: v.std(0)):
        slope = torch.autograd.grad(distance(leaf := given.clone().requires_grad_()).sum(), leaf, create_graph=True)[0]
        assert jvp(distance, (given,), (given.exp(),))[1].eq(0).all() and slope.eq(0).all()
        assert torch.autograd.grad(slope.sum(), leaf, allow_unused=True, materialize_grads=True)[0].isfinite().all()


def test_a_matrix_of_nan_has_a_gradient_of_nan_beside_others():
    x = torch.stack([torch.full((3, 3), NAN), torch.eye(3), torch.diag(torch.tensor([2.0, 3.0, 0.0])),
                     torch.full((3, 3), INF)]).requires_grad_()
    torch.linalg.det(x).sum().backward()
    assert x.grad[0].isnan().all() and x.grad[3].isnan().all() and torch.allclose(x.grad[1], torch.eye(3))
    assert torch.allclose(x.grad[2], torch.diag(torch.tensor([0.0, 0.0, 6.0])), atol=1e-5)


def test_a_tensor_is_written_to_itself_only_in_a_shape_that_fits():
    x = torch.ones(4, 4, 3)
    x[None] = x
    x[...] = x[None]
    with pytest.raises((RuntimeError, ValueError), match="broadcast"):
        x[..., None] = x
    assert x._version == 0 or x.eq(1).all()


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "fft2", "rfft2", "irfft2"])
def test_fourier_transforms_can_be_viewed(name):
    x = torch.arange(24.0).view(2, 4, 3).transpose(1, 2)
    x = torch.complex(x, x) if name.startswith("ir") else x
    assert getattr(torch.fft, name)(x).is_contiguous()
    assert torch.equal(getattr(torch.fft, name)(x).view(-1), getattr(torch.fft, name)(x.contiguous()).view(-1))


@pytest.mark.parametrize("equation", ["ij,jk,kl->il", "...ij,...jk,...kl->...il", "jk,ij->ik", "ca,bc->ba"])
def test_sums_of_products_can_be_viewed(equation):
    sizes = dict(zip("ijklabc", (3, 3, 3, 3, 2, 3, 4)))
    torch.manual_seed(0)
    operands = [torch.randn([sizes[c] for c in term.replace("...", "")]).double()
                for term in equation.split("->")[0].split(",")]
    out = torch.einsum(equation, *operands)
    assert out.is_contiguous() and out.view(-1).numel() == out.numel()
    if len(operands) == 2:
        assert torch.allclose(out, operands[1] @ operands[0])


def test_a_write_that_is_refused_has_written_nothing():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    slopes = hessian(lambda v: v.pow(3).sum())(x)
    before = slopes.tolist()
    for write in (lambda: slopes.add_(1), lambda: slopes.diagonal().mul_(2), lambda: slopes[0].normal_()):
        with pytest.raises(RuntimeError, match="clone"):
            write()
        assert slopes.tolist() == before


def test_compiled_passes_of_a_device_go_on_outside():
    """Kernels of the device meet what was recorded before the trace; and sums go on in the arena's memory."""
    check(Case((("atan2", 0, 0, 2),), "bfloat16", ("expanded", "non-leaf"), modes=("grad",) * 2, results="all",
               own_backward=True, seed=367), compiled=True, device=DEVICE)
    check(Case((("scatter_reduce", 3, 10, 4), ("last", 6, 2, 5), ("scatter_reduce", 3, 8, 5)), modes=("grad",),
               results="all", seed=268), compiled=True, device=DEVICE)


def test_a_number_bounds_beside_a_tensor_without_dimensions():
    x = torch.arange(4.0, requires_grad=True)
    for low, high in ((1, torch.tensor(2)), (torch.tensor(1), 2.0)):
        out = x.clamp(low, high)
        assert out.tolist() == [1, 1, 2, 2] and out.dtype == torch.float32
        assert torch.autograd.grad(out.sum(), x)[0].tolist() == [0, 1, 1, 0]
        assert x.detach().clone().clamp_(low, high).tolist() == out.tolist()
        assert x.detach().to(DEVICE).clamp(low, high).tolist() == out.tolist()
    with pytest.raises(TypeError, match="both be tensors or both be numbers"):
        x.clamp(1, torch.tensor([2.0]))
    assert torch.compile(lambda x, y: x.clamp(1, y) * 2)(torch.arange(4.0), torch.tensor(2.0)).tolist() == [2, 2, 4, 4]


def test_gumbel_noise_does_not_depend_on_the_layout():
    torch.manual_seed(3)
    wanted = torch.nn.functional.gumbel_softmax(torch.arange(12.0).view(4, 3).t().contiguous())
    torch.manual_seed(3)
    assert torch.equal(torch.nn.functional.gumbel_softmax(torch.arange(12.0).view(4, 3).t()), wanted)


@pytest.mark.parametrize("log_target", [False, True])
def test_divergences_are_float32_in_mixed_precision(log_target):
    x = torch.linspace(-3, -1, 6).view(2, 3).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        found = torch.nn.functional.kl_div(x, x if log_target else x.exp(), reduction="batchmean",
                                           log_target=log_target)
    assert found.dtype == torch.float32 and abs(found.item()) < 0.02


@pytest.mark.parametrize("name", list(MORE)[::14])
def test_more_statements(name):
    """Some of those that only the searches draw: they run, and compiled they do the same."""
    case = Case((("twice", 0, 0, 1), (name, 2, 1, 1), ("twice", 2, 0, 0)), needs_grad=(True, True), results="all",
                modes=("grad",))
    assert "eagerly" not in str(is_same_compiled(case).function.notes) or name in ("none_picked", "doubled_gradient")


@pytest.mark.parametrize("make", [lambda leaf: leaf * 1, lambda leaf: leaf.expand(3, 4), lambda leaf: leaf])
def test_hooks_that_a_compiled_function_puts_on_an_argument_see_its_whole_gradient(make):
    """Also what comes from uses of the argument before the call."""
    def hooked(x):
        x.register_hook(lambda g: g * 2)
        return x * 3
    found = []
    for function in (hooked, torch.compile(hooked)):
        leaf = torch.ones(1, 4, requires_grad=True)
        x = make(leaf)
        before = x * x
        (function(x).sum() + before.sum() + x.sum()).backward()
        found.append(leaf.grad.tolist())
    assert found[0] == found[1] == [[12.0 * x.shape[0]] * 4]
