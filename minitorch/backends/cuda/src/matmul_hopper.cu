// Matrix products on the tensor cores of compute capability 9.0 (compiled for sm_90a): 16-bit floats, and float32 as
// TF32, to which the copies round; sums are float32.
//
//   T, U                  dtypes of the operands and of the output
//   TILE_N                the columns that a block computes, 128 or 256; its rows are 128
//   STAGES                how many stages of 128 bytes of the depth are in shared memory
//   CLUSTER               1, or 2: blocks that compute tiles one below the other, and share the columns of `b`
//   STAGGER               0, or 1: the consumers are a step apart
//   A_ALONG_K, B_ALONG_K  as in matmul_simt.cu; both, if T is float
//   ADDEND                0: nothing is added; 1 or 2 neighbours of the addend read at once, on the way to shared memory
//   STORE                 1: the result goes by way of shared memory and TMA; 0: from registers
//   VECTOR_OUT            1 or 2 neighbours written at once, from registers
//
// One warpgroup (128 threads) produces: a thread of it asks the tensor memory accelerator (TMA) to copy tiles into a
// ring of stages. Two warpgroups consume: each multiplies 64 rows by wgmma, which reads its operands out of shared
// memory by itself. Two barriers in shared memory (mbarriers) belong to each stage: `full` counts the bytes that have
// arrived, `empty` the consumers that have done with it. Blocks are persistent: they go from tile to tile, and the
// producer is already at the next one while the consumers write out their sums. With STAGGER the second consumer begins
// a tile only after the first has begun its first products, so that one multiplies while the other writes.
//
// Of a CLUSTER, each block copies half of the tile of `b` to both: `full` counts both halves, and a stage is empty when
// the consumers of both blocks have done with it.
#include "product.cuh"
#include "hopper.cuh"

enum {
    TILE_M = 128, DEPTH = LINE / sizeof(T), CONSUMERS = 2, THREADS = 128 * (1 + CONSUMERS),
    BLOCK = 64 * LINE,                                     // bytes: of 64 places, or of a piece of the result
    BYTES_A = TILE_M * LINE, BYTES_B = TILE_N * LINE, BYTES = BYTES_A + BYTES_B,         // of the tiles of a stage
    SUMS = TILE_N / 2,                                     // of a thread
    PIECES = STORE ? 2 : 0,                                // of the result, in shared memory, for each consumer
};
static_assert(sizeof(T) == 2 || A_ALONG_K && B_ALONG_K && !STORE, "wgmma reads TF32 along the depth only");

// ---- copies ------------------------------------------------------------------------------------------------
template <bool ALONG_K, int BLOCKS>
__device__ __forceinline__ void copy_tile(char* to, int places, const TensorMap* map, u64* barrier, int place, int k,
                                          int batch) {
    if (ALONG_K) copy_box<BLOCKS>(to, map, barrier, k, place, batch);
    else
        for (int i = 0; i < places / 64; i++) copy_box<BLOCKS>(to + i * BLOCK, map, barrier, place + 64 * i, k, batch);
}

// ---- products ----------------------------------------------------------------------------------------------
// Where 32 bytes of the depth, those of a product, begin in a tile.
template <bool ALONG_K> __device__ __forceinline__ const char* at_depth(const char* tile, int i) {
    return tile + i * (ALONG_K ? 32 : 32 / (int)sizeof(T) * LINE);
}

// ---- the result --------------------------------------------------------------------------------------------
// Two neighbouring sums, finished; outside of the result, with what is added at its edge.
__device__ __forceinline__ Vector<U, 2> finish_pair(const float* s, const T* add, const Product& p, int column) {
    Vector<U, 2> pair;
    Vector<T, 2> terms;
    if constexpr (ADDEND == 2) terms = load_vector<T, 2>(add + min(column, p.columns - 2));
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        float sum = s[i] * p.alpha_single;
        if constexpr (ADDEND == 1) terms.at[i] = add[min(column + i, p.columns - 1) * p.addend.column];
        if constexpr (ADDEND) sum += p.beta_single * widen(terms.at[i]);
        pair.at[i] = narrow<U>(activate(sum));
    }
    return pair;
}

// A consumer's sums of a tile, finished: 64 columns at a time go to shared memory, and from there by TMA, which leaves
// out what lies outside. Two pieces are in shared memory, so that one is filled while the other is read.
__device__ __forceinline__ void store_tile(char* pieces, const float (&sums)[SUMS], const TensorMap* map, const T* add,
                                           const Product& p, const TilePlace& tile, int consumer) {
    const int thread = threadIdx.x % 128, lane = thread % 32, line = thread / 32 * 16 + lane % 16;
    const int row = tile.row + consumer * 64, mine = row + thread / 32 * 16 + lane / 4;
    const T* add_line[2];
    for (int half = 0; half < 2; half++)
        add_line[half] = ADDEND ? add + min(mine + half * 8, p.rows - 1) * p.addend.row : nullptr;
    #pragma unroll
    for (int column = 0; column < TILE_N; column += 64) {
        char* piece = pieces + column / 64 % PIECES * BLOCK;
        if (thread == 0) wait_stores<PIECES - 1>();
        sync_threads(1 + consumer, 128);
        #pragma unroll
        for (int c = 0; c < 64; c += 16) {
            u32 words[4];
            #pragma unroll
            for (int i = 0; i < 4; i++) {                  // rows of 8 of the 16, columns of 8 of the 16
                const int at = tile.column + column + c + i / 2 * 8 + lane % 4 * 2;
                const Vector<U, 2> pair = finish_pair(sums + (column + c + i / 2 * 8) / 2 + i % 2 * 2, add_line[i % 2], p,
                                                      at);
                words[i] = *reinterpret_cast<const u32*>(&pair);
            }
            store_matrices(piece + line * LINE + ((c / 8 + lane / 16) ^ line % 8) * 16, words);
        }
        show_writes();
        sync_threads(1 + consumer, 128);
        if (thread == 0) {
            store_box(map, piece, tile.column + column, row, tile.batch);
            commit_stores();
        }
    }
}

// From registers to global memory.
__device__ __forceinline__ void write_tile(U* out, const float (&sums)[SUMS], const T* add, const Product& p,
                                           const TilePlace& tile, int consumer) {
    const int thread = threadIdx.x % 128, lane = thread % 32;
    const int row = tile.row + consumer * 64 + thread / 32 * 16 + lane / 4, column = tile.column + lane % 4 * 2;
    out += batch_offset(p.out, p, tile.batch);
    #pragma unroll
    for (int half = 0; half < 2; half++)
        write_pairs<VECTOR_OUT == 2, SUMS / 4>(out, [&](int j) { return sums + j * 4 + half * 2; }, add, p,
                                               row + half * 8, column);
}

// ---- the two roles -----------------------------------------------------------------------------------------
struct Shared {
    char* tiles;
    __device__ __forceinline__ char* a(int stage) const { return tiles + stage * BYTES; }
    __device__ __forceinline__ char* b(int stage) const { return tiles + stage * BYTES + BYTES_A; }
    __device__ __forceinline__ char* pieces(int consumer) const {
        return tiles + STAGES * BYTES + consumer * PIECES * BLOCK;
    }
    __device__ __forceinline__ u64* full(int stage) const { return (u64*)pieces(CONSUMERS) + stage; }
    __device__ __forceinline__ u64* empty(int stage) const { return full(STAGES) + stage; }
};

// The tiles of a block, one after the other: those of a cluster lie one below the other.
struct Tiles {
    unsigned index = blockIdx.x / CLUSTER, count;
    __device__ __forceinline__ Tiles(const Product& p)
        : count((p.rows + CLUSTER * TILE_M - 1) / (CLUSTER * TILE_M) * ((p.columns + TILE_N - 1) / TILE_N)
                * (p.batch[0] * p.batch[1] * p.batch[2])) {}
    __device__ __forceinline__ bool any() const { return index < count; }
    __device__ __forceinline__ void advance() { index += gridDim.x / CLUSTER; }
    __device__ __forceinline__ TilePlace place(const Product& p) const {
        TilePlace tile = tile_place(p, index, CLUSTER * TILE_M, TILE_N);
        tile.row += blockIdx.x % CLUSTER * TILE_M;
        return tile;
    }
};

__device__ __forceinline__ void produce(const Shared& shared, const TensorMap* map_a, const TensorMap* map_b,
                                        const Product& p, int steps) {
    const int part = blockIdx.x % CLUSTER * (TILE_N / CLUSTER);            // of `b`, that this block copies
    Ring<STAGES> ring;
    for (Tiles tiles(p); tiles.any(); tiles.advance()) {
        const TilePlace tile = tiles.place(p);
        const int batch_a = p.a.batch[2] ? tile.batch : 0, batch_b = p.b.batch[2] ? tile.batch : 0;
        for (int step = 0; step < steps; step++, ring.advance()) {
            u64* full = shared.full(ring.stage);
            wait(shared.empty(ring.stage), ring.parity ^ 1);      // passes in the first round
            arrive_and_expect(full, BYTES);
            copy_tile<A_ALONG_K, 1>(shared.a(ring.stage), TILE_M, map_a, full, tile.row, step * DEPTH, batch_a);
            copy_tile<B_ALONG_K, CLUSTER>(shared.b(ring.stage) + part * LINE, TILE_N / CLUSTER, map_b, full,
                                          tile.column + part, step * DEPTH, batch_b);
        }
    }
}

__device__ __forceinline__ void consume(const Shared& shared, U* out, const T* addend, const TensorMap* map_out,
                                        const Product& p, int steps) {
    const int consumer = threadIdx.x / 128 - 1, thread = threadIdx.x % 128;
    const bool apart = STAGGER && steps >= STAGES;         // or the first could be a tile ahead
    float sums[SUMS];
    Ring<STAGES> ring;
    const auto release = [&](int stage) {
        if (thread < CLUSTER) arrive_at<CLUSTER>(shared.empty(stage), thread);
    };
    for (Tiles tiles(p); tiles.any(); tiles.advance()) {
        const TilePlace tile = tiles.place(p);
        int before = 0;                                    // the stage of the products before these
        if (apart && consumer == 1) sync_threads(3, 256);
        for (int step = 0; step < steps; step++, ring.advance()) {
            wait(shared.full(ring.stage), ring.parity);
            const char* a = shared.a(ring.stage) + consumer * BLOCK;
            const char* b = shared.b(ring.stage);
            begin_products();
            #pragma unroll
            for (int i = 0; i < 4; i++)
                multiply<!A_ALONG_K, !B_ALONG_K>(sums, descriptor(at_depth<A_ALONG_K>(a, i), BLOCK), descriptor(at_depth<B_ALONG_K>(b, i), BLOCK),
                         step | i);
            commit_products();
            if (apart && consumer == 0 && step == 0) arrive_threads(3, 256);
            wait_products<1>(sums);
            if (step) release(before);
            before = ring.stage;
        }
        wait_products<0>(sums);
        release(before);

        const T* add = ADDEND ? addend + batch_offset(p.addend, p, tile.batch) : nullptr;
#if STORE
        store_tile(shared.pieces(consumer), sums, map_out, add, p, tile, consumer);
#else
        write_tile(out, sums, add, p, tile, consumer);
#endif
    }
    if (STORE && thread == 0) wait_stores<0>();
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) CLUSTERED
matmul_hopper(U* out, const T* addend, const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
              const __grid_constant__ TensorMap map_out, const Product p) {
    extern __shared__ __align__(1024) char start[];
    const Shared shared = {start + (-shared_address(start) & (GROUP - 1))};    // the swizzle goes by the address
    const int steps = (p.depth + DEPTH - 1) / DEPTH;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            init_barrier(shared.full(i), 1);
            init_barrier(shared.empty(i), CLUSTER * CONSUMERS);
        }
        show_barriers();
    }
    sync_cluster<CLUSTER>();
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) produce(shared, &map_a, &map_b, p, steps);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        consume(shared, out, addend, &map_out, p, steps);
    }
    if (CLUSTER > 1) sync_cluster<CLUSTER>();              // the other block still arrives here, and copies to here
}
