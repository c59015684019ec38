// Matrix times vector, out = a @ b with one column: bound by reading `a`, whose elements are used
// once.
//
//   T, U      dtypes of the operands and of the output
//   VECTOR    how many neighbours of `a` are read at once, as in matmul_simt.cu
//   VECTOR_B  the same for `b`: 1 or VECTOR
#include "product.cuh"

typedef compute<T> Acc;
enum { WARPS = 4, SHARE = 8 };

// The rows that a block takes, `rows` of them, and their matrix.
__device__ __forceinline__ int first_row(const Product& p, unsigned& batch, int rows) {
    unsigned blocks = (p.rows + rows - 1) / rows;
    batch = blockIdx.x / blocks;
    return blockIdx.x % blocks * rows;
}

__device__ __forceinline__ void write(U* out, Acc sum, const T* addend, const Product& p, unsigned batch, int row) {
    if (addend) addend += batch_offset(p.addend, p, batch);
    out += batch_offset(p.out, p, batch) + blockIdx.y * p.split_stride;
    out[row * p.out.row] = narrow<U>(finish(sum, addend, p, row, 0));
}

// `a` contiguous along its rows: a warp for each row.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
matvec_along(U* out, const T* a, const T* b, const T* addend, const Product p) {
    unsigned batch;
    const int row = first_row(p, batch, WARPS) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= p.rows) return;                             // the whole warp
    a += batch_offset(p.a, p, batch) + row * p.a.row;
    b += batch_offset(p.b, p, batch);
    const int k_end = min((blockIdx.y + 1) * p.chunk, p.depth);
    Acc sum = 0;
    for (int k = blockIdx.y * p.chunk + lane * VECTOR; k < k_end; k += 32 * VECTOR) {
        Vector<T, VECTOR> x = load_vector<T, VECTOR>(a + k * p.a.column), y;
        if constexpr (VECTOR_B > 1) y = load_vector<T, VECTOR>(b + k);
        else
            #pragma unroll
            for (int v = 0; v < VECTOR; v++) y.at[v] = b[(k + v) * p.b.row];
        #pragma unroll
        for (int v = 0; v < VECTOR; v++) sum += widen(x.at[v]) * widen(y.at[v]);
    }
    sum = warp_reduce(sum, Add());
    if (lane == 0) write(out, sum, addend, p, batch, row);
}

// `a` contiguous down its columns: a lane for VECTOR rows, SHARE warps for the depth.
extern "C" __global__ void __launch_bounds__(32 * SHARE)
matvec_across(U* out, const T* a, const T* b, const T* addend, const Product p) {
    __shared__ Acc parts[SHARE][VECTOR][32];
    unsigned batch;
    const int lane = threadIdx.x % 32, share = threadIdx.x / 32;
    const int row = first_row(p, batch, 32 * VECTOR) + lane * VECTOR;
    const int k_end = min((blockIdx.y + 1) * p.chunk, p.depth);
    a += batch_offset(p.a, p, batch) + row * p.a.row;
    b += batch_offset(p.b, p, batch);
    Acc sums[VECTOR] = {};
    if (row < p.rows)
        for (int k = blockIdx.y * p.chunk + share; k < k_end; k += SHARE) {
            Vector<T, VECTOR> x = load_vector<T, VECTOR>(a + k * p.a.column);
            Acc y = widen(b[k * p.b.row]);
            #pragma unroll
            for (int v = 0; v < VECTOR; v++) sums[v] += widen(x.at[v]) * y;
        }
    #pragma unroll
    for (int v = 0; v < VECTOR; v++) parts[share][v][lane] = sums[v];
    __syncthreads();
    if (share || row >= p.rows) return;
    #pragma unroll
    for (int v = 0; v < VECTOR; v++) {
        for (int s = 1; s < SHARE; s++) sums[v] += parts[s][v][lane];
        write(out, sums[v], addend, p, batch, row + v);
    }
}
