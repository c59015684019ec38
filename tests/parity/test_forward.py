"""Forward mode and the functions of `torch.func` against PyTorch: the same programs in both libraries."""

import importlib

import numpy as np
import pytest

import minitorch

torch = pytest.importorskip("torch")


def array(*shape):
    return np.random.default_rng(sum(shape) + len(shape)).standard_normal(shape)


class Programs:
    """Programs of one library, `lib`; each method returns a nest of tensors."""

    def __init__(self, lib):
        self.lib, self.F = lib, lib.func
        self.x, self.v, self.w = self.T(3), self.T(3) * 0.5, self.T(3) + 1

    def T(self, *shape):
        return self.lib.tensor(array(*shape))

    def f(self, x):
        return (self.lib.sin(x) * x.exp()).sum() + (x * x).prod()

    def g(self, x):
        return self.lib.stack([x.sin().sum(), (x * x).sum(), x.prod(), x[0]])

    def net(self):
        nn = self.lib.nn
        net = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Tanh(), nn.Linear(4, 2), nn.LogSoftmax(-1)).double()
        with self.lib.no_grad():
            for p in net.parameters():
                p.copy_(self.T(*p.shape) * 0.3)
        return net

    def jvps(self):
        F, f, x, v, w = self.F, self.f, self.x, self.v, self.w
        return [F.jvp(f, (x,), (v,)), F.jvp(lambda y: F.jvp(f, (y,), (v,))[1], (x,), (w,)),
                F.grad(lambda y: F.jvp(f, (y,), (v,))[1])(x), F.jvp(F.grad(f), (x,), (v,)),
                F.jvp(lambda a: F.vjp(self.g, a)[1](self.T(4))[0], (x,), (v,)),
                F.jvp(lambda a: F.grad(lambda b: (a * b * b).sum())(x), (v,), (w,))]

    def jacobians(self):
        F, g, x = self.F, self.g, self.x
        return [F.jacfwd(g)(x), F.jacrev(g)(x), F.hessian(self.f)(x), F.hessian(g)(x), F.jacrev(F.jacfwd(self.f))(x),
                F.jacfwd(F.jacfwd(F.jacfwd(self.f)))(x)]

    def batches(self):
        F, A, B = self.F, self.T(4, 3), self.T(5, 3)[:4]
        return [F.vmap(lambda a, t: F.jvp(self.g, (a,), (t,))[1])(A, B), F.jvp(F.vmap(self.g), (A,), (B,)),
                F.vmap(F.hessian(self.f))(A), F.vmap(F.jacfwd(lambda a, b: a * b.sin(), argnums=(0, 1)))(A, B)]

    def pytrees(self):
        F, x, v, w = self.F, self.x, self.v, self.w
        return [F.jvp(lambda d: {"s": d["a"] * d["b"][0], "t": (d["b"][0].sum(),)}, ({"a": x, "b": [v]},),
                      ({"a": v, "b": [w]},)),
                F.jacfwd(lambda d, c: {"s": d["a"] * c}, argnums=(0, 1))({"a": x}, v),
                F.jacrev(lambda d, c: {"s": d["a"] * c}, argnums=(0, 1))({"a": x}, v),
                F.hessian(lambda d: (d["a"] ** 2 * d["b"]).sum())({"a": x, "b": v}),
                F.jacfwd(lambda y: (self.g(y), {"k": y * 2}), has_aux=True)(x)]

    def neural_tangents(self):
        F, net, X = self.F, self.net(), self.T(5, 3)
        params = {k: p.detach() for k, p in net.named_parameters()}

        def call(params, x):
            return F.functional_call(net, params, (x,))

        def loss(params):
            return -call(params, X)[:, 0].mean()
        ones = {k: p * 0 + 1 for k, p in params.items()}
        return [F.vmap(F.jacrev(call), (None, 0))(params, X), F.vmap(F.jacfwd(call), (None, 0))(params, X),
                F.jvp(loss, (params,), (ones,)), F.jvp(F.grad(loss), (params,), (ones,))]

    def second_order_learning(self):
        F, x = self.F, self.x

        def inner(w, x, y):
            return ((x * w).sum() - y) ** 2

        def outer(w):
            return inner(w - 0.1 * F.grad(inner)(w, x, 1.0), self.v, 2.0)
        return [F.grad(outer)(self.w), F.jvp(outer, (self.w,), (x,)), F.hessian(outer)(self.w)]

    def writes(self):
        lib, F = self.lib, self.F

        def write(y):
            z = y.clone()
            z[0] = z[1] * z[2]
            z.sub_(y)
            u = z.clone()[1:]
            u.add_(y[:2])
            b = lib.zeros(2, 3, dtype=y.dtype)
            b[1] = z
            b[:, 0] = y[2]
            c = b.t()
            b.sin_()
            return c @ u
        return [F.jvp(write, (self.x,), (self.v,)), F.jacfwd(write)(self.x)]

    def dual_tensors(self):
        fw = importlib.import_module(f"{self.lib.__name__}.autograd.forward_ad")
        lib, found = self.lib, []
        nn = lib.nn.functional
        with fw.dual_level():
            out = self.net()(fw.make_dual(self.T(5, 3), self.T(6, 3)[:5]))
            found.append(fw.unpack_dual(out).tangent.detach())
            d = fw.make_dual(self.x, self.v)
            for call in (lambda a: a.sort()[0], lambda a: a.max(), lambda a: a.topk(2)[0], lambda a: a.cumprod(0),
                         lambda a: a.var(), lambda a: nn.gelu(a), lambda a: a.clamp(-0.5, 0.5),
                         lambda a: lib.linalg.inv(lib.diag(a) + 1), lambda a: a.float(), lambda a: a.norm(),
                         lambda a: nn.conv1d(a[None, None], a[None, None, :2]), lambda a: a.logsumexp(0),
                         lambda a: lib.einsum("i,j->ij", a, a), lambda a: a[[0, 1, 1]], lambda a: a.round(),
                         lambda a: 2 ** a, lambda a: nn.pad(a, (1, 1), value=3.0), lambda a: a > 0,
                         lambda a: a.detach(), lambda a: nn.mse_loss(a, a * 2), lambda a: a.expand(2, 3).reshape(-1)):
                found.append(tuple(fw.unpack_dual(call(d))))
        return found


def flat(x):
    if isinstance(x, dict):
        return [y for v in x.values() for y in flat(v)]
    if isinstance(x, (list, tuple)):
        return [y for v in x for y in flat(v)]
    return [x if x is None else np.asarray(x.detach().tolist())]


@pytest.mark.parametrize("name", ["jvps", "jacobians", "batches", "pytrees", "neural_tangents", "second_order_learning",
                                  "writes", "dual_tensors"])
def test_programs_give_what_pytorch_gives(name):
    theirs, ours = [flat(getattr(Programs(lib), name)()) for lib in (torch, minitorch)]
    assert len(theirs) == len(ours)
    for a, b in zip(theirs, ours):
        assert (a is None) == (b is None) and (a is None or a.shape == b.shape and np.allclose(a, b, 1e-6, 1e-7))
