"""Questions about numeric types: their limits, `finfo` and `iinfo`, and the type of a result."""

import numpy as np

from ..core.dtypes import EXTENDED, FLOATING, INTEGER, common_dtype, dtype, get_default_dtype
from ..core.ranges import limits

__all__ = ["finfo", "iinfo", "result_type"]


class finfo:
    """The limits of a floating-point type: `bits eps max min tiny smallest_normal resolution`."""

    def __init__(self, type=None):
        d = get_default_dtype() if type is None else type
        if not (isinstance(d, dtype) and d.category >= FLOATING):
            raise TypeError(f"minitorch.finfo() requires a floating point input type. Use minitorch.iinfo to handle "
                            f"'{getattr(d, 'name', d)}'")
        d = d.to_real()
        found = limits(d)
        self.dtype, self.bits = d.name, d.itemsize * 8
        self.resolution = float(f"1e-{found.precision}")
        for name in ("eps", "max", "min", "tiny", "smallest_normal"):
            setattr(self, name, found.dtype.type(getattr(found, name)).item() if d.name not in EXTENDED
                    else np.float64(getattr(found, name)).item())

    def __repr__(self):
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})")


class iinfo:
    """The limits of an integer type: `bits max min`."""

    def __init__(self, type):
        if not (isinstance(type, dtype) and type.category == INTEGER):
            raise TypeError(f"minitorch.iinfo() requires an integer input type. Use minitorch.finfo to handle "
                            f"'{getattr(type, 'name', type)}'")
        found = np.iinfo(type.np)
        self.dtype, self.bits, self.max, self.min = type.name, found.bits, found.max, found.min

    def __repr__(self):
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


def result_type(tensor1, tensor2):
    """The type of the result of an arithmetic op on two operands, each a tensor or a Python number."""
    return common_dtype([getattr(x, "array", x.item() if isinstance(x, np.generic) else x)
                         for x in (tensor1, tensor2)])
