"""`torch.sparse.FloatTensor` and its kind: types from PyTorch's first years, which make COO tensors."""

from .. import (
    BFloat16Tensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
    device,
)
from .creation import empty_of, sparse_coo_tensor
from .layouts import sparse_coo
from .tensor import SparseTensor

__all__ = ["TYPES"]


DENSE = (BFloat16Tensor, ByteTensor, CharTensor, DoubleTensor, FloatTensor, HalfTensor, IntTensor,
         LongTensor, ShortTensor)


class sparsetype(type(FloatTensor)):  # type: ignore[misc]
    """The type of `sparse.FloatTensor` and its kind."""

    layout = sparse_coo
    is_sparse = True

    def __instancecheck__(cls, x):
        return isinstance(x, SparseTensor) and x.is_sparse and super().__instancecheck__(x)

    def __call__(cls, *data, device=None):
        where = cls.device_type if device is None else device
        if not data:
            return empty_of("empty", (0,), sparse_coo, cls.dtype, where)
        return sparse_coo_tensor(*data, dtype=cls.dtype, device=where)


def types_on(kind):
    """The types for a kind of device, by name."""
    module = "minitorch.sparse" if kind == "cpu" else f"minitorch.{kind}.sparse"
    return {dense.__name__: sparsetype(dense.__name__, (), {
        "dtype": dense.dtype, "device_type": device(kind).type, "__module__": module,
        "__doc__": f"The type of sparse COO tensors of {dense.dtype.name}; `sparse_coo_tensor` "
                   f"makes them, too."})
        for dense in DENSE}


TYPES = types_on("cpu")
