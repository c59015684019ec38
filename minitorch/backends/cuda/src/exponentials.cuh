// Sums of exponentials in one pass: a maximum so far, and the sum of the exponentials relative to it.
//
// M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", 2018.
#pragma once
#include "normal.cuh"
#include "rows.cuh"

// exp(x); where the result is rounded to 16 bits, by one approximate instruction.
__device__ __forceinline__ Wide power(Wide x) {
    if constexpr (BRIEF) return quick_exp2(x * 1.44269504f);
    else return exp(x);
}

struct Exponentials {
    Wide largest, sum;

    __device__ __forceinline__ void add(Wide x) {
        Wide next = larger(largest, x);
        sum = sum * exp(largest - next) + exp(x - next);
        largest = next;
    }

    // Several at a time cost one exponential each, and one for all.
    __device__ __forceinline__ void add(const Wide (&x)[VECTOR]) {
        Wide next = largest;
#pragma unroll
        for (int v = 0; v < VECTOR; v++) next = larger(next, x[v]);
        sum *= exp(largest - next);
#pragma unroll
        for (int v = 0; v < VECTOR; v++) sum += exp(x[v] - next);
        largest = next;
    }
};

__device__ __forceinline__ Exponentials of_nothing() { return {lowest(), 0}; }

struct Merge {
    __device__ __forceinline__ Exponentials operator()(Exponentials a, Exponentials b) const {
        Wide next = larger(a.largest, b.largest);
        return {next, a.sum * exp(a.largest - next) + b.sum * exp(b.largest - next)};
    }
};

#ifdef THREADS
__device__ __forceinline__ Exponentials from_lane(Exponentials x, int distance) {
    return {from_lane(x.largest, distance), from_lane(x.sum, distance)};
}
#endif
