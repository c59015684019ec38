// Matrix products of 16-bit floats on the tensor cores of compute capability 9.0 (compiled for sm_90a); sums are
// float32.
//
//   T, U                  dtypes of the operands and of the output
//   TILE_N                the columns that a block computes, 128 or 256; its rows are 128
//   STAGES                how many stages of 64 of the depth are in shared memory
//   A_ALONG_K, B_ALONG_K  as in matmul_simt.cu
//   VECTOR_OUT            1 or 2 neighbours written at once
//
// One warpgroup (128 threads) produces: a thread of it asks the tensor memory accelerator (TMA) to copy tiles into a
// ring of stages. Two warpgroups consume: each multiplies 64 rows by wgmma, which reads its operands out of shared
// memory by itself. Two barriers in shared memory (mbarriers) belong to each stage: `full` counts the bytes that have
// arrived, `empty` the consumers that have done with it. Blocks are persistent: they go from tile to tile, and the
// producer is already at the next one while the consumers write out their sums.
//
// How tiles lie (128-byte swizzle; PTX ISA, "Asynchronous warpgroup matrix multiply-accumulate"): in groups of 8 lines
// of 128 bytes, 64 elements. ALONG_K: a line for each place. Otherwise a line for each k, with 64 places; such blocks
// of 64 places lie one behind the other.
#include "product.cuh"

struct alignas(64) TensorMap { u64 words[16]; };
enum {
    TILE_M = 128, DEPTH = 64, CONSUMERS = 2, THREADS = 128 * (1 + CONSUMERS),
    LINE = 128, GROUP = 8 * LINE, BLOCK = DEPTH * LINE,    // bytes: of a line, of 8 lines, of 64 places
    BYTES_A = TILE_M * LINE, BYTES_B = TILE_N * LINE, BYTES = BYTES_A + BYTES_B,         // of the tiles of a stage
    SUMS = TILE_N / 2,                                     // of a thread
};

// ---- mbarriers ---------------------------------------------------------------------------------------------
__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void init_barrier(u64* barrier, u32 arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void arrive(u64* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared_address(barrier)) : "memory");
}
__device__ __forceinline__ void arrive_and_expect(u64* barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}
// Waits until the phase of this parity is over.
__device__ __forceinline__ void wait(u64* barrier, u32 parity) {
    u32 over = 0;
    while (!over)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                     : "=r"(over) : "r"(shared_address(barrier)), "r"(parity) : "memory");
}

// ---- copies ------------------------------------------------------------------------------------------------
__device__ __forceinline__ void copy_box(void* to, const TensorMap* map, u64* barrier, int inner, int outer,
                                         int batch) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
                 "[%1, {%3, %4, %5}], [%2];" :: "r"(shared_address(to)), "l"(map), "r"(shared_address(barrier)),
                 "r"(inner), "r"(outer), "r"(batch) : "memory");
}

template <bool ALONG_K>
__device__ __forceinline__ void copy_tile(char* to, int places, const TensorMap* map, u64* barrier, int place, int k,
                                          int batch) {
    if (ALONG_K) copy_box(to, map, barrier, k, place, batch);
    else
        for (int i = 0; i < places / 64; i++) copy_box(to + i * BLOCK, map, barrier, place + 64 * i, k, batch);
}

// ---- products ----------------------------------------------------------------------------------------------
// The descriptor of an operand: where it starts, how far apart the blocks of 64 places lie (if not ALONG_K) and the
// groups of 8 lines, all divided by 16; and the swizzle.
__device__ __forceinline__ u64 descriptor(const char* start) {
    const u64 address = (shared_address(start) & 0x3ffff) >> 4;
    return address | (u64)(BLOCK >> 4) << 16 | (u64)(GROUP >> 4) << 32 | (u64)1 << 62;
}
// Where the k-th element of the depth begins in a tile.
template <bool ALONG_K> __device__ __forceinline__ const char* at_depth(const char* tile, int k) {
    return tile + (ALONG_K ? k * (int)sizeof(T) : k * LINE);
}

#define S4(i) "+f"(s[i]), "+f"(s[i + 1]), "+f"(s[i + 2]), "+f"(s[i + 3])
#define S16(i) S4(i), S4(i + 4), S4(i + 8), S4(i + 12)
#define S64(i) S16(i), S16(i + 16), S16(i + 32), S16(i + 48)
#define R8(a, b, c, d, e, f, g, h) "%" #a ",%" #b ",%" #c ",%" #d ",%" #e ",%" #f ",%" #g ",%" #h
#define R64                                                                                                   \
    R8(0, 1, 2, 3, 4, 5, 6, 7) "," R8(8, 9, 10, 11, 12, 13, 14, 15) "," R8(16, 17, 18, 19, 20, 21, 22, 23) "," \
    R8(24, 25, 26, 27, 28, 29, 30, 31) "," R8(32, 33, 34, 35, 36, 37, 38, 39) ","                             \
    R8(40, 41, 42, 43, 44, 45, 46, 47) "," R8(48, 49, 50, 51, 52, 53, 54, 55) ","                             \
    R8(56, 57, 58, 59, 60, 61, 62, 63)
#define R128                                                                                                  \
    R64 "," R8(64, 65, 66, 67, 68, 69, 70, 71) "," R8(72, 73, 74, 75, 76, 77, 78, 79) ","                     \
    R8(80, 81, 82, 83, 84, 85, 86, 87) "," R8(88, 89, 90, 91, 92, 93, 94, 95) ","                             \
    R8(96, 97, 98, 99, 100, 101, 102, 103) "," R8(104, 105, 106, 107, 108, 109, 110, 111) ","                 \
    R8(112, 113, 114, 115, 116, 117, 118, 119) "," R8(120, 121, 122, 123, 124, 125, 126, 127)
#ifdef NEEDS_BF16
#define TYPE "bf16"
#else
#define TYPE "f16"
#endif

// s += a @ b, or s = a @ b if not `add`, for 64 rows, TILE_N columns and a depth of 16; it is only begun here.
__device__ __forceinline__ void multiply(float (&s)[SUMS], u64 a, u64 b, int add) {
#if TILE_N == 128
    asm volatile("{.reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE
                 " {" R64 "}, %64, %65, p, 1, 1, %67, %68;}"
                 : S64(0) : "l"(a), "l"(b), "r"(add), "n"(!A_ALONG_K), "n"(!B_ALONG_K));
#else
    asm volatile("{.reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned.m64n256k16.f32." TYPE "." TYPE
                 " {" R128 "}, %128, %129, p, 1, 1, %131, %132;}"
                 : S64(0), S64(64) : "l"(a), "l"(b), "r"(add), "n"(!A_ALONG_K), "n"(!B_ALONG_K));
#endif
}
__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits for all groups of products but the last N. Only then the sums hold what they should.
template <int N> __device__ __forceinline__ void wait_products(float (&s)[SUMS]) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(N) : "memory");
    #pragma unroll
    for (int i = 0; i < SUMS; i++) asm volatile("" : "+f"(s[i]) :: "memory");
}

// ---- the two roles -----------------------------------------------------------------------------------------
struct Ring {                                              // a stage, and the parity of the round in which it is used
    int stage = 0;
    u32 parity = 0;
    __device__ __forceinline__ void advance() {
        if (++stage == STAGES) stage = 0, parity ^= 1;
    }
};

struct Shared {
    char* tiles;
    u64 *full, *empty;
    __device__ __forceinline__ char* a(int stage) const { return tiles + stage * BYTES; }
    __device__ __forceinline__ char* b(int stage) const { return tiles + stage * BYTES + BYTES_A; }
};

__device__ __forceinline__ void produce(const Shared& shared, const TensorMap* map_a, const TensorMap* map_b,
                                        const Product& p, unsigned tiles, int steps) {
    Ring ring;
    for (unsigned index = blockIdx.x; index < tiles; index += gridDim.x) {
        const TilePlace tile = tile_place(p, index, TILE_M, TILE_N);
        const int batch_a = p.a.batch[2] ? tile.batch : 0, batch_b = p.b.batch[2] ? tile.batch : 0;
        for (int step = 0; step < steps; step++, ring.advance()) {
            u64* full = shared.full + ring.stage;
            wait(shared.empty + ring.stage, ring.parity ^ 1);              // passes in the first round
            arrive_and_expect(full, BYTES);
            copy_tile<A_ALONG_K>(shared.a(ring.stage), TILE_M, map_a, full, tile.row, step * DEPTH, batch_a);
            copy_tile<B_ALONG_K>(shared.b(ring.stage), TILE_N, map_b, full, tile.column, step * DEPTH, batch_b);
        }
    }
}

__device__ __forceinline__ void consume(const Shared& shared, U* out, const T* addend, const Product& p, unsigned tiles,
                                        int steps) {
    const int consumer = threadIdx.x / 128 - 1, thread = threadIdx.x % 128, lane = thread % 32;
    float sums[SUMS];
    Ring ring;
    for (unsigned index = blockIdx.x; index < tiles; index += gridDim.x) {
        const TilePlace tile = tile_place(p, index, TILE_M, TILE_N);
        int before = 0;                                    // the stage of the products before these
        for (int step = 0; step < steps; step++, ring.advance()) {
            wait(shared.full + ring.stage, ring.parity);
            const char* a = shared.a(ring.stage) + consumer * (A_ALONG_K ? 64 * LINE : BLOCK);
            const char* b = shared.b(ring.stage);
            begin_products();
            #pragma unroll
            for (int k = 0; k < DEPTH; k += 16)
                multiply(sums, descriptor(at_depth<A_ALONG_K>(a, k)), descriptor(at_depth<B_ALONG_K>(b, k)), step | k);
            commit_products();
            wait_products<1>(sums);
            if (step && thread == 0) arrive(shared.empty + before);
            before = ring.stage;
        }
        wait_products<0>(sums);
        if (thread == 0) arrive(shared.empty + before);

        U* to = out + batch_offset(p.out, p, tile.batch);
        const T* add = addend ? addend + batch_offset(p.addend, p, tile.batch) : nullptr;
        const int row = tile.row + consumer * 64 + thread / 32 * 16 + lane / 4, column = tile.column + lane % 4 * 2;
        #pragma unroll
        for (int half = 0; half < 2; half++)
            write_pairs<VECTOR_OUT == 2, SUMS / 4>(to, [&](int j) { return sums + j * 4 + half * 2; }, add, p,
                                                   row + half * 8, column);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
matmul_hopper(U* out, const T* addend, const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
              const Product p) {
    extern __shared__ __align__(1024) char start[];
    char* memory = start + (-shared_address(start) & (GROUP - 1));             // the swizzle goes by the address
    const Shared shared = {memory, (u64*)(memory + STAGES * BYTES), (u64*)(memory + STAGES * BYTES) + STAGES};
    const unsigned tiles = (p.rows + TILE_M - 1) / TILE_M * ((p.columns + TILE_N - 1) / TILE_N)
        * (p.batch[0] * p.batch[1] * p.batch[2]);
    const int steps = (p.depth + DEPTH - 1) / DEPTH;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            init_barrier(shared.full + i, 1);
            init_barrier(shared.empty + i, CONSUMERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");     // seen by the copies too
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) produce(shared, &map_a, &map_b, p, tiles, steps);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        consume(shared, out, addend, p, tiles, steps);
    }
}
