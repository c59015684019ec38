// Mean and squared distances from it, in one pass and without cancellation.
//
// B. P. Welford, 1962; merged as by T. Chan, G. Golub and R. LeVeque, "Updating formulae and a pairwise algorithm for
// computing sample variances", 1979.
#pragma once
#include "rows.cuh"

struct Moments {
    Wide count, mean, squares;                             // squares: the sum of (x - mean)^2

    // VECTOR numbers at a time: one division for all of them.
    __device__ __forceinline__ void add(const Wide (&x)[VECTOR]) {
        Wide sum = 0, own = 0;
#pragma unroll
        for (int v = 0; v < VECTOR; v++) sum += x[v];
        Wide centre = sum / VECTOR;
#pragma unroll
        for (int v = 0; v < VECTOR; v++) own += (x[v] - centre) * (x[v] - centre);
        Wide before = count, difference = centre - mean;
        count += VECTOR;
        Wide share = VECTOR / count;
        mean += difference * share;
        squares += own + difference * difference * before * share;
    }
};

__device__ __forceinline__ Moments no_moments() { return {0, 0, 0}; }

struct MergeMoments {
    __device__ __forceinline__ Moments operator()(Moments a, Moments b) const {
        Wide count = a.count + b.count, share = count > 0 ? b.count / count : Wide(0), difference = b.mean - a.mean;
        return {count, a.mean + difference * share,
                a.squares + b.squares + difference * difference * a.count * share};
    }
};

__device__ __forceinline__ Moments from_lane(Moments x, int distance) {
    return {from_lane(x.count, distance), from_lane(x.mean, distance), from_lane(x.squares, distance)};
}
