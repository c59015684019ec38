"""Cases that bugs planted in the library once survived: each is what no other test saw. See `tests/mutation`."""

import copy
import io
import warnings
import zipfile

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn


# ---- autograd ----------------------------------------------------------------------------------------------
def test_gradients_of_a_sum_do_not_share_memory():
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    (a + b).sum().backward()
    a.grad.mul_(5)
    assert a.grad.tolist() == [5, 5, 5] and b.grad.tolist() == [1, 1, 1]
    c = torch.ones(3, requires_grad=True)
    seed = torch.ones(3)
    (c + 0).backward(seed)
    c.grad.mul_(7)
    assert seed.tolist() == [1, 1, 1]


def test_a_graph_that_saved_a_gradient_is_not_betrayed_by_the_next_one():
    """PyTorch accumulates in place and refuses then; a right answer would do, a wrong one would not."""
    x, w = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    (x * 5).sum().backward()
    y = (x.grad * w).sum()                                 # keeps x.grad, 5
    (x * 10).sum().backward()                              # x.grad is 15 now
    assert x.grad.tolist() == [15]
    try:
        y.backward()
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error)
    else:
        assert w.grad.tolist() == [5]


def test_a_seed_of_another_dtype_becomes_the_results():
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.ones(2, dtype=dtype, requires_grad=True)
        (x * 3).backward(torch.tensor([1.0, 2.0], dtype=torch.float64))
        assert x.grad.dtype is dtype and x.grad.tolist() == [3, 6]


# ---- out= that is an input ---------------------------------------------------------------------------------
@pytest.mark.parametrize("call", [
    lambda x, i: torch.cat([x[:2], x[2:]], out=x), lambda x, i: torch.gather(x, 0, i, out=x),
    lambda x, i: torch.take(x, i, out=x), lambda x, i: torch.index_select(x, 0, i, out=x),
    lambda x, i: torch.stack([x, x], out=x.expand(2, 4)),
], ids=["cat", "gather", "take", "index_select", "stack"])
def test_out_that_is_the_input_is_refused_or_right(call):
    x = torch.arange(4.0)
    expected = {"cat": [0, 1, 2, 3]}
    try:
        found = call(x, torch.tensor([3, 0, 0, 1]))
    except RuntimeError as error:
        assert "memory" in str(error) and x.tolist() == [0, 1, 2, 3]
    else:
        assert found.tolist() in ([3, 0, 0, 1], expected["cat"])


# ---- layers and optimisers ---------------------------------------------------------------------------------
def test_feature_alpha_dropout_rests_in_evaluation():
    layer, x = nn.FeatureAlphaDropout(0.5), torch.ones(4, 3, 2)
    torch.manual_seed(0)
    dropped = layer(x)
    assert (dropped != 1).any() and (dropped == dropped[..., :1]).all()
    state = torch.get_rng_state()
    assert layer.eval()(x).equal(x) and torch.get_rng_state().equal(state)


def test_attention_drops_weights_in_training_only():
    torch.manual_seed(0)
    q = torch.randn(2, 5, 4)
    plain = F.scaled_dot_product_attention(q, q, q)
    assert not F.scaled_dot_product_attention(q, q, q, dropout_p=0.5).allclose(plain)
    layer = nn.MultiheadAttention(4, 2, dropout=0.5, batch_first=True)
    assert not layer(q, q, q)[0].allclose(layer(q, q, q)[0])
    layer.eval()
    assert layer(q, q, q)[0].equal(layer(q, q, q)[0])


def test_loading_leaves_the_callers_state_alone():
    p = nn.Parameter(torch.ones(2))
    one = torch.optim.SGD([p], lr=0.1, momentum=0.9)
    p.grad = torch.ones(2)
    one.step()
    saved = one.state_dict()
    kept = copy.deepcopy(saved)
    q = nn.Parameter(torch.ones(2))
    two = torch.optim.SGD([q], lr=0.7)
    two.load_state_dict(saved)
    two.param_groups[0]["lr"] = 99.0
    two.add_param_group({"params": [nn.Parameter(torch.zeros(1))]})
    q.grad = torch.ones(2)
    two.step()
    assert saved["param_groups"] == kept["param_groups"] and list(saved["state"]) == list(kept["state"])
    assert one.param_groups[0]["lr"] == 0.1


# ---- compiled functions ------------------------------------------------------------------------------------
def test_compiled_functions_tell_strides_apart():
    function = torch.compile(lambda x: x.t().reshape(-1) * 2 + x.stride(0))
    rows = torch.arange(6.0)
    for x in (rows.reshape(2, 3), rows.reshape(3, 2).t(), torch.arange(12.0).reshape(2, 6)[:, ::2]):
        for _ in range(3):
            assert function(x).tolist() == (x.t().reshape(-1) * 2 + x.stride(0)).tolist()


def test_compiled_functions_tell_dict_keys_apart():
    def total(batch):
        found = torch.zeros(2)
        for k, (_name, value) in enumerate(batch.items()):
            found = found + value * (k + 1)
        return found + batch.get("bias", 0)
    compiled = torch.compile(total)
    one, two = torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0])
    for batch in ({"a": one, "b": two}, {"a": one, "bias": two}, {"bias": one, "a": two}, {"a": one}):
        for _ in range(3):
            assert compiled(batch).tolist() == total(batch).tolist()


def test_compiled_copies_are_taken_before_the_source_is_written():
    def program(x):
        y = x * 2
        z = y.clone()
        w = y.contiguous().reshape(-1).clone()
        y.add_(100)
        return z + 1, y, w
    compiled, x = torch.compile(program), torch.arange(4.0)
    for _ in range(3):
        for a, b in zip(compiled(x), program(x)):
            assert a.tolist() == b.tolist()


def test_compiled_functions_do_not_warn_where_eager_ones_do_not():
    compiled = torch.compile(lambda x: (x.exp() / 0).log())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="minitorch")
        for _ in range(3):
            assert compiled(torch.full((3,), 1e3)).tolist() == [float("inf")] * 3


@pytest.mark.parametrize("n", [5, 70_000])
def test_compiled_chains_do_not_reuse_what_is_still_read(n):
    """Long enough for blocks; early values are needed late."""
    def program(x, y):
        a = x * y
        b = a + x
        c = b * a
        d = (c - b).exp().clamp(max=2)
        e = d * a + c
        return e * b + d, a + e, c.sum() + (d * x).sum()
    torch.manual_seed(0)
    x, y = torch.randn(n), torch.randn(n)
    compiled = torch.compile(program)
    for _ in range(3):
        for a, b in zip(compiled(x, y), program(x, y)):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-5, atol=1e-5)
        x = x + 0.25


# ---- files -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shift", range(1, 9))
@pytest.mark.parametrize("mmap", [False, True])
def test_arrays_at_odd_places_in_a_file(tmp_path, shift, mmap):
    """Another writer need not align its storages: entries are moved by a few bytes of padding in the first header."""
    values = {"a": torch.arange(5, dtype=torch.float64), "b": torch.arange(3, dtype=torch.int16)}
    buffer = io.BytesIO()
    torch.save(values, buffer)
    path = tmp_path / "moved.pt"
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(path, "w") as new:
        for entry in old.infolist():
            info = zipfile.ZipInfo(entry.filename)
            info.extra = b"FB" + shift.to_bytes(2, "little") + bytes(shift)
            new.writestr(info, old.read(entry))
    found = torch.load(path, mmap=mmap)
    assert found["a"].tolist() == [0, 1, 2, 3, 4] and found["b"].tolist() == [0, 1, 2]
    assert (found["a"] + 1).tolist() == [1, 2, 3, 4, 5]
    found["a"][0] = 7
    assert found["a"].sum().item() == 17


# ---- found by tests/mutation -------------------------------------------------------------------------------
@pytest.mark.parametrize("size, stride, offset", [((5,), (1,), 0), ((4,), (1,), 1), ((2, 2), (3, 1), 0),
                                                  ((1,), (1,), 4)])
def test_views_stay_inside_their_memory(size, stride, offset):
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 16"):
        torch.arange(4.0).as_strided(size, stride, offset)
    assert torch.arange(4.0).as_strided((2, 2), (2, 1), 0).tolist() == [[0, 1], [2, 3]]
    assert torch.arange(4.0).as_strided((0, 9), (1, 1), 0).shape == (0, 9)


def test_leaves_are_told_apart_in_the_graph():
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    (one, _), (two, _) = (x * y).grad_fn.next_functions
    assert one != two and one != "AccumulateGrad" and (x * x).grad_fn.next_functions[0][0] == one


def test_anomaly_mode_speaks_only_of_what_lies_behind():
    x = torch.zeros(1, requires_grad=True)
    with torch.autograd.detect_anomaly():
        torch.zeros(1, requires_grad=True).log().sum()     # infinite, but elsewhere
        y = (x.sqrt() * 0).sum()
        with pytest.raises(RuntimeError) as error:
            y.backward()
    assert "All values of the forward pass were finite" in str(error.value)


def test_inference_mode_records_nothing_and_can_be_off():
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        assert not (x * 2).requires_grad and torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
    with torch.inference_mode(False):
        assert (x * 2).requires_grad and not torch.is_inference_mode_enabled()
    assert not torch.inference_mode()(lambda: x * 2)().requires_grad and (x * 2).requires_grad
    assert not torch.inference_mode(lambda: x * 2)().requires_grad


def test_functions_of_two_numbers_need_a_tensor():
    for call in (lambda: torch.pow(2.0, 3.0), lambda: torch.exp(1.0), lambda: torch.maximum(1, 2)):
        with pytest.raises(TypeError, match="Tensor"):
            call()


def test_results_of_several_arrays_are_tensors_of_their_dtype():
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        found = torch.tensor([0.1, 0.3], dtype=dtype).tolist()
        assert [type(v) for v in found] == [float, float]
        assert found == [torch.tensor(v, dtype=dtype).item() for v in (0.1, 0.3)]
    assert torch.tensor([0.1], dtype=torch.float64).tolist() == [0.1]
