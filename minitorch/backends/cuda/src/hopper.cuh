// What compute capability 9.0 has for products (sm_90a): barriers in shared memory that also count the bytes of copies
// (mbarriers), the tensor memory accelerator (TMA), products of a warpgroup, 128 threads, from shared memory (wgmma).
//
// How tiles lie (128-byte swizzle; PTX ISA, "Asynchronous warpgroup matrix multiply-accumulate"): in groups of 8 lines
// of 128 bytes, each group at a multiple of 1024. ALONG_K: a line for each place. Otherwise a line for each k, with as
// many places as fit; such blocks of places lie one behind the other.
#pragma once
#include "async.cuh"

struct alignas(64) TensorMap { u64 words[16]; };
enum { LINE = 128, GROUP = 8 * LINE };                     // bytes

// ---- mbarriers ---------------------------------------------------------------------------------------------
__device__ __forceinline__ void init_barrier(u64* barrier, u32 arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
// After the barriers of a block were made: now the copies see them too.
__device__ __forceinline__ void show_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ __forceinline__ void arrive(u64* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared_address(barrier)) : "memory");
}
__device__ __forceinline__ void arrive_and_expect(u64* barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}
// At the barrier of this place in the shared memory of a block of the cluster. It tells that what the thread waited for
// before, products and copies, is over, and nothing of what it wrote: that would be `release.cluster`, a fence of
// hundreds of cycles.
template <int BLOCKS> __device__ __forceinline__ void arrive_at(u64* barrier, u32 block) {
    if constexpr (BLOCKS == 1) arrive(barrier);
    else
        asm volatile("{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; "
                     "mbarrier.arrive.shared::cluster.b64 _, [there];}"
                     :: "r"(shared_address(barrier)), "r"(block) : "memory");
}
// Waits until the phase of this parity is over.
__device__ __forceinline__ void wait(u64* barrier, u32 parity) {
    u32 over = 0;
    while (!over)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                     : "=r"(over) : "r"(shared_address(barrier)), "r"(parity) : "memory");
}

// ---- barriers of some threads, and of a cluster ------------------------------------------------------------
__device__ __forceinline__ void sync_threads(int barrier, int threads) {
    asm volatile("bar.sync %0, %1;" :: "r"(barrier), "r"(threads) : "memory");
}
__device__ __forceinline__ void arrive_threads(int barrier, int threads) {     // counts among them, does not wait
    asm volatile("bar.arrive %0, %1;" :: "r"(barrier), "r"(threads) : "memory");
}
// All threads of so many blocks, which CLUSTERED puts on neighbouring multiprocessors; of the block, if there is one.
template <int BLOCKS> __device__ __forceinline__ void sync_cluster() {
    if constexpr (BLOCKS == 1) __syncthreads();
    else asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory");
}
#if CLUSTER > 1
#define CLUSTERED __cluster_dims__(CLUSTER, 1, 1)
#else
#define CLUSTERED
#endif

// A stage of a ring of N, and the parity of the round in which it is used.
template <int N> struct Ring {
    int stage = 0;
    u32 parity = 0;
    __device__ __forceinline__ void advance() {
        if (++stage == N) stage = 0, parity ^= 1;
    }
};

// ---- copies by the TMA -------------------------------------------------------------------------------------
// A box of an array of three dimensions, the innermost first, to shared memory; what lies outside becomes 0. To the
// same place of so many blocks of a cluster, from the first on, and the bytes are counted by the barrier of each.
template <int BLOCKS = 1>
__device__ __forceinline__ void copy_box(void* to, const TensorMap* map, u64* barrier, int inner, int outer,
                                         int batch) {
    if constexpr (BLOCKS == 1)
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
                     "[%1, {%3, %4, %5}], [%2];" :: "r"(shared_address(to)), "l"(map), "r"(shared_address(barrier)),
                     "r"(inner), "r"(outer), "r"(batch) : "memory");
    else
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                     ".multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;"
                     :: "r"(shared_address(to)), "l"(map), "r"(shared_address(barrier)), "r"(inner), "r"(outer),
                     "r"(batch), "h"((unsigned short)((1 << BLOCKS) - 1)) : "memory");
}
// A box of shared memory to global memory, what lies inside of the array; the stores since the last `commit_stores` are
// a group. Before: `show_writes` by those who wrote, then a barrier.
__device__ __forceinline__ void store_box(const TensorMap* map, const void* from, int inner, int outer, int batch) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];"
                 :: "l"(map), "r"(shared_address(from)), "r"(inner), "r"(outer), "r"(batch) : "memory");
}
__device__ __forceinline__ void show_writes() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Waits until all groups of this thread but the last N have read shared memory.
template <int N> __device__ __forceinline__ void wait_stores() {
    asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(N) : "memory");
}

// Four 8 x 8 matrices of 16-bit elements to shared memory, from where `load_matrices` of mma.cuh would give them back.
__device__ __forceinline__ void store_matrices(void* row, const u32 (&r)[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};"
                 :: "r"(shared_address(row)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}

// ---- products of a warpgroup -------------------------------------------------------------------------------
// The descriptor of an operand with a 128-byte swizzle: where it starts, how far apart the blocks of places lie (if not
// ALONG_K) and the groups of 8 lines, all divided by 16.
__device__ __forceinline__ u64 descriptor(const char* start, int block) {
    const u64 address = (shared_address(start) & 0x3ffff) >> 4;
    return address | (u64)(block >> 4) << 16 | (u64)(GROUP >> 4) << 32 | (u64)1 << 62;
}

__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits for all groups of products but the last LEFT. Only then the sums hold what they should.
template <int LEFT, int SUMS> __device__ __forceinline__ void wait_products(float (&s)[SUMS]) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(LEFT) : "memory");
    #pragma unroll
    for (int i = 0; i < SUMS; i++) asm volatile("" : "+f"(s[i]) :: "memory");
}

// Registers of the instruction: operands of asm, "+f" of s[i] and on, and their names in its text.
#define S4(i) "+f"(s[i]), "+f"(s[i + 1]), "+f"(s[i + 2]), "+f"(s[i + 3])
#define S16(i) S4(i), S4(i + 4), S4(i + 8), S4(i + 12)
#define S64(i) S16(i), S16(i + 16), S16(i + 32), S16(i + 48)
#define R8(a, b, c, d, e, f, g, h) "%" #a ",%" #b ",%" #c ",%" #d ",%" #e ",%" #f ",%" #g ",%" #h
#define R32                                                                                                    \
    R8(0, 1, 2, 3, 4, 5, 6, 7) "," R8(8, 9, 10, 11, 12, 13, 14, 15) "," R8(16, 17, 18, 19, 20, 21, 22, 23) "," \
    R8(24, 25, 26, 27, 28, 29, 30, 31)
#define R64                                                                                                   \
    R32 "," R8(32, 33, 34, 35, 36, 37, 38, 39) "," R8(40, 41, 42, 43, 44, 45, 46, 47) ","                     \
    R8(48, 49, 50, 51, 52, 53, 54, 55) "," R8(56, 57, 58, 59, 60, 61, 62, 63)
#define R128                                                                                                  \
    R64 "," R8(64, 65, 66, 67, 68, 69, 70, 71) "," R8(72, 73, 74, 75, 76, 77, 78, 79) ","                     \
    R8(80, 81, 82, 83, 84, 85, 86, 87) "," R8(88, 89, 90, 91, 92, 93, 94, 95) ","                             \
    R8(96, 97, 98, 99, 100, 101, 102, 103) "," R8(104, 105, 106, 107, 108, 109, 110, 111) ","                 \
    R8(112, 113, 114, 115, 116, 117, 118, 119) "," R8(120, 121, 122, 123, 124, 125, 126, 127)

#if defined(NEEDS_BF16)
#define TYPES "k16.f32.bf16.bf16 "
#elif defined(NEEDS_FP16)
#define TYPES "k16.f32.f16.f16 "
#else
#define TYPES "k8.f32.tf32.tf32 "
#endif
#if defined(NEEDS_BF16) || defined(NEEDS_FP16)
#define TURNS(a, b) ", %" #a ", %" #b
#define TURNED , "n"(TURN_A), "n"(TURN_B)
#else
#define TURNS(a, b) ""
#define TURNED
#endif

// s += a @ b, or s = a @ b if not `add`, for 64 rows, twice as many columns as sums, and 32 bytes of depth, of operands
// in shared memory; it is only begun here. TURN_A, TURN_B: the tile has a line for each k.
template <bool TURN_A, bool TURN_B, int SUMS>
__device__ __forceinline__ void multiply(float (&s)[SUMS], u64 a, u64 b, int add) {
    static_assert(SUMS == 32 || SUMS == 64 || SUMS == 128, "of 64, 128 or 256 columns");
    if constexpr (SUMS == 32)
        asm volatile("{.reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64" TYPES
                     "{" R32 "}, %32, %33, p, 1, 1" TURNS(35, 36) ";}"
                     : S16(0), S16(16) : "l"(a), "l"(b), "r"(add) TURNED);
    else if constexpr (SUMS == 64)
        asm volatile("{.reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128" TYPES
                     "{" R64 "}, %64, %65, p, 1, 1" TURNS(67, 68) ";}" : S64(0) : "l"(a), "l"(b), "r"(add) TURNED);
    else
        asm volatile("{.reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned.m64n256" TYPES
                     "{" R128 "}, %128, %129, p, 1, 1" TURNS(131, 132) ";}"
                     : S64(0), S64(64) : "l"(a), "l"(b), "r"(add) TURNED);
}
