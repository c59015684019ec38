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
    float alpha_single, beta_single;                       // the same: conversions cost as much as a product's steps
    int rows, columns, depth, chunk, batch[BATCH_DIMS], splits;
};

// ---- places ------------------------------------------------------------------------------------------------
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
#if ACTIVATION > 1
#include "normal.cuh"
#endif
enum { NONE, RELU, GELU, GELU_TANH, SILU };                // as ACTIVATIONS in ops/product.py

template <class A> __device__ __forceinline__ A activate(A x) {
    if constexpr (ACTIVATION == RELU) return x < A(0) ? A(0) : x;              // NaN stays
    if constexpr (ACTIVATION == GELU) return x * normal_cdf(x);
    if constexpr (ACTIVATION == GELU_TANH) return x * gelu_gate(x);
    if constexpr (ACTIVATION == SILU) return x * logistic(x);
    return x;
}

template <class A> __device__ __forceinline__ A alpha_of(const Product& p) {
    if constexpr (is_floating<A>::value && sizeof(A) == 4) return A(p.alpha_single);
    else return A(p.alpha);
}
template <class A> __device__ __forceinline__ A beta_of(const Product& p) {
    if constexpr (is_floating<A>::value && sizeof(A) == 4) return A(p.beta_single);
    else return A(p.beta);
}

// activation(alpha * sum + beta * addend); `addend` points to the row of this sum, or is null.
template <class A, class X>
__device__ __forceinline__ A finish(A sum, const X* addend, const Product& p, int column) {
    sum *= alpha_of<A>(p);
    if (addend) sum += beta_of<A>(p) * widen(addend[column * p.addend.column]);
    return activate(sum);
}
// The same; `addend` points to the matrix.
template <class A, class X>
__device__ __forceinline__ A finish(A sum, const X* addend, const Product& p, int row, int column) {
    return finish(sum, addend ? addend + row * p.addend.row : addend, p, column);
}

// Finishes and writes PAIRS pairs of neighbouring sums of a row, 8 columns apart, those that lie inside of the output;
// `sums(j)` points to the j-th pair. TOGETHER: a pair in one piece. Where all are inside, nothing that is the same for
// all is asked or computed again: a tile of 256 columns is 64 pairs a thread.
template <bool TOGETHER, bool WHOLE, int PAIRS, class Y, class X, class Sums>
__device__ __forceinline__ void write_pairs(Y* out, const Sums& sums, const X* addend, const Product& p, int column) {
    #pragma unroll
    for (int j = 0; j < PAIRS; j++) {
        const int at = column + j * 8;
        if constexpr (TOGETHER) {
            if (WHOLE || at < p.columns)
                store_vector(out + at, Vector<Y, 2>{narrow<Y>(finish(sums(j)[0], addend, p, at)),
                                                    narrow<Y>(finish(sums(j)[1], addend, p, at + 1))});
        } else {
            #pragma unroll
            for (int i = 0; i < 2; i++)
                if (at + i < p.columns) out[(at + i) * p.out.column] = narrow<Y>(finish(sums(j)[i], addend, p, at + i));
        }
    }
}
template <bool TOGETHER, int PAIRS, class Y, class X, class Sums>
__device__ __forceinline__ void write_pairs(Y* out, const Sums& sums, const X* addend, const Product& p, int row,
                                            int column) {
    if (row >= p.rows) return;
    constexpr bool SHORT = TOGETHER && ACTIVATION <= RELU;         // otherwise one text of all sums is long enough
    const bool whole = SHORT && column + PAIRS * 8 - 6 <= p.columns;
    const X* add = addend ? addend + row * p.addend.row : nullptr;
    out += row * p.out.row;
    if (!whole) write_pairs<TOGETHER, false, PAIRS>(out, sums, add, p, column);
    else if (!addend) write_pairs<TOGETHER, SHORT, PAIRS>(out, sums, (const X*)nullptr, p, column);
    else {
        __builtin_assume(add != nullptr);
        write_pairs<TOGETHER, SHORT, PAIRS>(out, sums, add, p, column);
    }
}
