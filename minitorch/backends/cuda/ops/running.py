"""The running statistics of batch and instance norm: `src/channels.cu`."""

from ..arrays.dtypes import compute_dtype, is_float
from ..runtime.kernel import Kernel

__all__ = ["move_statistics"]

MOVE = Kernel("channels.cu", "move_statistics",
              "T* running_mean?, T* running_var?, const V* means, const V* variances, i64 channels, f64 momentum, "
              "f64 unbiased")


def move_statistics(F, running_mean, running_var, means, variances, momentum, unbiased):
    """Move running statistics (or one, the other being None) towards those of a batch, in place: mean and variance by
    the shares `momentum` and `unbiased`. False where that is left to others."""
    given = [x for x in (running_mean, running_var) if x is not None]
    if not all([is_float(x.dtype) and x.dtype == given[0].dtype and compute_dtype(x.dtype) == means.dtype
                and x.flags.c_contiguous for x in given]):
        return False
    MOVE(F.machine, -(-means.size // 256), 256, running_mean, running_var, means, variances, means.size, momentum,
         unbiased, T=given[0].dtype, WHAT=0, VECTOR=1)
    return True
