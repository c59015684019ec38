// Where a convolution finds its windows in images whose channels come last, in three dimensions (of size 1 where there
// are fewer).
//
// Along each dimension the tap t of the pixel i is at i * step + start + t * tap_step; outside of the image there are
// zeros. The gradient of the input has taps that go backwards; with a stride, the pixels of each residue are a grid of
// their own, with those taps that meet them.
#pragma once
#include "common.cuh"

struct Division {                                          // by multiplication: see magic() in arrays/layout.py
    int by;
    u32 magic, shift;
};
struct Patches {
    Division grid[3], taps[3], channels;                   // numbers of pixels and taps; channels of a group
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

struct Pixel {                                             // its window's first place, and that counted over all images
    int z, y, x, place;
};
struct Tap {
    int z, y, x, place, channel;
};
constexpr int NOWHERE = 1 << 30;                           // added to a coordinate inside it is outside

__device__ __forceinline__ Pixel pixel_of(const Patches& p, int index, int end) {
    const bool outside = index >= end;
    int x = index, y, z, image;
    y = divide(x, p.grid[2]);
    z = divide(y, p.grid[1]);
    image = divide(z, p.grid[0]);
    Pixel pixel = {z * p.step[0] + p.start[0], y * p.step[1] + p.start[1], x * p.step[2] + p.start[2], 0};
    pixel.place = ((image * p.size[0] + pixel.z) * p.size[1] + pixel.y) * p.size[2] + pixel.x;
    if (outside) pixel.x = NOWHERE;
    return pixel;
}

__device__ __forceinline__ Tap tap_of(const Patches& p, int index, int end) {
    const bool outside = index >= end;
    int channel = index, z, y, x = divide(channel, p.channels);
    y = divide(x, p.taps[2]);
    z = divide(y, p.taps[1]);
    Tap tap = {z * p.tap_step[0], y * p.tap_step[1], x * p.tap_step[2], 0, channel};
    tap.place = (tap.z * p.size[1] + tap.y) * p.size[2] + tap.x;
    if (outside) tap.x = NOWHERE;
    return tap;
}

__device__ __forceinline__ bool inside(const Patches& p, const Pixel& pixel, const Tap& tap) {
    return unsigned(pixel.z + tap.z) < unsigned(p.size[0]) && unsigned(pixel.y + tap.y) < unsigned(p.size[1])
        && unsigned(pixel.x + tap.x) < unsigned(p.size[2]);
}

// Where in the images the channel of a tap is; only where it is inside.
__device__ __forceinline__ i64 offset_of(const Patches& p, const Pixel& pixel, const Tap& tap) {
    return (i64)(pixel.place + tap.place) * (p.groups * p.channels.by) + tap.channel;
}

__device__ __forceinline__ i64 output_plane(const Patches& p) {
    return (i64)p.out_size[0] * p.out_size[1] * p.out_size[2];
}

// Where a pixel of the output is, in the first row of a group.
template <bool WHOLE> __device__ __forceinline__ i64 output_of(const Patches& p, int group, int index) {
    const i64 plane = output_plane(p);
    int x = index, y, z, image;
    y = divide(x, p.grid[2]);
    z = divide(y, p.grid[1]);
    image = divide(z, p.grid[0]);
    const i64 first = ((i64)image * p.groups + group) * p.rows * plane;
    if (WHOLE) return first + index - image * plane;
    return first + ((i64)(z * p.out_step[0] + p.out_start[0]) * p.out_size[1] + y * p.out_step[1] + p.out_start[1])
        * p.out_size[2] + x * p.out_step[2] + p.out_start[2];
}
