// Where the elements lie that a convolution and its gradients take from images: pixels, windows, taps.
//
//   TASK     0 the convolution, 1 the gradient of its input, 2 that of its weight
//   KH, KW   the size of the kernel
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
    int images, groups, channels, outputs, height, width, out_height, out_width;
    int stride_y, stride_x, pad_y, pad_x, dilation_y, dilation_x;
    int rows, columns, depth, chunk;
    i64 split_stride;
};

// ---- gathering ---------------------------------------------------------------------------------------------
enum { TAPS = KH * KW };

// The planes that are gathered from, and the pixels that each belongs to a window: sizes of their grids.
__device__ __forceinline__ int plane_height(const Convolution& c) { return TASK == 1 ? c.out_height : c.height; }
__device__ __forceinline__ int plane_width(const Convolution& c) { return TASK == 1 ? c.out_width : c.width; }
__device__ __forceinline__ int planes(const Convolution& c) { return TASK == 1 ? c.outputs : c.channels; }
__device__ __forceinline__ int grid_height(const Convolution& c) { return TASK == 1 ? c.height : c.out_height; }
__device__ __forceinline__ int grid_width(const Convolution& c) { return TASK == 1 ? c.width : c.out_width; }

struct Pixel {                                             // the image's planes of this group, and where its window is
    i64 base;
    int y, x;
};
__device__ __forceinline__ Pixel pixel_at(const Convolution& c, int group, unsigned image, unsigned y, unsigned x) {
    const i64 base = ((i64)image * c.groups + group) * planes(c) * plane_height(c) * plane_width(c);
    if (TASK == 1) return {base, int(y) + c.pad_y, int(x) + c.pad_x};
    return {base, int(y) * c.stride_y - c.pad_y, int(x) * c.stride_x - c.pad_x};
}

__device__ __forceinline__ Pixel pixel_of(const Convolution& c, int group, unsigned index) {
    const unsigned x = index % grid_width(c), rest = index / grid_width(c);
    return pixel_at(c, group, rest / grid_height(c), rest % grid_height(c), x);
}

struct Tap {                                               // a plane, and how far into the window
    int plane, y, x;
};
__device__ __forceinline__ Tap tap_of(const Convolution& c, unsigned index) {
    return {int(index / TAPS), int(index % TAPS / KW) * c.dilation_y, int(index % KW) * c.dilation_x};
}

// The element that a pixel's window has at a tap; 0 in the padding. In the gradient of the input the window is that of
// all outputs that the pixel went into; between them there are gaps if the stride is more than 1.
__device__ __forceinline__ T gathered(const T* data, const Convolution& c, const Pixel& pixel, const Tap& tap) {
    int y = pixel.y + tap.y, x = pixel.x + tap.x;
    if (TASK == 1) {
        y = pixel.y - tap.y, x = pixel.x - tap.x;
        if (y < 0 || x < 0) return narrow<T>(0);
        if (c.stride_y > 1) {
            if (y % c.stride_y) return narrow<T>(0);
            y /= c.stride_y;
        }
        if (c.stride_x > 1) {
            if (x % c.stride_x) return narrow<T>(0);
            x /= c.stride_x;
        }
    }
    const int height = plane_height(c), width = plane_width(c);
    if ((unsigned)y >= (unsigned)height || (unsigned)x >= (unsigned)width) return narrow<T>(0);
    return data[pixel.base + ((i64)tap.plane * height + y) * width + x];
}

// Where a row of the output lies: that of its first pixel.
__device__ __forceinline__ i64 plane_of(const Convolution& c, int group, int row, unsigned image) {
    return (((i64)image * c.groups + group) * c.rows + row) * grid_height(c) * grid_width(c);
}
