// Matrix products without tensor cores, for every dtype, layout and size.
//
//   T, U                dtypes of the operands and of the output
//   TILE_M, TILE_N      the part of the output that a block computes
//   THREAD_M, THREAD_N  the part of it that a thread keeps in registers, 4 or 8 each way
//   DEPTH               how much of the depth a block takes at a time, 8 or 16
//   A_ALONG_K           whether `a` is read along its rows (1) or down its columns (0), whichever is contiguous, or
//                       nearly so; B_ALONG_K: down its columns (1) or along its rows (0)
//   VECTOR_A, VECTOR_B  how many neighbours are read at once: more than 1 needs contiguous, aligned memory, and sizes
//                       that are multiples of it. VECTOR_OUT: the same for what is written.
//   ROW_SUMS            1: the sums of the rows of `a` as well, for each piece of the depth
#include "simt.cuh"

// Two blocks of 256 threads on a multiprocessor leave 128 registers a thread, which do for these.
enum { BLOCKS = sizeof(T) == 4 && VECTOR_A == 4 && VECTOR_B == 4 && !B_ALONG_K && THREADS == 256 ? 2 : 1 };

#ifndef ROW_SUMS
#define ROW_SUMS 0
#endif

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
matmul_simt(U* out, const T* a, const T* b, const T* addend, const Product p
#if ROW_SUMS
            , U* row_sums
#endif
) {
    const TilePlace tile = tile_place(p, blockIdx.x, TILE_M, TILE_N);
    const Place place = thread_place();
    const int k_begin = blockIdx.y * p.chunk, k_end = min(k_begin + p.chunk, p.depth);
    a += batch_offset(p.a, p, tile.batch);
    b += batch_offset(p.b, p, tile.batch);
    Tile<TILE_M, VECTOR_A, A_ALONG_K> next_a(a, p.a.row, p.a.column, tile.row, p.rows, k_begin, k_end);
    Tile<TILE_N, VECTOR_B, B_ALONG_K> next_b(b, p.b.column, p.b.row, tile.column, p.columns, k_begin, k_end);
    Acc sums[THREAD_M][THREAD_N] = {};
#if ROW_SUMS
    Acc of_rows[THREAD_M] = {};
    if (tile.column == 0) multiply<A_ALONG_K, B_ALONG_K, true>(sums, next_a, next_b, place, k_begin, k_end, of_rows);
    else
#endif
    multiply<A_ALONG_K, B_ALONG_K>(sums, next_a, next_b, place, k_begin, k_end);

    out += batch_offset(p.out, p, tile.batch) + blockIdx.y * p.split_stride;
    if (addend) addend += batch_offset(p.addend, p, tile.batch);
    #pragma unroll
    for (int i = 0; i < THREAD_M; i++) {
        const int row = tile.row + place.row + in_groups(i, LANES_M);
#if ROW_SUMS
        if (tile.column + place.column == 0 && row < p.rows)
            row_sums[blockIdx.y * (i64)p.rows + row] = narrow<U>(of_rows[i]);
#endif
        #pragma unroll
        for (int j = 0; j < THREAD_N; j += VECTOR_OUT) {
            const int column = tile.column + place.column + in_groups(j, LANES_N);
            if (row >= p.rows || column >= p.columns) continue;
            Vector<U, VECTOR_OUT> done;
            #pragma unroll
            for (int v = 0; v < VECTOR_OUT; v++)
                done.at[v] = narrow<U>(finish(sums[i][j + v], addend, p, row, column + v));
            store_vector(out + row * p.out.row + column * p.out.column, done);
        }
    }
}
