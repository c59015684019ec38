"""A compiled function is the function: each test names something that a program could get wrong without a word.

What a program must ask before it runs, and what it leaves to Python, is in test_guards.py.
"""

import gc
import random
import weakref

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import minitorch as torch
import minitorch.nn as nn
from minitorch.compiler import living
from minitorch.compiler.living import tensors_of
from minitorch.ops.define import op
from tests.compiler.compile_checks import agrees, eagerly, same
from tests.compiler.compiled_programs import NAMES, Case, check, random_case
from tests.compiler.user_statements import MORE


# ---- writes in place ---------------------------------------------------------------------------------------
def element(v, x):
    v[0, 0] = 0.5


def row(v, x):
    v[0] = 0.5


def flat_element(v, x):
    v.view(-1)[0] = 9.0


def in_a_row(v, x):
    v[0].add_(1)


def columns(v, x):
    v[:, 1:] = 0


def everything(v, x):
    v[...] = 0.5


def transposed(v, x):
    v.t().mul_(3)


def of_a_diagonal(v, x):
    v.diagonal().fill_(7)


def strided(v, x):
    v.as_strided((2,), (1,), 1).mul_(2)


def with_a_tensor(v, x):
    v[1] = x[0] * 2


def by_list(v, x):
    v[[0, 1]] = x[:1]


def by_mask(v, x):
    v[x > 0] = 0.25


def augmented(v, x):
    v[0] *= x[1]
    v += 1


def detached(v, x):
    v.detach().mul_(2)


def to_a_neighbour(v, x):
    v[0][1] = v[0][2]


WRITES = [element, row, flat_element, in_a_row, columns, everything, transposed, of_a_diagonal, strided, with_a_tensor,
          by_list, by_mask, augmented, detached, to_a_neighbour]


@pytest.mark.parametrize("needs_grad", [False, True])
@pytest.mark.parametrize("write", WRITES, ids=lambda f: f.__name__)
def test_writes_into_elements_and_views(write, needs_grad):
    def f(x):
        v = x * 2
        write(v, x)
        return v * 3
    agrees(f, *[lambda k=k: (torch.tensor([[1.0, -2.0, k], [0.5, k, -1.0]], requires_grad=needs_grad),)
                for k in range(3)])


@pytest.mark.parametrize("needs_grad", [False, True])
def test_a_cache_that_is_filled(needs_grad):
    def f(x):
        v = torch.zeros(4, 4)
        v[:2] = x
        return v * 2
    agrees(f, *[lambda k=k: (torch.full((2, 4), k - 0.5).requires_grad_(needs_grad),) for k in range(3)])


@pytest.mark.parametrize("needs_grad", [False, True])
def test_any_view_of_an_argument(needs_grad):
    agrees(lambda x: x.as_strided((2, 2), (1, 2)) * 2, *[lambda: (torch.arange(6.0).requires_grad_(needs_grad),)] * 3)
    agrees(lambda x: x.t().view_as(x.t()) * 2, *[lambda: (torch.ones(2, 3).requires_grad_(needs_grad),)] * 3)
    agrees(lambda x: x.repeat_interleave(2, -1) * 2, *[lambda: (torch.ones(2, 3).requires_grad_(needs_grad),)] * 3)


def test_a_copy_whose_source_is_written_later():
    def f(x):
        a = x * 2
        b = a.clone()
        a.add_(1)
        return a * b
    agrees(f, *[lambda k=k: (torch.full((3,), float(k)),) for k in range(3)])


def test_a_copy_that_is_written_and_viewed():
    def f(x):
        a = (x * 2).tanh()
        b = a.clone()
        b[0] = 1.0
        v = b.view(-1)
        c = torch.sin(x) + torch.cos(x)
        return v.sum() + c.sum() + v[:3] * 2
    agrees(f, *[lambda k=k: (torch.full((40, 40), float(k)),) for k in range(3)])


def test_arguments_that_are_written():
    def f(x, y):
        x.mul_(2)
        y[0] = x[1]
        return x + y
    compiled = agrees(f, *[lambda k=k: (torch.full((3,), float(k)), torch.ones(3)) for k in range(3)])
    x, y = torch.ones(3), torch.ones(3)
    kept = (y.requires_grad_() * x).sum()                  # whose gradient needs the value of x
    y.requires_grad_(False)
    compiled(x, y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        kept.backward()


def test_a_write_in_the_traced_call_is_counted_too():
    x, w = torch.ones(3), torch.ones(3, requires_grad=True)
    kept = (w * x).sum()
    torch.compile(lambda x: x.mul_(2))(x)
    assert x._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        kept.backward()


def test_writes_to_an_argument_with_a_graph_reach_the_graph():
    def f(x):
        x.mul_(3)
        return x * 2
    agrees(lambda x: f(x * 1), *[lambda: (torch.ones(3, requires_grad=True),)] * 2)
    for g in (f, torch.compile(f)):
        w = torch.ones(3, requires_grad=True)
        for _ in range(2):
            x = w * 1
            (g(x).sum() + x.sum()).backward()
        assert w.grad.tolist() == [18.0] * 3


@pytest.mark.parametrize("write", [
    lambda x: x.norm().clone().copy_(x[0]), lambda x: x.norm().double().copy_(x[0]),
    lambda x: x.bfloat16().norm().mul_(x[0].bfloat16())], ids=["clone", "cast", "16 bits"])
def test_a_copy_of_a_number_is_an_array_where_it_is_written(write):
    def f(x):
        torch.rand(2)                                      # so no eager run stands in for a program that fails
        return write(x)                                    # `norm` returns a number, whose `astype` is one too
    compiled = agrees(f, *[lambda k=k: (torch.full((3,), k + 1.0),) for k in range(3)])
    assert compiled(torch.ones(3)).array.__class__ is np.ndarray


# ---- arguments and results that share memory ---------------------------------------------------------------
def test_aliased_arguments():
    def f(x, y):
        x.add_(1)
        return x * 10 + y
    compiled = torch.compile(f)
    for _ in range(3):
        a, b = torch.zeros(2), torch.zeros(2)
        assert compiled(a, b).tolist() == [10, 10]
        assert compiled(a, a).tolist() == [22, 22]
        assert compiled(a, a[:]).tolist() == [33, 33] and compiled(a[:], a).tolist() == [44, 44]
        c = torch.zeros(3)
        assert compiled(c[:2], c[1:]).tolist() == [11, 10]
        assert compiled(c[1:], c[:2]).tolist() == [21, 12]
    assert not eagerly(compiled)


def test_a_written_buffer_that_is_also_the_argument():
    state = torch.zeros(2)

    def f(x):
        state.add_(1)
        return x * 1
    compiled = torch.compile(f)
    assert compiled(torch.ones(2)).tolist() == [1, 1] and compiled(torch.ones(2)).tolist() == [1, 1]
    assert compiled(state).tolist() == [3, 3] and compiled(state).tolist() == [4, 4]


def test_arguments_come_back_as_themselves():
    w = torch.ones(2, requires_grad=True)
    compiled = torch.compile(lambda x: (x, w, x * 2, x))
    for _ in range(3):
        x = torch.ones(2)
        a, b, c, d = compiled(x)
        assert a is x and b is w and d is x and c.tolist() == [2, 2]
    assert not eagerly(compiled)


def test_one_result_twice_is_one_tensor():
    def f(x):
        y = x * 2
        return y, {"again": y}
    compiled = torch.compile(f)
    for _ in range(3):
        y, rest = compiled(torch.ones(2))
        assert rest["again"] is y


@pytest.mark.parametrize("which", [lambda x, r: x, lambda x, r: r], ids=["argument", "result"])
def test_results_that_are_views_of_arguments(which):
    compiled = torch.compile(lambda x: x.view(-1)[1:])
    for f in (compiled, compiled, lambda x: x.view(-1)[1:]):
        w = torch.arange(4.0).reshape(2, 2).requires_grad_()
        x = w * 1
        r = f(x)
        which(x, r).mul_(10)
        (x.sum() + r.sum()).backward()
        assert w.grad.tolist() == [[1.0 if which(1, 2) == 2 else 10.0, 20.0], [20.0, 20.0]]
    assert not eagerly(compiled)


def test_a_view_among_the_results_follows_its_base():
    def f(x):
        y = x * 2
        return y, y[0]
    compiled = torch.compile(f)
    for g in (compiled, compiled, f):
        x = torch.ones(2, 2, requires_grad=True)
        y, v = g(x)
        v.mul_(5)
        y.sum().backward()
        assert y.tolist() == [[10, 10], [2, 2]] and x.grad.tolist() == [[10, 10], [2, 2]]


def test_constants_are_new_in_each_run():
    compiled = torch.compile(lambda x: (torch.tensor([1.0, 2.0]), torch.zeros(2), x * torch.tensor([1.0, 2.0])))
    for _ in range(3):
        for t in compiled(torch.ones(2)):
            t.add_(1)
    assert [t.tolist() for t in compiled(torch.ones(2))] == [[1, 2], [0, 0], [1, 2]]


# ---- large arrays: buffers and blocks ----------------------------------------------------------------------
def chain(x, y):
    a = torch.tanh(x * 2 + y)
    b = a * x - torch.sigmoid(a)
    c = torch.exp(-b * b) + a
    total = c.sum(0)
    d = (c * 0.5 + b).clamp(-1, 1)
    e = torch.sqrt(d * d + 1) * total
    return e.sum(), (e * d).mean(1)


def test_buffers_that_are_freed_inside_a_block_loop():
    rng = np.random.default_rng(0)
    compiled = torch.compile(chain)
    for _ in range(3):
        x, y = [torch.tensor(rng.standard_normal((257, 300), np.float32)) for _ in range(2)]
        for a, b in zip(chain(x, y), compiled(x, y)):
            same(a, b)
    assert "for i in range" in compiled.source


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 9), st.integers(0, 9)), min_size=4, max_size=24),
       st.integers(0, 99))
def test_random_chains_in_blocks(steps, seed):
    ops = [torch.tanh, lambda a: a * 0.5 + 1, torch.abs, lambda a: a.sum(0) * 1e-3 + a, lambda a: a.clone().add_(1),
           lambda a: a.t().contiguous().t().tanh(), torch.sigmoid, lambda a: a.flip(0)]

    def f(x, y):
        values = [x, y]
        for n, i, j in steps:
            a, b = values[i % len(values)], values[j % len(values)]
            values.append(ops[n](a) - b if j % 2 else ops[n](a) * 0.5)
        return values[-1], values[len(values) // 2].mean(1)
    rng, compiled = np.random.default_rng(seed), torch.compile(f)
    for _ in range(3):
        x, y = [torch.tensor(rng.standard_normal((70, 1000), np.float32)) for _ in range(2)]
        for a, b in zip(f(x, y), compiled(x, y)):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-4, atol=2e-4)
            assert a.stride() == b.stride()


def test_large_arrays_of_16_bits():
    def f(x):
        return torch.tanh(x * 2 + 1) * torch.sigmoid(x) - x
    compiled = torch.compile(f)
    for dtype in (torch.bfloat16, torch.float16):
        x = torch.randn(300, 1000).to(dtype)
        for _ in range(2):
            a, b = f(x), compiled(x)
            assert a.dtype == b.dtype == dtype
            np.testing.assert_allclose(a.float().numpy(), b.float().numpy(), rtol=2e-2, atol=2e-2)


# ---- names -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("names", [["w²"], ["µ", "μ"], ["ﬁ", "fi"], ["class"], ["a b", "a_b"], ["1"], ["x\n\r\u2028y"],
                                   ["np", "F", "s"], ['"""'], ["é", "é"]])
def test_any_names_of_parameters(names):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            for i, name in enumerate(names):
                self.register_parameter(name, nn.Parameter(torch.full((2,), i + 2.0)))

        def forward(self, x):
            for p in self.parameters():
                x = x * p
            return x
    net = Net()
    compiled = torch.compile(net)
    for _ in range(2):
        assert compiled(torch.ones(2)).tolist() == net(torch.ones(2)).tolist()
    assert compiled.source.isascii() and not any("eagerly" in n for n in compiled.notes)


@pytest.mark.parametrize("name", ['f"""\nraise SystemExit\n"""', "a\nimport os", "²", "lambda", "", "µ", "np"])
def test_any_name_of_a_function_or_a_class(name):
    ran = []

    def f(x):
        return x * 2
    f.__name__ = name
    compiled = torch.compile(f)
    assert compiled(torch.ones(1)).item() == compiled(torch.ones(1)).item() == 2
    w = torch.ones(2, requires_grad=True)
    kind = type(f"S\n    raise SystemExit {name}", (torch.optim.SGD,), {"__repr__": lambda self: "\r\x0craise X"})
    opt = kind([w], 0.1)

    def step(x):
        opt.zero_grad()
        (w * x).sum().backward()
        opt.step()
        ran.append(1) if False else None
        return x * 1
    compiled = torch.compile(step)
    for _ in range(3):
        compiled(torch.ones(2))
    assert w.tolist() == pytest.approx([0.7, 0.7]) and "step()" in compiled.source


@pytest.mark.parametrize("name", ["f(): pass\nraise SystemExit", "µ", "a b", ""])
def test_the_name_of_an_op_is_an_identifier(name):
    def forward(F, input):
        return input * 2
    forward.__name__ = name
    with pytest.raises(ValueError, match="ASCII identifier"):
        op(namespace=None)(forward)


# ---- random programs ---------------------------------------------------------------------------------------
@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck),
          phases=[Phase.generate])
@given(st.integers(0, 1 << 40))
def test_random_programs_with_writes_modes_and_modules(seed):
    """A sample: ``python -m tests.compiler.compiled_programs`` runs more, and makes failures smaller."""
    check(random_case(random.Random(seed)))


WRITING = [name for name in NAMES if name.endswith("_") or name in (
    "element", "flat_element", "row", "columns", "all_of_it", "rows_by_list", "by_tensor", "by_mask", "shifted", "out",
    "augmented", "part_augmented", "under_no_grad", "buffer_written", "weight_stepped", "detached", "data", "cache")]


@pytest.mark.parametrize("name", WRITING)
def test_each_kind_of_write(name):
    check(Case((("twice", 0, 0, 1), (name, 2, 1, 1), ("twice", 2, 0, 0)), needs_grad=(True, True), results="all",
               modes=("grad", "grad")))


@pytest.fixture
def thawed():
    """The tests' own objects are frozen (conftest.py): not in this test, and again after it."""
    gc.unfreeze()
    yield
    gc.unfreeze()
    gc.freeze()


def test_frozen_objects_are_traced(thawed):
    w, old = torch.ones(2), torch.ones(2)
    gc.freeze()
    compiled = torch.compile(lambda x: x * w)
    for k in range(3):
        w.fill_(float(k))
        assert compiled(torch.ones(2)).tolist() == [k, k]
    assert not eagerly(compiled)
    again = weakref.ref(old)
    del old
    gc.collect()                                           # not frozen: what a trace leaves behind
    assert again() is None                                 # what is remembered of frozen tensors keeps none alive


@pytest.mark.parametrize("change", [lambda: None, gc.freeze, gc.unfreeze, lambda: (gc.unfreeze(), gc.freeze()),
                                    lambda: (gc.freeze(), gc.unfreeze()), lambda: (gc.unfreeze(), gc.collect())])
def test_all_living_tensors_are_found_whatever_is_frozen(thawed, change):
    def each_once(*tensors):
        found = [id(x) for x in tensors_of(torch.ones(1).backend)]
        return all(found.count(id(t)) == 1 for t in tensors)
    first = torch.ones(1)
    gc.freeze()
    second = torch.ones(1)
    assert each_once(first, second) and each_once(first, second)
    third = torch.ones(1)
    change()
    fourth = torch.ones(1)
    assert each_once(first, second, third, fourth) and each_once(first, second, third, fourth)


def test_frozen_objects_are_looked_at_once(thawed, monkeypatch):
    gc.freeze()
    living.living_objects()
    monkeypatch.setattr(gc, "unfreeze", lambda: pytest.fail("all frozen objects are looked at again"))
    x = torch.ones(1)
    assert any(y is x for y in living.living_objects())


@pytest.mark.parametrize("name", list(MORE)[::14])
def test_more_statements(name):
    """Some of those that only the searches draw: they run, and compiled they do the same."""
    case = Case((("twice", 0, 0, 1), (name, 2, 1, 1), ("twice", 2, 0, 0)), needs_grad=(True, True), results="all",
                modes=("grad",))
    assert "eagerly" not in str(check(case).function.notes) or name in ("none_picked", "doubled_gradient")


EPS = np.finfo(np.float32).eps
FEW = 8 * EPS                                              # what a sum may be off by, of the sum of magnitudes


@pytest.mark.parametrize("function", [lambda x: x.sum(0), lambda x: x.mean(0), lambda x: x.sum((0, 1)),
                                      lambda x: (x + torch.zeros(2)).mean((0, 1)), lambda x: x.var(0)])
def test_compiled_sums_are_as_exact(function):
    x = np.full((20_000, 2, 2), 0.1, "f")
    t = torch.from_numpy(x)
    compiled = torch.compile(function)
    compiled(t)
    np.testing.assert_allclose(compiled(t).numpy(), function(t.double()).numpy(), rtol=FEW, atol=1e-12)
