// What a warp of attention.cu does on CUDA cores: products of float32.
//
// Both operands are read out of shared memory by four neighbours in depth, whose chunks SharedTile has put into
// different banks. Weights are handed to the other lanes of the warp through shared memory, 32 columns at a time.
#pragma once
#include "attention_rows.cuh"

// As in attention_mma.cuh; eight lanes share a row, and a thread holds ROWS / 4 of them.
template <int ROWS> struct Warp<float, ROWS> {
    enum { HELD = ROWS / 4, LANES = 8, MOST = 32, ROOM = ROWS * MOST, ROWS_TO_8 = 2, COLUMNS_TO_8 = 1 };

    static __device__ __forceinline__ int row(int r) { return threadIdx.x % 32 / 8 * 2 + r % 2 + r / 2 * 8; }
    static __device__ __forceinline__ int column(int c) { return threadIdx.x % 8 + c * 8; }
    static __device__ __forceinline__ int feature(int c) { return threadIdx.x % 8 * 4 + c % 4 + c / 4 * 32; }

    template <int COLUMNS> struct Sums {
        enum { COUNT = COLUMNS / LANES, TOGETHER = 4 };
        float at[HELD][COUNT] = {};
        __device__ __forceinline__ float& operator()(int r, int c) { return at[r][c]; }
        __device__ __forceinline__ float operator()(int r, int c) const { return at[r][c]; }
    };
    typedef Sums<HEAD> Features;

    template <int LINES> struct Shared {
        float* tile;
        int first;
        __device__ __forceinline__ Vector<float, 4> get(int r, int k) const {
            return load_vector<float, 4>(ByFeature<LINES>::chunk(tile, first + row(r), k));
        }
    };
    template <int LINES> struct Kept : Shared<LINES> {
        __device__ __forceinline__ void set(float* tile, int first) { this->tile = tile, this->first = first; }
    };

    template <int LINES, class Left>
    static __device__ __forceinline__ void rows_by_rows(Sums<LINES>& sums, const Left& left, float* b) {
        sums = Sums<LINES>();
        #pragma unroll 1
        for (int k = 0; k < HEAD / 4; k++) {
            Vector<float, 4> x[HELD];
            #pragma unroll
            for (int r = 0; r < HELD; r++) x[r] = left.get(r, k);
            #pragma unroll
            for (int c = 0; c < LINES / LANES; c++) {
                const Vector<float, 4> y = load_vector<float, 4>(ByFeature<LINES>::chunk(b, column(c), k));
                #pragma unroll
                for (int r = 0; r < HELD; r++)
                    #pragma unroll
                    for (int i = 0; i < 4; i++) sums(r, c) += x[r].at[i] * y.at[i];
            }
        }
    }

    // `room` is this warp's.
    template <int LINES>
    static __device__ __forceinline__ void weights_by_rows(Features& out, const Sums<LINES>& weights, float* b,
                                                           float* room) {
        enum { SPAN = LINES < MOST ? LINES : MOST };
        typedef SharedTile<float, ROWS, SPAN, true> Handed;
        #pragma unroll
        for (int part = 0; part < LINES / SPAN; part++) {
            __syncwarp();
            #pragma unroll
            for (int c = 0; c < SPAN / LANES; c++)
                #pragma unroll
                for (int r = 0; r < HELD; r++)
                    Handed::chunk(room, row(r), column(c) / 4)[column(c) % 4] = weights(r, part * SPAN / LANES + c);
            __syncwarp();
            #pragma unroll 1
            for (int k = 0; k < SPAN / 4; k++) {
                Vector<float, 4> x[HELD];
                #pragma unroll
                for (int r = 0; r < HELD; r++) x[r] = load_vector<float, 4>(Handed::chunk(room, row(r), k));
                #pragma unroll
                for (int i = 0; i < 4; i++)
                    #pragma unroll
                    for (int f = 0; f < HEAD / 32; f++) {
                        const Vector<float, 4> y = load_vector<float, 4>(ByFeature<LINES>::chunk(
                            b, part * SPAN + k * 4 + i, threadIdx.x % 8 + f * 8));
                        #pragma unroll
                        for (int r = 0; r < HELD; r++)
                            #pragma unroll
                            for (int v = 0; v < 4; v++) out(r, f * 4 + v) += x[r].at[i] * y.at[v];
                    }
            }
        }
    }
};
