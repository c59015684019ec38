// What a warpgroup of the kernels of attention does on the tensor cores of compute capability 9.0: its rows, products
// of them, copies by the TMA, and the parts of the work.
//
//   CONSUMERS  the warpgroups that compute; each has 64 of the block's rows
//
// Tiles have lines of 64 features (see hopper.cuh). A tile is read along them, as rows of features, or across, as the
// right operand of weights.
#pragma once
#include "attention_softmax.cuh"
#include "hopper.cuh"

enum {
    THREADS = 128 * (1 + CONSUMERS), ROWS = 64 * CONSUMERS, DEPTH = 16,                  // of a product
    ACROSS = HEAD / 64,                                                                  // blocks of 64 features
    BYTES_ROWS = ROWS * ACROSS * LINE,                                                   // of a tile of the block's rows
};

// s += a @ b, or s = a @ b if not `add`, for 64 rows of weights, of a depth of 16, from registers, and features across a
// tile; it is only begun here.
__device__ __forceinline__ void multiply(float (&s)[HEAD / 2], const u32 (&a)[4], u64 b, int add) {
#if HEAD == 64
    asm volatile("{.reg .pred p; setp.ne.b32 p, %37, 0; wgmma.mma_async.sync.aligned.m64n64" TYPES
                 "{" R32 "}, {%32,%33,%34,%35}, %36, p, 1, 1, 1;}"
                 : S16(0), S16(16) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
#else
    asm volatile("{.reg .pred p; setp.ne.b32 p, %69, 0; wgmma.mma_async.sync.aligned.m64n128" TYPES
                 "{" R64 "}, {%64,%65,%66,%67}, %68, p, 1, 1, 1;}"
                 : S64(0) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
#endif
}

// The share of 64 rows that a thread of a warpgroup holds: two rows, a quarter of the columns of
// each.
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

    // Weights as the left operand: two neighbours a register. The sums of a product lie as it must.
    template <int COLUMNS> struct Operands {
        u32 at[COLUMNS / DEPTH][4];
        __device__ __forceinline__ void set(const Sums<COLUMNS>& weights) {
            #pragma unroll
            for (int i = 0; i < COLUMNS / 4; i++) {
                const Vector<T, 2> two = {narrow<T>(weights.at[2 * i]), narrow<T>(weights.at[2 * i + 1])};
                at[i / 4][i % 4] = *reinterpret_cast<const u32*>(&two);
            }
        }
    };

    // Begins sums = left @ right.T, for this warpgroup's rows of features of a tile of ROWS, and all LINES of another.
    template <int LINES>
    static __device__ __forceinline__ void rows_by_rows(Sums<LINES>& sums, const char* left, const char* right) {
        begin_products();
        #pragma unroll
        for (int k = 0; k < HEAD; k += DEPTH)
            ::multiply<false, false>(sums.at, descriptor(left + k / 64 * (ROWS * LINE) + k % 64 * 2, 0),
                                     descriptor(right + k / 64 * (LINES * LINE) + k % 64 * 2, 0), k);
        commit_products();
    }
    // Begins sums += weights @ tile, or sums = weights @ tile if not `add`, for LINES rows of features in the tile.
    template <int LINES>
    static __device__ __forceinline__ void weights_by_rows(Features& sums, const Operands<LINES>& weights,
                                                           const char* tile, bool add) {
        begin_products();
        #pragma unroll
        for (int k = 0; k < LINES / DEPTH; k++)
            ::multiply(sums.at, weights.at[k], descriptor(tile + k * DEPTH * LINE, LINES * LINE), add || k);
        commit_products();
    }
};

// ---- parts -------------------------------------------------------------------------------------------------
// The rows that a block computes at a time, of `rows` in each place. Blocks take them in turns, every other time
// backwards, so that each has long and short ones where other rows see more.
struct Part {
    unsigned place;
    int first;
};
__device__ __forceinline__ unsigned part_in_turn(unsigned turn) {
    return turn * gridDim.x + (turn % 2 ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
}
__device__ __forceinline__ unsigned count_parts(const Attention& p, int rows) {
    return (rows + ROWS - 1) / ROWS * (p.batch[0] * p.batch[1] * p.batch[2]);
}
template <bool LAST_FIRST> __device__ __forceinline__ Part part_of(unsigned index, int rows) {
    const unsigned blocks = (rows + ROWS - 1) / ROWS, i = index % blocks;
    return {index / blocks, int(LAST_FIRST ? blocks - 1 - i : i) * ROWS};
}

// ---- copies ------------------------------------------------------------------------------------------------
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
