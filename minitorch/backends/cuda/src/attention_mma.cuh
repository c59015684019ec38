// What a warp of attention.cu does on tensor cores: products of 16-bit floats, summed in float32.
//
// The sums of an mma lie as its left operand must, two neighbours a register, so that weights go from one product into
// the next without leaving the registers.
#pragma once
#include "attention_rows.cuh"

// A warp with ROWS rows of the block's, 16 or 32; a thread holds every eighth of them, and of each a quarter of the
// columns. ROOM is the shared memory that it needs besides, in elements; ROWS_TO_8 and COLUMNS_TO_8 say how many of its
// rows and columns further the one 8 behind is.
template <class X, int ROWS> struct Warp {
    enum { HELD = ROWS / 8, LANES = 4, ROOM = 0, ROWS_TO_8 = 1, COLUMNS_TO_8 = 2 };

    static __device__ __forceinline__ int row(int r) { return threadIdx.x % 32 / 4 + r * 8; }
    static __device__ __forceinline__ int column(int c) { return c / 2 * 8 + threadIdx.x % 4 * 2 + c % 2; }
    static __device__ __forceinline__ int feature(int c) { return column(c); }

    template <int COLUMNS> struct Sums {
        enum { COUNT = COLUMNS / LANES, TOGETHER = 2 };        // TOGETHER: neighbours in a row
        float at[ROWS / 16][COLUMNS / 8][4] = {};
        __device__ __forceinline__ float& operator()(int r, int c) { return at[r / 2][c / 2][r % 2 * 2 + c % 2]; }
    };
    typedef Sums<HEAD> Features;

    // Rows of features as the left operand of products, out of a tile of LINES of them. UNROLLED: as many registers as
    // there are would not do for all steps of the depth.
    template <int LINES> struct Shared {
        enum { UNROLLED = MASK == 2 ? 1 : 2 };
        X* tile;
        int first;
        __device__ __forceinline__ void get(u32 (&x)[4], int i, int k) const {
            ByFeature<LINES>::load_a(x, tile, first + i * 16, k);
        }
    };
    // The same, kept in registers where there is room.
    template <int LINES> struct Kept {
        enum { FITS = ROWS * HEAD <= 32 * 64, UNROLLED = FITS ? HEAD / 16 : Shared<LINES>::UNROLLED };
        u32 held[FITS ? ROWS / 16 : 1][FITS ? HEAD / 16 : 1][4];
        Shared<LINES> shared;
        __device__ __forceinline__ void set(X* tile, int first) {
            shared = {tile, first};
            if constexpr (FITS)
                #pragma unroll
                for (int i = 0; i < ROWS / 16; i++)
                    #pragma unroll
                    for (int k = 0; k < HEAD / 16; k++) shared.get(held[i][k], i, k * 16);
        }
        __device__ __forceinline__ void get(u32 (&x)[4], int i, int k) const {
            if constexpr (FITS)
                #pragma unroll
                for (int j = 0; j < 4; j++) x[j] = held[i][k / 16][j];
            else shared.get(x, i, k);
        }
    };

    // sums = left @ b.T for the LINES rows of features in `b`.
    template <int LINES, class Left>
    static __device__ __forceinline__ void rows_by_rows(Sums<LINES>& sums, const Left& left, X* b) {
        sums = Sums<LINES>();
        #pragma unroll Left::UNROLLED
        for (int k = 0; k < HEAD; k += 16) {
            u32 x[ROWS / 16][4];
            #pragma unroll
            for (int i = 0; i < ROWS / 16; i++) left.get(x[i], i, k);
            #pragma unroll
            for (int j = 0; j < LINES / 16; j++) {
                u32 y[4];
                ByFeature<LINES>::load_b(y, b, j * 16, k);
                #pragma unroll
                for (int i = 0; i < ROWS / 16; i++) {
                    Mma<X>::add(sums.at[i][2 * j], x[i], y);
                    Mma<X>::add(sums.at[i][2 * j + 1], x[i], y + 2);
                }
            }
        }
    }

    // out += weights @ b for the LINES rows of features in `b`.
    template <int LINES>
    static __device__ __forceinline__ void weights_by_rows(Features& out, const Sums<LINES>& weights, X* b, X*) {
        #pragma unroll
        for (int k = 0; k < LINES / 16; k++) {
            u32 x[ROWS / 16][4];
            #pragma unroll
            for (int i = 0; i < ROWS / 16; i++)
                #pragma unroll
                for (int j = 0; j < 4; j++) {
                    const float* two = weights.at[i][2 * k + j / 2] + j % 2 * 2;
                    const Vector<X, 2> narrowed = {narrow<X>(two[0]), narrow<X>(two[1])};
                    x[i][j] = *reinterpret_cast<const u32*>(&narrowed);
                }
            #pragma unroll
            for (int j = 0; j < HEAD / 16; j++) {
                u32 y[4];
                ByRow<LINES>::load_b(y, b, j * 16, k * 16);
                #pragma unroll
                for (int i = 0; i < ROWS / 16; i++) {
                    Mma<X>::add(out.at[i][2 * j], x[i], y);
                    Mma<X>::add(out.at[i][2 * j + 1], x[i], y + 2);
                }
            }
        }
    }
};
