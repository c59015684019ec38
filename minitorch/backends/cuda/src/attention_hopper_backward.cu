// The gradients of attention on the tensor cores of compute capability 9.0 (compiled for sm_90a): what
// attention_query_grad and attention_key_grad of attention.cu compute, for 16-bit floats, and without a mask or dropout.
//
//   T, V       the dtype of queries, keys, values, and of the gradients
//   OF_KEYS    1: the gradients of keys and values, by blocks that have keys and go over the queries; 0: that of the
//              queries, by blocks that have queries and go over the keys
//   HEAD       the size of a head, 64 or 128; smaller ones are filled up with zeros
//   CONSUMERS  the warpgroups that compute; each has 64 rows
//   OTHERS     the rows of the others that are taken at a time
//   STAGES     how many tiles of these are in shared memory
//   CAUSAL, ALIGNED  as in attention.cu; MASK and DROPOUT are 0
//
// One warpgroup produces: a thread of it has tiles copied by the TMA. The others consume. Queries come with gradients of
// results, keys with values: the first of each pair are multiplied for the scores, the second for the gradient of the
// weights, both as rows of features out of shared memory. Weights and slopes, the gradient of the scores, stay in
// registers, where they are the left operand of the products that are added up: so rows are keys where keys get their
// gradients. The tensor cores add these up, and multiply the next gradients, while a warpgroup computes exponentials.
#include "attention_wgmma.cuh"

enum {
    BYTES_OTHERS = OTHERS * ACROSS * LINE, BYTES = 2 * BYTES_OTHERS,                              // of a stage
    NUMBERS = OF_KEYS ? 2 * OTHERS : 0,                     // of a stage: logs and deltas of its queries
    WARPS = 4 * CONSUMERS,
};
typedef Warpgroup::Sums<OTHERS> Products;
typedef Warpgroup::Features Features;

// Arrays that come together, one behind the other in shared memory: their maps and their places in the batch.
struct Pair {
    const TensorMap* maps[2];
    const Rows* places[2];

    template <int COUNT>
    __device__ __forceinline__ void copy(int i, char* to, u64* barrier, const Attention& p, unsigned place,
                                         int first) const {
        arrive_and_expect(barrier, COUNT * ACROSS * LINE);
        copy_lines<COUNT>(to + i * COUNT * ACROSS * LINE, maps[i], barrier, *places[i], p, place, first);
    }
};

// Two barriers tell that a stage is full, one for each array.
struct Shared {
    char* rows;
    u64 *rows_there, *rows_read, *full, *empty;
    __device__ __forceinline__ char* others(int stage) const { return rows + 2 * BYTES_ROWS + stage * BYTES; }
    __device__ __forceinline__ float* numbers(int stage) const { return (float*)others(STAGES) + stage * NUMBERS; }
};

// ---- parts -------------------------------------------------------------------------------------------------
__device__ __forceinline__ int rows_of(const Attention& p) { return OF_KEYS ? p.keys : p.queries; }
__device__ __forceinline__ int others_of(const Attention& p) { return OF_KEYS ? p.queries : p.keys; }

// Calls `f(turn, part, first tile, behind the last tile)` for each part of this block, whose rows see these tiles.
template <class F> __device__ __forceinline__ void each_part(const Attention& p, const F& f) {
    const unsigned parts = count_parts(p, rows_of(p));
    for (unsigned turn = 0; part_in_turn(turn) < parts; turn++) {
        const Part part = part_of<!OF_KEYS>(part_in_turn(turn), rows_of(p));
        const int seen = CAUSAL && !OF_KEYS ? min(p.keys, part.first + ROWS) : others_of(p);
        f(turn, part, CAUSAL && OF_KEYS ? part.first / OTHERS : 0, (seen + OTHERS - 1) / OTHERS);
    }
}

// ---- the roles ---------------------------------------------------------------------------------------------
__device__ __forceinline__ void produce(const Shared& shared, const Pair& rows, const Pair& others, const Attention& p) {
    Ring<STAGES> ring;
    each_part(p, [&](unsigned turn, const Part& part, int begin, int end) {
        wait(shared.rows_read, turn % 2 ^ 1);
        for (int i = 0; i < 2; i++) rows.copy<ROWS>(i, shared.rows, shared.rows_there, p, part.place, part.first);
        for (int tile = begin; tile < end; tile++, ring.advance()) {
            wait(shared.empty + ring.stage, ring.parity ^ 1);                  // passes in the first round
            for (int i = 0; i < 2; i++)
                others.copy<OTHERS>(i, shared.others(ring.stage), shared.full + 2 * ring.stage + i, p, part.place,
                                    tile * OTHERS);
        }
    });
}

// The numbers that columns of queries need, brought by a warp, since they may lie at any address.
__device__ __forceinline__ void produce_numbers(const Shared& shared, const float* logs, const float* delta,
                                                const Attention& p) {
    Ring<STAGES> ring;
    each_part(p, [&](unsigned, const Part& part, int begin, int end) {
        for (int tile = begin; tile < end; tile++, ring.advance()) {
            wait(shared.empty + ring.stage, ring.parity ^ 1);
            #pragma unroll
            for (int i = threadIdx.x % 32; i < OTHERS; i += 32) {
                const i64 at = (i64)part.place * p.queries + min(tile * OTHERS + i, p.queries - 1);
                shared.numbers(ring.stage)[i] = logs[at];
                shared.numbers(ring.stage)[OTHERS + i] = delta[at];
            }
            arrive(shared.full + 2 * ring.stage);
        }
    });
}

__device__ __forceinline__ void consume(const Shared& shared, T* grad, T* value_grad, const float* logs,
                                        const float* delta, const Attention& p) {
    typedef Warpgroup W;
    const int consumer = threadIdx.x / 128 - 1;
    const char* rows = shared.rows + consumer * 64 * LINE;
    const float factor = factor_of(p);
    Ring<STAGES> ring;
    const auto release = [&](u64* barrier) {               // what this warp has done with
        __syncwarp();
        if (threadIdx.x % 32 == 0) arrive(barrier);
    };
    each_part(p, [&](unsigned turn, const Part& part, int begin, int end) {
        const int row = part.first + consumer * 64;
        Features sums, value_sums;
        Products weights, slopes;
        W::Operands<OTHERS> left, value_left;
        float log_of[W::HELD], delta_of[W::HELD], scale[W::HELD], by_value[W::HELD];
        #pragma unroll
        for (int r = 0; r < W::HELD; r++) {
            const i64 at = (i64)part.place * p.queries + min(row + W::row(r), p.queries - 1);
            if (!OF_KEYS) log_of[r] = logs[at], delta_of[r] = delta[at];
            scale[r] = p.scale, by_value[r] = 1;
        }
        #pragma unroll
        for (int i = 0; i < HEAD / 2; i++) sums.at[i] = value_sums.at[i] = 0;  // keys may be seen by no query

        const auto begin_scores = [&] {                    // of the next tile
            wait(shared.full + 2 * ring.stage, ring.parity);
            W::rows_by_rows<OTHERS>(weights, rows, shared.others(ring.stage));
        };
        wait(shared.rows_there, turn % 2);
        int before = 0;                                    // the stage of the tile before
        if (begin < end) {
            begin_scores();
            wait_products<0>(weights.at);
        }
        for (int tile = begin; tile < end; tile++) {
            const int column = tile * OTHERS, stage = ring.stage;
            const char* others = shared.others(stage);
            const bool inside = column + OTHERS <= others_of(p)
                && (!CAUSAL || (OF_KEYS ? column >= row + 63 : column + OTHERS <= row + 1));
            const float* numbers = shared.numbers(stage);
            #pragma unroll
            for (int r = 0; r < W::HELD; r++) mask_row<W, OF_KEYS>(weights, r, inside, (const V*)nullptr, p, row, column);
            #pragma unroll
            for (int c = 0; c < Products::COUNT; c++)
                #pragma unroll
                for (int r = 0; r < W::HELD; r++)
                    weights(r, c) = exp2f(weights(r, c) * factor - (OF_KEYS ? numbers[W::column(c)] : log_of[r]));
            wait(shared.full + 2 * stage + 1, ring.parity);
            if (OF_KEYS) wait_products<0>(value_sums.at);
            wait_products<0>(sums.at);                     // with the tile before
            if (tile > begin) release(shared.empty + before);
            before = stage;
            ring.advance();
            W::rows_by_rows<OTHERS>(slopes, rows + BYTES_ROWS, others + BYTES_OTHERS);
            wait_products<0>(slopes.at);
            if (OF_KEYS) value_left.set(weights);
            #pragma unroll
            for (int c = 0; c < Products::COUNT; c++)
                #pragma unroll
                for (int r = 0; r < W::HELD; r++)
                    slopes(r, c) = weights(r, c)
                        * (slopes(r, c) - (OF_KEYS ? numbers[OTHERS + W::column(c)] : delta_of[r]));
            left.set(slopes);
            if (tile + 1 < end) begin_scores();
            if (OF_KEYS) W::weights_by_rows<OTHERS>(value_sums, value_left, others + BYTES_OTHERS, true);
            W::weights_by_rows<OTHERS>(sums, left, others, true);
            wait_products<1 + OF_KEYS>(weights.at);
        }
        release(shared.rows_read);
        if (OF_KEYS) wait_products<0>(value_sums.at);
        wait_products<0>(sums.at);
        if (begin < end) release(shared.empty + before);
        const Rows& x = OF_KEYS ? p.key_grad : p.query_grad;
        write_rows<W>(grad + batch_offset(x, p, part.place), x, row, rows_of(p), p.features, sums, scale);
        if (OF_KEYS)
            write_rows<W>(value_grad + batch_offset(p.value_grad, p, part.place), p.value_grad, row, p.keys,
                          p.value_features, value_sums, by_value);
    });
}

__device__ __forceinline__ void backward(T* grad, T* value_grad, const Pair& rows, const Pair& others, const float* logs,
                                         const float* delta, const Attention& p) {
    extern __shared__ __align__(1024) char start[];
    char* memory = start + (-shared_address(start) & (GROUP - 1));             // the swizzle goes by the address
    u64* barriers = (u64*)(memory + 2 * BYTES_ROWS + STAGES * (BYTES + NUMBERS * 4));
    const Shared shared = {memory, barriers, barriers + 1, barriers + 2, barriers + 2 + 2 * STAGES};
    if (threadIdx.x == 0) {
        init_barrier(shared.rows_there, 2);
        init_barrier(shared.rows_read, WARPS);
        for (int i = 0; i < STAGES; i++) {
            init_barrier(shared.full + 2 * i, OF_KEYS ? 33 : 1);
            init_barrier(shared.full + 2 * i + 1, 1);
            init_barrier(shared.empty + i, WARPS);
        }
        show_barriers();
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) produce(shared, rows, others, p);
        if (OF_KEYS && threadIdx.x / 32 == 1) produce_numbers(shared, logs, delta, p);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        consume(shared, grad, value_grad, logs, delta, p);
    }
}

#if OF_KEYS
extern "C" __global__ void __launch_bounds__(THREADS, 1)
attention_hopper_key_grad(T* key_grad, T* value_grad, const __grid_constant__ TensorMap query_map,
                          const __grid_constant__ TensorMap grad_map, const __grid_constant__ TensorMap key_map,
                          const __grid_constant__ TensorMap value_map, const float* logs, const float* delta,
                          const __grid_constant__ Attention p) {
    backward(key_grad, value_grad, {{&key_map, &value_map}, {&p.key, &p.value}},
             {{&query_map, &grad_map}, {&p.query, &p.grad}}, logs, delta, p);
}
#else
extern "C" __global__ void __launch_bounds__(THREADS, 1)
attention_hopper_query_grad(T* query_grad, const __grid_constant__ TensorMap query_map,
                            const __grid_constant__ TensorMap grad_map, const __grid_constant__ TensorMap key_map,
                            const __grid_constant__ TensorMap value_map, const float* logs, const float* delta,
                            const __grid_constant__ Attention p) {
    backward(query_grad, nullptr, {{&query_map, &grad_map}, {&p.query, &p.grad}},
             {{&key_map, &value_map}, {&p.key, &p.value}}, logs, delta, p);
}
#endif
