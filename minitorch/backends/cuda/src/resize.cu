// A sparse linear map along one dimension of (before, dimension, after): interpolation, and its transpose.
//
// Output i is the sum of weights[k] * input[places[k]] for k from starts[i] to starts[i + 1]. The transposed map, of a
// backward pass, is given in the same form, so that it gathers as well, and its sums are always in the same order.
#include "common.cuh"

enum { BLOCK = 256 };
typedef compute<U> Wide;

extern "C" __global__ void __launch_bounds__(BLOCK)
resample(U* __restrict__ out, const T* __restrict__ input, const int* __restrict__ starts,
         const int* __restrict__ places, const Wide* __restrict__ weights, u32 total, u32 length, u32 size, u32 after) {
    u32 index = blockIdx.x * BLOCK + threadIdx.x;
    if (index >= total) return;
    u32 row = index / after, a = index - row * after, before = row / length, i = row - before * length;
    const T* line = input + i64(before) * size * after + a;
    Wide sum = 0;
    for (int k = starts[i]; k < starts[i + 1]; k++) sum += weights[k] * widen(line[i64(places[k]) * after]);
    out[index] = narrow<U>(sum);
}
