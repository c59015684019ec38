// How a block of threads multiplies on CUDA cores: tiles in shared memory, their way into it, and sums in registers.
//
// See matmul_simt.cu for T, U, TILE_M, TILE_N, THREAD_M, THREAD_N and DEPTH. While a tile of each operand is multiplied
// out of shared memory, the next ones are under way into registers; then they are put into the other half of the shared
// memory, so that there is one barrier a step.
#pragma once
#include "product.cuh"

typedef compute<T> Acc;
enum {
    LANES_M = 4, LANES_N = 8,                              // how the lanes of a warp lie over its part of the tile
    WARPS_N = TILE_N / (LANES_N * THREAD_N),
    WARPS = TILE_M / (LANES_M * THREAD_M) * WARPS_N,
    THREADS = 32 * WARPS,
};

// In shared memory a tile lies [k][place], place being a row of `a` or a column of `b`. Where it was read along k, four
// neighbours in k are written to four different lines; places are exchanged so that the 32 lanes of a warp, which write
// to DEPTH / 4 such groups of lines at a time, write to 32 different banks.
__device__ __forceinline__ int exchanged(bool along_k, int k, int place) {
    return along_k ? place ^ k / 4 * (128 / DEPTH) : place;
}

// A thread's share of a tile on its way from global to shared memory. Memory is read line by line:
// a line is a row of `a` (ALONG_K), or a column, and so on; the thread reads VECTOR elements at
// `step` of each LINES-th line.
template <int PLACES, int VECTOR, bool ALONG_K> struct Held {
    enum {
        PER_LINE = (ALONG_K ? DEPTH : PLACES) / VECTOR,
        LINES = THREADS / PER_LINE,
        COUNT = (ALONG_K ? PLACES : DEPTH) / LINES,
    };
    Vector<T, VECTOR> held[COUNT];

    static __device__ __forceinline__ int line() { return threadIdx.x / PER_LINE; }
    static __device__ __forceinline__ int step() { return threadIdx.x % PER_LINE * VECTOR; }
    static __device__ __forceinline__ int my_place() { return ALONG_K ? line() : step(); }
    static __device__ __forceinline__ int my_k() { return ALONG_K ? step() : line(); }

    __device__ __forceinline__ void put(Acc* tile) const {
        #pragma unroll
        for (int i = 0; i < COUNT; i++) {
            if constexpr (ALONG_K) {
                #pragma unroll
                for (int j = 0; j < VECTOR; j++) {
                    const int k = step() + j;
                    tile[k * PLACES + exchanged(true, k, line() + i * LINES)] = widen(held[i].at[j]);
                }
            } else {
                Vector<Acc, VECTOR> wide;
                #pragma unroll
                for (int j = 0; j < VECTOR; j++) wide.at[j] = widen(held[i].at[j]);
                store_vector(tile + (line() + i * LINES) * PLACES + step(), wide);
            }
        }
    }
};

// A tile of a matrix with strides: VECTOR elements of a line are neighbours, if they are more than one.
template <int PLACES, int VECTOR, bool ALONG_K> struct Tile : Held<PLACES, VECTOR, ALONG_K> {
    typedef Held<PLACES, VECTOR, ALONG_K> Base;
    const T* next;
    i64 place_stride, k_stride;
    int first, places, k, k_end;

    __device__ __forceinline__ Tile(const T* data, i64 place_stride, i64 k_stride, int first, int places, int k,
                                    int k_end)
        : next(data + (first + Base::my_place()) * place_stride + (k + Base::my_k()) * k_stride),
          place_stride(place_stride), k_stride(ALONG_K && VECTOR > 1 ? 1 : k_stride), first(first + Base::my_place()),
          places(places), k(k + Base::my_k()), k_end(k_end) {}

    __device__ __forceinline__ void fetch() {
        #pragma unroll
        for (int i = 0; i < Base::COUNT; i++) {
            const int further = i * Base::LINES;
            bool inside = ALONG_K ? first + further < places && k < k_end : first < places && k + further < k_end;
            if (inside)
                this->held[i] = load_vector<T, VECTOR>(next + i * Base::LINES * (ALONG_K ? place_stride : k_stride));
            else
                #pragma unroll
                for (int j = 0; j < VECTOR; j++) this->held[i].at[j] = narrow<T>(Acc(0));
        }
        next += DEPTH * k_stride;
        k += DEPTH;
    }
};

// Four neighbours out of shared memory.
__device__ __forceinline__ void load_four(Acc* x, const Acc* from) {
    const Vector<Acc, 4> four = load_vector<Acc, 4>(from);
    #pragma unroll
    for (int i = 0; i < 4; i++) x[i] = four.at[i];
}

// Which four rows and columns of the tile are this thread's first; the i-th is in_groups(i, lanes) further.
struct Place {
    int row, column;
};
__device__ __forceinline__ Place thread_place() {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    return {warp / WARPS_N * LANES_M * THREAD_M + lane / LANES_N * 4,
            warp % WARPS_N * LANES_N * THREAD_N + lane % LANES_N * 4};
}
__device__ __forceinline__ int in_groups(int i, int lanes) { return i / 4 * 4 * lanes + i % 4; }

// sums = a @ b over the depth from k_begin to k_end. `next_a` and `next_b` hold tiles, fetch the next one and put it.
// SUM_ROWS: of_rows is the sum of each row of `a` too.
template <bool A_TURNED, bool B_TURNED, bool SUM_ROWS = false, class TileA, class TileB>
__device__ __forceinline__ void multiply(Acc (&sums)[THREAD_M][THREAD_N], TileA& next_a, TileB& next_b, Place place,
                                         int k_begin, int k_end, Acc* of_rows = nullptr) {
    __shared__ __align__(32) Acc tiles_a[2][DEPTH * TILE_M], tiles_b[2][DEPTH * TILE_N];
    next_a.fetch();
    next_b.fetch();
    next_a.put(tiles_a[0]);
    next_b.put(tiles_b[0]);
    __syncthreads();
    for (int k0 = k_begin, stage = 0; k0 < k_end; k0 += DEPTH, stage ^= 1) {
        const bool more = k0 + DEPTH < k_end;
        if (more) {
            next_a.fetch();
            next_b.fetch();
        }
        #pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            Acc x[THREAD_M], y[THREAD_N];
            #pragma unroll
            for (int i = 0; i < THREAD_M; i += 4)
                load_four(x + i, tiles_a[stage] + k * TILE_M + exchanged(A_TURNED, k, place.row + i * LANES_M));
            #pragma unroll
            for (int j = 0; j < THREAD_N; j += 4)
                load_four(y + j, tiles_b[stage] + k * TILE_N + exchanged(B_TURNED, k, place.column + j * LANES_N));
            #pragma unroll
            for (int i = 0; i < THREAD_M; i++) {
                if constexpr (SUM_ROWS) of_rows[i] += x[i];
                #pragma unroll
                for (int j = 0; j < THREAD_N; j++) sums[i][j] += x[i] * y[j];
            }
        }
        if (more) {
            next_a.put(tiles_a[stage ^ 1]);
            next_b.put(tiles_b[stage ^ 1]);
            __syncthreads();
        }
    }
}
