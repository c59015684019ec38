// Running sums, products, extremes along a dimension of (outer, n, inner): T to V.
//
//   OP  0: sum, 1: product, 2: maximum, 3: minimum (both with where the last one equal to it stands; NaN stays),
//       4: log of the sum of exponentials
//   VECTOR, PUT  how many neighbours are read and written at once
//
// Rows (inner is 1) are cut into tiles, one for each block, which reads and writes its own once: what comes before it, it
// learns from words of the tiles before (lookback.cuh; D. Merrill and M. Garland, "Single-pass parallel prefix scan with
// decoupled look-back", 2016). There sums join whatever is known; here, always the same: 32 tiles make a group, 32 groups
// a supergroup, and a tile joins the supergroups before its own, the groups before its own in there, the tiles before it
// in there. The order of all operations depends on shapes only.
#include "lookback.cuh"

enum { ITEMS = 4, CHUNKS = OP == 4 ? 1 : 4, RUN = WARP * ITEMS * CHUNKS, SHARES = 8 };
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

#ifdef WARPS
// ---- rows --------------------------------------------------------------------------------------------------
enum { THREADS = WARPS * WARP, TILE = WARPS * RUN, PIECES = (sizeof(State) + 3) / 4 };
union Pieces {
    State state;
    u32 at[PIECES];
    __device__ Pieces() {}
};

// A state as words; each word is written once.
__device__ __forceinline__ void publish(u64* words, State state) {
    Pieces pieces;
#pragma unroll
    for (int k = 0; k < PIECES; k++) pieces.at[k] = 0;
    pieces.state = state;
#pragma unroll
    for (int k = 0; k < PIECES; k++) tell(words + k, OF_BLOCK, pieces.at[k]);
}

__device__ __forceinline__ State fetch(const u64* words) {
    Pieces pieces;
#pragma unroll
    for (int k = 0; k < PIECES; k++) ask(words + k, pieces.at[k]);
    return pieces.state;
}

__device__ __forceinline__ State from_last(State x) {
    x.value = __shfl_sync(ALL_LANES, x.value, WARP - 1);
#if OP == 2 || OP == 3
    x.index = __shfl_sync(ALL_LANES, x.index, WARP - 1);
#endif
    return x;
}

// Everything in the row before a tile, whose elements are `own` together; for a warp. `words` of the row: of its tiles,
// its groups, then of all up to each supergroup.
__device__ __forceinline__ State before_tile(u64* words, u32 tile, u32 tiles, State own, int lane) {
    State before = of_nothing();
    bool tells = true;                                     // whether this tile is the last one of its group, and so on
    u32 siblings = tiles, at = tile;
    if (lane == 0) publish(words + at * PIECES, own);
#pragma unroll 1
    for (int level = 0; level < 2; level++) {
        int place = at % WARP;
        State sum = lane < place ? fetch(words + (at - place + lane) * PIECES) : of_nothing();
        sum = from_last(over_lanes(sum, lane));
        before = level ? join(sum, before) : sum;
        own = join(sum, own);
        tells = tells && place == WARP - 1;
        words += siblings * PIECES;
        siblings = (siblings + WARP - 1) / WARP;
        at /= WARP;
        if (tells && level == 0 && lane == 0) publish(words + at * PIECES, own);
    }
    State all = at ? fetch(words + (at - 1) * PIECES) : of_nothing();
    if (tells && lane == 0) publish(words + at * PIECES, join(all, own));
    return join(all, before);
}

// A warp has RUN neighbours; each lane takes ITEMS of them at a time. `room` starts as 0: a ticket,
// the words of rows.
extern "C" __global__ void __launch_bounds__(THREADS)
scan_rows(V* __restrict__ out, i64* __restrict__ indices, const T* __restrict__ input, u64* room, i64 n, u32 tiles,
          i64 words) {
    __shared__ State of_warp[WARPS], of_row;
    __shared__ u32 ticket;
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    u32 block = room ? take_ticket(room, ticket) : blockIdx.x, row = block / tiles, tile = block % tiles;
    i64 first = (i64)tile * TILE + warp * RUN + lane * ITEMS, base = (i64)row * n;
    State own[CHUNKS][ITEMS];
#pragma unroll
    for (int c = 0; c < CHUNKS; c++)
#pragma unroll
        for (int k = 0; k < ITEMS; k += VECTOR) {
            i64 i = first + c * WARP * ITEMS + k;
            if (i >= n) {
#pragma unroll
                for (int v = 0; v < VECTOR; v++) own[c][k + v] = of_nothing();
                continue;
            }
            Vector<T, VECTOR> pack = load_vector<T, VECTOR>(input + base + i);
#pragma unroll
            for (int v = 0; v < VECTOR; v++) own[c][k + v] = of_element(pack.at[v], i + v);
        }
    State carried = of_nothing();
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
#pragma unroll
        for (int k = 1; k < ITEMS; k++) own[c][k] = join(own[c][k - 1], own[c][k]);
        State up_to = over_lanes(own[c][ITEMS - 1], lane), below = from_below(up_to, 1);
        State earlier = lane ? join(carried, below) : carried;
#pragma unroll
        for (int k = 0; k < ITEMS; k++) own[c][k] = join(earlier, own[c][k]);
        carried = join(carried, from_last(up_to));
    }
    if (lane == 0) of_warp[warp] = carried;
    __syncthreads();
    State earlier = of_nothing(), all = of_nothing();
#pragma unroll 1
    for (int w = 0; w < WARPS; w++) {
        if (w == warp) earlier = all;
        all = join(all, of_warp[w]);
    }
    if (tiles > 1) {
        if (warp == 0) {
            State before = before_tile(room + 1 + row * words, tile, tiles, all, lane);
            if (lane == 0) of_row = before;
        }
        __syncthreads();
        earlier = join(of_row, earlier);
    }
#pragma unroll
    for (int c = 0; c < CHUNKS; c++)
#pragma unroll
        for (int k = 0; k < ITEMS; k += PUT) {
            i64 i = first + c * WARP * ITEMS + k;
            if (i >= n) continue;
            Vector<V, PUT> piece;
#pragma unroll
            for (int v = 0; v < PUT; v++) {
                State found = join(earlier, own[c][k + v]);
                piece.at[v] = narrow<V>(found.value);
#if OP == 2 || OP == 3
                indices[base + i + v] = found.index;
#endif
            }
            store_vector(out + base + i, piece);
        }
}

#else
// ---- planes ------------------------------------------------------------------------------------------------
// Blocks of 32 neighbouring columns, `tiles` of them for each of `outer`, which go over the n once: SHARES times EACH
// elements of a column at a time; each thread holds EACH of them.
enum { EACH = OP < 2 ? 8 : 4 };

extern "C" __global__ void __launch_bounds__(WARP* SHARES, 4)
scan_planes(V* __restrict__ out, i64* __restrict__ indices, const T* __restrict__ input, i64 n, i64 inner, int tiles) {
    __shared__ State of_share[2][SHARES][WARP];            // by turns: one is read while the other is written
    i64 column = blockIdx.x % tiles * (i64)WARP + threadIdx.x, start = blockIdx.x / tiles * n * inner + column;
    bool inside = column < inner;
    State carried = of_nothing();
    int turn = 0;
    for (i64 first = threadIdx.y * EACH; first - threadIdx.y * EACH < n; first += SHARES * EACH, turn ^= 1) {
        State own[EACH];
#pragma unroll
        for (int k = 0; k < EACH; k++)
            own[k] = inside && first + k < n ? of_element(input[start + (first + k) * inner], first + k) : of_nothing();
#pragma unroll
        for (int k = 1; k < EACH; k++) own[k] = join(own[k - 1], own[k]);
        of_share[turn][threadIdx.y][threadIdx.x] = own[EACH - 1];
        __syncthreads();
        State earlier = of_nothing();
#pragma unroll 1
        for (int k = 0; k < SHARES; k++) {
            if (k == threadIdx.y) earlier = carried;
            carried = join(carried, of_share[turn][k][threadIdx.x]);
        }
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (inside && first + k < n) put(out, indices, start + (first + k) * inner, join(earlier, own[k]));
    }
}
#endif
