"""Forward mode: rules that follow from the definitions, dual levels, views, writes in place, functions of your own."""

import random
import threading

import numpy as np
import pytest

import minitorch as torch
from minitorch.autograd import Function, api, functional
from minitorch.autograd import forward_ad as fw
from minitorch.autograd.dual import calls
from minitorch.autograd.dual.calls import Call, derived_kind, kind_of
from minitorch.autograd.dual.crossing import dual, tangent_of
from minitorch.autograd.dual.levels import opened
from minitorch.backends.cpu.backend import cpu
from minitorch.core.grad_mode import grad_mode
from minitorch.core.registry import OPS
from minitorch.core.tensor import wrap
from minitorch.testing.strategies import Draw
from tests.helpers.op_calls import outputs_of
from tests.helpers.tangent_checks import T, close

DIFFERENTIABLE = [op for op in OPS.values() if op.differentiable and (op.sample or op.inputs[0].kind != "variadic")]


# ---- every definition --------------------------------------------------------------------------------------
def is_live(op, i, x):
    if not isinstance(x, np.ndarray) or x.dtype.kind != "f":
        return False
    spec = op.inputs[0] if op.inputs[0].kind == "variadic" else op.inputs[i]
    formula = op.joint or op.vjps[spec.name]
    return spec.kind != "other" and bool(formula) and not getattr(formula, "missing", False)


def by_double_backward(op, arrays, attrs, on, directions):
    """The tangent of each output, None for those without a gradient."""
    tensors = [wrap(x, cpu).requires_grad_(f) if isinstance(x, np.ndarray) else x for x, f in zip(arrays, on)]
    outputs = outputs_of(op, tensors, attrs)
    seeds = [o.detach().new_zeros(o.shape).requires_grad_() if o.needs_grad else None for o in outputs]
    pairs = [(o, s) for o, s in zip(outputs, seeds) if s is not None]
    pulled = api.grad([o for o, _ in pairs], [t for t, f in zip(tensors, on) if f], [s for _, s in pairs],
                      create_graph=True, materialize_grads=True)
    live = [(p, wrap(v, cpu)) for p, v in zip(pulled, directions) if p.needs_grad]
    found = iter(api.grad([p for p, _ in live], [s for _, s in pairs], [v for _, v in live], materialize_grads=True)
                 if live else [torch.zeros_like(s) for _, s in pairs])
    return [None if s is None else next(found) for s in seeds]


def forwards(op, arrays, attrs, on, directions):
    left = iter(directions)
    with opened() as level:
        tensors = [dual(wrap(x, cpu), wrap(next(left), cpu), level) if f else wrap(x, cpu) if isinstance(x, np.ndarray)
                   else x for x, f in zip(arrays, on)]
        return [tangent_of(o, level) for o in outputs_of(op, tensors, attrs)]


@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
def test_the_tangent_is_that_of_double_backward(op):
    rng = np.random.default_rng(0)
    for seed in range(3):
        arrays, attrs = Draw(random.Random(seed)).op_sample(op)
        live = [is_live(op, i, x) for i, x in enumerate(arrays)]
        several = [[f and i == j for i, f in enumerate(live)] for j in range(len(live)) if live[j] and sum(live) > 1]
        for on in [live, *several] if any(live) else []:
            directions = [rng.standard_normal(x.shape) for x, f in zip(arrays, on) if f]
            want = by_double_backward(op, arrays, attrs, on, directions)
            got = forwards(op, arrays, attrs, on, directions)
            assert not grad_mode.levels
            for a, b in zip(want, got):
                if a is None or b is None:
                    assert (a is None or not a.any()) and b is None
                else:
                    assert not b.requires_grad and close(b, a, 1e-7), (kind_of(op), attrs)


def test_the_class_of_every_op():
    kinds = {op.name: kind_of(op) for op in OPS.values()}
    without = {op.name for op in OPS.values() if not op.differentiable}
    assert without - {op.name for op in OPS.values() if kinds[op.name] is None} == {
        "rnn_layer_backward"}                              # whose formulas are those of a loop
    assert all([op.name in without for op in OPS.values() if kinds[op.name] is None])
    assert set(kinds.values()) - {None} == {
        "zero", "linear", "multilinear", "symmetric", "reference", "transpose"}
    assert all(hasattr(Call, kind) for kind in kinds.values() if kind)
    wanted = dict(zero="floor sign round", linear="sum neg reshape cat index_select add where cumsum fold",
                  multilinear="mul matmul linear convolution addmm cross", symmetric="exp tanh pow atan2 gelu softmax",
                  reference="layer_norm affine_norm_backward",
                  transpose="amax sort inv svd log_softmax cross_entropy rnn_layer constant_pad_nd")
    for kind, names in wanted.items():
        assert {n: kinds[n] for n in names.split() if n in kinds} == {n: kind for n in names.split() if n in kinds}


def test_a_column_says_what_the_formulas_do_not():
    named = {op.name: op.tangent for op in OPS.values() if op.tangent and op.differentiable}
    assert all(derived_kind(OPS[name]) != kind for name, kind in named.items())
    needed = [name for name in named if not agrees(OPS[name], derived_kind(OPS[name]))]
    assert sorted(set(named) - set(needed)) == [           # whose memory is another; which are faster
        "affine_norm_backward", "as_strided", "layer_norm", "softmax"]


def agrees(op, kind, draws=6):
    calls._kinds[op] = kind
    try:
        for seed in range(draws):
            arrays, attrs = Draw(random.Random(seed)).op_sample(op)
            on = [is_live(op, i, x) for i, x in enumerate(arrays)]
            directions = [np.ones(x.shape) * 1.7 for x, f in zip(arrays, on) if f]
            if not close(by_double_backward(op, arrays, attrs, on, directions),
                         forwards(op, arrays, attrs, on, directions), 1e-7):
                return False
        return True
    finally:
        calls._kinds.pop(op)


def test_an_op_without_derivative_formula():
    with fw.dual_level():
        with pytest.raises(NotImplementedError, match="Trying to use forward AD with igamma"):
            torch.igamma(fw.make_dual(T(1.0), T(1.0)), T(2.0))
        assert fw.unpack_dual(fw.make_dual(T(1.0), T(1.0)) > 0).tangent is None
        assert fw.unpack_dual(torch.floor(fw.make_dual(T(1.5), T(1.0)))).tangent.tolist() == [0.0]


# ---- dual levels -------------------------------------------------------------------------------------------
def test_dual_tensors():
    x, t = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    with pytest.raises(RuntimeError, match="no level exists"):
        fw.make_dual(x, t)
    assert fw.unpack_dual(x) == (x, None)
    with fw.dual_level():
        d = fw.make_dual(x, t)
        assert repr(d) == "tensor([1., 2.], tangent=tensor([3., 4.]))"
        assert d.data_ptr() == x.data_ptr() and fw.unpack_dual(d).tangent is t and fw.unpack_dual(x).tangent is None
        assert fw.unpack_dual(fw.unpack_dual(d).primal).tangent is None
        for dropped in (d.detach(), d.data, d.long(), d.argmax(), d > 0):
            assert fw.unpack_dual(dropped).tangent is None
        assert fw.unpack_dual(d.double()).tangent.dtype is torch.float64
        half = fw.unpack_dual(d.to(torch.bfloat16) * 2).tangent
        assert half.dtype is torch.bfloat16 and half.tolist() == [6.0, 8.0]
        assert fw.unpack_dual(d * T(1.0, 1.0)).tangent.dtype is torch.float64
        assert d.tolist() == [1.0, 2.0] and d.numpy().tolist() == [1.0, 2.0]
        with torch.no_grad():
            assert fw.unpack_dual(d * d).tangent.tolist() == [6.0, 16.0]
        with torch.inference_mode():
            assert fw.unpack_dual(d * d).tangent is None
        with fw._set_fwd_grad_enabled(False):
            assert fw.unpack_dual(d * d).tangent is None
        for wrong, error, text in (
                (lambda: fw.make_dual(d, t), RuntimeError, "already has a forward gradient at the same level 0"),
                (lambda: fw.make_dual(x, d), RuntimeError, "forward grad that itself has a forward gradient"),
                (lambda: fw.make_dual(x, torch.ones(3)), RuntimeError, r"of size \[2\] while .* of size \[3\]"),
                (lambda: fw.make_dual(x.long(), t), ValueError, "Expected primal to be floating point or complex"),
                (lambda: fw.make_dual(x, t.long()), ValueError, "Expected tangent to be floating point or complex"),
                (lambda: fw.make_dual(x, 3), TypeError, "expected the tangent to be a Tensor, but got int"),
                (fw.enter_dual_level, RuntimeError, "Nested forward mode AD is not supported at the moment"),
                (lambda: fw.exit_dual_level(level=3), RuntimeError, "not the last one that was created"),
                (lambda: torch.mul(d, d, out=torch.zeros(2)), RuntimeError, "don't support automatic diff")):
            with pytest.raises(error, match=text):
                wrong()
    assert repr(d) == "tensor([1., 2.])" and fw.unpack_dual(d).tangent is None
    with pytest.raises(RuntimeError, match="Dual level must be a positive number"):
        fw.exit_dual_level()

    @fw.dual_level()
    def decorated():
        return fw.unpack_dual(fw.make_dual(x, t).exp()).tangent
    assert close(decorated(), x.exp() * t, 1e-6)


def test_levels_of_other_threads():
    found = []
    with fw.dual_level():
        d = fw.make_dual(T(2.0), T(1.0))

        def other():
            found.append(fw.unpack_dual(d * d).tangent)
            with fw.dual_level():
                found.append(fw.unpack_dual(fw.make_dual(T(3.0), T(1.0)) * d).tangent.tolist())
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert found == [None, [2.0]] and fw.unpack_dual(d * d).tangent.tolist() == [4.0]


def test_gradients_through_dual_tensors():
    x, v = T(1.0, 2.0, 3.0), T(0.3, -1.0, 2.0)

    def f(x):
        return (torch.sin(x) * x.exp()).sum() + (x * x).prod()
    product = functional.hvp(f, x, v)[1]
    with fw.dual_level():                                  # forward over reverse
        d = fw.make_dual(x.clone().requires_grad_(), v)
        g, t = fw.unpack_dual(torch.autograd.grad(f(d), d)[0])
        assert close(t, product) and not g.requires_grad and not t.requires_grad
        w = x.clone().requires_grad_()
        f(w + fw.make_dual(T(0.0, 0.0, 0.0), v)).backward()
        assert close(fw.unpack_dual(w.grad).tangent, product) and w.grad.backend.level
    y = x.clone().requires_grad_()
    with fw.dual_level():                                  # reverse over forward
        tangent = fw.unpack_dual(f(fw.make_dual(y, v))).tangent
    assert tangent.requires_grad and close(torch.autograd.grad(tangent, y)[0], product)


def test_a_pass_after_the_level_is_closed():
    x, v = T(1.0, 2.0, 3.0, requires_grad=True), T(0.3, -1.0, 2.0)
    with fw.dual_level():
        out = (fw.make_dual(x, v).sin() * x).sum()
    assert torch.autograd.grad(out, x, retain_graph=True)[0].backend is cpu
    out.backward()
    assert close(x.grad, x.cos() * x + x.sin())


# ---- views and writes in place -----------------------------------------------------------------------------
def test_views_see_what_is_written_to_their_base():
    with fw.dual_level():
        d = fw.make_dual(T(1.0, 2.0), T(3.0, 4.0))
        base = torch.zeros(2, 2, dtype=torch.float64)
        row, column = base[0], base[:, 1]
        base[0].copy_(d)
        assert fw.unpack_dual(row).tangent.tolist() == [3.0, 4.0]
        assert fw.unpack_dual(column).tangent.tolist() == [4.0, 0.0]
        assert fw.unpack_dual(base).tangent.tolist() == [[3.0, 4.0], [0.0, 0.0]]
        column.mul_(2)
        assert fw.unpack_dual(base).tangent.tolist() == [[3.0, 8.0], [0.0, 0.0]]
        base.normal_()
        assert not fw.unpack_dual(row).tangent.any()
        d.mul_(2)
        d.unsqueeze_(0)
        assert fw.unpack_dual(d).tangent.tolist() == [[6.0, 8.0]]


def test_a_tensor_that_is_written_to_is_dual_until_the_level_closes():
    x, w = T(1.0, 2.0), T(5.0, 6.0, 7.0)
    view = w[1:]
    with fw.dual_level():
        d = fw.make_dual(x, T(3.0, 4.0))
        view.mul_(d)
        assert fw.unpack_dual(w).tangent.tolist() == [0.0, 18.0, 28.0] and x.backend is cpu
        with torch.no_grad():
            kept = torch.nn.Parameter(T(0.0, 0.0))
            kept.copy_(d)
        assert fw.unpack_dual(kept).tangent.tolist() == [3.0, 4.0] and kept.is_leaf
    assert w.tolist() == [5.0, 6.0, 14.0] and view.tolist() == [6.0, 14.0]
    assert {t.backend for t in (w, view, kept)} == {cpu} and kept.requires_grad
    view.add_(1)
    assert w.tolist() == [5.0, 7.0, 15.0]


def test_parts_have_gradients_of_their_own():
    """Reverse over forward: of both parts in one pass, in nested levels, of what becomes dual."""
    w, v = T(1.0, 2.0, requires_grad=True), T(0.5, -1.0, requires_grad=True)
    x = T(3.0, -2.0)

    def value(w):
        return (w * x).sin().sum() * w[0]
    with fw.dual_level():
        value_part, tangent = fw.unpack_dual(value(fw.make_dual(w, v)))
    slope = torch.func.grad(value)(w.detach())
    curved = torch.func.jvp(torch.func.grad(value), (w.detach(),), (v.detach(),))[1]
    of_w, of_v = torch.autograd.grad(value_part * 2 + tangent * 3, (w, v))
    assert close(of_w, slope * 2 + curved * 3) and close(of_v, slope * 3)
    with fw.dual_level():
        d = fw.make_dual(x, T(1.0, 2.0))
        loss = (w * d).exp().sum()
        found = torch.autograd.grad(loss, w, retain_graph=True)[0]
        assert close(fw.unpack_dual(found).tangent, (1 + w * x) * (w * x).exp() * T(1.0, 2.0))
    assert close(torch.autograd.grad(loss, w)[0], x * (w * x).exp())     # the level is closed
    twice = torch.func.jvp(lambda a: torch.func.grad(lambda b: torch.func.jvp(
        lambda c: (c ** 3 * a).sum(), (b,), (x,))[1])(x), (w.detach(),), (x,))[1]
    assert close(twice, 6 * x ** 3)


# ---- functions of the user's own ---------------------------------------------------------------------------
def test_what_a_jvp_may_return():
    class Base(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(False)
            return x * 2, y

    class Missing(Base):
        pass

    class Few(Base):
        jvp = staticmethod(lambda ctx, t, s: t)

    class Large(Base):
        jvp = staticmethod(lambda ctx, t, s: (torch.ones(5), None))

    class Foreign(Base):
        jvp = staticmethod(lambda ctx, t, s: (3, None))

    class Fine(Base):
        jvp = staticmethod(lambda ctx, t, s: (None if t is None else t * 2, s))
    y = T(3.0)
    with fw.dual_level():
        d = fw.make_dual(T(1.0), T(4.0))
        for cls, error, text in ((Missing, NotImplementedError, "must implement the jvp function"),
                                 (Few, RuntimeError, r"expected 2 but got 1\)"),
                                 (Large, RuntimeError, r"of size \[1\] while the given forward gradient is of size"),
                                 (Foreign, TypeError, "expected Tensor or None")):
            with pytest.raises(error, match=text):
                cls.apply(d, y)
        a, b = Fine.apply(d, y)
        assert fw.unpack_dual(a).tangent.tolist() == [8.0] and fw.unpack_dual(b).tangent is None
        a, b = Fine.apply(y, d)
        assert b is not d and fw.unpack_dual(a).tangent is None and fw.unpack_dual(b).tangent.tolist() == [4.0]

    class Write(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(3)

        @staticmethod
        def jvp(ctx, t):
            return t * 3
    with fw.dual_level():
        x = fw.make_dual(T(1.0), T(4.0)).clone()
        assert Write.apply(x) is x and fw.unpack_dual(x).tangent.tolist() == [12.0] and x.tolist() == [3.0]
    with pytest.raises(TypeError, match="save_for_forward expects all arguments to be tensors"):
        torch.autograd.function.FunctionCtx().save_for_forward(3)


def test_nothing_has_a_tangent_that_was_given_none():
    from minitorch.autograd import forward_ad
    with forward_ad.dual_level():
        x = torch.ones(2)
        forward_ad.make_dual(torch.ones(2), torch.ones(2))
        x.add_(1)
        assert forward_ad.unpack_dual(x).tangent is None
