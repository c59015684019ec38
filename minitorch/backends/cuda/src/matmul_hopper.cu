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
#include "product.cuh"
#include "hopper.cuh"

enum {
    TILE_M = 128, DEPTH = 64, CONSUMERS = 2, THREADS = 128 * (1 + CONSUMERS),
    BLOCK = DEPTH * LINE,                                  // bytes: of 64 places
    BYTES_A = TILE_M * LINE, BYTES_B = TILE_N * LINE, BYTES = BYTES_A + BYTES_B,         // of the tiles of a stage
    SUMS = TILE_N / 2,                                     // of a thread
};

// ---- copies ------------------------------------------------------------------------------------------------
template <bool ALONG_K>
__device__ __forceinline__ void copy_tile(char* to, int places, const TensorMap* map, u64* barrier, int place, int k,
                                          int batch) {
    if (ALONG_K) copy_box(to, map, barrier, k, place, batch);
    else
        for (int i = 0; i < places / 64; i++) copy_box(to + i * BLOCK, map, barrier, place + 64 * i, k, batch);
}

// ---- products ----------------------------------------------------------------------------------------------
// Where the k-th element of the depth begins in a tile.
template <bool ALONG_K> __device__ __forceinline__ const char* at_depth(const char* tile, int k) {
    return tile + (ALONG_K ? k * (int)sizeof(T) : k * LINE);
}

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

// ---- the two roles -----------------------------------------------------------------------------------------
struct Shared {
    char* tiles;
    u64 *full, *empty;
    __device__ __forceinline__ char* a(int stage) const { return tiles + stage * BYTES; }
    __device__ __forceinline__ char* b(int stage) const { return tiles + stage * BYTES + BYTES_A; }
};

__device__ __forceinline__ void produce(const Shared& shared, const TensorMap* map_a, const TensorMap* map_b,
                                        const Product& p, unsigned tiles, int steps) {
    Ring<STAGES> ring;
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
    Ring<STAGES> ring;
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
                multiply(sums, descriptor(at_depth<A_ALONG_K>(a, k), BLOCK), descriptor(at_depth<B_ALONG_K>(b, k), BLOCK),
                         step | k);
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
        show_barriers();
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
