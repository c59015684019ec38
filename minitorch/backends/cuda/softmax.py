"""Softmax and its logarithm over any dimension, and their derivatives: `kernels/softmax.cu`.

Rows of up to 32,768 float32 (derivatives: 16,384) are read once and kept in registers; longer ones are read twice.
"""

from ...core.backend import takes_halves
from .kernel import Kernel
from .rows import decline, dense, is_float, split_at, spread

__all__ = ["KERNELS"]

ROWS = Kernel("softmax.cu", "softmax_forward", "T* out, const T* input, i64 rows, i32 columns")
LONG = Kernel("softmax.cu", "softmax_forward_long", "T* out, const T* input, i64 columns")
PLANES = Kernel("softmax.cu", "softmax_forward_planes",
                "T* out, const T* input, i32 tiles, i64 columns, i64 inner")
ROWS_BACK = Kernel("softmax.cu", "softmax_backward",
                   "T* result, const T* grad, const T* out, i64 rows, i32 columns")
LONG_BACK = Kernel("softmax.cu", "softmax_backward_long", "T* result, const T* grad, const T* out, i64 columns")
PLANES_BACK = Kernel("softmax.cu", "softmax_backward_planes",
                     "T* result, const T* grad, const T* out, i32 tiles, i64 columns, i64 inner")


def forward(name, log):
    def kernel(F, input, *, dim):
        if not input.size or not input.ndim or not is_float(input.dtype):
            return decline(F, name, input, dim=dim)
        return run(F, (ROWS, LONG, PLANES), log, dim, input)
    return takes_halves(kernel)


def backward(name, log):
    def kernel(F, grad, out_, *, dim):
        if not grad.size or not grad.ndim or not is_float(grad.dtype) or grad.shape != out_.shape:
            return decline(F, name, grad, out_, dim=dim)
        return run(F, (ROWS_BACK, LONG_BACK, PLANES_BACK), log, dim, grad, out_)
    return takes_halves(kernel)


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
    how = spread(columns, (out, *inputs), held=len(inputs))
    if how.items is None:
        long(F.machine, outer, how.block, out, *inputs, columns, LOG=log, **how.constants)
    else:
        rows(F.machine, how.grid(outer), how.block, out, *inputs, outer, columns, LOG=log, BACKWARD=len(inputs) - 1,
             **how.constants)
    return out


KERNELS = {"softmax_along": forward("softmax_along", 0), "log_softmax_along": forward("log_softmax_along", 1),
           "softmax_backward": backward("softmax_backward", 0),
           "log_softmax_backward": backward("log_softmax_backward", 1)}
