"""``torch.nested``: a batch of ragged elements computes what its elements compute, gradients included.

The law of most tests: a function of a batch is the same function of each element, in values and in gradients.
"""

import copy
import io
import pickle

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import minitorch as torch
from minitorch import nn
from minitorch.nested import nested_tensor_from_jagged
from minitorch.nn import functional as F
from minitorch.serialization.tensors import rebuild_jagged
from minitorch.utils.checkpoint import checkpoint

QUICK = settings(max_examples=12, deadline=None, derandomize=True)
LENGTHS = st.lists(st.integers(0, 4), min_size=1, max_size=4)
FILLED = st.lists(st.integers(1, 4), min_size=1, max_size=4)


def elements(lengths, *sizes, ragged=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(sum(lengths) + 7 * len(lengths))
    shapes = [[*sizes[:ragged], n, *sizes[ragged:]] for n in lengths]
    return [torch.randn(s, dtype=dtype, generator=generator).requires_grad_() for s in shapes]


def jagged(found):
    return torch.nested.as_nested_tensor(found, layout=torch.jagged)


def two():
    return torch.nested.nested_tensor([torch.arange(8.).view(2, 4), torch.arange(12.).view(3, 4)], layout=torch.jagged)


def agree(found, whole, each, *others):
    """`whole` of the batch is `each` of its elements: values, and gradients weighted by position."""
    inputs = [*found, *others]
    ours, theirs = whole, each
    ours = list(ours.unbind()) if isinstance(ours, torch.Tensor) else ours
    assert [tuple(x.shape) for x in ours] == [tuple(x.shape) for x in theirs]
    grads = []
    for results in (ours, theirs):
        loss = sum((x * torch.arange(1., x.numel() + 1).view(x.shape)).sum() for x in results)
        grads.append(torch.autograd.grad(loss, inputs, allow_unused=True, materialize_grads=True))
    for a, b in [*zip(ours, theirs, strict=True), *zip(*grads, strict=True)]:
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


# ------------------------------------------------------------------ functions of each element
POINTWISE = {
    "arithmetic": lambda x: (2 * x - 1) / (x * x + 1) ** 0.5, "floor": lambda x: x.floor() + x // 2,
    "activations": lambda x: F.gelu(x) + F.silu(x) + F.relu(x) + F.leaky_relu(x) + F.elu(x) + F.softplus(x),
    "where": lambda x: torch.where(x > 0, x, 0.5), "masked_fill": lambda x: x.masked_fill(x > 0, 1.0),
    "clamp": lambda x: x.clamp(-0.5, 0.5).exp(), "compared": lambda x: (x > 0) * x,
    "ternary": lambda x: torch.addcmul(x, x, x, value=2).lerp(x, 0.3), "dtype": lambda x: x.float().double(),
    "no dropout": lambda x: F.dropout(x, 0.0), "max of two": lambda x: torch.max(x, -x),
}
ALONG = {
    "softmax": lambda x: x.softmax(-1), "log_softmax": lambda x: F.log_softmax(x, -1), "cumsum": lambda x: x.cumsum(-1),
    "sum": lambda x: x.sum(-1), "sum, kept": lambda x: x.sum(-1, keepdim=True), "mean": lambda x: x.mean(-1),
    "amax": lambda x: x.amax(-1), "max": lambda x: x.max(-1).values, "std": lambda x: x.std(-1),
    "layer_norm": lambda x: F.layer_norm(x, (4,)), "rms_norm": lambda x: F.rms_norm(x, (4,)),
    "normalize": lambda x: F.normalize(x, dim=-1), "glu": lambda x: F.glu(x, -1), "sort": lambda x: x.sort(-1)[0],
    "narrow": lambda x: x.narrow(-1, 1, 2), "index": lambda x: x[..., 1:3], "one place": lambda x: x[..., 2],
    "cat": lambda x: torch.cat([x, x * 2], -1), "stack": lambda x: torch.stack([x, x * 2], -1),
    "split": lambda x: x.split([1, 3], -1)[1], "chunk": lambda x: x.chunk(2, -1)[0],
    "unsqueeze": lambda x: x.unsqueeze(-1) * x.unsqueeze(-1), "transpose": lambda x: x.transpose(-1, -2) * 2,
    "there and back": lambda x: x.unflatten(-1, (2, 2)).transpose(-2, -1).flatten(-2),
}


@pytest.mark.parametrize("name", POINTWISE | ALONG)
@given(LENGTHS)
@QUICK
def test_a_batch_computes_what_its_elements_do(name, lengths):
    function = (POINTWISE | ALONG)[name]
    found = elements(lengths, 4)
    agree(found, function(jagged(found)), [function(x) for x in found])


@pytest.mark.parametrize("name", POINTWISE)
def test_elementwise_functions_know_no_dimensions(name):
    found = elements([2, 3], 4, 2, ragged=1)
    batch = jagged(found)
    assert batch._ragged_idx == 2
    agree(found, POINTWISE[name](batch), [POINTWISE[name](x) for x in found])


REDUCED = {
    "sum": lambda x, d: x.sum(d), "mean": lambda x, d: x.mean(d), "prod": lambda x, d: x.prod(d),
    "amax": lambda x, d: x.amax(d), "amin": lambda x, d: x.amin(d), "max": lambda x, d: x.max(d)[0],
    "logsumexp": lambda x, d: x.logsumexp(d), "kept": lambda x, d: x.sum(d, keepdim=True),
    "argmax": lambda x, d: x.argmax(d) * 1.0 + x.sum(d) * 0, "any": lambda x, d: (x > 0).any(d) * x.sum(d),
    "all": lambda x, d: (x > -1).all(d) * x.sum(d),
    "softmax": lambda x, d: x.softmax(d), "log_softmax": lambda x, d: x.log_softmax(d),
    "cumsum": lambda x, d: x.cumsum(d), "cumprod": lambda x, d: x.cumprod(d)}


@pytest.mark.parametrize("name", REDUCED)
@given(FILLED, st.booleans())
@QUICK
def test_along_the_ragged_dimension(name, lengths, transposed):
    found = elements(lengths, 3, ragged=int(transposed))
    batch = jagged(found)
    dim = batch._ragged_idx
    agree(found, REDUCED[name](batch, dim), [REDUCED[name](x, dim - 1) for x in found])


def test_over_all_elements_or_the_batch_and_the_ragged_dimension():
    found = elements([2, 0, 3], 4)
    whole = torch.cat(found)
    batch = jagged(found)
    assert batch.sum().item() == pytest.approx(whole.sum().item())
    torch.testing.assert_close(batch.mean((0, 1)), whole.mean(0))
    torch.testing.assert_close(batch.amax((0, 1), keepdim=True), whole.amax(0)[None, None])
    assert batch.max() == whole.max() and not (batch > 100).any()


# ------------------------------------------------------------------ with dense tensors
@given(LENGTHS)
@QUICK
def test_linear_maps_and_dense_operands(lengths):
    found = elements(lengths, 4)
    batch, n = jagged(found), len(lengths)
    generator = torch.Generator().manual_seed(1)
    w, b = [torch.randn(s, dtype=torch.float64, generator=generator, requires_grad=True) for s in ((3, 4), (3,))]
    rows = torch.randn(n, 1, 4, dtype=torch.float64, generator=generator, requires_grad=True)
    matrices = torch.randn(n, 4, 2, dtype=torch.float64, generator=generator, requires_grad=True)
    padded = torch.randn(n, 5, 4, dtype=torch.float64, generator=generator, requires_grad=True)
    agree(found, F.linear(batch, w, b), [F.linear(x, w, b) for x in found], w, b)
    agree(found, batch @ w.t(), [x @ w.t() for x in found], w)
    agree(found, batch + w[0], [x + w[0] for x in found], w)
    agree(found, rows * batch, [rows[i] * x for i, x in enumerate(found)], rows)
    agree(found, batch @ matrices, [x @ matrices[i] for i, x in enumerate(found)], matrices)
    agree(found, batch - padded, [x - padded[i, :len(x)] for i, x in enumerate(found)], padded)
    agree(found, batch.transpose(1, 2) @ batch, [x.t() @ x for x in found])
    agree(found, batch - batch.sum(1, keepdim=True), [x - x.sum(0, keepdim=True) for x in found])


@given(FILLED, st.booleans())
@QUICK
def test_attention_is_that_of_each_element(lengths, causal):
    found = elements(lengths, 6)

    def heads(x):
        return F.scaled_dot_product_attention(*[part.unflatten(-1, (2, 1)).transpose(-2, -3)
                                                for part in x.chunk(3, -1)], is_causal=causal).transpose(-2, -3)
    agree(found, heads(jagged(found)).flatten(-2), [heads(x).flatten(-2) for x in found])


def test_attention_to_another_batch_and_to_nothing():
    q, k = jagged(elements([2, 3], 1, 4)), jagged(elements([0, 4], 1, 4))
    q, k = q.transpose(1, 2), k.transpose(1, 2)
    out = F.scaled_dot_product_attention(q, k, k).unbind()
    assert [tuple(x.shape) for x in out] == [(1, 2, 4), (1, 3, 4)] and not out[0].any() and out[1].isfinite().all()


@given(LENGTHS, st.integers(0, 2))
@QUICK
def test_padding_and_its_gradient(lengths, more):
    found = elements(lengths, 2)
    longest = max(lengths) + more
    dense = torch.nested.to_padded_tensor(jagged(found), -1.0, (len(found), longest, 2))
    filled = [F.pad(x, (0, 0, 0, longest - len(x)), value=-1.0) for x in found]
    agree(found, list(dense.unbind()), filled)


# ------------------------------------------------------------------ what a batch is
def test_shape_and_its_symbol():
    nt = two()
    assert nt.dim() == 3 and nt.size(0) == 2 and nt.size(-1) == 4 and nt.numel() == 20 and len(nt) == 2
    ragged = nt.shape[1]
    assert isinstance(ragged, torch.SymInt) and str(nt.shape) == f"torch.Size([2, {ragged}, 4])"
    assert ragged == (nt * 2).shape[1] and ragged != two().shape[1] and ragged != 3 and nt.shape == nt.clone().shape
    assert ragged >= 2 and ragged > 1 and not ragged < 0 and str(nt.stride()) == f"(4*{ragged}, 4, 1)"
    assert tuple(nt.shape[1:]) == (ragged, 4) and {ragged: 1}[nt.size(1)] == 1
    with pytest.raises(ValueError, match="indeterminate"):
        bool(ragged < 5)
    with pytest.raises(TypeError, match="not a number"):
        int(ragged)
    assert nt.view(2, ragged, 2, 2).shape == nt.unflatten(-1, (2, 2)).shape == nt.reshape(2, -1, 2, 2).shape
    assert nt.is_nested and nt.layout == torch.jagged and not torch.ones(1).is_nested and nt.layout != torch.strided
    assert str(nt) == f"NestedTensor(size=(2, {ragged}, 4), offsets=tensor([0, 2, 5]), contiguous=True)"
    assert f"{nt}" == repr(nt)


def test_elements_are_views_of_the_values():
    nt = two()
    nt[1][0, 0] = 100.0
    nt[0] = 7.0
    assert nt.values()[2, 0] == 100 and nt.values()[0, 3] == 7 and [len(x) for x in nt] == [2, 3]
    nt[..., 1] = 0.0
    assert not nt.values()[:, 1].any() and nt[-1].shape == (3, 4)
    nt += 1
    nt.mul_(2)
    assert nt.values()[0, 0] == 16 and nt._version == 5
    with pytest.raises(IndexError):
        nt[2]


def test_holes():
    values = torch.arange(12.).view(6, 2).requires_grad_()
    nt = nested_tensor_from_jagged(values, torch.tensor([0, 3, 6]), torch.tensor([1, 2]))
    assert nt.lengths().tolist() == [1, 2] and not nt.is_contiguous() and nt.numel() == 6
    torch.testing.assert_close((nt * 2).sum(1), torch.stack([values[:1].sum(0), values[3:5].sum(0)]) * 2)
    assert nt.contiguous().offsets().tolist() == [0, 1, 3] and nt.contiguous().is_contiguous()
    nt.to_padded_tensor(0.0).sum().backward()
    assert values.grad[:, 0].tolist() == [1, 0, 0, 1, 1, 0]
    whole = torch.arange(12.).view(2, 6)
    part = torch.nested.narrow(whole, 1, torch.tensor([1, 3]), torch.tensor([2, 3]), layout=torch.jagged)
    assert [x.tolist() for x in part] == [[1, 2], [9, 10, 11]]
    assert part.values().data_ptr() == whole.data_ptr()


def test_made_from_tensors_lists_and_masks():
    x = torch.arange(6.).view(2, 3).requires_grad_()
    assert [y.tolist() for y in torch.nested.as_nested_tensor(x, layout=torch.jagged)] == x.tolist()
    selected = torch.nested.masked_select(x, x > 1)
    assert [y.tolist() for y in selected] == [[2], [3, 4, 5]]
    selected.sum().backward()
    assert x.grad.tolist() == [[0, 0, 1], [1, 1, 1]]
    nt = torch.nested.nested_tensor([[1, 2], [3]], layout=torch.jagged)
    assert nt.dtype == torch.int64 and nt.sum(1).tolist() == [3, 3] and nt.amax(1).tolist() == [2, 3]
    for y in (nt, nt > 1):                                 # PyTorch's, too: sums by counts
        assert y.mean(1).dtype == torch.float32
        assert y.mean(1).tolist() == [e.float().mean(0).item() for e in y.unbind()]
    assert nested_tensor_from_jagged(torch.ones(3), lengths=torch.tensor([1, 2])).offsets().tolist() == [0, 1, 3]
    columns = nested_tensor_from_jagged(torch.ones(2, 5), torch.tensor([0, 2, 5]), jagged_dim=2)
    assert columns.sum(2).tolist() == [[2, 2], [3, 3]]


# ------------------------------------------------------------------ the graph
def test_a_leaf_has_a_nested_gradient():
    nt = two().requires_grad_()
    assert nt.is_leaf and nt.grad is None and nt.requires_grad
    seen = []
    handle = nt.register_hook(lambda g: seen.append(g) or g * 3)
    (nt * nt).sum().backward()
    assert nt.grad.is_nested and nt.grad.shape == nt.shape and seen[0].shape == nt.shape
    torch.testing.assert_close(nt.grad.values(), 6 * nt.values())
    handle.remove()
    out = nt * 2
    out.backward(torch.ones_like(out))
    g, = torch.autograd.grad((nt ** 3).sum(), nt, create_graph=True)
    gg, = torch.autograd.grad(g.sum(), [nt])
    torch.testing.assert_close(gg.values(), 6 * nt.values())
    assert not out.is_leaf and "MulBackward0" in str(out.grad_fn) and not (out.detach() + 1).requires_grad
    with torch.no_grad():
        assert not (nt * 2).requires_grad
    nt.grad = None
    assert nt.grad is None
    with pytest.raises(TypeError):
        nt.grad = torch.ones(2)


def test_training_with_checkpoints_autocast_and_compile():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(9, 8), nn.Linear(8, 8), nn.ReLU(), nn.LayerNorm(8), nn.Dropout(0.0),
                          nn.Linear(8, 1))
    tokens = torch.nested.nested_tensor([[1, 2, 3], [4], [5, 6]], layout=torch.jagged)
    step = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(5):
        loss = ((model(tokens).mean(1) - 1) ** 2).mean()
        step.zero_grad()
        loss.backward()
        step.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    nt = two().requires_grad_()
    layer = nn.Linear(4, 3)
    checkpoint(lambda x: layer(x).relu(), nt, use_reentrant=False).sum().backward()
    again, = torch.autograd.grad(layer(nt).relu().sum(), nt)
    torch.testing.assert_close(nt.grad.values(), again.values())
    with torch.autocast("cpu"):
        assert layer(nt).dtype == torch.bfloat16
    fresh = two().requires_grad_()
    with torch.inference_mode():
        fresh.softmax(1)
    fresh.softmax(1).sum().backward()                      # what was found out in inference mode is not kept
    half = nt.bfloat16() * 2
    assert half.dtype == torch.bfloat16 and half.sum(1).dtype == torch.bfloat16


def test_vmap_and_forward_mode_within_the_values():
    offsets = torch.tensor([0, 2, 5])

    def sums(values):
        return nested_tensor_from_jagged(values, offsets).square().sum(1)
    x, t = torch.randn(5, 2), torch.randn(5, 2)
    _, tangent = torch.func.jvp(sums, (x,), (t,))
    torch.testing.assert_close(tangent, sums(x) * 0 + nested_tensor_from_jagged(2 * x * t, offsets).sum(1))
    assert torch.func.grad(lambda v: sums(v).sum())(x).shape == (5, 2)
    w, batch = torch.randn(3, 2), torch.randn(4, 5, 2)

    def mapped(values):
        return F.linear(nested_tensor_from_jagged(values, offsets), w).softmax(1).values()
    torch.testing.assert_close(torch.vmap(mapped)(batch), torch.stack([mapped(v) for v in batch]))


CUBES = {"jagged": lambda: two() + 1, "strided": lambda: torch.nested.nested_tensor(
    [torch.arange(1., 5.).view(2, 2), torch.arange(1., 4.)[None]])}


@pytest.mark.parametrize("layout", CUBES)
def test_transforms_take_and_return_nested_tensors(layout):
    nt = CUBES[layout]()
    direction = nt * 0.5
    _, tangent = torch.func.jvp(lambda x: x * x * x, (nt,), (direction,))
    gradient = torch.func.grad(lambda x: (x * x * x).sum())(nt)
    second = torch.func.grad(lambda x: torch.func.grad(lambda y: (y * y * y).sum())(x).sum())(nt)
    _, pull = torch.func.vjp(lambda x: x * x * x, nt)
    _, mixed = torch.func.jvp(torch.func.grad(lambda x: (x * x * x).sum()), (nt,), (direction,))
    for found, wanted in ((tangent, nt * nt * direction * 3), (gradient, nt * nt * 3),
                          (second, nt * 6), (pull(direction)[0], nt * nt * direction * 3),
                          (mixed, nt * direction * 6)):
        assert type(found) is type(nt) and found.is_like(nt)
        torch.testing.assert_close(found.values(), wanted.values())
    with pytest.raises(RuntimeError, match="vmap: a nested tensor cannot go into a batch"):
        torch.vmap(lambda x: x * 2)(nt)


@pytest.mark.parametrize("view", [lambda nt: nt.transpose(1, 2), lambda nt: nt.unbind()[0],
                                  lambda nt: nt[1], lambda nt: nt.values()])
def test_a_write_to_a_view_never_changes_gradients_unseen(view):
    leaf = two().requires_grad_()
    before = leaf.values().detach().clone()
    for nt in (leaf, leaf * 2):
        with pytest.raises(RuntimeError, match="view"):
            view(nt).mul_(3)
    assert torch.equal(leaf.values(), before)
    whole = leaf * 2
    whole[0] = 7.0
    whole.mul_(3)
    whole.sum().backward()
    assert [x.unique().tolist() for x in leaf.grad] == [[0], [6]]
    with torch.no_grad():
        view(leaf).mul_(3)
    assert not torch.equal(leaf.values(), before)


def test_dropout_and_random_likes():
    nt = two() + 1
    torch.manual_seed(0)
    dropped = F.dropout(nt, 0.5)
    kept = dropped.values() != 0
    torch.testing.assert_close(dropped.values()[kept], 2 * nt.values()[kept])
    assert 0 < kept.sum() < 20 and torch.rand_like(nt).shape == nt.shape and not torch.zeros_like(nt).any()


# ------------------------------------------------------------------ copies, files, errors
def test_copies_and_files():
    nt = two().requires_grad_()
    buffer = io.BytesIO()
    torch.save(nt, buffer)
    buffer.seek(0)
    strided = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 2)])
    for same in (copy.deepcopy(nt), pickle.loads(pickle.dumps(nt)), torch.load(buffer), nt.clone(), nt.cpu()):
        assert torch.equal(same, nt) and same.requires_grad
    assert torch.equal(pickle.loads(pickle.dumps(strided)), strided) and copy.deepcopy(nt).shape == nt.shape
    holes = nested_tensor_from_jagged(torch.arange(6.), torch.tensor([0, 3, 6]), torch.tensor([1, 2]))
    buffer = io.BytesIO()
    torch.save([strided, holes, holes.detach(), nt.transpose(1, 2)], buffer)
    buffer.seek(0)
    found = torch.load(buffer)
    assert torch.equal(found[0], strided) and [x.tolist() for x in found[1]] == [[0], [3, 4]]
    assert found[3].size(1) == 4 and found[1].shape == found[2].shape     # of the same lengths


@pytest.mark.parametrize("parts", [
    None, {}, {"values": 1, "offsets": 2}, {"values": torch.ones(3), "offsets": torch.tensor([0, 7])},
    {"values": torch.ones(3), "offsets": torch.tensor([0, 2, 1])}, {"values": torch.ones(3), "offsets": torch.ones(2)},
    {"values": torch.ones(3), "offsets": torch.tensor([0, 1]), "lengths": torch.tensor([4])},
    {"values": torch.ones(3), "offsets": torch.tensor([0, 1]), "_ragged_idx": 3},
    {"values": torch.ones(3), "offsets": torch.tensor([0, 1]), "requires_grad": "yes"},
])
def test_damaged_files(parts):
    with pytest.raises((RuntimeError, AssertionError, ValueError)):
        rebuild_jagged(parts)


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda nt: nt + two(), RuntimeError, "offsets"),
    (lambda nt: nt.sum(0), RuntimeError, "batch dimension"),
    (lambda nt: nt.softmax(0), RuntimeError, "batch dimension"),
    (lambda nt: nt.flatten(1, 2), RuntimeError, "ragged"),
    (lambda nt: torch.cat([nt, nt], 1), RuntimeError, "ragged dim"),
    (lambda nt: torch.cat([nt, nt]), RuntimeError, "dim=0"),
    (lambda nt: nt.transpose(0, 1), ValueError, "batch"),
    (lambda nt: nt.view(10, 2), RuntimeError, "cannot view"),
    (lambda nt: nt[:, 0], RuntimeError, "not supported"),
    (lambda nt: nt @ nt.transpose(1, 2), RuntimeError, "matmul"),
    (lambda nt: nt + torch.ones(3, 1, 4), RuntimeError, "cannot call"),
    (lambda nt: torch.linalg.inv(nt), NotImplementedError, "inv"),
    (lambda nt: F.conv1d(nt, torch.ones(2, 4, 1)), RuntimeError, r"conv1d.*expected input.2, j"),
    (lambda nt: torch.add(nt, 1, out=torch.ones(2)), NotImplementedError, "out="),
    (lambda nt: torch.ones(2, 4).add_(nt), RuntimeError, "dense"),
    (lambda nt: bool(nt), RuntimeError, "ambiguous"),
    (lambda nt: nt.numpy(), RuntimeError, "not supported"),
    (lambda nt: F.layer_norm(nt, (3, 4)), ValueError, "ragged"),
    (lambda nt: nt.to_padded_tensor(0.0, (2, 2, 4)), RuntimeError, "output_size"),
    (lambda nt: F.scaled_dot_product_attention(nt, nt, nt, attn_mask=torch.ones(1)), ValueError, "Masks"),
    (lambda nt: F.scaled_dot_product_attention(*[nt.transpose(1, 2)] * 3), ValueError, "transpose"),
    (lambda nt: torch.nested.nested_tensor([], layout=torch.jagged), RuntimeError, "empty"),
    (lambda nt: torch.nested.nested_tensor([]).to_padded_tensor(0.0), RuntimeError, "empty"),
    (lambda nt: torch.nested.nested_tensor(torch.ones(2)), TypeError, "must be a list"),
    (lambda nt: torch.nested.nested_tensor([torch.ones(2), torch.ones(2, 2)]), RuntimeError, "same dim"),
    (lambda nt: torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(3, 2)], layout=torch.jagged), RuntimeError,
     "single ragged"),
    (lambda nt: torch.nested.as_nested_tensor(torch.ones(2)), RuntimeError, "dim"),
    (lambda nt: nested_tensor_from_jagged(torch.ones(2)), RuntimeError, "At least one"),
    (lambda nt: nested_tensor_from_jagged(torch.ones(2), torch.tensor([0, 2]), jagged_dim=0), ValueError, "jagged_dim"),
    (lambda nt: torch.nested.narrow(torch.ones(2, 3), 1, 2, 2, layout=torch.jagged), RuntimeError, "do not lie"),
    (lambda nt: torch.nested.to_padded_tensor(torch.ones(2), 0.0), RuntimeError, "nested"),
])
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call(two())


# ------------------------------------------------------------------ the strided layout
def test_strided_batches():
    found = [torch.randn(2, 4, requires_grad=True), torch.randn(3, 4, requires_grad=True)]
    nt = torch.nested.as_nested_tensor(found)
    layer = nn.Linear(4, 2)
    for function in (lambda x: x * 2 + x, layer, lambda x: x.softmax(-1), lambda x: x @ x.transpose(-1, -2),
                     lambda x: F.relu(x).sum(-1, keepdim=True), lambda x: F.layer_norm(x, (4,)),
                     lambda x: x.chunk(2, -1)[1], lambda x: x.unsqueeze(-1)):
        agree(found, function(nt), [function(x) for x in found])
    agree(found, list(nt.to_padded_tensor(0.0)), [F.pad(x, (0, 0, 0, 3 - len(x))) for x in found])
    assert nt.is_nested and nt.layout == torch.strided and nt.size(0) == 2 and nt.size(2) == 4 and nt.dim() == 3
    assert nt.reshape(2, -1, 2, 2)[1].shape == (3, 2, 2) and nt[0].shape == (2, 4)
    with pytest.raises(RuntimeError, match="irregular"):
        nt.size(1)
    assert str(torch.nested.nested_tensor([torch.ones(1), torch.zeros(2)])) == (
        "nested_tensor([\n  tensor([1.]),\n  tensor([0., 0.])\n])")
    leaf = torch.nested.nested_tensor(found, requires_grad=True)
    leaf.sum().backward()
    assert [x.sum().item() for x in leaf.grad] == [8, 12]
    images = [torch.randn(3, 4, 5), torch.randn(3, 2, 6)]
    assert torch.nested.nested_tensor(images).to_padded_tensor(0.0).shape == (2, 3, 4, 6)


@pytest.mark.parametrize("layout", [torch.jagged, torch.strided])
def test_names_of_parameters_and_files_say_nothing(layout):
    """Only what a definition or a rule says: this one takes `dim` for a factor."""
    def scaled(input, dim):
        return input * dim

    nt = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=layout)
    scaled.__module__ = "minitorch.ops.elementwise.arithmetic"
    with pytest.raises(NotImplementedError, match=r"scaled\(\) is not supported"):
        nt.answer(scaled, scaled, (nt, 2), {})


def test_an_attribute_that_is_not_there():
    """Also where another class of tensors (`masked`) has given Tensor a way to its attributes."""
    masked = pytest.importorskip("minitorch.masked")
    assert masked.masked_tensor(torch.ones(2), torch.tensor([True, False])).get_mask().sum() == 1
    nt = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)
    assert not hasattr(nt, "get_mask") and not hasattr(torch.ones(2), "get_mask")


class Product(torch.autograd.Function):
    """The product of a nested tensor and a dense one, whose gradients are nested calls."""

    @staticmethod
    def forward(ctx, nt, w):
        ctx.save_for_backward(nt, w)
        return nt * w

    @staticmethod
    def backward(ctx, g):
        nt, w = ctx.saved_tensors
        return g * w, (g * nt).values().sum(0)


def test_nested_calls_inside_a_backward_pass():
    """Which switches overrides off: in functions, in hooks of leaves, of nodes and of modules."""
    nt, w = two().requires_grad_(), torch.arange(1., two().size(-1) + 1).requires_grad_()
    wanted = torch.autograd.grad((nt * w * 2).values().sum(), (nt, w))
    (Product.apply(nt, w) * 2).values().sum().backward()
    assert torch.equal(nt.grad, wanted[0]) and torch.equal(w.grad, wanted[1])

    seen, layer = [], torch.nn.Linear(nt.size(-1), 2)
    nt.register_post_accumulate_grad_hook(lambda x: seen.append(x.grad.clone()))
    w.register_hook(lambda g: seen.append(two() * g))
    layer.register_full_backward_hook(lambda module, before, after: seen.extend([after[0] * 2]))
    product = nt * w
    product.grad_fn.register_prehook(lambda gs: (gs[0] * 3,))
    nt.grad = None
    layer(product).values().sum().backward()
    assert [x.is_nested for x in seen] == [True, True, True] and nt.grad.is_nested
    row = layer.weight.sum(0) * 3
    torch.testing.assert_close(nt.grad.values(), (w * row).expand_as(nt.values()))


@pytest.mark.parametrize("layout", [torch.jagged, torch.strided])
@pytest.mark.parametrize("make", [
    lambda ps: torch.optim.SGD(ps, 0.1, momentum=0.9, weight_decay=0.1),
    lambda ps: torch.optim.AdamW(ps, 0.1)])
def test_optimisers_update_nested_leaves(make, layout):
    """As they update the elements, and with a state that can be loaded again."""
    elements = [torch.randn(2, 3), torch.randn(4, 3)]
    nt = torch.nested.nested_tensor(elements, layout=layout, requires_grad=True)
    leaves, w = [x.clone().requires_grad_() for x in elements], torch.ones(3, requires_grad=True)
    v = w.detach().clone().requires_grad_()
    one, other = make([nt, w]), make([*leaves, v])
    for step in range(4):
        for optimizer, loss in ((one, ((nt * w) ** 2).sum()),
                                (other, sum([((x * v) ** 2).sum() for x in leaves]))):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if step == 1:
            saved, one = one.state_dict(), make([nt, w])
            one.load_state_dict(saved)
    for x, y in zip([*nt.unbind(), w], [*leaves, v], strict=True):
        torch.testing.assert_close(x, y)
    assert all([x.is_nested for name, x in one.state[nt].items() if name != "step"])


@pytest.mark.parametrize("layout", [torch.jagged, torch.strided])
def test_anomaly_mode_names_the_call_that_made_a_nan(layout):
    nt = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=layout,
                                    requires_grad=True)
    with torch.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="9 NaN of 9 elements"):
        (nt * float("nan")).sum().backward()


def test_a_file_keeps_that_a_leaf_needs_gradients():
    for layout in (torch.jagged, torch.strided):
        for needs in (True, False):
            leaf = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=layout,
                                              requires_grad=needs)
            found = pickle.loads(pickle.dumps(leaf))
            assert found.requires_grad is needs and found.is_leaf
