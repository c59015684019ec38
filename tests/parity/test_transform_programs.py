"""Programs with `torch.func` and forward mode, each one kind of what PyTorch's tutorials show, in both libraries."""

import numpy as np
import pytest

import minitorch

torch = pytest.importorskip("torch", reason="PyTorch is the yardstick")

PROGRAMS = {
    "per_sample_gradients": """
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 5))
params = {k: v.detach() for k, v in model.named_parameters()}
images, labels = torch.randn(6, 1, 8, 8), torch.randint(0, 5, (6,))
def loss(params, image, label):
    return F.cross_entropy(func.functional_call(model, params, (image[None],)), label[None])
out = func.vmap(func.grad(loss), in_dims=(None, 0, 0))(params, images, labels)
one = func.grad(loss)(params, images[2], labels[2])
assert all(torch.allclose(out[k][2], one[k], atol=1e-5) for k in out)
""",
    "jacobians_and_hessians": """
w, b, x = torch.randn(5, 4), torch.randn(5), torch.randn(4)
def predict(w, b, x):
    return (x @ w.t() + b).tanh()
out = dict(rev=func.jacrev(predict, argnums=(0, 1))(w, b, x), fwd=func.jacfwd(predict, argnums=2)(w, b, x),
           hessian=func.hessian(predict, argnums=2)(w, b, x),
           mixed=func.jacrev(func.jacfwd(predict, argnums=2), argnums=1)(w, b, x),
           batch=func.vmap(func.jacrev(predict, argnums=2), in_dims=(None, None, 0))(w, b, torch.randn(3, 4)),
           chunks=func.jacrev(predict, argnums=2, chunk_size=2)(w, b, x))
""",
    "hessian_vector_products": """
x, v = torch.randn(6), torch.randn(6)
f = lambda x: x.sin().pow(2).sum()
out = dict(over=func.jvp(func.grad(f), (x,), (v,))[1], rev=func.vjp(func.grad(f), x)[1](v)[0],
           full=func.hessian(f)(x) @ v, functional=torch.autograd.functional.hvp(f, x, v)[1])
""",
    "ensembling": """
models = [nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)) for _ in range(4)]
params, buffers = func.stack_module_state(models)
base = copy.deepcopy(models[0]).to("meta")
def call(params, buffers, x):
    return func.functional_call(base, (params, buffers), (x,))
x, many = torch.randn(5, 3), torch.randn(4, 5, 3)
out = dict(same=func.vmap(call, in_dims=(0, 0, None))(params, buffers, x), each=func.vmap(call)(params, buffers, many),
           loop=torch.stack([m(x) for m in models]))
""",
    "neural_tangent_kernel": """
model = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 2))
params = {k: v.detach() for k, v in model.named_parameters()}
x1, x2 = torch.randn(4, 3), torch.randn(5, 3)
def f(params, x):
    return func.functional_call(model, params, (x[None],))[0]
def contracted(x1, x2):
    a = [j.flatten(2) for j in func.vmap(func.jacrev(f), (None, 0))(params, x1).values()]
    b = [j.flatten(2) for j in func.vmap(func.jacrev(f), (None, 0))(params, x2).values()]
    return torch.stack([torch.einsum("Naf,Mbf->NMab", p, q) for p, q in zip(a, b)]).sum(0)
def products(x1, x2):
    def kernel(a, b):
        def get(v):
            _, pull = func.vjp(lambda p: f(p, a), params)
            return func.jvp(lambda p: f(p, b), (params,), pull(v))[1]
        return func.vmap(get)(torch.eye(2))
    return func.vmap(func.vmap(kernel, (None, 0)), (0, None))(x1, x2)
out = dict(a=contracted(x1, x2), b=products(x1, x2).transpose(-1, -2))
assert torch.allclose(out["a"], out["b"], atol=1e-4)
""",
    "dual_numbers": """
fwd = torch.autograd.forward_ad
x, v = torch.randn(4, 3), torch.randn(4, 3)
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_forward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        raise AssertionError
    @staticmethod
    def jvp(ctx, t):
        return 2 * ctx.saved_tensors[0] * t if len(ctx.saved_tensors) else t
model = nn.Linear(3, 2)
with fwd.dual_level():
    dual = fwd.make_dual(x, v)
    y = fwd.unpack_dual(dual.sin() * dual[:, :1])
    for name, p in list(model.named_parameters()):
        delattr(model, name)
        setattr(model, name, fwd.make_dual(p.detach(), torch.ones_like(p)))
    z = fwd.unpack_dual(model(x))
    plain = fwd.unpack_dual(x)
out = dict(y=y.primal, dy=y.tangent, z=z.primal, dz=z.tangent, none=torch.tensor(plain.tangent is None))
""",
    "maml": """
def net(params, x):
    w, b = params
    return (x @ w + b).sin()
params = (torch.randn(2, 3), torch.randn(3))
x, y = torch.randn(4, 6, 2), torch.randn(4, 6, 3)
def inner(params, x, y):
    grads = func.grad(lambda p: F.mse_loss(net(p, x), y))(params)
    return tuple(p - 0.1 * g for p, g in zip(params, grads))
def meta(params):
    return func.vmap(lambda x, y: F.mse_loss(net(inner(params, x, y), x), y))(x, y).mean()
out = func.grad_and_value(meta)(params)
""",
    "custom_functions": """
class Cube(torch.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x):
        return x ** 3
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
    @staticmethod
    def backward(ctx, g):
        return g * 3 * ctx.saved_tensors[0] ** 2
    @staticmethod
    def jvp(ctx, t):
        return t * 3 * ctx.saved_tensors[0] ** 2
class ToNumpyLike(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.detach() * 2
    @staticmethod
    def setup_context(ctx, inputs, output):
        pass
    @staticmethod
    def backward(ctx, g):
        return g * 2
    @staticmethod
    def vmap(info, in_dims, x):
        return ToNumpyLike.apply(x), in_dims[0]
x, v = torch.randn(3, 4), torch.randn(3, 4)
out = dict(a=func.vmap(Cube.apply)(x), b=func.vmap(func.grad(lambda x: Cube.apply(x).sum()))(x),
           c=func.jvp(Cube.apply, (x,), (v,))[1], d=func.vmap(ToNumpyLike.apply, in_dims=1)(x),
           e=func.vmap(func.grad(lambda x: ToNumpyLike.apply(x).sum()))(x),
           f=func.jacrev(Cube.apply)(x[0]))
""",
    "randomness": """
x = torch.randn(3, 5)
same = func.vmap(lambda x: x + torch.rand(5), randomness="same")(torch.zeros(3, 5))
different = func.vmap(lambda x: F.dropout(x), randomness="different")(x)
try:
    func.vmap(lambda x: x + torch.rand(5))(x)
    refused = False
except RuntimeError:
    refused = True
out = dict(same=same, different=different, refused=torch.tensor(refused))
assert torch.equal(same[0], same[1]) and refused
""",
    "pytrees": """
point = {"w": [torch.randn(3), torch.randn(2, 2)], "b": (torch.randn(()),)}
def f(p, scale):
    return {"sum": (p["w"][0].sum() * p["b"][0] + p["w"][1].prod()) * scale, "parts": [p["w"][0] ** 2]}
out = dict(grad=func.grad(lambda p: f(p, 2.0)["sum"])(point), jac=func.jacrev(f)(point, 2.0),
           fwd=func.jacfwd(lambda p: f(p, 2.0)["parts"])(point),
           vjp=func.vjp(lambda p: f(p, 1.0), point)[1](func.vjp(lambda p: f(p, 1.0), point)[0]),
           lin=func.linearize(lambda p: f(p, 3.0), point)[1](point),
           aux=func.grad(lambda p: (f(p, 1.0)["sum"], f(p, 1.0)), has_aux=True)(point))
""",
    "nested_vmap": """
a, b = torch.randn(3, 4), torch.randn(5, 4)
pairs = func.vmap(func.vmap(torch.dot, in_dims=(None, 0)), in_dims=(0, None))(a, b)
outer = func.vmap(lambda x: {"y": x * 2, "n": x.sum()}, in_dims=1, out_dims={"y": 1, "n": 0})(a)
batched = torch.autograd.grad((t := a.clone().requires_grad_()).sin().sum(0), t, torch.eye(4), is_grads_batched=True)
out = dict(pairs=pairs, outer=outer, batched=batched, chunks=func.vmap(lambda x: x.softmax(0), chunk_size=2)(a))
""",
    "closures": """
w = torch.randn(3, requires_grad=True)
g = func.grad(lambda x: (x * w).pow(2).sum())(torch.ones(3))
g.sum().backward()
out = dict(g=g, w=w.grad)
""",
    "functional": """
x = torch.randn(3)
f = lambda x: (x ** 3).cumsum(0)
AF = torch.autograd.functional
out = dict(a=AF.jacobian(f, x, vectorize=True), b=AF.jacobian(f, x, vectorize=True, strategy="forward-mode"),
           c=AF.hessian(lambda x: f(x).sum(), x, vectorize=True, outer_jacobian_strategy="forward-mode"), d=AF.jvp(f,
           x, x))
""",
    "complex_numbers": """
z = torch.randn(4, dtype=torch.complex64)
f = lambda z: (z * z.conj()).real.sum() + z.abs().sum()
leaf = z.clone().requires_grad_()
torch.fft.fft(leaf).abs().pow(2).sum().backward()
rotated = torch.view_as_real(torch.view_as_complex(torch.randn(4, 3, 2)) * torch.polar(torch.ones(3), torch.arange(3.)))
out = dict(grad=func.grad(f)(z), batch=func.vmap(func.grad(f))(torch.randn(3, 4, dtype=torch.complex64)),
           fft=leaf.grad, r=rotated)
""",
}


def flat(value):
    if isinstance(value, dict):
        return [x for k in sorted(value) for x in flat(value[k])]
    if isinstance(value, (list, tuple)):
        return [x for v in value for x in flat(v)]
    return [] if value is None else [value]


def run(library, program):
    import copy
    library.manual_seed(0)
    scope = {"torch": library, "nn": library.nn, "F": library.nn.functional, "func": library.func, "copy": copy}
    exec(program, scope)
    return [x.detach().numpy() for x in flat(scope["out"])]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_programs_of_transforms_have_pytorchs_numbers(name):
    found, wanted = run(minitorch, PROGRAMS[name]), run(torch, PROGRAMS[name])
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)
