"""`ReduceOp`, and the one function that reduces arrays: the same for all transports, in the order of ranks.

16-bit floats are added up in float32 and rounded once. The order is fixed, so a result is the same in each run and on
each transport, bit for bit.
"""

from enum import Enum

import numpy as np

from ..extend import is_half

__all__ = ["ReduceOp"]


class RedOpType(Enum):
    """The operations of `ReduceOp`."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)


class ReduceOp:
    """The operation of a reduction, on one element of all ranks.

    SUM, AVG (the sum over the number of ranks, rounded towards zero for integers), PRODUCT, MIN, MAX; BAND, BOR, BXOR
    for integers and bool. PyTorch has AVG with NCCL only.
    """

    RedOpType = RedOpType

    def __init__(self, op, factor=None):
        self.op, self.factor = getattr(op, "op", op), factor

    name = property(lambda self: self.op.name)
    value = property(lambda self: self.op.value)

    def __eq__(self, other):
        return self.op == getattr(other, "op", other) and self.factor is getattr(other, "factor", None)

    def __hash__(self):
        return hash(self.op)

    def __int__(self):
        return self.op.value

    def __repr__(self):
        return f"<RedOpType.{self.op.name}: {self.op.value}>"

    def __reduce__(self):
        return ReduceOp, (self.op, self.factor)


for _op in RedOpType:
    setattr(ReduceOp, _op.name, ReduceOp(_op))

UFUNCS = {RedOpType.SUM: np.add, RedOpType.AVG: np.add, RedOpType.PREMUL_SUM: np.add, RedOpType.PRODUCT: np.multiply,
          RedOpType.MIN: np.minimum, RedOpType.MAX: np.maximum, RedOpType.BAND: np.bitwise_and,
          RedOpType.BOR: np.bitwise_or, RedOpType.BXOR: np.bitwise_xor}
PLAIN = frozenset((RedOpType.SUM, RedOpType.PRODUCT, RedOpType.MIN, RedOpType.MAX, RedOpType.BAND, RedOpType.BOR,
                   RedOpType.BXOR))


def checked_op(op, dtype, name):
    """`op` as a ReduceOp; an error if it cannot be applied to a NumPy dtype."""
    if not isinstance(op, ReduceOp):
        if not isinstance(op, RedOpType):
            raise TypeError(f"{name}: op must be a ReduceOp such as dist.ReduceOp.SUM, got {op!r}")
        op = ReduceOp(op)
    kind = op.op
    if dtype.kind == "c" and kind not in (RedOpType.SUM, RedOpType.AVG, RedOpType.PREMUL_SUM):
        raise ValueError(f"{name} does not support RedOpType.{kind.name} on complex tensors")
    if kind in (RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR) and dtype.kind not in "biu":
        raise RuntimeError(f"Cannot use ReduceOp.{kind.name} with non-integral dtype")
    if kind in (RedOpType.AVG, RedOpType.PREMUL_SUM) and dtype.kind == "b":
        raise RuntimeError(f"Cannot use ReduceOp.{kind.name} with Bool tensors: there is no mean of them")
    return op


def reduce_arrays(op, arrays, out):
    """Write the reduction of `arrays` (flat, one of each rank, in the order of ranks) to `out`.

    `out` may be one of two arrays, but not one of three.
    """
    kind = op.op
    function = UFUNCS[kind]
    if len(arrays) == 1 and kind in PLAIN:
        np.copyto(out, arrays[0])
        return
    half = is_half(out.dtype)
    if half or kind is RedOpType.PREMUL_SUM or len(arrays) == 1:
        total = arrays[0].astype(np.float32 if half else out.dtype)
        if kind is RedOpType.PREMUL_SUM:
            total = scaled(total, op.factor)
        for array in arrays[1:]:
            array = array.astype(np.float32) if half else array
            function(total, scaled(array, op.factor) if kind is RedOpType.PREMUL_SUM else array, out=total)
    else:
        total = function(arrays[0], arrays[1], out=out)
        for array in arrays[2:]:
            function(total, array, out=total)
    if kind is RedOpType.AVG:
        total = averaged(total, len(arrays))
    if total is not out:
        np.copyto(out, total, casting="unsafe")


def scaled(array, factor):
    return (array * np.asarray(factor)).astype(array.dtype)


def averaged(total, n):
    """`total` over `n`, in its place."""
    if total.dtype.kind in "iu":
        quotient = total // n
        return quotient + ((total < 0) & (quotient * n != total)) if total.dtype.kind == "i" else quotient
    return np.divide(total, n, out=total)


def _make_nccl_premul_sum(factor):
    """A ReduceOp that multiplies by `factor`, a number or a tensor of one element, before it adds."""
    return ReduceOp(RedOpType.PREMUL_SUM, factor.item() if hasattr(factor, "item") else factor)
