// The normal distribution's function and density, the logistic function: without branches, and with two instructions
// of the special function unit each.
//
// P(-t) = exp(-t^2 / 2) q(1 / (1 + p t)) for t >= 0, q a polynomial: the form of M. Abramowitz and I. Stegun, "Handbook
// of mathematical functions", 7.1.26, refitted so that the relative error counts, for t up to 14.5,
// where the exponential is zero in float32. With 9 terms (fitted to 0.6 x 2^-24), for float32, P is
// within 10 x 2^-24 relatively, in its tail as well, where 1 + erf(x) cancels. With 5 terms (fitted
// to 2^-14.8), for results that are rounded to 16 bits, it adds an eighth of their rounding at
// most; a slope, in which two such numbers may cancel, has 9 terms. float64 has the library's
// functions.
#pragma once
#include "quick.cuh"

#ifdef TYPE_T
constexpr bool BRIEF = compute_type<T>::half;              // results are rounded to 16 bits
#else
constexpr bool BRIEF = false;
#endif

// P(x), and exp(-x^2 / 2).
template <class C> struct Normal { C below, bell; };

template <bool SHORT> __device__ __forceinline__ Normal<float> normal(float x) {
  constexpr float HALF_LOG2_E = 0.72134752f, REST = 9.62981494e-9f, LOG_2 = 0.69314718f;
  float size = BRIEF ? fabsf(x) : fminf(fabsf(x), 14.5f), square = size * size;
  float exponent = square * -HALF_LOG2_E, bell = quick_exp2(exponent);
  if constexpr (!BRIEF) {
    float lost = fmaf(square, -HALF_LOG2_E, -exponent);    // what rounding took from the exponent, up to 2^-18
    lost = fmaf(square, -REST, fmaf(fmaf(size, size, -square), -HALF_LOG2_E, lost));
    bell = fmaf(bell, lost * LOG_2, bell);
  }
  float u = quick_reciprocal(fmaf(size, SHORT ? 0.38f : 0.35f, 1.f)), q;
  if constexpr (SHORT) {
    q = fmaf(fmaf(fmaf(fmaf(-0.0899283169f, u, 0.188876396f), u, 0.0919797996f), u, 0.157829455f), u, 0.151225139f) * u;
  } else {
    q = fmaf(fmaf(fmaf(fmaf(-0.0291578728f, u, 0.144030857f), u, -0.255838878f), u, 0.159319554f), u, -0.0232122588f);
    q = fmaf(fmaf(fmaf(fmaf(q, u, 0.105552463f), u, 0.119821297f), u, 0.139863514f), u, 0.139621307f) * u;
  }
  float tail = bell * q;
  return {x < 0.f ? tail : 1.f - tail, bell};
}
template <bool SHORT> __device__ __forceinline__ Normal<double> normal(double x) {
  return {0.5 * erfc(x * -0.7071067811865476), exp(x * x * -0.5)};
}

template <class C> __device__ __forceinline__ C normal_cdf(C x) { return normal<BRIEF>(x).below; }
template <class C> __device__ __forceinline__ C normal_cdf_slope(C x) {    // of x P(x)
  Normal<C> at = normal<false>(x);
  return at.below + x * (at.bell * C(0.3989422804014327));
}

// 1 / (1 + exp(-x)); of float32, by approximate instructions only where the result is rounded to 16 bits.
template <class C> __device__ __forceinline__ C logistic(C x) {
  if constexpr (BRIEF && sizeof(C) == 4) return quick_reciprocal(1.f + quick_exp2(x * -1.44269504f));
  else return C(1) / (C(1) + exp(-x));
}

// gelu by tanh: x (1 + tanh(w)) / 2 = x / (1 + exp(-2 w)), w = K (x + c x^3), K = sqrt(2 / pi), c = 0.044715. In this form
// nothing cancels: within 8 x 2^-24 and |w| x 2^-22 relatively.
template <class C> __device__ __forceinline__ C gelu_gate(C x) {
  C square = x * x;
  if constexpr (sizeof(C) == 4) {                            // -2 K log2(e), and times c
    return quick_reciprocal(1.f + quick_exp2(x * fmaf(square, -0.102943240f, -2.30220820f)));
  } else {
    return C(1) / (C(1) + exp(x * (square * C(-2 * 0.7978845608028654 * 0.044715) + C(-2 * 0.7978845608028654))));
  }
}
template <class C> __device__ __forceinline__ C gelu_tanh_slope(C x) {
  C gate = gelu_gate(x);
  C steep = C(2 * 0.7978845608028654) + x * x * C(6 * 0.7978845608028654 * 0.044715);
  return gate + x * (gate * (C(1) - gate)) * steep;
}
