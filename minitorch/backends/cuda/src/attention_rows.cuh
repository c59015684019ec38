// How rows of features lie in shared memory, for the kernels of attention.
#pragma once
#include "attention_arguments.cuh"
#include "mma.cuh"

// A tile of rows of features, read with the features as depth, or with the rows as depth.
template <int LINES> using ByFeature = SharedTile<T, LINES, HEAD, true>;
template <int LINES> using ByRow = SharedTile<T, HEAD, LINES, false>;

template <class X, int ROWS> struct Warp;                  // see attention_mma.cuh and attention_simt.cuh

template <int LINES, int THREADS>
__device__ __forceinline__ void copy_rows(T* tile, const T* data, const Rows& x, int first, int rows, int features) {
    ByFeature<LINES>::template copy<ALIGNED, THREADS>(tile, data, x.row, x.column, first, rows, 0, features);
}
