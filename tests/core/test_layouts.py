"""The memory layout of results, of gradients and of copies; which memory may be written to; edge cases of shapes.

What PyTorch does is recorded in ``data/layouts.json`` (`record_layouts.py`); `parity/test_layouts.py` compares with
PyTorch itself.
"""

import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
import minitorch.nn.functional as F
from minitorch.core.layouts import order_of
from minitorch.core.registry import OPS
from minitorch.core.template import write_call
from tests import DATA
from tests.core.layout_cases import (
    EXPRESSIONS,
    definition_layouts,
    definitions,
    differences,
    expression_layouts,
    grad_layouts,
)

RECORDED = json.loads((DATA / "layouts.json").read_text(encoding="utf-8"))


# ---- every definition, and what is made of several ---------------------------------------------------------------
@pytest.mark.parametrize("namespace, name, op", definitions(), ids=lambda x: getattr(x, "name", x))
def test_results_of_definitions_lie_as_pytorchs(namespace, name, op):
    wanted = RECORDED["definitions"].get(f"{namespace}.{name}".lstrip("."))
    if wanted is not None:
        assert not differences(op.name, definition_layouts(torch, namespace, name, op), wanted.split(" "))


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_results_of_expressions_lie_as_pytorchs(expression):
    if "bfloat16" in expression:
        pytest.importorskip("ml_dtypes")
    wanted = RECORDED["expressions"][expression].split(" ")
    assert not differences(expression, expression_layouts(torch, expression), wanted)


@pytest.mark.parametrize("expression", [e for e in EXPRESSIONS if e in RECORDED["gradients"]])
def test_gradients_of_leaves_lie_as_pytorchs(expression):
    if "bfloat16" in expression:
        pytest.importorskip("ml_dtypes")
    if expression in ("torch.normal(x, y)", "torch.asarray(x, copy=True)"):
        return                                             # which have no gradient here
    wanted = RECORDED["gradients"][expression].split(" ")
    assert not differences(expression, grad_layouts(torch, expression), wanted)


def test_all_is_recorded():
    assert set(RECORDED["expressions"]) == set(EXPRESSIONS), "run record_layouts.py, which needs PyTorch"


# ---- the rule ----------------------------------------------------------------------------------------------------
@given(st.permutations(range(4)), st.lists(st.integers(2, 4), min_size=4, max_size=4))
@settings(max_examples=50, deadline=None)
def test_dense_layouts_are_kept(order, sizes):
    x = torch.zeros([sizes[d] for d in order]).permute([order.index(d) for d in range(4)])
    steps = x.stride()
    for y in (x.clone(), x.double(), torch.zeros_like(x), torch.rand_like(x), x + 1, x.exp(), x.erf(), x.flip(0),
              F.dropout(x), torch.where(x > 0, x, x), F.gelu(x), x.sort(1).values):
        assert y.stride() == steps
    assert (order_of(tuple(x.shape), x.stride()) or (0, 1, 2, 3)) == tuple(sorted(range(4), key=lambda d: -steps[d]))


@given(st.lists(st.integers(1, 3), min_size=1, max_size=4), st.data())
@settings(max_examples=100, deadline=None)
def test_copies_of_repeated_dimensions_are_contiguous(sizes, data):
    """A copy of a contiguous tensor expanded along some dimensions can be viewed flat."""
    repeated = [data.draw(st.booleans()) for _ in sizes]
    x = torch.ones([1 if r else n for r, n in zip(repeated, sizes)]).expand(sizes)
    for y in (x.clone(), x.double(), x.bool(), x.half(), x.int(), torch.empty_like(x), torch.zeros_like(x),
              torch.ones_like(x), torch.full_like(x, 3.0), torch.rand_like(x), F.dropout(x), F.gelu(x), x.sigmoid(),
              F.relu(x), F.silu(x), x * 2, x + x, -x, torch.softmax(x, 0), x.cumsum(0), torch.cat([x, x]),
              torch.stack([x, x], -1), x.sum(0, keepdim=True), torch.bernoulli(x)):
        assert y.view(-1).shape == (y.numel(),)


def test_channels_last_goes_through_a_network():
    m = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(),
                            torch.nn.MaxPool2d(2), torch.nn.Upsample(scale_factor=2),
                            torch.nn.Conv2d(4, 4, 3, groups=4))
    m = m.to(memory_format=torch.channels_last)
    x = torch.rand(2, 3, 8, 8).to(memory_format=torch.channels_last).requires_grad_()
    for k in range(1, len(m) + 1):
        assert m[:k](x).is_contiguous(memory_format=torch.channels_last), m[k - 1]
    assert m(x.detach().contiguous()).is_contiguous(memory_format=torch.channels_last)      # as the weights say
    m(x).sum().backward()
    for p in (x, *m.parameters()):
        assert p.grad.stride() == p.stride()


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam", "RAdam", "Adamax",
                                  "ASGD", "Rprop"])
def test_states_of_optimisers_lie_as_the_parameters(name):
    tall, image = torch.rand(3, 4).t(), torch.rand(2, 4, 3, 3).to(memory_format=torch.channels_last)
    found = []
    for values in ([tall, image], [tall.contiguous(), image.contiguous()]):
        params = [torch.nn.Parameter(v.clone()) for v in values]
        optimizer = getattr(torch.optim, name)(params, lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            sum((p * p).sum() for p in params).backward()
            optimizer.step()
        for p in params:
            assert all(s.stride() == p.stride() for s in optimizer.state[p].values() if s.ndim > 1)
        found.append([p.tolist() for p in params])
    assert found[0] == found[1]


def test_memory_formats():
    x = torch.rand(2, 3, 4, 5)
    last = x.to(memory_format=torch.channels_last)
    assert last.stride() == (60, 1, 15, 3) and last.to(memory_format=torch.channels_last) is last
    assert last.contiguous().stride() == (60, 20, 5, 1) and torch.equal(last, x)
    assert last.double().stride() == last.stride() == last.clone().stride() == torch.empty_like(last).stride()
    assert torch.zeros_like(x, memory_format=torch.channels_last).stride() == last.stride()
    assert torch.zeros_like(last, memory_format=torch.contiguous_format).stride() == x.stride()
    assert last.clone(memory_format=torch.contiguous_format).stride() == x.stride()
    assert x.to(memory_format=torch.preserve_format) is x
    with pytest.raises(RuntimeError, match="required rank 4"):
        x[0].contiguous(memory_format=torch.channels_last)
    with pytest.raises(RuntimeError, match="preserve"):
        x.contiguous(memory_format=torch.preserve_format)


def test_layouts_survive_the_way_to_another_device():
    pytest.importorskip("minitorch.backends.sim")
    x = torch.rand(2, 3)
    try:
        there = x.t().to("sim")
    except (RuntimeError, ImportError) as error:
        pytest.skip(f"no simulator: {error}")
    assert there.stride() == (1, 3) and there.cpu().stride() == (1, 3) and torch.equal(there.cpu(), x.t())
    assert torch.zeros(2, 0, device="sim").diagonal().add_(1).shape == (0,)


# ---- memory that is written to -----------------------------------------------------------------------------------
WINDOWS = {"expanded": lambda: torch.ones(1).expand(3), "rows": lambda: torch.ones(2, 1).expand(2, 3),
           "windows": lambda: torch.arange(1.0, 6.0).unfold(0, 3, 1),
           "strided": lambda: torch.arange(1.0, 7.0).as_strided((2, 2), (2, 2))}


@pytest.mark.parametrize("view", WINDOWS.values(), ids=WINDOWS)
def test_fills_write_to_elements_that_share_memory(view):
    for write in (lambda x: x.fill_(2.0), lambda x: x.masked_fill_(x > 0, 2.0), lambda x: x.masked_fill_(x == x, 2)):
        x = view()
        assert write(x).tolist() == torch.full(x.shape, 2.0).tolist()
    assert view().zero_().sum().item() == 0


@pytest.mark.parametrize("view", [WINDOWS["expanded"], WINDOWS["rows"]])
@pytest.mark.parametrize("write", [
    lambda x: x.add_(1), lambda x: x.copy_(x.clone()), lambda x: x.relu_(), lambda x: x.uniform_(), lambda x: x.exp_(),
    lambda x: x.__setitem__(slice(None), 2.0), lambda x: x.fill_(torch.tensor(2.0)), lambda x: x.mul_(x.clone())])
def test_expanded_tensors_are_not_written_to(view, write):
    x = view()
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        write(x)
    assert x.tolist() == view().tolist()


@pytest.mark.parametrize("view", [WINDOWS["windows"], WINDOWS["strided"]])
def test_windows_that_overlap_take_equal_values_only(view):
    """PyTorch computes as often as an element is seen, in an order that nobody promises; here the values must agree."""
    x = view()
    assert torch.equal(x.relu_(), view()) and torch.equal(x.neg_(), -view())
    before = x.clone()
    with pytest.raises(RuntimeError, match="more than one element"):
        x.copy_(torch.arange(float(x.numel())).reshape(x.shape))
    assert torch.equal(x, before)                          # nothing was written


OVERLAPPING = {
    "copy": lambda x, y: y[1:].copy_(y[:-1]), "add": lambda x, y: y[1:].add_(y[:-1]), "+=": lambda x, y: y[2:].__iadd__(
        y[:-2]), "transposed": lambda x, y: x.t().copy_(x), "itself": lambda x, y: x.add_(x.t()),
    "row": lambda x, y: x.mul_(x[0]), "element": lambda x, y: x.div_(x[0, 0]), "lerp": lambda x, y: x.lerp_(x.t(), 0.5),
    "assigned": lambda x, y: y.__setitem__(slice(1, None), y[:-1]),
    "rows": lambda x, y: x.__setitem__(slice(None), x.t()),
    "index": lambda x, y: x.index_copy_(0, torch.tensor([0]), x[1:2]),
    "scatter": lambda x, y: x.scatter_(0, torch.zeros(3, 3, dtype=torch.int64), x.t())}


@pytest.mark.parametrize("write", OVERLAPPING.values(), ids=OVERLAPPING)
@pytest.mark.parametrize("recorded", [False, True])
def test_sources_must_not_overlap_what_is_written(write, recorded):
    x, y = torch.arange(1.0, 10.0).reshape(3, 3), torch.arange(1.0, 7.0)
    if recorded:
        x, y = x.requires_grad_() * 1, y.requires_grad_() * 1
    before = x.tolist(), y.tolist()
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
        write(x, y)
    assert (x.tolist(), y.tolist()) == before


def test_sources_beside_what_is_written_are_taken():
    x, y = torch.arange(1.0, 10.0).reshape(3, 3), torch.arange(1.0, 7.0)
    x.add_(x), x.copy_(x), y[:3].copy_(y[3:]), y[::2].add_(y[1::2]), x[0].add_(x[1]), x.fill_(x[0, 0])
    x[:, 1:].copy_(x[:, :-1])                              # with gaps: read first, then written
    assert y.tolist() == [9, 5, 10, 4, 11, 6] and x.tolist() == [[10] * 3] * 3


# ---- edge cases of shapes ----------------------------------------------------------------------------------------
def test_numbers_have_trivial_dimensions():
    x = torch.tensor(2.0, requires_grad=True)
    for y in (x.movedim(0, 0), x.moveaxis(-1, 0), x.mT, x.mH, x.H, x.T, x.adjoint(), x[...], x[..., ...], x.movedim(
            (0,), (0,))):
        assert y.shape == () and y.item() == 2
        assert torch.autograd.grad(y, x)[0].item() == 1
    x[False] = 1                                           # which writes nothing, so that a leaf may stay one
    assert x.item() == 2 and x.is_leaf
    for wrong in (lambda: x.unflatten(0, (1,)), lambda: torch.ones(3).mT):
        with pytest.raises(RuntimeError):
            wrong()
    with pytest.raises(IndexError):
        x.diagonal()


def test_an_ellipsis_may_stand_for_nothing():
    x = torch.arange(24).reshape(2, 3, 4)
    assert torch.equal(x[..., 0, ...], x[..., 0])
    assert x[..., ...].shape == (2, 3, 4) and x[1, 1, 1, ..., ...].shape == ()
    with pytest.raises(IndexError, match="ellipsis"):
        x[..., ..., 0]


def test_a_list_of_lists_indexes_as_a_tuple():
    x = torch.arange(24).reshape(2, 3, 4)
    with pytest.warns(UserWarning, match="non-tuple sequence"):
        assert torch.equal(x[[[0, 1], [1, 0]]], x[[0, 1], [1, 0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x[[[0, 1], [1, 0]]] = 99
    assert (x == 99).sum() == 8 and x[0, 1].tolist() == x[1, 0].tolist() == [99] * 4
    assert x[[1, 0]].shape == (2, 3, 4) and x[[[0, 1]] * 33].shape == (33, 2, 3, 4)     # numbers, or too many: an array


@pytest.mark.parametrize("value, dtype", [("int32", "int64"), ("float64", "float32"), ("bool", "bool"),
                                          ("float16", "float32")])
def test_full_takes_the_value_of_a_tensor_not_its_dtype(value, dtype):
    made = torch.full((2,), torch.tensor(1, dtype=getattr(torch, value)))
    assert made.dtype is getattr(torch, dtype) and made.tolist() == [1, 1]
    with pytest.raises(TypeError, match="must be Number"):
        torch.full((2,), torch.ones(1))


def test_sums_are_computed_in_the_dtype_of_out():
    x, out = torch.tensor([1.5, 2.5]), torch.empty(2, dtype=torch.int64)
    assert torch.cumsum(x, 0, out=out).tolist() == [1, 3]
    assert torch.sum(x, 0, out=torch.empty((), dtype=torch.int64)).item() == 3
    assert torch.prod(x, 0, out=torch.empty((), dtype=torch.float64)).item() == 3.75
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
        torch.cumsum(x, 0, dtype=torch.float64, out=torch.empty(2))


@pytest.mark.parametrize("call", [
    lambda x, out: torch.nonzero(x, out=out), lambda x, out: torch.argmax(x, out=out),
    lambda x, out: torch.searchsorted(x, torch.ones(2), out=out), lambda x, out: torch.eq(x, 1, out=out.bool())])
def test_results_without_a_derivative_go_to_out(call):
    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not call(x, torch.empty(0, dtype=torch.int64)).requires_grad
    for refused in (lambda: torch.exp(x, out=torch.empty(2)), lambda: torch.add(torch.ones(2), 1, out=x)):
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            refused()


def test_sequences_of_bools_are_refused():
    for call in (lambda **k: torch.linspace(0, 1, 3, **k), lambda **k: torch.logspace(0, 1, 3, **k),
                 lambda **k: torch.arange(3, **k)):
        for how in (dict(dtype=torch.bool), dict(out=torch.empty(3, dtype=torch.bool))):
            with pytest.raises(NotImplementedError, match="Bool"):
                call(**how)


def test_degenerate_convolutions_and_pools():
    empty = torch.ones(0, 1, 3, requires_grad=True)
    out = F.conv_transpose1d(empty, torch.ones(1, 1, 2), stride=1, output_padding=1)
    assert out.shape == (0, 1, 5)
    out.sum().backward()
    with pytest.raises(RuntimeError, match="output padding"):
        F.conv_transpose1d(torch.ones(1, 1, 3), torch.ones(1, 1, 2), output_padding=1)
    with pytest.raises(RuntimeError, match="too small"):
        F.conv_transpose1d(torch.ones(1, 1, 1), torch.ones(1, 1, 2), None, 1, 2, 1, 1, 2)
    assert F.conv1d(torch.ones(1, 0, 3), torch.ones(2, 0, 2), torch.ones(2)).tolist() == [[[1, 1], [1, 1]]]
    for mode in ("bilinear", "nearest", "bicubic"):
        found = F.grid_sample(torch.ones(0, 1, 2, 2), torch.ones(0, 3, 3, 2), mode=mode, align_corners=False)
        assert found.shape == (0, 1, 3, 3)
    assert F.grid_sample(torch.ones(1, 0, 2, 2), torch.ones(1, 3, 3, 2), align_corners=True).shape == (1, 0, 3, 3)
    values, _ = F.max_pool2d(torch.rand(1, 4, 1, 2), 2, 3, 1, 2, return_indices=True)       # a window of padding only
    assert (values == -float("inf")).all()
    values, places = F.max_pool1d(torch.arange(4.0)[None, None], 2, 1, 1, 2, return_indices=True)
    assert values.tolist() == [[[1, 2, 3, 2]]] and places.tolist() == [[[1, 2, 3, 2]]]


def test_padding_that_crops():
    x = torch.arange(6.0).reshape(1, 1, 2, 3)
    assert F.pad(x, (1, -1, 2, 2), "circular")[0, 0, 0].tolist() == [1, 0, 1]
    assert F.pad(x, (-2, -1, 1, 1), "circular").shape == (1, 1, 4, 0)
    for pad, mode in (((-3, 2), "circular"), ((-4, 2), "constant"), ((1, -3), "circular")):
        with pytest.raises(RuntimeError):                  # where PyTorch reads memory that it never wrote
            F.pad(x, pad, mode) if mode == "constant" else F.pad(x[0], pad, mode)


def test_contiguous_arrays_are_not_looked_at_twice():
    """The rule costs a call on contiguous tensors one look at an array's flags."""
    for name in ("sum", "clone", "where", "softmax"):
        assert write_call(OPS[name], bare=False).count("flags.c_contiguous") == 1
    for name in ("add", "mul", "exp", "relu"):
        assert "flags" not in write_call(OPS[name], bare=False)


def test_numpy_agrees_where_it_keeps_the_order():
    """`order_of` one dense array is NumPy's order="K"."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        order = rng.permutation(4)
        a = np.zeros(rng.integers(2, 5, 4)[order]).transpose(np.argsort(order))
        assert torch.from_numpy(a).clone().array.strides == a.copy("K").strides


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_results_of_expanded_tensors_are_contiguous_in_every_float_type(dtype):
    x = torch.ones(3, dtype=getattr(torch, dtype)).expand(2, -1)
    for out in (x * x, 3 * x, x.sin(), torch.hypot(x, x), torch.where(x > 0, x, x), -x, x ** 2, x / 2):
        assert out.is_contiguous() and out.dtype is x.dtype


@pytest.mark.parametrize("shuffle", [lambda x: F.pixel_shuffle(x, 2), lambda x: F.pixel_unshuffle(x, 2),
                                     lambda x: F.channel_shuffle(x, 2)])
def test_shuffled_images_lie_as_their_inputs(shuffle):
    x = torch.randn(2, 8, 4, 4)
    last = shuffle(x.to(memory_format=torch.channels_last))
    assert shuffle(x).is_contiguous() and last.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(shuffle(x), last)
