// Attention without its matrix of weights: softmax(scale * q @ k.T + bias) @ v and its gradients, for 16-bit floats on
// tensor cores and for float32 on CUDA cores.
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
//   WARPS    the warps of a block; each has its own rows
//   MASK     0 none, 1 bools, 2 numbers to add
//   CAUSAL   1 if query i sees the keys 0 to i only
//   DROPOUT  1 if random weights become 0, by numbers that are drawn again in each pass
//   ALIGNED  whether rows begin at, and are as long as, multiples of 16 bytes
#include "attention_mma.cuh"
#include "attention_simt.cuh"
#include "attention_softmax.cuh"

// Rows of a warp, and lines that are taken at a time: what fits into registers and shared memory; as in
// ops/attention.py.
constexpr bool HALF = sizeof(T) == 2, SHORT = HEAD <= 64;
enum {
    THREADS = 32 * WARPS,
    FORWARD_ROWS = HALF || SHORT ? 32 : 16, KEYS = SHORT && !MASK && !DROPOUT ? 64 : 32,
    QUERY_ROWS = HALF && (SHORT || MASK < 2) ? 32 : 16, KEY_ROWS = HALF && SHORT && !DROPOUT ? 32 : 16,
    LINES = HALF || SHORT ? 32 : 16,
};

// ---- forward -----------------------------------------------------------------------------------------------
// A block takes FORWARD_ROWS queries a warp, and goes over the keys. Keys are copied while values are multiplied, and
// values while keys are.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
attention_forward(T* out, float* logs, const T* query, const T* key, const T* value, const V* mask,
                  const u64* state, const Attention p) {
    typedef Warp<T, FORWARD_ROWS> W;
    enum { QUERIES = WARPS * FORWARD_ROWS };
    extern __shared__ __align__(128) unsigned char shared[];
    T *queries = (T*)shared, *keys = queries + QUERIES * HEAD, *values = keys + KEYS * HEAD;
    T* room = values + KEYS * HEAD + threadIdx.x / 32 * W::ROOM;
    const unsigned blocks = (p.queries + QUERIES - 1) / QUERIES, place = blockIdx.x / blocks;
    const int first = blockIdx.x % blocks * QUERIES, row = first + threadIdx.x / 32 * FORWARD_ROWS;  // of the warp
    const int seen = CAUSAL ? min(p.keys, first + QUERIES) : p.keys, tiles = (seen + KEYS - 1) / KEYS;
    const float factor = factor_of(p);
    const Dropout dropout(p, state, place);
    query += batch_offset(p.query, p, place);
    key += batch_offset(p.key, p, place);
    value += batch_offset(p.value, p, place);
    if (MASK) mask += batch_offset(p.mask, p, place);

    copy_rows<QUERIES, THREADS>(queries, query, p.query, first, p.queries, p.features);
    copy_rows<KEYS, THREADS>(keys, key, p.key, 0, p.keys, p.features);
    commit_copies();
    typename W::template Kept<QUERIES> left;
    typename W::Features sums;
    typename W::template Sums<KEYS> weights;
    float largest[W::HELD], total[W::HELD] = {};
    #pragma unroll
    for (int r = 0; r < W::HELD; r++) largest[r] = minus_infinity();
    for (int tile = 0; tile < tiles; tile++) {
        const int column = tile * KEYS;
        wait_copies<0>();
        __syncthreads();                                   // the keys are there, and the last values are done with
        copy_rows<KEYS, THREADS>(values, value, p.value, column, p.keys, p.value_features);
        commit_copies();
        if (tile == 0) left.set(queries, row - first);
        W::template rows_by_rows<KEYS>(weights, left, keys);
        const bool inside = column + KEYS <= (CAUSAL ? min(p.keys, row + 1) : p.keys)
            && (!MASK || row + FORWARD_ROWS <= p.queries);
        #pragma unroll
        for (int r = 0; r < W::HELD; r++) {
            mask_row<W, false>(weights, r, inside, mask, p, row, column);
            const float correction = weigh<W>(weights, r, factor, largest[r], total[r]);
            #pragma unroll
            for (int c = 0; c < sums.COUNT; c++) sums(r, c) *= correction;
        }
        dropout.each<W, false>(weights, row, column, [&](int r, int c, bool kept) { if (!kept) weights(r, c) = 0; });
        wait_copies<0>();
        __syncthreads();                                   // the values are there, and the keys are done with
        if (tile + 1 < tiles) copy_rows<KEYS, THREADS>(keys, key, p.key, column + KEYS, p.keys, p.features);
        commit_copies();
        W::template weights_by_rows<KEYS>(sums, weights, values, room);
    }
    conclude<W>(out, logs, p, place, row, sums, factor, largest, total);
}

// ---- backward ----------------------------------------------------------------------------------------------
// With w the weights and dw = grad @ v.T, the gradient of the scores is w (dw - delta): attention_delta.cu.

// The gradient of the queries: a block takes QUERY_ROWS of them a warp, and goes over the keys.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
attention_query_grad(T* query_grad, const T* grad, const T* query, const T* key, const T* value, const V* mask,
                     const float* logs, const float* delta, const u64* state, const Attention p) {
    typedef Warp<T, QUERY_ROWS> W;
    enum { QUERIES = WARPS * QUERY_ROWS };
    extern __shared__ __align__(128) unsigned char shared[];
    T *queries = (T*)shared, *grads = queries + QUERIES * HEAD, *tiles_of = grads + QUERIES * HEAD;
    T* room = tiles_of + 4 * LINES * HEAD + threadIdx.x / 32 * W::ROOM;
    const auto keys = [&](int tile) { return tiles_of + tile % 2 * 2 * LINES * HEAD; };
    const auto values = [&](int tile) { return tiles_of + (tile % 2 * 2 + 1) * LINES * HEAD; };
    const unsigned blocks = (p.queries + QUERIES - 1) / QUERIES, place = blockIdx.x / blocks;
    const int first = blockIdx.x % blocks * QUERIES, row = first + threadIdx.x / 32 * QUERY_ROWS;
    const int seen = CAUSAL ? min(p.keys, first + QUERIES) : p.keys, tiles = (seen + LINES - 1) / LINES;
    const float factor = factor_of(p), kept_factor = kept_factor_of(p);
    const Dropout dropout(p, state, place);
    query += batch_offset(p.query, p, place);
    grad += batch_offset(p.grad, p, place);
    key += batch_offset(p.key, p, place);
    value += batch_offset(p.value, p, place);
    if (MASK) mask += batch_offset(p.mask, p, place);
    const auto copy = [&](int tile) {
        if (tile < tiles) {
            copy_rows<LINES, THREADS>(keys(tile), key, p.key, tile * LINES, p.keys, p.features);
            copy_rows<LINES, THREADS>(values(tile), value, p.value, tile * LINES, p.keys, p.value_features);
        }
        commit_copies();
    };

    float log_of[W::HELD], delta_of[W::HELD], scale[W::HELD];
    #pragma unroll
    for (int r = 0; r < W::HELD; r++) {
        const i64 at = (i64)place * p.queries + min(row + W::row(r), p.queries - 1);
        log_of[r] = logs[at];
        delta_of[r] = delta[at];
        scale[r] = p.scale;
    }
    copy_rows<QUERIES, THREADS>(queries, query, p.query, first, p.queries, p.features);
    copy_rows<QUERIES, THREADS>(grads, grad, p.grad, first, p.queries, p.value_features);
    copy(0);
    typedef typename W::template Shared<QUERIES> Left;
    typename W::Features sums;
    for (int tile = 0; tile < tiles; tile++) {
        const int column = tile * LINES;
        wait_copies<0>();
        __syncthreads();
        copy(tile + 1);
        typename W::template Sums<LINES> weights, slopes;
        W::template rows_by_rows<LINES>(weights, Left{queries, row - first}, keys(tile));
        W::template rows_by_rows<LINES>(slopes, Left{grads, row - first}, values(tile));
        const bool inside = column + LINES <= (CAUSAL ? min(p.keys, row + 1) : p.keys)
            && (!MASK || row + QUERY_ROWS <= p.queries);
        dropout.each<W, false>(slopes, row, column, [&](int r, int c, bool kept) {
            slopes(r, c) = kept ? slopes(r, c) * kept_factor : 0;
        });
        #pragma unroll
        for (int r = 0; r < W::HELD; r++) {
            mask_row<W, false>(weights, r, inside, mask, p, row, column);
            #pragma unroll
            for (int c = 0; c < weights.COUNT; c++)
                slopes(r, c) = exp2f(weights(r, c) * factor - log_of[r]) * (slopes(r, c) - delta_of[r]);
        }
        W::template weights_by_rows<LINES>(sums, slopes, keys(tile), room);
    }
    write_rows<W>(query_grad + batch_offset(p.query_grad, p, place), p.query_grad, row, p.queries, p.features, sums,
                  scale);
}

// The gradients of keys and values: a block takes KEY_ROWS of them a warp, and goes over the queries.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
attention_key_grad(T* key_grad, T* value_grad, const T* grad, const T* query, const T* key, const T* value,
                   const V* mask, const float* logs, const float* delta, const u64* state, const Attention p) {
    typedef Warp<T, KEY_ROWS> W;
    enum { BLOCK = WARPS * KEY_ROWS };
    extern __shared__ __align__(128) unsigned char shared[];
    T *keys = (T*)shared, *values = keys + BLOCK * HEAD, *tiles_of = values + BLOCK * HEAD;
    T* room = tiles_of + 4 * LINES * HEAD + threadIdx.x / 32 * W::ROOM;
    const auto queries = [&](int tile) { return tiles_of + tile % 2 * 2 * LINES * HEAD; };
    const auto grads = [&](int tile) { return tiles_of + (tile % 2 * 2 + 1) * LINES * HEAD; };
    const unsigned blocks = (p.keys + BLOCK - 1) / BLOCK, place = blockIdx.x / blocks;
    const int first = blockIdx.x % blocks * BLOCK, row = first + threadIdx.x / 32 * KEY_ROWS;       // a key
    const int begin = CAUSAL ? first / LINES : 0, tiles = (p.queries + LINES - 1) / LINES;
    const float factor = factor_of(p), kept_factor = kept_factor_of(p);
    const Dropout dropout(p, state, place);
    query += batch_offset(p.query, p, place);
    grad += batch_offset(p.grad, p, place);
    key += batch_offset(p.key, p, place);
    value += batch_offset(p.value, p, place);
    if (MASK) mask += batch_offset(p.mask, p, place);
    logs += (i64)place * p.queries;
    delta += (i64)place * p.queries;
    const auto copy = [&](int tile) {
        if (tile < tiles) {
            copy_rows<LINES, THREADS>(queries(tile), query, p.query, tile * LINES, p.queries, p.features);
            copy_rows<LINES, THREADS>(grads(tile), grad, p.grad, tile * LINES, p.queries, p.value_features);
        }
        commit_copies();
    };

    copy_rows<BLOCK, THREADS>(keys, key, p.key, first, p.keys, p.features);
    copy_rows<BLOCK, THREADS>(values, value, p.value, first, p.keys, p.value_features);
    copy(begin);
    typedef typename W::template Shared<BLOCK> Left;
    typename W::Features key_sums, value_sums;
    for (int tile = begin; tile < tiles; tile++) {
        const int column = tile * LINES;                   // a query
        wait_copies<0>();
        __syncthreads();
        copy(tile + 1);
        typename W::template Sums<LINES> weights, slopes;  // transposed: keys by queries
        W::template rows_by_rows<LINES>(weights, Left{keys, row - first}, queries(tile));
        W::template rows_by_rows<LINES>(slopes, Left{values, row - first}, grads(tile));
        const bool inside = column + LINES <= p.queries && (!CAUSAL || column >= row + KEY_ROWS - 1)
            && (!MASK || row + KEY_ROWS <= p.keys);
        #pragma unroll
        for (int r = 0; r < W::HELD; r++) mask_row<W, true>(weights, r, inside, mask, p, row, column);
        const auto query_of = [&](int c) { return min(column + W::column(c), p.queries - 1); };
        #pragma unroll
        for (int c = 0; c < weights.COUNT; c++) {
            const float log_of = logs[query_of(c)];
            #pragma unroll
            for (int r = 0; r < W::HELD; r++) weights(r, c) = exp2f(weights(r, c) * factor - log_of);
        }
        dropout.each<W, true>(weights, row, column, [&](int r, int c, bool kept) {
            slopes(r, c) = weights(r, c) * ((kept ? slopes(r, c) * kept_factor : 0) - delta[query_of(c)]);
            if (!kept) weights(r, c) = 0;
        });
        W::template weights_by_rows<LINES>(value_sums, weights, grads(tile), room);
        W::template weights_by_rows<LINES>(key_sums, slopes, queries(tile), room);
    }
    float scale[W::HELD], by_value[W::HELD];
    #pragma unroll
    for (int r = 0; r < W::HELD; r++) scale[r] = p.scale, by_value[r] = kept_factor;
    key_grad += batch_offset(p.key_grad, p, place);
    value_grad += batch_offset(p.value_grad, p, place);
    write_rows<W>(key_grad, p.key_grad, row, p.keys, p.features, key_sums, scale);
    write_rows<W>(value_grad, p.value_grad, row, p.keys, p.value_features, value_sums, by_value);
}
