// What the backward kernels of attention need of each query. With w the weights and dw = grad @ v.T, the gradient of the
// scores is w (dw - delta), delta being the sum over the keys of w dw, which is that over the features of grad * out: a
// warp for each query.
//
//   T      the dtype of gradients and results
//   WARPS  the warps of a block
#include "attention_arguments.cuh"

extern "C" __global__ void __launch_bounds__(32 * WARPS)
attention_delta(float* delta, const T* grad, const T* out, const Attention p, i64 rows) {
    const i64 index = blockIdx.x * (i64)WARPS + threadIdx.x / 32;
    if (index >= rows) return;
    const unsigned place = index / p.queries;
    const int row = index % p.queries;
    grad += batch_offset(p.grad, p, place) + row * p.grad.row;
    out += batch_offset(p.out, p, place) + row * p.out.row;
    float sum = 0;
    for (int i = threadIdx.x % 32; i < p.value_features; i += 32)
        sum += to_float(grad[i * p.grad.column]) * to_float(out[i * p.out.column]);
    sum = warp_reduce(sum, Add());
    if (threadIdx.x % 32 == 0) delta[index] = sum;
}
