// Sums over all but the channels of (N, channels, inner), and what batch norm does with them.
//
// A sum is made in two steps, in a fixed order: blocks make partial ones, then those of a channel are merged. Partial
// sums lie (parts, channels * across), where `across` is 1, or `inner` for the kernels that read memory as columns:
// there `inner` is so small that a block would find little of a channel side by side, and `conclude_*` merges. Where it
// is large, each block that goes on with a channel merges its parts by itself, which are few: a launch less.
//
//   WHAT  0: mean and squared distances; 1: sums of the gradient, and of the gradient times the normalised input;
//         2: sums of products of two inputs
#include "moments.cuh"

enum { BLOCK = 256, SHARES = 8 };

// ---- what is summed ----------------------------------------------------------------------------------------
#if WHAT == 0
typedef Moments State;
typedef MergeMoments MergeState;
enum { WORDS = 3 };
__device__ __forceinline__ State nothing() { return no_moments(); }
__device__ __forceinline__ void add(State& state, const Wide (&x)[VECTOR], const Wide (&)[VECTOR], Wide, Wide) {
    state.add(x);
}
#else
struct State {
    Wide grad, along;
};
struct MergeState {
    __device__ __forceinline__ State operator()(State a, State b) const { return {a.grad + b.grad, a.along + b.along}; }
};
enum { WORDS = 2 };
__device__ __forceinline__ State nothing() { return {0, 0}; }
__device__ __forceinline__ State from_lane(State x, int distance) {
    return {from_lane(x.grad, distance), from_lane(x.along, distance)};
}
__device__ __forceinline__ void add(State& state, const Wide (&x)[VECTOR], const Wide (&g)[VECTOR], Wide mean,
                                    Wide inverse) {
#pragma unroll
    for (int v = 0; v < VECTOR; v++) {
        state.grad += g[v];
        state.along += g[v] * ((x[v] - mean) * inverse);
    }
}
#endif

// The channel's own mean and inverse deviation, where they are needed.
__device__ __forceinline__ void statistics(Wide& mean, Wide& inverse, const Wide* means, const Wide* deviations,
                                           i64 channel) {
    mean = means ? means[channel] : Wide(0);
    inverse = deviations ? deviations[channel] : Wide(1);
}

__device__ __forceinline__ void store(Wide* parts, i64 place, State state) {
    const Wide* words = reinterpret_cast<const Wide*>(&state);
#pragma unroll
    for (int k = 0; k < WORDS; k++) parts[place * WORDS + k] = words[k];
}

__device__ __forceinline__ State fetch(const Wide* parts, i64 place) {
    State state;
    Wide* words = reinterpret_cast<Wide*>(&state);
#pragma unroll
    for (int k = 0; k < WORDS; k++) words[k] = parts[place * WORDS + k];
    return state;
}

#if WHAT == 0
// What partial moments come to.
__device__ __forceinline__ void conclude(Moments moments, double eps, bool centred, Wide& mean, Wide& variance,
                                         Wide& inverse) {
    mean = centred ? moments.mean : Wide(0);
    variance = moments.squares / moments.count;
    if (!centred) variance += moments.mean * moments.mean;
    inverse = 1 / sqrt(variance + Wide(eps));
}
#endif

#ifdef THREADS
// For each pack of this block's share of its channel `each(place)`.
template <class Each> __device__ __forceinline__ void over_share(i64 channels, u32 packs_inner, u32 packs, Each each) {
#pragma unroll 4
    for (i64 i = blockIdx.y * THREADS + threadIdx.x; i < packs; i += gridDim.y * THREADS) {
        u32 sample = u32(i) / packs_inner, rest = u32(i) - sample * packs_inner;
        each(((sample * channels + blockIdx.x) * (i64)packs_inner + rest) * VECTOR);
    }
}

// Blocks (channels, shares): each goes over every so many packs of its channel.
extern "C" __global__ void __launch_bounds__(THREADS)
sum_planes(Wide* __restrict__ parts, const T* __restrict__ input, const T* __restrict__ grad,
           const Wide* __restrict__ means, const Wide* __restrict__ deviations, i64 channels, u32 packs_inner,
           u32 packs) {
    i64 channel = blockIdx.x;
    Wide mean, inverse;
    statistics(mean, inverse, means, deviations, channel);
    State state = nothing();
    over_share(channels, packs_inner, packs, [&](i64 at) {
        Wide x[VECTOR], g[VECTOR];
        load_pack(x, input + at);
        if (WHAT) load_pack(g, grad + at);
        add(state, x, g, mean, inverse);
    });
    state = over_row(state, MergeState(), 0);
    if (threadIdx.x == 0) store(parts, blockIdx.y * channels + channel, state);
}

// The parts of this block's channel (at most one for each thread of two warps), merged by each
// warp.
__device__ __forceinline__ State merged_by_warp(const Wide* parts, i64 channels, int shares) {
    State state = nothing();
    for (int share = threadIdx.x % WARP; share < shares; share += WARP)
        state = MergeState()(state, fetch(parts, share * channels + blockIdx.x));
#pragma unroll
    for (int distance = WARP / 2; distance; distance /= 2) state = MergeState()(state, from_lane(state, distance));
    return state;
}

// Blocks (channels, shares) that merge what sum_planes found; those of share 0 write it down.
#if WHAT == 0
extern "C" __global__ void __launch_bounds__(THREADS)
scale_planes(T* __restrict__ out, Wide* __restrict__ means, Wide* __restrict__ variances,
             Wide* __restrict__ deviations, const T* __restrict__ input, const T* __restrict__ weight,
             const T* __restrict__ bias, const Wide* __restrict__ parts, i64 channels, u32 packs_inner, u32 packs,
             double eps, bool centred) {
    i64 channel = blockIdx.x;
    Moments moments = merged_by_warp(parts, channels, gridDim.y);
    Wide mean, variance, inverse;
    conclude(moments, eps, centred, mean, variance, inverse);
    if (threadIdx.x == 0 && blockIdx.y == 0) {
        means[channel] = mean;
        variances[channel] = variance;
        deviations[channel] = inverse;
    }
    Wide scale = inverse * (weight ? widen(weight[channel]) : Wide(1)), shift = bias ? widen(bias[channel]) : Wide(0);
    over_share(channels, packs_inner, packs, [&](i64 at) {
        Wide x[VECTOR];
        load_pack(x, input + at);
#pragma unroll
        for (int v = 0; v < VECTOR; v++) x[v] = (x[v] - mean) * scale + shift;
        store_pack(out + at, x);
    });
}
#else
extern "C" __global__ void __launch_bounds__(THREADS)
scale_planes_backward(T* __restrict__ result, T* __restrict__ grads, T* __restrict__ alongs,
                      const T* __restrict__ grad, const T* __restrict__ input, const T* __restrict__ weight,
                      const Wide* __restrict__ means, const Wide* __restrict__ deviations,
                      const Wide* __restrict__ parts, i64 channels, u32 packs_inner, u32 packs, i64 count,
                      bool centred) {
    i64 channel = blockIdx.x;
    State state = merged_by_warp(parts, channels, gridDim.y);
    if (threadIdx.x == 0 && blockIdx.y == 0) {
        grads[channel] = narrow<T>(state.grad);
        alongs[channel] = narrow<T>(state.along);
    }
    Wide mean, inverse;
    statistics(mean, inverse, means, deviations, channel);
    Wide scale = inverse * (weight ? widen(weight[channel]) : Wide(1));
    Wide mean_grad = centred ? state.grad / count : Wide(0), mean_along = state.along / count;
    over_share(channels, packs_inner, packs, [&](i64 at) {
        Wide x[VECTOR], g[VECTOR];
        load_pack(x, input + at);
        load_pack(g, grad + at);
#pragma unroll
        for (int v = 0; v < VECTOR; v++)
            g[v] = (g[v] - mean_grad - (x[v] - mean) * inverse * mean_along) * scale;
        store_pack(result + at, g);
    });
}
#endif

#else
#if VECTOR == 1
// The same reading (N, columns), columns = channels * inner, in blocks of 32 columns x SHARES shares of the samples.
extern "C" __global__ void __launch_bounds__(WARP* SHARES)
sum_columns(Wide* __restrict__ parts, const T* __restrict__ input, const T* __restrict__ grad,
            const Wide* __restrict__ means, const Wide* __restrict__ deviations, i64 samples, i64 columns, i64 inner) {
    __shared__ Wide shared[SHARES][WORDS][WARP];
    i64 column = blockIdx.x * (i64)WARP + threadIdx.x;
    State state = nothing();
    if (column < columns) {
        Wide mean, inverse;
        statistics(mean, inverse, means, deviations, column / inner);
        for (i64 n = blockIdx.y * SHARES + threadIdx.y; n < samples; n += gridDim.y * SHARES) {
            Wide x[1] = {widen(input[n * columns + column])}, g[1] = {0};
            if (WHAT) g[0] = widen(grad[n * columns + column]);
            add(state, x, g, mean, inverse);
        }
    }
    const Wide* words = reinterpret_cast<const Wide*>(&state);
#pragma unroll
    for (int k = 0; k < WORDS; k++) shared[threadIdx.y][k][threadIdx.x] = words[k];
    __syncthreads();
    if (threadIdx.y || column >= columns) return;
    for (int share = 1; share < SHARES; share++) {
        State other;
        Wide* its = reinterpret_cast<Wide*>(&other);
#pragma unroll
        for (int k = 0; k < WORDS; k++) its[k] = shared[share][k][threadIdx.x];
        state = MergeState()(state, other);
    }
    store(parts, blockIdx.y * columns + column, state);
}
#endif

__device__ __forceinline__ State merged(const Wide* parts, i64 channel, i64 channels, int shares, i64 across) {
    State state = nothing();
    for (int share = 0; share < shares; share++)
        for (i64 k = 0; k < across; k++)
            state = MergeState()(state, fetch(parts, (share * channels + channel) * across + k));
    return state;
}

// One thread for each channel.
#if WHAT == 0
extern "C" __global__ void __launch_bounds__(BLOCK)
conclude_moments(Wide* __restrict__ means, Wide* __restrict__ variances, Wide* __restrict__ deviations,
                 const Wide* __restrict__ parts, i64 channels, int shares, i64 across, double eps, bool centred) {
    i64 channel = blockIdx.x * (i64)BLOCK + threadIdx.x;
    if (channel >= channels) return;
    Wide mean, variance, inverse;
    conclude(merged(parts, channel, channels, shares, across), eps, centred, mean, variance, inverse);
    means[channel] = mean;
    variances[channel] = variance;
    deviations[channel] = inverse;
}

// Running statistics of type T moved towards those of a batch by the share `momentum`, the variance by `unbiased` times
// that: in place.
extern "C" __global__ void __launch_bounds__(BLOCK)
move_statistics(T* __restrict__ running_mean, T* __restrict__ running_var, const Wide* __restrict__ means,
                const Wide* __restrict__ variances, i64 channels, double momentum, double unbiased) {
    i64 channel = blockIdx.x * (i64)BLOCK + threadIdx.x;
    if (channel >= channels) return;
    Wide stays = Wide(1 - momentum);
    if (running_mean)
        running_mean[channel] = narrow<T>(widen(running_mean[channel]) * stays + Wide(momentum) * means[channel]);
    if (running_var)
        running_var[channel] = narrow<T>(widen(running_var[channel]) * stays + Wide(unbiased) * variances[channel]);
}
#else
extern "C" __global__ void __launch_bounds__(BLOCK)
conclude_sums(Wide* __restrict__ grads, Wide* __restrict__ alongs, const Wide* __restrict__ parts, i64 channels,
              int shares, i64 across) {
    i64 channel = blockIdx.x * (i64)BLOCK + threadIdx.x;
    if (channel >= channels) return;
    State state = merged(parts, channel, channels, shares, across);
    if (grads) grads[channel] = state.grad;
    alongs[channel] = state.along;
}
#endif

// ---- elementwise, by channel -------------------------------------------------------------------------------
// A pack of neighbours at a time, all of one channel.
#if WHAT == 0
extern "C" __global__ void __launch_bounds__(BLOCK)
scale_channels(T* __restrict__ out, const T* __restrict__ input, const T* __restrict__ weight,
               const T* __restrict__ bias, const Wide* __restrict__ means, const Wide* __restrict__ deviations,
               u32 channels, u32 packs_inner, u32 packs) {
    u32 i = blockIdx.x * BLOCK + threadIdx.x, channel = i / packs_inner % channels;
    if (i >= packs) return;
    Wide scale = deviations[channel] * (weight ? widen(weight[channel]) : Wide(1)), mean = means[channel];
    Wide shift = bias ? widen(bias[channel]) : Wide(0), x[VECTOR];
    load_pack(x, input + i64(i) * VECTOR);
#pragma unroll
    for (int v = 0; v < VECTOR; v++) x[v] = (x[v] - mean) * scale + shift;
    store_pack(out + i64(i) * VECTOR, x);
}
#else
extern "C" __global__ void __launch_bounds__(BLOCK)
scale_channels_backward(T* __restrict__ result, const T* __restrict__ grad, const T* __restrict__ input,
                        const T* __restrict__ weight, const Wide* __restrict__ means,
                        const Wide* __restrict__ deviations, const Wide* __restrict__ grads,
                        const Wide* __restrict__ alongs, u32 channels, u32 packs_inner, u32 packs, i64 count,
                        bool centred) {
    u32 i = blockIdx.x * BLOCK + threadIdx.x, channel = i / packs_inner % channels;
    if (i >= packs) return;
    Wide inverse = deviations[channel], scale = inverse * (weight ? widen(weight[channel]) : Wide(1));
    Wide mean = means[channel], mean_grad = centred ? grads[channel] / count : Wide(0);
    Wide mean_along = alongs[channel] / count, x[VECTOR], g[VECTOR];
    load_pack(x, input + i64(i) * VECTOR);
    load_pack(g, grad + i64(i) * VECTOR);
#pragma unroll
    for (int v = 0; v < VECTOR; v++)
        g[v] = (g[v] - mean_grad - (x[v] - mean) * inverse * mean_along) * scale;
    store_pack(result + i64(i) * VECTOR, g);
}
#endif
#endif
