// Clusters: blocks that run at the same time and reach each other's shared memory, of compute capability 9.0 and later.
#pragma once

// Where the shared variable `p` of this block lies in the block of that rank.
template <class X> __device__ __forceinline__ X* in_block(X* p, int rank) {
    X* there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(p), "r"(rank));
    return there;
}

// All blocks of the cluster have begun once all have called the first of these, and whoever has called the second knows
// it: before that nobody may write to another one's shared memory. Nothing else is ordered.
__device__ __forceinline__ void begin_together() { asm volatile("barrier.cluster.arrive.relaxed.aligned;"); }
__device__ __forceinline__ void await_others() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// __syncthreads() of all blocks of the cluster.
__device__ __forceinline__ void sync_cluster() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
