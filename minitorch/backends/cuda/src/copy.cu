// Copies that elementwise.cu would do badly: transposes through shared memory, many arrays side by side in one launch,
// triangles, and numbers in a row. Types count by their size only, but in `ramp`.
#include "common.cuh"

#ifdef TRANSPOSE
// out[b, j, i] = in[b, i, j]: the elements of `in` lie side by side along j and those of `out` along i. A block carries a
// tile through shared memory, so that both reads and writes are of whole rows, in vectors of VECTOR elements that divide
// rows, columns and steps. All loads of a thread are under way at once: up to 64 bytes. Rows in shared
// memory are an odd number of words apart, so that the reads across them meet a bank twice at most. `batch` says where
// each matrix begins in both. ROUND: the elements are float32, and become TF32.
constexpr int TILE = sizeof(T) == 8 ? 32 : 64, PITCH = TILE + (sizeof(T) < 4 ? 4 / sizeof(T) : 1);
constexpr int THREADS = 256, ACROSS = TILE / VECTOR, HEIGHT = THREADS / ACROSS, STEPS = TILE / HEIGHT;
extern "C" __global__ void __launch_bounds__(THREADS)
    transpose(void* __restrict__ results, const void* __restrict__ elements, u32 rows, u32 columns, i64 in_step, i64 out_step,
              const __grid_constant__ Layout batch) {
  __shared__ T tile[TILE * PITCH];
  typedef Vector<T, VECTOR> Pack;
  i64 begin[2];
  locate(batch, blockIdx.z, begin);
  u32 row = blockIdx.y * TILE, column = blockIdx.x * TILE, x = threadIdx.x % ACROSS * VECTOR, y = threadIdx.x / ACROSS;
  const T* in = static_cast<const T*>(elements) + begin[1] + row * in_step + column;
  T* out = static_cast<T*>(results) + begin[0] + column * out_step + row;
  Pack pack[STEPS];
#pragma unroll
  for (u32 s = 0, i = y; s < STEPS; s++, i += HEIGHT)
    if (row + i < rows && column + x < columns) pack[s] = load_vector<T, VECTOR>(in + i * in_step + x);
#pragma unroll
  for (u32 s = 0, i = y; s < STEPS; s++, i += HEIGHT)
    if (row + i < rows && column + x < columns)
#pragma unroll
      for (int v = 0; v < VECTOR; v++) {
#ifdef ROUND
        tile[i * PITCH + x + v] = __float_as_uint(to_tf32(__uint_as_float(pack[s].at[v])));
#else
        tile[i * PITCH + x + v] = pack[s].at[v];
#endif
      }
  __syncthreads();
#pragma unroll
  for (u32 j = y; j < TILE; j += HEIGHT) {
    if (column + j >= columns || row + x >= rows) continue;
    Pack found;
#pragma unroll
    for (int v = 0; v < VECTOR; v++) found.at[v] = tile[(x + v) * PITCH + j];
    if constexpr (sizeof(Pack) == 16)                      // NVRTC would make scalars of a plain store of what it read there
      __stcs(reinterpret_cast<uint4*>(out + j * out_step + x), *reinterpret_cast<const uint4*>(&found));
    else store_vector(out + j * out_step + x, found);
  }
}
#endif

#ifdef CONCATENATE
// Rows of `width` elements, put together from those of up to 32 arrays: array k fills the places from start[k] on. Made
// by arrays/copy.py. Elements are counted in vectors.
constexpr int MOST = 32, THREADS = 256;
struct Pieces {
  const void* at[MOST];
  i64 start[MOST], width[MOST];
};
extern "C" __global__ void __launch_bounds__(THREADS)
    concatenate(void* results, i64 rows, i64 width, const __grid_constant__ Pieces pieces) {
  typedef Vector<T, VECTOR> V;
  const V* in = static_cast<const V*>(pieces.at[blockIdx.y]);
  V* out = static_cast<V*>(results) + pieces.start[blockIdx.y];
  i64 own = pieces.width[blockIdx.y], size = rows * own;
  for (i64 i = static_cast<i64>(blockIdx.x) * THREADS + threadIdx.x; i < size; i += static_cast<i64>(gridDim.x) * THREADS) {
    i64 row = rows == 1 ? 0 : i / own;
    out[row * width + i - row * own] = in[i];
  }
}
#endif

#ifdef TRIANGLE
// The part of each matrix on and below (LOWER), or on and above, the diagonal, the rest 0; a block of threads a row.
extern "C" __global__ void triangle(T* out, const T* in, i64 rows, i64 columns, i64 diagonal) {
  i64 line = blockIdx.x, row = line % rows;
  for (i64 column = threadIdx.x; column < columns; column += blockDim.x) {
    bool inside = LOWER ? column <= row + diagonal : column >= row + diagonal;
    out[line * columns + column] = inside ? in[line * columns + column] : T();
  }
}
#endif

#ifdef RAMP
// start, start + step, start + 2 step ...; computed in float64, or for integers in 64 bits.
extern "C" __global__ void ramp(T* out, NUMBER start, NUMBER step, i64 size) {
  i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= size) return;
  NUMBER x = start + static_cast<NUMBER>(i) * step;
  if constexpr (compute_type<T>::half) out[i] = from_float<T>(static_cast<float>(x));
  else out[i] = static_cast<T>(x);
}
#endif
