/* Functions of T, float or double, for kernels whose text serves both. Define T and IS_DOUBLE before. */
#include "prelude.h"

#define LANES 32                            /* sums and maxima run side by side in so many numbers */
#define BLOCK 1024                          /* numbers that are added in T; blocks are added in double */

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
