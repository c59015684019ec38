// Convolution in one to three dimensions and its two gradients, as products of matrices whose one operand is gathered
// from images on the way to shared memory: nothing is unfolded in memory. And directly, where the matrices would be too
// thin.
//
//   T, U            dtypes of the operands and of the output
//   TASK, KD, KH, KW, VOLUME   as in windows.cuh
//   TILE_M ...      as in matmul_simt.cu
//   VECTOR_A        neighbours of the weight that are read at once (TASK 0 and 1)
//   VECTOR_OUT      neighbours that are written at once
#include "simt.cuh"
#include "windows.cuh"

// A tile of the gathered operand. Where pixels are places, a thread has one pixel and takes tap after tap; where they
// are the depth, a pixel a step for several taps.
template <bool ALONG_K> struct Gathered : Held<TILE_N, 1, ALONG_K> {
    typedef Held<TILE_N, 1, ALONG_K> Base;
    const T* data;
    const Convolution& c;
    int group, first, k, k_end;
    Pixel pixel;

    __device__ __forceinline__ Gathered(const T* data, const Convolution& c, int group, int first, int k, int k_end)
        : data(data), c(c), group(group), first(first + Base::my_place()), k(k + Base::my_k()), k_end(k_end),
          pixel(pixel_of(c, group, first + Base::my_place())) {}

    __device__ __forceinline__ void fetch() {
        if (ALONG_K) pixel = pixel_of(c, group, k);
        #pragma unroll
        for (int i = 0; i < Base::COUNT; i++) {
            const int place = ALONG_K ? first + i * Base::LINES : first, tap = ALONG_K ? place : k + i * Base::LINES;
            const bool inside = place < c.columns && (ALONG_K ? k : tap) < k_end;
            this->held[i].at[0] = inside ? gathered(data, c, pixel, tap_of(c, tap)) : narrow<T>(0);
        }
        k += DEPTH;
    }
};

// A tile of the gradient as the row operand: outputs by pixels.
struct Gradients : Held<TILE_M, 1, true> {
    const T* data;
    const Convolution& c;
    int group, first, k, k_end;

    __device__ __forceinline__ Gradients(const T* data, const Convolution& c, int group, int first, int k, int k_end)
        : data(data), c(c), group(group), first(first + line()), k(k + step()), k_end(k_end) {}

    __device__ __forceinline__ void fetch() {
        const int size = grid_volume(c);
        const T* pixel = data + plane_of(c, group, first, k / size) + k % size;
        #pragma unroll
        for (int i = 0; i < COUNT; i++)
            held[i].at[0] = first + i * LINES < c.rows && k < k_end ? pixel[(i64)i * LINES * size] : narrow<T>(0);
        k += DEPTH;
    }
};

// ---- as a product ------------------------------------------------------------------------------------------
extern "C" __global__ void __launch_bounds__(THREADS)
convolve(U* out, const T* left, const T* images, const T* bias, const Convolution c) {
    const TilePlace tile = tile_place(c, blockIdx.x, TILE_M, TILE_N);
    const Place place = thread_place();
    const int group = tile.batch, k_begin = blockIdx.y * c.chunk, k_end = min(k_begin + c.chunk, c.depth);
    Gathered<TASK == 2> next_b(images, c, group, tile.column, k_begin, k_end);
    Acc sums[THREAD_M][THREAD_N] = {};
#if TASK == 2
    Gradients next_a(left, c, group, tile.row, k_begin, k_end);
#else
    left += (i64)group * c.rows * c.depth;
    Tile<TILE_M, VECTOR_A, true> next_a(left, c.depth, 1, tile.row, c.rows, k_begin, k_end);
#endif
    multiply<true, TASK == 2>(sums, next_a, next_b, place, k_begin, k_end);

    const int size = grid_volume(c);
    #pragma unroll
    for (int j = 0; j < THREAD_N; j += VECTOR_OUT) {
        const int column = tile.column + place.column + in_groups(j, LANES_N);
        if (column >= c.columns) continue;
        #pragma unroll
        for (int i = 0; i < THREAD_M; i++) {
            const int row = tile.row + place.row + in_groups(i, LANES_M);
            if (row >= c.rows) continue;
            const Acc add = bias ? widen(bias[group * c.rows + row]) : Acc(0);
            Vector<U, VECTOR_OUT> done;
            #pragma unroll
            for (int v = 0; v < VECTOR_OUT; v++) done.at[v] = narrow<U>(sums[i][j + v] + add);
            const i64 at = TASK == 2 ? ((i64)group * c.rows + row) * c.columns + column + blockIdx.y * c.split_stride
                                     : plane_of(c, group, row, column / size) + column % size;
            store_vector(out + at, done);
        }
    }
}

// ---- directly ----------------------------------------------------------------------------------------------
// For few rows a group, as in depthwise convolution: a thread for each element of the output.
extern "C" __global__ void __launch_bounds__(256)
convolve_direct(U* out, const T* left, const T* images, const T* bias, const Convolution c, i64 count) {
    const i64 index = blockIdx.x * 256LL + threadIdx.x;
    if (index >= count) return;
    const int size = grid_volume(c), channel = index / size % (c.groups * c.rows);
    const int group = channel / c.rows;
    const Pixel pixel = pixel_of(c, group, index / size / (c.groups * c.rows) * size + index % size);
    left += (i64)channel * c.depth;
    Acc sum = bias ? widen(bias[channel]) : Acc(0);
    for (int k = 0; k < c.depth; k++) sum += widen(left[k]) * widen(gathered(images, c, pixel, tap_of(c, k)));
    out[index] = narrow<U>(sum);
}

// The gradient of a weight with few elements a group: a block for each.
extern "C" __global__ void __launch_bounds__(256)
convolve_direct_weight(U* out, const T* left, const T* images, const Convolution c) {
    __shared__ Acc parts[32];
    const int tap = blockIdx.x % c.columns, output = blockIdx.x / c.columns, group = output / c.rows;
    const int size = grid_volume(c);
    const Tap place = tap_of(c, tap);
    Acc sum = 0;
    for (int k = threadIdx.x; k < c.depth; k += 256) {
        const T g = left[plane_of(c, group, output % c.rows, k / size) + k % size];
        sum += widen(g) * widen(gathered(images, c, pixel_of(c, group, k), place));
    }
    sum = block_reduce(sum, Add(), Acc(0), parts);
    if (threadIdx.x == 0) out[blockIdx.x] = narrow<U>(sum);
}
