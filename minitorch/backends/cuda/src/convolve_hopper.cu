// Convolution in one to three dimensions and its gradients on the tensor cores of compute capability 9.0 (compiled for
// sm_90a), by wgmma: what convolve_mma.cu computes, in the same orders of images and weights; sums are float32.
//
//   T, U            dtypes of the operands and of the output
//   WEIGHT, DENSE, VOLUME   as in convolve_mma.cu; WEIGHT for 16-bit floats only, since wgmma reads TF32 along the depth only
//   TILE_M, TILE_N  the part of the output that a block computes: 128 x 256, 128 x 128 or 64 x 256
//   STAGES          how many stages of the depth are in shared memory: of 128 bytes, or of 64 pixels if WEIGHT
//   VECTOR_OUT      1 or 2 neighbours written at once
//
// A warpgroup of 128 threads produces: it copies the tiles of the weight and gathers those of the images, by
// asynchronous copies of 16 bytes, whose places it computes and which are zeros outside of an image, into the layout
// that wgmma reads (see hopper.cuh). Two warpgroups consume, each one half of the tile. Each stage has two barriers in
// shared memory (mbarriers): `full` counts the producing warps, `empty` the consumers that have done with it. Blocks are
// persistent, so that the next tile is gathered while this one is written.
#include "product.cuh"
#include "mma.cuh"
#include "hopper.cuh"
#include "patches.cuh"

enum {
    PRODUCERS = 128, CONSUMERS = 2, THREADS = PRODUCERS + 128 * CONSUMERS,
    PLACES = LINE / sizeof(T), BLOCK = 64 * LINE,          // of a line; bytes of the lines of 64 k or 64 rows
    DEPTH = WEIGHT ? 64 : PLACES,
    BYTES_A = TILE_M * LINE, BYTES_B = TILE_N * LINE, BYTES = BYTES_A + BYTES_B,
    BESIDE = TILE_M == 64,                                 // the consumers have half of the columns each, not of the rows
    PART_N = BESIDE ? TILE_N / 2 : TILE_N,
    SUMS = PART_N / 2,                                     // of a thread
    BEHIND = STAGES - 2,                                   // stages that may be on their way while another is begun
};
static_assert(!WEIGHT || sizeof(T) == 2, "wgmma reads TF32 along the depth only");
typedef SharedTile<T, WEIGHT ? PLACES : TILE_M, DEPTH, !WEIGHT> TileA;       // WEIGHT: of one block
typedef SharedTile<T, WEIGHT ? PLACES : TILE_N, DEPTH, !WEIGHT> TileB;
enum { BLOCKS_A = BYTES_A / TileA::BYTES, BLOCKS_B = BYTES_B / TileB::BYTES };

// ---- the two roles -----------------------------------------------------------------------------------------
struct Shared {
    char* tiles;
    __device__ __forceinline__ char* a(int stage) const { return tiles + stage * BYTES; }
    __device__ __forceinline__ char* b(int stage) const { return tiles + stage * BYTES + BYTES_A; }
    __device__ __forceinline__ u64* full(int stage) const { return (u64*)(tiles + STAGES * BYTES) + stage; }
    __device__ __forceinline__ u64* empty(int stage) const { return full(STAGES + stage); }
};

// The tiles of a block, one after the other, with the part of the depth that is summed.
struct Work {
    unsigned index = blockIdx.x, tiles;
    TilePlace tile;
    int split, k_begin, k_end;

    __device__ __forceinline__ Work(const Patches& p)
        : tiles((p.rows + TILE_M - 1) / TILE_M * ((p.columns + TILE_N - 1) / TILE_N) * p.groups) {}
    __device__ __forceinline__ bool next(const Patches& p) {
        split = index / tiles;
        k_begin = split * p.chunk;
        if (k_begin >= p.depth) return false;
        k_end = min(k_begin + p.chunk, p.depth);
        tile = tile_place(p, index % tiles, TILE_M, TILE_N);
        index += gridDim.x;
        return true;
    }
};

__device__ __forceinline__ void produce(const Shared& shared, const T* left, const T* images, const Patches& p) {
    Ring<STAGES> ring, arriving;
    int under_way = 0;
    const auto show = [&] {                                // to wgmma, which the copies' arrival alone does not
        show_writes();
        __syncwarp();
        if (threadIdx.x % 32 == 0) arrive(shared.full(arriving.stage));
        arriving.advance();
    };
    for (Work work(p); work.next(p);) {
        const int group = work.tile.batch, row = work.tile.row;
        const T* from = left + (WEIGHT ? (i64)group * p.left_row : (i64)group * p.rows * p.depth);
        Gathered<TileB, PRODUCERS, BLOCKS_B> gathered(images, p, group, work.tile.column);
        for (int k = work.k_begin; k < work.k_end; k += DEPTH, ring.advance()) {
            wait(shared.empty(ring.stage), ring.parity ^ 1);               // passes in the first round
            T* a = (T*)shared.a(ring.stage);
            if constexpr (WEIGHT)
                #pragma unroll
                for (int b = 0; b < BLOCKS_A; b++)
                    TileA::copy<true, PRODUCERS>(a + b * BLOCK / (int)sizeof(T), from, 1, (i64)p.groups * p.left_row,
                                                 row + b * PLACES, p.left_row, k, work.k_end);
            else TileA::copy<true, PRODUCERS>(a, from, p.depth, 1, row, p.rows, k, work.k_end);
            gathered.copy((T*)shared.b(ring.stage), p, k, work.k_end);
            commit_copies();
            if (under_way == BEHIND) {
                wait_copies<BEHIND>();
                show();
            } else under_way++;
        }
    }
    wait_copies<0>();
    while (under_way--) show();
}

__device__ __forceinline__ void consume(const Shared& shared, U* out, const T* bias, const Patches& p) {
    const int consumer = threadIdx.x / 128 - 1, thread = threadIdx.x % 128, lane = thread % 32;
    float sums[SUMS];
    Ring<STAGES> ring;
    for (Work work(p); work.next(p);) {
        int before = 0;                                    // the stage of the products before these
        for (int k = work.k_begin; k < work.k_end; k += DEPTH, ring.advance()) {
            wait(shared.full(ring.stage), ring.parity);
            const char* a = shared.a(ring.stage) + (BESIDE ? 0 : consumer * BLOCK);
            const char* b = shared.b(ring.stage) + (BESIDE ? consumer * PART_N * LINE : 0);
            begin_products();
            #pragma unroll
            for (int i = 0; i < DEPTH * (int)sizeof(T) / 32; i++) {        // a turned tile has a line for each k
                const int further = WEIGHT ? i * 32 / (int)sizeof(T) * LINE : i * 32;
                multiply<WEIGHT, WEIGHT>(sums, descriptor(a + further, BLOCK), descriptor(b + further, BLOCK), k - work.k_begin | i);
            }
            commit_products();
            wait_products<1>(sums);
            if (k > work.k_begin && thread == 0) arrive(shared.empty(before));
            before = ring.stage;
        }
        wait_products<0>(sums);
        if (thread == 0) arrive(shared.empty(before));
        write_windows<2, SUMS / 4>(
            out + work.split * p.split_stride, [&](int i, int j) { return sums + j * 4 + i * 2; }, bias, p,
            work.tile.batch, work.tile.row + (BESIDE ? 0 : consumer * 64) + thread / 32 * 16 + lane / 4,
            work.tile.column + (BESIDE ? consumer * PART_N : 0) + lane % 4 * 2);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
convolve_hopper(U* out, const T* left, const T* images, const T* bias, const Patches p) {
    extern __shared__ __align__(1024) char start[];
    const Shared shared = {start + (-shared_address(start) & (GROUP - 1))};    // the swizzle goes by the address
    if (threadIdx.x == 0)
        for (int i = 0; i < STAGES; i++) {
            init_barrier(shared.full(i), PRODUCERS / 32);
            init_barrier(shared.empty(i), CONSUMERS);
        }
    __syncthreads();
    if (threadIdx.x < PRODUCERS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 104;");
        produce(shared, left, images, p);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 200;");
        consume(shared, out, bias, p);
    }
}
