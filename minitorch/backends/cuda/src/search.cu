// Where elements belong in sorted rows: how many elements of a row are in front of each, by bisection.
//
//   NAN_LAST  1: NaN has a place in the order, behind all numbers, as for NumPy; 0: no comparison with NaN is true
#include "common.cuh"

enum { BLOCK = 256 };
typedef compute<T> Wide;

__device__ __forceinline__ bool is_less(Wide a, Wide b) { return a < b || (NAN_LAST && b != b && a == a); }

__device__ __forceinline__ bool is_in_front(Wide a, Wide x, bool right) {
    if (NAN_LAST) return right ? !is_less(x, a) : is_less(a, x);
    return right ? !(a > x) : !(a >= x);
}

// The first `of_row` of n elements are searched in the first row, the next ones in the next.
extern "C" __global__ void __launch_bounds__(BLOCK)
search_sorted(U* __restrict__ out, const T* __restrict__ sorted, const T* __restrict__ values, i64 columns, i64 of_row,
              i64 n, bool right) {
    i64 i = blockIdx.x * (i64)BLOCK + threadIdx.x;
    if (i >= n) return;
    const T* row = sorted + i / of_row * columns;
    Wide x = widen(values[i]);
    i64 low = 0, high = columns;
    while (low < high) {
        i64 middle = (low + high) / 2;
        if (is_in_front(widen(row[middle]), x, right)) low = middle + 1;
        else high = middle;
    }
    out[i] = U(low);
}
