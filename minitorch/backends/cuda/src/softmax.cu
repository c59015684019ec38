// Softmax and its logarithm, forward and backward.
//
// - rows that lie in the registers of their threads (ITEMS is given), and in shared memory, of a block or a cluster: one
//   pass over memory;
// - longer rows: two passes; the first gathers maximum and sum at once;
// - planes: the dimension is not the last one, so neighbouring threads take neighbouring columns.
// LOG tells log_softmax from softmax; of the kernels for rows in registers, BACKWARD says which one is wanted.
#include "exponentials.cuh"

// The result for one element, given the sums of its row.
__device__ __forceinline__ Wide forward(Wide x, Exponentials row, Wide scale) {
#if LOG
    return x - row.largest - scale;                        // scale: log(sum)
#else
    return power(x - row.largest) * scale;                   // scale: 1 / sum
#endif
}

__device__ __forceinline__ Wide scale_of(Wide sum) {
#if LOG
    return log(sum);
#else
    return 1 / sum;
#endif
}

// The backward pass: the term whose sum over the row is needed, and the result.
__device__ __forceinline__ Wide term(Wide grad, Wide out) {
#if LOG
    return grad;
#else
    return grad * out;
#endif
}

__device__ __forceinline__ Wide backward(Wide grad, Wide out, Wide total) {
#if LOG
    return grad - exp(out) * total;
#else
    return out * (grad - total);
#endif
}

#if defined(ITEMS) && !BACKWARD
extern "C" __global__ void __launch_bounds__(THREADS* ROWS, RESIDENT) CLUSTERED
softmax_forward(T* __restrict__ out, const T* __restrict__ input, i64 rows, int columns) {
    if (this_row() >= rows) return;
    begin_together();
    input += this_row() * columns;
    out += this_row() * columns;
    Wide x[PACKS][VECTOR];
    park_row(input, columns, -infinity());
    load_row(x, input, columns, -infinity());
    Exponentials row = {fold(x, Larger()), 0};
    arrived();
    over_parked([&](int, const Wide (&y)[VECTOR]) {
#pragma unroll
        for (int v = 0; v < VECTOR; v++) row.largest = larger(row.largest, y[v]);
    });
    await_others();
    row.largest = over_row(larger(row.largest, lowest()), Larger(), 0);
    Wide sum = 0;
    over_parked([&](int, const Wide (&y)[VECTOR]) {
#pragma unroll
        for (int v = 0; v < VECTOR; v++) sum += power(y[v] - row.largest);
    });
#if LOG
    EACH(p, v) sum += power(x[p][v] - row.largest);
    Wide scale = scale_of(over_row(sum, Add(), 1));
    EACH(p, v) x[p][v] = forward(x[p][v], row, scale);
#else                                                      // the exponentials are the result, but for the scale
    EACH(p, v) x[p][v] = power(x[p][v] - row.largest);
    Wide scale = scale_of(over_row(sum + fold(x, Add()), Add(), 1));
    EACH(p, v) x[p][v] *= scale;
#endif
    store_row(out, x, columns);
    over_parked([&](int p, Wide (&y)[VECTOR]) {
        if (!in_row(p, columns)) return;
#pragma unroll
        for (int v = 0; v < VECTOR; v++) y[v] = forward(y[v], row, scale);
        store_pack(out + pack_column(p), y);
    });
}

#elif defined(ITEMS)
// Where so many are PARKED, it is all of `out`.
extern "C" __global__ void __launch_bounds__(THREADS* ROWS, RESIDENT) CLUSTERED
softmax_backward(T* __restrict__ result, const T* __restrict__ grad, const T* __restrict__ out, i64 rows,
                 int columns) {
    if (this_row() >= rows) return;
    begin_together();
    i64 start = this_row() * columns;
    Wide g[PACKS][VECTOR], total = 0;
    park_row(out + start, columns, 0);
    load_row(g, grad + start, columns, 0);
#if PARKED
    arrived();
    over_parked([&](int p, const Wide (&y)[VECTOR]) {
#pragma unroll
        for (int v = 0; v < VECTOR; v++) total += term(g[p][v], y[v]);
    });
    await_others();
    total = over_row(total, Add(), 0);
    over_parked([&](int p, const Wide (&y)[VECTOR]) {
#pragma unroll
        for (int v = 0; v < VECTOR; v++) g[p][v] = backward(g[p][v], y[v], total);
    });
#else
    Wide y[PACKS][VECTOR];
    load_row(y, out + start, columns, 0);
    EACH(p, v) total += term(g[p][v], y[p][v]);
    await_others();
    total = over_row(total, Add(), 0);
    EACH(p, v) g[p][v] = backward(g[p][v], y[p][v], total);
#endif
    store_row(result + start, g, columns);
}

#elif defined(THREADS)
extern "C" __global__ void __launch_bounds__(THREADS)
softmax_forward_long(T* __restrict__ out, const T* __restrict__ input, i64 columns) {
    input += blockIdx.x * columns;
    out += blockIdx.x * columns;
    Exponentials row = of_nothing();
#pragma unroll 4
    for (i64 i = threadIdx.x * VECTOR; i < columns; i += THREADS * VECTOR) {
        Wide x[VECTOR];
        load_pack(x, input + i);
        row.add(x);
    }
    row = over_row(row, Merge(), 0);
    Wide scale = scale_of(row.sum);
#pragma unroll 4
    for (i64 i = threadIdx.x * VECTOR; i < columns; i += THREADS * VECTOR) {
        Wide x[VECTOR];
        load_pack(x, input + i);
#pragma unroll
        for (int v = 0; v < VECTOR; v++) x[v] = forward(x[v], row, scale);
        store_pack(out + i, x);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
softmax_backward_long(T* __restrict__ result, const T* __restrict__ grad, const T* __restrict__ out,
                      i64 columns) {
    grad += blockIdx.x * columns;
    out += blockIdx.x * columns;
    result += blockIdx.x * columns;
    Wide g[VECTOR], y[VECTOR], total = 0;
#pragma unroll 4
    for (i64 i = threadIdx.x * VECTOR; i < columns; i += THREADS * VECTOR) {
        load_pack(g, grad + i);
        load_pack(y, out + i);
#pragma unroll
        for (int v = 0; v < VECTOR; v++) total += term(g[v], y[v]);
    }
    total = over_row(total, Add(), 0);
#pragma unroll 4
    for (i64 i = threadIdx.x * VECTOR; i < columns; i += THREADS * VECTOR) {
        load_pack(g, grad + i);
        load_pack(y, out + i);
#pragma unroll
        for (int v = 0; v < VECTOR; v++) g[v] = backward(g[v], y[v], total);
        store_pack(result + i, g);
    }
}

#else
// ---- planes ------------------------------------------------------------------------------------------------
// Arrays (outer, columns, inner). A block of 32 x SHARE threads takes 32 neighbouring places of
// `inner`, with SHARE threads for each; there are `tiles` such blocks for each of `outer`.
enum { SHARE = 8 };

template <class X, class Combine> __device__ __forceinline__ X over_share(X x, Combine combine) {
    __shared__ X all[SHARE][32];
    all[threadIdx.y][threadIdx.x] = x;
    __syncthreads();
    x = all[0][threadIdx.x];
#pragma unroll
    for (int k = 1; k < SHARE; k++) x = combine(x, all[k][threadIdx.x]);
    return x;
}

// Where this thread's column begins; false if it has none.
__device__ __forceinline__ bool column_start(i64& start, int tiles, i64 columns, i64 inner) {
    i64 place = blockIdx.x % tiles * 32LL + threadIdx.x;
    start = blockIdx.x / tiles * columns * inner + place;
    return place < inner;
}

extern "C" __global__ void __launch_bounds__(32 * SHARE)
softmax_forward_planes(T* __restrict__ out, const T* __restrict__ input, int tiles, i64 columns,
                       i64 inner) {
    i64 start;
    bool inside = column_start(start, tiles, columns, inner);
    Exponentials row = of_nothing();
    for (i64 c = threadIdx.y; inside && c < columns; c += SHARE) row.add(widen(input[start + c * inner]));
    row = over_share(row, Merge());
    Wide scale = scale_of(row.sum);
    for (i64 c = threadIdx.y; inside && c < columns; c += SHARE)
        out[start + c * inner] = narrow<T>(forward(widen(input[start + c * inner]), row, scale));
}

extern "C" __global__ void __launch_bounds__(32 * SHARE)
softmax_backward_planes(T* __restrict__ result, const T* __restrict__ grad, const T* __restrict__ out, int tiles,
                        i64 columns, i64 inner) {
    i64 start;
    bool inside = column_start(start, tiles, columns, inner);
    Wide total = 0;
    for (i64 c = threadIdx.y; inside && c < columns; c += SHARE)
        total += term(widen(grad[start + c * inner]), widen(out[start + c * inner]));
    total = over_share(total, Add());
    for (i64 c = threadIdx.y; inside && c < columns; c += SHARE) {
        i64 at = start + c * inner;
        result[at] = narrow<T>(backward(widen(grad[at]), widen(out[at]), total));
    }
}
#endif
