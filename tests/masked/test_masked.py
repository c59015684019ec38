"""``torch.masked``: what does not count changes nothing, in values and in gradients."""

import copy
import math
import pickle

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import minitorch as torch
from minitorch import masked
from minitorch.masked import MaskedTensor, as_masked_tensor, masked_tensor

QUICK = settings(max_examples=15, deadline=None, derandomize=True)
SIZES = st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(0, 2**31))
DATA = torch.tensor([[1.0, 2, 3], [4, 5, 6]])
MASK = torch.tensor([[True, False, True], [False, False, True]])


def drawn(rows, columns, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, columns, dtype=torch.float64, generator=generator)
    return x.requires_grad_(), torch.rand(rows, columns, generator=generator) < 0.6


REDUCTIONS = {
    "sum": lambda x: x.sum(), "mean": lambda x: x.mean(), "prod": lambda x: x.prod(), "amax": lambda x: x.amax(),
    "amin": lambda x: x.amin(), "logsumexp": lambda x: x.logsumexp(0), "norm": lambda x: x.norm(),
    "var": lambda x: x.var(correction=0), "median": lambda x: x.median(),
    "argmax": lambda x: x.argmax() * 1.0 + x.sum() * 0, "argmin": lambda x: x.argmin() * 1.0 + x.sum() * 0}


@pytest.mark.parametrize("name", REDUCTIONS)
@given(SIZES)
@QUICK
def test_reductions_are_those_of_the_elements_that_count(name, sizes):
    x, mask = drawn(*sizes)
    options = {"correction": 0} if name == "var" else {"ord": 2.0} if name == "norm" else {}
    ours = getattr(masked, name)(x, dim=1, mask=mask, **options)
    for i in range(len(x)):
        kept = x[i][mask[i]]
        if not len(kept):
            continue
        wanted = REDUCTIONS[name](kept)
        if name.startswith("arg"):
            assert kept[int(wanted)] == x[i][int(ours[i])]
            continue
        torch.testing.assert_close(ours[i], wanted)
        if name == "var" and len(kept) == 1:
            continue
        a, b = [torch.autograd.grad(y, x, retain_graph=True)[0] for y in (ours[i], wanted)]
        torch.testing.assert_close(a, b)


@given(SIZES)
@QUICK
def test_what_keeps_the_shape(sizes):
    x, mask = drawn(*sizes)
    for name, function in (("softmax", lambda y: y.softmax(0)), ("log_softmax", lambda y: y.log_softmax(0)),
                           ("softmin", lambda y: (-y).softmax(0)), ("cumsum", lambda y: y.cumsum(0)),
                           ("cumprod", lambda y: y.cumprod(0))):
        ours = getattr(masked, name)(x, 1, mask=mask)
        for i in range(len(x)):
            torch.testing.assert_close(ours[i][mask[i]], function(x[i][mask[i]]))
    ours = masked.normalize(x, 2.0, 1, mask=mask)
    torch.testing.assert_close((ours * ours).sum(1), mask.any(1).double())


def test_masks_types_and_dimensions():
    assert masked.sum(DATA, 1, mask=MASK[0]).tolist() == [4, 10]
    assert masked.sum(DATA > 2, 0).dtype == torch.int64 and masked.sum(DATA.int(), mask=MASK).dtype == torch.int64
    assert masked.amax(DATA.int(), 0, mask=MASK).tolist() == [1, -2**31, 6]
    assert masked.amin(DATA.int(), 0, mask=MASK).tolist() == [1, 2**31 - 1, 3]
    assert masked.sum(DATA, (0, 1), keepdim=True, mask=MASK).tolist() == [[10]]
    assert masked.sum(DATA, 0, dtype=torch.float64, mask=MASK).dtype == torch.float64
    assert masked.mean(DATA.bfloat16(), 1, mask=MASK).dtype == torch.bfloat16
    assert masked.norm(DATA, -math.inf, 0, mask=MASK).tolist() == [1, math.inf, 3]
    assert masked.mean(DATA, 0, mask=MASK).isnan().tolist() == [False, True, False]
    assert masked.logaddexp(DATA, DATA, input_mask=MASK, other_mask=~MASK).tolist() == DATA.tolist()
    assert masked.std(DATA, 1, mask=MASK)[0] == pytest.approx(math.sqrt(2))
    assert masked.var(DATA, 1, False, mask=MASK).tolist() == [1, 0]
    assert masked.median(DATA.int(), mask=MASK).tolist() == [1, 6]
    mt = masked_tensor(DATA, MASK)
    assert masked.sum(mt, 1).tolist() == [4, 6] and not isinstance(masked.sum(mt, 1), MaskedTensor)
    assert masked.mean(mt, 1).tolist() == [2, 6] and masked.var(mt, 1, correction=0).tolist() == [1, 0]


# ------------------------------------------------------------------ masked tensors
def agree(mt, data, mask):
    assert isinstance(mt, MaskedTensor) and mt.get_mask().tolist() == mask.tolist()
    torch.testing.assert_close(mt.to_tensor(0), data.masked_fill(~mask, 0))


def test_functions_of_each_element_keep_the_mask():
    mt, twice = masked_tensor(DATA, MASK), masked_tensor(DATA * 2, MASK)
    for function in (torch.exp, torch.sqrt, lambda x: x + 1, lambda x: 1 - x, lambda x: x / DATA, lambda x: x ** 2,
                     lambda x: -x, torch.relu, lambda x: x > 2, lambda x: x.clamp(min=2), torch.zeros_like,
                     lambda x: x.double(), lambda x: x.clone(), lambda x: x.detach(), lambda x: x.isnan(),
                     lambda x: torch.maximum(x, 2 * x), torch.nn.functional.gelu):
        agree(function(mt), function(DATA), MASK)
    agree(mt * twice, DATA * DATA * 2, MASK)
    agree(mt == twice, DATA == DATA * 2, MASK)
    mt.add_(1)
    mt *= 2
    agree(mt, (DATA + 1) * 2, MASK)


def test_functions_that_move_elements_move_the_mask():
    mt = masked_tensor(DATA, MASK)
    for function in (lambda x: x[0], lambda x: x[:, 1:], lambda x: x.t(), lambda x: x.reshape(3, 2),
                     lambda x: x[..., 2],
                     lambda x: x.unsqueeze(0), lambda x: x.expand(2, 2, 3), lambda x: torch.cat([x, x]),
                     lambda x: torch.stack([x, x], 1), lambda x: x.permute(1, 0), lambda x: x.flatten(), lambda x: x.T,
                     lambda x: x.split(2, 1)[1], lambda x: x.unbind(1)[2], lambda x: x[MASK], lambda x: x.flip(0)):
        agree(function(mt), function(DATA), function(MASK))


def test_reductions_are_masked_where_nothing_counts():
    mt = masked_tensor(DATA, MASK)
    agree(mt.sum(0), torch.tensor([1.0, 0, 9]), torch.tensor([True, False, True]))
    agree(mt.mean(1, keepdim=True), torch.tensor([[2.0], [6]]), torch.tensor([[True], [True]]))
    assert mt.sum().item() == 10 and mt.amax().item() == 6 and mt.prod().item() == 18 and bool((mt > 0).all())
    assert mt.argmax(1).to_tensor(-1).tolist() == [2, 2] and mt.var().item() == pytest.approx(19 / 3)
    assert mt.norm().item() == pytest.approx(46 ** 0.5) and mt.softmax(0).to_tensor(0)[0, 0] == 1
    assert not masked_tensor(DATA, MASK & False).sum().get_mask()
    assert float(mt[0, 0]) == 1 and int(mt[1, 2]) == 6 and len(mt) == 2 and [len(x) for x in mt] == [3, 3]


def test_text():
    assert str(masked_tensor(DATA, MASK)) == ("MaskedTensor(\n  [\n    [  1.0000,       --,   3.0000],\n"
                                              "    [      --,       --,   6.0000]\n  ]\n)")
    assert str(masked_tensor(DATA, MASK).int()[0]) == "MaskedTensor(\n  [1,       --, 3]\n)"
    assert str(masked_tensor(DATA, MASK)[0, 1]) == "MaskedTensor(--, False)"
    assert str(masked_tensor(DATA, MASK).sum()) == "MaskedTensor( 10.0000, True)"


# ------------------------------------------------------------------ gradients
def test_gradients_are_masked():
    mt = masked_tensor(DATA, MASK, requires_grad=True)
    assert mt.is_leaf and mt.requires_grad
    (mt * mt).sum().backward()
    agree(mt.grad, 2 * DATA, MASK)
    g, = torch.autograd.grad((mt ** 3).sum(), mt, create_graph=True)
    agree(torch.autograd.grad(g.sum(), [mt])[0], 6 * DATA, MASK)
    x = DATA.clone().requires_grad_()
    as_masked_tensor(x, MASK).mean(1).to_tensor(0).sum().backward()
    assert x.grad.tolist() == [[0.5, 0, 0.5], [0, 0, 1]]
    mt.grad = None
    seen = []
    mt.register_hook(lambda g: seen.append(g) or g * 2)
    mt.get_data().sum().backward()
    agree(mt.grad, torch.full((2, 3), 2.0), MASK)
    agree(seen[0], torch.ones(2, 3), MASK)


def test_where_does_not_let_nan_pass():
    """PyTorch's tutorials: a gradient is masked where a `where` has chosen the other side."""
    x = torch.tensor([-10.0, -5, 0, 5, 10, 100])
    below = x < 0
    mx, my = masked_tensor(x, below, requires_grad=True), masked_tensor(torch.ones_like(x), ~below, requires_grad=True)
    y = torch.where(below, torch.exp(mx), my)
    assert y.get_mask().all()
    y.sum().backward()
    agree(mx.grad, x.exp(), below)
    agree(my.grad, torch.ones(6), ~below)
    a = masked_tensor(torch.tensor(0.5), torch.tensor(True), requires_grad=True)
    torch.where(torch.tensor(False), a / 0, torch.ones(())).backward()
    assert str(a.grad) == "MaskedTensor(--, False)"
    a.grad = None
    (a * 2).backward()
    assert str(a.grad) == "MaskedTensor(  2.0000, True)"


def test_copies():
    mt = masked_tensor(DATA, MASK, requires_grad=True)
    for same in (copy.deepcopy(mt), pickle.loads(pickle.dumps(mt))):
        agree(same, DATA, MASK)
        assert same.requires_grad
    data = DATA.clone()
    mt = masked_tensor(data, MASK)
    data.zero_()
    assert mt.sum().item() == 10 and masked.is_masked_tensor(mt) and not masked.is_masked_tensor(data)


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda mt: mt + masked_tensor(DATA, ~MASK), ValueError, "masks must match"),
    (lambda mt: masked_tensor(DATA, MASK.float()), TypeError, "dtype bool"),
    (lambda mt: masked_tensor(DATA, MASK[0]), ValueError, "dim"),
    (lambda mt: masked_tensor(DATA, MASK[:, :2]), ValueError, "size"),
    (lambda mt: masked_tensor([1.0], MASK), TypeError, "data must be a Tensor"),
    (lambda mt: masked_tensor(mt, MASK), TypeError, "data must be a Tensor"),
    (lambda mt: masked_tensor(DATA.bfloat16(), MASK), TypeError, "not supported"),
    (lambda mt: mt @ DATA.t(), TypeError, "matmul"),
    (lambda mt: mt[0, 1].item(), ValueError, "masked out"),
    (lambda mt: mt.numpy(), RuntimeError, "not supported"),
    (lambda mt: torch.add(mt, 1, out=DATA.clone()), TypeError, "out="),
    (lambda mt: DATA.clone().add_(mt), TypeError, "written"),
    (lambda mt: masked.sum(DATA, 2, mask=MASK), IndexError, "out of range"),
    (lambda mt: masked.sum(DATA, (0, 0), mask=MASK), RuntimeError, "multiple times"),
    (lambda mt: masked.sum(DATA, mask=MASK[None]), IndexError, "broadcastable"),
    (lambda mt: masked.mean(DATA.int(), mask=MASK), ValueError, "floating"),
    (lambda mt: masked.amax(DATA > 2, mask=MASK), NotImplementedError, "identity"),
    (lambda mt: masked.median(DATA.int(), 0, mask=MASK), ValueError, "fully masked"),
    (lambda mt: masked.var(DATA, 0, True, correction=0), AssertionError, "Only one"),
    (lambda mt: masked.cumsum(DATA > 2, 0), NotImplementedError, "Bool"),
])
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call(masked_tensor(DATA, MASK))


def test_data_that_requires_grad_is_warned_of():
    with pytest.warns(UserWarning, match="requires_grad"):
        masked_tensor(DATA.clone().requires_grad_(), MASK)


def test_questions_about_the_kind_and_functions_made_of_others():
    """The first are those of any tensor; the second run op by op, and refuse what an op refuses."""
    def is_sorted(input):
        return (input.diff() >= 0).all()

    every = masked_tensor(torch.arange(3.0), torch.tensor([True, True, True]))
    some = masked_tensor(torch.arange(3.0), torch.tensor([True, False, True]))
    assert some.is_floating_point() and not torch.is_complex(some)
    assert is_sorted(every)
    with pytest.raises(ValueError, match="masks must match"):
        is_sorted(some)


# ------------------------------------------------------------------ other transformations
def test_gradients_of_several_uses_count_where_one_does():
    a = masked_tensor(DATA, MASK, requires_grad=True)
    first = torch.tensor([[True, False, False], [True, True, False]])
    (torch.where(first, a, 0.0).sum() + torch.where(first, 0.0, a * 2).sum()).backward()
    agree(a.grad, torch.tensor([[1.0, 0, 2], [0, 0, 2]]), MASK)
    a.grad = None
    for chosen in (first, ~first):
        torch.where(chosen, a, 0.0).sum().backward()
    agree(a.grad, MASK.float(), MASK)
    agree(a, DATA, MASK)


@pytest.mark.parametrize("name", ["mean", "prod", "amax", "var", "std", "logsumexp", "norm", "softmax", "cumprod"])
def test_second_derivatives_are_those_of_the_elements_that_count(name):
    """Also where a formula reads a result: a running product goes on past what does not count."""
    data, mask = drawn(2, 5, 3)
    row = data.detach()[0]
    mt = masked_tensor(row, mask[0], requires_grad=True)
    kept = row[mask[0]].requires_grad_()
    dims = {"softmax": (0,), "cumprod": (0,), "logsumexp": (0,)}.get(name, ())
    found = []
    for x in (mt, kept):
        g, = torch.autograd.grad(getattr(x, name)(*dims).square().sum(), x, create_graph=True)
        found += [g, *torch.autograd.grad((g * g.detach()).sum(), x)]
    torch.testing.assert_close(found[0].get_data()[mask[0]], found[2])
    torch.testing.assert_close(found[1].get_data()[mask[0]], found[3])


def test_masked_tensors_within_transformations():
    mt, weights = masked_tensor(DATA, MASK), torch.arange(3.0)
    agree(torch.vmap(lambda x: x.sum())(mt), torch.tensor([4.0, 6.0]), torch.tensor([True, True]))
    agree(torch.vmap(lambda x: x.exp() * 2)(mt), DATA.exp() * 2, MASK)
    assert torch.vmap(lambda x: (mt * x).sum().to_tensor(0))(weights).tolist() == [0, 10, 20]
    agree(torch.vmap(lambda x: (mt * x).sum())(weights), torch.tensor([0.0, 10, 20]), torch.tensor([True] * 3))
    assert torch.vmap(lambda x, m: as_masked_tensor(x, m).mean().to_tensor(0))(DATA, MASK).tolist() == [2, 6]
    agree(torch.func.grad(lambda x: (x * x).sum())(mt), 2 * DATA, MASK)
    y, tangent = torch.func.jvp(lambda x: (x * x).sum(), (mt,), (mt,))
    assert y.item() == 46 and tangent.item() == 92
    hessian = torch.func.hessian(lambda x: (as_masked_tensor(x, MASK) ** 3).sum().to_tensor(0))(DATA)
    assert hessian.reshape(6, 6).diagonal().tolist() == [6, 0, 18, 0, 0, 36]
    parameter = torch.nn.Parameter(masked_tensor(DATA, MASK))
    assert isinstance(parameter, MaskedTensor)
    (parameter * parameter).sum().backward()
    torch.optim.SGD([parameter], 0.5).step()
    agree(parameter.detach(), DATA * 0, MASK)


def test_masks_of_each_element_of_a_batch_are_its_own():
    double = torch.vmap(lambda x, m: as_masked_tensor(x, m) + as_masked_tensor(x, m.clone()))
    agree(double(DATA, MASK), 2 * DATA, MASK)
    with pytest.raises(ValueError, match="Input masks must match"):
        torch.vmap(lambda x, m: as_masked_tensor(x, m) + as_masked_tensor(x, ~m))(DATA, MASK)


@pytest.mark.parametrize("function", [
    lambda x: (x ** 3).sum(1), lambda x: x.mean(1), lambda x: x.cumprod(1).sum(1), lambda x: x.amax(1),
    lambda x: (x * x).mean(1).to_tensor(7), lambda x: x.logsumexp(1), lambda x: x.softmax(1)])
def test_jacobians_of_masked_tensors(function):
    """In both modes, and in one pass for each result; the columns of masked elements are zero."""
    def plain(y):
        return y.to_tensor(0) if isinstance(y, MaskedTensor) else y
    x = masked_tensor(DATA.double(), MASK, requires_grad=True)
    y = plain(function(x))
    rows = [plain(torch.autograd.grad(e, x, retain_graph=True)[0]) for e in y.reshape(-1)]
    wanted = torch.stack(rows).reshape(*y.shape, *x.shape)
    for jacobian in (torch.func.jacrev, torch.func.jacfwd):
        torch.testing.assert_close(plain(jacobian(function)(x.detach())), wanted)


def test_derived_rules_and_the_ops_without_one():
    mt = masked_tensor(DATA, MASK)
    agree(mt.max(), torch.tensor(6.0), torch.tensor(True))
    agree(mt.tril(), DATA.tril(), MASK.tril())
    agree(mt.count_nonzero(), torch.tensor(3), torch.tensor(True))
    agree((mt > 3).any(1), torch.tensor([False, True]), torch.tensor([True, True]))
    agree(torch.nn.functional.pad(mt, (1, 0)), torch.tensor([[0.0, 1, 2, 3], [0, 4, 5, 6]]),
          torch.tensor([[False, True, False, True], [False, False, False, True]]))
    for call in (lambda: mt.sort(), lambda: mt.median(), lambda: torch.nn.functional.linear(mt, DATA),
                 lambda: torch.nn.functional.embedding(masked_tensor(DATA.int(), MASK), DATA)):
        with pytest.raises(TypeError, match="not supported for MaskedTensors"):
            call()


def test_compiled_functions_of_masked_tensors():
    pytest.importorskip("minitorch.compiler")
    mt = masked_tensor(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([True, False, True]))
    assert torch.compile(lambda x: (x * x).sum())(mt).item() == 10
