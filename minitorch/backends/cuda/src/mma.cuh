// Tensor cores and asynchronous copies of compute capability 8.0 and later: the instructions that CUDA C++ has no name
// for, and how tiles lie in shared memory for them. Layouts of fragments: PTX ISA, "Matrix Fragments for mma".
#pragma once
#include "async.cuh"

// ---- products of a warp ------------------------------------------------------------------------------------
// d += a @ b for a of 16 rows and b of 8 columns, with 32 bytes of depth: 16 16-bit floats, or 8 float32 taken as TF32.
#define MMA(SHAPE, TYPE)                                                                                              \
    asm volatile("mma.sync.aligned." SHAPE ".row.col.f32." TYPE "." TYPE ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "         \
                 "{%8,%9}, {%0,%1,%2,%3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                           \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
template <class X> struct Mma;
template <> struct Mma<float> {
    static __device__ __forceinline__ void add(float* d, const u32* a, const u32* b) { MMA("m16n8k8", "tf32"); }
};
#ifdef NEEDS_FP16
template <> struct Mma<__half> {
    static __device__ __forceinline__ void add(float* d, const u32* a, const u32* b) { MMA("m16n8k16", "f16"); }
};
#endif
#ifdef NEEDS_BF16
template <> struct Mma<__nv_bfloat16> {
    static __device__ __forceinline__ void add(float* d, const u32* a, const u32* b) { MMA("m16n8k16", "bf16"); }
};
#endif

// Four 8 x 8 matrices of 16-bit elements (or 8 x 4 of 32-bit ones) with rows of 16 bytes: lane i
// gives the address of row i % 8 of matrix i / 8. Lane i gets, of each, the elements 2 (i % 4) and
// 2 (i % 4) + 1 of row i / 4; of the transposed matrices, if TRANSPOSED.
template <bool TRANSPOSED> __device__ __forceinline__ void load_matrices(u32 (&r)[4], const void* row) {
    if constexpr (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(row)) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(row)) : "memory");
}

// ---- tiles in shared memory --------------------------------------------------------------------------------
// A tile of PLACES x SPAN elements of X (a place is a row of `a` or a column of `b`; SPAN is depth)
// consists of lines that are contiguous in global memory too: a line for each place (ALONG_K), or
// for each k. Within a line its chunks of 16 bytes are exchanged, so that the eight chunks that are
// read together lie in different banks.
// ROUND: float32 is rounded to TF32 when fragments are loaded; otherwise it is TF32 already.
template <class X, int PLACES, int SPAN, bool ALONG_K, bool ROUND = true> struct SharedTile {
    enum {
        PER_CHUNK = 16 / sizeof(X),
        LINES = ALONG_K ? PLACES : SPAN,
        CHUNKS = (ALONG_K ? SPAN : PLACES) / PER_CHUNK,   // of a line
        BYTES = LINES * CHUNKS * 16,
    };

    static __device__ __forceinline__ X* chunk(X* tile, int line, int chunk) {
        int turned;
        if constexpr (!ALONG_K && sizeof(X) == 4) turned = chunk ^ line % 4 * 2;       // read as four k of eight places
        else if constexpr (CHUNKS >= 8) turned = chunk ^ line % 8;
        else turned = chunk ^ line / (8 / CHUNKS) % CHUNKS;
        return tile + (line * CHUNKS + turned) * PER_CHUNK;
    }

    // The fragment of `a` for 16 places and 32 bytes of depth from `place` and `k` on.
    static __device__ __forceinline__ void load_a(u32 (&r)[4], X* tile, int place, int k) {
        const int lane = threadIdx.x % 32;
        if constexpr (ALONG_K) {
            load_matrices<false>(r, chunk(tile, place + lane % 16, k / PER_CHUNK + lane / 16));
        } else if constexpr (sizeof(X) == 2) {
            load_matrices<true>(r, chunk(tile, k + lane % 8 + lane / 16 * 8, place / PER_CHUNK + lane / 8 % 2));
        } else {
            #pragma unroll
            for (int i = 0; i < 4; i++) r[i] = element(tile, k + lane % 4 + i / 2 * 4, place + lane / 4 + i % 2 * 8);
        }
        round(r);
    }

    // The fragments of `b` for twice 8 places: r[0] and r[1], r[2] and r[3].
    static __device__ __forceinline__ void load_b(u32 (&r)[4], X* tile, int place, int k) {
        const int lane = threadIdx.x % 32;
        if constexpr (ALONG_K) {
            load_matrices<false>(r, chunk(tile, place + lane % 8 + lane / 16 * 8, k / PER_CHUNK + lane / 8 % 2));
        } else if constexpr (sizeof(X) == 2) {
            load_matrices<true>(r, chunk(tile, k + lane % 16, place / PER_CHUNK + lane / 16));
        } else {
            #pragma unroll
            for (int i = 0; i < 4; i++) r[i] = element(tile, k + lane % 4 + i % 2 * 4, place + lane / 4 + i / 2 * 8);
        }
        round(r);
    }

    static __device__ __forceinline__ void round(u32 (&r)[4]) {
        if constexpr (ROUND && sizeof(X) == 4)
            #pragma unroll
            for (int i = 0; i < 4; i++) r[i] = __float_as_uint(to_tf32(__uint_as_float(r[i])));
    }

    static __device__ __forceinline__ u32 element(X* tile, int line, int place) {
        return __float_as_uint(chunk(tile, line, place / PER_CHUNK)[place % PER_CHUNK]);
    }

    // Begins to copy the tile at `first` and `k0` of a matrix with `places` and `k_end`; what lies outside becomes 0.
    // BY_CHUNKS: memory is contiguous along lines, and every line begins at a multiple of 16 bytes.
    template <bool BY_CHUNKS, int THREADS>
    static __device__ __forceinline__ void copy(X* tile, const X* data, i64 place_stride, i64 k_stride, int first,
                                                int places, int k0, int k_end) {
        enum { PASS = THREADS / CHUNKS };                  // lines that the threads copy at a time
        static_assert(LINES % PASS == 0, "threads copy whole lines, and as many each");
        const int line = threadIdx.x / CHUNKS, step = threadIdx.x % CHUNKS * PER_CHUNK;
        X* to_line = chunk(tile, line, threadIdx.x % CHUNKS);
        const int place = first + (ALONG_K ? line : step), k = k0 + (ALONG_K ? step : line);
        const i64 line_stride = ALONG_K ? place_stride : k_stride, stride = ALONG_K ? k_stride : place_stride;
        const X* from_line = data + place * place_stride + k * k_stride;
        const int along = ALONG_K ? k_end - k : places - place;        // elements from here to the end of the line
        const int some = along > 0 ? min(along, (int)PER_CHUNK) : 0;
        #pragma unroll
        for (int i = 0; i < LINES / PASS; i++) {
            const int inside = (ALONG_K ? place + i * PASS < places : k + i * PASS < k_end) ? some : 0;
            X* to = PASS % 8 ? chunk(tile, line + i * PASS, threadIdx.x % CHUNKS)       // exchanged as in the first
                             : to_line + i * PASS * CHUNKS * PER_CHUNK;
            const X* from = from_line + i * PASS * line_stride;        // not read where nothing is inside
            if constexpr (BY_CHUNKS) {
                copy_async<16>(to, from, inside * sizeof(X));
            } else if constexpr (sizeof(X) == 4) {
                #pragma unroll
                for (int j = 0; j < PER_CHUNK; j++)
                    copy_async<4>(to + j, j < inside ? from + j * stride : data, j < inside ? 4 : 0);
            } else {
                Vector<X, PER_CHUNK> held;
                #pragma unroll
                for (int j = 0; j < PER_CHUNK; j++) held.at[j] = j < inside ? from[j * stride] : narrow<X>(0);
                store_vector(to, held);
            }
        }
    }
};

// Two 16-bit ones side by side.
template <class X> __device__ __forceinline__ u32 pair_of_ones() {
    const Vector<X, 2> pair = {from_float<X>(1), from_float<X>(1)};
    return *reinterpret_cast<const u32*>(&pair);
}

// sums += a @ b for the part of two tiles that is a warp's, from `warp_m` and `warp_n` on. SUM_ROWS: of_rows += a times a
// matrix of ones, for warps with `mine`.
template <class X, class TileA, class TileB, int SPAN, int ROWS, int COLUMNS, bool SUM_ROWS = false>
__device__ __forceinline__ void multiply_tiles(float (&sums)[ROWS / 16][COLUMNS / 8][4], X* a, X* b, int warp_m,
                                               int warp_n, bool mine = false, float (*of_rows)[4] = nullptr) {
    #pragma unroll
    for (int k = 0; k < SPAN; k += 32 / (int)sizeof(X)) { // the depth of one mma
        u32 x[ROWS / 16][4], y[COLUMNS / 16][4];
        #pragma unroll
        for (int i = 0; i < ROWS / 16; i++) TileA::load_a(x[i], a, warp_m + i * 16, k);
        #pragma unroll
        for (int j = 0; j < COLUMNS / 16; j++) TileB::load_b(y[j], b, warp_n + j * 16, k);
        #pragma unroll
        for (int i = 0; i < ROWS / 16; i++)
            #pragma unroll
            for (int j = 0; j < COLUMNS / 8; j++) Mma<X>::add(sums[i][j], x[i], y[j / 2] + j % 2 * 2);
        if constexpr (SUM_ROWS)
            if (mine) {
                const u32 ones[2] = {pair_of_ones<X>(), pair_of_ones<X>()};
                #pragma unroll
                for (int i = 0; i < ROWS / 16; i++) Mma<X>::add(of_rows[i], x[i], ones);
            }
    }
}

// sums = a @ b for the part of a block's tiles that is a warp's, over `steps` steps of SPAN of the depth;
// `copy(a, b, step)` begins to copy the tiles of a step. They go to a ring of stages in shared memory, RING - 1 steps
// ahead. The one barrier of a step says two things: that everybody's copies for this step have arrived, and that
// everybody has done with the stage that is filled next.
template <class X, class TileA, class TileB, int SPAN, int RING, int ROWS, int COLUMNS, bool SUM_ROWS = false, class Copy>
__device__ __forceinline__ void multiply_steps(float (&sums)[ROWS / 16][COLUMNS / 8][4], unsigned char* shared,
                                               int steps, const Copy& copy, int warp_m, int warp_n,
                                               bool mine = false, float (*of_rows)[4] = nullptr) {
    const auto stage_a = [&](int step) { return (X*)(shared + step % RING * (TileA::BYTES + TileB::BYTES)); };
    const auto stage_b = [&](int step) { return (X*)((unsigned char*)stage_a(step) + TileA::BYTES); };
    const auto begin = [&](int step) {
        if (step < steps) copy(stage_a(step), stage_b(step), step);
        commit_copies();
    };
    #pragma unroll
    for (int step = 0; step < RING - 1; step++) begin(step);
    for (int step = 0; step < steps; step++) {
        wait_copies<RING - 2>();
        __syncthreads();
        begin(step + RING - 1);
        multiply_tiles<X, TileA, TileB, SPAN, ROWS, COLUMNS, SUM_ROWS>(sums, stage_a(step), stage_b(step), warp_m,
                                                                       warp_n, mine, of_rows);
    }
}
