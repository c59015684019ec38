/* LSTM, GRU and plain RNN over a whole sequence, forward and backward: needs PRODUCTS.

   T time steps (here `steps`), B batch, I input size, H hidden size, G gates. Gates lie as (steps, B, G H); states `h`
   and `c` as (steps + 1, B, H), the one before a step at `before`, the one after it at `after`: in the order of time,
   in which a layer that goes backwards begins at the end. `extra` (steps, B, H) is tanh(c) of an LSTM, and the part of n
   that comes from the state of a GRU. Formulas: ops/nn/recurrent.py. */
#include "typed.h"

enum { LSTM, GRU, RNN_TANH, RNN_RELU };
#define PLAIN 111
#define TURNED 112

/* w (rows, columns) to (columns, rows) */
static void turn(i64 rows, i64 columns, const T *restrict w, T *restrict t) {
  for (i64 i = 0; i < rows; i += 16)
    for (i64 j = 0; j < columns; j += 16)
      for (i64 b = j; b < j + 16 && b < columns; b++)
        for (i64 a = i; a < i + 16 && a < rows; a++) t[b * rows + a] = w[a * columns + b];
}

/* ---- forward: gates in place ------------------------------------------------------------------------------------ */
static void lstm_step(i64 B, i64 H, T *a, const T *c0, T *c1, T *tc, T *h1) {
  for (i64 b = 0; b < B; b++) {
    T *i_ = a + b * 4 * H, *f_ = i_ + H, *g_ = f_ + H, *o_ = g_ + H;
    const T *c = c0 + b * H;
    T *d = c1 + b * H, *t = tc + b * H, *h = h1 + b * H;
    EACH(j, H) {
      T i = SIGMOID(i_[j]), f = SIGMOID(f_[j]), g = TANH(g_[j]), o = SIGMOID(o_[j]);
      T n = f * c[j] + i * g, u = TANH(n);
      i_[j] = i; f_[j] = f; g_[j] = g; o_[j] = o; d[j] = n; t[j] = u; h[j] = o * u;
    }
  }
}
static void gru_step(i64 B, i64 H, T *a, const T *part, const T *bn, const T *h0, T *h1, T *extra) {
  for (i64 b = 0; b < B; b++) {
    T *r_ = a + b * 3 * H, *z_ = r_ + H, *n_ = z_ + H, *e = extra + b * H, *h = h1 + b * H;
    const T *p = part + b * 3 * H, *o = h0 + b * H;
    EACH(j, H) {
      T r = SIGMOID(r_[j] + p[j]), z = SIGMOID(z_[j] + p[H + j]), s = p[2 * H + j] + (bn ? bn[j] : 0);
      T n = TANH(n_[j] + r * s);
      r_[j] = r; z_[j] = z; n_[j] = n; e[j] = s; h[j] = n + z * (o[j] - n);
    }
  }
}

void forward(const T *x, const T *wi, const T *wh, const T *bias, const T *bn, T *gates, T *h, T *c, T *extra,
             T *scratch, i64 steps, i64 B, i64 I, i64 H, i64 mode, i64 reverse) {
  const i64 G = mode == LSTM ? 4 : mode == GRU ? 3 : 1, W = G * H, S = B * H;
  T *wt = scratch, *part = scratch + H * W;                /* the product that comes in every step is faster with it */
  turn(W, H, wh, wt);
  if (bias)
    for (i64 r = 0; r < steps * B; r++) memcpy(gates + r * W, bias, W * sizeof(T));
  GEMM(101, PLAIN, TURNED, steps * B, W, I, 1, x, I, wi, I, bias ? 1 : 0, gates, W);
  for (i64 s = 0; s < steps; s++) {
    i64 t = reverse ? steps - 1 - s : s, before = reverse ? t + 1 : t, after = reverse ? t : t + 1;
    T *a = gates + t * B * W;
    const T *h0 = h + before * S;
    if (mode == GRU) {
      GEMM(101, PLAIN, PLAIN, B, W, H, 1, h0, H, wt, W, 0, part, W);
      gru_step(B, H, a, part, bn, h0, h + after * S, extra + t * S);
      continue;
    }
    GEMM(101, PLAIN, PLAIN, B, W, H, 1, h0, H, wt, W, 1, a, W);
    if (mode == LSTM) lstm_step(B, H, a, c + before * S, c + after * S, extra + t * S, h + after * S);
    else {
      T *h1 = h + after * S;
      if (mode == RNN_TANH) EACH(j, S) h1[j] = TANH(a[j]);
      else EACH(j, S) h1[j] = a[j] != a[j] || a[j] > 0 ? a[j] : 0;
    }
  }
}

/* ---- backward: dh and dc hold the gradients of the states, at last those of the first ones ------------------------ */
static void lstm_back(i64 B, i64 H, const T *a, const T *c0, const T *tc, const T *dy, T *dh, T *dc, T *dg) {
  for (i64 b = 0; b < B; b++) {
    const T *i_ = a + b * 4 * H, *f_ = i_ + H, *g_ = f_ + H, *o_ = g_ + H;
    T *p = dg + b * 4 * H;
    EACH(j, H) {
      i64 k = b * H + j;
      T i = i_[j], f = f_[j], g = g_[j], o = o_[j], u = tc[k];
      T e = dh[k] + (dy ? dy[k] : 0), n = dc[k] + e * o * (1 - u * u);
      p[j] = n * g * (1 - i) * i;
      p[H + j] = n * c0[k] * (1 - f) * f;
      p[2 * H + j] = n * i * (1 - g * g);
      p[3 * H + j] = e * u * (1 - o) * o;
      dc[k] = n * f;
    }
  }
}
static void gru_back(i64 B, i64 H, const T *a, const T *h0, const T *extra, const T *dy, T *dh, T *dg, T *dp) {
  for (i64 b = 0; b < B; b++) {
    const T *r_ = a + b * 3 * H, *z_ = r_ + H, *n_ = z_ + H;
    T *d = dg + b * 3 * H, *p = dp + b * 3 * H;
    EACH(j, H) {
      i64 k = b * H + j;
      T r = r_[j], z = z_[j], n = n_[j], e = dh[k] + (dy ? dy[k] : 0);
      T dz = (h0[k] - n) * e * (1 - z) * z, dn = (1 - z) * e * (1 - n * n), dr = dn * extra[k] * (1 - r) * r;
      d[j] = p[j] = dr;
      d[H + j] = p[H + j] = dz;
      d[2 * H + j] = dn;
      p[2 * H + j] = dn * r;
      dh[k] = e * z;
    }
  }
}
/* `dg` (steps, B, G H) and, of a GRU, `dp` take the gradients of the gates, and of their parts from the state */
void backward(const T *x, const T *wi, const T *wh, const T *dy, const T *gates, const T *h, const T *c, const T *extra,
              T *dg, T *dp, T *dx, T *dh, T *dc, T *dwi, T *dwh, double *sums, i64 steps, i64 B, i64 I, i64 H, i64 mode,
              i64 reverse) {
  const i64 G = mode == LSTM ? 4 : mode == GRU ? 3 : 1, W = G * H, S = B * H, N = steps * B;
  for (i64 s = steps - 1; s >= 0; s--) {
    i64 t = reverse ? steps - 1 - s : s, before = reverse ? t + 1 : t, after = reverse ? t : t + 1;
    T *d = dg + t * B * W, *p = dp + t * B * W;
    const T *a = gates + t * B * W, *y = dy ? dy + t * S : 0;
    if (mode == LSTM) lstm_back(B, H, a, c + before * S, extra + t * S, y, dh, dc, d);
    else if (mode == GRU) gru_back(B, H, a, h + before * S, extra + t * S, y, dh, d, p);
    else {
      const T *v = h + after * S;
      if (mode == RNN_TANH) EACH(j, S) d[j] = (dh[j] + (y ? y[j] : 0)) * (1 - v[j] * v[j]);
      else EACH(j, S) d[j] = (dh[j] + (y ? y[j] : 0)) * (T)(v[j] > 0);
    }
    GEMM(101, PLAIN, PLAIN, B, H, W, 1, p, W, wh, H, mode == GRU ? 1 : 0, dh, H);
  }
  const T *h0 = h + (reverse ? S : 0);
  if (dx) GEMM(101, PLAIN, PLAIN, N, I, W, 1, dg, W, wi, I, 0, dx, I);
  if (dwi) GEMM(101, TURNED, PLAIN, W, I, N, 1, dg, W, x, I, 0, dwi, I);
  GEMM(101, TURNED, PLAIN, W, H, N, 1, dp, W, h0, H, 0, dwh, H);
  for (i64 r = 0; r < N; r++) EACH(j, W) sums[j] += dg[r * W + j];
  if (dp != dg)
    for (i64 r = 0; r < N; r++) EACH(j, W) sums[W + j] += dp[r * W + j];
}
