"""Rules for every row of the op table, including rows that are not written yet."""

import inspect

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minitorch
from minitorch.autograd import api
from minitorch.autograd.dual.calls import kind_of
from minitorch.autograd.dual.crossing import dual, tangent_of
from minitorch.autograd.dual.levels import opened
from minitorch.backends.cpu.backend import cpu
from minitorch.core.recording import recorded
from minitorch.core.registry import OPS
from minitorch.core.tensor import Tensor, wrap
from minitorch.ops.dims import is_elementwise
from minitorch.testing.battery import layouts
from minitorch.testing.strategies import Draw
from tests.helpers.op_calls import outputs_of

ROWS = [row for row in OPS.values() if row.sample or not any(x.kind == "variadic" for x in row.inputs)]
each_op = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
each_rule = pytest.mark.parametrize("row", [row for row in ROWS if row.differentiable], ids=lambda row: row.name)
few = settings(max_examples=8, deadline=None, database=None, derandomize=True,
               suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example])
samples = st.randoms(use_true_random=False)
TOLERANCE = 2e-5


# ---- helpers -----------------------------------------------------------------------------------------------
def is_live(row, i, x):
    """True if input i of a sample has a gradient."""
    if not isinstance(x, np.ndarray) or x.dtype.kind not in "fc":
        return False
    kinds = [row.inputs[0]] * (i + 1) if row.inputs[0].kind == "variadic" else row.inputs
    rule = row.joint or row.vjps[kinds[i].name]
    return kinds[i].kind != "other" and bool(rule) and not getattr(rule, "missing", False)


def as_tensors(row, arrays):
    return [wrap(x, cpu).requires_grad_(is_live(row, i, x)) if isinstance(x, np.ndarray) else x
            for i, x in enumerate(arrays)]


def raw(row, arrays, attrs):
    """The forward pass on raw arrays, as a list of outputs."""
    attrs = {k: (minitorch.core.dtypes.as_np(v) if k == "dtype" and v is not None else v) for k, v in attrs.items()}
    out = getattr(cpu, row.name)(*arrays, **attrs)
    return [np.asarray(o) for o in (out if isinstance(out, tuple) else [out])]


def weights_for(outputs):
    """Numbers like the outputs; complex ones of both parts."""
    return [np.linspace(1.0, 2.0 - 1.5j if o.dtype.kind == "c" else 2.0, o.size).reshape(o.shape) for o in outputs]


def scalar(row, arrays, attrs, weights, which):
    """The weighted sum of the differentiable outputs, on raw arrays: a function for finite differences.

    Of complex ones the real part of the sum with conjugate weights, whose gradient the weights pull back.
    """
    outputs = raw(row, arrays, attrs)
    return float(sum((outputs[k] * w.conj()).sum().real for k, w in zip(which, weights)))


def gradients(row, arrays, attrs, create_graph=False):
    """Gradients of every live input, weighted outputs; and which outputs were weighted by what."""
    tensors = as_tensors(row, arrays)
    outputs = outputs_of(row, tensors, attrs)
    which = [k for k, o in enumerate(outputs) if o.needs_grad]
    weights = weights_for([outputs[k].array for k in which])
    live = [t for t in tensors if isinstance(t, Tensor) and t.needs_grad]
    if not live or not which:
        return [], which, weights
    seeds = [wrap(w.astype(outputs[k].array.dtype), cpu) for w, k in zip(weights, which)]
    found = api.grad([outputs[k] for k in which], live, seeds, create_graph=create_graph, materialize_grads=True)
    assert all(np.allclose(s.array, w) for s, w in zip(seeds, weights)), "the upstream gradient was written to"
    return found, which, weights


def numeric(f, arrays, i, eps=1e-6):
    """Central differences of the scalar function f with respect to arrays[i]."""
    g = np.zeros(arrays[i].shape, arrays[i].dtype)
    for place in np.ndindex(g.shape):
        for way in (1, 1j) if g.dtype.kind == "c" else (1,):
            ends = []
            for step in (eps * way, -eps * way):
                moved = arrays[i].copy()
                moved[place] += step
                ends.append(f([moved if j == i else x for j, x in enumerate(arrays)]))
            g[place] += way * (ends[0] - ends[1]) / (2 * eps)
    return g


def close(a, b, tol=TOLERANCE, **words):
    scale = max(1.0, np.abs(b).max(initial=0.0))
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol * scale, **words)


# ---- invariants --------------------------------------------------------------------------------------------
@each_rule
@given(rng=samples)
@few
def test_gradients_agree_with_finite_differences(row, rng):
    arrays, attrs = Draw(rng).op_sample(row)
    before = [x.copy() if isinstance(x, np.ndarray) else x for x in arrays]
    found, which, weights = gradients(row, arrays, attrs)
    live = [i for i, x in enumerate(arrays) if is_live(row, i, x)]
    for g, i in zip(found, live):
        wanted = numeric(lambda xs: scalar(row, xs, attrs, weights, which), arrays, i)
        close(g.array, wanted, err_msg=f"input {i} of {row.name}, {attrs}")
        assert g.array.dtype == arrays[i].dtype
        assert not any(np.shares_memory(g.array, x) for x in arrays if isinstance(x, np.ndarray)), "aliased"
    for x, old in zip(arrays, before):
        assert not isinstance(x, np.ndarray) or np.array_equal(x, old, equal_nan=True), "an input was written to"


@each_rule
@given(rng=samples)
@settings(few, max_examples=4)
def test_tangents_agree_with_finite_differences(row, rng):
    """How they follow from the formulas is derived: to them ``input + 1`` is linear."""
    arrays, attrs = Draw(rng).op_sample(row)
    live = [is_live(row, i, x) for i, x in enumerate(arrays)]
    if not any(live):
        return
    numbers = np.random.default_rng(arrays[live.index(True)].size)
    directions = [numbers.standard_normal(x.shape).astype(x.dtype) if f else None
                  for x, f in zip(arrays, live)]
    with opened() as level:
        plain = [wrap(x, cpu) if isinstance(x, np.ndarray) else x for x in arrays]
        duals = [x if v is None else dual(x, wrap(v, cpu), level)
                 for x, v in zip(plain, directions)]
        found = [tangent_of(out, level) for out in outputs_of(row, duals, attrs)]
    eps = 1e-6
    ends = [raw(row, [x if v is None else np.asarray(x + step * v)
                      for x, v in zip(arrays, directions)], attrs) for step in (eps, -eps)]
    for k, (t, a, b) in enumerate(zip(found, *ends)):
        if t is not None:
            message = f"result {k} of {row.name}, whose tangent is derived as {kind_of(row)!r}"
            close(t.array, (a - b) / (2 * eps), err_msg=message)


@each_rule
@given(rng=samples)
@few
def test_recorded_rules_give_the_same(row, rng):
    arrays, attrs = Draw(rng).op_sample(row)
    on_arrays, recorded_ = gradients(row, arrays, attrs)[0], gradients(row, arrays, attrs, create_graph=True)[0]
    for a, b in zip(on_arrays, recorded_):
        close(b.array, a.array, 1e-9)


@each_rule
@given(rng=samples)
@few
def test_second_derivatives(row, rng):
    """The gradient, weighted, is itself a function; its recorded gradient must agree with finite differences."""
    arrays, attrs = Draw(rng).op_sample(row)
    live = [i for i, x in enumerate(arrays) if is_live(row, i, x)]
    if sum(arrays[i].size for i in live) > 24:
        return

    def first(xs):
        grads, which, weights = gradients(row, xs, attrs)
        weights = weights_for([g.array for g in grads])
        return float(sum((g.array * w.conj()).sum().real for g, w in zip(grads, weights)))

    tensors = as_tensors(row, arrays)
    outputs = [o for o in outputs_of(row, tensors, attrs) if o.needs_grad]
    inputs = [t for t in tensors if isinstance(t, Tensor) and t.needs_grad]
    if not outputs or not inputs:
        return
    seeds = [wrap(w, cpu) for w in weights_for([o.array for o in outputs])]
    grads = api.grad(outputs, inputs, seeds, create_graph=True, materialize_grads=True)
    total = None
    for g, w in zip(grads, weights_for([g.array for g in grads])):
        part = recorded.sum(recorded.real(recorded.mul(g, wrap(w.conj(), cpu))))
        total = part if total is None else recorded.add(total, part)
    if not total.needs_grad:
        found = [np.zeros(t.array.shape) for t in inputs]
    else:
        found = [g.array for g in api.grad(total, inputs, materialize_grads=True)]
    for g, i in zip(found, live):
        close(g, numeric(first, arrays, i), 2e-4, err_msg=f"input {i} of {row.name}, {attrs}")


@each_op
@given(rng=samples)
@few
def test_memory_layout_does_not_matter(row, rng):
    arrays, attrs = Draw(rng).op_sample(row)
    if row.name.startswith(("as_strided", "view_as")):
        return                                             # these are about memory
    wanted = raw(row, arrays, attrs)
    for other in zip(*[layouts(x) if isinstance(x, np.ndarray) and x.dtype == np.float64 else [x, x] for x in arrays]):
        for a, b in zip(raw(row, list(other), attrs), wanted):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12, equal_nan=True)


@each_op
@given(rng=samples)
@few
def test_float32_stays_float32(row, rng):
    arrays, attrs = Draw(rng).op_sample(row)
    to = {"float64": "float32", "complex128": "complex64"}
    narrow = [x.astype(to.get(x.dtype.name, x.dtype)) if isinstance(x, np.ndarray) else x for x in arrays]
    if any(str(v).endswith("float64") for v in attrs.values()):
        return
    for a, b in zip(outputs_of(row, as_tensors(row, narrow), attrs), outputs_of(row, as_tensors(row, arrays), attrs)):
        assert a.array.dtype == to.get(b.array.dtype.name, b.array.dtype)
    for create_graph in (False, True):
        for g in gradients(row, narrow, attrs, create_graph)[0]:
            assert g.array.dtype in (np.float32, np.complex64), "a rule widened the gradient"


@pytest.mark.parametrize("row", [row for row in ROWS if row.sample is None and not row.attrs
                                 and row.kinks != "steps"
                                 and (row.dims is None or is_elementwise(row))],
                         ids=lambda row: row.name)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0)], ids=str)
def test_empty_and_zero_dim(row, shape):
    arrays = [np.zeros(shape, bool) if x.kind == "other" else np.full(shape, 0.6) for x in row.inputs]
    tensors = as_tensors(row, arrays)
    for out in outputs_of(row, tensors, {}):
        assert out.array.shape == shape and isinstance(out.array, np.ndarray)
        if out.needs_grad:
            live = [t for t in tensors if t.needs_grad]
            for g, t in zip(api.grad(out, live, wrap(np.ones(shape, out.array.dtype), cpu)), live):
                assert g.array.shape == t.array.shape and isinstance(g.array, np.ndarray)


@each_rule
def test_rules_speak_only_of_ops(row):
    """A rule runs on arrays and on tensors, so it may use operators and other ops, nothing else of F."""
    rules = [row.joint] if row.joint else [r for r in row.vjps.values() if r]
    for rule in rules:
        names = set(attributes_of_f(rule))
        assert names <= set(OPS), f"{row.name}: {sorted(names - set(OPS))}"


def attributes_of_f(function, seen=None):
    """Names X in ``F.X`` within a function and the helpers of its own module that it calls with F."""
    import dis
    seen = set() if seen is None else seen
    if function in seen:
        return
    seen.add(function)
    code = list(dis.get_instructions(function))
    for a, b in zip(code, code[1:]):
        if str(a.argval) in ("F", "('F',)") and a.opname.startswith("LOAD_FAST") and b.opname in (
                "LOAD_METHOD", "LOAD_ATTR"):
            yield b.argval
    for name in function.__code__.co_names:
        helper = function.__globals__.get(name)
        if inspect.isfunction(helper) and helper.__module__ == function.__module__ and "F" in inspect.signature(
                helper).parameters and not hasattr(helper, "op"):
            yield from attributes_of_f(helper, seen)


@pytest.mark.parametrize("row", OPS.values(), ids=lambda row: row.name)
def test_is_documented(row):
    assert row.__doc__ and row.__doc__.strip(), f"{row.name} needs a docstring"


def test_every_row_is_tested():
    """A row without a `sample` must be one that `Draw.op_sample` can describe."""
    missing = [row.name for row in OPS.values() if row not in ROWS]
    assert not missing, f"give these rows a sample: {missing}"
