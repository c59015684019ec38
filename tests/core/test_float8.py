"""8-bit floats: kept, cast, moved and saved, not computed with."""

import io

import pytest

import minitorch as torch

pytest.importorskip("ml_dtypes")
EIGHT = [getattr(torch, f"float8_{name}") for name in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0fnu")]


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
