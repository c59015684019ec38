"""Transforms built on forward mode: `jvp`, Jacobians, Hessians; with modules, compiled functions, complex numbers."""

import math

import numpy as np
import pytest

import minitorch as torch
from minitorch import func
from minitorch.autograd import Function, functional, gradcheck, gradgradcheck
from minitorch.autograd import forward_ad as fw
from minitorch.core.grad_mode import grad_mode
from minitorch.core.tensor import Tensor
from minitorch.func import grad, jvp
from tests.helpers.pages import run_examples
from tests.helpers.tangent_checks import T, close


# ---- functions of functions --------------------------------------------------------------------------------
def f(x):
    return (torch.sin(x) * x.exp()).sum() + (x * x).prod()


def g(x):
    return torch.stack([x.sin().sum(), (x * x).sum(), x.prod(), x[0]]).softmax(0)


X, V, W = T(1.0, 2.0, 0.5), T(0.3, -1.0, 2.0), T(1.0, 0.5, -0.5)


def test_orders_of_derivation_agree():
    H = functional.hessian(f, X)
    for second in (func.hessian(f), func.jacfwd(func.jacfwd(f)), func.jacrev(func.jacfwd(f)),
                   func.jacrev(func.jacrev(f))):
        assert close(second(X), H)
    assert close(func.jvp(lambda y: func.jvp(f, (y,), (V,))[1], (X,), (W,))[1], W @ H @ V)
    assert close(func.grad(lambda y: func.jvp(f, (y,), (V,))[1])(X), H @ V)
    assert close(func.jvp(func.grad(f), (X,), (V,))[1], H @ V)
    assert close(func.grad(lambda t: func.jvp(f, (X,), (t,))[1])(V), func.grad(f)(X))
    third = func.jacfwd(func.jacfwd(func.jacfwd(f)))(X)
    assert close(third, func.jacrev(func.hessian(f))(X)) and close(third, third.permute(2, 0, 1))
    assert close(func.jacfwd(g)(X), func.jacrev(g)(X)) and close(func.hessian(g)(X), func.jacrev(func.jacrev(g))(X))
    J = functional.jacobian(g, X)
    assert close(functional.jacobian(g, X, vectorize=True, strategy="forward-mode"), J)
    assert close(functional.hessian(f, X, vectorize=True, outer_jacobian_strategy="forward-mode"), H)
    value, push = func.linearize(g, X)
    assert close(value, g(X)) and close(push(V), J @ V) and close(push(W), J @ W)
    assert close(func.jvp(lambda c: func.vjp(g, X)[1](c)[0], (g(X),), (g(V),))[1], J.T @ g(V))
    assert close(func.jacfwd(g, chunk_size=2)(X), J) and close(func.jacrev(g, chunk_size=3)(X), J)


def test_levels_are_not_confused():
    def inner(a):
        return a * func.jvp(lambda b: a + b, (T(1.0),), (T(1.0),))[1]
    assert func.jvp(inner, (T(2.0),), (T(1.0),)) == (T(2.0), T(1.0))
    assert close(func.jvp(lambda a: func.grad(lambda b: (a * b * b).sum())(X), (V,), (W,))[1], 2 * X * W)


def test_what_a_function_closes_over_is_differentiated():
    def product(a):
        return lambda b: a * b * b
    for inner in (lambda a: func.grad(lambda b: (a * b * b).sum())(X), lambda a: func.vjp(product(a), X)[1](W)[0],
                  lambda a: func.linearize(product(a), X)[1](W), lambda a: func.jvp(product(a), (X,), (W,))[1],
                  lambda a: func.jacrev(product(a))(X), lambda a: func.jacfwd(product(a))(X)):
        found = func.grad(lambda a, inner=inner: inner(a).sum())(V)                # linear in what is closed over
        assert found.all() and close(found, func.grad(lambda a, inner=inner: inner(a).sum())(V * 3))
        assert func.jvp(inner, (V,), (W,))[1].any()


def test_pytrees():
    tree, direction = {"a": X, "b": [V]}, {"a": W, "b": [X]}

    def of_tree(d):
        return {"s": d["a"] * d["b"][0], "t": (d["b"][0].sum(),)}
    out, product = func.jvp(of_tree, (tree,), (direction,))
    assert close(out["s"], X * V) and close(product["s"], W * V + X * X) and close(product["t"][0], X.sum())
    for transform in (func.jacfwd, func.jacrev):
        J = transform(lambda d, c: {"s": d["a"] * c}, argnums=(0, 1))({"a": X}, V)
        assert close(J["s"][0]["a"], torch.diag(V)) and close(J["s"][1], torch.diag(X))
        J, aux = transform(lambda x: (x * x, {"k": x * 2}), has_aux=True)(X)
        assert close(J, torch.diag(2 * X)) and close(aux["k"], X * 2) and not aux["k"].requires_grad
        empty = transform(lambda x: {"n": x[:0], "m": x * 1})(X[:0])
        assert empty["n"].shape == empty["m"].shape == (0, 0)
    H = func.hessian(lambda d: (d["a"] ** 2 * d["b"]).sum())({"a": X, "b": V})
    assert close(H["a"]["b"], torch.diag(2 * X)) and close(H["b"]["a"], torch.diag(2 * X)) and not H["b"]["b"].any()
    value, push = func.linearize(lambda d, y: {"o": d["a"] * y.sin()}, {"a": X}, V)
    assert close(push({"a": W}, X)["o"], W * V.sin() + X * V.cos() * X)
    *found, aux = func.jvp(lambda y: (f(y), {"k": y * 2}), (X,), (V,), has_aux=True)
    assert close(found, func.jvp(f, (X,), (V,))) and aux["k"].backend.level is None


def test_calls_that_are_refused():
    for wrong, error, text in (
            (lambda: func.jvp(f, X, (V,)), RuntimeError, "Expected primals to be a tuple"),
            (lambda: func.jvp(f, (X,), (V, V)), RuntimeError, "same python structure"),
            (lambda: func.jvp(f, (X,), (V[:2],)), RuntimeError, "different size"),
            (lambda: func.jvp(f, (X.long(),), (V,)), ValueError, "Expected primal to be floating point"),
            (lambda: func.jvp(lambda: X, (), ()), RuntimeError, "at least one Tensor"),
            (lambda: func.jvp(lambda x: 3, (X,), (V,)), RuntimeError, "only tensors"),
            (lambda: func.jvp(lambda x: T(1.0), (X,), (V,), strict=True), RuntimeError, "independent of the inputs"),
            (lambda: func.linearize(g, X)[1](V, V), RuntimeError, "same argspec"),
            (lambda: func.linearize(g, X)[1](V[:2]), RuntimeError, "tangent:0 with shape"),
            (lambda: functional.jacobian(g, X, strategy="forward-mode"), NotImplementedError, "vectorize=True"),
            (lambda: functional.jacobian(g, X, True, strategy="forward-mode"), NotImplementedError, "create_graph"),
            (lambda: functional.jacobian(g, X, strict=True, vectorize=True), RuntimeError, "not supported together"),
            (lambda: functional.jacobian(g, X, strategy="sideways"), AssertionError, "Expected strategy")):
        with pytest.raises(error, match=text):
            wrong()
        assert not grad_mode.levels
    assert func.jvp(lambda x: T(1.0), (X,), (V,))[1].tolist() == [0.0]


def test_batches():
    A, B = torch.arange(12.0).reshape(4, 3).double() / 6, torch.ones(4, 3).double()
    rows = func.vmap(lambda a, t: func.jvp(g, (a,), (t,))[1])(A, B)
    assert close(rows, torch.stack([func.jvp(g, (a,), (b,))[1] for a, b in zip(A, B)]))
    assert close(func.jvp(func.vmap(g), (A,), (B,))[1], rows)
    assert close(func.vmap(func.hessian(f))(A), torch.stack([func.hessian(f)(a) for a in A]))


def test_modules():
    torch.manual_seed(0)
    layers = torch.nn.Linear(3, 4), torch.nn.LayerNorm(4), torch.nn.Tanh(), torch.nn.Linear(4, 2)
    net = torch.nn.Sequential(*layers).double()
    params = {k: p.detach() for k, p in net.named_parameters()}
    x = torch.randn(5, 3, dtype=torch.float64)
    direction = {k: torch.randn_like(p) for k, p in params.items()}

    def loss(p):
        return func.functional_call(net, p, (x,)).log_softmax(-1)[:, 0].mean()
    product = func.jvp(func.grad(loss), (params,), (direction,))[1]
    value, pull = func.vjp(lambda p: func.jvp(loss, (p,), (direction,))[1], params)
    other = pull(torch.ones_like(value))[0]
    assert all(close(product[k], other[k], 1e-8) for k in params)
    rnn = torch.nn.LSTM(3, 2).double()
    with fw.dual_level():
        found = fw.unpack_dual(rnn(fw.make_dual(x[:, None], torch.ones_like(x[:, None])))[0]).tangent
    assert close(found, functional.jvp(lambda y: rnn(y)[0], x[:, None], torch.ones_like(x[:, None]))[1], 1e-8)


def test_randomness_is_that_of_the_call():
    torch.manual_seed(0)
    x = torch.ones(100)
    out, product = func.jvp(lambda x: torch.nn.functional.dropout(x, 0.5), (x,), (x,))
    assert torch.equal(out, product) and 0 < int((out == 0).sum()) < 100


# ---- with the rest of the library --------------------------------------------------------------------------
def network(weight):
    return lambda x: torch.tanh(x @ weight).softmax(-1).sum(0)


def second(function, x, v):
    return func.jvp(func.grad(lambda y: function(y).sin().sum()), (x,), (v,))[1]


def test_saved_tensors_hooks_and_checkpoints():
    from minitorch.autograd.graph import saved_tensors_hooks
    from minitorch.utils.checkpoint import checkpoint
    x, v, packed = torch.randn(4, 3), torch.randn(4, 3), []
    plain = network(torch.randn(3, 3))

    def pack(t):
        packed.append(t)
        return t.clone()
    want = second(plain, x, v)
    with saved_tensors_hooks(pack, lambda t: t):
        func.jvp(plain, (x,), (v,))
        assert not packed                                  # nothing is asked to be saved
        assert close(second(plain, x, v), want, 1e-5) and packed
    assert close(second(lambda y: checkpoint(plain, y, use_reentrant=False), x, v), want, 1e-5)
    with pytest.raises(NotImplementedError, match="must implement the jvp function"):       # as in PyTorch
        second(lambda y: checkpoint(plain, y, use_reentrant=True), x, v)
    with torch.autograd.detect_anomaly():
        assert close(second(plain, x, v), want, 1e-5)


def test_what_need_not_be_kept_may_be_written_to():
    w = torch.ones(2, dtype=torch.float64, requires_grad=True) * 3
    with fw.dual_level():
        y = w * fw.make_dual(T(1.0, 2.0), T(1.0, 1.0))     # the gradient of w needs no w
        with torch.no_grad():
            w.mul_(2)
        assert torch.autograd.grad(y.sum(), w)[0].tolist() == [1.0, 2.0]


def test_subclasses():
    asked = []

    class Named(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(getattr(func, "__name__", str(func)))
            return super().__torch_function__(func, types, args, kwargs or {})
    with fw.dual_level():
        d = fw.make_dual(T(1.0, 2.0).as_subclass(Named), T(1.0, 1.0))
        asked.clear()
        out = torch.tanh(d) * 2
        assert type(d) is type(out) is Named and asked == ["tanh", "mul"]
        assert type(fw.unpack_dual(out).tangent) is Tensor


def test_16_bit_floats_and_autocast():
    x, v, w = torch.randn(4, 3), torch.randn(4, 3), torch.randn(3, 3)

    def layer(x, w):
        return torch.nn.functional.layer_norm(x @ w, (3,)).sin()
    want = func.jvp(lambda x: layer(x, w), (x,), (v,))[1]
    half = func.jvp(lambda x: layer(x, w.bfloat16()), (x.bfloat16(),), (v.bfloat16(),))[1]
    assert half.dtype is torch.bfloat16 and torch.allclose(half.float(), want, atol=0.2)
    with torch.autocast("cpu"):
        out, product = func.jvp(lambda x: x @ w, (x,), (v,))
    assert out.dtype is product.dtype is torch.bfloat16 and torch.allclose(product.float(), v @ w, atol=0.1)


def test_gradcheck():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x ** 2

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

        @staticmethod
        def jvp(ctx, t):
            return 3 * ctx.saved_tensors[0] * t
    x = T(0.5, -1.0, requires_grad=True)
    both = [T(0.5, -1.0, requires_grad=True), T(2.0, 3.0, requires_grad=True)]
    assert gradcheck(Wrong.apply, x) and not gradcheck(Wrong.apply, x, check_forward_ad=True, raise_exception=False)
    with pytest.raises(RuntimeError, match="Jacobian computed with forward mode mismatch for output 0"):
        gradcheck(Wrong.apply, x, check_forward_ad=True, check_backward_ad=False)
    assert gradcheck(lambda a, b: (a * b.sin(), a.sum()), both, check_forward_ad=True, check_batched_grad=True,
                     check_batched_forward_grad=True)
    assert gradgradcheck(lambda a, b: a * b.sin(), both, check_fwd_over_rev=True)
    assert gradgradcheck(lambda a, b: a * b.sin(), both, check_fwd_over_rev=True, check_rev_over_rev=False)
    for options, text in ((dict(check_batched_forward_grad=True), "requires check_forward_ad"),
                          (dict(check_backward_ad=False), "at least one of check_forward_ad or check_backward_ad"),
                          (dict(check_backward_ad=False, check_forward_ad=True, check_batched_grad=True),
                           "requires check_backward_ad")):
        with pytest.raises(AssertionError, match=text):
            gradcheck(torch.sin, x, **options)


def test_the_page_about_it():
    assert run_examples("forward_mode.md") == 17


# ---- complex numbers ---------------------------------------------------------------------------------------
def written(z):
    """A program of writes to parts of complex tensors and to real tensors seen as complex ones."""
    z = z.clone()
    z.real.mul_(z.imag)
    z.imag[1:] = z.real[:2] * 2
    y = torch.view_as_real(z)
    y[0] = y[1] ** 2
    r = torch.zeros(3, 2, dtype=torch.float64)
    c = torch.view_as_complex(r)
    c.copy_(z * z.conj() * 1j + z)
    r[0].sin_()
    return torch.cat([z, c])


@pytest.mark.parametrize("function", [
    written, lambda z: z * z.conj(), lambda z: (z.abs() * 1j).exp(), lambda z: torch.fft.ifft(torch.fft.fft(z) ** 2),
    lambda z: torch.polar(z.abs(), z.angle() * 2), lambda z: z.sqrt().log() + z ** (1 + 2j), lambda z: z.sgn(),
    lambda z: torch.linalg.svdvals(torch.outer(z, z) + torch.eye(3)), lambda z: torch.linalg.eigvals(torch.diag(z)),
    lambda z: z.prod() * z.cumsum(0)])
def test_complex_numbers(function):
    rng = np.random.default_rng(0)
    z, v = [torch.tensor(rng.standard_normal(3) + 1j * rng.standard_normal(3)) for _ in range(2)]
    difference = (function(z + 1e-6 * v) - function(z - 1e-6 * v)) / 2e-6
    product = func.jvp(function, (z,), (v,))[1]
    assert product.dtype is difference.dtype and torch.allclose(product, difference, 1e-6, 1e-6)


def test_second_derivatives_of_complex_numbers():
    rng = np.random.default_rng(0)
    z, v = [torch.tensor(rng.standard_normal(3) + 1j * rng.standard_normal(3)) for _ in range(2)]

    def loss(z):
        return ((z * z.conj()).real.sin() * z.abs()).sum()
    product = func.jvp(func.grad(loss), (z,), (v,))[1]
    difference = (func.grad(loss)(z + 1e-6 * v) - func.grad(loss)(z - 1e-6 * v)) / 2e-6
    assert torch.allclose(product, difference, 1e-6, 1e-6)
    assert close(func.grad(lambda y: func.jvp(loss, (y,), (v,))[1])(z), product)
    assert gradcheck(lambda z: (z * z.abs(), z.real), z.clone().requires_grad_(), check_forward_ad=True)


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


def numbers(rng, shape, kind="c"):
    z = rng.normal(size=shape)
    return np.asarray(z + 1j * rng.normal(size=shape) if kind == "c" else z)


def complex_tensor(*shape, seed=0, kind="c"):
    return torch.from_numpy(numbers(np.random.default_rng(seed), shape, kind)).requires_grad_()


@pytest.mark.parametrize("function", [
    lambda z: z * z * 2j, lambda z: z.abs() + z.real * z.imag, lambda z: z.conj() * z.exp(), lambda z: torch.fft.fft(z),
    lambda z: torch.cat([z, z * z]), lambda z: torch.stack([z.real * 1j, z]), lambda z: torch.einsum("i,i->i", z, z),
    lambda z: torch.view_as_complex(torch.view_as_real(z) * 2)])
def test_forwards_and_in_batches(function):
    """A tangent is the change of the result: the real and imaginary parts of tangents are those of differences."""
    z, t = complex_tensor(3).detach(), complex_tensor(3, seed=1).detach()
    value, tangent = torch.func.jvp(function, (z,), (t,))
    torch.testing.assert_close(value, function(z))
    wanted = (function(z + 1e-6 * t) - function(z - 1e-6 * t)) / 2e-6
    torch.testing.assert_close(tangent, wanted, rtol=1e-6, atol=1e-6)
    both = torch.func.vmap(function)(torch.stack([z, t]))
    torch.testing.assert_close(both, torch.stack([function(z), function(t)]))
    gradient = torch.func.grad(lambda z: function(z).abs().square().sum())
    torch.testing.assert_close(torch.func.vmap(gradient)(torch.stack([z, t])), torch.stack([gradient(z), gradient(t)]))


# ---- functions of raw arrays -------------------------------------------------------------------------------
@pytest.mark.parametrize("function", [
    lambda x: torch.nn.functional.grid_sample(x[None, None], x.tanh()[None, :, :2, None].mT,
                                              align_corners=False),
    lambda x: torch.nn.functional.affine_grid(x[None, :2], (1, 1, 2, 2), align_corners=True),
    lambda x: torch.nn.functional.ctc_loss(x.log_softmax(1)[:, None], torch.tensor([[1]]),
                                           torch.tensor([3]), torch.tensor([1])),
    lambda x: torch.nn.functional.multi_margin_loss(x, torch.tensor([1, 0, 2])),
    torch.nn.functional.pdist, lambda x: torch.linalg.lstsq(x[:, :2], x[:, 2:]).solution,
    lambda x: torch.linalg.matrix_rank(x) + 0 * x, lambda x: torch.histc(x, 4, -1, 1) + 0 * x[0, 0],
    lambda x: torch.histogram(x, 4, range=(-1.0, 1.0)).hist + 0 * x[0, 0]],
    ids="grid_sample affine_grid ctc_loss multi_margin_loss pdist lstsq matrix_rank histc histogram".split())
def test_functions_that_read_arrays_beside_the_ops(function):
    """Their tangents, alone and within `vmap`, are those that two backward passes give."""
    rng = np.random.default_rng(0)
    x, t = [torch.tensor(rng.uniform(-1, 1, (2, 3, 3))) for _ in range(2)]
    wanted = [functional.jvp(function, a, b) for a, b in zip(x, t)]
    for found, value in zip(jvp(function, (x[0],), (t[0],)), wanted[0]):
        assert close(found, value)
    outside = jvp(torch.func.vmap(function), (x,), (t,))
    within = torch.func.vmap(lambda a, b: jvp(function, (a,), (b,)))(x, t)
    for found, again, values in zip(outside, within, zip(*wanted)):
        assert close(found, torch.stack(values)) and close(again, torch.stack(values))


def test_indices_of_a_batch():
    x, t, index = T([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]), T([1.0, 0.0, 2.0], [0.0, 3.0, 0.0]), \
        torch.tensor([[0, 2], [1, 1], [2, 0]])
    for take in (lambda x, i: x[:, i], lambda x, i: x[0, i], lambda x, i: x[i // 2, 1] * x[:, i[0]]):
        rows = [jvp(lambda x, i=i, take=take: take(x, i), (x,), (t,)) for i in index]
        taken = torch.func.vmap(take, (None, 0))
        found = jvp(lambda x, taken=taken: taken(x, index), (x,), (t,))
        assert all(close(a, torch.stack(b)) for a, b in zip(found, zip(*rows)))
        with fw.dual_level():
            d = taken(fw.make_dual(x, t), index)
            assert all(close(a, torch.stack(b)) for a, b in zip(fw.unpack_dual(d), zip(*rows)))

    def write(x, i):
        y = x.clone()
        y[i] = y[i] * 2
        y[i - 1] = 5.0
        return y
    found = torch.func.vmap(func.jacfwd(write))(T([1.0] * 3, [2.0] * 3), torch.tensor([1, 2]))
    assert found.tolist() == [torch.diag(T(0.0, 2.0, 1.0)).tolist(), torch.diag(T(1.0, 0.0, 2.0)).tolist()]


def test_a_product_with_hessians_of_a_batch():
    x, t = torch.randn(2, 2, 3, dtype=torch.float64), torch.randn(2, 2, 3, dtype=torch.float64)
    target = torch.tensor([[0, 2], [1, 1]])
    hessians = torch.func.vmap(func.hessian(torch.nn.functional.cross_entropy))
    push = func.linearize(lambda x: hessians(x, target), x)[1]
    step = (hessians(x + 1e-5 * t, target) - hessians(x - 1e-5 * t, target)) / 2e-5
    assert close(push(t), step, 1e-6)


def test_formulas_that_leave_inputs_out():
    """The derivative of `binary_cross_entropy` calls ``clamp(x, least)``."""
    x, t, target = T(0.2, 0.7, 0.5), T(1.0, -2.0, 0.5), T(1.0, 0.0, 1.0)

    def loss(x):
        return torch.nn.functional.binary_cross_entropy(x, target)
    found = grad(lambda x: jvp(loss, (x,), (t,))[1])(x)
    assert close(found, jvp(grad(loss), (x,), (t,))[1]) and close(found, func.hessian(loss)(x) @ t)


def test_a_table_that_is_scaled_down():
    """It has no derivative, as under `no_grad`."""
    def rows(x):
        return torch.nn.functional.embedding(torch.tensor([0, 1]), x.clone(), max_norm=1.0)
    table, t = T([3.0, 4.0], [0.3, 0.4]), T([1.0, 2.0], [5.0, 6.0])
    found, product = jvp(rows, (table,), (t,))
    assert close(found, T([0.6, 0.8], [0.3, 0.4]), 1e-6) and product.tolist() == t.tolist()


def test_a_product_with_the_hessian_of_a_batch():
    x, t = torch.randn(2, 2, 3, dtype=torch.float64), torch.randn(2, 2, 3, dtype=torch.float64)
    losses, target = torch.func.vmap(torch.nn.functional.cross_entropy), torch.tensor([[0, 2], [1, 1]])
    hessian = func.hessian(lambda x: losses(x, target).sum())
    step = (hessian(x + 1e-5 * t) - hessian(x - 1e-5 * t)) / 2e-5
    assert close(func.linearize(hessian, x)[1](t), step, 1e-6)


@pytest.mark.parametrize("mode", ("RNN", "GRU", "LSTM"))
def test_a_product_with_the_hessian_of_a_frozen_layer(mode):
    """No gradient of the layer's is recorded: its backward pass runs on dual arrays."""
    layer = getattr(torch.nn, mode)(2, 3, dtype=torch.float64).requires_grad_(False)
    x, t = torch.randn(2, 4, 2, 2, dtype=torch.float64)

    def loss(x):
        return layer(x)[0].sum()
    step = (grad(loss)(x + 1e-5 * t) - grad(loss)(x - 1e-5 * t)) / 2e-5
    found = grad(lambda x: jvp(loss, (x,), (t,))[1])(x)
    assert close(found, step, 1e-6) and step.abs().max() > 1e-3


def test_an_output_without_a_tangent_does_not_change_the_gradients_of_others():
    """Its product is a plain zero, outside the level."""
    x, t = T(0.5, 2.0), T(3.0, 1.0)
    for outputs in (lambda x: ((x > 1).to(x.dtype), x * 0.5), lambda x: (x * 0.5, (x > 1).double())):
        def weighted(x, outputs=outputs):
            return sum([(y * (y + 2)).sum() for y in jvp(outputs, (x,), (t,))[1]])
        assert grad(weighted)(x).tolist() == [0, 0]


def test_a_write_into_a_tensor_that_a_hidden_batch_does_not_map():
    """The columns of a Jacobian differ in their tangents alone."""
    x, index = T(1.0, 2.0), torch.tensor([1, 0])

    def assigned(v):
        y = x.clone()
        y[index] = v * v
        return y
    assert func.hessian(lambda v: assigned(v).sum())(x).tolist() == [[2, 0], [0, 2]]
    assert func.jacfwd(func.jacfwd(assigned))(x).tolist() == [[[0, 0], [0, 2]], [[2, 0], [0, 0]]]
    found = func.jacfwd(lambda v: grad(lambda z: (z * 1).mul_(v).sum())(x))(x)
    assert found.tolist() == [[1, 0], [0, 1]]


def test_an_index_of_numbers_in_the_graph_of_a_dual_tensor():
    x = T(1.0, 2.0, 3.0)

    def f(v):
        return (v * v).index_put((torch.tensor([0, 2]),), v[:2] ** 3)
    assert close(func.jacfwd(func.jacrev(f))(x), func.jacrev(func.jacfwd(f))(x))
