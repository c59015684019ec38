/* Functions of T, float or double, for kernels whose text serves both. Define T and IS_DOUBLE before. */
#include "prelude.h"

#define LANES 32                            /* sums and maxima run side by side in so many numbers */
#define BLOCK 1024                          /* numbers that are added in T; blocks are added in double */

INLINE double as_double(i64 i) { double f; memcpy(&f, &i, 8); return f; }
INLINE double d_power(i64 n) { return as_double((n + 1023) << 52); }
/* exp(x) - 1 on [-ln 2 / 2, ln 2 / 2]: Taylor's series, whose 14th term is below the last bit */
INLINE double d_small(double r) {
  double p = 1.0 / 6227020800.0;
  p = fma(p, r, 1.0 / 479001600.0);
  p = fma(p, r, 1.0 / 39916800.0);
  p = fma(p, r, 1.0 / 3628800.0);
  p = fma(p, r, 1.0 / 362880.0);
  p = fma(p, r, 1.0 / 40320.0);
  p = fma(p, r, 1.0 / 5040.0);
  p = fma(p, r, 1.0 / 720.0);
  p = fma(p, r, 1.0 / 120.0);
  p = fma(p, r, 1.0 / 24.0);
  p = fma(p, r, 1.0 / 6.0);
  p = fma(p, r, 0.5);
  return fma(p * r, r, r);
}
INLINE double d_reduced(double c, i64 *n) {  /* c less the multiple n of ln 2 */
  double z = fma(c, 1.4426950408889634, 6755399441055744.0);
  i64 bits;
  memcpy(&bits, &z, 8);
  *n = bits - 0x4338000000000000;
  double k = z - 6755399441055744.0;
  return fma(k, -1.9082149292705877e-10, fma(k, -0.6931471803691238, c));
}
INLINE double d_exp(double x) {
  double c = x > 710.0 ? 710.0 : x;
  c = c < -746.0 ? -746.0 : c;
  i64 n;
  double p = 1.0 + d_small(d_reduced(c, &n));
  i64 h = n >> 1;                           /* in two factors: subnormals come out right, and infinity */
  double y = p * d_power(h) * d_power(n - h);
  return x != x ? x : x > 709.782712893384 ? INFINITY : y;
}
INLINE double d_tanh(double x) {            /* by exp(2 |x|) - 1, which is exact near 0 */
  double a = 2.0 * fabs(x);
  a = a > 40.0 ? 40.0 : a;
  i64 n;
  double p = d_power(0), e = d_small(d_reduced(a, &n));
  p = d_power(n);
  e = fma(e, p, p - 1.0);
  return x != x ? x : copysign(e / (e + 2.0), x);
}

#if IS_DOUBLE
#define BITS i64
#define EXP d_exp
#define TANH d_tanh
#define ERF erf
#define SQRT sqrt
#define LOG log
#define FABS fabs
#else
#define BITS int32_t
#define EXP m_exp
#define TANH m_tanh
#define ERF m_erf
#define SQRT sqrtf
#define LOG logf
#define FABS fabsf
#endif
#define SIGMOID(x) ((T)1 / ((T)1 + EXP(-(x))))

/* Rows [first, last) of part `part` of `parts`. */
#define ROWS(n) i64 first = (n) * part / parts, last = (n) * (part + 1) / parts
#define EACH(i, n) _Pragma("omp simd") for (i64 i = 0; i < (n); i++)

/* `total` of EXPRESSION, in which i runs from 0 to n: in blocks, so that long rows keep their digits. */
#define SUM(total, n, EXPRESSION)                                                                                     \
  double total = 0;                                                                                                   \
  for (i64 b_ = 0; b_ < (n); b_ += BLOCK) {                                                                           \
    i64 e_ = b_ + BLOCK < (n) ? b_ + BLOCK : (n);                                                                     \
    T s_ = 0;                                                                                                         \
    _Pragma("omp simd reduction(+:s_)") for (i64 i = b_; i < e_; i++) s_ += (EXPRESSION);                             \
    total += s_;                                                                                                      \
  }

INLINE T largest(const T *x, i64 n) {       /* passes NaN over: what follows finds it */
  T m[LANES], top = -INFINITY;
  for (int j = 0; j < LANES; j++) m[j] = -INFINITY;
  i64 i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int j = 0; j < LANES; j++) m[j] = x[i + j] > m[j] ? x[i + j] : m[j];
  for (; i < n; i++) top = x[i] > top ? x[i] : top;
  for (int j = 0; j < LANES; j++) top = m[j] > top ? m[j] : top;
  return top;
}
