"""Softmax and its logarithm over any dimension, and their derivatives: `src/softmax.cu`.

Rows of up to 32,768 numbers (derivatives: 16,384; of float64 a quarter) are read once and kept in registers, from
16,384 (8,192) on half in shared memory, so that two blocks fit a multiprocessor. A longer one is held by a cluster of
up to 8 blocks, where the GPU has these (9.0); what is longer still is read twice.
"""

from ..backend import kernel
from ..runtime.kernel import Kernel
from .product import capability
from .rows import dense, distribute, split_at
from .supported import float_dims, same_floats

ROWS = Kernel("softmax.cu", "softmax_forward", "T* out, const T* input, i64 rows, i32 columns")
LONG = Kernel("softmax.cu", "softmax_forward_long", "T* out, const T* input, i64 columns")
PLANES = Kernel("softmax.cu", "softmax_forward_planes",
                "T* out, const T* input, i32 tiles, i64 columns, i64 inner")
ROWS_BACK = Kernel("softmax.cu", "softmax_backward",
                   "T* result, const T* grad, const T* out, i64 rows, i32 columns")
LONG_BACK = Kernel("softmax.cu", "softmax_backward_long", "T* result, const T* grad, const T* out, i64 columns")
PLANES_BACK = Kernel("softmax.cu", "softmax_backward_planes",
                     "T* result, const T* grad, const T* out, i32 tiles, i64 columns, i64 inner")


def forward(log):
    """The kernel of `softmax`, or, with `log`, of its logarithm."""
    def call(F, input, *, dim):
        return run(F, (ROWS, LONG, PLANES), log, dim, input)
    return call


def backward(log):
    """The kernel of the derivative."""
    def call(F, grad, out_, *, dim):
        return run(F, (ROWS_BACK, LONG_BACK, PLANES_BACK), log, dim, grad, out_)
    return call


def run(F, kernels, log, dim, *inputs):
    """The kernel for rows in registers, for long rows, or for planes, on a new array like the inputs."""
    rows, long, planes = kernels
    inputs = [dense(F, x) for x in inputs]
    out = F.empty(inputs[0].shape, inputs[0].dtype)
    outer, columns, inner = split_at(out.shape, dim)
    if inner > 1:
        tiles = -(-inner // 32)
        planes(F.machine, outer * tiles, (32, 8), out, *inputs, tiles, columns, inner, LOG=log)
        return out
    chip = capability(F.machine)
    how = distribute(columns, (out, *inputs), len(inputs), chip >= 80, outer if chip >= 90 else 0)
    if how.items is None:
        long(F.machine, outer, how.block, out, *inputs, columns, LOG=log, **how.constants)
    else:
        rows(F.machine, how.grid(outer), how.block, out, *inputs, outer, columns, LOG=log, BACKWARD=len(inputs) - 1,
             shared=how.shared, **how.constants)
    return out


kernel("softmax", when=float_dims, halves=True)(forward(0))
kernel("log_softmax", when=float_dims, halves=True)(forward(1))
kernel("softmax_backward", when=same_floats, halves=True)(backward(0))
kernel("log_softmax_backward", when=same_floats, halves=True)(backward(1))
