// What several kernels share: conversions, vector loads, strided layouts, reductions over warps and blocks.
#pragma once

typedef long long i64;
typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 ALL_LANES = 0xffffffffu;
constexpr int WARP = 32;

// ---- types -----------------------------------------------------------------------------------------------------
// compute<T>: what values of type T are computed in. 16-bit floats are computed in float and rounded once.
template <class T> struct compute_type { typedef T type; static constexpr bool half = false; };
#ifdef NEEDS_FP16
template <> struct compute_type<__half> { typedef float type; static constexpr bool half = true; };
#endif
#ifdef NEEDS_BF16
template <> struct compute_type<__nv_bfloat16> { typedef float type; static constexpr bool half = true; };
#endif
template <class T> using compute = typename compute_type<T>::type;

template <class T> struct is_floating { static constexpr bool value = compute_type<T>::half; };
template <> struct is_floating<float> { static constexpr bool value = true; };
template <> struct is_floating<double> { static constexpr bool value = true; };

// ---- conversions -----------------------------------------------------------------------------------------------
template <class T> __device__ __forceinline__ float to_float(T x) { return static_cast<float>(x); }
template <class T> __device__ __forceinline__ T from_float(float x) { return static_cast<T>(x); }
#ifdef NEEDS_FP16
template <> __device__ __forceinline__ float to_float(__half x) { return __half2float(x); }
template <> __device__ __forceinline__ __half from_float(float x) { return __float2half_rn(x); }
#endif
#ifdef NEEDS_BF16
template <> __device__ __forceinline__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
template <> __device__ __forceinline__ __nv_bfloat16 from_float(float x) { return __float2bfloat16_rn(x); }
#endif

// The nearest number with 10 bits of mantissa: TF32, which tensor cores make of float32 by cutting it off.
__device__ __forceinline__ float to_tf32(float x) {
  u32 bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
}

// A stored value as what it is computed in, and back.
template <class T> __device__ __forceinline__ compute<T> widen(T x) {
  if constexpr (compute_type<T>::half) return to_float(x);
  else return x;
}
template <class T> __device__ __forceinline__ T narrow(compute<T> x) {
  if constexpr (compute_type<T>::half) return from_float<T>(x);
  else return x;
}

// ---- vectors ---------------------------------------------------------------------------------------------------
// N values that are loaded or stored in one instruction, of up to 16 bytes; the address must be aligned to all of them.
template <class T, int N> struct alignas(N == 1 ? alignof(T) : sizeof(T) * N) Vector { T at[N]; };
template <class T, int N> __device__ __forceinline__ Vector<T, N> load_vector(const T* p) {
  return *reinterpret_cast<const Vector<T, N>*>(p);
}
template <class T, int N> __device__ __forceinline__ void store_vector(T* p, const Vector<T, N>& v) {
  *reinterpret_cast<Vector<T, N>*>(p) = v;
}

// ---- strided layouts -------------------------------------------------------------------------------------------
// Where each element of up to four arrays of one shape lies. Made by arrays/layout.py, which keeps
// to fewer than 2^31 elements a launch, so that indices are 32 bits and the divisions multiplications.
constexpr int MAX_DIMS = 8;
constexpr int MAX_OPERANDS = 4;
struct Layout {
  u32 size, dims;
  u32 shape[MAX_DIMS], magic[MAX_DIMS], shift[MAX_DIMS];   // the last dimension is the fastest
  i64 strides[MAX_OPERANDS][MAX_DIMS];                     // in elements
};

// The places, in elements, of element `index` in the first N arrays of a layout.
template <int N> __device__ __forceinline__ void locate(const Layout& layout, u32 index, i64 (&place)[N]) {
#pragma unroll
  for (int k = 0; k < N; k++) place[k] = 0;
#pragma unroll
  for (int d = MAX_DIMS - 1; d >= 0; d--) {
    if (d >= static_cast<int>(layout.dims)) continue;
    u32 quotient = d ? (__umulhi(index, layout.magic[d]) + index) >> layout.shift[d] : 0;
    u32 coordinate = index - quotient * layout.shape[d];
#pragma unroll
    for (int k = 0; k < N; k++) place[k] += coordinate * layout.strides[k][d];
    index = quotient;
  }
}

// ---- batches ---------------------------------------------------------------------------------------------------
// Where the matrix of a place in a batch begins: `x` has its strides, `p` the sizes of the batch.
template <class X, class P> __device__ __forceinline__ i64 batch_offset(const X& x, const P& p, unsigned place) {
  unsigned last = place % p.batch[2], rest = place / p.batch[2];
  return last * x.batch[2] + rest % p.batch[1] * x.batch[1] + rest / p.batch[1] * x.batch[0];
}

// ---- reductions ------------------------------------------------------------------------------------------------
struct Add { template <class A> __device__ __forceinline__ A operator()(A a, A b) const { return a + b; } };
struct Max {                                               // NaN counts as the greatest
  template <class A> __device__ __forceinline__ A operator()(A a, A b) const { return a > b || a != a ? a : b; }
};

// A value of any type, from the lane whose number differs in the bits of `step`.
template <class A> __device__ __forceinline__ A shuffle_xor(A x, int step) {
  constexpr int WORDS = (sizeof(A) + 3) / 4;
  union Words {
    A value;
    u32 at[WORDS];
    __device__ Words() {}
  } words;
  words.value = x;
#pragma unroll
  for (int i = 0; i < WORDS; i++) words.at[i] = __shfl_xor_sync(ALL_LANES, words.at[i], step);
  return words.value;
}

// The reduction over each group of so many lanes of a warp (a power of two), in every lane. All lanes must take part.
template <int Lanes = WARP, class A, class F> __device__ __forceinline__ A warp_reduce(A x, F f) {
#pragma unroll
  for (int step = Lanes / 2; step; step /= 2) x = f(x, shuffle_xor(x, step));
  return x;
}

// The reduction over a block of whole warps, in every thread; `shared` has room for 32 values. The order is fixed.
// There is a barrier before `shared` is written, so that it may be used again at once.
template <class A, class F> __device__ __forceinline__ A block_reduce(A x, F f, A empty, A* shared) {
  x = warp_reduce(x, f);
  int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  int lane = thread % WARP, warp = thread / WARP, warps = (blockDim.x * blockDim.y * blockDim.z) / WARP;
  if (warps == 1) return x;
  __syncthreads();
  if (lane == 0) shared[warp] = x;
  __syncthreads();
  return warp_reduce(lane < warps ? shared[lane] : empty, f);
}
