// Matrix products without tensor cores, for every dtype, layout and size.
//
//   T, U                dtypes of the operands and of the output
//   TILE_M, TILE_N      the part of the output that a block computes
//   THREAD_M, THREAD_N  the part of it that a thread keeps in registers, 4 or 8 each way
//   DEPTH               how much of the depth a block takes at a time, 8 or 16
//   A_ALONG_K           whether `a` is read along its rows (1) or down its columns (0); B_ALONG_K: down its columns, along
//                       its rows. The direction in which memory is contiguous, or nearly so.
//   VECTOR_A, VECTOR_B  how many neighbours are read at once: more than 1 needs contiguous, aligned memory, and sizes
//                       that are multiples of it. VECTOR_OUT: the same for what is written.
//
// A block walks over the depth DEPTH by DEPTH. While a tile of `a` and one of `b` are multiplied out of shared memory,
// the next ones are under way into registers; then they are put into the other half of the shared memory, so that there
// is one barrier a step.
#include "product.cuh"

typedef compute<T> Acc;
enum {
    LANES_M = 4, LANES_N = 8,                              // how the lanes of a warp lie over its part of the tile
    WARPS_N = TILE_N / (LANES_N * THREAD_N),
    WARPS = TILE_M / (LANES_M * THREAD_M) * WARPS_N,
    THREADS = 32 * WARPS,
    // Two blocks of 256 threads on a multiprocessor leave 128 registers a thread, which do for these.
    BLOCKS = sizeof(T) == 4 && VECTOR_A == 4 && VECTOR_B == 4 && !B_ALONG_K && THREADS == 256 ? 2 : 1,
};

// In shared memory a tile lies [k][place], place being a row of `a` or a column of `b`. Where it was read along k, four
// neighbours in k are written to four different lines; places are exchanged so that the 32 lanes of a warp, which write
// to DEPTH / 4 such groups of lines at a time, write to 32 different banks.
__device__ __forceinline__ int exchanged(bool along_k, int k, int place) {
    return along_k ? place ^ k / 4 * (128 / DEPTH) : place;
}

// A tile on its way from global to shared memory. Memory is read line by line: a line is a row of `a`, or a column, and
// so on; this thread reads VECTOR elements at `step` of each LINES-th line.
template <int PLACES, int VECTOR, bool ALONG_K> struct Tile {
    enum {
        PER_LINE = (ALONG_K ? DEPTH : PLACES) / VECTOR,
        LINES = THREADS / PER_LINE,
        COUNT = (ALONG_K ? PLACES : DEPTH) / LINES,
    };
    const T* next;
    i64 place_stride, k_stride;
    int first, places, k, k_end;
    Vector<T, VECTOR> held[COUNT];

    static __device__ __forceinline__ int line() { return threadIdx.x / PER_LINE; }
    static __device__ __forceinline__ int step() { return threadIdx.x % PER_LINE * VECTOR; }
    static __device__ __forceinline__ int my_place() { return ALONG_K ? line() : step(); }
    static __device__ __forceinline__ int my_k() { return ALONG_K ? step() : line(); }

    __device__ __forceinline__ Tile(const T* data, i64 place_stride, i64 k_stride, int first, int places, int k, int k_end)
        : next(data + (first + my_place()) * place_stride + (k + my_k()) * k_stride), place_stride(place_stride),
          k_stride(ALONG_K && VECTOR > 1 ? 1 : k_stride), first(first + my_place()),
          places(places), k(k + my_k()), k_end(k_end) {}

    __device__ __forceinline__ void fetch() {
        #pragma unroll
        for (int i = 0; i < COUNT; i++) {
            bool inside = ALONG_K ? first + i * LINES < places && k < k_end : first < places && k + i * LINES < k_end;
            if (inside)
                held[i] = load_vector<T, VECTOR>(next + i * LINES * (ALONG_K ? place_stride : k_stride));
            else
                #pragma unroll
                for (int j = 0; j < VECTOR; j++) held[i].at[j] = narrow<T>(Acc(0));
        }
        next += DEPTH * k_stride;
        k += DEPTH;
    }

    __device__ __forceinline__ void put(Acc* tile) const {
        #pragma unroll
        for (int i = 0; i < COUNT; i++) {
            if constexpr (ALONG_K) {
                #pragma unroll
                for (int j = 0; j < VECTOR; j++)
                    tile[(step() + j) * PLACES + exchanged(true, step() + j, line() + i * LINES)] = widen(held[i].at[j]);
            } else {
                Vector<Acc, VECTOR> wide;
                #pragma unroll
                for (int j = 0; j < VECTOR; j++) wide.at[j] = widen(held[i].at[j]);
                store_vector(tile + (line() + i * LINES) * PLACES + step(), wide);
            }
        }
    }
};

// Four neighbours out of shared memory.
__device__ __forceinline__ void load_four(Acc* x, const Acc* from) {
    const Vector<Acc, 4> four = load_vector<Acc, 4>(from);
    #pragma unroll
    for (int i = 0; i < 4; i++) x[i] = four.at[i];
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
matmul_simt(U* out, const T* a, const T* b, const T* addend, const Product p) {
    __shared__ __align__(32) Acc tiles_a[2][DEPTH * TILE_M], tiles_b[2][DEPTH * TILE_N];
    const TilePlace tile = tile_place(p, blockIdx.x, TILE_M, TILE_N);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int thread_m = warp / WARPS_N * LANES_M * THREAD_M + lane / LANES_N * 4;       // of the first four rows
    const int thread_n = warp % WARPS_N * LANES_N * THREAD_N + lane % LANES_N * 4;       // of the first four columns
    const int k_begin = blockIdx.y * p.chunk, k_end = min(k_begin + p.chunk, p.depth);
    a += batch_offset(p.a, p, tile.batch);
    b += batch_offset(p.b, p, tile.batch);

    Tile<TILE_M, VECTOR_A, A_ALONG_K> next_a(a, p.a.row, p.a.column, tile.row, p.rows, k_begin, k_end);
    Tile<TILE_N, VECTOR_B, B_ALONG_K> next_b(b, p.b.column, p.b.row, tile.column, p.columns, k_begin, k_end);
    Acc sums[THREAD_M][THREAD_N] = {};
    next_a.fetch();
    next_b.fetch();
    next_a.put(tiles_a[0]);
    next_b.put(tiles_b[0]);
    __syncthreads();
    for (int k0 = k_begin, stage = 0; k0 < k_end; k0 += DEPTH, stage ^= 1) {
        const bool more = k0 + DEPTH < k_end;
        if (more) {
            next_a.fetch();
            next_b.fetch();
        }
        #pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            Acc x[THREAD_M], y[THREAD_N];
            #pragma unroll
            for (int i = 0; i < THREAD_M; i += 4)
                load_four(x + i, tiles_a[stage] + k * TILE_M + exchanged(A_ALONG_K, k, thread_m + i * LANES_M));
            #pragma unroll
            for (int j = 0; j < THREAD_N; j += 4)
                load_four(y + j, tiles_b[stage] + k * TILE_N + exchanged(B_ALONG_K, k, thread_n + j * LANES_N));
            #pragma unroll
            for (int i = 0; i < THREAD_M; i++)
                #pragma unroll
                for (int j = 0; j < THREAD_N; j++) sums[i][j] += x[i] * y[j];
        }
        if (more) {
            next_a.put(tiles_a[stage ^ 1]);
            next_b.put(tiles_b[stage ^ 1]);
            __syncthreads();
        }
    }

    out += batch_offset(p.out, p, tile.batch) + blockIdx.y * p.split_stride;
    if (addend) addend += batch_offset(p.addend, p, tile.batch);
    #pragma unroll
    for (int i = 0; i < THREAD_M; i++) {
        const int row = tile.row + thread_m + i / 4 * 4 * LANES_M + i % 4;
        #pragma unroll
        for (int j = 0; j < THREAD_N; j += VECTOR_OUT) {
            const int column = tile.column + thread_n + j / 4 * 4 * LANES_N + j % 4;
            if (row >= p.rows || column >= p.columns) continue;
            Vector<U, VECTOR_OUT> done;
            #pragma unroll
            for (int v = 0; v < VECTOR_OUT; v++)
                done.at[v] = narrow<U>(finish(sums[i][j + v], addend, p, row, column + v));
            store_vector(out + row * p.out.row + column * p.out.column, done);
        }
    }
}
