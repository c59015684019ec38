/* batch_norm by channel, (N, C, D) in memory, and max pooling of planes (H, W); forward and backward. */
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

/* ---- max pooling: kernel, stride, padding and dilation (h, w) in `how` ------------------------------------------- */
#define WINDOWS i64 kh = how[0], kw = how[1], sh = how[2], sw = how[3], ph = how[4], pw = how[5], dh = how[6], dw = how[7]
void max_pool(i64 part, i64 parts, const T *x, T *out, i64 planes, i64 H, i64 W, i64 OH, i64 OW, const i64 *how) {
  ROWS(planes);
  WINDOWS;
  for (i64 p = first; p < last; p++)
    for (i64 oy = 0; oy < OH; oy++) {
      T *o = out + (p * OH + oy) * OW;
      for (i64 i = 0; i < OW; i++) o[i] = -INFINITY;
      for (i64 i = 0; i < kh; i++) {
        i64 y = oy * sh - ph + i * dh;
        if (y < 0 || y >= H) continue;
        for (i64 j = 0; j < kw; j++) {
          i64 off = j * dw - pw, from = off < 0 ? (-off + sw - 1) / sw : 0, to = (W - 1 - off) / sw + 1;
          const T *a = x + (p * H + y) * W + off;
          if (W - 1 - off < 0) continue;
          if (to > OW) to = OW;
          if (sw == 2) { _Pragma("omp simd") for (i64 q = from; q < to; q++) { T v = a[2 * q]; o[q] = o[q] != o[q] || o[q] >= v ? o[q] : v; } }
          else { _Pragma("omp simd") for (i64 q = from; q < to; q++) { T v = a[q * sw]; o[q] = o[q] != o[q] || o[q] >= v ? o[q] : v; } }
        }
      }
    }
}
/* To the first maximum of each window, or to its last NaN; dx is zeros. */
void max_pool_backward(i64 part, i64 parts, const T *g, const T *x, T *dx, i64 planes, i64 H, i64 W, i64 OH, i64 OW,
                       const i64 *how) {
  ROWS(planes);
  WINDOWS;
  for (i64 p = first; p < last; p++) {
    const T *plane = x + p * H * W;
    T *into = dx + p * H * W;
    for (i64 oy = 0; oy < OH; oy++)
      for (i64 ox = 0; ox < OW; ox++) {
        i64 y0 = oy * sh - ph, x0 = ox * sw - pw, i0 = y0 < 0 ? (-y0 + dh - 1) / dh : 0, j0 = x0 < 0 ? (-x0 + dw - 1) / dw : 0;
        i64 best = (y0 + i0 * dh) * W + x0 + j0 * dw;
        T top = -INFINITY;
        for (i64 i = i0; i < kh && y0 + i * dh < H; i++)
          for (i64 j = j0; j < kw && x0 + j * dw < W; j++) {
            i64 at = (y0 + i * dh) * W + x0 + j * dw;
            T v = plane[at];
            int better = v > top || v != v;
            best = better ? at : best;
            top = better ? v : top;
          }
        into[best] += g[(p * OH + oy) * OW + ox];
      }
  }
}
