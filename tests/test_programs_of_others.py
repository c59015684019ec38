"""Names and behaviours that programs of others were found to need (docs/programs.md)."""

import struct

import numpy as np
import pytest

import minitorch
from minitorch import datasets
from minitorch.autograd import Variable


def write_idx(path, array):
    magic = 0x800 + array.ndim
    path.write_bytes(struct.pack(f">i{array.ndim}i", magic, *array.shape) + array.astype(np.uint8).tobytes())


def test_old_names_of_mnist(tmp_path):
    (raw := tmp_path / "MNIST" / "raw").mkdir(parents=True)
    write_idx(raw / "t10k-images-idx3-ubyte", np.zeros((2, 28, 28)))
    write_idx(raw / "t10k-labels-idx1-ubyte", np.arange(2))
    data = datasets.MNIST(tmp_path, train=False)
    for old, new in (("test_data", "data"), ("train_data", "data"), ("test_labels", "targets"),
                     ("train_labels", "targets")):
        with pytest.warns(UserWarning, match=f"{old} has been renamed {new}") as noted:
            assert getattr(data, old) is getattr(data, new)
        assert noted[0].filename == __file__
    assert data.processed_folder == str(tmp_path / "MNIST" / "processed")


def test_variables_are_tensors():
    x = minitorch.ones(2)
    for v in (Variable(x), Variable(x, True), Variable(x, requires_grad=True)):
        assert isinstance(v, Variable) and isinstance(x, Variable) and v.is_leaf and v.data_ptr() == x.data_ptr()
    assert Variable(x, True).requires_grad and not Variable((x * 2).requires_grad_()).requires_grad
    with pytest.warns(UserWarning, match="volatile was removed") as noted:
        assert not Variable(x, volatile=True).requires_grad
    assert noted[0].filename == __file__
    with pytest.raises(TypeError, match="has to be a tensor, but got list"):
        Variable([1.0])
    with pytest.raises(RuntimeError, match="require gradients"):
        Variable(minitorch.tensor([1]), requires_grad=True)
    assert Variable().shape == (0,) and not isinstance(1.0, Variable)


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "rand", "randn"])
def test_sizes_by_name(name):
    assert getattr(minitorch, name)(size=(2, 3)).shape == (2, 3)
    assert getattr(minitorch, name)(size=()).shape == ()
    if hasattr(minitorch.Tensor, "new_" + name):
        new = getattr(minitorch.ones(1, dtype=minitorch.float64), "new_" + name)(size=(2, 3))
        assert new.shape == (2, 3) and new.dtype is minitorch.float64


def test_a_tensor_in_a_list_is_a_number():
    a, b = minitorch.tensor([0.5]), minitorch.tensor([[2.0]])
    for make in (minitorch.tensor, minitorch.as_tensor, minitorch.asarray, minitorch.Tensor, minitorch.FloatTensor):
        assert make([a, b]).shape == (2,) and make([[a], [b]]).tolist() == [[0.5], [2.0]]
        assert make([a, 3.0]).tolist() == [0.5, 3.0] and make((a.requires_grad_(),)).shape == (1,)
        with pytest.raises(ValueError, match="only one element tensors can be converted"):
            make([minitorch.ones(2), minitorch.ones(2)])
        with pytest.raises(ValueError, match="only one element tensors can be converted"):
            make([minitorch.ones(0)])
    assert minitorch.tensor([a.bfloat16(), a.bfloat16()]).dtype is minitorch.bfloat16
    assert minitorch.tensor([np.ones(1), np.ones(1)]).shape == (2, 1)           # arrays are sequences
    assert minitorch.tensor(b).shape == (1, 1)
