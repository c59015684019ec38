// The last argument of the kernels of attention.
#pragma once
#include "common.cuh"

enum { BATCH_DIMS = 3 };

struct Rows {                                              // a batch of matrices by strides, in elements
    i64 row, column, batch[BATCH_DIMS];
};
struct Attention {
    Rows query, key, value, mask, out, grad, query_grad, key_grad, value_grad;
    float scale;
    int queries, keys, features, value_features, batch[BATCH_DIMS];
    u32 last;                                              // weights whose word is not above it are dropped
    u64 seed, offset;                                      // of the words
    float kept;                                            // what the other weights are multiplied by
};
