/* Row operations on matrices (rows, d): softmax, its logarithm, layer_norm, cross entropy; forward and backward. */
#include "typed.h"

void softmax(i64 part, i64 parts, const T *x, T *y, i64 rows, i64 d) {
  ROWS(rows);
  for (i64 r = first; r < last; r++) {
    const T *a = x + r * d;
    T *b = y + r * d, top = largest(a, d);
    SUM(total, d, (b[i] = EXP(a[i] - top)))
    T by = (T)(1 / total);
    EACH(i, d) b[i] *= by;
  }
}
void softmax_backward(i64 part, i64 parts, const T *g, const T *y, T *dx, i64 rows, i64 d) {
  ROWS(rows);
  for (i64 r = first; r < last; r++) {
    const T *a = g + r * d, *b = y + r * d;
    T *c = dx + r * d;
    SUM(total, d, a[i] * b[i])
    T dot = (T)total;
    EACH(i, d) c[i] = b[i] * (a[i] - dot);
  }
}
void log_softmax(i64 part, i64 parts, const T *x, T *y, i64 rows, i64 d) {
  ROWS(rows);
  for (i64 r = first; r < last; r++) {
    const T *a = x + r * d;
    T *b = y + r * d, top = largest(a, d);
    SUM(total, d, EXP(a[i] - top))
    T shift = (T)log(total);
    EACH(i, d) b[i] = (a[i] - top) - shift;
  }
}
void log_softmax_backward(i64 part, i64 parts, const T *g, const T *y, T *dx, i64 rows, i64 d) {
  ROWS(rows);
  for (i64 r = first; r < last; r++) {
    const T *a = g + r * d, *b = y + r * d;
    T *c = dx + r * d;
    SUM(total, d, a[i])
    T sum = (T)total;
    EACH(i, d) c[i] = a[i] - EXP(b[i]) * sum;
  }
}

/* ---- layer_norm, and rms_norm where not `centred` --------------------------------------------------------------- */
INLINE void moments(const T *a, i64 d, double eps, int centred, T *mean, T *r) {
  T m = 0;
  if (centred) {
    SUM(total, d, a[i])
    m = (T)(total / d);
  }
  SUM(squares, d, (a[i] - m) * (a[i] - m))
  *mean = m;
  *r = (T)(1 / sqrt(squares / d + eps));
}
/* `kept` (2, rows), the means and the reciprocal deviations, or NULL */
void layer_norm(i64 part, i64 parts, const T *x, const T *w, const T *b, T *y, T *kept, i64 rows, i64 d, double eps,
                int centred) {
  ROWS(rows);
  for (i64 r = first; r < last; r++) {
    const T *a = x + r * d;
    T *c = y + r * d, m, s;
    moments(a, d, eps, centred, &m, &s);
    if (kept) { kept[r] = m; kept[rows + r] = s; }
    if (w && b) EACH(i, d) c[i] = (a[i] - m) * s * w[i] + b[i];
    else if (w) EACH(i, d) c[i] = (a[i] - m) * s * w[i];
    else if (b) EACH(i, d) c[i] = (a[i] - m) * s + b[i];
    else EACH(i, d) c[i] = (a[i] - m) * s;
  }
}
/* Rows are groups of `channels`; each channel has its factor and summand. */
void group_norm(i64 part, i64 parts, const T *x, const T *w, const T *b, T *y, T *kept, i64 rows, i64 groups, i64 channels,
                i64 d, double eps) {
  ROWS(rows);
  for (i64 r = first; r < last; r++) {
    T m, s;
    moments(x + r * channels * d, channels * d, eps, 1, &m, &s);
    kept[r] = m; kept[rows + r] = s;
    for (i64 c = 0; c < channels; c++) {
      const i64 at = (r * channels + c) * d, of = r % groups * channels + c;
      T scale = w ? s * w[of] : s, shift = b ? b[of] : 0;
      EACH(i, d) y[at + i] = (x[at + i] - m) * scale + shift;
    }
  }
}
/* `few` (parts, 2, d) and `sums` (parts, 2, d) of doubles, zeros, take the gradients of w and b; NULL: not asked for. */
void layer_norm_backward(i64 part, i64 parts, const T *g, const T *x, const T *w, const T *kept, T *dx, T *few,
                         double *sums, i64 rows, i64 d, double eps, int centred) {
  ROWS(rows);
  T *fw = few + part * 2 * d, *fb = fw + d;
  double *dw = sums + part * 2 * d, *db = dw + d;
  i64 held = 0;
  for (i64 r = first; r < last; r++) {
    const T *a = x + r * d, *e = g + r * d;
    T *c = dx + r * d, m, s;
    if (kept) { m = kept[r]; s = kept[rows + r]; }
    else moments(a, d, eps, centred, &m, &s);
    double sum = 0, dot = 0;
    for (i64 b = 0; b < d; b += BLOCK) {
      i64 end = b + BLOCK < d ? b + BLOCK : d;
      T one = 0, two = 0;
      if (w) {
#pragma omp simd reduction(+:one, two)
        for (i64 i = b; i < end; i++) { T u = e[i] * w[i]; one += u; two += u * (a[i] - m); }
      } else {
#pragma omp simd reduction(+:one, two)
        for (i64 i = b; i < end; i++) { one += e[i]; two += e[i] * (a[i] - m); }
      }
      sum += one; dot += two;
    }
    T mean = centred ? (T)(sum / d) : 0, slope = (T)(dot * s * s / d);
    if (!few) {
      if (w) EACH(i, d) c[i] = s * (e[i] * w[i] - mean - (a[i] - m) * slope);
      else EACH(i, d) c[i] = s * (e[i] - mean - (a[i] - m) * slope);
      continue;
    }
    if (w) EACH(i, d) {
      T u = a[i] - m;
      c[i] = s * (e[i] * w[i] - mean - u * slope);
      fw[i] += e[i] * (u * s);
      fb[i] += e[i];
    } else EACH(i, d) {
      T u = a[i] - m;
      c[i] = s * (e[i] - mean - u * slope);
      fw[i] += e[i] * (u * s);
      fb[i] += e[i];
    }
    if (++held == 32 || r + 1 == last) {    /* so few are added in T */
      held = 0;
      EACH(i, d) { dw[i] += fw[i]; fw[i] = 0; db[i] += fb[i]; fb[i] = 0; }
    }
  }
}

/* ---- cross entropy of logits (rows, d) and classes ----------------------------------------------------------------
   `powers` and `totals` are what the op keeps: exp(x - top) and their sums. The loss of each row, 0 where its target is
   to be ignored, is not weighed here; targets lie within [0, d). */
void cross_entropy(i64 part, i64 parts, const T *x, const i64 *target, T *powers, T *totals, T *losses, i64 rows, i64 d) {
  ROWS(rows);
  for (i64 r = first; r < last; r++) {
    const T *a = x + r * d;
    T *b = powers + r * d, top = largest(a, d);
    SUM(total, d, (b[i] = EXP(a[i] - top)))
    totals[r] = (T)total;
    losses[r] = (T)(log(total) - (double)(a[target[r]] - top));
  }
}
/* scale[r * step]: minus the derivative of the loss by the log-probability of the row's target */
void cross_entropy_backward(i64 part, i64 parts, const T *powers, const T *totals, const i64 *target, const T *scale,
                            i64 step, T *dx, i64 rows, i64 d) {
  ROWS(rows);
  for (i64 r = first; r < last; r++) {
    const T *a = powers + r * d;
    T *b = dx + r * d, by = scale[r * step], share = by / totals[r];
    EACH(i, d) b[i] = a[i] * share;
    b[target[r]] -= by;
  }
}
