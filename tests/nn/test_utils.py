"""``nn.init`` and ``nn.utils`` by their properties."""

import copy
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch
from minitorch import nn
from minitorch.nn import init
from minitorch.nn.utils import parametrizations, parametrize

sizes = st.integers(1, 6)


# -------------------------------------------------------------------------------------------------------------- init
@settings(max_examples=20, deadline=None)
@given(sizes, sizes, st.floats(0.5, 2))
def test_orthogonal(rows, cols, gain):
    w = init.orthogonal_(minitorch.empty(rows, cols, dtype=minitorch.float64), gain)
    gram = w @ w.t() if rows <= cols else w.t() @ w
    assert (gram - gain ** 2 * minitorch.eye(min(rows, cols), dtype=w.dtype)).abs().max().item() < 1e-12


@pytest.mark.parametrize("fill, low, high, std", [
    (lambda t: init.uniform_(t, -1, 2), -1, 2, 3 / math.sqrt(12)),
    (lambda t: init.normal_(t, 0, 2), -12, 12, 2),
    (lambda t: init.trunc_normal_(t), -2, 2, 0.88),
    (lambda t: init.trunc_normal_(t, 0, 1, 1, 3), 1, 3, 0.43),
    (lambda t: init.xavier_uniform_(t), -math.sqrt(6 / 200), math.sqrt(6 / 200), math.sqrt(2 / 200)),
    (lambda t: init.kaiming_uniform_(t, nonlinearity="relu"), -math.sqrt(0.06), math.sqrt(0.06), math.sqrt(0.02)),
    (lambda t: init.kaiming_normal_(t, mode="fan_out", nonlinearity="linear"), -1, 1, 0.1),
])
def test_draws_have_their_range_and_spread(fill, low, high, std):
    minitorch.manual_seed(0)
    w = fill(minitorch.empty(100, 100))
    assert low <= w.min().item() and w.max().item() <= high
    assert w.std().item() == pytest.approx(std, rel=0.05)


def test_eye_dirac_and_sparse():
    assert init.eye_(minitorch.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    w = init.dirac_(minitorch.empty(4, 2, 3, 3), groups=2)
    x = minitorch.rand(1, 4, 5, 5)
    assert (nn.functional.conv2d(x, w, padding=1, groups=2) - x).abs().max().item() == 0
    assert ((init.sparse_(minitorch.empty(10, 4), 0.25) == 0).sum(0) == 3).all().item()
    for bad in (lambda: init.eye_(minitorch.empty(2)), lambda: init.dirac_(minitorch.empty(2, 2)),
                lambda: init.xavier_normal_(minitorch.empty(3)), lambda: init.calculate_gain("step")):
        with pytest.raises(ValueError):
            bad()


# ---------------------------------------------------------------------------------------------------------- clipping
@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(-10, 10), min_size=1, max_size=5), st.floats(0.1, 5),
       st.sampled_from([1.0, 2.0, 3.0, float("inf")]))
def test_clipped_norms_are_at_most_the_bound(values, bound, kind):
    ps = [nn.Parameter(minitorch.zeros(1)) for _ in values]
    for p, v in zip(ps, values):
        p.grad = minitorch.tensor([v])
    total = nn.utils.clip_grad_norm_(ps, bound, kind).item()
    after = nn.utils.get_total_norm([p.grad for p in ps], kind).item()
    assert after == pytest.approx(min(total, bound), rel=1e-4, abs=1e-5)


def test_a_vector_of_parameters_and_back():
    m = nn.Linear(2, 3)
    vector = nn.utils.parameters_to_vector(m.parameters())
    assert vector.shape == (9,) and vector.requires_grad
    nn.utils.vector_to_parameters(minitorch.arange(9.0), m.parameters())
    assert m.weight.tolist() == [[0, 1], [2, 3], [4, 5]] and m.bias.tolist() == [6, 7, 8]


# ---------------------------------------------------------------------------------------------------- parametrizations
class Exponential(nn.Module):
    def forward(self, x):
        return x.exp()

    def right_inverse(self, y):
        return y.log()


def test_a_parametrized_weight_is_computed_assigned_and_left():
    m = nn.Linear(2, 2, bias=False)
    with minitorch.no_grad():
        m.weight.fill_(2.0)
    original = m.weight
    parametrize.register_parametrization(m, "weight", Exponential())
    assert m.parametrizations.weight.original is original       # for the optimiser's sake
    assert m.weight.tolist() == [[pytest.approx(2.0)] * 2] * 2 and type(m).__name__ == "ParametrizedLinear"
    m.weight = minitorch.ones(2, 2)
    assert original.tolist() == [[0, 0], [0, 0]]
    m(minitorch.ones(1, 2)).sum().backward()
    assert original.grad.tolist() == [[1, 1], [1, 1]]
    parametrize.remove_parametrizations(m, "weight")
    assert type(m) is nn.Linear and m.weight is original and m.weight.tolist() == [[1, 1], [1, 1]]


def test_a_copy_of_a_parametrized_module_is_independent():
    m = parametrizations.weight_norm(nn.Linear(2, 2))
    twin = copy.deepcopy(m)
    parametrize.remove_parametrizations(m, "weight")
    assert twin(minitorch.ones(1, 2)).shape == (1, 2) and type(twin).__name__ == "ParametrizedLinear"


def test_cached_computes_once():
    m = parametrizations.spectral_norm(nn.Linear(3, 3))
    assert m.weight is not m.weight
    with parametrize.cached():
        assert m.weight is m.weight
    assert m.weight is not m.weight


def test_a_parametrization_may_not_change_the_shape():
    class Sum(nn.Module):
        def forward(self, x):
            return x.sum()

    with pytest.raises(ValueError, match="shape"):
        parametrize.register_parametrization(nn.Linear(2, 2), "weight", Sum())


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2)])
@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder"])
def test_orthogonal_stays_orthogonal_and_is_assigned(shape, kind):
    minitorch.manual_seed(0)
    m = parametrizations.orthogonal(nn.Linear(*shape[::-1], bias=False).double(), orthogonal_map=kind)
    target = init.orthogonal_(minitorch.empty(shape, dtype=minitorch.float64))
    m.weight = target
    assert (m.weight - target).abs().max().item() < 1e-10
    with minitorch.no_grad():
        m.parametrizations.weight.original.add_(0.1 * minitorch.rand(shape, dtype=minitorch.float64).tril(-1))
    w = m.weight
    gram = w @ w.t() if shape[0] <= shape[1] else w.t() @ w
    assert (gram - minitorch.eye(min(shape), dtype=w.dtype)).abs().max().item() < 1e-10
    w.sum().backward()
    assert m.parametrizations.weight.original.grad.isfinite().all().item()


@pytest.mark.parametrize("make", [parametrizations.spectral_norm, nn.utils.spectral_norm])
def test_spectral_norm_is_one(make):
    minitorch.manual_seed(0)
    m = make(nn.Linear(4, 5))
    x = minitorch.ones(2, 4)
    for _ in range(50):
        m(x)
    assert np.linalg.norm(m.weight.detach().numpy(), 2) == pytest.approx(1, rel=1e-3)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_old_weight_norm_leaves_the_output_and_the_files_alone():
    m, x = nn.Linear(3, 2), minitorch.rand(4, 3)
    before = m(x)
    nn.utils.weight_norm(m)
    assert list(m.state_dict()) == ["bias", "weight_g", "weight_v"]
    assert (m(x) - before).abs().max().item() < 1e-6
    new = parametrizations.weight_norm(nn.Linear(3, 2))
    new.load_state_dict(m.state_dict())
    assert (new(x) - before).abs().max().item() < 1e-6
    nn.utils.remove_weight_norm(m)
    assert list(m.state_dict()) == ["bias", "weight"] and (m(x) - before).abs().max().item() < 1e-6


# --------------------------------------------------------------------------------------------------- fusion, stateless
def test_a_fused_batch_norm_changes_nothing():
    conv, norm, x = nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3), minitorch.rand(4, 2, 5, 5)
    norm(conv(x))
    conv.eval(), norm.eval()
    assert (nn.utils.fuse_conv_bn_eval(conv, norm)(x) - norm(conv(x))).abs().max().item() < 1e-5


def test_functional_call_differentiates_through_an_update():
    """One step of MAML: the gradient of the loss after a step, with respect to the weights before it."""
    m = nn.Linear(1, 1, bias=False).double()
    w = m.weight

    def loss(weight):
        out = nn.utils.stateless.functional_call(m, {"weight": weight}, minitorch.ones(1, 1).double())
        return (out - 3).pow(2).sum()

    (g,) = minitorch.autograd.grad(loss(w), w, create_graph=True)
    (meta,) = minitorch.autograd.grad(loss(w - 0.1 * g), w)
    after = w.item() - 0.1 * 2 * (w.item() - 3)
    assert meta.item() == pytest.approx(2 * (after - 3) * (1 - 0.2)) and m.weight is w


def test_functional_call_checks_names_and_restores_after_errors():
    m = nn.Linear(1, 1)
    kept = m.weight
    with pytest.raises(RuntimeError, match="Missing key.*'bias'"):
        nn.utils.stateless.functional_call(m, {"weight": kept}, minitorch.ones(1, 1), strict=True)
    with pytest.raises(RuntimeError):
        nn.utils.stateless.functional_call(m, {"weight": minitorch.ones(7, 7)}, minitorch.ones(1, 1))
    assert m.weight is kept


def test_spectral_norm_looks_along_the_outputs():
    normed = nn.utils.parametrizations.spectral_norm
    for layer, n in ((nn.Linear(3, 2), 2), (nn.Conv1d(3, 5, 2), 5), (nn.ConvTranspose1d(3, 5, 2), 5)):
        assert normed(layer).parametrizations.weight[0]._u.shape == (n,)
    assert normed(nn.Linear(3, 2), dim=1).parametrizations.weight[0]._u.shape == (3,)


def test_gains():
    gains = {"linear": 1, "conv2d": 1, "sigmoid": 1, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}
    assert {name: nn.init.calculate_gain(name) for name in gains} == gains
