"""Cases that planted bugs of a third seed showed to be missing; see docs/mutants.md."""

import sys

import numpy as np
import pytest

import minitorch as T
import minitorch.multiprocessing as mp
import minitorch.nn.functional as F
from minitorch import nn, optim
from minitorch.utils.checkpoint import checkpoint

vector = T.tensor([0.5, 1.0, 2.0])


def test_writes_from_their_own_transposed_memory():
    x = T.arange(9.0).reshape(3, 3).clone()
    for target, source in ((x.t(), x), (x, x.t())):
        with pytest.raises(RuntimeError, match="single memory location"):
            target.add_(source)


def test_numbers_of_the_processor_go_to_any_device():
    x = T.ones(2, device="meta")
    assert (x + T.tensor(1.0)).device.type == (T.tensor(1.0) * x).device.type == "meta"
    for other in (T.ones(2), T.ones(1)):
        with pytest.raises(RuntimeError, match="device"):
            x + other


@pytest.mark.parametrize("value", [2 + 0.5j, -2 + 0.5j, -2 - 0.5j, 0.3 - 1j])
def test_the_slope_of_acosh_is_of_its_branch(value):
    x = T.tensor(value, dtype=T.complex128, requires_grad=True)
    T.view_as_real(T.acosh(x))[0].backward()
    slope = (np.arccosh(value + 1e-6) - np.arccosh(value - 1e-6)) / 2e-6
    assert complex(x.grad) == pytest.approx(complex(slope.conjugate()), rel=1e-6)


def test_the_slope_of_logit_at_its_bounds():
    x = T.tensor([0.2, 0.25, 0.5, 0.75, 0.8], requires_grad=True)
    T.logit(x, 0.25).sum().backward()
    np.testing.assert_allclose(x.grad.tolist(), [0, 1 / 0.1875, 4, 1 / 0.1875, 0], rtol=1e-6)


def test_equal_looks_at_shapes_and_at_values():
    assert T.equal(vector, vector.clone()) and not T.equal(vector, -vector)
    assert not T.equal(T.ones(2), T.ones(3)) and not T.equal(T.ones(1), T.ones(3))


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_smoothed_labels_that_are_ignored(reduction):
    x, y = T.tensor([[1.0, 2, 4], [0, 5, 1], [2, 2, 3]]), T.tensor([0, -100, 2])
    found = F.cross_entropy(x, y, label_smoothing=0.2, reduction=reduction)
    kept = F.cross_entropy(x[[0, 2]], y[[0, 2]], label_smoothing=0.2, reduction=reduction)
    assert found.item() == pytest.approx(kept.item(), rel=1e-6)


def test_exactly_the_nearest_pixel():
    x = T.arange(3.0).reshape(1, 1, 3)
    assert F.interpolate(x, 6, mode="nearest-exact").flatten().tolist() == [0, 0, 1, 1, 2, 2]
    assert F.interpolate(x, 2, mode="nearest-exact").flatten().tolist() == [0, 2]


def test_vectors_side_by_side():
    assert T.column_stack([vector, vector * 2]).tolist() == [[0.5, 1], [1, 2], [2, 4]]
    assert T.vmap(T.outer)(T.ones(2, 3), T.ones(2, 4)).shape == (2, 3, 4)


def test_numbers_are_copied_and_formats_asked_for():
    assert vector.clone().copy_(3).tolist() == [3, 3, 3]
    found = T.ones(1, 2, 3, 4).to(T.float64, memory_format=T.channels_last)
    assert found.dtype == T.float64 and found.is_contiguous(memory_format=T.channels_last)


def test_arrays_for_numpy_keep_their_type():
    assert np.asarray(vector).dtype == np.asarray(vector, np.float32).dtype == "float32"
    assert np.asarray(vector, np.float64).dtype == "float64"


def test_equal_steps_are_as_exact_as_their_type():
    assert T.linspace(0, 1, 4, dtype=T.float64)[1].item() == 1 / 3
    assert T.normal(0.0, 1.0, (2, 3)).shape == (2, 3)


@pytest.mark.parametrize("f", [F.softmax, F.log_softmax, F.gelu, F.softplus])
def test_whole_numbers_have_no_softmax(f):
    with pytest.raises(NotImplementedError, match="not implemented for"):
        f(T.tensor([1, 2]), *((0,) if f in (F.softmax, F.log_softmax) else ()))


def test_pairs_of_results_into_given_tensors():
    out = T.empty(0), T.empty(0)
    T.var_mean(T.tensor([[1.0, 3.0], [2.0, 5.0]]), 0, out=out)
    assert [x.tolist() for x in out] == [[0.5, 2.0], [1.5, 4.0]]


def test_pairs_of_results_in_a_batch():
    mantissa, exponent = T.vmap(T.frexp)(T.tensor([[8.0, 3.0], [0.5, 1.0]]))
    assert (mantissa * 2.0 ** exponent).tolist() == [[8, 3], [0.5, 1]]


@pytest.mark.parametrize("given, text", [(3, "Got <class 'int'>"), ((vector,), "Got a tuple of length 1")])
def test_rules_of_functions_return_a_pair(given, text):
    class Single(T.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x):
            return given
    with pytest.raises(RuntimeError, match=text):
        T.vmap(Single.apply)(T.ones(2, 3))


def test_a_tensor_under_two_names():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = self.b = nn.Parameter(T.ones(1))
            self.same = self.a

        def forward(self, x):
            return x * self.a + self.b
    tied = Tied()
    assert [name for name, _ in tied.named_parameters()] == ["a"]
    assert [name for name, _ in tied.named_parameters(remove_duplicate=False)] == ["a", "b", "same"]
    assert nn.utils.stateless.functional_call(tied, {"a": T.tensor([5.0])}, (T.ones(1),)).tolist() == [10]


@pytest.mark.parametrize("margin", [0.0, -1.0])
def test_margins_are_positive(margin):
    for make in (nn.TripletMarginWithDistanceLoss, nn.TripletMarginLoss):
        with pytest.raises(ValueError, match="greater than 0"):
            make(margin=margin)


def test_radam_is_rectified_from_its_sixth_step_on():
    p, lr, beta = nn.Parameter(T.zeros(1, dtype=T.float64)), 0.1, 0.999
    o, limit = optim.RAdam([p], lr=lr, eps=0.0), 2 / (1 - beta) - 1
    for step in range(1, 9):
        before, p.grad = p.item(), T.ones(1, dtype=T.float64)
        o.step()
        rho = limit - 2 * step * beta ** step / (1 - beta ** step)
        rectified = ((rho - 4) * (rho - 2) * limit / ((limit - 4) * (limit - 2) * rho)) ** 0.5 if rho > 5 else 1
        assert before - p.item() == pytest.approx(lr * rectified, rel=1e-9)
    assert rho > 6


@pytest.mark.parametrize("make", [lambda p: optim.SGD(p, 0.1, 0.9), lambda p: optim.Adagrad(p, 0.1),
                                  lambda p: optim.AdamW(p, 0.1), lambda p: optim.RMSprop(p, 0.1)])
def test_complex_parameters_move_as_pairs_of_numbers(make):
    whole = nn.Parameter(T.tensor([1 + 2j, -0.5 + 1j]))
    pairs = nn.Parameter(T.view_as_real(whole.detach()).clone())
    for k in range(1, 4):
        whole.grad = T.tensor([0.3 * k - 1j, 0.2 + 0.1j * k])
        pairs.grad = T.view_as_real(whole.grad).clone()
        if k == 1:
            steps = make([whole]), make([pairs])
        for o in steps:
            o.step()
    np.testing.assert_allclose(T.view_as_real(whole.detach()).numpy(), pairs.detach().numpy(), rtol=1e-6)


def test_parameters_that_are_listed_twice_move_twice():
    p, q = nn.Parameter(T.ones(2)), nn.Parameter(T.ones(2))
    with pytest.warns(UserWarning, match="duplicate"):
        twice = optim.SGD([p, p], 0.1)
    once = optim.SGD([q], 0.2)
    p.grad, q.grad = T.ones(2), T.ones(2)
    twice.step()
    once.step()
    np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-6)


def test_results_of_checkpoints_that_need_no_gradient():
    x = T.ones(2, requires_grad=True)
    double, constant = checkpoint(lambda x: (x * 2, x.detach() + 1), x, use_reentrant=True)
    (double + constant.detach()).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_costs_grow_with_the_size():
    from minitorch.distributed import planning
    link = planning.LINKS["100GbE"]
    for name in ("all_gather", "reduce_scatter", "all_to_all", "broadcast", "all_reduce"):
        small, large = [planning.cost(name, n, 4, link) for n in (1000, 10**9)]
        assert 0 < small < large


# ---- a second round -----------------------------------------------------------------------------------------
def test_nothing_has_a_tangent_that_was_given_none():
    from minitorch.autograd import forward_ad
    with forward_ad.dual_level():
        x = T.ones(2)
        forward_ad.make_dual(T.ones(2), T.ones(2))
        x.add_(1)
        assert forward_ad.unpack_dual(x).tangent is None


def test_documentation_has_no_places_left_to_fill_in():
    for space in (T, F, nn):
        for name in dir(space):
            text = getattr(getattr(space, name), "__doc__", None) or ""
            assert "{shape}" not in text and "{name}" not in text, name


def test_products_of_the_wrong_shapes_in_a_batch():
    with pytest.raises(RuntimeError):
        T.vmap(T.mv, (None, 0))(T.ones(3, 2), T.ones(1, 2, 2))


@pytest.mark.parametrize("alpha", [0.5, 1.5, 4.0])
def test_gamma_has_its_distribution(alpha):
    T.manual_seed(3)
    x = T.distributions.Gamma(T.tensor(alpha), T.tensor(1.0)).sample((20000,)).double().sort().values
    below = T.special.gammainc(T.tensor(alpha, dtype=T.float64), x)
    distance = (below - T.linspace(0, 1, 20000, dtype=T.float64)).abs().max()
    assert distance < 1.63 / 20000 ** 0.5                  # Kolmogorov's, at 1 %


def test_a_group_of_some_ranks_trains_alone():
    from minitorch import distributed as dist
    from minitorch.distributed import threads
    from minitorch.nn.parallel import DistributedDataParallel

    def program(rank):
        groups = [dist.new_group([0]), dist.new_group([1, 2])]
        model = nn.Linear(1, 1, bias=False)
        model = DistributedDataParallel(model, process_group=groups[rank > 0])
        with T.no_grad():
            model.module.weight.fill_(1.0)
        model(T.full((1, 1), float(rank))).sum().backward()
        return model.module.weight.grad.item()
    assert threads.run(program, 3) == [0.0, 1.5, 1.5]

    def meshes(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        DistributedDataParallel(nn.Linear(1, 1), device_mesh=mesh)
        with pytest.raises(RuntimeError, match="both process_group and device_mesh"):
            DistributedDataParallel(nn.Linear(1, 1), device_mesh=mesh, process_group=mesh.get_group())
    threads.run(meshes, 2)


def test_a_process_that_raised_ends_with_1(monkeypatch, tmp_path):
    spawn = sys.modules[mp.ProcessContext.__module__]
    for name in ("end_with_parent", "note_failure"):
        monkeypatch.setattr(spawn, name, lambda *args: None)
    with pytest.raises(SystemExit) as ended:
        spawn.body(lambda rank: [][rank], 0, (), str(tmp_path / "error"))
    assert ended.value.code == 1 and b"IndexError" in (tmp_path / "error").read_bytes()


def test_forward_derivatives_that_are_no_number_on_both_sides():
    from minitorch.testing.forward_check import forward_error
    x = T.tensor([1.0, 2.0], dtype=T.float64, requires_grad=True)
    assert forward_error(lambda x: x * T.tensor([T.nan, 1.0], dtype=T.float64), [x], [0], 1e-6, 1e-5, 1e-3) is None


@pytest.mark.parametrize("debug", [False, True])
def test_checkpoints_tell_how_to_see_more(debug):
    calls = []

    def changing(x):
        calls.append(1)
        return x.sin().exp() if len(calls) == 1 else x.sin()
    x = T.ones(2, requires_grad=True)
    with pytest.raises(T.utils.checkpoint.CheckpointError) as raised:
        checkpoint(changing, x, use_reentrant=False, debug=debug).sum().backward()
    assert ("Tip: " in str(raised.value)) is not debug


@pytest.mark.parametrize("kind", ["bfloat16", "shared", "empty"])
def test_steps_in_c_of_parameters_that_c_does_not_take(kind):
    from minitorch.backends import native
    if native.reason() is not None:
        pytest.skip(native.reason())
    found = []
    for compiled in (False, True):
        base = T.arange(6.0, dtype=T.bfloat16 if kind == "bfloat16" else T.float32)
        params = [nn.Parameter(base[:4]), nn.Parameter(base[2:] if kind == "shared" else base[:0])]
        o = optim.SGD(params, 0.1, 0.9)

        def step(x, params=params, o=o):
            o.zero_grad()
            loss = sum((p * p * x).sum() for p in params)
            loss.backward()
            o.step()
            return loss
        step = T.compile(step, backend="c") if compiled else step
        for _ in range(4):
            step(T.tensor(2.0, dtype=base.dtype))
        found.append([p.detach().float().numpy() for p in params])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-5)
