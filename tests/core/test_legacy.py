"""Names of PyTorch's first years, and small functions about tensors: legacy types, storages, windows."""

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn


# ---- types -------------------------------------------------------------------------------------------------
def test_a_legacy_type_is_a_type():
    x = torch.ones(2)
    assert isinstance(torch.FloatTensor, type) and isinstance(x, torch.FloatTensor)
    assert isinstance(nn.Parameter(x), torch.FloatTensor) and not isinstance(x, (torch.DoubleTensor, torch.LongTensor))
    assert not isinstance(3, torch.FloatTensor) and not isinstance(x, torch.cuda.FloatTensor)
    assert torch.LongTensor | None and torch.FloatTensor.dtype is torch.float32
    assert torch.FloatTensor.__name__ == "FloatTensor"
    assert repr(torch.cuda.HalfTensor) == "<class 'torch.cuda.HalfTensor'>"


@pytest.mark.parametrize("data", [[1, 2], (1, 2), np.ones(2), torch.tensor([1, 2])])
def test_a_legacy_type_makes_tensors(data):
    assert torch.LongTensor(data).dtype is torch.int64 and torch.LongTensor(data).shape == (2,)


def test_sizes_and_wrong_data_of_legacy_types():
    assert torch.FloatTensor(2, 3).shape == (2, 3) and torch.FloatTensor(torch.Size([4])).shape == (4,)
    assert torch.FloatTensor().shape == (0,)
    with pytest.raises(TypeError, match="data must be a sequence"):
        torch.FloatTensor(2.5)
    with pytest.raises(TypeError, match=r"write x.to\(torch.float32\)"):
        torch.FloatTensor(torch.tensor([1, 2]))


def test_new_has_the_dtype_of_its_tensor():
    assert torch.tensor([1]).new([1.7]).tolist() == [1] and torch.ones(1).new(3).shape == (3,)
    assert torch.ones(1, dtype=torch.float64).new([1, 2]).dtype is torch.float64


def test_type_takes_names_dtypes_and_types():
    x = torch.ones(2)
    assert x.type() == torch.typename(x) == "torch.FloatTensor"
    for wanted in (torch.DoubleTensor, "torch.DoubleTensor", torch.float64):
        assert x.type(wanted).dtype is torch.float64
    with pytest.raises(ValueError, match="invalid type"):
        x.type("Float")
    with pytest.raises(TypeError, match="must be a type, str, or dtype"):
        x.type(3)


def test_names_of_types():
    assert torch.typename(3) == "int" and torch.typename(nn.Linear(1, 1)).endswith("nn.modules.linear.Linear")


def test_the_default_type():
    try:
        torch.set_default_tensor_type("torch.DoubleTensor")
        assert torch.ones(1).dtype is torch.float64
        with pytest.raises(TypeError, match="floating-point types"):
            torch.set_default_tensor_type(torch.LongTensor)
    finally:
        torch.set_default_tensor_type(torch.FloatTensor)
    assert torch.ones(1).dtype is torch.float32


# ---- storages ----------------------------------------------------------------------------------------------
def test_storages():
    assert torch.FloatStorage([1, 2]).tolist() == [1.0, 2.0] and torch.FloatStorage(3).size() == 3
    assert torch.ones(1).storage_type() is torch.FloatStorage
    assert isinstance(torch.ones(1).storage(), torch.FloatStorage)
    assert torch.UntypedStorage([1, 2]).tolist() == [1, 2] and torch.UntypedStorage(5).nbytes() == 5
    assert torch.is_storage(torch.ones(2).untyped_storage()) and not torch.is_storage(torch.ones(2))
    assert torch.storage.UntypedStorage is torch.UntypedStorage


# ---- about tensors -----------------------------------------------------------------------------------------
def test_questions_about_tensors():
    x = torch.ones(2, 3)
    assert torch.get_device(x) == x.get_device() == -1
    assert x.is_same_size(torch.zeros(2, 3)) and not x.is_same_size(x.T)
    assert not x.is_conj() and not torch.is_neg(x)
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        x.is_same_size(3)


def test_fill_diagonal():
    assert torch.zeros(2, 3).fill_diagonal_(5).tolist() == [[5, 0, 0], [0, 5, 0]]
    assert torch.zeros(7, 3).fill_diagonal_(1).sum() == 3
    wrapped = torch.zeros(7, 3).fill_diagonal_(1, wrap=True)
    assert wrapped.nonzero().tolist() == [[0, 0], [1, 1], [2, 2], [4, 0], [5, 1], [6, 2]]
    assert torch.zeros(2, 2, 2).fill_diagonal_(1).nonzero().tolist() == [[0, 0, 0], [1, 1, 1]]
    with pytest.raises(RuntimeError, match="larger than 1"):
        torch.zeros(3).fill_diagonal_(1)
    with pytest.raises(RuntimeError, match="equal length"):
        torch.zeros(2, 3, 3).fill_diagonal_(1)


def test_fill_diagonal_has_a_gradient():
    x = torch.ones(2, 2, requires_grad=True)
    y = (x * 3).T.fill_diagonal_(0)
    y.sum().backward()
    assert x.grad.tolist() == [[0, 3], [3, 0]]


def test_nonzero_static():
    x = torch.tensor([[1, 0], [0, 2]])
    assert x.nonzero_static(size=3, fill_value=7).tolist() == [[0, 0], [1, 1], [7, 7]]
    assert torch.nonzero_static(x, size=1).tolist() == [[0, 0]]
    with pytest.raises(RuntimeError, match="non-negative"):
        x.nonzero_static(size=-1)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_writes_into_out(name):
    x, out = torch.tensor([[0.0, 1.0]]), torch.empty(1, 2)
    assert getattr(torch, name)(x, 1, out=out) is out and torch.equal(out, getattr(torch, name)(x, 1))


# ---- windows -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name, reference", [("hann", np.hanning), ("hamming", np.hamming), ("blackman", np.blackman),
                                             ("bartlett", np.bartlett), ("kaiser", lambda n: np.kaiser(n, 12.0))])
@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_windows(name, reference, n):
    window = getattr(torch, name + "_window")
    np.testing.assert_allclose(window(n, periodic=False).numpy(), reference(n), atol=2e-6)
    wide = window(n, dtype=torch.float64).numpy()
    np.testing.assert_allclose(wide, reference(n + 1)[:-1] if n > 1 else [1.0], atol=1e-9)
    assert window(n, requires_grad=True).requires_grad and window(0).shape == (0,)
    with pytest.raises(RuntimeError, match="non-negative"):
        window(-1)
    with pytest.raises(RuntimeError, match="floating point"):
        window(3, dtype=torch.int64)


# ---- low rank ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [(9, 5), (5, 9), (2, 6, 6)])
def test_decompositions_of_low_rank(shape):
    torch.manual_seed(0)
    m, n = shape[-2:]
    low = torch.randn(*shape[:-1], 3, dtype=torch.float64) @ torch.randn(*shape[:-2], 3, n, dtype=torch.float64)
    U, S, V = torch.svd_lowrank(low, q=4)
    torch.testing.assert_close(U @ torch.diag_embed(S) @ V.mH, low)
    shift = torch.ones_like(low)
    U, S, V = torch.svd_lowrank(low + shift, q=4, M=shift)
    torch.testing.assert_close(U @ torch.diag_embed(S) @ V.mH, low)
    U, S, V = torch.pca_lowrank(low, q=4)
    torch.testing.assert_close(U @ torch.diag_embed(S) @ V.mH, low - low.mean(-2, keepdim=True))
    with pytest.raises(ValueError, match="not greater than min"):
        torch.pca_lowrank(low, q=max(m, n) + 1)


def test_output_nr():
    x = torch.ones(4, requires_grad=True)
    assert x.output_nr == (x * 2).output_nr == 0 and [t.output_nr for t in x.split(2)] == [0, 1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("type_", [torch.Tensor, "torch.Tensor"])
def test_the_type_tensor_is_the_default_dtype(type_, dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        mask = (torch.arange(3) < 1).type(type_)
    finally:
        torch.set_default_dtype(before)
    assert mask.dtype == dtype and mask.tolist() == [1.0, 0.0, 0.0]


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
