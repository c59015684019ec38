/* Sums and batch_norm by channel, (N, C, D) in memory, forward and backward. Where D is 1, channels lie side by side. */
#include "typed.h"

/* ---- batch_norm ------------------------------------------------------------------------------------------------- */
#define OVER_CHANNEL(total, EXPRESSION)                                                                               \
  double total = 0;                                                                                                   \
  for (i64 n = 0; n < N; n++) {                                                                                       \
    const i64 at = (n * C + c) * D;                                                                                   \
    SUM(one, D, EXPRESSION)                                                                                           \
    total += one;                                                                                                     \
  }
#define SIDE 256                            /* channels that are taken side by side */
#define FEW 32                              /* rows that are added in T */
/* `total` of EXPRESSION over all rows, for channels [c, c + k). */
#define OVER_ROWS(total, EXPRESSION)                                                                                  \
  double total[SIDE] = {0};                                                                                           \
  for (i64 b_ = 0; b_ < N; b_ += FEW) {                                                                               \
    T s_[SIDE] = {0};                                                                                                 \
    const i64 e_ = b_ + FEW < N ? b_ + FEW : N;                                                                       \
    i64 n = b_;                                                                                                       \
    for (; n + 4 <= e_; n += 4)                                                                                       \
      EACH(i, k) {                                                                                                    \
        T q_ = 0;                                                                                                     \
        for (int j_ = 0; j_ < 4; j_++) { const i64 at = (n + j_) * C + c; q_ += (EXPRESSION); }                       \
        s_[i] += q_;                                                                                                  \
      }                                                                                                               \
    for (; n < e_; n++) {                                                                                             \
      const i64 at = n * C + c;                                                                                       \
      EACH(i, k) s_[i] += (EXPRESSION);                                                                               \
    }                                                                                                                 \
    EACH(i, k) total[i] += s_[i];                                                                                     \
  }
#define SIDES(c, k) for (i64 c = first, k; c < last && (k = last - c < SIDE ? last - c : SIDE); c += SIDE)

static void norm_columns(i64 first, i64 last, const T *x, const T *w, const T *b, T *y, T *means, T *vars, T *rs, i64 N,
                         i64 C, double eps) {
  SIDES(c, k) {
    T m[SIDE], scale[SIDE], shift[SIDE];
    OVER_ROWS(sum, x[at + i])
    EACH(i, k) m[i] = (T)(sum[i] / N);
    OVER_ROWS(squares, (x[at + i] - m[i]) * (x[at + i] - m[i]))
    for (i64 i = 0; i < k; i++) {
      T var = (T)(squares[i] / N), r = (T)(1 / sqrt((double)var + eps));
      means[c + i] = m[i]; vars[c + i] = var; rs[c + i] = r;
      scale[i] = w ? r * w[c + i] : r; shift[i] = b ? b[c + i] : 0;
    }
    for (i64 n = 0; n < N; n++) EACH(i, k) y[n * C + c + i] = (x[n * C + c + i] - m[i]) * scale[i] + shift[i];
  }
}
static void norm_columns_backward(i64 first, i64 last, const T *g, const T *x, const T *w, const T *means, const T *rs,
                                  T *dx, T *dw, T *db, i64 N, i64 C) {
  SIDES(c, k) {
    T a[SIDE], mean[SIDE], slope[SIDE];
    const T *m = means + c;
    OVER_ROWS(sum, g[at + i])
    OVER_ROWS(dot, g[at + i] * (x[at + i] - m[i]))
    for (i64 i = 0; i < k; i++) {
      T r = rs[c + i];
      dw[c + i] = (T)(dot[i] * r); db[c + i] = (T)sum[i];
      a[i] = w ? r * w[c + i] : r; mean[i] = (T)(sum[i] / N); slope[i] = (T)(dot[i] * r * r / N);
    }
    for (i64 n = 0; n < N; n++) {
      const i64 at = n * C + c;
      EACH(i, k) dx[at + i] = a[i] * (g[at + i] - mean[i] - (x[at + i] - m[i]) * slope[i]);
    }
  }
}

void batch_norm(i64 part, i64 parts, const T *x, const T *w, const T *b, T *y, T *means, T *vars, T *rs, i64 N, i64 C,
                i64 D, double eps) {
  ROWS(C);
  if (D == 1) { norm_columns(first, last, x, w, b, y, means, vars, rs, N, C, eps); return; }
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
  if (D == 1) { norm_columns_backward(first, last, g, x, w, means, rs, dx, dw, db, N, C); return; }
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

/* ---- sums of channels, of x or of x y, divided ------------------------------------------------------------------ */
void channel_sums(i64 part, i64 parts, const T *x, const T *y, T *out, i64 N, i64 C, i64 D, double by) {
  ROWS(C);
  if (D > 1) {
    for (i64 c = first; c < last; c++) {
      if (y) { OVER_CHANNEL(sum, x[at + i] * y[at + i]) out[c] = (T)(sum / by); }
      else { OVER_CHANNEL(sum, x[at + i]) out[c] = (T)(sum / by); }
    }
    return;
  }
  SIDES(c, k) {
    if (y) { OVER_ROWS(sum, x[at + i] * y[at + i]) for (i64 i = 0; i < k; i++) out[c + i] = (T)(sum[i] / by); }
    else { OVER_ROWS(sum, x[at + i]) for (i64 i = 0; i < k; i++) out[c + i] = (T)(sum[i] / by); }
  }
}
/* out[index[n]] += x[n] for rows of C: a part takes some columns. `out` is zeros. */
void add_rows(i64 part, i64 parts, const T *x, const i64 *index, T *out, i64 N, i64 C) {
  ROWS(C);
  for (i64 n = 0; n < N; n++) {
    const T *a = x + n * C + first;
    T *o = out + index[n] * C + first;
    EACH(i, last - first) o[i] += a[i];
  }
}
