// The arguments of attention.cu, and how its rows of features lie in shared memory.
#pragma once
#include "mma.cuh"

enum { BATCH_DIMS = 3 };

struct Rows {                                              // a batch of matrices by strides, in elements
    i64 row, column, batch[BATCH_DIMS];
};
struct Attention {
    Rows query, key, value, mask, out, grad, query_grad, key_grad, value_grad;
    float scale;
    int queries, keys, features, value_features, batch[BATCH_DIMS];
};

// A tile of rows of features, read with the features as depth, or with the rows as depth.
template <int LINES> using ByFeature = SharedTile<T, LINES, HEAD, true>;
template <int LINES> using ByRow = SharedTile<T, HEAD, LINES, false>;

template <class X, int ROWS> struct Warp;                  // see attention_mma.cuh and attention_simt.cuh

template <int LINES, int THREADS>
__device__ __forceinline__ void copy_rows(T* tile, const T* data, const Rows& x, int first, int rows, int features) {
    ByFeature<LINES>::template copy<ALIGNED, THREADS>(tile, data, x.row, x.column, first, rows, 0, features);
}
