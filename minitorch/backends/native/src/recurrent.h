/* LSTM, GRU and plain RNN over a whole sequence, forward and backward.

   T time steps (here `steps`), B batch, I input size, H hidden size, G gates. Gates lie as (steps, B, G H); states `h`
   and `c` as (steps + 1, B, H), the one before a step at `before`, the one after it at `after`: in the order of time,
   in which a layer that goes backwards begins at the end. `extra` (steps, B, H) is tanh(c) of an LSTM, and the part of n
   that comes from the state of a GRU. Formulas: ops/nn/recurrent.py. */
#include "turn.h"

#define ROWS 48                             /* of the input at a time, at least */
#define MANY 128                            /* of the gates' gradients at a time, at most, or those of one step */
enum { LSTM, GRU, RNN_TANH, RNN_RELU };

/* ---- forward: gates in place, to which biases are added ---------------------------------------------------------- */
static void lstm_step(i64 B, i64 H, T *a, const T *bias, const T *c0, T *c1, T *tc, T *h1) {
  const T *bi = bias, *bf = bi + H, *bg = bf + H, *bo = bg + H;
  for (i64 b = 0; b < B; b++) {
    T *i_ = a + b * 4 * H, *f_ = i_ + H, *g_ = f_ + H, *o_ = g_ + H;
    const T *c = c0 + b * H;
    T *d = c1 + b * H, *t = tc + b * H, *h = h1 + b * H;
    EACH(j, H) {
      T i = SIGMOID(i_[j] + bi[j]), f = SIGMOID(f_[j] + bf[j]), g = TANH(g_[j] + bg[j]), o = SIGMOID(o_[j] + bo[j]);
      T n = f * c[j] + i * g, u = TANH(n);
      i_[j] = i; f_[j] = f; g_[j] = g; o_[j] = o; d[j] = n; t[j] = u; h[j] = o * u;
    }
  }
}
static void gru_step(i64 B, i64 H, T *a, const T *bias, const T *part, const T *bn, const T *h0, T *h1, T *extra) {
  for (i64 b = 0; b < B; b++) {
    T *r_ = a + b * 3 * H, *z_ = r_ + H, *n_ = z_ + H, *e = extra + b * H, *h = h1 + b * H;
    const T *p = part + b * 3 * H, *o = h0 + b * H;
    EACH(j, H) {
      T r = SIGMOID(r_[j] + p[j] + bias[j]), z = SIGMOID(z_[j] + p[H + j] + bias[H + j]);
      T s = p[2 * H + j] + (bn ? bn[j] : 0), n = TANH(n_[j] + bias[2 * H + j] + r * s);
      r_[j] = r; z_[j] = z; n_[j] = n; e[j] = s; h[j] = n + z * (o[j] - n);
    }
  }
}

/* The part of the gates that comes from the input is computed just before the steps that use it, for enough rows. */
void forward(const T *x, const T *wi, const T *wh, const T *bias, const T *bn, T *gates, T *h, T *c, T *extra,
             T *scratch, i64 steps, i64 B, i64 I, i64 H, i64 mode, i64 reverse) {
  const i64 G = mode == LSTM ? 4 : mode == GRU ? 3 : 1, W = G * H, S = B * H, many = B < ROWS ? -(-ROWS / B) : 1;
  T *of_input = scratch, *panels = of_input + (W + PANEL) * I, *part = panels + (W + PANEL) * H;
  pack(I, W, wi, I, 1, of_input);                          /* once for all steps */
  pack(H, W, wh, H, 1, panels);
  for (i64 s = 0; s < steps; s++) {
    i64 t = reverse ? steps - 1 - s : s, before = reverse ? t + 1 : t, after = reverse ? t : t + 1;
    if (s % many == 0) {
      i64 n = steps - s < many ? steps - s : many, from = (reverse ? t - n + 1 : t) * B;
      packed_product(n * B, W, I, x + from * I, I, 1, of_input, gates + from * W, W, 0);
    }
    T *a = gates + t * B * W;
    const T *h0 = h + before * S;
    if (mode == GRU) {
      packed_product(B, W, H, h0, H, 1, panels, part, W, 0);
      gru_step(B, H, a, bias, part, bn, h0, h + after * S, extra + t * S);
      continue;
    }
    packed_product(B, W, H, h0, H, 1, panels, a, W, 1);
    if (mode == LSTM) lstm_step(B, H, a, bias, c + before * S, c + after * S, extra + t * S, h + after * S);
    else
      for (i64 b = 0; b < B; b++) {
        T *h1 = h + after * S + b * H, *v = a + b * H;
        if (mode == RNN_TANH) EACH(j, H) h1[j] = TANH(v[j] + bias[j]);
        else EACH(j, H) {
          T y = v[j] + bias[j];
          h1[j] = y != y || y > 0 ? y : 0;
        }
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
/* Gradients of weights, transposed: rows from `from` to `to` of the gates' gradients, as panels, with those of the input
   and of the state before. */
static void weigh(i64 from, i64 to, i64 W, i64 I, i64 H, const T *x, const T *h0, const T *dg, const T *dp, T *turned_i,
                  T *turned_h, T *panels, int add, double *sums) {
  const i64 n = to - from;
  if (turned_i || dp == dg) pack(n, W, dg + from * W, W, 0, panels);
  if (turned_i) packed_product(I, W, n, x + from * I, 1, I, panels, turned_i, W, add);
  if (dp != dg) pack(n, W, dp + from * W, W, 0, panels);
  packed_product(H, W, n, h0 + from * H, 1, H, panels, turned_h, W, add);
  for (i64 r = from; r < to; r++) EACH(j, W) sums[j] += dg[r * W + j];
  if (dp != dg)
    for (i64 r = from; r < to; r++) EACH(j, W) sums[W + j] += dp[r * W + j];
}
/* `dg` (steps, B, G H) and, of a GRU, `dp` take the gradients of the gates, and of their parts from the state */
void backward(const T *x, const T *wi, const T *wh, const T *dy, const T *gates, const T *h, const T *c, const T *extra,
              T *dg, T *dp, T *dx, T *dh, T *dc, T *dwi, T *dwh, T *scratch, double *sums,
              i64 steps, i64 B, i64 I, i64 H, i64 mode, i64 reverse) {
  const i64 G = mode == LSTM ? 4 : mode == GRU ? 3 : 1, W = G * H, S = B * H, N = steps * B;
  T *states = scratch, *panels = states + (H + PANEL) * W, *turned_h = panels + (W + PANEL) * (B > MANY ? B : MANY);
  T *of_input = turned_h + H * W, *turned_i = dwi ? of_input + (I + PANEL) * W : 0;
  const T *h0 = h + (reverse ? S : 0);
  i64 from = reverse ? 0 : N, to = from;                   /* rows whose part in the weights' gradients is to be added */
  pack(W, H, wh, H, 0, states);
  if (dx) pack(W, I, wi, I, 0, of_input);
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
    packed_product(B, H, W, p, W, 1, states, dh, H, mode == GRU);
    if (reverse) to += B;
    else from -= B;
    if (!s || to - from + B > MANY) {                      /* while they are in the cache */
      if (dx) packed_product(to - from, I, W, dg + from * W, W, 1, of_input, dx + from * I, I, 0);
      weigh(from, to, W, I, H, x, h0, dg, dp, turned_i, turned_h, panels, from > 0 && reverse || to < N && !reverse, sums);
      from = to = reverse ? to : from;
    }
  }
  if (dwi) turn(turned_i, W, dwi, I, I, W);
  turn(turned_h, W, dwh, H, H, W);
}
