// Reductions: one skeleton for rows, whose elements may lie anywhere, and one for columns that lie side by side. Each is
// compiled with one operation (OP, reductions.cuh) at a time.
//
// The order of additions is fixed by the shape alone, so that a result never changes from run to run. Long reductions
// are cut into segments (grid.y) that each write a partial result (LAST is 0); a second launch
// (FIRST is 0) reduces these. A Layout says where each kept element begins ("kept"), and where the
// reduced ones lie from there ("reduced"); with SINGLE they lie along one dimension, so that a step
// leads from one to the next.
#include "reductions.cuh"

typedef op::OP Op;
typedef Op::A A;
constexpr int THREADS = 256;

#if FIRST
typedef T In;
__device__ __forceinline__ A taken(In x, i64 i) { return Op::take(x, i); }
#else
typedef A In;
__device__ __forceinline__ A taken(In x, i64 i) { return x; }
#endif

#if LAST
typedef U Out;
__device__ __forceinline__ Out finished(A a, double n) {
  if constexpr (compute_type<U>::half) return from_float<U>(static_cast<float>(Op::finish(a, n)));
  else return static_cast<U>(Op::finish(a, n));
}
#else
typedef A Out;
__device__ __forceinline__ Out finished(A a, double n) { return a; }
#endif

struct Merge {
  __device__ __forceinline__ A operator()(A a, A b) const { return Op::merge(a, b); }
};

__device__ __forceinline__ i64 offset_of(const Layout& layout, u32 index) {
  i64 place[1];
  locate(layout, index, place);
  return place[0];
}

// Where the element i of those that are reduced lies.
__device__ __forceinline__ i64 place_of(const Layout& reduced, i64 i) {
#if SINGLE
  return i * reduced.strides[0][0];
#else
  return offset_of(reduced, i);
#endif
}

#ifdef ROWS
// Each of `rows` results is the work of `width` threads: a part of a warp, or with BLOCK all of a block. DENSE: the
// elements of a row lie one behind the other; they are loaded VECTOR at a time from the first aligned address on.
extern "C" __global__ void __launch_bounds__(THREADS)
    reduce_rows(void* results, const void* elements, i64 rows, i64 columns, i64 segment, u32 group, double n,
                const __grid_constant__ Layout kept, const __grid_constant__ Layout reduced) {
  u32 width = BLOCK ? THREADS : group;
  i64 row = static_cast<i64>(blockIdx.x) * (THREADS / width) + threadIdx.x / width;
  i64 begin = blockIdx.y * segment, end = begin + segment < columns ? begin + segment : columns;
  u32 lane = threadIdx.x % width;
  A found[VECTOR];
#pragma unroll
  for (int j = 0; j < VECTOR; j++) found[j] = Op::empty();
  if (row < rows) {
    const In* first = static_cast<const In*>(elements) + offset_of(kept, row);
#if DENSE
    i64 head = begin + (VECTOR - reinterpret_cast<u64>(first + begin) / sizeof(In) % VECTOR) % VECTOR;
    head = head < end ? head : end;
    i64 whole = head + (end - head) / VECTOR * VECTOR;
    for (i64 i = begin + lane; i < head; i += width) found[0] = Op::merge(found[0], taken(first[i], i));
#pragma unroll 4
    for (i64 i = head + lane * VECTOR; i < whole; i += width * VECTOR) {
      Vector<In, VECTOR> v = load_vector<In, VECTOR>(first + i);
#pragma unroll
      for (int j = 0; j < VECTOR; j++) found[j] = Op::merge(found[j], taken(v.at[j], i + j));
    }
    for (i64 i = whole + lane; i < end; i += width) found[0] = Op::merge(found[0], taken(first[i], i));
#else
#pragma unroll 4
    for (i64 i = begin + lane; i < end; i += width)
      found[0] = Op::merge(found[0], taken(first[place_of(reduced, i)], i));
#endif
#pragma unroll
    for (int j = 1; j < VECTOR; j++) found[0] = Op::merge(found[0], found[j]);
  }
#if BLOCK
  __shared__ alignas(16) char room[sizeof(A) * WARP];
  A result = block_reduce(found[0], Merge(), Op::empty(), reinterpret_cast<A*>(room));
#else
  A result = found[0];
  for (int step = width / 2; step; step /= 2) result = Op::merge(result, shuffle_xor(result, step));
#endif
  if (lane == 0 && row < rows) static_cast<Out*>(results)[row * gridDim.y + blockIdx.y] = finished(result, n);
}
#endif

#ifdef COLUMNS
// Results that lie side by side, `inner` of them for each of the places in `kept`: a thread reduces VECTOR neighbouring
// columns of every eighth element, so that a warp reads its row whole; then the eight are joined.
constexpr int LANES = 32, HEIGHT = THREADS / LANES, WIDTH = LANES * VECTOR;
extern "C" __global__ void __launch_bounds__(THREADS)
    reduce_columns(void* results, const void* elements, i64 inner, i64 length, i64 segment, double n,
                   const __grid_constant__ Layout kept, const __grid_constant__ Layout reduced) {
  __shared__ alignas(16) char room[sizeof(A) * HEIGHT * WIDTH];
  A* shared = reinterpret_cast<A*>(room);
  int x = threadIdx.x * VECTOR, y = threadIdx.y;
  i64 strips = (inner + WIDTH - 1) / WIDTH;
  i64 outer = blockIdx.x / strips, strip = blockIdx.x % strips * WIDTH;
  i64 begin = blockIdx.y * segment, end = begin + segment < length ? begin + segment : length;
  A found[VECTOR];
#pragma unroll
  for (int j = 0; j < VECTOR; j++) found[j] = Op::empty();
  if (strip + x < inner) {
    const In* first = static_cast<const In*>(elements) + offset_of(kept, outer) + strip + x;
#pragma unroll 4
    for (i64 i = begin + y; i < end; i += HEIGHT) {
      Vector<In, VECTOR> v = load_vector<In, VECTOR>(first + place_of(reduced, i));
#pragma unroll
      for (int j = 0; j < VECTOR; j++) found[j] = Op::merge(found[j], taken(v.at[j], i));
    }
  }
#pragma unroll
  for (int j = 0; j < VECTOR; j++) shared[y * WIDTH + x + j] = found[j];
  __syncthreads();
  Out* out = static_cast<Out*>(results) + (outer * gridDim.y + blockIdx.y) * inner + strip;
  int c = y * LANES + threadIdx.x;                         // WIDTH is THREADS at most
  if (c >= WIDTH || strip + c >= inner) return;
  A result = shared[c];
#pragma unroll
  for (int k = 1; k < HEIGHT; k++) result = Op::merge(result, shared[k * WIDTH + c]);
  out[c] = finished(result, n);
}
#endif
