// A stable sort of keys below 2^32 with the places they came from: by 8 bits at a time, the lowest first (radix sort).
//
// Keys are counted once for all digits, then each digit takes one sweep: a block ranks the TILE keys of its tile, learns
// from the words of the tiles before how many keys of each digit these have, and moves its own. A. Adinets and D. Merrill,
// "Onesweep: a faster least significant digit radix sort for GPUs", 2022. The result depends on the keys only, so that
// sums which follow its order are the same in every run. Within a tile each warp has a run of neighbours: order is kept.
//
// `room` is 0 at first: for each of `passes` sweeps how often each digit occurs, its tickets, a word for each digit and
// tile (lookback.cuh).
#define ROUNDS 16
#include "digits.cuh"
#include "lookback.cuh"

#ifdef PASSES
// How often each digit of each of PASSES sweeps occurs.
extern "C" __global__ void __launch_bounds__(BLOCK)
count_digits(u64* __restrict__ room, const u32* __restrict__ keys, i64 n) {
    __shared__ u32 counts[PASSES][DIGITS];
#pragma unroll
    for (int pass = 0; pass < PASSES; pass++) counts[pass][threadIdx.x] = 0;
    __syncthreads();
#pragma unroll 4
    for (i64 i = blockIdx.x * (i64)BLOCK + threadIdx.x; i < n; i += gridDim.x * (i64)BLOCK) {
        u32 key = keys[i];
#pragma unroll
        for (int pass = 0; pass < PASSES; pass++) atomicAdd(&counts[pass][digit_of(key, pass)], 1);
    }
    __syncthreads();
#pragma unroll
    for (int pass = 0; pass < PASSES; pass++) {
        u32 own = counts[pass][threadIdx.x];
        if (own) atomicAdd(room + pass * DIGITS + threadIdx.x, u64(own));
    }
}

#else
// Put the keys, and the places they came from, in the order of one digit. Without `places`, these are the keys' own.
extern "C" __global__ void __launch_bounds__(BLOCK, 3)
sort_by_digit(u32* __restrict__ keys_out, u32* __restrict__ places_out, const u32* __restrict__ keys,
              const u32* __restrict__ places, u64* room, i64 n, int pass, int passes) {
    __shared__ u32 ticket, next[WARPS][DIGITS], shift[DIGITS], key_at[TILE], place_at[TILE];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    i64 tile = take_ticket(room + passes * DIGITS + pass, ticket), run = tile * TILE + warp * (WARP * ROUNDS) + lane;
    u32 key[ROUNDS], rank[ROUNDS];
#pragma unroll
    for (int round = 0; round < ROUNDS; round++)
        key[round] = run + round * WARP < n ? keys[run + round * WARP] : 0;
    rank_in_run(rank, key, next[warp], pass, n - (run - lane));
    __syncthreads();
    // From here on each thread stands for a digit.
    u32 own = occurrences(next);
    u64* words = room + passes * (DIGITS + 1) + (pass * (i64)gridDim.x + tile) * DIGITS + threadIdx.x;
    tell(words, tile ? OF_BLOCK : UP_TO_BLOCK, own);
    u64 sums = sum_before(u64(own) << 32 | room[pass * DIGITS + threadIdx.x]);
    u32 start = u32(sums >> 32), before = 0;               // in the tile; in the tiles before
    for (i64 t = 1; t <= tile; t++) {
        u32 value;
        Reach reach = ask(words - t * DIGITS, value);
        before += value;
        if (reach == UP_TO_BLOCK) break;
    }
    if (tile) tell(words, UP_TO_BLOCK, before + own);
    shift[threadIdx.x] = u32(sums) + before - start;
    place_runs(next, start);
    __syncthreads();
#pragma unroll
    for (int round = 0; round < ROUNDS; round++) {
        i64 i = run + round * WARP;
        if (i >= n) continue;
        u32 at = next[warp][digit_of(key[round], pass)] + rank[round];
        key_at[at] = key[round];
        place_at[at] = places ? places[i] : u32(i);
    }
    __syncthreads();
    u32 count = n - tile * TILE < TILE ? u32(n - tile * TILE) : TILE;
#pragma unroll 4
    for (u32 i = threadIdx.x; i < count; i += BLOCK) {     // neighbours of one digit go to neighbouring places
        u32 at = shift[digit_of(key_at[i], pass)] + i;
        keys_out[at] = key_at[i];
        places_out[at] = place_at[i];
    }
}
#endif
