// Sums of slices with equal indices, for few indices into few rows: the gradient of a small table in one launch.
//
// A warp has one row of the result and 32 of its columns. It looks at 32 indices at a time and adds the slices of those
// that name its row, in their order: sums are the same in every run. Rows that nobody names, and the row `ignored`, are 0.
//
//   T   dtype of the slices; U of the indices
#include "common.cuh"

extern "C" __global__ void __launch_bounds__(128)
sum_into_few_rows(T* out, const T* values, const U* index, i64 n, i64 columns, i64 ignored) {
    const i64 row = blockIdx.y, column = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    const int lane = threadIdx.x % 32;
    compute<T> sum = 0;
    for (i64 begin = 0; begin < n && row != ignored; begin += 32) {
        const bool named = begin + lane < n && index[begin + lane] == row;
        for (unsigned found = __ballot_sync(~0u, named); found; found &= found - 1) {
            const i64 k = begin + __ffs(found) - 1;
            if (column < columns) sum += widen(values[k * columns + column]);
        }
    }
    if (column < columns) out[row * columns + column] = narrow<T>(sum);
}
