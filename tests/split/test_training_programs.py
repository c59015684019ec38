"""Behaviours that users' training programs were found to need."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch import nn

REDUCTIONS = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min}


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.data())
def test_segments_are_reduced_as_slices_are(data):
    reduce = data.draw(st.sampled_from(sorted(REDUCTIONS)))
    rows, lengths = data.draw(st.integers(1, 2)), []
    size = data.draw(st.integers(0, 6))
    for _ in range(rows):
        ends = [0, *sorted(data.draw(st.lists(st.integers(0, size), min_size=2, max_size=2))), size]
        lengths.append(np.diff(ends).tolist())
    initial = data.draw(st.sampled_from([None, 2.0]))
    x = torch.arange(rows * size * 2.0, dtype=torch.float64).reshape(rows, size, 2) - 3
    out = torch.segment_reduce(x, reduce, lengths=torch.tensor(lengths), axis=1, initial=initial)
    assert out.shape == (rows, 3, 2)
    offsets = torch.tensor([[0, *np.cumsum(row)] for row in lengths])
    assert torch.equal(out.nan_to_num(),
                       torch.segment_reduce(x, reduce, offsets=offsets, axis=1, initial=initial).nan_to_num())
    nothing = {"sum": 0.0, "mean": np.nan, "prod": 1.0, "max": -np.inf, "min": np.inf}[reduce]
    for i, row in enumerate(offsets.tolist()):
        for k in range(3):
            part = x.numpy()[i, row[k]:row[k + 1]]
            if initial is None:
                expected = REDUCTIONS[reduce](part, 0) if len(part) else np.full(2, nothing)
            elif reduce == "mean":
                expected = (part.sum(0) + initial) / max(len(part), 1)
            else:
                expected = REDUCTIONS[reduce](np.concatenate([part, np.full((1, 2), initial)]), 0)
            np.testing.assert_allclose(out[i, k].numpy(), expected)


def test_gradients_of_segments():
    lengths = torch.tensor([2, 0, 3])
    x = torch.tensor([1.0, 4.0, 2.0, 0.5, 3.0], dtype=torch.float64).requires_grad_()
    for reduce in REDUCTIONS:
        for initial in (None, 0.75):
            def function(x, reduce=reduce, initial=initial):
                return torch.segment_reduce(x, reduce, lengths=lengths, initial=initial)[::2]
            assert torch.autograd.gradcheck(function, x) and torch.autograd.gradgradcheck(function, x)
    ties = torch.tensor([1.0, 1.0, 2.0]).requires_grad_()
    torch.segment_reduce(ties, "min", lengths=torch.tensor([3])).sum().backward()
    assert ties.grad.tolist() == [0.5, 0.5, 0.0]           # shared among equals
    batch = torch.vmap(lambda row: torch.segment_reduce(row, "max", lengths=torch.tensor([1, 2])))
    assert batch(torch.tensor([[1.0, 5, 2], [4, 0, 3]])).tolist() == [[1, 5], [4, 3]]
    half = torch.segment_reduce(torch.tensor([1.0, 2.0, 4.0]).bfloat16(), "mean", lengths=torch.tensor([1, 2]))
    assert half.dtype is torch.bfloat16 and half.tolist() == [1, 3]


def test_segments_that_do_not_fit_are_refused():
    x, number = torch.ones(4, 3), torch.tensor
    for error, match, keywords in (
            (RuntimeError, "Either lengths or offsets", {}),
            (RuntimeError, "indices based", dict(indices=number([0, 0, 1, 1]))),
            (RuntimeError, "sum to data.size", dict(lengths=number([2, 1]))),
            (RuntimeError, "sum to data.size", dict(lengths=number([3, 3]), unsafe=True)),
            (RuntimeError, "negative", dict(lengths=number([-1, 5]))),
            (RuntimeError, "decrease", dict(offsets=number([0, 3, 2, 4]))),
            (RuntimeError, "last dimension of lengths", dict(lengths=number([[2, 2]]))),
            (NotImplementedError, "Float", dict(lengths=number([2.0, 2.0])))):
        with pytest.raises(error, match=match):
            torch.segment_reduce(x, "sum", **keywords)
    with pytest.raises(RuntimeError, match="sum, prod, mean, amax or amin"):
        torch.segment_reduce(x, "median", lengths=number([4]))
    with pytest.raises(NotImplementedError):
        torch.segment_reduce(x.long(), "sum", lengths=number([4]))
    assert torch.segment_reduce(x, "sum", lengths=number([1, 2]), unsafe=True)[:, 0].tolist() == [1, 2]
    assert torch.segment_reduce(x, "sum", offsets=number([1, 2, 3]))[:, 0].tolist() == [1, 1]
    assert not hasattr(x, "segment_reduce")


def test_gradcheck_of_single_precision_warns_and_compares():
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision") as noted:
        assert torch.autograd.gradcheck(torch.sin, x, eps=1e-2, atol=1e-2, rtol=1e-2)
    assert noted[0].filename == __file__
    with pytest.warns(UserWarning, match="not a double precision"):
        with pytest.raises(RuntimeError, match="The input is torch.float32"):
            torch.autograd.gradcheck(torch.sin, x, eps=1e-6, atol=1e-9, rtol=1e-9)


def test_functions_are_not_instantiated():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with pytest.warns(DeprecationWarning, match="should not be instantiated") as noted:
        function = Twice()
    assert noted[0].filename == __file__
    with pytest.raises(RuntimeError, match="Legacy autograd function.*Twice.apply"):
        function(torch.ones(2))


def test_a_state_copied_into_meta_parameters_is_noticed():
    state = nn.Linear(2, 1).state_dict()
    with torch.device("meta"):
        layer = nn.Linear(2, 1)
    with pytest.warns(UserWarning, match="for weight: copying from a non-meta parameter.*assign=True") as noted:
        layer.load_state_dict(state)
    assert len(noted) == 2 and noted[0].filename == __file__ and layer.weight.is_meta
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layer.load_state_dict(state, assign=True)
        nn.Linear(2, 1).load_state_dict(state)
    assert torch.equal(layer.weight, state["weight"])


def test_the_profile_at_its_old_place():
    with torch.autograd.profiler.profile(record_shapes=True) as found:
        torch.ones(3).exp()
    assert "exp" in [e.name for e in found.function_events] and found.self_cpu_time_total > 0
    assert found.total_average().count == len(found.events()) and "exp" in str(found)
    assert "exp" in found.table(sort_by="self_cpu_time_total", row_limit=2)
    with torch.autograd.profiler.profile(enabled=False) as found:
        torch.ones(3).exp()
    assert found is None


def test_a_ready_trace_has_the_number_of_the_step_that_begins():
    seen = []
    plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
    with torch.profiler.profile(schedule=plan, on_trace_ready=lambda p: seen.append(p.step_num)) as found:
        for _ in range(9):
            found.step()
    assert seen == [4, 8]                                  # PyTorch's numbers


def test_collate_functions_at_their_private_place():
    from minitorch.utils.data import _utils
    from minitorch.utils.data._utils.collate import collate_tensor_fn, default_collate
    assert default_collate is torch.utils.data.default_collate and _utils.collate.default_collate is default_collate
    assert collate_tensor_fn([torch.ones(2), torch.zeros(2)]).shape == (2, 2)


class Scaled(torch.autograd.Function):
    """A product whose `backward` leaves it to autograd to sum over broadcast axes, as PyTorch allows."""

    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x, scale)
        return x * scale

    @staticmethod
    def backward(ctx, g):
        x, scale = ctx.saved_tensors
        return g * scale, g * x


@pytest.mark.parametrize("shapes", [((3, 2), (2,)), ((3,), (4, 1)), ((2, 1, 3), (2, 3)), ((), (2,))])
def test_gradients_of_functions_are_summed_over_broadcast_axes_to_any_order(shapes):
    x, scale = (torch.rand(shape, dtype=torch.float64, requires_grad=True) for shape in shapes)
    assert torch.autograd.gradcheck(Scaled.apply, (x, scale)) and torch.autograd.gradgradcheck(Scaled.apply, (x, scale))
    grads = torch.autograd.grad(Scaled.apply(x, scale).sin().sum(), (x, scale), create_graph=True)
    assert [g.shape for g in grads] == [x.shape, scale.shape]
    second = torch.autograd.grad(sum((g ** 2).sum() for g in grads), (x, scale))
    plain = torch.autograd.grad((x * scale).sin().sum(), (x, scale), create_graph=True)
    for a, b in zip(second, torch.autograd.grad(sum((g ** 2).sum() for g in plain), (x, scale)), strict=True):
        torch.testing.assert_close(a, b)
    assert torch.testing.check(Scaled)
    half = torch.rand(shapes[1], requires_grad=True).bfloat16()
    torch.autograd.grad(Scaled.apply(x.float(), half).sum(), half, create_graph=True)[0].sum().backward()


class Fitted(torch.autograd.Function):
    """A function with a default, whose context is set up apart."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, weight, power=2):
        return x ** power * weight

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, weight, ctx.power = inputs                      # the default is among them
        ctx.save_for_backward(x, weight)

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        return g * ctx.power * x ** (ctx.power - 1) * weight, g * x ** ctx.power, None


def test_arguments_of_functions_may_be_named_and_have_defaults():
    x, weight = (torch.tensor([1.0, 3.0]).requires_grad_() for _ in range(2))
    for call in (lambda: Fitted.apply(x, weight), lambda: Fitted.apply(x, weight=weight),
                 lambda: Fitted.apply(weight=weight, x=x), lambda: Fitted.apply(x, weight, power=2)):
        assert [g.tolist() for g in torch.autograd.grad(call().sum(), (x, weight))] == [[2, 18], [1, 9]]
    assert torch.vmap(lambda row: Fitted.apply(row, power=3, weight=row))(torch.ones(2, 2)).shape == (2, 2)
    swapped = torch.autograd.grad(Scaled.apply(scale=x, x=weight.detach()).sum(), x)
    assert swapped[0].tolist() == [1, 3]
    for call in (lambda: Scaled.apply(x), lambda: Scaled.apply(x, c=1), lambda: Scaled.apply(x, weight, scale=x),
                 lambda: Fitted.apply(x), lambda: Fitted.apply(x, weight, 2, 3)):
        with pytest.raises(TypeError):
            call()


def test_a_gradient_that_is_no_tensor_is_refused():
    class Number(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return 2
    with pytest.raises(RuntimeError, match=r"expected Variable or None \(got int\)"):
        Number.apply(torch.ones(2, requires_grad=True)).sum().backward()


def test_the_batching_rule_of_a_function_is_asked_only_for_batches():
    seen = []

    class Cubed(torch.autograd.Function):
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
        def jvp(ctx, tangent):
            return tangent * 3 * ctx.saved_tensors[0] ** 2

        @staticmethod
        def vmap(info, in_dims, x):
            seen.append(in_dims)
            return Cubed.apply(x), in_dims[0]
    x = torch.tensor([1.0, 2.0])
    assert torch.func.hessian(lambda x: Cubed.apply(x).sum())(x).tolist() == [[6, 0], [0, 12]]
    assert torch.func.jacfwd(Cubed.apply)(x).tolist() == [[3, 0], [0, 12]] and all(d != (None,) for d in seen)
    assert torch.vmap(Cubed.apply)(x).tolist() == [1, 8] and seen[-1] == (0,)
