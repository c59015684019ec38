"""``torch.func`` and ``torch.autograd.functional``: derivatives of functions, batches, modules with other state."""

import pytest

import minitorch as torch
from minitorch import func, nn
from minitorch.autograd import functional
from minitorch.core.grad_mode import grad_mode, open_batches
from minitorch.func import jvp, vmap


@pytest.fixture
def x():
    return torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)


def cubes(x):
    return (x ** 3).sum()


def test_gradients_of_gradients(x):
    assert func.grad(cubes)(x).tolist() == [3, 12, 27]
    fourth = func.grad(lambda t: func.grad(lambda s: s ** 4)(t))
    assert fourth(torch.tensor(2.0)).item() == 48
    both = func.grad_and_value(lambda a, b: ((a * b).sum(), "aux"), argnums=(0, 1), has_aux=True)
    grads, (value, aux) = both(x, x * 2)
    assert [g.tolist() for g in grads] == [[2, 4, 6], [1, 2, 3]] and value.item() == 28 and aux == "aux"
    params = {"w": x, "b": torch.zeros((), dtype=torch.float64)}
    found = func.grad(lambda p: (p["w"] * 2).sum() + p["b"])(params)
    assert found["w"].tolist() == [2, 2, 2] and found["b"].item() == 1


def test_jacobians_and_hessians(x):
    w = torch.tensor([[1.0, 2, 3], [4, 5, 6]], dtype=torch.float64)
    for jacobian in (func.jacrev(lambda v: w @ v)(x), func.jacfwd(lambda v: w @ v)(x),
                     functional.jacobian(lambda v: w @ v, x)):
        assert jacobian.tolist() == w.tolist()
    for hessian in (func.hessian(cubes)(x), functional.hessian(cubes, x)):
        assert hessian.tolist() == [[6, 0, 0], [0, 12, 0], [0, 0, 18]]
    a, b = functional.jacobian(lambda s, t: s * t, (x, x + 1))
    assert a.diagonal().tolist() == [2, 3, 4] and b.diagonal().tolist() == [1, 2, 3]


def test_products_with_jacobians(x):
    ones = torch.ones(3, dtype=torch.float64)
    out, pull = func.vjp(lambda v: v * v, x)
    assert out.tolist() == [1, 4, 9] and pull(ones)[0].tolist() == [2, 4, 6]
    for out, product in (func.jvp(lambda v: v * v, (x,), (ones,)), functional.jvp(lambda v: v * v, x, ones),
                         functional.vjp(lambda v: v * v, x, ones)):
        assert out.tolist() == [1, 4, 9] and product.tolist() == [2, 4, 6]
    for f in (functional.hvp, functional.vhp):
        assert f(cubes, x, ones)[1].tolist() == [6, 12, 18]
    assert func.linearize(lambda v: v * v, x)[1](ones).tolist() == [2, 4, 6]
    with pytest.raises(RuntimeError, match="v has invalid size"):
        functional.vjp(lambda v: v * v, x, ones[:2])


def test_create_graph_goes_on(x):
    x.requires_grad_()
    jacobian = functional.jacobian(lambda v: v ** 3, x, create_graph=True)
    jacobian.sum().backward()
    assert x.grad.tolist() == [6, 12, 18]


def test_vmap(x):
    batch = torch.stack([x, x * 2])
    assert func.vmap(torch.dot, (0, None))(batch, x).tolist() == [14, 28]
    assert func.vmap(func.grad(cubes))(batch).tolist() == [[3, 12, 27], [12, 48, 108]]
    assert func.vmap(lambda v: (v, v.sum()), out_dims=(1, 0))(batch)[0].shape == (3, 2)
    with pytest.raises(ValueError, match="same size"):
        func.vmap(torch.add)(batch, x)


def test_functional_call_and_ensembles():
    torch.manual_seed(0)
    models = [nn.Linear(3, 2) for _ in range(4)]
    x = torch.randn(5, 3)
    params, buffers = func.stack_module_state(models)
    out = func.vmap(lambda p, b: func.functional_call(models[0], (p, b), (x,)))(params, buffers)
    torch.testing.assert_close(out, torch.stack([m(x) for m in models]))
    out.sum().backward()
    assert params["weight"].grad.shape == (4, 2, 3) and models[0].weight.grad is None
    func.functional_call(models[0], {"nonsense": x}, (x,))                # an attribute for the time of the call
    assert not hasattr(models[0], "nonsense")
    with pytest.raises(RuntimeError, match="Unexpected key.*nonsense"):
        func.functional_call(models[0], {"nonsense": x}, (x,), strict=True)


def test_anomaly_mode_names_op_and_line():
    z = torch.tensor([0.0, 1.0], requires_grad=True)
    with torch.autograd.detect_anomaly():
        y = (z.sqrt() * 0).sum()
        with pytest.raises(RuntimeError, match=r"'SqrtBackward0' returned nan values.*test_func.py:\d+"):
            y.backward()
    (z.sqrt() * 0).sum().backward()
    assert z.grad[0].isnan()


def test_checkpoint_gives_the_same_gradients_with_dropout():
    from minitorch.utils.checkpoint import checkpoint, checkpoint_sequential
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1))
    x = torch.randn(6, 3, requires_grad=True)
    found = []
    for run in (model, lambda v: checkpoint(model, v, use_reentrant=False),
                lambda v: checkpoint_sequential(model, 2, v, use_reentrant=True)):
        torch.manual_seed(1)
        model.zero_grad()
        x.grad = None
        run(x).sum().backward()
        found.append([x.grad.clone(), *[p.grad.clone() for p in model.parameters()]])
    for other in found[1:]:
        torch.testing.assert_close(other, found[0])


def test_functional_call_merges_dicts():
    layer = nn.Linear(2, 1)
    one, two = {"weight": torch.ones(1, 2)}, {"bias": torch.tensor([5.0])}
    for call in (torch.func.functional_call, nn.utils.stateless.functional_call):
        assert call(layer, (one, two), torch.ones(1, 2)).tolist() == [[7]]
        assert call(layer, {**one, **two}, torch.ones(1, 2)).tolist() == [[7]]
    with pytest.raises(ValueError, match="appeared in multiple"):
        nn.utils.stateless.functional_call(layer, (one, one), torch.ones(1, 2))


def test_products_with_vectors_may_be_taken_again():
    x = torch.tensor([1.0, 2.0])
    _, pull = torch.func.vjp(lambda a: a * a, x)
    for _ in range(2):
        assert pull(torch.ones(2))[0].tolist() == [2, 4]
    _, pull, extra = torch.func.vjp(lambda a: (a * 3, "extra"), x, has_aux=True)
    assert pull(torch.ones(2))[0].tolist() == [3, 3] and extra == "extra"
    _, pull = torch.func.vjp(lambda a, b: a * 2, x, torch.ones(3))
    assert [found.tolist() for found in pull(torch.ones(2))] == [[2, 2], [0, 0, 0]]


def test_a_write_that_is_refused_has_written_nothing():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    slopes = func.hessian(lambda v: v.pow(3).sum())(x)
    before = slopes.tolist()
    for write in (lambda: slopes.add_(1), lambda: slopes.diagonal().mul_(2), lambda: slopes[0].normal_()):
        with pytest.raises(RuntimeError, match="clone"):
            write()
        assert slopes.tolist() == before


def test_threads_are_asked_for_levels_and_batches_only_within():
    seen = []

    def f(x):
        seen.append((len(grad_mode.levels), len(open_batches)))
        return x * 2
    jvp(vmap(f), (torch.ones(3),), (torch.ones(3),))
    vmap(lambda x: jvp(f, (x,), (x,))[1])(torch.ones(3))
    assert seen == [(1, 1), (1, 1)] and not grad_mode.levels and not open_batches
    for transformed in (vmap(lambda x: x.nothing), lambda x: jvp(lambda y: y.nothing, (x,), (x,))):
        with pytest.raises(AttributeError):
            transformed(torch.ones(3))
        assert not grad_mode.levels and not open_batches
