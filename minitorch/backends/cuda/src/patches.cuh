// Where a convolution finds its windows in images whose channels come last, in three dimensions (of size 1 where there
// are fewer).
//
// Along each dimension the tap t of the pixel i is at i * step + start + t * tap_step; outside of the image there are
// zeros. The gradient of the input has taps that go backwards; with a stride, the pixels of each residue are a grid of
// their own, with those taps that meet them.
//
//   T, WEIGHT, DENSE, VECTOR_OUT   as in convolve_mma.cu
//   VOLUME   whether there are three dimensions
#pragma once
#include "async.cuh"

struct Division {                                          // by multiplication: see magic() in arrays/layout.py
    int by;
    u32 magic, shift;
};
struct Patches {
    Division grid[3], taps[3], channels, pixels;           // numbers of pixels and taps; channels of a group; pixels of an
                                                           // image
    int size[3], step[3], start[3], tap_step[3];           // of the images
    int out_size[3], out_start[3], out_step[3];            // where the pixels lie in the output
    int groups, rows, columns, depth, chunk, left_row;     // left_row: outputs of a group with what fills them up
    i64 split_stride;
};

// n / d, and n becomes the remainder.
__device__ __forceinline__ int divide(int& n, const Division& d) {
    const int quotient = (__umulhi(n, d.magic) + n) >> d.shift;
    n -= quotient * d.by;
    return quotient;
}

// Places are counted in chunks of 16 bytes: of a pixel that of its window's first tap, of a tap how much further it is.
struct Pixel {
    int z, y, x, place;
};
struct Tap {
    int z, y, x, place;
};
constexpr int NOWHERE = 1 << 30;                           // added to a coordinate inside it is outside

__device__ __forceinline__ int place_of(const Patches& p, int image, int z, int y, int x) {
    if (VOLUME) y += (image * p.size[0] + z) * p.size[1];
    else y += image * p.size[1];
    return (y * p.size[2] + x) * (p.groups * p.channels.by * (int)sizeof(T) / 16);
}

__device__ __forceinline__ Pixel pixel_of(const Patches& p, int index, int end) {
    const bool outside = index >= end;
    int x = index, y, z = 0, image;
    y = divide(x, p.grid[2]);
    image = divide(y, p.grid[1]);
    if (VOLUME) {
        z = image;
        image = divide(z, p.grid[0]);
        z = z * p.step[0] + p.start[0];
    }
    y = y * p.step[1] + p.start[1];
    x = x * p.step[2] + p.start[2];
    return {z, y, outside ? NOWHERE : x, place_of(p, image, z, y, x)};
}

__device__ __forceinline__ Tap tap_of(const Patches& p, int index, int end) {
    const bool outside = index >= end;
    int channel = index, z = 0, y, x = divide(channel, p.channels);
    y = divide(x, p.taps[2]);
    if (VOLUME) z = divide(y, p.taps[1]) * p.tap_step[0];
    y *= p.tap_step[1];
    x *= p.tap_step[2];
    return {z, y, outside ? NOWHERE : x, place_of(p, 0, z, y, x) + channel * (int)sizeof(T) / 16};
}

__device__ __forceinline__ bool inside(const Patches& p, const Pixel& pixel, const Tap& tap) {
    return (!VOLUME || unsigned(pixel.z + tap.z) < unsigned(p.size[0]))
        && unsigned(pixel.y + tap.y) < unsigned(p.size[1]) && unsigned(pixel.x + tap.x) < unsigned(p.size[2]);
}

// Where in the images the channels of a tap are; only where it is inside.
__device__ __forceinline__ const T* chunk_at(const T* images, const Pixel& pixel, const Tap& tap) {
    return images + (i64)(pixel.place + tap.place) * (16 / (int)sizeof(T));
}

__device__ __forceinline__ i64 output_plane(const Patches& p) {
    return (i64)p.out_size[0] * p.out_size[1] * p.out_size[2];
}

// Where a pixel of the output is, in the first row; `image` is how far apart the images are there.
__device__ __forceinline__ i64 output_of(const Patches& p, i64 image, int index) {
    int x = index, y, z;
    if (DENSE) {
        y = divide(x, p.pixels);
        return y * image + x;
    }
    y = divide(x, p.grid[2]);
    z = divide(y, p.grid[1]);
    const int which = divide(z, p.grid[0]);
    return which * image
        + ((i64)(z * p.out_step[0] + p.out_start[0]) * p.out_size[1] + y * p.out_step[1] + p.out_start[1]) * p.out_size[2]
        + x * p.out_step[2] + p.out_start[2];
}

// ---- tiles -------------------------------------------------------------------------------------------------
// The gathered operand as tiles in shared memory (SharedTile in mma.cuh): a thread copies one chunk of some lines. Where
// pixels are lines for the whole sum, it keeps them, and has another tap in each step; where they are the depth
// (WEIGHT), it keeps its taps, one in each of BLOCKS tiles that lie one behind the other.
template <class Tile, int COPIERS, int BLOCKS = 1> struct Gathered {
    enum { PASS = COPIERS / Tile::CHUNKS, COUNT = Tile::LINES / PASS };       // lines that the threads copy at a time
    const T* images;
    Pixel pixels[WEIGHT ? 1 : COUNT];
    Tap taps[BLOCKS];

    static __device__ __forceinline__ int line() { return threadIdx.x / Tile::CHUNKS; }
    static __device__ __forceinline__ int step() { return threadIdx.x % Tile::CHUNKS * Tile::PER_CHUNK; }

    __device__ __forceinline__ Gathered(const T* images, const Patches& p, int group, int first)
        : images(images + group * p.channels.by) {
        if constexpr (WEIGHT)
            #pragma unroll
            for (int b = 0; b < BLOCKS; b++)
                taps[b] = tap_of(p, first + step() + b * Tile::CHUNKS * Tile::PER_CHUNK, p.columns);
        else
            #pragma unroll
            for (int i = 0; i < COUNT; i++) pixels[i] = pixel_of(p, first + line() + i * PASS, p.columns);
    }
    __device__ __forceinline__ void copy(T* tile, const Patches& p, int k, int k_end) {
        if constexpr (!WEIGHT) taps[0] = tap_of(p, k + step(), k_end);
        const int chunk = threadIdx.x % Tile::CHUNKS;
        T* first = Tile::chunk(tile, line(), chunk);
        #pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const Pixel pixel = WEIGHT ? pixel_of(p, k + line() + i * PASS, k_end) : pixels[WEIGHT ? 0 : i];
            T* to = PASS % 8 ? Tile::chunk(tile, line() + i * PASS, chunk)       // exchanged as in the first
                             : first + i * PASS * Tile::CHUNKS * Tile::PER_CHUNK;
            #pragma unroll
            for (int b = 0; b < BLOCKS; b++)
                copy_async<16>(to + b * Tile::BYTES / (int)sizeof(T), chunk_at(images, pixel, taps[b]),
                               inside(p, pixel, taps[b]) ? 16 : 0);
        }
    }
};

// Writes the sums of ROWS rows, 8 apart, in PAIRS pairs of neighbouring columns, 8 apart; `sums(i, j)` points to the
// j-th pair of the i-th row.
template <int ROWS, int PAIRS, class Sums>
__device__ __forceinline__ void write_windows(U* out, const Sums& sums, const T* bias, const Patches& p, int group,
                                              int row, int column) {
    const i64 plane = WEIGHT ? p.columns : output_plane(p);
    i64 first = (group * p.rows + row) * plane, image = p.groups * p.rows * plane, step = 8 * plane;
    asm("" : "+l"(first), "+l"(image), "+l"(step));        // computed once: otherwise they are, for each element, again
    float add[ROWS];
    #pragma unroll
    for (int i = 0; i < ROWS; i++)
        add[i] = bias && row + i * 8 < p.rows ? to_float(bias[group * p.rows + row + i * 8]) : 0;
    #pragma unroll
    for (int j = 0; j < PAIRS; j++)
        #pragma unroll
        for (int v = 0; v < 2; v += VECTOR_OUT) {
            const int at = column + j * 8 + v;
            if (at >= p.columns) continue;
            U* to = out + (first + (WEIGHT ? at : output_of(p, image, at)));
            #pragma unroll
            for (int i = 0; i < ROWS; i++) {
                if (row + i * 8 >= p.rows) continue;
                const float* s = sums(i, j);
                if constexpr (VECTOR_OUT == 2) {
                    const Vector<U, 2> pair = {narrow<U>(s[0] + add[i]), narrow<U>(s[1] + add[i])};
                    if constexpr (sizeof(pair) == 4) *(u32*)(to + i * step) = *(const u32*)&pair;  // in one piece
                    else store_vector(to + i * step, pair);
                } else to[i * step] = narrow<U>(s[v] + add[i]);
            }
        }
}
