// Where the elements lie that a convolution and its gradients take from images: pixels, windows, taps. Dimensions are
// (depth, height, width), of size 1 where there are fewer.
//
//   TASK         0 the convolution, 1 the gradient of its input, 2 that of its weight
//   KD, KH, KW   the size of the kernel
//   VOLUME       whether there are three dimensions
//
//   TASK   rows       columns                depth                   row operand           gathered
//   0      outputs    pixels of the output   taps of the channels    weight                input
//   1      channels   pixels of the input    taps of the outputs     weight, transposed    gradient
//   2      outputs    taps of the channels   pixels of the output    gradient              input
//
// A tap is a place of the kernel in one channel. `channels` and `outputs` are those of one of the groups.
#pragma once
#include "common.cuh"

struct Convolution {
    int groups, channels, outputs;
    int size[3], out_size[3], stride[3], padding[3], dilation[3];
    int rows, columns, depth, chunk;
    i64 split_stride;
};

// ---- gathering ---------------------------------------------------------------------------------------------
enum { FIRST_DIM = VOLUME ? 0 : 1, TAPS = KD * KH * KW };

// The planes that are gathered from, and the pixels that each belongs to a window: sizes of their grids.
__device__ __forceinline__ int plane_size(const Convolution& c, int d) { return TASK == 1 ? c.out_size[d] : c.size[d]; }
__device__ __forceinline__ int grid_size(const Convolution& c, int d) { return TASK == 1 ? c.size[d] : c.out_size[d]; }
__device__ __forceinline__ int planes(const Convolution& c) { return TASK == 1 ? c.outputs : c.channels; }
__device__ __forceinline__ int plane_volume(const Convolution& c) {
    return (VOLUME ? plane_size(c, 0) : 1) * plane_size(c, 1) * plane_size(c, 2);
}
__device__ __forceinline__ int grid_volume(const Convolution& c) {
    return (VOLUME ? grid_size(c, 0) : 1) * grid_size(c, 1) * grid_size(c, 2);
}

struct Pixel {                                             // the image's planes of this group, and where its window is
    i64 base;
    int at[3];
};
__device__ __forceinline__ Pixel pixel_of(const Convolution& c, int group, unsigned index) {
    Pixel pixel;
    #pragma unroll
    for (int d = 2; d >= FIRST_DIM; d--) {
        const int i = index % grid_size(c, d);
        index /= grid_size(c, d);
        pixel.at[d] = TASK == 1 ? i + c.padding[d] : i * c.stride[d] - c.padding[d];
    }
    pixel.base = ((i64)index * c.groups + group) * planes(c) * plane_volume(c);
    return pixel;
}

struct Tap {                                               // a plane, and how far into the window
    int plane, at[3];
};
__device__ __forceinline__ Tap tap_of(const Convolution& c, unsigned index) {
    Tap tap;
    tap.plane = index / TAPS;
    tap.at[0] = int(index % TAPS / (KH * KW)) * c.dilation[0];
    tap.at[1] = int(index % (KH * KW) / KW) * c.dilation[1];
    tap.at[2] = int(index % KW) * c.dilation[2];
    return tap;
}

// The element that a pixel's window has at a tap; 0 in the padding. In the gradient of the input the window is that of
// all outputs that the pixel went into; between them there are gaps if the stride is more than 1.
__device__ __forceinline__ T gathered(const T* data, const Convolution& c, const Pixel& pixel, const Tap& tap) {
    i64 offset = tap.plane;
    #pragma unroll
    for (int d = FIRST_DIM; d < 3; d++) {
        int i = pixel.at[d] + (TASK == 1 ? -tap.at[d] : tap.at[d]);
        if (TASK == 1) {
            if (i < 0) return narrow<T>(0);
            if (c.stride[d] > 1) {
                if (i % c.stride[d]) return narrow<T>(0);
                i /= c.stride[d];
            }
        }
        if ((unsigned)i >= (unsigned)plane_size(c, d)) return narrow<T>(0);
        offset = offset * plane_size(c, d) + i;
    }
    return data[pixel.base + offset];
}

// Where a row of the output lies: that of its first pixel.
__device__ __forceinline__ i64 plane_of(const Convolution& c, int group, int row, unsigned image) {
    return (((i64)image * c.groups + group) * c.rows + row) * grid_volume(c);
}
