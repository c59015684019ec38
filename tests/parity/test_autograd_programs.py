"""Programs on autograd, checkpoint, func and subclasses in PyTorch's own idioms, run by both libraries."""

import importlib
import warnings

import pytest

import minitorch

torch = pytest.importorskip("torch")


def run(library, program):
    """The results of a program, as plain values; or the class of the error that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library.manual_seed(0)
        try:
            return plain(library, program(library))
        except Exception as error:
            names = [cls.__name__ for cls in type(error).__mro__]
            return "raises " + next(n for n in names if n in ("TypeError", "ValueError", "AttributeError", "IndexError",
                                                              "AssertionError", "RuntimeError", "Exception"))


def plain(library, x):
    if isinstance(x, library.Tensor):
        return type(x).__name__, x.requires_grad, str(x.dtype), rounded(x.detach().tolist())
    if isinstance(x, dict):
        return {k: plain(library, v) for k, v in x.items()}
    if isinstance(x, (tuple, list)):
        return [plain(library, v) for v in x]
    return x if isinstance(x, (bool, int, float, str, type(None))) else type(x).__name__


def rounded(x):
    return [rounded(v) for v in x] if isinstance(x, list) else round(x, 4) if isinstance(x, float) else x


def of(library, name):
    return importlib.import_module(f"{library.__name__}.{name}")


def ones(t, *shape):
    return t.ones(*shape, requires_grad=True)


PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


# ---- hooks -----------------------------------------------------------------------------------------------------
def register_hook(result):
    def call(t):
        x = ones(t, 3)
        x.register_hook(lambda g: result(t))
        (x * 2).sum().backward()
        return x.grad
    return call


def register_node_hook(result, pre):
    def call(t):
        x = ones(t, 3)
        y = x * 2
        if pre:
            y.grad_fn.register_prehook(lambda grads: result(t))
        else:
            y.grad_fn.register_hook(lambda grads, outputs: result(t))
        y.sum().backward()
        return x.grad
    return call


RESULTS = {"text": lambda t: "a", "tensor": lambda t: t.ones(3), "short": lambda t: t.ones(2), "number": lambda t: 3,
           "double": lambda t: t.ones(3).double(), "nothing": lambda t: None, "one": lambda t: (t.ones(3),),
           "two": lambda t: (t.ones(3), t.ones(3)), "some": lambda t: (t.ones(3), None), "none": lambda t: (None,)}
for name, made in RESULTS.items():
    PROGRAMS[f"hook returns {name}"] = register_hook(made)
    PROGRAMS[f"node hook returns {name}"] = register_node_hook(made, False)
    PROGRAMS[f"node prehook returns {name}"] = register_node_hook(made, True)


@program
def retained(t):
    x = ones(t, 2)
    y = x * 2
    z = y * 3
    y.retain_grad()
    z.retain_grad()
    z.sum().backward(inputs=[x, y], retain_graph=True)
    z.sum().backward()
    return x.grad, y.grad, z.grad


@program
def off_the_way(t):
    x, w = ones(t, 2), ones(t, 2)
    u, seen = w * 2, []
    u.retain_grad()
    u.register_hook(lambda g: seen.append(1))
    (x * 2 * u).sum().backward(inputs=[x])
    return x.grad, u.grad, seen


@program
def stopped(t):
    x, w, seen = ones(t, 2), ones(t, 2), []
    x.register_hook(lambda g: seen.append(1))
    y = x * w
    x.requires_grad_(False)
    y.sum().backward()
    return x.grad, w.grad, seen


@program
def accumulate_grad(t):
    x, seen = ones(t, 3), []
    leaf = x.expand_as(x).grad_fn.next_functions[0][0]
    leaf.register_hook(lambda *args: seen.append(args))
    leaf.register_prehook(lambda g: (g[0] * 2,))
    (x * 3).sum().backward()
    return seen, x.grad, leaf.variable is x, leaf is (x * 2).grad_fn.next_functions[0][0]


@program
def several_results(t):
    a, b = ones(t, 3).split([1, 2])
    seen = []
    a.grad_fn.register_prehook(lambda gs: seen.append([g is not None and tuple(g.shape) for g in gs]))
    (a * 2).sum().backward()
    return seen, a.grad_fn is b.grad_fn


def names_of(index):
    def call(t):
        node = index(ones(t, 2, 2)).grad_fn
        return node.name(), type(node).__name__, [(type(n).__name__, i) for n, i in node.next_functions]
    return call


for i, index in enumerate([lambda x: x[0], lambda x: x[None], lambda x: x[1:], lambda x: x[...], lambda x: x * x,
                           lambda x: x.unbind()[1],
                           lambda x: x.exp() + x, lambda x: x.sort()[0]]):
    PROGRAMS[f"names {i}"] = names_of(index)

for name, args in [("transpose_", (0, 1)), ("t_", ()), ("squeeze_", (0,)), ("unsqueeze_", (0,)), ("swapaxes_", (0, 1)),
                   ("resize_", (3,)), ("as_strided_", ((2,), (1,)))]:
    def versions(t, name=name, args=args):
        x = t.ones(1, 2)
        getattr(x, name)(*args)
        return x._version, tuple(x.shape)
    PROGRAMS["version " + name] = versions


# ---- the graph -------------------------------------------------------------------------------------------------
def packs(call):
    def counted(t):
        x, sizes, unpacked = ones(t, 2, 3), [], []
        with t.autograd.graph.saved_tensors_hooks(lambda v: sizes.append(tuple(v.shape)) or v.detach(),
                                                  lambda v: unpacked.append(1) or v):
            y = call(t, x)
        before = len(unpacked)
        y.sum().backward()
        return sorted(sizes), before, len(unpacked), x.grad
    return counted


for name, call in {"mul": lambda t, x: x * x, "sin": lambda t, x: x.sin(), "exp": lambda t, x: x.exp(),
                   "pow": lambda t, x: x ** 2, "add": lambda t, x: x + x, "matmul": lambda t, x: x @ x.t(),
                   "chain": lambda t, x: (x.sin() * x).exp().tanh(), "softmax": lambda t, x: x.softmax(0)}.items():
    PROGRAMS["packs " + name] = packs(call)


@program
def packed_and_scaled(t):
    x = ones(t, 3)
    with t.autograd.graph.saved_tensors_hooks(lambda v: v * 4, lambda v: v / 4):
        y = x.sin() * x
    g, = t.autograd.grad(y.sum(), x, create_graph=True)
    return g, t.autograd.grad(g.sum(), x)


@program
def packed_function(t):
    class Square(t.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a, a * a, None)
            return a * a

        @staticmethod
        def backward(ctx, g):
            a, y, nothing = ctx.saved_tensors
            return 2 * a * g
    x, seen = ones(t, 3), []
    with t.autograd.graph.saved_tensors_hooks(lambda v: seen.append(v.requires_grad) or v.detach(), lambda v: v):
        y = Square.apply(x)
    g, = t.autograd.grad(y.sum(), x, create_graph=True)
    return seen[:1], g, t.autograd.grad(g.sum(), x), y.grad_fn.name()


for name, hooks in {"number": (lambda v: 3, lambda n: n), "writes": (lambda v: v.add_(1), lambda v: v),
                    "raises": (lambda v: 1 // 0, lambda v: v)}.items():
    def broken(t, hooks=hooks):
        with t.autograd.graph.saved_tensors_hooks(*hooks):
            y = (ones(t, 2) * 1).sin()
        y.sum().backward()
    PROGRAMS["packing " + name] = broken


@program
def disabled(t):
    graph = t.autograd.graph
    with graph.disable_saved_tensors_hooks("no"), graph.saved_tensors_hooks(lambda v: v, lambda v: v):
        pass


@program
def mutation(t):
    with t.autograd.graph.allow_mutation_on_saved_tensors():
        a = ones(t, 2, 3)
        b = a.clone()
        out = (b ** 2).sum()
        b.sin_()
        out.backward()
    return a.grad, b


@program
def mutation_outside(t):
    with t.autograd.graph.allow_mutation_on_saved_tensors():
        out = (ones(t, 2).clone() ** 2).sum()
    out.backward()


@program
def multi_grad(t):
    a, b = ones(t, 2), ones(t, 2)
    c, d = a * b, a * b
    seen, first = [], []
    handle = t.autograd.graph.register_multi_grad_hook((a, b, c, d), lambda gs: seen.append([g is None for g in gs]))
    t.autograd.graph.register_multi_grad_hook((a, c), lambda g: first.append(1), mode="any")
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    (c + d).sum().backward(retain_graph=True)
    handle.remove()
    c.sum().backward()
    return seen, first


@program
def edges(t):
    x = ones(t, 3)
    y = x * 2
    part = x.unbind(0)[1] * y[0]
    edge = t.autograd.graph.get_gradient_edge
    out = (y * y).sum() + part
    grads = t.autograd.grad(out, [edge(y), edge(x)], retain_graph=True)
    out.backward(inputs=[edge(x)], retain_graph=True)
    return grads, x.grad, t.autograd.grad(edge(y), x, t.ones(3) * 5), edge(y).node is y.grad_fn, edge(y).output_nr


@program
def edge_of_constant(t):
    t.autograd.graph.get_gradient_edge(t.ones(1))


@program
def increment(t):
    x = ones(t, 2) * 1
    y = x.sin()
    t.autograd.graph.increment_version([x, x])
    return x._version, y.sum().backward()


@program
def batched(t):
    x = ones(t, 2)
    return t.autograd.grad([x.exp()], [x], t.eye(2), is_grads_batched=True)


# ---- inference tensors -----------------------------------------------------------------------------------------
for name, use in {"mul": lambda t, i, w: i * w, "add": lambda t, i, w: i + w, "view": lambda t, i, w: i[:1] * w[:1],
                  "parameter": lambda t, i, w: t.nn.Parameter(i), "add_": lambda t, i, w: i.add_(1),
                  "view add_": lambda t, i, w: i[:1].add_(1), "version": lambda t, i, w: i._version,
                  "out": lambda t, i, w: t.add(w.detach(), 1, out=i), "clone": lambda t, i, w: i.clone() * w,
                  "copy from": lambda t, i, w: t.zeros(2).copy_(i), "is": lambda t, i, w: i[:1].is_inference(),
                  "detach": lambda t, i, w: i.detach().is_inference(), "requires": lambda t, i, w: i.requires_grad_(),
                  "linear": lambda t, i, w: t.nn.Linear(2, 1)(i)}.items():
    def inference(t, use=use):
        with t.inference_mode():
            i = t.ones(2)
        return use(t, i, ones(t, 2))
    PROGRAMS["inference " + name] = inference


# ---- checkpoint ------------------------------------------------------------------------------------------------
def checkpointed(reentrant, function, *shape, check=lambda t, x, out: (out.sum().backward(), x.grad), **options):
    def call(t):
        x = ones(t, *shape)
        calls = []
        out = of(t, "utils.checkpoint").checkpoint(lambda v: function(t, v, calls.append(1) or len(calls)), x,
                                                   use_reentrant=reentrant, **options)
        return check(t, x, out), len(calls)
    return call


for reentrant in (True, False):
    for name, function, options in [
            ("plain", lambda t, v, n: v.sin().exp(), {}),
            ("dict", lambda t, v, n: {"a": v.sin(), "b": [v * 2]}, dict(
                check=lambda t, x, out: (out["a"].requires_grad, out["b"][0].requires_grad))),
            ("tuple", lambda t, v, n: (v.sin(), v.detach().cos(), 3), dict(check=lambda t, x, out: out)),
            ("fewer", lambda t, v, n: v.sin().exp() if n == 1 else v.sin(), {}),
            ("other", lambda t, v, n: (v if n == 1 else t.cat([v, v])).sin().exp(), {}),
            ("twice", lambda t, v, n: v.sin().exp(), dict(check=lambda t, x, out: (
                out.sum().backward(retain_graph=True), out.sum().backward(), x.grad))),
            ("grad", lambda t, v, n: v.sin().exp(), dict(check=lambda t, x, out: t.autograd.grad(out.sum(), x))),
            ("double", lambda t, v, n: v.sin() * v, dict(check=lambda t, x, out: t.autograd.grad(t.autograd.grad(
                out.sum(), x, create_graph=True)[0].sum(), x))),
            ("inputs", lambda t, v, n: v.sin().exp(), dict(check=lambda t, x, out: (
                out.sum().backward(inputs=[x]), x.grad))),
            ("dropout", lambda t, v, n: t.nn.functional.dropout(v.sin(), 0.5).exp(), {}),
            ("early", lambda t, v, n: v.sin().exp() * 2, dict(early_stop=False)),
            ("check", lambda t, v, n: v, dict(determinism_check="x")),
            ("debug", lambda t, v, n: v, dict(debug=True, check=lambda t, x, out: None))]:
        PROGRAMS[f"checkpoint {reentrant} {name}"] = checkpointed(reentrant, function, 2, **options)


# ---- func ------------------------------------------------------------------------------------------------------
FUNC = {
    "jvp dict": lambda f, x, y: f.jvp(lambda a: {"k": a * a, "l": [a.sum()]}, (x,), (y,)),
    "jvp nested arguments": lambda f, x, y: f.jvp(lambda d: d["a"] * d["b"], ({"a": x, "b": y},), ({"a": x, "b": x},)),
    "jvp aux": lambda f, x, y: f.jvp(lambda a: (a * a, {"n": a * 2}), (x,), (y,), has_aux=True),
    "jvp length": lambda f, x, y: f.jvp(lambda a: a, (x, y), (y,)),
    "jvp no tuple": lambda f, x, y: f.jvp(lambda a: a, x, (y,)),
    "jvp number": lambda f, x, y: f.jvp(lambda a: 3, (x,), (y,)),
    "jvp in grad": lambda f, x, y: f.grad(lambda a: f.jvp(lambda b: b ** 3, (a,), (y,))[1].sum())(x),
    "vjp aux": lambda f, x, y: f.vjp(lambda a: (a * a, a * 2), x, has_aux=True)[::2],
    "vjp dict": lambda f, x, y: f.vjp(lambda a: {"k": a * a}, x)[1]({"k": y}),
    "vjp wrong": lambda f, x, y: f.vjp(lambda a: {"k": a * a}, x)[1](y),
    "grad aux": lambda f, x, y: f.grad(lambda a: ((a * a).sum(), a * 2), has_aux=True)(x),
    "grad no aux": lambda f, x, y: f.grad(lambda a: (a * a).sum(), has_aux=True)(x),
    "grad vector": lambda f, x, y: f.grad(lambda a: a * a)(x), "grad number": lambda f, x, y: f.grad(lambda a: 3)(x),
    "grad argnums": lambda f, x, y: f.grad(lambda a: a.sum(), argnums=2)(x),
    "grad list": lambda f, x, y: f.grad(lambda a: a.sum(), argnums=[0])(x),
    "jacrev dict": lambda f, x, y: f.jacrev(lambda a: {"k": a * a, "s": a.sum()})(x),
    "jacrev in": lambda f, x, y: f.jacrev(lambda d: d["a"] * d["b"])({"a": x, "b": y}),
    "jacrev both": lambda f, x, y: f.jacrev(lambda a, b: {"k": a * b}, argnums=(0, 1))(x, y),
    "jacrev aux": lambda f, x, y: f.jacrev(lambda a: (a * a, a * 2), has_aux=True)(x),
    "jacfwd dict": lambda f, x, y: f.jacfwd(lambda a: {"k": a * a})(x),
    "hessian dict": lambda f, x, y: f.hessian(lambda d: (d["a"] ** 2 * d["b"]).sum())({"a": x, "b": y}),
    "vmap number": lambda f, x, y: f.vmap(lambda a: a)(3),
    "vmap dims": lambda f, x, y: f.vmap(lambda a: a, in_dims=3)(x),
    "vmap none": lambda f, x, y: f.vmap(lambda a: a, in_dims=None)(x),
    "vmap text": lambda f, x, y: f.vmap(lambda a: a, in_dims="a")(x),
    "vmap list": lambda f, x, y: f.vmap(lambda a: a, in_dims=[0])(x),
    "vmap nothing": lambda f, x, y: f.vmap(lambda: x)(), "vmap returns": lambda f, x, y: f.vmap(lambda a: "a")(x),
    "vmap empty": lambda f, x, y: f.vmap(lambda a: a * 2)(x.new_ones(0, 2)),
    "vmap 0-d": lambda f, x, y: f.vmap(lambda a: a)(x[0]),
    "vmap nested": lambda f, x, y: f.vmap(lambda d, b: d["a"] * b[0], in_dims=({"a": 0}, [None]))({"a": x}, [y]),
    "vmap keyword": lambda f, x, y: f.vmap(lambda a, b: a * b)(x, b=y),
}
for name, call in FUNC.items():
    PROGRAMS["func " + name] = lambda t, call=call: call(of(t, "func"), t.tensor([1.0, 2.0]), t.tensor([3.0, 5.0]))


for name, given in {"unknown": {"foo": 1}, "own": {"weight": 1}, "path": {"a.b": 1}}.items():
    for strict in (True, False):
        def call_module(t, given=given, strict=strict):
            m = t.nn.Linear(2, 1, bias=False)
            return of(t, "func").functional_call(m, {k: t.ones(1, 2) for k in given}, t.ones(2), strict=strict), [
                hasattr(m, k) for k in given]
        PROGRAMS[f"functional_call {name} {strict}"] = call_module


# ---- subclasses ------------------------------------------------------------------------------------------------
EXPRESSIONS = [
    "x + 1", "1 - x", "x @ x", "x ** 2", "2 ** x", "x == 1", "x < 1", "-x", "x[0]", "x[0, 1]", "x.sum()", "x.max(0)",
    "torch.add(p, x)", "p + x", "p.mul(x)", "torch.stack([p, x])", "torch.cat([x, p])", "x.split(1)", "x.unbind()",
    "list(x)", "F.relu(x)", "F.softmax(x, 0)", "F.linear(p, x)", "F.mse_loss(x, p)", "x.view(4)", "x.T", "x.data",
    "x.grad", "x.shape", "x.size()", "len(x)", "x.tolist()", "x.sum().item()", "x.detach()", "x.double()", "x.clone()",
    "torch.zeros_like(x)", "x.new_zeros(2)", "x.add_(1)", "p.copy_(x)", "torch.where(x > 0, x, p)", "x.sort()[0]",
    "torch.is_tensor(x)", "torch.tensor(x)", "torch.broadcast_tensors(x, p)", "x.as_subclass(torch.Tensor)",
    "p.as_subclass(int)", "torch.nn.Linear(2, 2)(x).shape", "(x * torch.nn.Parameter(p))", "x.requires_grad_(False)",
    "x.__class__.__name__", "torch.allclose(x, x)", "x.bool()", "x.numpy().tolist()", "torch.equal(x, p)"]


def with_subclass(expression, logged):
    def call(t):
        log = []

        class Mine(t.Tensor):
            if logged:
                @classmethod
                def __torch_function__(cls, func, types, args=(), kwargs=None):
                    log.append(func.__name__)
                    return super().__torch_function__(func, types, args, kwargs or {})
        x = t.ones(2, 2).as_subclass(Mine)
        log.clear()
        return eval(expression, dict(torch=t, F=t.nn.functional, x=x, p=t.ones(2, 2))), log[-1:]
    return call


for expression in EXPRESSIONS:
    PROGRAMS[f"subclass {expression}"] = with_subclass(expression, False)
    if expression not in ("list(x)", "torch.tensor(x)", "p.as_subclass(int)", "torch.nn.Linear(2, 2)(x).shape"):
        PROGRAMS[f"logged {expression}"] = with_subclass(expression, True)

FOREIGN = ["torch.mean(f)", "torch.add(p, f)", "torch.add(f, f, alpha=2)", "p + f", "f + p if False else p.add(f)",
           "torch.stack([f, p])", "torch.mm(f, p)", "p @ f", "torch.where(p > 0, f, p)", "torch.sum(f, dim=0)",
           "torch.einsum('ij,jk', f, f)", "F.conv2d(f, p)", "torch.max(f, 0)", "torch.unbind(f)", "p.copy_(f)",
           "torch.svd(f)", "torch.clamp(p, f)", "torch.numel(f)", "torch.is_tensor(f)", "torch.index_select(p, 0, f)",
           "torch.add(p, p, out=f)", "torch.zeros_like(f)", "torch.tensor(f)"]


def with_foreign(expression, refuses):
    def call(t):
        class Foreign:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return NotImplemented if refuses else [
                    func.__name__, [c.__name__ for c in types], len(args), sorted(kwargs or {})]
        return eval(expression, dict(torch=t, F=t.nn.functional, f=Foreign(), p=t.ones(2, 2)))
    return call


for expression in FOREIGN:
    PROGRAMS[f"foreign {expression}"] = with_foreign(expression, False)
    PROGRAMS[f"refusing {expression}"] = with_foreign(expression, True)


@program
def modes(t):
    class Seen(of(t, "overrides").TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))
    seen = []
    with Seen():
        y = t.ones(2) + t.tensor(1.0)
        t.nn.functional.gelu(y).sum()
        with Seen(), t._C.DisableTorchFunctionSubclass():
            assert y.shape
        with t._C.DisableTorchFunction():
            y.exp()
    return seen


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_end_as_in_pytorch(name):
    assert of(minitorch, "overrides").TorchFunctionMode and of(torch, "overrides")     # which switches overrides on
    assert run(minitorch, PROGRAMS[name]) == run(torch, PROGRAMS[name])
