// What is done to the products of a thread in the kernels of attention: masks, exponentials, and the results written.
//
// W says which rows and columns a thread holds: see `Warp` in attention_mma.cuh.
#pragma once
#include "attention_rows.cuh"

constexpr float LOG2E = 1.4426950408889634f;
__device__ __forceinline__ float minus_infinity() { return __int_as_float(0xff800000); }
struct Larger { __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); } };

// Scores are products times this, in powers of two. Where numbers are added they are already multiplied.
__device__ __forceinline__ float factor_of(const Attention& p) { return MASK == 2 ? 1 : p.scale * LOG2E; }

// A product of a query and a key with its mask; `mask` points to the matrix of this place in the batch. EDGE: one of
// the two may lie outside, or the key behind the query.
template <bool EDGE>
__device__ __forceinline__ float masked(float product, const V* mask, const Attention& p, int query, int key) {
    if (EDGE && (query >= p.queries || key >= p.keys || CAUSAL && key > query)) return minus_infinity();
#if MASK == 1
    if (!mask[query * p.mask.row + key * p.mask.column]) return minus_infinity();
#elif MASK == 2
    product = product * (p.scale * LOG2E) + LOG2E * to_float(mask[query * p.mask.row + key * p.mask.column]);
#endif
    return product;
}

// A thread's products in row `r` of a warp's, whose rows are queries (or keys, if TURNED) from `row` on, and columns
// from `column` on. Row by row, so that not all numbers of a mask are in registers at once.
template <class W, bool EDGE, bool TURNED, class Sums>
__device__ __forceinline__ void mask_row(Sums& sums, int r, const V* mask, const Attention& p, int row, int column) {
    #pragma unroll
    for (int c = 0; c < Sums::COUNT; c++) {
        const int i = row + W::row(r), j = column + W::column(c);
        sums(r, c) = masked<EDGE>(sums(r, c), mask, p, TURNED ? j : i, TURNED ? i : j);
    }
}
template <class W, bool TURNED, class Sums>
__device__ __forceinline__ void mask_row(Sums& sums, int r, bool inside, const V* mask, const Attention& p, int row,
                                         int column) {
    if (!inside) mask_row<W, true, TURNED>(sums, r, mask, p, row, column);
    else if (MASK) mask_row<W, false, TURNED>(sums, r, mask, p, row, column);
}

// Writes a warp's rows of features from `row` on, each times a factor.
template <class W>
__device__ __forceinline__ void write_rows(T* out, const Rows& x, int row, int rows, int features,
                                           typename W::Features& sums, const float (&factor)[W::HELD]) {
    enum { TOGETHER = ALIGNED ? W::Features::TOGETHER : 1 };
    #pragma unroll
    for (int r = 0; r < W::HELD; r++) {
        if (row + W::row(r) >= rows) continue;
        T* to = out + (row + W::row(r)) * x.row;
        #pragma unroll
        for (int c = 0; c < W::Features::COUNT; c += TOGETHER) {
            if (W::feature(c) >= features) continue;
            Vector<T, TOGETHER> some;
            #pragma unroll
            for (int i = 0; i < TOGETHER; i++) some.at[i] = narrow<T>(sums(r, c + i) * factor[r]);
            store_vector(to + W::feature(c) * x.column, some);
        }
    }
}

// Products of query `r` of a thread's with some keys become exponentials, less the largest so far, which are added to
// `total`; what was added up before is to be multiplied by the result.
template <class W, class Sums>
__device__ __forceinline__ float weigh(Sums& weights, int r, float factor, float& largest, float& total) {
    float top = largest;
    #pragma unroll
    for (int c = 0; c < Sums::COUNT; c++) top = fmaxf(top, weights(r, c));
    top = warp_reduce<W::LANES>(top, Larger());
    const float shift = top == minus_infinity() ? 0 : top * factor;
    const float correction = exp2f(largest * factor - shift);
    largest = top;
    total *= correction;
    #pragma unroll
    for (int c = 0; c < Sums::COUNT; c++) {
        weights(r, c) = exp2f(weights(r, c) * factor - shift);
        total += weights(r, c);
    }
    return correction;
}

// Writes the results of a warp's queries, and `logs`: the logarithm of each query's sum of exponentials, to base 2, +inf
// where a query sees no key.
template <class W>
__device__ __forceinline__ void conclude(T* out, float* logs, const Attention& p, unsigned place, int row,
                                         typename W::Features& sums, float factor, const float (&largest)[W::HELD],
                                         const float (&total)[W::HELD]) {
    float inverse[W::HELD];
    logs += (i64)place * p.queries;
    #pragma unroll
    for (int r = 0; r < W::HELD; r++) {
        const float t = warp_reduce<W::LANES>(total[r], Add());
        inverse[r] = t > 0 ? 1 / t : t == 0 ? 0 : t;       // NaN stays
        if (threadIdx.x % W::LANES == 0 && row + W::row(r) < p.queries)
            logs[row + W::row(r)] = t == 0 ? -minus_infinity() : largest[r] * factor + log2f(t);
    }
    write_rows<W>(out + batch_offset(p.out, p, place), p.out, row, p.queries, p.value_features, sums, inverse);
}
