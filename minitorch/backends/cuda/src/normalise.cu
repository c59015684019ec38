// Rows brought to mean 0 and variance 1, then scaled and shifted; forward and backward. Layer, RMS and group norm.
//
// Without `means` no mean is taken away (rms_norm). Weight and bias are optional and belong
// to columns; with CHANNELS, to runs of `inner` columns; every `groups` rows
// together have all runs (group_norm). WEIGHTS is given in the backward pass: whether the gradients
// of weight and bias are summed up as well. With RESIDUAL (forward) the rows are the sums of those
// of `input` and `residual`, which are written to `total` as well.
//
// As in softmax.cu, rows lie in registers if they fit (ITEMS is given) and are read again if they do not.
#include "moments.cuh"

#ifndef RESIDUAL
#define RESIDUAL 0
#endif

struct Affine {
    i64 groups, inner;
};

// weight[column] and bias[column] for a pack of neighbouring columns: y = x * scale + shift.
__device__ __forceinline__ void load_affine(Wide (&scale)[VECTOR], Wide (&shift)[VECTOR], const T* weight,
                                            const T* bias, i64 row, i64 column, i64 columns, Affine affine) {
#pragma unroll
    for (int v = 0; v < VECTOR; v++) {
        scale[v] = 1;
        shift[v] = 0;
    }
#if !CHANNELS
    if (weight) load_pack(scale, weight + column);
    if (bias) load_pack(shift, bias + column);
#else
    i64 first = row % affine.groups * (columns / affine.inner);
#pragma unroll
    for (int v = 0; v < VECTOR; v++) {
        unsigned channel = unsigned(column + v) / unsigned(affine.inner);
        if (weight) scale[v] = widen(weight[first + channel]);
        if (bias) shift[v] = widen(bias[first + channel]);
    }
#endif
}

// A pack of a row, to which the residual's is added.
__device__ __forceinline__ void load_sum(Wide (&x)[VECTOR], const T* input, const T* residual, i64 column) {
    load_pack(x, input + column);
#if RESIDUAL
    Wide other[VECTOR];
    load_pack(other, residual + column);
#pragma unroll
    for (int v = 0; v < VECTOR; v++) x[v] += other[v];
#endif
}

__device__ __forceinline__ void store_statistics(Wide* means, Wide* deviations, i64 row, Wide mean, Wide inverse) {
    if (threadIdx.x || this_block()) return;
    if (means) means[row] = mean;
    deviations[row] = inverse;
}

// The sums that a row's backward pass needs: of the gradient, and of the gradient times the normalised row.
struct Sums {
    Wide grad, along;
};
struct AddSums {
    __device__ __forceinline__ Sums operator()(Sums a, Sums b) const { return {a.grad + b.grad, a.along + b.along}; }
};
__device__ __forceinline__ Sums from_lane(Sums x, int distance) {
    return {from_lane(x.grad, distance), from_lane(x.along, distance)};
}

// Normalises, scales and shifts a pack of neighbouring columns.
__device__ __forceinline__ void finish(Wide (&x)[VECTOR], Wide mean, Wide inverse, const T* weight, const T* bias, i64 row,
                                       i64 column, i64 columns, Affine affine) {
    Wide scale[VECTOR], shift[VECTOR];
    load_affine(scale, shift, weight, bias, row, column, columns, affine);
#pragma unroll
    for (int v = 0; v < VECTOR; v++) x[v] = (x[v] - mean) * inverse * scale[v] + shift[v];
}

#if defined(ITEMS) && !defined(WEIGHTS)
extern "C" __global__ void __launch_bounds__(THREADS* ROWS, RESIDENT) CLUSTERED
normalise_rows(T* __restrict__ out, Wide* __restrict__ means, Wide* __restrict__ deviations,
               const T* __restrict__ input, const T* __restrict__ weight, const T* __restrict__ bias,
               const T* __restrict__ residual, T* __restrict__ total, i64 rows, int columns, double eps, i64 groups,
               i64 inner) {
    i64 row = this_row();
    if (row >= rows) return;
    begin_together();
    input += row * columns;
    out += row * columns;
    Wide x[PACKS][VECTOR], mean = 0, squares = 0;
    park_row(input, columns, 0);
    load_row(x, input, columns, 0);
#if RESIDUAL
#pragma unroll
    for (int p = 0; p < PACKS; p++) {
        if (!in_row(p, columns)) continue;
        Wide other[VECTOR];
        load_pack(other, residual + row * columns + pack_column(p));
#pragma unroll
        for (int v = 0; v < VECTOR; v++) x[p][v] += other[v];
        store_pack(total + row * columns + pack_column(p), x[p]);
    }
#endif
    if (means) mean = fold(x, Add());
    arrived();
    await_others();
    if (means) {
        over_parked([&](int, const Wide (&y)[VECTOR]) {
#pragma unroll
            for (int v = 0; v < VECTOR; v++) mean += y[v];
        });
        mean = over_row(mean, Add(), 0) / columns;
    }
    EACH(p, v) {
        Wide distance = in_row(p, columns) ? x[p][v] - mean : Wide(0);
        squares += distance * distance;
    }
    over_parked([&](int p, const Wide (&y)[VECTOR]) {
        if (!in_row(p, columns)) return;
#pragma unroll
        for (int v = 0; v < VECTOR; v++) squares += (y[v] - mean) * (y[v] - mean);
    });
    Wide inverse = 1 / sqrt(over_row(squares, Add(), 1) / columns + Wide(eps));
    store_statistics(means, deviations, row, mean, inverse);
#pragma unroll
    for (int p = 0; p < PACKS; p++)
        if (in_row(p, columns))
            finish(x[p], mean, inverse, weight, bias, row, pack_column(p), columns, {groups, inner});
    store_row(out, x, columns);
    over_parked([&](int p, Wide (&y)[VECTOR]) {
        if (!in_row(p, columns)) return;
        finish(y, mean, inverse, weight, bias, row, pack_column(p), columns, {groups, inner});
        store_pack(out + pack_column(p), y);
    });
}

#elif defined(ITEMS)
// Each block goes over every so many rows; the columns of a thread are the same in all of them, so that it can sum up
// their gradients. Its sums are row `part` of `weight_parts` and `bias_parts`, which `add_parts` adds up.
extern "C" __global__ void __launch_bounds__(THREADS* ROWS, RESIDENT) CLUSTERED
normalise_rows_backward(T* __restrict__ result, Wide* __restrict__ weight_parts, Wide* __restrict__ bias_parts,
                        const T* __restrict__ grad, const T* __restrict__ input, const T* __restrict__ weight,
                        const Wide* __restrict__ means, const Wide* __restrict__ deviations, i64 rows, int columns) {
#if WEIGHTS
    Wide by_weight[PACKS][VECTOR], by_bias[PACKS][VECTOR];
    EACH(p, v) by_weight[p][v] = by_bias[p][v] = 0;
#endif
    int turn = 0;
    begin_together();
    await_others();
    for (i64 row = this_row(); row < rows; row += gridDim.x / CLUSTER * (i64)ROWS, turn ^= 1) {
        Wide g[PACKS][VECTOR];
        park_row(input + row * columns, columns, 0);
        load_row(g, grad + row * columns, columns, 0);
        Wide mean = means ? means[row] : Wide(0), inverse = deviations[row];
        Sums sums = {0, 0};
        // g becomes the gradient of the normalised pack x.
        auto add_up = [&](int p, Wide (&x)[VECTOR]) {
            if (!in_row(p, columns)) return;
            Wide scale[VECTOR], shift[VECTOR];
            load_affine(scale, shift, weight, nullptr, row, pack_column(p), columns, {1, 1});
#pragma unroll
            for (int v = 0; v < VECTOR; v++) {
                x[v] = (x[v] - mean) * inverse;
#if WEIGHTS
                by_weight[p][v] += g[p][v] * x[v];
                by_bias[p][v] += g[p][v];
#endif
                g[p][v] *= scale[v];
                sums.grad += g[p][v];
                sums.along += g[p][v] * x[v];
            }
        };
#if PARKED
        arrived();
        over_parked(add_up);
#else
        Wide x[PACKS][VECTOR];
        load_row(x, input + row * columns, columns, 0);
#pragma unroll
        for (int p = 0; p < PACKS; p++) add_up(p, x[p]);
#endif
        sums = over_row(sums, AddSums(), turn);
        Wide mean_grad = means ? sums.grad / columns : Wide(0), mean_along = sums.along / columns;
#if PARKED
        over_parked([&](int p, const Wide (&y)[VECTOR]) {
#pragma unroll
            for (int v = 0; v < VECTOR; v++)
                g[p][v] = (g[p][v] - mean_grad - (y[v] - mean) * inverse * mean_along) * inverse;
        });
#else
        EACH(p, v) g[p][v] = (g[p][v] - mean_grad - x[p][v] * mean_along) * inverse;
#endif
        store_row(result + row * columns, g, columns);
        if (PARKED) break;                                 // there is a block for each row
    }
#if WEIGHTS
    i64 part = this_row() * columns;
#pragma unroll
    for (int p = 0; p < PACKS; p++) {
        if (!in_row(p, columns)) continue;
        store_numbers(weight_parts + part + pack_column(p), by_weight[p]);
        store_numbers(bias_parts + part + pack_column(p), by_bias[p]);
    }
#endif
}

#elif defined(THREADS)
extern "C" __global__ void __launch_bounds__(THREADS)
normalise_long_rows(T* __restrict__ out, Wide* __restrict__ means, Wide* __restrict__ deviations,
                    const T* __restrict__ input, const T* __restrict__ weight, const T* __restrict__ bias,
                    const T* __restrict__ residual, T* __restrict__ total, i64 columns, double eps, i64 groups,
                    i64 inner) {
    i64 row = blockIdx.x;
    input += row * columns;
    residual += RESIDUAL ? row * columns : 0;
    out += row * columns;
    Moments moments = no_moments();
#pragma unroll 4
    for (i64 i = threadIdx.x * VECTOR; i < columns; i += THREADS * VECTOR) {
        Wide x[VECTOR];
        load_sum(x, input, residual, i);
#if RESIDUAL
        store_pack(total + row * columns + i, x);
#endif
        moments.add(x);
    }
    moments = over_row(moments, MergeMoments(), 0);
    Wide mean = means ? moments.mean : Wide(0), square = moments.squares / columns;
    Wide inverse = 1 / sqrt((means ? square : square + moments.mean * moments.mean) + Wide(eps));
    store_statistics(means, deviations, row, mean, inverse);
#pragma unroll 4
    for (i64 i = threadIdx.x * VECTOR; i < columns; i += THREADS * VECTOR) {
        Wide x[VECTOR];
        load_sum(x, input, residual, i);
        finish(x, mean, inverse, weight, bias, row, i, columns, {groups, inner});
        store_pack(out + i, x);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
normalise_long_rows_backward(T* __restrict__ result, const T* __restrict__ grad, const T* __restrict__ input,
                             const T* __restrict__ weight, const Wide* __restrict__ means,
                             const Wide* __restrict__ deviations, i64 columns) {
    i64 start = blockIdx.x * columns;
    Wide mean = means ? means[blockIdx.x] : Wide(0), inverse = deviations[blockIdx.x];
    Wide x[VECTOR], g[VECTOR], scale[VECTOR], shift[VECTOR];
    Sums sums = {0, 0};
#pragma unroll 4
    for (i64 i = threadIdx.x * VECTOR; i < columns; i += THREADS * VECTOR) {
        load_pack(x, input + start + i);
        load_pack(g, grad + start + i);
        load_affine(scale, shift, weight, nullptr, 0, i, columns, {1, 1});
#pragma unroll
        for (int v = 0; v < VECTOR; v++) {
            sums.grad += g[v] * scale[v];
            sums.along += g[v] * scale[v] * ((x[v] - mean) * inverse);
        }
    }
    sums = over_row(sums, AddSums(), 0);
    Wide mean_grad = means ? sums.grad / columns : Wide(0), mean_along = sums.along / columns;
#pragma unroll 4
    for (i64 i = threadIdx.x * VECTOR; i < columns; i += THREADS * VECTOR) {
        load_pack(x, input + start + i);
        load_pack(g, grad + start + i);
        load_affine(scale, shift, weight, nullptr, 0, i, columns, {1, 1});
#pragma unroll
        for (int v = 0; v < VECTOR; v++)
            g[v] = (g[v] * scale[v] - mean_grad - (x[v] - mean) * inverse * mean_along) * inverse;
        store_pack(result + start + i, g);
    }
}

#else
// ---- gradients of weight and bias by themselves ------------------------------------------------------------
// Blocks of 32 columns x 8 shares of the rows; `parts` blocks share the rows of 32 columns.
enum { SHARES = 8 };

__device__ __forceinline__ Wide over_shares(Wide x, Wide (&shared)[SHARES][WARP + 1]) {
    shared[threadIdx.y][threadIdx.x] = x;
    __syncthreads();
    x = 0;
#pragma unroll
    for (int k = 0; k < SHARES; k++) x += shared[k][threadIdx.x];
    return x;
}

extern "C" __global__ void __launch_bounds__(WARP* SHARES)
weight_parts(Wide* __restrict__ weight_parts, Wide* __restrict__ bias_parts, const T* __restrict__ grad,
             const T* __restrict__ input, const Wide* __restrict__ means, const Wide* __restrict__ deviations,
             i64 rows, i64 columns, int parts) {
    __shared__ Wide of_weight[SHARES][WARP + 1], of_bias[SHARES][WARP + 1];
    i64 column = blockIdx.x / parts * (i64)WARP + threadIdx.x;
    int part = blockIdx.x % parts;
    Wide by_weight = 0, by_bias = 0;
#pragma unroll 4
    for (i64 row = part * SHARES + threadIdx.y; row < rows && column < columns; row += parts * SHARES) {
        Wide g = widen(grad[row * columns + column]), x = widen(input[row * columns + column]);
        by_weight += g * ((means ? x - means[row] : x) * deviations[row]);
        by_bias += g;
    }
    by_weight = over_shares(by_weight, of_weight);
    by_bias = over_shares(by_bias, of_bias);
    if (threadIdx.y || column >= columns) return;
    weight_parts[part * columns + column] = by_weight;
    bias_parts[part * columns + column] = by_bias;
}

// The sums of each column of weight_parts and of bias_parts, (parts, columns), in a fixed order.
extern "C" __global__ void __launch_bounds__(WARP* SHARES)
add_parts(T* __restrict__ by_weight, T* __restrict__ by_bias, const Wide* __restrict__ weight_parts,
          const Wide* __restrict__ bias_parts, i64 columns, int parts) {
    __shared__ Wide of_weight[SHARES][WARP + 1], of_bias[SHARES][WARP + 1];
    i64 column = blockIdx.x * (i64)WARP + threadIdx.x;
    Wide weight = 0, bias = 0;
    for (int part = threadIdx.y; part < parts && column < columns; part += SHARES) {
        weight += weight_parts[part * columns + column];
        bias += bias_parts[part * columns + column];
    }
    weight = over_shares(weight, of_weight);
    bias = over_shares(bias, of_bias);
    if (threadIdx.y || column >= columns) return;
    by_weight[column] = narrow<T>(weight);
    by_bias[column] = narrow<T>(bias);
}
#endif
