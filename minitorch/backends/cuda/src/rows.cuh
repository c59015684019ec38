// What kernels that work on rows share: how a row is spread over threads and held in registers, and its reductions.
//
// A kernel of this kind is compiled for T, the dtype of its arrays. It computes in Wide: float64 for float64, float32
// for the others. A row is dealt with by THREADS threads (threadIdx.x), ROWS rows by a block (threadIdx.y, only where
// THREADS is 32), in packs of VECTOR elements, which lie in 16 aligned bytes where the rows allow it. A row may have
// CLUSTER blocks, THREADS threads each, which tell each other what their parts of it amount to.
#pragma once
#include "packs.cuh"
#if PARKED
#include "async.cuh"
#endif
#ifndef CLUSTER
#define CLUSTER 1
#endif
#if CLUSTER > 1
#include "cluster.cuh"
#define CLUSTERED __cluster_dims__(CLUSTER, 1, 1)
#else
#define CLUSTERED
__device__ __forceinline__ void begin_together() {}
__device__ __forceinline__ void await_others() {}
#endif

#ifndef ROWS
#define ROWS 1
#endif

typedef compute<T> Wide;

__device__ __forceinline__ int this_block() { return blockIdx.x % CLUSTER; }  // of those of the row

// The lowest finite number: a maximum that starts from it is never -inf, so that no difference is inf - inf.
__device__ __forceinline__ Wide lowest() { return sizeof(Wide) == 8 ? -1.7976931348623157e308 : -3.402823466e38f; }
__device__ __forceinline__ Wide infinity() { return __int_as_float(0x7f800000); }
__device__ __forceinline__ float larger(float a, float b) { return fmaxf(a, b); }
__device__ __forceinline__ double larger(double a, double b) { return fmax(a, b); }

// ---- packs -------------------------------------------------------------------------------------------------
// VECTOR neighbouring elements, moved by one instruction.
__device__ __forceinline__ void load_pack(Wide (&x)[VECTOR], const T* from) {
    Vector<T, VECTOR> pack = load_vector<T, VECTOR>(from);
#pragma unroll
    for (int v = 0; v < VECTOR; v++) x[v] = widen(pack.at[v]);
}

__device__ __forceinline__ void store_pack(T* to, const Wide (&x)[VECTOR]) {
    Vector<T, VECTOR> pack;
#pragma unroll
    for (int v = 0; v < VECTOR; v++) pack.at[v] = narrow<T>(x[v]);
    store_vector(to, pack);
}

// ---- reductions over the threads of a row ------------------------------------------------------------------
struct Larger {                                            // one instruction; passes over NaN
    template <class X> __device__ __forceinline__ X operator()(X a, X b) const { return larger(a, b); }
};

template <class X> __device__ __forceinline__ X from_lane(X x, int distance) {
    return __shfl_xor_sync(ALL_LANES, x, distance);
}

#ifdef THREADS
__device__ __forceinline__ i64 this_row() { return blockIdx.x / CLUSTER * (i64)ROWS + threadIdx.y; }

// `combine` over all threads of the row, which all get the result; the same order in every run. X is a number, or a
// struct for which from_lane is overloaded. There are two buffers: where reductions of one type take `turn` 0 and 1
// by turns, no barrier is needed between one and the next. In a cluster each warp writes to all blocks, so that one
// barrier is enough; it is called after `await_others`.
template <class X, class Combine> __device__ __forceinline__ X over_row(X x, Combine combine, int turn) {
#pragma unroll
    for (int distance = WARP / 2; distance; distance /= 2) x = combine(x, from_lane(x, distance));
#if CLUSTER > 1
    enum { WARPS = THREADS / WARP, ALL = CLUSTER * WARPS, READ = ALL < WARP ? ALL : WARP };
    __shared__ X of_warp[2][ALL];
    int lane = threadIdx.x % WARP;
    if (lane < CLUSTER) *in_block(&of_warp[turn][this_block() * WARPS + threadIdx.x / WARP], lane) = x;
    sync_cluster();
    x = of_warp[turn][lane % READ];
#pragma unroll
    for (int k = READ; k < ALL; k += READ) x = combine(x, of_warp[turn][k + lane % READ]);
#pragma unroll
    for (int distance = READ / 2; distance; distance /= 2) x = combine(x, from_lane(x, distance));
#elif THREADS > 32
    enum { WARPS = THREADS / WARP };
    __shared__ X of_warp[2][WARPS];
    if (threadIdx.x % WARP == 0) of_warp[turn][threadIdx.x / WARP] = x;
    __syncthreads();
    x = of_warp[turn][threadIdx.x % WARPS];
#pragma unroll
    for (int distance = WARPS / 2; distance; distance /= 2) x = combine(x, from_lane(x, distance));
#endif
    return x;
}
#endif

#ifdef ITEMS
// ---- rows in registers -------------------------------------------------------------------------------------
// Each thread holds ITEMS elements: ITEMS / VECTOR packs, as many packs apart as the row has
// threads. If they take so many registers that a multiprocessor has room for one block only, which
// then waits while it loads and while it stores, PARKED of them are put into dynamic shared memory
// as they are: each thread reads its own there, so that there is no barrier.
#ifndef PARKED
#define PARKED 0
#endif
enum { PARKED_PACKS = PARKED / VECTOR, PACKS = ITEMS / VECTOR - (PARKED < ITEMS ? PARKED_PACKS : 0) };
enum { RESIDENT = 1024 / (THREADS * ROWS) };               // blocks of 64 registers a thread
__device__ __forceinline__ int pack_column(int pack) {
    return ((pack * CLUSTER + this_block()) * THREADS + threadIdx.x) * VECTOR;
}

// True if a pack belongs to the row; WHOLE: all do.
#ifndef WHOLE
#define WHOLE 0
#endif
__device__ __forceinline__ bool in_row(int pack, int columns) { return WHOLE || pack_column(pack) < columns; }

__device__ __forceinline__ void load_row(Wide (&x)[PACKS][VECTOR], const T* row, int columns, Wide beyond) {
#pragma unroll
    for (int p = 0; p < PACKS; p++) {
        if (in_row(p, columns)) {
            load_pack(x[p], row + pack_column(p));
        } else {
#pragma unroll
            for (int v = 0; v < VECTOR; v++) x[p][v] = beyond;
        }
    }
}

__device__ __forceinline__ void store_row(T* row, const Wide (&x)[PACKS][VECTOR], int columns) {
#pragma unroll
    for (int p = 0; p < PACKS; p++)
        if (in_row(p, columns)) store_pack(row + pack_column(p), x[p]);
}

template <class Combine> __device__ __forceinline__ Wide fold(const Wide (&x)[PACKS][VECTOR], Combine combine) {
    Wide total = x[0][0];
#pragma unroll
    for (int p = 0; p < PACKS; p++)
#pragma unroll
        for (int v = 0; v < VECTOR; v++)
            if (p || v) total = combine(total, x[p][v]);
    return total;
}

#if PARKED
// The packs of a row from `FIRST` on, parked. Loads that take no registers: `arrived` waits for this thread's.
enum { FIRST = PARKED < ITEMS ? PACKS : 0 };
extern __shared__ __align__(16) char parked_bytes[];

__device__ __forceinline__ T* parked(int p) {
    return reinterpret_cast<T*>(parked_bytes) + ((p - FIRST) * THREADS + threadIdx.x) * VECTOR;
}

__device__ __forceinline__ void park_row(const T* row, int columns, Wide beyond) {
#pragma unroll
    for (int p = FIRST; p < FIRST + PARKED_PACKS; p++) {
        if (in_row(p, columns)) {
            copy_async<VECTOR * sizeof(T)>(parked(p), row + pack_column(p), VECTOR * sizeof(T));
        } else {
            Wide x[VECTOR];
#pragma unroll
            for (int v = 0; v < VECTOR; v++) x[v] = beyond;
            store_pack(parked(p), x);
        }
    }
}

__device__ __forceinline__ void arrived() {
    commit_copies();
    wait_copies<0>();
}

// For each parked pack `each(p, x)`, x what it holds.
template <class Each> __device__ __forceinline__ void over_parked(Each each) {
#pragma unroll
    for (int p = FIRST; p < FIRST + PARKED_PACKS; p++) {
        Wide x[VECTOR];
        load_pack(x, parked(p));
        each(p, x);
    }
}
#else
__device__ __forceinline__ void park_row(const T*, int, Wide) {}
__device__ __forceinline__ void arrived() {}
template <class Each> __device__ __forceinline__ void over_parked(Each) {}
#endif

// x[p][v] = expression, for all elements of the row.
#define EACH(p, v)                                   \
    _Pragma("unroll") for (int p = 0; p < PACKS; p++) \
        _Pragma("unroll") for (int v = 0; v < VECTOR; v++)
#endif
