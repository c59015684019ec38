// Attention without its matrix of weights: softmax(scale * q @ k.T + bias) @ v and its gradients, for 16-bit floats.
//
// T. Dao, "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning" (2023). The weights are
// computed tile by tile in registers and never written; a running maximum and sum of each query correct what was added
// up before. The backward pass computes the weights again, from the logarithm of each sum, which the forward pass
// keeps: one kernel goes over the queries for the gradients of keys and values, one over the keys for that of the
// queries, so that nothing is added up by atomics and every run gives the same.
//
//   T        the dtype of queries, keys, values, and of the result
//   V        the dtype of the mask: bool (what takes part) or T (what is added)
//   HEAD     the size of a head, 32, 64 or 128; smaller ones are filled up with zeros
//   MASK     0 none, 1 bools, 2 numbers to add
//   CAUSAL   1 if query i sees the keys 0 to i only
//   ALIGNED  whether rows begin at multiples of 16 bytes
#include "mma.cuh"

enum { BATCH_DIMS = 3, QUERIES = 64, KEYS = 64, WARPS = 4, THREADS = 32 * WARPS, HALF_TILE = 32 };

struct Rows {                                              // a batch of matrices by strides, in elements
    i64 row, column, batch[BATCH_DIMS];
};
struct Attention {
    Rows query, key, value, mask, out, grad, query_grad, key_grad, value_grad;
    float scale;
    int queries, keys, features, batch[BATCH_DIMS];
};

// A tile of 64 or 32 rows of features, read with the features as depth, or with the rows as depth.
template <int LINES> using ByFeature = SharedTile<T, LINES, HEAD, true>;
template <int LINES> using ByRow = SharedTile<T, HEAD, LINES, false>;

constexpr float LOG2E = 1.4426950408889634f;
__device__ __forceinline__ float minus_infinity() { return __int_as_float(0xff800000); }

__device__ __forceinline__ i64 batch_offset(const Rows& x, const Attention& p, unsigned place) {
    unsigned last = place % p.batch[2], rest = place / p.batch[2];
    return last * x.batch[2] + rest % p.batch[1] * x.batch[1] + rest / p.batch[1] * x.batch[0];
}

template <int LINES>
__device__ __forceinline__ void copy_rows(T* tile, const T* data, const Rows& x, const Attention& p, int first,
                                          int rows) {
    ByFeature<LINES>::template copy<ALIGNED, THREADS>(tile, data, x.row, x.column, first, rows, 0, p.features);
}

// Two floats as two neighbours of T in a register.
__device__ __forceinline__ u32 packed(float a, float b) {
    Vector<T, 2> two = {narrow<T>(a), narrow<T>(b)};
    return *reinterpret_cast<u32*>(&two);
}

// The score of a query and a key, in powers of two; `mask` points to the matrix of this place in the batch.
__device__ __forceinline__ float score(float product, const V* mask, const Attention& p, int query, int key) {
    if (query >= p.queries || key >= p.keys || CAUSAL && key > query) return minus_infinity();
    product *= p.scale * LOG2E;
#if MASK == 1
    if (!mask[query * p.mask.row + key * p.mask.column]) return minus_infinity();
#elif MASK == 2
    product += LOG2E * to_float(mask[query * p.mask.row + key * p.mask.column]);
#endif
    return product;
}

// sums[j] += a @ b.T for 16 rows of `a` from `row` on and the LINES rows of `b`: both tiles hold rows of features.
template <int ROWS, int LINES>
__device__ __forceinline__ void rows_by_rows(float (&sums)[LINES / 8][4], T* a, int row, T* b) {
    #pragma unroll
    for (int k = 0; k < HEAD; k += 16) {
        u32 x[4], y[4];
        ByFeature<ROWS>::load_a(x, a, row, k);
        #pragma unroll
        for (int j = 0; j < LINES / 16; j++) {
            ByFeature<LINES>::load_b(y, b, j * 16, k);
            Mma<T>::add(sums[2 * j], x, y);
            Mma<T>::add(sums[2 * j + 1], x, y + 2);
        }
    }
}

// out += weights @ b for 16 rows of weights, which lie as sums of an mma do, and the LINES rows of `b`.
template <int LINES>
__device__ __forceinline__ void weights_by_rows(float (&out)[HEAD / 8][4], const float (&weights)[LINES / 8][4], T* b) {
    #pragma unroll
    for (int k = 0; k < LINES / 16; k++) {
        const u32 x[4] = {packed(weights[2 * k][0], weights[2 * k][1]), packed(weights[2 * k][2], weights[2 * k][3]),
                          packed(weights[2 * k + 1][0], weights[2 * k + 1][1]),
                          packed(weights[2 * k + 1][2], weights[2 * k + 1][3])};
        #pragma unroll
        for (int j = 0; j < HEAD / 16; j++) {
            u32 y[4];
            ByRow<LINES>::load_b(y, b, j * 16, k * 16);
            Mma<T>::add(out[2 * j], x, y);
            Mma<T>::add(out[2 * j + 1], x, y + 2);
        }
    }
}

// Writes 16 rows of features from `row` on, times a factor for the first and one for the second eight of them.
__device__ __forceinline__ void write_rows(T* out, const Rows& x, const Attention& p, int row, int rows,
                                           const float (&sums)[HEAD / 8][4], float first, float second) {
    const int lane = threadIdx.x % 32;
    #pragma unroll
    for (int j = 0; j < HEAD / 8; j++)
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            const int r = row + lane / 4 + i / 2 * 8, column = j * 8 + lane % 4 * 2 + i % 2;
            if (r < rows && column < p.features)
                out[r * x.row + column * x.column] = narrow<T>(sums[j][i] * (i < 2 ? first : second));
        }
}

// Over the four lanes that share a row of an mma's sums.
template <class F> __device__ __forceinline__ float over_row(float x, F f) {
    x = f(x, __shfl_xor_sync(ALL_LANES, x, 1));
    return f(x, __shfl_xor_sync(ALL_LANES, x, 2));
}

// ---- forward -----------------------------------------------------------------------------------------------
// A block takes 64 queries, a warp 16 of them. `logs` is the logarithm of each query's sum of exponentials, to base 2,
// +inf where a query sees no key.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
attention_forward(T* out, float* logs, const T* query, const T* key, const T* value, const V* mask, const Attention p) {
    extern __shared__ __align__(128) unsigned char shared[];
    T* queries = (T*)shared;
    const auto keys = [&](int tile) { return queries + (1 + tile % 2 * 2) * KEYS * HEAD; };
    const auto values = [&](int tile) { return queries + (2 + tile % 2 * 2) * KEYS * HEAD; };
    const unsigned blocks = (p.queries + QUERIES - 1) / QUERIES, place = blockIdx.x / blocks;
    const int first = blockIdx.x % blocks * QUERIES, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = first + warp * 16 + lane / 4;          // and the one 8 below
    const int seen = CAUSAL ? min(p.keys, first + QUERIES) : p.keys, tiles = (seen + KEYS - 1) / KEYS;
    query += batch_offset(p.query, p, place);
    key += batch_offset(p.key, p, place);
    value += batch_offset(p.value, p, place);
    if (MASK) mask += batch_offset(p.mask, p, place);
    const auto copy = [&](int tile) {
        if (tile < tiles) {
            copy_rows<KEYS>(keys(tile), key, p.key, p, tile * KEYS, p.keys);
            copy_rows<KEYS>(values(tile), value, p.value, p, tile * KEYS, p.keys);
        }
        commit_copies();
    };

    copy_rows<QUERIES>(queries, query, p.query, p, first, p.queries);
    copy(0);
    float sums[HEAD / 8][4] = {}, largest[2] = {minus_infinity(), minus_infinity()}, total[2] = {};
    for (int tile = 0; tile < tiles; tile++) {
        wait_copies<0>();
        __syncthreads();
        copy(tile + 1);
        float weights[KEYS / 8][4] = {};
        rows_by_rows<QUERIES, KEYS>(weights, queries, warp * 16, keys(tile));
        #pragma unroll
        for (int half = 0; half < 2; half++) {
            float top = largest[half];
            #pragma unroll
            for (int j = 0; j < KEYS / 8; j++)
                #pragma unroll
                for (int i = 0; i < 2; i++) {
                    float& w = weights[j][half * 2 + i];
                    w = score(w, mask, p, row + half * 8, tile * KEYS + j * 8 + lane % 4 * 2 + i);
                    top = fmaxf(top, w);
                }
            top = over_row(top, Max());
            const float shift = top == minus_infinity() ? 0 : top, correction = exp2f(largest[half] - shift);
            largest[half] = top;
            total[half] *= correction;
            #pragma unroll
            for (int j = 0; j < HEAD / 8; j++) sums[j][half * 2] *= correction, sums[j][half * 2 + 1] *= correction;
            #pragma unroll
            for (int j = 0; j < KEYS / 8; j++)
                #pragma unroll
                for (int i = 0; i < 2; i++) {
                    float& w = weights[j][half * 2 + i];
                    w = exp2f(w - shift);
                    total[half] += w;
                }
        }
        weights_by_rows<KEYS>(sums, weights, values(tile));
    }
    float inverse[2];
    logs += (i64)place * p.queries;
    #pragma unroll
    for (int half = 0; half < 2; half++) {
        const float t = over_row(total[half], Add());
        inverse[half] = t > 0 ? 1 / t : t == 0 ? 0 : t;    // NaN stays
        if (lane % 4 == 0 && row + half * 8 < p.queries)
            logs[row + half * 8] = t == 0 ? -minus_infinity() : largest[half] + log2f(t);
    }
    out += batch_offset(p.out, p, place);
    write_rows(out, p.out, p, first + warp * 16, p.queries, sums, inverse[0], inverse[1]);
}

// ---- backward ----------------------------------------------------------------------------------------------
// With w the weights and dw = grad @ v.T, the gradient of the scores is w (dw - delta), delta being the sum over the
// keys of w dw, which is that over the features of grad * out: a warp for each query.
extern "C" __global__ void __launch_bounds__(THREADS)
attention_delta(float* delta, const T* grad, const T* out, const Attention p, i64 rows) {
    const i64 index = blockIdx.x * (i64)WARPS + threadIdx.x / 32;
    if (index >= rows) return;
    const unsigned place = index / p.queries;
    const int row = index % p.queries;
    grad += batch_offset(p.grad, p, place) + row * p.grad.row;
    out += batch_offset(p.out, p, place) + row * p.out.row;
    float sum = 0;
    for (int i = threadIdx.x % 32; i < p.features; i += 32)
        sum += to_float(grad[i * p.grad.column]) * to_float(out[i * p.out.column]);
    sum = warp_reduce(sum, Add());
    if (threadIdx.x % 32 == 0) delta[index] = sum;
}

// The gradient of the queries: a block takes 64 of them, and goes over the keys, 32 at a time.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
attention_query_grad(T* query_grad, const T* grad, const T* query, const T* key, const T* value, const V* mask,
                     const float* logs, const float* delta, const Attention p) {
    extern __shared__ __align__(128) unsigned char shared[];
    T *queries = (T*)shared, *grads = queries + QUERIES * HEAD, *tiles_of = grads + QUERIES * HEAD;
    const auto keys = [&](int tile) { return tiles_of + tile % 2 * 2 * HALF_TILE * HEAD; };
    const auto values = [&](int tile) { return tiles_of + (tile % 2 * 2 + 1) * HALF_TILE * HEAD; };
    const unsigned blocks = (p.queries + QUERIES - 1) / QUERIES, place = blockIdx.x / blocks;
    const int first = blockIdx.x % blocks * QUERIES, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = first + warp * 16 + lane / 4;
    const int seen = CAUSAL ? min(p.keys, first + QUERIES) : p.keys, tiles = (seen + HALF_TILE - 1) / HALF_TILE;
    query += batch_offset(p.query, p, place);
    grad += batch_offset(p.grad, p, place);
    key += batch_offset(p.key, p, place);
    value += batch_offset(p.value, p, place);
    if (MASK) mask += batch_offset(p.mask, p, place);
    const auto copy = [&](int tile) {
        if (tile < tiles) {
            copy_rows<HALF_TILE>(keys(tile), key, p.key, p, tile * HALF_TILE, p.keys);
            copy_rows<HALF_TILE>(values(tile), value, p.value, p, tile * HALF_TILE, p.keys);
        }
        commit_copies();
    };

    float log_of[2], delta_of[2];
    #pragma unroll
    for (int half = 0; half < 2; half++) {
        const i64 at = (i64)place * p.queries + min(row + half * 8, p.queries - 1);
        log_of[half] = logs[at];
        delta_of[half] = delta[at];
    }
    copy_rows<QUERIES>(queries, query, p.query, p, first, p.queries);
    copy_rows<QUERIES>(grads, grad, p.grad, p, first, p.queries);
    copy(0);
    float sums[HEAD / 8][4] = {};
    for (int tile = 0; tile < tiles; tile++) {
        wait_copies<0>();
        __syncthreads();
        copy(tile + 1);
        float weights[HALF_TILE / 8][4] = {}, slopes[HALF_TILE / 8][4] = {};
        rows_by_rows<QUERIES, HALF_TILE>(weights, queries, warp * 16, keys(tile));
        rows_by_rows<QUERIES, HALF_TILE>(slopes, grads, warp * 16, values(tile));
        #pragma unroll
        for (int j = 0; j < HALF_TILE / 8; j++)
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                const int column = tile * HALF_TILE + j * 8 + lane % 4 * 2 + i % 2;
                const float w = exp2f(score(weights[j][i], mask, p, row + i / 2 * 8, column) - log_of[i / 2]);
                slopes[j][i] = w * (slopes[j][i] - delta_of[i / 2]);
            }
        weights_by_rows<HALF_TILE>(sums, slopes, keys(tile));
    }
    write_rows(query_grad + batch_offset(p.query_grad, p, place), p.query_grad, p, first + warp * 16, p.queries, sums,
               p.scale, p.scale);
}

// The gradients of keys and values: a block takes 64 of them, and goes over the queries, 32 at a time.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
attention_key_grad(T* key_grad, T* value_grad, const T* grad, const T* query, const T* key, const T* value,
                   const V* mask, const float* logs, const float* delta, const Attention p) {
    extern __shared__ __align__(128) unsigned char shared[];
    T *keys = (T*)shared, *values = keys + KEYS * HEAD, *tiles_of = values + KEYS * HEAD;
    const auto queries = [&](int tile) { return tiles_of + tile % 2 * 2 * HALF_TILE * HEAD; };
    const auto grads = [&](int tile) { return tiles_of + (tile % 2 * 2 + 1) * HALF_TILE * HEAD; };
    const unsigned blocks = (p.keys + KEYS - 1) / KEYS, place = blockIdx.x / blocks;
    const int first = blockIdx.x % blocks * KEYS, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = first + warp * 16 + lane / 4;          // a key
    const int begin = CAUSAL ? first / HALF_TILE : 0, tiles = (p.queries + HALF_TILE - 1) / HALF_TILE;
    query += batch_offset(p.query, p, place);
    grad += batch_offset(p.grad, p, place);
    key += batch_offset(p.key, p, place);
    value += batch_offset(p.value, p, place);
    if (MASK) mask += batch_offset(p.mask, p, place);
    logs += (i64)place * p.queries;
    delta += (i64)place * p.queries;
    const auto copy = [&](int tile) {
        if (tile < tiles) {
            copy_rows<HALF_TILE>(queries(tile), query, p.query, p, tile * HALF_TILE, p.queries);
            copy_rows<HALF_TILE>(grads(tile), grad, p.grad, p, tile * HALF_TILE, p.queries);
        }
        commit_copies();
    };

    copy_rows<KEYS>(keys, key, p.key, p, first, p.keys);
    copy_rows<KEYS>(values, value, p.value, p, first, p.keys);
    copy(begin);
    float key_sums[HEAD / 8][4] = {}, value_sums[HEAD / 8][4] = {};
    for (int tile = begin; tile < tiles; tile++) {
        wait_copies<0>();
        __syncthreads();
        copy(tile + 1);
        float weights[HALF_TILE / 8][4] = {}, slopes[HALF_TILE / 8][4] = {};         // transposed: keys by queries
        rows_by_rows<KEYS, HALF_TILE>(weights, keys, warp * 16, queries(tile));
        rows_by_rows<KEYS, HALF_TILE>(slopes, values, warp * 16, grads(tile));
        #pragma unroll
        for (int j = 0; j < HALF_TILE / 8; j++)
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                const int column = tile * HALF_TILE + j * 8 + lane % 4 * 2 + i % 2, at = min(column, p.queries - 1);
                const float w = exp2f(score(weights[j][i], mask, p, column, row + i / 2 * 8) - logs[at]);
                weights[j][i] = w;
                slopes[j][i] = w * (slopes[j][i] - delta[at]);
            }
        weights_by_rows<HALF_TILE>(value_sums, weights, grads(tile));
        weights_by_rows<HALF_TILE>(key_sums, slopes, queries(tile));
    }
    key_grad += batch_offset(p.key_grad, p, place);
    value_grad += batch_offset(p.value_grad, p, place);
    write_rows(key_grad, p.key_grad, p, first + warp * 16, p.keys, key_sums, p.scale, p.scale);
    write_rows(value_grad, p.value_grad, p, first + warp * 16, p.keys, value_sums, 1, 1);
}
