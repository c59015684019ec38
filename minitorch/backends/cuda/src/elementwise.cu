// Elementwise operations: one skeleton for each number of operands, compiled with one functor (OP) at a time.
//
// ARITY: the number of operands, which also picks the kernel. An operand may be a number: its pointer is null and its
// value comes in 8 bytes. VECTOR: elements a thread loads at once, of up to 16 bytes. FLAT: all arrays lie contiguous
// and in the same order, so that there is one index; otherwise a Layout says where the elements lie, its last dimension
// counted in vectors, and an operand that is repeated along it (stride 0) is loaded once for a vector.
#include "functors.cuh"

constexpr int THREADS = 256;
constexpr int UNROLL = 2;                                  // vectors a thread has under way at once, where FLAT

template <class C> __device__ __forceinline__ C number(i64 bits) {
  if constexpr (sizeof(C) == 4 && is_floating<C>::value) return __int_as_float(static_cast<int>(bits));
  else if constexpr (sizeof(C) == 8 && is_floating<C>::value) return __longlong_as_double(bits);
  else return static_cast<C>(bits);
}

// A computed value in the type of the output.
template <class To, class From> __device__ __forceinline__ To converted(From x) {
  if constexpr (compute_type<To>::half) return from_float<To>(static_cast<float>(x));
  else return static_cast<To>(x);
}

template <class X> struct Operand {
  const X* p;
  compute<X> value;
  __device__ __forceinline__ Operand(const X* p, i64 bits) : p(p), value(number<compute<X>>(bits)) {}
};

template <class X, int N> struct Values {
  compute<X> at[N];
  __device__ __forceinline__ void fill(compute<X> x) {
#pragma unroll
    for (int j = 0; j < N; j++) at[j] = x;
  }
  __device__ __forceinline__ void set(const Vector<X, N>& v) {
#pragma unroll
    for (int j = 0; j < N; j++) at[j] = widen(v.at[j]);
  }
};

template <class F, int N, class... X>
__device__ __forceinline__ void store(U* out, F f, const Values<X, N>&... x) {
  Vector<U, N> result;
#pragma unroll
  for (int j = 0; j < N; j++) result.at[j] = converted<U>(f(x.at[j]...));
  store_vector<U, N>(out, result);
}

#ifdef FLAT
#define EXTENT i64 size
#define EXTENT_NAME size

// One vector of an operand for each step of a thread's way.
template <class X> struct Loaded {
  Vector<X, VECTOR> at[UNROLL];
  __device__ __forceinline__ Loaded(const Operand<X>& x, i64 start) {
    if (!x.p) return;
#pragma unroll
    for (int u = 0; u < UNROLL; u++) at[u] = load_vector<X, VECTOR>(x.p + start + u * THREADS * VECTOR);
  }
};
template <class X>
__device__ __forceinline__ Values<X, VECTOR> values(const Operand<X>& x, const Vector<X, VECTOR>& loaded) {
  Values<X, VECTOR> found;
  if (x.p) found.set(loaded);
  else found.fill(x.value);
  return found;
}
template <class X> __device__ __forceinline__ Vector<X, VECTOR> loaded_at(const Operand<X>& x, i64 i) {
  return x.p ? load_vector<X, VECTOR>(x.p + i) : Vector<X, VECTOR>();
}
template <class X> __device__ __forceinline__ Values<X, 1> single(const Operand<X>& x, i64 i) {
  return {{x.p ? widen(x.p[i]) : x.value}};
}
template <class F, class... X> __device__ __forceinline__ void map(U* out, F f, i64 size, const Operand<X>&... x) {
  constexpr int BLOCK = THREADS * UNROLL * VECTOR;
  i64 begin = static_cast<i64>(blockIdx.x) * BLOCK;
  i64 start = begin + threadIdx.x * VECTOR;
  if (begin + BLOCK > size) {                              // the last block: whole vectors, then what is left of one
    i64 whole = size / VECTOR * VECTOR, rest = whole + threadIdx.x;
#pragma unroll 1
    for (i64 i = start; i < whole; i += THREADS * VECTOR)
      store<F, VECTOR, X...>(out + i, f, values(x, loaded_at(x, i))...);
    if (rest < size) store<F, 1, X...>(out + rest, f, single(x, rest)...);
    return;
  }
  auto compute_all = [&](const Loaded<X>&... loaded) {     // all loads are under way before the first is needed
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
      store<F, VECTOR, X...>(out + start + u * THREADS * VECTOR, f, values(x, loaded.at[u])...);
  };
  compute_all(Loaded<X>(x, start)...);
}

#else
#define EXTENT const __grid_constant__ Layout layout
#define EXTENT_NAME layout

template <class X>
__device__ __forceinline__ Values<X, VECTOR> values(const Operand<X>& x, i64 place, bool repeated) {
  Values<X, VECTOR> found;
  if (!x.p) found.fill(x.value);
  else if (VECTOR == 1 || repeated) found.fill(widen(x.p[place]));
  else found.set(load_vector<X, VECTOR>(x.p + place));
  return found;
}
template <class F, class... X>
__device__ __forceinline__ void map(U* out, F f, const Layout& layout, const Operand<X>&... x) {
  u32 index = blockIdx.x * THREADS + threadIdx.x;
  if (index >= layout.size) return;
  i64 place[sizeof...(X) + 1];
  locate(layout, index, place);
  int k = 0, last = layout.dims - 1;
  auto next = [&](const auto& operand) {
    k++;
    return values(operand, place[k], layout.strides[k][last] == 0);
  };
  auto finish = [&](const Values<X, VECTOR>&... found) { store<F, VECTOR, X...>(out + place[0], f, found...); };
  struct Call {                                            // braces keep the order in which operands are loaded
    __device__ __forceinline__ Call(decltype(finish)& finish, const Values<X, VECTOR>&... found) { finish(found...); }
  };
  Call{finish, next(x)...};
}
#endif

#if ARITY == 0
extern "C" __global__ void __launch_bounds__(THREADS) map0(U* out, i64 a, EXTENT) {
  Operand<U> value(nullptr, a);
  map(out, [](compute<U> x) { return x; }, EXTENT_NAME, value);
}
#elif ARITY == 1
extern "C" __global__ void __launch_bounds__(THREADS) map1(U* out, const T* x, i64 a, i64 b, EXTENT) {
  typedef compute<T> C;
  C first = number<C>(a), second = number<C>(b);
  map(out, [=](C x) { return op::OP()(x, first, second); }, EXTENT_NAME, Operand<T>(x, 0));
}
#elif ARITY == 2
extern "C" __global__ void __launch_bounds__(THREADS)
    map2(U* out, const T* x, const V* y, i64 x_number, i64 y_number, i64 a, i64 b, EXTENT) {
  typedef compute<T> C;
  C first = number<C>(a), second = number<C>(b);
  map(out, [=](C x, compute<V> y) { return op::OP()(x, y, first, second); }, EXTENT_NAME, Operand<T>(x, x_number),
      Operand<V>(y, y_number));
}
#elif ARITY == 3
extern "C" __global__ void __launch_bounds__(THREADS)
    map3(U* out, const T* x, const V* y, const T* z, i64 x_number, i64 y_number, i64 z_number, i64 a, i64 b, EXTENT) {
  typedef compute<T> C;
  C first = number<C>(a), second = number<C>(b);
  map(out, [=](C x, compute<V> y, C z) { return op::OP()(x, y, z, first, second); }, EXTENT_NAME,
      Operand<T>(x, x_number), Operand<V>(y, y_number), Operand<T>(z, z_number));
}
#endif
