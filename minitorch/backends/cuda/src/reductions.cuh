// What is accumulated in a reduction: a struct for each operation. The skeletons in reduce.cu are compiled with one of
// these at a time (-DOP=name).
//
// T is the type of what is read, U of what is written. `A` is what is accumulated, `empty()` the reduction of nothing,
// `take(x, i)` that of the element with index i, `merge` joins two (the first one of smaller indices), and
// `finish(a, n)` makes the result; n is a number given with the launch.
#pragma once
#include "functors.cuh"

namespace op {

typedef compute<U> R;                                      // what sums are computed in: float32 for 16-bit floats

template <class C> struct real_type { typedef float type; };
template <> struct real_type<double> { typedef double type; };
typedef real_type<R>::type Real;                           // the same where there are only floats

struct total {
  typedef R A;
  static __device__ __forceinline__ A empty() { return A(0); }
  static __device__ __forceinline__ A take(T x, i64) { return static_cast<A>(widen(x)); }
  static __device__ __forceinline__ A merge(A a, A b) { return a + b; }
  static __device__ __forceinline__ R finish(A a, double) { return a; }
};
struct average : total {
  static __device__ __forceinline__ R finish(A a, double n) { return a / static_cast<R>(n); }
};
struct total_of_absolutes : total {
  static __device__ __forceinline__ A take(T x, i64) { return static_cast<A>(magnitude(widen(x))); }
};
struct total_of_squares : total {
  static __device__ __forceinline__ A take(T x, i64) { A y = static_cast<A>(widen(x)); return y * y; }
};
struct euclidean : total_of_squares {
  static __device__ __forceinline__ Real finish(A a, double) { return sqrt(static_cast<Real>(a)); }
};
struct total_of_nonzeros : total {
  static __device__ __forceinline__ A take(T x, i64) { return A(widen(x) != compute<T>(0)); }
};
struct product : total {
  static __device__ __forceinline__ A empty() { return A(1); }
  static __device__ __forceinline__ A merge(A a, A b) { return a * b; }
};

struct every {
  typedef int A;
  static __device__ __forceinline__ A empty() { return 1; }
  static __device__ __forceinline__ A take(T x, i64) { return widen(x) != compute<T>(0); }
  static __device__ __forceinline__ A merge(A a, A b) { return a & b; }
  static __device__ __forceinline__ bool finish(A a, double) { return a; }
};
struct some : every {
  static __device__ __forceinline__ A empty() { return 0; }
  static __device__ __forceinline__ A merge(A a, A b) { return a | b; }
};

// A place with its value; index -1 for none. The first of equal values is chosen, NaN before all.
template <class C> struct Place {
  C value;
  i64 index;
};
template <class C, bool LARGEST> __device__ __forceinline__ bool beats(C a, C b) {
  return a != a ? b == b : LARGEST ? a > b : a < b;
}
template <bool LARGEST> struct place_of {
  typedef Place<compute<T>> A;
  static __device__ __forceinline__ A empty() { return {compute<T>(0), -1}; }
  static __device__ __forceinline__ A take(T x, i64 i) { return {widen(x), i}; }
  static __device__ __forceinline__ A merge(A a, A b) {
    if (a.index < 0) return b;
    if (b.index < 0) return a;
    if (beats<compute<T>, LARGEST>(b.value, a.value)) return b;
    if (beats<compute<T>, LARGEST>(a.value, b.value)) return a;
    return a.index < b.index ? a : b;
  }
  static __device__ __forceinline__ i64 finish(A a, double) { return a.index; }
};
typedef place_of<true> place_of_largest;
typedef place_of<false> place_of_smallest;

// The extreme value alone, NaN before all.
template <bool LARGEST> struct extreme {
  typedef compute<T> A;
  static __device__ __forceinline__ A empty() { return LARGEST ? lowest<A>() : highest<A>(); }
  static __device__ __forceinline__ A take(T x, i64) { return widen(x); }
  static __device__ __forceinline__ A merge(A a, A b) { return LARGEST ? greater_of(a, b) : lesser_of(a, b); }
  static __device__ __forceinline__ A finish(A a, double) { return a; }
};
typedef extreme<true> largest;
typedef extreme<false> smallest;

// The sum of squared differences from the mean, by Chan, Golub and LeVeque's way to join two groups (1979).
struct Moments {
  Real count, mean, squares;
};
struct variance {
  typedef Moments A;
  static __device__ __forceinline__ A empty() { return {Real(0), Real(0), Real(0)}; }
  static __device__ __forceinline__ A take(T x, i64) { return {Real(1), static_cast<Real>(widen(x)), Real(0)}; }
  static __device__ __forceinline__ A merge(A a, A b) {
    Real n = a.count + b.count;
    if (b.count == Real(0)) return a;
    Real distance = b.mean - a.mean, share = b.count / n;
    return {n, a.mean + distance * share, a.squares + b.squares + distance * distance * a.count * share};
  }
  static __device__ __forceinline__ Real finish(A a, double n) { return a.squares / static_cast<Real>(n); }
};
struct deviation : variance {
  static __device__ __forceinline__ Real finish(A a, double n) { return sqrt(a.squares / static_cast<Real>(n)); }
};

// log(sum(exp(x))): the greatest x and the sum of exp(x - greatest).
struct Exponentials {
  Real top, sum;
};
struct log_of_total {
  typedef Exponentials A;
  static __device__ __forceinline__ A empty() { return {lowest<Real>(), Real(0)}; }
  static __device__ __forceinline__ A take(T x, i64) { return {static_cast<Real>(widen(x)), Real(1)}; }
  static __device__ __forceinline__ A merge(A a, A b) {
    Real top = greater_of(a.top, b.top);
    if (top == lowest<Real>()) return {top, Real(0)};               // nothing but -inf so far
    Real left = a.top == top ? a.sum : a.sum * exp(a.top - top), right = b.top == top ? b.sum : b.sum * exp(b.top - top);
    return {top, left + right};
  }
  static __device__ __forceinline__ Real finish(A a, double) { return a.sum == Real(0) ? a.top : a.top + log(a.sum); }
};

}  // namespace op
