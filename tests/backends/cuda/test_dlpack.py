"""Arrays of other libraries on a GPU, by DLPack: here made by hand, over memory of the simulator; CuPy itself."""

import ctypes
import gc

import numpy as np
import pytest

import minitorch as torch
from minitorch.host import dlpack
from tests.backends.cuda.kernel_checks import DEVICE, device

pytestmark = pytest.mark.skipif(not DEVICE.startswith("sim"), reason="the arrays here are over memory of the simulator")
MADE: list = []                                            # libraries keep their memory until they are told
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


@pytest.fixture(autouse=True)
def simulated(monkeypatch):
    monkeypatch.setitem(dlpack.DEVICES, 2, "sim")          # what a capsule calls CUDA lies in the simulator


class Foreign:
    """Another library's array: the memory of one of our arrays, in a capsule of either version."""

    def __init__(self, array, versioned=True, code=None, strides=True, major=1):
        self.array, self.told, self.streams = array, [], []
        MADE.append(self)
        form = dlpack.Versioned if versioned else dlpack.Managed
        self.struct = form(deleter=dlpack.DELETER(self.told.append))
        if versioned:
            self.struct.major = major
        t, n = self.struct.tensor, array.ndim
        t.data, t.device_type, t.device, t.ndim = array.data.ptr, 2, 0, n
        t.code, t.bits, t.lanes = code or CODES.get(array.dtype.kind, 4), array.itemsize * 8, 1
        t.shape = (ctypes.c_int64 * n)(*array.shape)
        t.strides = (ctypes.c_int64 * n)(*[s // array.itemsize for s in array.strides]) if strides else None
        self.name = b"dltensor_versioned" if versioned else b"dltensor"

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, *, stream=None, max_version=None):
        self.streams.append(stream)
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(ctypes.addressof(self.struct), self.name, None)


def put(values):
    return device.from_host(np.asarray(values))


@pytest.mark.parametrize("dtype, versioned", [("f4", True), ("i8", False), ("b1", True), ("c8", False),
                                              (torch.bfloat16.np, True)])
def test_memory_is_shared_and_given_back(dtype, versioned):
    ours = put(np.arange(12).astype(dtype).reshape(3, 4))
    foreign = Foreign(ours[:, ::-2], versioned)
    x = torch.from_dlpack(foreign)
    assert x.device.type == "sim" and x.shape == (3, 2) and x.data_ptr() == foreign.array.data.ptr
    assert x.cpu().array.tobytes() == device.to_host(foreign.array).tobytes()
    ours[...] = 1
    assert x.float().cpu().tolist() == [[1, 1]] * 3        # one memory
    view = x[1:]
    del x
    gc.collect()
    assert not foreign.told
    del view
    gc.collect()
    assert foreign.told == [ctypes.addressof(foreign.struct)]


def test_kernels_run_on_it_with_gradients():
    x = torch.from_dlpack(Foreign(put(np.arange(6.0)), strides=False)).requires_grad_()
    (x * x).sum().backward()
    assert x.grad.tolist() == [0, 2, 4, 6, 8, 10]


def test_copies_and_other_devices():
    ours = put(np.arange(4.0))
    x = torch.from_dlpack(Foreign(ours), copy=True)
    ours[...] = 7
    assert x.tolist() == [0, 1, 2, 3]
    assert torch.from_dlpack(Foreign(ours), device="cpu").device.type == "cpu"
    with pytest.raises(ValueError, match="without copying"):
        torch.from_dlpack(Foreign(ours), device="cpu", copy=False)
    empty = torch.from_dlpack(Foreign(put(np.ones((0, 3)))))
    assert empty.shape == (0, 3) and empty.sum().item() == 0


def test_a_capsule_is_taken_once():
    foreign = Foreign(put(np.arange(3.0)))
    capsule = foreign.__dlpack__()
    assert torch.from_dlpack(capsule).tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="unconsumed"):
        torch.from_dlpack(capsule)


def test_what_cannot_be_taken_over():
    ours = put(np.arange(3.0))
    with pytest.raises(BufferError, match="DLPack 2.0"):
        torch.from_dlpack(Foreign(ours, major=2))
    with pytest.raises(BufferError, match="type code 9"):
        torch.from_dlpack(Foreign(ours, code=9))
    foreign = Foreign(ours)
    foreign.__class__ = type("Elsewhere", (Foreign,), {"__dlpack_device__": lambda self: (8, 0)})
    with pytest.raises(BufferError, match="DLPack device type 8"):
        torch.from_dlpack(foreign)
    assert not foreign.told


def test_cupy_must_be_new_enough(monkeypatch):
    import cupy

    from minitorch.backends.cuda.runtime.machine import import_cupy
    assert import_cupy() is cupy
    monkeypatch.setattr(cupy, "__version__", "13.6.0")
    with pytest.raises(ImportError, match="CuPy 14 or newer, this is 13.6.0: pip install 'cupy"):
        import_cupy()
