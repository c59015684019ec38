"""Operators of the user's own (`library`), and what programs say to the compiler (`compiler`, `_dynamo`)."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch import library
from minitorch.library.operators import OPERATORS
from minitorch.library.schema import infer_schema, parse

Tensor = torch.Tensor
SMALL = settings(max_examples=30, deadline=None, derandomize=True, database=None)


@library.custom_op("tests::squared", mutates_args=())
def squared(x: Tensor) -> Tensor:
    """By NumPy, past the graph."""
    return torch.from_numpy(x.numpy() ** 2)


squared.register_fake(lambda x: torch.empty_like(x))
squared.register_autograd(lambda ctx, g: 2 * g * ctx.saved_tensors[0],
                          setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))


@library.custom_op("tests::joined", mutates_args=())
def joined(xs: list[Tensor], w: float = 1.0) -> Tensor:
    return torch.cat([x * w for x in xs])


@joined.register_fake
def joined_shape(xs, w=1.0):
    return torch.cat(xs)


def keep_joined(ctx, inputs, output):
    ctx.sizes, ctx.w, ctx.wanted = [len(x) for x in inputs[0]], inputs[1], ctx.needs_input_grad


joined.register_autograd(lambda ctx, g: ([part * ctx.w for part in g.split(ctx.sizes)], None),
                         setup_context=keep_joined)


@library.custom_op("tests::powers", mutates_args=())
def powers(x: Tensor, *, k: float = 2.0) -> list[Tensor]:
    return [x * k, x * k * k]


def keep_powers(ctx, inputs, keyword_only_inputs, output):
    ctx.k = keyword_only_inputs["k"]


powers.register_autograd(lambda ctx, g: g[0] * ctx.k + g[1] * ctx.k**2, setup_context=keep_powers)


@library.custom_op("tests::added", mutates_args={"x"})
def added(x: Tensor, y: Tensor) -> None:
    x.numpy()[...] += y.numpy()


# ---- derivatives, batches, shapes ------------------------------------------------------------------------------
@SMALL
@given(st.lists(st.floats(-3, 3), min_size=1, max_size=5))
def test_an_operator_is_one_node_and_is_differentiated_twice(values):
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    y = squared(x)
    g, = torch.autograd.grad(y.sum(), x, create_graph=True)
    gg, = torch.autograd.grad(g.sum(), x)
    assert torch.allclose(y, x * x) and torch.allclose(g, 2 * x) and gg.tolist() == [2.0] * len(values)
    assert y.grad_fn.name() == "GeneratedBackwardFor_tests_squared_defaultBackward"


def test_lists_of_tensors_have_lists_of_gradients():
    a, b = torch.ones(2, requires_grad=True), torch.ones(3)
    y = joined([a, b], 2.0)
    y.sum().backward()
    assert a.grad.tolist() == [2, 2] and b.grad is None and y.shape == (5,)
    x = torch.ones(2, requires_grad=True)
    first, second = powers(x, k=3.0)
    (first.sum() + second.sum()).backward()
    assert x.grad.tolist() == [12, 12]
    half = torch.ones(2, dtype=torch.bfloat16, requires_grad=True)
    joined([half, half], 2.0).sum().backward()
    assert half.grad.dtype == torch.bfloat16 and half.grad.tolist() == [4, 4]


def test_a_batch_is_a_loop_or_a_rule():
    x = torch.arange(6.0).reshape(3, 2)
    assert torch.vmap(lambda row: joined([row, row]))(x).equal(torch.cat([x, x], 1))
    assert torch.vmap(torch.func.grad(lambda row: (joined([row, row]) ** 2).sum()))(x).equal(4 * x)
    assert torch.vmap(squared)(x).equal(x * x)
    calls = []

    @library.custom_op("tests::tripled", mutates_args=())
    def tripled(x: Tensor) -> Tensor:
        return x * 3

    @tripled.register_vmap
    def rule(info, in_dims, x):
        calls.append((info.batch_size, in_dims))
        return x * 3, in_dims[0]
    assert torch.vmap(tripled, in_dims=1)(x).equal(3 * x.t()) and calls == [(2, (0,))]


def test_shapes_without_values():
    meta = joined([torch.ones(2, device="meta"), torch.ones(3, device="meta")])
    assert meta.shape == (5,) and meta.device.type == "meta"
    with pytest.raises(NotImplementedError, match="register_fake"):
        powers(torch.ones(1, device="meta"))


def test_without_a_formula_the_backward_pass_says_so():
    @library.custom_op("tests::plain", mutates_args=())
    def plain(x: Tensor) -> Tensor:
        return x.clone()
    y = plain(torch.ones(1, requires_grad=True))
    with pytest.raises(RuntimeError, match="register_autograd"):
        y.sum().backward()
    with torch.no_grad():
        assert not plain(torch.ones(1, requires_grad=True)).requires_grad


def test_writes_are_counted():
    x = torch.ones(2, requires_grad=True)
    z = x * 1
    product = z * z
    added(z.detach(), torch.ones(2))
    assert z.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="tests::added"):
        product.sum().backward()
    with pytest.raises(RuntimeError, match="non-functional"):
        added.register_autograd(lambda ctx, g: g)


def test_results_must_be_new_memory():
    @library.custom_op("tests::flat", mutates_args=())
    def flat(x: Tensor) -> Tensor:
        return x.view(-1)
    with pytest.raises(RuntimeError, match="alias"):
        flat(torch.ones(2, 2))


def test_mixed_precision_and_subclasses():
    @library.custom_op("tests::product", mutates_args=())
    def product(x: Tensor, y: Tensor) -> Tensor:
        return x @ y
    product.register_autocast("cpu", torch.bfloat16)
    with torch.autocast("cpu"):
        assert product(torch.ones(2, 2), torch.ones(2, 2)).dtype is torch.bfloat16
    assert product(torch.ones(2, 2), torch.ones(2, 2)).dtype is torch.float32

    class Asked(Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return "asked"
    assert squared(torch.ones(1).as_subclass(Asked)) == "asked"


# ---- libraries and names ------------------------------------------------------------------------------------------
def test_a_library_defines_by_schema():
    made = library.Library("tests_lib", "DEF")
    assert made.define("scaled(Tensor x, int n=2) -> Tensor") == "scaled"
    made.impl("scaled", lambda x, n=2: x * n, "CPU")
    x = torch.ones(2, requires_grad=True)
    torch.ops.tests_lib.scaled(x, n=5).sum().backward()
    assert x.grad.tolist() == [5, 5] and torch.ops.tests_lib.scaled.default(x).tolist() == [2, 2]
    with pytest.raises(NotImplementedError, match="META|fake"):
        torch.ops.tests_lib.scaled(torch.ones(1, device="meta"))
    with pytest.raises(NotImplementedError, match="register_autograd"):
        made.impl("scaled", print, "AutogradCPU")
    with pytest.raises(RuntimeError, match="already"):
        made.define("scaled(Tensor x) -> Tensor")
    library.define("tests_lib::more", "(Tensor x) -> Tensor")

    @library.impl("tests_lib::more", "cpu")
    def more(x):
        return x + 1
    library.register_autograd("tests_lib::more", lambda ctx, g: 3 * g)
    x.grad = None
    torch.ops.tests_lib.more(x).sum().backward()
    assert x.grad.tolist() == [3, 3] and dir(torch.ops.tests_lib) == ["more", "scaled"]


@pytest.mark.parametrize("call, error, text", [
    (lambda: squared(3), RuntimeError, "Expected a value of type 'Tensor'"),
    (lambda: squared(torch.ones(1), q=2), RuntimeError, "Unknown keyword"),
    (lambda: squared(), RuntimeError, "missing value"),
    (lambda: squared(torch.ones(1), torch.ones(1)), RuntimeError, "at most 1"),
    (lambda: torch.ops.tests.nothing, AttributeError, "nothing"),
    (lambda: library.custom_op("noname", mutates_args=())(print), ValueError, "namespace::name"),
    (lambda: library.custom_op("a::b", mutates_args=())(lambda x: x), ValueError, "type annotation"),
    (lambda: library.register_fake("tests::nothing", print), RuntimeError, "no operator"),
    (lambda: parse("no schema"), RuntimeError, "expected a schema"),
    (lambda: library.Library("a", "OTHER"), ValueError, "OTHER")])
def test_bad_input_is_explained(call, error, text):
    with pytest.raises(error, match=text):
        call()


KINDS = {"Tensor": Tensor, "float": float, "SymInt": int, "bool": bool, "str": str, "Tensor?": Tensor | None,
         "Tensor[]": list[Tensor], "SymInt[]": list[int], "float?": float | None, "ScalarType": torch.dtype}


@SMALL
@given(st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.booleans()), max_size=5), st.sampled_from(["", "Tensor"]))
def test_schemas_are_read_as_they_were_inferred(arguments, result):
    def prototype(*args, **kwargs):
        raise AssertionError("is not called")
    import inspect
    parameters = [inspect.Parameter(f"a{i}", inspect.Parameter.KEYWORD_ONLY, annotation=KINDS[kind],
                                    default=None if optional else inspect.Parameter.empty)
                  for i, (kind, optional) in enumerate(arguments)]
    prototype.__signature__ = inspect.Signature(parameters, return_annotation=Tensor if result else None)
    mutated = [p.name for p in parameters if p.annotation is Tensor][:1]
    _, schema = parse(infer_schema(prototype, mutates_args=mutated))
    assert [a.type for a in schema.arguments] == [kind for kind, _ in arguments]
    assert [a.name for a in schema.arguments if a.mutated] == mutated and schema.mutates == bool(mutated)
    assert all(a.keyword_only for a in schema.arguments) and schema.returns == ((result,) if result else ())


def test_opcheck_finds_faults():
    for op, args in ((squared, (torch.ones(2, requires_grad=True),)), (joined, ([torch.ones(2), torch.ones(1)],)),
                     (added, (torch.ones(2), torch.ones(2)))):
        tests = ("test_schema", "test_autograd_registration") if op is added else library.check.TESTS
        assert set(library.opcheck(op, args, test_utils=tests).values()) == {"SUCCESS"}

    @library.custom_op("tests::faulty", mutates_args=())
    def faulty(x: Tensor) -> Tensor:
        x.add_(1)
        return x.clone()
    faulty.register_fake(lambda x: torch.empty(1, device="meta"))
    with pytest.raises(library.OpCheckError, match="mutated"):
        library.opcheck(faulty, (torch.ones(2),))
    found = library.opcheck("tests::faulty", (torch.ones(2),), raise_exception=False)
    assert isinstance(found["test_faketensor"], RuntimeError) and found["test_autograd_registration"] == "SUCCESS"


def test_kernels_can_be_switched_off():
    @library.custom_op("tests::switched", mutates_args=())
    def switched(x: Tensor) -> Tensor:
        return x + 1
    switched.register_kernel("cpu", lambda x: x + 10)
    assert switched(torch.ones(1)).item() == 11
    with switched.set_kernel_enabled("cpu", enabled=False):
        assert switched(torch.ones(1)).item() == 2
    assert switched(torch.ones(1)).item() == 11
    OPERATORS.pop("tests::switched")


def test_a_compiled_function_that_calls_an_operator_computes_anew():
    compiled = torch.compile(lambda x: joined([x, x + 1]).sum() + squared(x).sum())
    for value in (1.0, 2.0, 3.0):
        assert compiled(torch.full((2,), value)).item() == 2 * (2 * value + 1) + 2 * value**2


# ---- the compiler, as programs speak to it --------------------------------------------------------------------------
def test_is_compiling_asks_for_the_run_that_is_recorded():
    seen = []

    @torch.compile
    def f(x):
        seen.append(torch.compiler.is_compiling())
        return x + 1
    assert not torch.compiler.is_compiling()
    f(torch.ones(1)), f(torch.ones(1))
    assert seen[0] is True and not torch.compiler.is_compiling() and not torch._dynamo.is_compiling()


def test_a_disabled_function_makes_the_whole_run_eagerly():
    calls = []

    @torch.compiler.disable(reason="it counts")
    def counted(x):
        calls.append(1)
        return x * 2
    compiled = torch.compile(lambda x: counted(x) + 1)
    assert [compiled(torch.full((1,), float(i))).item() for i in range(3)] == [1, 3, 5] and len(calls) == 3
    assert "not to be compiled: it counts" in compiled.notes[0]
    linear = torch.nn.Linear(1, 1)
    assert torch.compiler.disable(torch.compile(linear)) is linear
    plain = torch.compiler.disable(torch.compile(lambda x: x + 1))
    assert plain(torch.ones(1)).item() == 2

    @torch._dynamo.optimize("eager")
    def broken(x):
        torch._dynamo.graph_break()
        return x + 1
    assert broken(torch.ones(1)).item() == 2 and "runs eagerly" in broken.notes[0]


def test_stances_and_reset():
    f = torch.compile(lambda x: x * 2)
    f(torch.ones(2))
    with torch.compiler.set_stance("force_eager"):
        assert f(torch.ones(3)).tolist() == [2, 2, 2] and len(f.plans) == 1
    with torch.compiler.set_stance("fail_on_recompile"):
        assert f(torch.ones(2)).tolist() == [2, 2]
        with pytest.raises(RuntimeError, match="fail_on_recompile"):
            f(torch.ones(4))
    with torch.compiler.set_stance("eager_on_recompile"):
        assert f(torch.ones(5)).tolist() == [2] * 5
    assert f(torch.ones(5)).tolist() == [2] * 5 and f.source
    torch.compiler.reset()
    assert not f.plans and f(torch.ones(2)).tolist() == [2, 2]
    with pytest.raises(ValueError, match="stance"):
        torch.compiler.set_stance("other")

    @torch.compiler.set_stance("force_eager")
    def eagerly():
        return f(torch.ones(7))
    assert eagerly().shape == (7,) and torch.compile(lambda x: x, disable=True)(3) == 3


def test_other_words_for_the_compiler():
    assert "c" in torch.compiler.list_backends() and torch.compiler.get_default_backend() == "auto"
    with contextlib.ExitStack() as stack:
        stack.callback(torch.compiler.set_default_backend, None)
        torch.compiler.set_default_backend("numpy")
        assert torch.compile(lambda x: x).backend == "numpy"
    doubled = torch.compiler.wrap_numpy(lambda a: np.asarray(a) * 2)
    assert doubled(torch.ones(2)).tolist() == [2, 2]
    assert torch.compiler.allow_in_graph(len) is len and torch._dynamo.config.cache_size_limit == 8
    torch._dynamo.config.suppress_errors = True
    torch._dynamo.mark_dynamic(torch.ones(1), 0), torch.compiler.cudagraph_mark_step_begin()


def test_operators_of_pytorch_by_name():
    aten, x = torch.ops.aten, torch.arange(6.0).reshape(2, 3)
    assert torch.equal(aten.add.Tensor(x, x), 2 * x) and torch.equal(aten.slice.Tensor(x, 1, 0, 2), x[:, :2])
    assert torch.equal(aten.index.Tensor(x, [None, torch.tensor([0])]), x[:, [0]]) and str(aten.mm) == "aten.mm"
    assert aten.add.Tensor is torch.ops.aten.add.Tensor and aten.add.Tensor.name() == "aten::add.Tensor"
    assert aten._to_copy.default(x, dtype=torch.float64).dtype is torch.float64
    with pytest.raises(AttributeError, match="nothing_like_it"):
        getattr(aten, "nothing_like_it")                   # noqa: B009
