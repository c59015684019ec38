"""The norm of all gradients, in one launch for many tensors."""

from ..arrays.foreach import total_norm
from ..backend import kernel

kernel("total_norm", halves=True)(total_norm)
