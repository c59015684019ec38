// The second step of a product whose depth was cut into pieces: adds the pieces up, in their order, and finishes the
// sums.
//
//   T, U       dtypes of the output and of the pieces, which lie (pieces, batch, rows, columns)
//   ROW_SUMS   1: the sums of rows as well, whose pieces lie (pieces, rows)
#include "product.cuh"

#ifndef ROW_SUMS
#define ROW_SUMS 0
#endif

extern "C" __global__ void __launch_bounds__(256)
combine(T* out, const U* pieces, const T* addend, const Product p
#if ROW_SUMS
        , T* row_sums, const U* row_pieces
#endif
) {
    const i64 index = blockIdx.x * 256LL + threadIdx.x;
#if ROW_SUMS
    if (index < p.rows) {
        U sum_of_row = 0;
        for (int s = 0; s < p.splits; s++) sum_of_row += row_pieces[s * (i64)p.rows + index];
        row_sums[index] = narrow<T>(sum_of_row);
    }
#endif
    if (index >= p.split_stride) return;                   // the size of a piece
    U sum = 0;
    for (int s = 0; s < p.splits; s++) sum += pieces[s * p.split_stride + index];
    const int column = index % p.columns, row = index / p.columns % p.rows;
    const unsigned batch = index / p.columns / p.rows;
    if (addend) addend += batch_offset(p.addend, p, batch);
    out[batch_offset(p.out, p, batch) + row * p.out.row + column * p.out.column] =
        narrow<T>(finish(sum, addend, p, row, column));
}
