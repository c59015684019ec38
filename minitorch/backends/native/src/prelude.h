/* For generated and hand-written C: types, functions that vectorise (no calls, no branches, no errno), BLAS.
   NaN in, NaN out; infinities, signed zeros and subnormal results as IEEE has them. */
#pragma once
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#define INLINE static inline __attribute__((always_inline, unused))
typedef int64_t i64;

/* ---- BLAS: NumPy's, bound when the library is loaded ---------------------------------------------------------- */
#ifdef PRODUCTS
typedef void (*sgemm_t)(int, int, int, i64, i64, i64, float, const float *, i64, const float *, i64, float, float *, i64);
typedef void (*dgemm_t)(int, int, int, i64, i64, i64, double, const double *, i64, const double *, i64, double, double *,
                        i64);
static sgemm_t sgemm;                       /* sgemm(101, 111 or 112 if turned, ..., M, N, K, alpha, a, lda, b, ldb, ...) */
static dgemm_t dgemm;
void bind_products(void *s, void *d) { sgemm = (sgemm_t)s; dgemm = (dgemm_t)d; }
#endif

/* ---- float ----------------------------------------------------------------------------------------------------- */
INLINE float as_float(int32_t i) { float f; memcpy(&f, &i, 4); return f; }
INLINE int32_t as_int(float f) { int32_t i; memcpy(&i, &f, 4); return i; }

/* bfloat16: the upper half of a float, rounded to nearest, ties to even; NaN keeps its sign, as ml_dtypes has it */
INLINE float m_widen(uint16_t h) { return as_float((int32_t)((uint32_t)h << 16)); }
INLINE uint16_t m_narrow(float x) {
  uint32_t i = (uint32_t)as_int(x), r = i + 0x7fff + ((i >> 16) & 1);
  return (uint16_t)(x != x ? ((i >> 16) & 0x8000) | 0x7fc0 : r >> 16);
}

/* float16: 5 bits of exponent, 10 of fraction; rounded likewise. F. Giesen's, without branches */
INLINE float h_widen(uint16_t h) {
  float x = as_float((int32_t)(h & 0x7fff) << 13) * as_float(0x77800000);                 /* times 2^112: subnormals too */
  int32_t i = as_int(x) | ((h & 0x7c00) == 0x7c00 ? 0x7f800000 : 0);
  return as_float(i | (int32_t)((uint32_t)(h & 0x8000) << 16));
}
INLINE uint16_t h_narrow(float f) {
  uint32_t i = (uint32_t)as_int(f), x = i & 0x7fffffff;
  uint32_t large = x > 0x7f800000 ? 0x7e00 | ((x >> 13) & 0x1ff) : 0x7c00;                /* NaN, or infinite */
  uint32_t small = (uint32_t)as_int(as_float((int32_t)x) + 0.5f) - 0x3f000000;            /* subnormal: added to 2^-1 */
  uint32_t normal = (x + 0xc8000fff + ((x >> 13) & 1)) >> 13;
  return (uint16_t)((x >= 0x47800000 ? large : x < 0x38800000 ? small : normal) | (i >> 16 & 0x8000));
}

INLINE float m_exp(float x) {               /* 0.86 ulp */
  float c = x > 89.0f ? 89.0f : x;                       /* NaN stays: comparisons with it are false */
  c = c < -105.0f ? -105.0f : c;
  float z = fmaf(c, 1.44269504f, 12582912.0f);           /* 1.5 * 2^23: the nearest integer lies in the low bits */
  int32_t n = as_int(z) - 0x4b400000;
  float k = z - 12582912.0f;
  float r = fmaf(k, -0.693145752f, c);
  r = fmaf(k, -1.42860677e-6f, r);
  float p = 1.37805939e-3f;                              /* minimax for exp on [-ln2/2, ln2/2], N. Juffa */
  p = fmaf(p, r, 8.37312452e-3f);
  p = fmaf(p, r, 4.16695364e-2f);
  p = fmaf(p, r, 1.66664720e-1f);
  p = fmaf(p, r, 4.99999851e-1f);
  p = fmaf(p, r, 1.0f);
  p = fmaf(p, r, 1.0f);
  int32_t h = n >> 1;                                    /* 2^n in two factors: subnormals come out right, and inf */
  return p * as_float((h + 127) << 23) * as_float((n - h + 127) << 23);
}
INLINE float m_sigmoid(float x) { return 1.0f / (1.0f + m_exp(-x)); }
INLINE float m_tanh(float x) {              /* 1.5 ulp */
  float a = fabsf(x), s = x * x;
  float q = -0.00620742734f;                             /* tanh(x) = x + x^3 q(x^2) for |x| < 0.55 */
  q = fmaf(q, s, 0.0210272167f);
  q = fmaf(q, s, -0.0538422777f);
  q = fmaf(q, s, 0.133324989f);
  q = fmaf(q, s, -0.333333153f);
  float small = copysignf(fmaf(q * s, x, x), x);
  float large = copysignf(1.0f - 2.0f / (m_exp(2.0f * a) + 1.0f), x);
  return a < 0.55f ? small : large;                      /* NaN: large, whose m_exp is NaN */
}
INLINE float m_erf(float x) {               /* 0.96 ulp; N. Juffa's */
  float t = fabsf(x), s = x * x;
  float r = fmaf(-1.72853470e-5f, t, 3.83197126e-4f), u = fmaf(-3.88396438e-3f, t, 2.42546219e-2f);
  r = fmaf(r, s, u);
  r = fmaf(r, t, -1.06777877e-1f);
  r = fmaf(r, t, -6.34846687e-1f);
  r = fmaf(r, t, -1.28717512e-1f);
  r = fmaf(r, t, -t);
  float large = copysignf(1.0f - m_exp(r), x);
  float p = -5.96761703e-4f;
  p = fmaf(p, s, 4.99119423e-3f);
  p = fmaf(p, s, -2.67681349e-2f);
  p = fmaf(p, s, 1.12819925e-1f);
  p = fmaf(p, s, -3.76125336e-1f);
  p = fmaf(p, s, 1.28379166e-1f);
  float small = fmaf(p, x, x);
  return t > 0.927734375f ? large : small;
}
INLINE float m_log(float x) {               /* 0.86 ulp; N. Juffa's */
  int tiny = x < 1.17549435e-38f;
  float a = tiny ? x * 8388608.0f : x;
  int32_t e = (as_int(a) - 0x3f2aaaab) & (int32_t)0xff800000;
  float m = as_float(as_int(a) - e) - 1.0f;              /* a = 2^i (1 + m), 1 + m in [2/3, 4/3] */
  float i = fmaf((float)e, 1.19209290e-7f, tiny ? -23.0f : 0.0f), s = m * m;
  float r = -0.130310059f, t = 0.140869141f;
  r = fmaf(r, s, -0.121484190f);
  t = fmaf(t, s, 0.139814854f);
  r = fmaf(r, s, -0.166846052f);
  t = fmaf(t, s, 0.200120345f);
  r = fmaf(r, s, -0.249996200f);
  r = fmaf(t, m, r);
  r = fmaf(r, m, 0.333331972f);
  r = fmaf(r, m, -0.5f);
  r = fmaf(r, s, m);
  r = fmaf(i, 0.693147182f, r);
  r = x == INFINITY ? x : r;
  r = x == 0.0f ? -INFINITY : r;
  return x >= 0.0f ? r : NAN;                            /* also for NaN */
}

#include "functions.h"

/* ---- what is looked up: numbers are checked; a wrong one is noted (kind, number, size), and another taken instead ---- */
INLINE i64 checked(i64 i, i64 n, i64 *wrong) {
  int good = i >= 0 && i < n;
  if (!good) { wrong[0] = 1; wrong[1] = i; wrong[2] = n; }
  return good ? i : 0;
}
INLINE i64 element(i64 i, i64 n, i64 kind, i64 *wrong) {
  int good = i >= 0 && i < n;
  if (!good) { wrong[0] = kind; wrong[1] = i; wrong[2] = n; }
  return good ? i : 0;
}
INLINE i64 wrapped(i64 i, i64 n, i64 kind, i64 *wrong) {               /* negative ones count from the end */
  int good = i >= -n && i < n;
  if (!good) { wrong[0] = kind; wrong[1] = i; wrong[2] = n; }
  return good ? i + (i < 0) * n : 0;
}
#define PROBABILITY 6
INLINE float m_probability(float x, i64 *wrong) {
  if (!(x >= 0 && x <= 1)) wrong[0] = PROBABILITY;
  return x;
}
INLINE double d_probability(double x, i64 *wrong) {
  if (!(x >= 0 && x <= 1)) wrong[0] = PROBABILITY;
  return x;
}
INLINE i64 target(i64 i, i64 n, i64 ignored, i64 *wrong) {
  int good = i >= 0 && i < n;
  if (!good && i != ignored) { wrong[0] = 2; wrong[1] = i; wrong[2] = n; }
  return i == ignored || !good ? -1 : i;
}

/* ---- small products, unrolled where sizes are constants ----------------------------------------------------------- */
#define SMALL_PRODUCT(NAME, T)                                                                                        \
  INLINE void NAME(i64 M, i64 N, i64 K, T alpha, const T *a, i64 a0, i64 a1, const T *b, i64 b0, i64 b1, T *c, i64 c0) { \
    for (i64 i = 0; i < M; i++)                                                                                       \
      for (i64 j = 0; j < N; j++) {                                                                                   \
        T s = 0;                                                                                                      \
        for (i64 k = 0; k < K; k++) s += a[i * a0 + k * a1] * b[k * b0 + j * b1];                                     \
        c[i * c0 + j] = alpha * s;                                                                                    \
      }                                                                                                               \
  }
SMALL_PRODUCT(sproduct, float)
SMALL_PRODUCT(dproduct, double)

/* np.maximum and np.minimum: NaN wins, of equal operands the second */
INLINE float m_max(float a, float b) { return a != a || a > b ? a : b; }
INLINE float m_min(float a, float b) { return a != a || a < b ? a : b; }
INLINE double m_maxd(double a, double b) { return a != a || a > b ? a : b; }
INLINE double m_mind(double a, double b) { return a != a || a < b ? a : b; }
