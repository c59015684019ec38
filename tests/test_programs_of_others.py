"""Names and behaviours that programs of others were found to need (docs/programs.md)."""

import struct

import numpy as np
import pytest

from minitorch import datasets


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
