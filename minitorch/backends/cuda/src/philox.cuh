// Philox 4x32-10, which computes any of its numbers directly (minitorch/random/philox.py is the
// reference).
#pragma once
#include "common.cuh"

struct Place {                                             // `state` on the device: seed, and what is added to offset
    u64 seed, offset;
};

__device__ __forceinline__ Place place_of(u64 seed, u64 offset, const u64* state) {
    if (state) return {state[0], state[1] + offset};
    return {seed, offset};
}

struct Words {
    u32 at[4];
};

// The keys of all rounds, which follow from the seed.
enum { ROUNDS = 10 };
struct Keys {
    u32 at[ROUNDS][2];

    __device__ __forceinline__ Keys(u64 seed) {
#pragma unroll
        for (int round = 0; round < ROUNDS; round++) {
            at[round][0] = u32(seed) + round * 0x9E3779B9u;
            at[round][1] = u32(seed >> 32) + round * 0xBB67AE85u;
        }
    }
};

__device__ __forceinline__ Words philox(const Keys& keys, u64 offset, u64 block) {
    u64 call = offset / 4;
    u32 a = u32(call), b = u32(call >> 32), c = u32(block), d = u32(block >> 32);
#pragma unroll
    for (int round = 0; round < ROUNDS; round++) {
        u64 p = u64(a) * 0xD2511F53u, q = u64(c) * 0xCD9E8D57u;
        a = u32(q >> 32) ^ b ^ keys.at[round][0];
        b = u32(q);
        c = u32(p >> 32) ^ d ^ keys.at[round][1];
        d = u32(p);
    }
    return {{a, b, c, d}};
}
