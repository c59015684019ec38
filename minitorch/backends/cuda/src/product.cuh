// What the matrix kernels share: how operands lie in memory, and what is done to a sum before it is written.
#pragma once
#include "common.cuh"

enum { BATCH_DIMS = 3, STRIP = 8 };

// A batch of matrices by its strides, in elements. A stride of 0 repeats.
struct Operand {
    i64 row, column, batch[BATCH_DIMS];
};

// out = activation(alpha * a @ b + beta * addend), once for each place of the batch.
// The sum over `depth` is cut into pieces of `chunk`, one for each blockIdx.y; piece i is written at i * split_stride.
struct Product {
    Operand a, b, addend, out;
    i64 split_stride;
    double alpha, beta;
    int rows, columns, depth, chunk, batch[BATCH_DIMS], splits;
};

// ---- places ------------------------------------------------------------------------------------------------
// Where the matrix of a place in the batch begins.
__device__ __forceinline__ i64 batch_offset(const Operand& x, const Product& p, unsigned place) {
    unsigned last = place % p.batch[2], rest = place / p.batch[2];
    return last * x.batch[2] + rest % p.batch[1] * x.batch[1] + rest / p.batch[1] * x.batch[0];
}

struct TilePlace {
    unsigned batch;
    int row, column;
};

// Which tile a block computes. Tiles are taken in strips of 8 rows of tiles, from left to right, so that blocks which
// run together read the same few rows of `a` and columns of `b`, and find them in the cache.
template <class P>
__device__ __forceinline__ TilePlace tile_place(const P& p, unsigned index, int tile_rows, int tile_columns) {
    unsigned down = (p.rows + tile_rows - 1) / tile_rows, across = (p.columns + tile_columns - 1) / tile_columns;
    unsigned batch = index / (down * across), tile = index % (down * across);
    unsigned top = tile / (STRIP * across) * STRIP, height = min(down - top, (unsigned)STRIP);
    unsigned inside = tile % (STRIP * across);
    return {batch, int(top + inside % height) * tile_rows, int(inside / height) * tile_columns};
}

// ---- what is done to a sum ---------------------------------------------------------------------------------
#ifndef ACTIVATION
#define ACTIVATION 0
#endif
enum { NONE, RELU, GELU, GELU_TANH, SILU };                // as ACTIVATIONS in ops/product.py

template <class A> __device__ __forceinline__ A activate(A x) {
    if constexpr (ACTIVATION == RELU) return x < A(0) ? A(0) : x;              // NaN stays
    if constexpr (ACTIVATION == GELU) return A(0.5) * x * (A(1) + erf(x * A(0.70710678118654752)));
    if constexpr (ACTIVATION == GELU_TANH)
        return A(0.5) * x * (A(1) + tanh(A(0.79788456080286536) * (x + A(0.044715) * x * x * x)));
    if constexpr (ACTIVATION == SILU) return x / (A(1) + exp(-x));
    return x;
}

// activation(alpha * sum + beta * addend); `addend` points to the matrix of this place in the batch, or is null.
template <class A, class X>
__device__ __forceinline__ A finish(A sum, const X* addend, const Product& p, int row, int column) {
    sum *= A(p.alpha);
    if (addend) sum += A(p.beta) * widen(addend[row * p.addend.row + column * p.addend.column]);
    return activate(sum);
}

// Finishes and writes two neighbouring sums, those that lie inside of the output; TOGETHER in one piece.
template <bool TOGETHER, class Y, class X>
__device__ __forceinline__ void write_pair(Y* out, const float* sums, const X* addend, const Product& p, int row,
                                           int column) {
    if (row >= p.rows) return;
    Y* to = out + row * p.out.row + column * p.out.column;
    if constexpr (TOGETHER) {
        if (column >= p.columns) return;
        store_vector(to, Vector<Y, 2>{narrow<Y>(finish(sums[0], addend, p, row, column)),
                                      narrow<Y>(finish(sums[1], addend, p, row, column + 1))});
    } else {
        #pragma unroll
        for (int i = 0; i < 2; i++)
            if (column + i < p.columns) to[i * p.out.column] = narrow<Y>(finish(sums[i], addend, p, row, column + i));
    }
}
