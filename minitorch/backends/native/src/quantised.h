/* Products with weights of 8 bits: out[r, o] = scales[o] * sum over i of x[r, i] w[o, i]; parts are rows of the weight. */
#include "typed.h"
#define TOGETHER 4                          /* rows of the weight that share a look at x */

INLINE void some(int n, const T *x, const int8_t *w, i64 d, double *total) {
  for (int k = 0; k < n; k++) total[k] = 0;
  for (i64 from = 0; from < d; from += BLOCK) {
    i64 to = from + BLOCK < d ? from + BLOCK : d, i = from;
    T s[TOGETHER][LANES] = {{0}};
    for (; i + LANES <= to; i += LANES)
      for (int k = 0; k < n; k++) {
        __builtin_prefetch(w + (2 * TOGETHER + k) * d + i);   /* twice as fast from memory; past the end it does nothing */
        EACH(j, LANES) s[k][j] += x[i + j] * (T)w[k * d + i + j];
      }
    for (int k = 0; k < n; k++) {
      T sum = 0;
      for (int j = 0; j < LANES; j++) sum += s[k][j];
      for (i64 e = i; e < to; e++) sum += x[e] * (T)w[k * d + e];
      total[k] += sum;
    }
  }
}
void product(i64 part, i64 parts, const T *x, const int8_t *w, const T *scales, T *out, i64 rows, i64 outs, i64 d) {
  ROWS(outs);
  double total[TOGETHER];
  for (i64 o = first; o < last; o += TOGETHER) {
    int n = last - o < TOGETHER ? (int)(last - o) : TOGETHER;
    for (i64 r = 0; r < rows; r++) {        /* the rows of the weight stay in the cache */
      if (n == TOGETHER)
        some(TOGETHER, x + r * d, w + o * d, d, total);
      else
        for (int k = 0; k < n; k++) some(1, x + r * d, w + (o + k) * d, d, total + k);
      for (int k = 0; k < n; k++) out[r * outs + o + k] = (T)total[k] * scales[o + k];
    }
  }
}
