// Asynchronous copies from global to shared memory, of compute capability 8.0 and later.
#pragma once
#include "common.cuh"

__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }

// Copies BYTES (4, 8 or 16) to shared memory: the first `bytes` come from global memory, the rest
// are zeros.
template <int BYTES> __device__ __forceinline__ void copy_async(void* to, const void* from, int bytes) {
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(shared_address(to)), "l"(from), "r"(bytes)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" :: "r"(shared_address(to)), "l"(from), "r"(bytes),
                     "n"(BYTES) : "memory");
}

// The copies begun since the last call are a group; `wait_copies<N>` waits for all but the last N groups.
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ __forceinline__ void wait_copies() {
    asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory");
}
