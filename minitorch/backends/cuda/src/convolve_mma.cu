// Convolution of 16-bit floats and its gradients on tensor cores: as convolve.cu, with the products of matmul_mma.cu.
//
//   T, U             dtypes of the operands and of the output
//   TASK, KH, KW     as in windows.cuh
//   TILE_M, TILE_N   the part of the output that a block computes; WARP_M, WARP_N: that of a warp
//   ALIGNED          whether rows of the weight can be copied by chunks of 16 bytes (TASK 0 and 1)
//   VECTOR_OUT       1 or 2 neighbours written at once
//
// What is gathered goes through registers: eight neighbours in place (TASK 0 and 1) or in depth (TASK 2) make a chunk of
// a tile. While one stage is multiplied, the chunks of the next are read; there are two stages, and one barrier a step.
#include "product.cuh"
#include "mma.cuh"
#include "windows.cuh"

enum {
    DEPTH = 32,
    WARPS_N = TILE_N / WARP_N,
    THREADS = 32 * (TILE_M / WARP_M) * WARPS_N,
    CHUNK = 8,
};
typedef SharedTile<T, TILE_M, DEPTH, true> TileA;
typedef SharedTile<T, TILE_N, DEPTH, TASK == 2> TileB;

// Chunks of a tile in the registers of its threads.
template <class Shared> struct Chunks {
    enum { PASS = THREADS / Shared::CHUNKS, COUNT = Shared::LINES / PASS };
    Vector<T, CHUNK> held[COUNT];

    static __device__ __forceinline__ int line() { return threadIdx.x / Shared::CHUNKS; }
    static __device__ __forceinline__ int step() { return threadIdx.x % Shared::CHUNKS * CHUNK; }
    __device__ __forceinline__ void put(T* tile) const {
        #pragma unroll
        for (int i = 0; i < COUNT; i++)
            store_vector(Shared::chunk(tile, line() + i * PASS, threadIdx.x % Shared::CHUNKS), held[i]);
    }
};

// The gathered operand, where pixels are places: this thread has eight pixels, and takes tap after tap.
struct ByPlace : Chunks<TileB> {
    Pixel pixels[CHUNK];
    int first;

    __device__ __forceinline__ ByPlace(const Convolution& c, int group, int first) : first(first + step()) {
        #pragma unroll
        for (int v = 0; v < CHUNK; v++) pixels[v] = pixel_of(c, group, this->first + v);
    }
    __device__ __forceinline__ void fetch(const T* images, const Convolution& c, int group, int k0, int k_end) {
        #pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int k = k0 + line() + i * PASS;
            const Tap tap = tap_of(c, k);
            #pragma unroll
            for (int v = 0; v < CHUNK; v++)
                held[i].at[v] = k < k_end && first + v < c.columns ? gathered(images, c, pixels[v], tap) : narrow<T>(0);
        }
    }
};

// The same where pixels are the depth: eight pixels a step, for some taps.
struct ByDepth : Chunks<TileB> {
    int first;

    __device__ __forceinline__ ByDepth(const Convolution& c, int group, int first) : first(first + line()) {}
    __device__ __forceinline__ void fetch(const T* images, const Convolution& c, int group, int k0, int k_end) {
        const unsigned k = k0 + step();
        unsigned x = k % grid_width(c), y = k / grid_width(c) % grid_height(c);
        unsigned image = k / grid_width(c) / grid_height(c);
        #pragma unroll
        for (int v = 0; v < CHUNK; v++) {
            const Pixel pixel = pixel_at(c, group, image, y, x);
            #pragma unroll
            for (int i = 0; i < COUNT; i++) {
                const int place = first + i * PASS;
                held[i].at[v] = place < c.columns && k + v < k_end ? gathered(images, c, pixel, tap_of(c, place))
                                                                   : narrow<T>(0);
            }
            if (++x == grid_width(c)) {
                x = 0;
                if (++y == grid_height(c)) y = 0, image++;
            }
        }
    }
};

// The gradient as the row operand, outputs by pixels.
struct Gradients : Chunks<TileA> {
    __device__ __forceinline__ void fetch(const T* grad, const Convolution& c, int group, int first, int k0,
                                          int k_end) {
        const unsigned k = k0 + step(), size = c.out_height * c.out_width;
        unsigned inside = k % size, image = k / size;
        const int row = first + line();
        #pragma unroll
        for (int v = 0; v < CHUNK; v++) {
            const T* at = grad + plane_of(c, group, row, image) + inside;
            #pragma unroll
            for (int i = 0; i < COUNT; i++)
                held[i].at[v] = row + i * PASS < c.rows && k + v < k_end ? at[(i64)i * PASS * size] : narrow<T>(0);
            if (++inside == size) inside = 0, image++;
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS)
convolve_mma(U* out, const T* left, const T* images, const T* bias, const Convolution c) {
    __shared__ __align__(128) unsigned char stages[2][TileA::BYTES + TileB::BYTES];
    const auto stage_a = [&](int step) { return (T*)stages[step % 2]; };
    const auto stage_b = [&](int step) { return (T*)(stages[step % 2] + TileA::BYTES); };
    const TilePlace tile = tile_place(c, blockIdx.x, TILE_M, TILE_N);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_m = warp / WARPS_N * WARP_M, warp_n = warp % WARPS_N * WARP_N;
    const int group = tile.batch, k_begin = blockIdx.y * c.chunk, k_end = min(k_begin + c.chunk, c.depth);
    const int steps = (k_end - k_begin + DEPTH - 1) / DEPTH;

#if TASK == 2
    Gradients rows;
    ByDepth next(c, group, tile.column);
#else
    left += (i64)group * c.rows * c.depth;
    ByPlace next(c, group, tile.column);
#endif
    const auto fetch = [&](int step) {
        const int k = k_begin + step * DEPTH;
#if TASK == 2
        rows.fetch(left, c, group, tile.row, k, k_end);
#else
        TileA::copy<ALIGNED, THREADS>(stage_a(step), left, c.depth, 1, tile.row, c.rows, k, k_end);
        commit_copies();
#endif
        next.fetch(images, c, group, k, k_end);
    };
    const auto put = [&](int step) {
#if TASK == 2
        rows.put(stage_a(step));
#endif
        next.put(stage_b(step));
    };

    float sums[WARP_M / 16][WARP_N / 8][4] = {};
    fetch(0);
    put(0);
    for (int step = 0; step < steps; step++) {
        wait_copies<0>();
        __syncthreads();
        const bool more = step + 1 < steps;
        if (more) fetch(step + 1);
        #pragma unroll
        for (int k = 0; k < DEPTH; k += 16) {
            u32 x[WARP_M / 16][4], y[WARP_N / 16][4];
            #pragma unroll
            for (int i = 0; i < WARP_M / 16; i++) TileA::load_a(x[i], stage_a(step), warp_m + i * 16, k);
            #pragma unroll
            for (int j = 0; j < WARP_N / 16; j++) TileB::load_b(y[j], stage_b(step), warp_n + j * 16, k);
            #pragma unroll
            for (int i = 0; i < WARP_M / 16; i++)
                #pragma unroll
                for (int j = 0; j < WARP_N / 8; j++) Mma<T>::add(sums[i][j], x[i], y[j / 2] + j % 2 * 2);
        }
        if (more) put(step + 1);
    }

    const int size = grid_height(c) * grid_width(c);
    #pragma unroll
    for (int j = 0; j < WARP_N / 8; j++)
        #pragma unroll
        for (int v = 0; v < 2; v += VECTOR_OUT) {
            const int column = tile.column + warp_n + j * 8 + lane % 4 * 2 + v;
            if (column >= c.columns) continue;
            #pragma unroll
            for (int i = 0; i < WARP_M / 8; i++) {
                const int row = tile.row + warp_m + i * 8 + lane / 4;
                if (row >= c.rows) continue;
                const float add = bias ? to_float(bias[group * c.rows + row]) : 0;
                Vector<U, VECTOR_OUT> done;
                #pragma unroll
                for (int w = 0; w < VECTOR_OUT; w++) done.at[w] = narrow<U>(sums[i / 2][j][i % 2 * 2 + v + w] + add);
                const i64 piece = blockIdx.y * c.split_stride;
                const i64 at = TASK == 2 ? ((i64)group * c.rows + row) * c.columns + column + piece
                                         : plane_of(c, group, row, column / size) + column % size;
                store_vector(out + at, done);
            }
        }
}
