// Attention without its matrix of weights on the tensor cores of compute capability 9.0 (compiled for sm_90a): what
// attention_forward of attention.cu computes, for 16-bit floats and without a mask of numbers or bools.
//
//   T, V       the dtype of queries, keys, values, and of the result
//   HEAD       the size of a head, 64 or 128; smaller ones are filled up with zeros
//   CONSUMERS  the warpgroups that compute, each of which has 64 queries
//   KEYS       the keys that are taken at a time
//   STAGES     how many tiles of keys or values are in shared memory
//   CAUSAL, ALIGNED  as in attention.cu; MASK is 0
//
// J. Shah, G. Bikshandi, Y. Zhang, V. Thakkar, P. Ramani and T. Dao, "FlashAttention-3: Fast and Accurate Attention with
// Asynchrony and Low-precision" (2024). One warpgroup (128 threads) produces: a thread of it has tiles of queries, keys
// and values copied by the TMA into a ring of stages, as in matmul_hopper.cu. The others consume: queries and keys are
// multiplied out of shared memory; the sums become weights in registers, and these are the left operand of the products
// with values. The tensor cores multiply queries with the next keys and weights with these values while a warpgroup
// computes the exponentials of the next weights. Blocks are persistent: they go from queries to queries.
//
// Tiles have lines of 64 features (see hopper.cuh). Keys are read along them, values across.
#include "attention_softmax.cuh"
#include "hopper.cuh"

enum {
    THREADS = 128 * (1 + CONSUMERS), QUERIES = 64 * CONSUMERS, DEPTH = 16,               // of a product
    ACROSS = HEAD / 64,                                                                  // blocks of 64 features
    BYTES_Q = QUERIES * ACROSS * LINE, BLOCK = KEYS * LINE, BYTES = ACROSS * BLOCK,      // of keys, or values
};

// What a thread of a warpgroup holds of 64 rows: two of them, and of each a quarter of the columns.
struct Warpgroup {
    enum { HELD = 2, LANES = 4 };

    static __device__ __forceinline__ int row(int r) { return threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4 + r * 8; }
    static __device__ __forceinline__ int column(int c) { return c / 2 * 8 + threadIdx.x % 4 * 2 + c % 2; }
    static __device__ __forceinline__ int feature(int c) { return column(c); }

    template <int COLUMNS> struct Sums {
        enum { COUNT = COLUMNS / LANES, TOGETHER = 2 };
        float at[COLUMNS / 2];
        __device__ __forceinline__ float& operator()(int r, int c) { return at[c / 2 * 4 + r * 2 + c % 2]; }
    };
    typedef Sums<HEAD> Features;
};
typedef Warpgroup::Sums<KEYS> Weights;
typedef Warpgroup::Features Features;

// ---- places ------------------------------------------------------------------------------------------------
// The queries that a block computes, and how many tiles of keys these see. Blocks take them in turns, every other time
// backwards, and the last queries of a place first: so each has long and short ones where later queries see more keys.
struct Part {
    unsigned place;
    int first, tiles;
};
__device__ __forceinline__ unsigned part_in_turn(unsigned turn) {
    return turn * gridDim.x + (turn % 2 ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
}
__device__ __forceinline__ unsigned count_parts(const Attention& p) {
    return (p.queries + QUERIES - 1) / QUERIES * (p.batch[0] * p.batch[1] * p.batch[2]);
}
__device__ __forceinline__ Part part_of(const Attention& p, unsigned index) {
    const unsigned blocks = (p.queries + QUERIES - 1) / QUERIES;
    const int first = (blocks - 1 - index % blocks) * QUERIES;
    return {index / blocks, first, ((CAUSAL ? min(p.keys, first + QUERIES) : p.keys) + KEYS - 1) / KEYS};
}

// ---- shared memory -----------------------------------------------------------------------------------------
struct Shared {
    char* queries;
    u64 *queries_there, *queries_read, *full, *empty;
    __device__ __forceinline__ char* tile(int stage) const { return queries + BYTES_Q + stage * BYTES; }
};

// Copies LINES rows of features from `first` on; what is outside becomes 0. The dimensions of the batch along which all
// places have the same matrix are of size 1 in the map.
template <int LINES>
__device__ __forceinline__ void copy_lines(char* to, const TensorMap* map, u64* barrier, const Rows& x,
                                           const Attention& p, unsigned place, int first) {
    const unsigned last = place % p.batch[2], rest = place / p.batch[2];
    const int i = x.batch[2] ? last : 0, j = x.batch[1] ? rest % p.batch[1] : 0, k = x.batch[0] ? rest / p.batch[1] : 0;
    for (int block = 0; block < ACROSS; block++)
        asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
                     "[%1, {%3, %4, %5, %6, %7}], [%2];" :: "r"(shared_address(to + block * LINES * LINE)), "l"(map),
                     "r"(shared_address(barrier)), "r"(block * 64), "r"(first), "r"(i), "r"(j), "r"(k) : "memory");
}

// ---- products ----------------------------------------------------------------------------------------------
#ifdef NEEDS_BF16
#define TYPE "bf16"
#else
#define TYPE "f16"
#endif

// s += a @ b, or s = a @ b if not `add`, of a depth of 16, for 64 queries and KEYS keys; it is only begun here.
__device__ __forceinline__ void multiply(float (&s)[64], u64 a, u64 b, int add) {
    static_assert(KEYS == 128, "as the instruction says");
    asm volatile("{.reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE
                 " {" R64 "}, %64, %65, p, 1, 1, 0, 0;}" : S64(0) : "l"(a), "l"(b), "r"(add));
}
// The same for 64 queries and the features of values, with weights from registers.
__device__ __forceinline__ void multiply(float (&s)[HEAD / 2], const u32 (&a)[4], u64 b, int add) {
#if HEAD == 64
    asm volatile("{.reg .pred p; setp.ne.b32 p, %37, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE
                 " {" R32 "}, {%32,%33,%34,%35}, %36, p, 1, 1, 1;}"
                 : S16(0), S16(16) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
#else
    asm volatile("{.reg .pred p; setp.ne.b32 p, %69, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE
                 " {" R64 "}, {%64,%65,%66,%67}, %68, p, 1, 1, 1;}"
                 : S64(0) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
#endif
}

__device__ __forceinline__ void begin_scores(Weights& weights, const char* queries, const char* keys) {
    begin_products();
    #pragma unroll
    for (int k = 0; k < HEAD; k += DEPTH)
        multiply(weights.at, descriptor(queries + k / 64 * (QUERIES * LINE) + k % 64 * 2, 0),
                 descriptor(keys + k / 64 * BLOCK + k % 64 * 2, 0), k);
    commit_products();
}

// Weights as the left operand: two neighbours a register. The sums of a product lie as it must.
struct Operands {
    u32 at[KEYS / DEPTH][4];
    __device__ __forceinline__ void set(const Weights& weights) {
        #pragma unroll
        for (int i = 0; i < KEYS / 4; i++) {
            const Vector<T, 2> two = {narrow<T>(weights.at[2 * i]), narrow<T>(weights.at[2 * i + 1])};
            at[i / 4][i % 4] = *reinterpret_cast<const u32*>(&two);
        }
    }
};
__device__ __forceinline__ void begin_results(Features& sums, const Operands& weights, const char* values, bool add) {
    begin_products();
    #pragma unroll
    for (int k = 0; k < KEYS / DEPTH; k++)
        multiply(sums.at, weights.at[k], descriptor(values + k * DEPTH * LINE, BLOCK), add || k);
    commit_products();
}

// ---- the two roles -----------------------------------------------------------------------------------------
// Keys, the next keys, values of the first, keys of the third tile, values of the second...: as they are consumed.
__device__ __forceinline__ void produce(const Shared& shared, const TensorMap* query_map, const TensorMap* key_map,
                                        const TensorMap* value_map, const Attention& p) {
    const unsigned parts = count_parts(p);
    Ring<STAGES> ring;
    for (unsigned turn = 0; part_in_turn(turn) < parts; turn++) {
        const Part part = part_of(p, part_in_turn(turn));
        const auto copy = [&](const TensorMap* map, const Rows& x, int tile) {
            wait(shared.empty + ring.stage, ring.parity ^ 1);                  // passes in the first round
            u64* full = shared.full + ring.stage;
            arrive_and_expect(full, BYTES);
            copy_lines<KEYS>(shared.tile(ring.stage), map, full, x, p, part.place, tile * KEYS);
            ring.advance();
        };
        wait(shared.queries_read, turn % 2 ^ 1);
        arrive_and_expect(shared.queries_there, BYTES_Q);
        copy_lines<QUERIES>(shared.queries, query_map, shared.queries_there, p.query, p, part.place, part.first);
        copy(key_map, p.key, 0);
        for (int tile = 1; tile < part.tiles; tile++) {
            copy(key_map, p.key, tile);
            copy(value_map, p.value, tile - 1);
        }
        copy(value_map, p.value, part.tiles - 1);
    }
}

__device__ __forceinline__ void consume(const Shared& shared, T* out, float* logs, const Attention& p) {
    typedef Warpgroup W;
    const int consumer = threadIdx.x / 128 - 1;
    const bool speaks = threadIdx.x % 128 == 0;            // for its warpgroup
    const char* queries = shared.queries + consumer * 64 * LINE;
    const unsigned parts = count_parts(p);
    const float factor = factor_of(p);
    Ring<STAGES> ring;
    const auto next = [&]() {                              // the stage that is read next, when it is full
        wait(shared.full + ring.stage, ring.parity);
        const int stage = ring.stage;
        ring.advance();
        return stage;
    };
    for (unsigned turn = 0; part_in_turn(turn) < parts; turn++) {
        const Part part = part_of(p, part_in_turn(turn));
        const int row = part.first + consumer * 64;
        Features sums;
        Weights weights;
        Operands operands;
        float largest[W::HELD], total[W::HELD] = {}, correction[W::HELD];
        #pragma unroll
        for (int r = 0; r < W::HELD; r++) largest[r] = minus_infinity();
        const auto soften = [&](int tile) {                // the sums of products with a tile of keys become weights
            const int column = tile * KEYS;
            if (column + KEYS > (CAUSAL ? min(p.keys, row + 1) : p.keys))
                #pragma unroll
                for (int r = 0; r < W::HELD; r++)
                    mask_row<W, true, false>(weights, r, (const V*)nullptr, p, row, column);
            #pragma unroll
            for (int r = 0; r < W::HELD; r++) correction[r] = weigh<W>(weights, r, factor, largest[r], total[r]);
        };

        wait(shared.queries_there, turn % 2);
        int stage = next();                                // of keys, and after the last of them of values
        begin_scores(weights, queries, shared.tile(stage));
        wait_products<0>(weights.at);
        if (speaks) arrive(shared.empty + stage);
        soften(0);
        operands.set(weights);
        stage = next();
        for (int tile = 1; tile < part.tiles; tile++) {
            begin_scores(weights, queries, shared.tile(stage));
            const int values = next();
            begin_results(sums, operands, shared.tile(values), tile > 1);
            wait_products<1>(weights.at);
            if (speaks) arrive(shared.empty + stage);
            soften(tile);
            stage = next();                                // here: a wait for products would be put before `soften`
            wait_products<0>(sums.at);
            if (speaks) arrive(shared.empty + values);
            #pragma unroll
            for (int r = 0; r < W::HELD; r++)
                #pragma unroll
                for (int c = 0; c < Features::COUNT; c++) sums(r, c) *= correction[r];
            operands.set(weights);
        }
        if (speaks) arrive(shared.queries_read);
        begin_results(sums, operands, shared.tile(stage), part.tiles > 1);
        wait_products<0>(sums.at);
        if (speaks) arrive(shared.empty + stage);
        conclude<W>(out, logs, p, part.place, row, sums, factor, largest, total);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
attention_hopper(T* out, float* logs, const __grid_constant__ TensorMap query_map,
                 const __grid_constant__ TensorMap key_map, const __grid_constant__ TensorMap value_map,
                 const Attention p) {
    extern __shared__ __align__(1024) char start[];
    char* memory = start + (-shared_address(start) & (GROUP - 1));             // the swizzle goes by the address
    u64* barriers = (u64*)(memory + BYTES_Q + STAGES * BYTES);
    const Shared shared = {memory, barriers, barriers + 1, barriers + 2, barriers + 2 + STAGES};
    if (threadIdx.x == 0) {
        init_barrier(shared.queries_there, 1);
        init_barrier(shared.queries_read, CONSUMERS);
        for (int i = 0; i < STAGES; i++) {
            init_barrier(shared.full + i, 1);
            init_barrier(shared.empty + i, CONSUMERS);
        }
        show_barriers();
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(CONSUMERS == 2 ? 40 : 32));
        if (threadIdx.x == 0) produce(shared, &query_map, &key_map, &value_map, p);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(CONSUMERS == 2 ? 232 : 160));
        consume(shared, out, logs, p);
    }
}
