// Convolution in one to three dimensions and its gradients on tensor cores: 16-bit floats, and float32 that was rounded to TF32;
// sums are float32. A product of matrices whose one operand is gathered from images on the way into shared memory.
//
// Images have their channels last, padded to whole chunks of 16 bytes, so that a chunk of a tile is
// contiguous in memory too, and is copied asynchronously, as in matmul_mma.cu.
//
//   T, U             dtypes of the operands and of the output
//   WEIGHT           0: out[output, pixel] = sum over taps and channels of left[output, tap, channel] * window[...];
//                    the gradient of the input is the same sum over the gradient, for each residue of the stride.
//                    1: out[output, tap, channel] = sum over pixels of left[pixel, output] * window[...]
//   TILE_M, TILE_N, WARP_M, WARP_N, DEPTH, STAGES   as in matmul_mma.cu
//   DENSE            whether all pixels of the output are written, which lie one behind the other (WEIGHT 0)
//   VECTOR_OUT       1 or 2 neighbours written at once
//   VOLUME           whether there are three dimensions
#include "product.cuh"
#include "mma.cuh"
#include "patches.cuh"

enum {
    WARPS_N = TILE_N / WARP_N,
    THREADS = 32 * (TILE_M / WARP_M) * WARPS_N,
};
typedef SharedTile<T, TILE_M, DEPTH, !WEIGHT, false> TileA;
typedef SharedTile<T, TILE_N, DEPTH, !WEIGHT, false> TileB;

extern "C" __global__ void __launch_bounds__(THREADS)
convolve_mma(U* out, const T* left, const T* images, const T* bias, const Patches p) {
    extern __shared__ __align__(128) unsigned char shared[];
    const TilePlace tile = tile_place(p, blockIdx.x, TILE_M, TILE_N);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_m = warp / WARPS_N * WARP_M, warp_n = warp % WARPS_N * WARP_N;
    const int group = tile.batch, k_begin = blockIdx.y * p.chunk, k_end = min(k_begin + p.chunk, p.depth);
    const int steps = (k_end - k_begin + DEPTH - 1) / DEPTH;
    Gathered<TileB, THREADS> next(images, p, group, tile.column);
    left += WEIGHT ? (i64)group * p.left_row : (i64)group * p.rows * p.depth;
    const auto copy = [&](T* tile_a, T* tile_b, int step) {
        const int k = k_begin + step * DEPTH;
        if constexpr (WEIGHT)
            TileA::copy<true, THREADS>(tile_a, left, 1, (i64)p.groups * p.left_row, tile.row, p.left_row, k, k_end);
        else TileA::copy<true, THREADS>(tile_a, left, p.depth, 1, tile.row, p.rows, k, k_end);
        next.copy(tile_b, p, k, k_end);
    };
    float sums[WARP_M / 16][WARP_N / 8][4] = {};
    multiply_steps<T, TileA, TileB, DEPTH, STAGES, WARP_M, WARP_N>(sums, shared, steps, copy, warp_m, warp_n);

    write_windows<WARP_M / 8, WARP_N / 8>(
        out + blockIdx.y * p.split_stride, [&](int i, int j) { return sums[i / 2][j] + i % 2 * 2; }, bias, p, group,
        tile.row + warp_m + lane / 4, tile.column + warp_n + lane % 4 * 2);
}
