// A stable sort of keys below 2^32 with the places they came from: by 8 bits at a time, the lowest first (radix sort).
//
// It waits for nothing and its result depends on the keys only, so that sums which follow its order are the same in
// every run. A tile of TILE keys belongs to a block; within it each warp has a run of neighbours: order is kept.
#define VECTOR 8
#include "packs.cuh"

enum { BLOCK = 256, ROUNDS = 8, WARPS = BLOCK / WARP, TILE = BLOCK * ROUNDS, DIGITS = 256, EACH = VECTOR };

// Where round `round` of this thread is.
__device__ __forceinline__ i64 place_of(int round) {
    return blockIdx.x * (i64)TILE + threadIdx.x / WARP * (WARP * ROUNDS) + round * WARP + threadIdx.x % WARP;
}

// How often each digit occurs in each tile: counts[digit][tile].
extern "C" __global__ void __launch_bounds__(BLOCK)
count_digits(u32* __restrict__ counts, const u32* __restrict__ keys, i64 n, int shift) {
    __shared__ u32 own[DIGITS];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int round = 0; round < ROUNDS; round++)
        if (place_of(round) < n) atomicAdd(&own[keys[place_of(round)] >> shift & (DIGITS - 1)], 1);
    __syncthreads();
    counts[threadIdx.x * (i64)gridDim.x + blockIdx.x] = own[threadIdx.x];
}

// Each element becomes the sum of those before it; n is a multiple of EACH. One block of 1024 threads, EACH elements a
// thread and step.
extern "C" __global__ void __launch_bounds__(1024)
sums_before(u32* __restrict__ counts, i64 n) {
    __shared__ u32 of_warp[2][WARP];
    u32 carried = 0;
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, turn = 0;
    for (i64 start = 0; start < n; start += 1024 * EACH, turn ^= 1) {
        i64 first = start + threadIdx.x * EACH;
        u32 own[EACH] = {}, total = 0;
        if (first < n) load_numbers(own, counts + first);
#pragma unroll
        for (int k = 0; k < EACH; k++) total += own[k];
        u32 before = total;                                // up to and including this thread, within the warp
#pragma unroll
        for (int step = 1; step < WARP; step *= 2) {
            u32 lower = __shfl_up_sync(ALL_LANES, before, step);
            if (lane >= step) before += lower;
        }
        if (lane == WARP - 1) of_warp[turn][warp] = before;
        __syncthreads();
        u32 of_warps = of_warp[turn][lane];                // each warp adds up all of them: no second barrier
#pragma unroll
        for (int step = 1; step < WARP; step *= 2) {
            u32 lower = __shfl_up_sync(ALL_LANES, of_warps, step);
            if (lane >= step) of_warps += lower;
        }
        u32 all = __shfl_sync(ALL_LANES, of_warps, WARP - 1);
        u32 earlier = __shfl_sync(ALL_LANES, of_warps, (warp + WARP - 1) % WARP);
        before += carried - total + (warp ? earlier : 0);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            u32 here = own[k];
            own[k] = before;
            before += here;
        }
        if (first < n) store_numbers(counts + first, own);
        carried += all;
    }
}

// Put the keys, and the places they came from, in the order of one digit. `starts` is what sums_before made of counts.
// Without `places`, these are the keys' own.
extern "C" __global__ void __launch_bounds__(BLOCK)
place_by_digit(u32* __restrict__ keys_out, u32* __restrict__ places_out, const u32* __restrict__ keys,
               const u32* __restrict__ places, const u32* __restrict__ starts, i64 n, int shift) {
    __shared__ u32 next[WARPS][DIGITS];                    // first: how often a digit has occurred in the warp's run
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    for (int i = lane; i < DIGITS; i += WARP) next[warp][i] = 0;
    __syncwarp();
    u32 key[ROUNDS], rank[ROUNDS];
#pragma unroll
    for (int round = 0; round < ROUNDS; round++) {
        bool inside = place_of(round) < n;
        key[round] = inside ? keys[place_of(round)] : 0;
        u32 digit = key[round] >> shift & (DIGITS - 1);
        u32 peers = __match_any_sync(ALL_LANES, inside ? digit : DIGITS);
        u32 earlier = next[warp][digit];
        rank[round] = earlier + __popc(peers & ((1u << lane) - 1));
        __syncwarp();
        if (inside && lane == __ffs(peers) - 1) next[warp][digit] = earlier + __popc(peers);
        __syncwarp();
    }
    __syncthreads();
    u32 start = starts[threadIdx.x * (i64)gridDim.x + blockIdx.x];
#pragma unroll
    for (int w = 0; w < WARPS; w++) {                      // then: where the warp's first one of it goes
        u32 occurred = next[w][threadIdx.x];
        next[w][threadIdx.x] = start;
        start += occurred;
    }
    __syncthreads();
#pragma unroll
    for (int round = 0; round < ROUNDS; round++) {
        if (place_of(round) >= n) continue;
        u32 at = next[warp][key[round] >> shift & (DIGITS - 1)] + rank[round];
        keys_out[at] = key[round];
        places_out[at] = places ? places[place_of(round)] : u32(place_of(round));
    }
}
