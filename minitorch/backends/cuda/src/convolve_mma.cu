// Convolution in one to three dimensions and its gradients on tensor cores: 16-bit floats, and float32 rounded to TF32;
// sums are float32. A product of matrices whose one operand is gathered from images on the way into shared memory.
//
// Images lie with their channels last, filled up to whole chunks of 16 bytes, so that a chunk of a tile is one in memory
// too, and is copied asynchronously, as in matmul_mma.cu.
//
//   T, U             dtypes of the operands and of the output
//   WEIGHT           0: out[output, pixel] = sum over taps and channels of left[output, tap, channel] * window[...];
//                    the gradient of the input is the same sum over the gradient, for each residue of the stride.
//                    1: out[output, tap, channel] = sum over pixels of left[pixel, output] * window[...]
//   TILE_M, TILE_N, WARP_M, WARP_N, DEPTH, STAGES   as in matmul_mma.cu
//   DENSE            whether all pixels of the output are written, which lie one behind the other (WEIGHT 0)
//   VECTOR_OUT       1 or 2 neighbours written at once
#include "product.cuh"
#include "mma.cuh"
#include "patches.cuh"

enum {
    WARPS_N = TILE_N / WARP_N,
    THREADS = 32 * (TILE_M / WARP_M) * WARPS_N,
};
typedef SharedTile<T, TILE_M, DEPTH, !WEIGHT> TileA;
typedef SharedTile<T, TILE_N, DEPTH, !WEIGHT> TileB;
enum { PASS = THREADS / TileB::CHUNKS, COUNT = TileB::LINES / PASS };  // lines that the threads copy at a time

// The gathered operand: a thread has one chunk of some lines. Where pixels are lines for the whole sum, it keeps them,
// and has another tap in each step; where they are the depth, it keeps a tap.
struct Gathered {
    const T* images;
    Pixel pixels[WEIGHT ? 1 : COUNT];
    Tap tap;

    static __device__ __forceinline__ int line() { return threadIdx.x / TileB::CHUNKS; }
    static __device__ __forceinline__ int step() { return threadIdx.x % TileB::CHUNKS * TileB::PER_CHUNK; }

    __device__ __forceinline__ Gathered(const T* images, const Patches& p, int group, int first)
        : images(images + group * p.channels.by) {
        if constexpr (WEIGHT) tap = tap_of(p, first + step(), p.columns);
        else
            #pragma unroll
            for (int i = 0; i < COUNT; i++) pixels[i] = pixel_of(p, first + line() + i * PASS, p.columns);
    }
    __device__ __forceinline__ void copy(T* tile, const Patches& p, int k, int k_end) {
        if constexpr (!WEIGHT) tap = tap_of(p, k + step(), k_end);
        #pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const Pixel pixel = WEIGHT ? pixel_of(p, k + line() + i * PASS, k_end) : pixels[WEIGHT ? 0 : i];
            copy_async<16>(TileB::chunk(tile, line() + i * PASS, threadIdx.x % TileB::CHUNKS),
                           images + offset_of(p, pixel, tap), inside(p, pixel, tap) ? 16 : 0);
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS)
convolve_mma(U* out, const T* left, const T* images, const T* bias, const Patches p) {
    extern __shared__ __align__(128) unsigned char shared[];
    const TilePlace tile = tile_place(p, blockIdx.x, TILE_M, TILE_N);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_m = warp / WARPS_N * WARP_M, warp_n = warp % WARPS_N * WARP_N;
    const int group = tile.batch, k_begin = blockIdx.y * p.chunk, k_end = min(k_begin + p.chunk, p.depth);
    const int steps = (k_end - k_begin + DEPTH - 1) / DEPTH;
    Gathered next(images, p, group, tile.column);
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

    #pragma unroll
    for (int j = 0; j < WARP_N / 8; j++)
        #pragma unroll
        for (int v = 0; v < 2; v += VECTOR_OUT) {
            const int column = tile.column + warp_n + j * 8 + lane % 4 * 2 + v;
            if (column >= p.columns) continue;
            const i64 place = WEIGHT ? column + blockIdx.y * p.split_stride : output_of<DENSE>(p, group, column);
            const i64 row_stride = WEIGHT ? p.columns : output_plane(p);
            #pragma unroll
            for (int i = 0; i < WARP_M / 8; i++) {
                const int row = tile.row + warp_m + i * 8 + lane / 4;
                if (row >= p.rows) continue;
                const float add = bias ? to_float(bias[group * p.rows + row]) : 0;
                Vector<U, VECTOR_OUT> done;
                #pragma unroll
                for (int w = 0; w < VECTOR_OUT; w++) done.at[w] = narrow<U>(sums[i / 2][j][i % 2 * 2 + v + w] + add);
                store_vector(out + place + (WEIGHT ? (i64)group * p.rows + row : row) * row_stride, done);
            }
        }
}
