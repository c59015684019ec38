"""`torch.sparse.FloatTensor` and its kind: types from PyTorch's first years, which make COO tensors."""

from .. import device
from ..ops.creation.legacy import DTYPES, tensortype
from .creation import empty_of, sparse_coo_tensor
from .layouts import sparse_coo
from .tensor import SparseTensor

__all__ = ["TYPES"]


class sparsetype(tensortype):
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


WORDS = ("BFloat16", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")


def types_on(kind):
    """The types for a kind of device, by name."""
    module = "minitorch.sparse" if kind == "cpu" else f"minitorch.{kind}.sparse"
    return {f"{word}Tensor": sparsetype(f"{word}Tensor", (), {
        "dtype": DTYPES[word], "device_type": device(kind).type, "__module__": module,
        "__doc__": f"The type of sparse COO tensors of {DTYPES[word].name}; `sparse_coo_tensor` makes them, too."})
        for word in WORDS}


TYPES = types_on("cpu")
