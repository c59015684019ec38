// VECTOR neighbours of any type, moved in as few instructions as 16 bytes each allow; the address is aligned to that.
#pragma once
#include "common.cuh"

#ifndef VECTOR
#define VECTOR 1
#endif

template <class X> struct PieceOf { static constexpr int size = VECTOR * sizeof(X) > 16 ? 16 / sizeof(X) : VECTOR; };

template <class X> __device__ __forceinline__ void load_numbers(X (&x)[VECTOR], const X* from) {
    constexpr int N = PieceOf<X>::size;
#pragma unroll
    for (int start = 0; start < VECTOR; start += N) {
        Vector<X, N> piece = load_vector<X, N>(from + start);
#pragma unroll
        for (int v = 0; v < N; v++) x[start + v] = piece.at[v];
    }
}

template <class X> __device__ __forceinline__ void store_numbers(X* to, const X (&x)[VECTOR]) {
    constexpr int N = PieceOf<X>::size;
#pragma unroll
    for (int start = 0; start < VECTOR; start += N) {
        Vector<X, N> piece;
#pragma unroll
        for (int v = 0; v < N; v++) piece.at[v] = x[start + v];
        store_vector(to + start, piece);
    }
}
