// Matrix products on tensor cores by mma.sync: 16-bit floats, and float32 rounded to TF32; sums are float32.
//
//   T, U                    dtypes of the operands and of the output
//   TILE_M, TILE_N          the part of the output that a block computes
//   WARP_M, WARP_N          the part of it that a warp keeps in registers: multiples of 16
//   DEPTH, STAGES           how much of the depth a stage holds, and how many stages are in shared memory
//   A_ALONG_K, B_ALONG_K    as in matmul_simt.cu
//   ALIGNED_A, ALIGNED_B    whether chunks of 16 bytes can be copied
//   VECTOR_OUT              1 or 2 neighbours written at once
//   ROW_SUMS                1: the sums of the rows of `a` as well, for each piece of the depth; of 16-bit floats, which
//                           are not rounded on the way
#include "product.cuh"
#include "mma.cuh"

enum {
    WARPS_N = TILE_N / WARP_N,
    THREADS = 32 * (TILE_M / WARP_M) * WARPS_N,
};
typedef SharedTile<T, TILE_M, DEPTH, A_ALONG_K> TileA;
typedef SharedTile<T, TILE_N, DEPTH, B_ALONG_K> TileB;

#ifndef ROW_SUMS
#define ROW_SUMS 0
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
matmul_mma(U* out, const T* a, const T* b, const T* addend, const Product p
#if ROW_SUMS
           , U* row_sums
#endif
) {
    extern __shared__ __align__(128) unsigned char shared[];
    const TilePlace tile = tile_place(p, blockIdx.x, TILE_M, TILE_N);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_m = warp / WARPS_N * WARP_M, warp_n = warp % WARPS_N * WARP_N;
    const int k_begin = blockIdx.y * p.chunk, k_end = min(k_begin + p.chunk, p.depth);
    const int steps = (k_end - k_begin + DEPTH - 1) / DEPTH;
    a += batch_offset(p.a, p, tile.batch);
    b += batch_offset(p.b, p, tile.batch);
    const auto copy = [&](T* tile_a, T* tile_b, int step) {
        const int k = k_begin + step * DEPTH;
        TileA::copy<ALIGNED_A, THREADS>(tile_a, a, p.a.row, p.a.column, tile.row, p.rows, k, k_end);
        TileB::copy<ALIGNED_B, THREADS>(tile_b, b, p.b.column, p.b.row, tile.column, p.columns, k, k_end);
    };
    float sums[WARP_M / 16][WARP_N / 8][4] = {};
#if ROW_SUMS
    const bool mine = tile.column + warp_n == 0;
    float of_rows[WARP_M / 16][4] = {};
    multiply_steps<T, TileA, TileB, DEPTH, STAGES, WARP_M, WARP_N, true>(sums, shared, steps, copy, warp_m, warp_n,
                                                                         mine, of_rows);
    #pragma unroll
    for (int i = 0; i < WARP_M / 8; i++) {
        const int row = tile.row + warp_m + i * 8 + lane / 4;
        if (mine && lane % 4 == 0 && row < p.rows)
            row_sums[blockIdx.y * (i64)p.rows + row] = narrow<U>(of_rows[i / 2][i % 2 * 2]);
    }
#else
    multiply_steps<T, TileA, TileB, DEPTH, STAGES, WARP_M, WARP_N>(sums, shared, steps, copy, warp_m, warp_n);
#endif

    out += batch_offset(p.out, p, tile.batch) + blockIdx.y * p.split_stride;
    if (addend) addend += batch_offset(p.addend, p, tile.batch);
    #pragma unroll
    for (int i = 0; i < WARP_M / 8; i++)
        write_pairs<VECTOR_OUT == 2, WARP_N / 8>(out, [&](int j) { return sums[i / 2][j] + i % 2 * 2; }, addend, p,
                                                 tile.row + warp_m + i * 8 + lane / 4,
                                                 tile.column + warp_n + lane % 4 * 2);
}
