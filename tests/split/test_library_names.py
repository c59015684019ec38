"""Names and behaviours that libraries built on PyTorch need: 8-bit floats, functions of lists, scans, storages."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch import nn

ml_dtypes = pytest.importorskip("ml_dtypes")
EIGHT = [getattr(torch, f"float8_{name}") for name in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0fnu")]


# ---- 8-bit floats ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", EIGHT)
def test_eight_bits_are_kept_cast_and_moved(dtype):
    x = torch.tensor([1.0, 2.0, 0.5, 4.0]).to(dtype)
    assert x.dtype is dtype and dtype.itemsize == 1 and dtype.is_floating_point and str(dtype) == f"torch.{dtype.name}"
    assert x.tolist() == [1.0, 2.0, 0.5, 4.0] and x[1].item() == 2.0
    assert torch.equal(torch.cat([x[2:], x[:2]]).float(), torch.tensor([0.5, 4.0, 1.0, 2.0]))
    assert torch.equal(x.view(torch.uint8).view(dtype).float(), x.float())
    assert (x == x).all() and x.reshape(2, 2).T.tolist() == [[1.0, 0.5], [2.0, 4.0]]
    assert torch.finfo(dtype).bits == 8


def test_eight_bits_are_not_computed_with():
    x = torch.ones(2).to(torch.float8_e4m3fn)
    for call in (lambda: x + x, lambda: x + 1, x.sum, x.exp, x.relu, lambda: x.softmax(0), x.max):
        with pytest.raises(NotImplementedError, match="Float8_e4m3fn.*float"):
            call()
    with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
        x + torch.ones(2)
    assert torch.promote_types(x.dtype, x.dtype) is x.dtype


def test_eight_bits_have_gradients_through_casts():
    x = torch.ones(3, requires_grad=True)
    (x.to(torch.float8_e5m2).float() * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_values_beyond_e4m3fn_become_its_largest():
    x = torch.tensor([1e9, -1e9, 460.0, float("inf"), float("nan")])
    for wide in (x, x.double(), x.bfloat16()):
        assert wide.to(torch.float8_e4m3fn).float().tolist()[:4] == [448.0, -448.0, 448.0, 448.0]
        assert wide.to(torch.float8_e4m3fn).isnan().tolist() == [False] * 4 + [True]


@pytest.mark.parametrize("dtype", EIGHT)
def test_eight_bits_are_saved(dtype):
    file = io.BytesIO()
    torch.save({"x": torch.tensor([1.0, 2.0]).to(dtype), "dtype": dtype}, file)
    file.seek(0)
    read = torch.load(file)
    assert read["x"].dtype is dtype is read["dtype"] and read["x"].tolist() == [1.0, 2.0]


# ---- functions of lists ------------------------------------------------------------------------------------------
@settings(max_examples=20, derandomize=True, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.sampled_from(["add", "sub", "mul", "div", "maximum"]))
def test_functions_of_lists_are_those_of_each(sizes, name):
    xs, ys = [torch.arange(1.0, n + 1) for n in sizes], [torch.full((n,), 2.0) for n in sizes]
    expected = [getattr(torch, name)(x, y) for x, y in zip(xs, ys)]
    assert all(map(torch.equal, getattr(torch, f"_foreach_{name}")(xs, ys), expected))
    assert getattr(torch, f"_foreach_{name}_")(xs, ys) is None and all(map(torch.equal, xs, expected))


def test_functions_of_lists_take_numbers_and_lists_of_them():
    xs = [torch.ones(2), torch.full((3,), 2.0)]
    assert [x.tolist() for x in torch._foreach_mul(xs, 3)] == [[3.0] * 2, [6.0] * 3]
    assert [x.tolist() for x in torch._foreach_add(xs, [1.0, 2.0])] == [[2.0] * 2, [4.0] * 3]
    assert [x.tolist() for x in torch._foreach_add(xs, xs, alpha=2)] == [[3.0] * 2, [6.0] * 3]
    assert [x.item() for x in torch._foreach_norm(xs, 1)] == [2.0, 6.0]
    assert [x.tolist() for x in torch._foreach_addcdiv(xs, xs, xs, torch.tensor([1.0, 2.0]))] == [[2.0] * 2, [4.0] * 3]
    torch._foreach_addcmul_(xs, xs, xs, -1.0)
    torch._foreach_lerp_(xs, [torch.ones(2), torch.ones(3)], 0.5)
    assert [x.tolist() for x in xs] == [[0.5] * 2, [-0.5] * 3]
    torch._foreach_zero_(xs)
    assert not torch.cat(xs).any() and [x.item() for x in torch._foreach_pow(2.0, [torch.tensor(3.0)])] == [8.0]
    with pytest.raises(RuntimeError, match="same number of tensors, got 2 and 1"):
        torch._foreach_add(xs, [torch.ones(2)])
    with pytest.raises(AttributeError, match="_foreach_nothing"):
        getattr(torch, "_foreach_nothing")                 # noqa: B009


# ---- scans -------------------------------------------------------------------------------------------------------
@settings(max_examples=20, derandomize=True, deadline=None)
@given(st.integers(0, 9), st.booleans(), st.integers(0, 1))
def test_scan_of_pairs_is_a_recurrence(n, reverse, dim):
    from minitorch.func.scans import associative_scan
    torch.manual_seed(n)
    a, b = [torch.rand(n, 2).movedim(0, dim).requires_grad_() for _ in range(2)]
    _, found = associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b), dim=dim, reverse=reverse)
    rows, state = [], 0
    order = range(n)[::-1] if reverse else range(n)
    for i in order:
        state = a.select(dim, i) * state + b.select(dim, i)
        rows.append(state)
    expected = torch.stack(rows[::-1] if reverse else rows, dim) if rows else b
    torch.testing.assert_close(found, expected)
    if n > 1:
        for x, y in zip(torch.autograd.grad(found.sum(), (a, b)), torch.autograd.grad(expected.sum(), (a, b))):
            torch.testing.assert_close(x, y)


# ---- attention whose scores and mask are functions -------------------------------------------------------------
def causal(batch, head, q, kv):
    return q >= kv


def test_flex_attention_is_attention():
    from minitorch.nn.attention.flex_attention import (
        AuxRequest,
        and_masks,
        create_block_mask,
        flex_attention,
        or_masks,
    )
    torch.manual_seed(0)
    q, k, v = [torch.randn(2, heads, 10, 4, requires_grad=True) for heads in (4, 2, 2)]
    mask = create_block_mask(causal, None, None, 10, 10, BLOCK_SIZE=4)
    found, lse = flex_attention(q, k, v, block_mask=mask, enable_gqa=True, return_lse=True)
    wide = [x.repeat_interleave(2, 1) for x in (k, v)]
    expected = nn.functional.scaled_dot_product_attention(q, *wide, is_causal=True)
    torch.testing.assert_close(found, expected)
    for x, y in zip(torch.autograd.grad(found.square().sum(), (q, k, v)),
                    torch.autograd.grad(expected.square().sum(), (q, k, v))):
        torch.testing.assert_close(x, y)
    assert mask.to_dense().tolist() == [[[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]] and mask.shape == (1, 1, 10, 10)
    assert mask.full_kv_num_blocks.tolist() == [[[0, 1, 0]]] and mask.kv_num_blocks.tolist() == [[[1, 1, 3]]]
    bias = torch.randn(4, requires_grad=True)
    never = and_masks(causal, lambda b, h, q, kv: q > 2)
    out, aux = flex_attention(q, *wide, score_mod=lambda s, b, h, i, j: s + bias[h] * (i - j),
                              return_aux=AuxRequest(lse=True),
                              block_mask=create_block_mask(or_masks(never, never), None, None, 10, 10))
    assert not out[:, :, :3].any() and (aux.lse[:, :, :3] == -float("inf")).all() and aux.max_scores is None
    out.sum().backward()
    assert bias.grad.abs().min() > 0
    with pytest.raises(ValueError, match="same number of heads"):
        flex_attention(q, k, v)


# ---- tensors, storages, names ------------------------------------------------------------------------------------
def test_own_attributes_are_the_users():
    p = nn.Parameter(torch.ones(2))
    assert p.__dict__ == {} and vars(torch.ones(1)) == {}
    p.note = "kept"
    p.__dict__["other"] = 1
    assert p.__dict__ == {"note": "kept", "other": 1} and p.other == 1
    assert p.__dict__.pop("note") == "kept" and not hasattr(p, "note") and p.shape == (2,)
    kwargs = p.__dict__
    kwargs["requires_grad"] = False
    assert p.requires_grad                                 # the property's, as in PyTorch
    a, b = torch.ones(1), torch.zeros(2)
    torch.utils.swap_tensors(a, b)
    assert a.tolist() == [0.0, 0.0] and b.tolist() == [1.0]


def test_storages_of_files(tmp_path):
    np.arange(4, dtype=np.float32).tofile(tmp_path / "x")
    storage = torch.UntypedStorage.from_file(str(tmp_path / "x"), shared=False, nbytes=16)
    part = storage[4:12]
    assert isinstance(part, torch.UntypedStorage) and part.nbytes() == 8
    x = torch.asarray(part, dtype=torch.uint8).view(torch.float32)
    assert x.tolist() == [1.0, 2.0]
    x.fill_(9)
    assert np.fromfile(tmp_path / "x", np.float32).tolist() == [0.0, 1.0, 2.0, 3.0]      # the file is as it was
    shared = torch.from_file(str(tmp_path / "y"), shared=True, size=3)
    shared.fill_(5)
    assert torch.from_file(str(tmp_path / "y"), size=3).tolist() == [5.0] * 3
    with pytest.raises(RuntimeError, match="100 bytes were asked for"):
        torch.UntypedStorage.from_file(str(tmp_path / "x"), False, 100)


def test_operators_of_pytorch_by_name():
    aten, x = torch.ops.aten, torch.arange(6.0).reshape(2, 3)
    assert torch.equal(aten.add.Tensor(x, x), 2 * x) and torch.equal(aten.slice.Tensor(x, 1, 0, 2), x[:, :2])
    assert torch.equal(aten.index.Tensor(x, [None, torch.tensor([0])]), x[:, [0]]) and str(aten.mm) == "aten.mm"
    assert aten.add.Tensor is torch.ops.aten.add.Tensor and aten.add.Tensor.name() == "aten::add.Tensor"
    assert aten._to_copy.default(x, dtype=torch.float64).dtype is torch.float64
    with pytest.raises(AttributeError, match="nothing_like_it"):
        getattr(aten, "nothing_like_it")                   # noqa: B009


def test_flops_by_module():
    from minitorch.nn.flops import FlopCounterMode
    model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Sequential(nn.Linear(5, 2)))
    with FlopCounterMode(display=False) as counter:
        model(torch.ones(3, 4)).sum().backward()
    counts = {path: sum(ops.values()) for path, ops in counter.get_flop_counts().items()}
    assert counts["Sequential"] == 2 * 3 * (4 * 5 + 5 * 2) and counts["Sequential.2.0"] == 2 * 3 * 10
    assert counter.get_total_flops() == counts["Global"] > counts["Sequential"]
    assert "Sequential.0" in counter.get_table()


def test_devices_of_other_hardware_have_names_only():
    assert torch.device("mps") != torch.device("cpu") and str(torch.device("xpu", 1)) == "xpu:1"
    with pytest.raises(RuntimeError, match="no backend here"):
        torch.ones(1, device="mps")


def test_names_that_say_no():
    from minitorch.distributed import fsdp, rpc
    from minitorch.distributed.tensor._utils import compute_local_shape_and_global_offset  # noqa: F401
    assert not rpc.is_available() and not isinstance(nn.Linear(1, 1), fsdp.FullyShardedDataParallel)
    with pytest.raises(NotImplementedError, match="fully_shard"):
        fsdp.FullyShardedDataParallel(nn.Linear(1, 1))
    with torch.backends.cudnn.flags(enabled=True):
        assert torch.backends.cudnn.enabled
    assert not torch.backends.cudnn.enabled


def test_pictures_in_files(tmp_path):
    pytest.importorskip("PIL")
    from minitorch.vision import io as pictures
    x = torch.arange(3 * 4 * 5, dtype=torch.uint8).reshape(3, 4, 5)
    pictures.write_png(x, str(tmp_path / "x.png"))
    assert torch.equal(pictures.read_image(str(tmp_path / "x.png")), x)
    assert pictures.read_image(str(tmp_path / "x.png"), pictures.ImageReadMode.GRAY).shape == (1, 4, 5)
    assert pictures.decode_jpeg(pictures.encode_jpeg(x)).shape == x.shape
    with pytest.raises(RuntimeError, match="no picture"):
        pictures.decode_image(torch.zeros(9, dtype=torch.uint8))
