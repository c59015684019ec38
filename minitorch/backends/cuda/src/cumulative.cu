// Running sums, products, extremes along a dimension of (outer, n, inner): T to V.
//
//   OP  0: sum, 1: product, 2: maximum, 3: minimum (both with where the last one equal to it stands; NaN stays),
//       4: log of the sum of exponentials
//   VECTOR, PUT  how many neighbours are read and written at once
//
// Rows (inner is 1) are cut into tiles, one for each block, if there are not enough of them to keep a GPU busy: the
// tiles are summed, the sums scanned, and each tile then scanned from the sum of those before it. The order of all
// operations depends on shapes only.
#include "common.cuh"

enum { THREADS = 256, WARPS = THREADS / WARP, ITEMS = 4, STEP = THREADS * ITEMS, SHARES = 8 };
#ifndef VECTOR
#define VECTOR 1
#endif
typedef compute<V> Wide;

struct State {
    Wide value;
#if OP == 2 || OP == 3
    i64 index;
#endif
};

// The smallest and the largest value of V.
template <class X> __device__ __forceinline__ compute<X> extreme(bool smallest) {
    if constexpr (is_floating<X>::value) {
        return smallest ? -__int_as_float(0x7f800000) : __int_as_float(0x7f800000);
    } else {
        X low = X(-1) < X(0) ? X(1ull << (8 * sizeof(X) - 1)) : X(0);
        return smallest ? low : X(~low);
    }
}

__device__ __forceinline__ State of_nothing() {
#if OP == 2 || OP == 3
    return {extreme<V>(OP == 2), 0};
#elif OP == 4
    return {extreme<V>(true)};
#else
    return {Wide(OP)};
#endif
}

__device__ __forceinline__ State of_element(T x, i64 index) {
#if OP == 2 || OP == 3
    return {Wide(widen(x)), index};
#else
    return {Wide(widen(x))};
#endif
}

// Two neighbouring stretches, the earlier one first.
__device__ __forceinline__ State join(State a, State b) {
#if OP == 0
    return {a.value + b.value};
#elif OP == 1
    return {a.value * b.value};
#elif OP == 2 || OP == 3
    bool later = b.value != b.value || (a.value == a.value && (OP == 2 ? b.value >= a.value : b.value <= a.value));
    return later ? b : a;
#else
    if (a.value == b.value) return {a.value + Wide(0.69314718055994530942)};
    Wide difference = a.value - b.value;
    if (difference > 0) return {a.value + log1p(exp(-difference))};
    return {difference <= 0 ? b.value + log1p(exp(difference)) : difference};
#endif
}

__device__ __forceinline__ State from_below(State x, int step) {
    x.value = __shfl_up_sync(ALL_LANES, x.value, step);
#if OP == 2 || OP == 3
    x.index = __shfl_up_sync(ALL_LANES, x.index, step);
#endif
    return x;
}

// All up to and including each lane.
__device__ __forceinline__ State over_lanes(State x, int lane) {
#pragma unroll 1
    for (int step = 1; step < WARP; step *= 2) {
        State lower = from_below(x, step);
        if (lane >= step) x = join(lower, x);
    }
    return x;
}

__device__ __forceinline__ void put(V* out, i64* indices, i64 place, State x) {
    out[place] = narrow<V>(x.value);
#if OP == 2 || OP == 3
    indices[place] = x.index;
#endif
}

// ---- the sum of each tile; then, of these, all before each one ---------------------------------------------
extern "C" __global__ void __launch_bounds__(THREADS)
sum_tiles(Wide* __restrict__ totals, i64* __restrict__ total_indices, const T* __restrict__ input, i64 n, i64 tile,
          int tiles) {
    __shared__ State of_warp[WARPS];
    i64 row = blockIdx.x / tiles, start = blockIdx.x % tiles * tile, end = min(start + tile, n);
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    State total = of_nothing();
    i64 share = (end - start + THREADS - 1) / THREADS;     // neighbours, so that the order is kept
    i64 first = start + threadIdx.x * share;
    for (i64 i = first; i < min(first + share, end); i++) total = join(total, of_element(input[row * n + i], i));
    total = over_lanes(total, lane);
    if (lane == WARP - 1) of_warp[warp] = total;
    __syncthreads();
    if (threadIdx.x) return;
    total = of_warp[0];
    for (int w = 1; w < WARPS; w++) total = join(total, of_warp[w]);
    totals[blockIdx.x] = total.value;
#if OP == 2 || OP == 3
    total_indices[blockIdx.x] = total.index;
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS)
join_tiles(Wide* __restrict__ totals, i64* __restrict__ total_indices, i64 rows, int tiles) {
    i64 row = blockIdx.x * (i64)THREADS + threadIdx.x;
    if (row >= rows) return;
    State before = of_nothing();
    for (i64 i = row * tiles; i < (row + 1) * tiles; i++) {
        State own = of_nothing();
        own.value = totals[i];
#if OP == 2 || OP == 3
        own.index = total_indices[i];
        total_indices[i] = before.index;
#endif
        totals[i] = before.value;
        before = join(before, own);
    }
}

// ---- rows --------------------------------------------------------------------------------------------------
extern "C" __global__ void __launch_bounds__(THREADS)
scan_rows(V* __restrict__ out, i64* __restrict__ indices, const T* __restrict__ input, const Wide* __restrict__ totals,
          const i64* __restrict__ total_indices, i64 n, i64 tile, int tiles) {
    __shared__ State of_warp[2][WARPS];
    i64 row = blockIdx.x / tiles, start = blockIdx.x % tiles * tile, end = min(start + tile, n);
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, turn = 0;
    State carried = of_nothing();
    if (totals) {
        carried.value = totals[blockIdx.x];
#if OP == 2 || OP == 3
        carried.index = total_indices[blockIdx.x];
#endif
    }
    for (i64 step = start; step < end; step += STEP, turn ^= 1) {
        i64 first = step + threadIdx.x * ITEMS, base = row * n + first;
        State own[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; k += VECTOR) {
            if (first + k >= end) {
#pragma unroll
                for (int v = 0; v < VECTOR; v++) own[k + v] = of_nothing();
                continue;
            }
            Vector<T, VECTOR> pack = load_vector<T, VECTOR>(input + base + k);
#pragma unroll
            for (int v = 0; v < VECTOR; v++) own[k + v] = of_element(pack.at[v], first + k + v);
        }
#pragma unroll
        for (int k = 1; k < ITEMS; k++) own[k] = join(own[k - 1], own[k]);
        State up_to = over_lanes(own[ITEMS - 1], lane), before = from_below(up_to, 1);
        if (lane == WARP - 1) of_warp[turn][warp] = up_to;
        __syncthreads();
        State earlier = carried;
#pragma unroll 1
        for (int w = 0; w < WARPS; w++) {
            if (w == warp) earlier = carried;
            carried = join(carried, of_warp[turn][w]);
        }
        if (lane) earlier = join(earlier, before);
#pragma unroll
        for (int k = 0; k < ITEMS; k++) own[k] = join(earlier, own[k]);
#pragma unroll
        for (int k = 0; k < ITEMS; k += VECTOR) {
            if (first + k >= end) continue;
            Vector<V, VECTOR> pack;
#pragma unroll
            for (int v = 0; v < VECTOR; v++) {
                pack.at[v] = narrow<V>(own[k + v].value);
#if OP == 2 || OP == 3
                indices[base + k + v] = own[k + v].index;
#endif
            }
#pragma unroll
            for (int v = 0; v < VECTOR; v += PUT) {
                Vector<V, PUT> piece;
#pragma unroll
                for (int w = 0; w < PUT; w++) piece.at[w] = pack.at[v + w];
                store_vector(out + base + k + v, piece);
            }
        }
    }
}

// ---- planes ------------------------------------------------------------------------------------------------
// Blocks of 32 neighbouring columns x SHARES shares of the n; `tiles` of them for each of `outer`.
extern "C" __global__ void __launch_bounds__(WARP* SHARES)
scan_planes(V* __restrict__ out, i64* __restrict__ indices, const T* __restrict__ input, i64 n, i64 inner, int tiles) {
    __shared__ State of_share[SHARES][WARP];
    i64 column = blockIdx.x % tiles * (i64)WARP + threadIdx.x, start = blockIdx.x / tiles * n * inner + column;
    i64 share = (n + SHARES - 1) / SHARES, first = threadIdx.y * share, end = min(first + share, n);
    bool inside = column < inner;
    State total = of_nothing();
    for (i64 i = first; inside && i < end; i++) total = join(total, of_element(input[start + i * inner], i));
    of_share[threadIdx.y][threadIdx.x] = total;
    __syncthreads();
    State running = of_nothing();
    for (int k = 0; k < threadIdx.y; k++) running = join(running, of_share[k][threadIdx.x]);
    for (i64 i = first; inside && i < end; i++) {
        running = join(running, of_element(input[start + i * inner], i));
        put(out, indices, start + i * inner, running);
    }
}
