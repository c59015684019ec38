// Attention without its matrix of weights on the tensor cores of compute capability 9.0 (compiled for sm_90a): what
// attention_forward of attention.cu computes, for 16-bit floats and without a mask of numbers or bools.
//
//   T, V       the dtype of queries, keys, values, and of the result
//   HEAD       the size of a head, 64 or 128; smaller ones are filled up with zeros
//   CONSUMERS  the warpgroups that compute; each has 64 queries
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
#include "attention_wgmma.cuh"

enum { QUERIES = ROWS, BYTES_Q = BYTES_ROWS, BYTES = KEYS * ACROSS * LINE };             // of keys, or values
typedef Warpgroup::Sums<KEYS> Weights;
typedef Warpgroup::Features Features;

// The tiles of keys that the queries of a part see.
__device__ __forceinline__ int tiles_of(const Attention& p, const Part& part) {
    return ((CAUSAL ? min(p.keys, part.first + QUERIES) : p.keys) + KEYS - 1) / KEYS;
}

// ---- shared memory -----------------------------------------------------------------------------------------
struct Shared {
    char* queries;
    u64 *queries_there, *queries_read, *full, *empty;
    __device__ __forceinline__ char* tile(int stage) const { return queries + BYTES_Q + stage * BYTES; }
};

// ---- the two roles -----------------------------------------------------------------------------------------
// Keys, the next keys, values of the first, keys of the third tile, values of the second...: as they are consumed.
__device__ __forceinline__ void produce(const Shared& shared, const TensorMap* query_map, const TensorMap* key_map,
                                        const TensorMap* value_map, const Attention& p) {
    const unsigned parts = count_parts(p, p.queries);
    Ring<STAGES> ring;
    for (unsigned turn = 0; part_in_turn(turn) < parts; turn++) {
        const Part part = part_of<true>(part_in_turn(turn), p.queries);
        const int tiles = tiles_of(p, part);
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
        for (int tile = 1; tile < tiles; tile++) {
            copy(key_map, p.key, tile);
            copy(value_map, p.value, tile - 1);
        }
        copy(value_map, p.value, tiles - 1);
    }
}

__device__ __forceinline__ void consume(const Shared& shared, T* out, float* logs, const Attention& p) {
    typedef Warpgroup W;
    const int consumer = threadIdx.x / 128 - 1;
    const bool speaks = threadIdx.x % 128 == 0;            // for its warpgroup
    const char* queries = shared.queries + consumer * 64 * LINE;
    const unsigned parts = count_parts(p, p.queries);
    const float factor = factor_of(p);
    Ring<STAGES> ring;
    const auto next = [&]() {                              // the stage that is read next, when it is full
        wait(shared.full + ring.stage, ring.parity);
        const int stage = ring.stage;
        ring.advance();
        return stage;
    };
    for (unsigned turn = 0; part_in_turn(turn) < parts; turn++) {
        const Part part = part_of<true>(part_in_turn(turn), p.queries);
        const int tiles = tiles_of(p, part);
        const int row = part.first + consumer * 64;
        Features sums;
        Weights weights;
        W::Operands<KEYS> operands;
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
        W::rows_by_rows<KEYS>(weights, queries, shared.tile(stage));
        wait_products<0>(weights.at);
        if (speaks) arrive(shared.empty + stage);
        soften(0);
        operands.set(weights);
        stage = next();
        for (int tile = 1; tile < tiles; tile++) {
            W::rows_by_rows<KEYS>(weights, queries, shared.tile(stage));
            const int values = next();
            W::weights_by_rows<KEYS>(sums, operands, shared.tile(values), tile > 1);
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
        W::weights_by_rows<KEYS>(sums, operands, shared.tile(stage), tiles > 1);
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
