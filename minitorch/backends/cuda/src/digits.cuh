// One digit of a radix sort within a block: how often each occurs in the run of each warp, and the rank of each key among
// those of its digit. A warp's run is ROUNDS times 32 neighbours, so that the order of equal digits is kept.
#pragma once
#include "common.cuh"

enum { BLOCK = 256, WARPS = BLOCK / WARP, TILE = BLOCK * ROUNDS, DIGITS = 256, BITS = 8 };

template <class Key> __device__ __forceinline__ u32 digit_of(Key key, int pass) {
    return u32(key >> pass * BITS) & (DIGITS - 1);
}

// The ranks of the keys of a lane, those in front of `count` of them in the run; `next` then says how often each digit
// occurs in it. Only this warp's: there is no barrier.
template <class Key>
__device__ __forceinline__ void rank_in_run(u32 (&rank)[ROUNDS], const Key (&key)[ROUNDS], u32 (&next)[DIGITS], int pass,
                                            i64 count) {
    int lane = threadIdx.x % WARP;
    for (int i = lane; i < DIGITS; i += WARP) next[i] = 0;
    __syncwarp();
#pragma unroll
    for (int round = 0; round < ROUNDS; round++) {
        bool inside = round * WARP + lane < count;
        u32 digit = digit_of(key[round], pass);
        u32 peers = __match_any_sync(ALL_LANES, inside ? digit : DIGITS);
        u32 earlier = next[digit];
        rank[round] = earlier + __popc(peers & ((1u << lane) - 1));
        __syncwarp();
        if (inside && lane == __ffs(peers) - 1) next[digit] = earlier + __popc(peers);
        __syncwarp();
    }
}

// The sum over the threads before this one.
__device__ __forceinline__ u64 sum_before(u64 x) {
    __shared__ u64 of_warp[WARPS];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    u64 up_to = x;
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) {
        u64 lower = __shfl_up_sync(ALL_LANES, up_to, step);
        if (lane >= step) up_to += lower;
    }
    if (lane == WARP - 1) of_warp[warp] = up_to;
    __syncthreads();
    u64 before = up_to - x;
#pragma unroll
    for (int w = 0; w < WARPS; w++) before += w < warp ? of_warp[w] : 0;
    return before;
}

// Thread d, which stands for digit d: how often it occurs in the block.
__device__ __forceinline__ u32 occurrences(const u32 (&next)[WARPS][DIGITS]) {
    u32 own = 0;
#pragma unroll
    for (int w = 0; w < WARPS; w++) own += next[w][threadIdx.x];
    return own;
}

// Thread d: from how often digit d occurs in each run to where in the tile its first one goes, if the digit's begin at
// `start`.
__device__ __forceinline__ void place_runs(u32 (&next)[WARPS][DIGITS], u32 start) {
#pragma unroll
    for (int w = 0; w < WARPS; w++) {
        u32 occurred = next[w][threadIdx.x];
        next[w][threadIdx.x] = start;
        start += occurred;
    }
}
