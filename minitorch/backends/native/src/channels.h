/* batch_norm by channel, (N, C, D) in memory, forward and backward. */
#include "typed.h"

/* ---- batch_norm ------------------------------------------------------------------------------------------------- */
#define OVER_CHANNEL(total, EXPRESSION)                                                                               \
  double total = 0;                                                                                                   \
  for (i64 n = 0; n < N; n++) {                                                                                       \
    const i64 at = (n * C + c) * D;                                                                                   \
    SUM(one, D, EXPRESSION)                                                                                           \
    total += one;                                                                                                     \
  }
void batch_norm(i64 part, i64 parts, const T *x, const T *w, const T *b, T *y, T *means, T *vars, T *rs, i64 N, i64 C,
                i64 D, double eps) {
  ROWS(C);
  for (i64 c = first; c < last; c++) {
    OVER_CHANNEL(sum, x[at + i])
    T m = (T)(sum / (N * D));
    OVER_CHANNEL(squares, (x[at + i] - m) * (x[at + i] - m))
    T var = (T)(squares / (N * D)), r = (T)(1 / sqrt((double)var + eps));
    T scale = w ? r * w[c] : r, shift = b ? b[c] : 0;
    means[c] = m; vars[c] = var; rs[c] = r;
    for (i64 n = 0; n < N; n++) {
      const T *a = x + (n * C + c) * D;
      T *o = y + (n * C + c) * D;
      EACH(i, D) o[i] = (a[i] - m) * scale + shift;
    }
  }
}
void batch_norm_backward(i64 part, i64 parts, const T *g, const T *x, const T *w, const T *means, const T *rs, T *dx,
                         T *dw, T *db, i64 N, i64 C, i64 D) {
  ROWS(C);
  for (i64 c = first; c < last; c++) {
    T m = means[c], r = rs[c], a = w ? r * w[c] : r;
    OVER_CHANNEL(sum, g[at + i])
    OVER_CHANNEL(dot, g[at + i] * (x[at + i] - m))
    dw[c] = (T)(dot * r); db[c] = (T)sum;
    T mean = (T)(sum / (N * D)), slope = (T)(dot * r * r / (N * D));
    for (i64 n = 0; n < N; n++) {
      const i64 at = (n * C + c) * D;
      EACH(i, D) dx[at + i] = a * (g[at + i] - mean - (x[at + i] - m) * slope);
    }
  }
}
