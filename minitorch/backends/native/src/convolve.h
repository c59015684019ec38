/* Convolution in two dimensions without unfolding: the products of `tile.h` on panels of a few pixels.

   x (N, C, H, W) with zeros around, so that no window leaves it; w (O, K) by groups, K = C / groups * kernel positions;
   out (N, O, P), P = OH * OW. */
#include "tile.h"

typedef struct { i64 N, C, H, W, O, OH, OW, kh, kw, sh, sw, ph, pw, dh, dw, groups; } Shape;   /* H, W: without zeros */

/* The channels of one image with zeros around: (C, H + 2 ph, W + 2 pw). */
static void frame(const Shape *s, i64 channels, const T *x, T *out) {
  i64 wide = s->W + 2 * s->pw, high = s->H + 2 * s->ph;
  memset(out, 0, channels * high * wide * sizeof(T));
  for (i64 c = 0; c < channels; c++)
    for (i64 y = 0; y < s->H; y++)
      memcpy(out + (c * high + y + s->ph) * wide + s->pw, x + (c * s->H + y) * s->W, s->W * sizeof(T));
}
INLINE void run(T *to, const T *from, i64 n, i64 step) {
  if (step == 1) {
    if (n == 32) memcpy(to, from, 32 * sizeof(T));
    else if (n == 16) memcpy(to, from, 16 * sizeof(T));
    else if (n == 8) memcpy(to, from, 8 * sizeof(T));
    else for (i64 i = 0; i < n; i++) to[i] = from[i];
  } else for (i64 i = 0; i < n; i++) to[i] = from[i * step];
}
/* Pixels [p, p + n) of every kernel position and channel: (K, step). */
static void unfold(const Shape *s, i64 channels, const T *image, i64 p, i64 n, T *panel, i64 step) {
  i64 wide = s->W + 2 * s->pw, high = s->H + 2 * s->ph;
  for (i64 at = 0; at < n;) {
    i64 oy = (p + at) / s->OW, ox = (p + at) % s->OW, m = s->OW - ox < n - at ? s->OW - ox : n - at;
    T *to = panel + at;
    for (i64 c = 0; c < channels; c++)
      for (i64 i = 0; i < s->kh; i++) {
        const T *row = image + (c * high + oy * s->sh + i * s->dh) * wide + ox * s->sw;
        for (i64 j = 0; j < s->kw; j++, to += step) run(to, row + j * s->dw, m, s->sw);
      }
    at += m;
  }
}

/* `scratch` of a part: the framed image of a group, a panel of K rows, and a copy of the weight. */
void convolve(i64 part, i64 parts, const Shape *s, const T *x, const T *w, const T *bias, T *out, T *scratch, i64 each) {
  ROWS(s->N * s->groups);
  i64 c = s->C / s->groups, o = s->O / s->groups, K = c * s->kh * s->kw, P = s->OH * s->OW;
  T *image = scratch + part * each, *panel = image + c * (s->H + 2 * s->ph) * (s->W + 2 * s->pw);
  T *left = panel + K * PANEL;
  for (i64 r = first; r < last; r++) {
    i64 g = r % s->groups;
    if (s->groups > 1 || r == first) copy_left(o, K, w + g * o * K, K, 1, left);
    T *y = out + r * o * P;
    frame(s, c, x + r * c * s->H * s->W, image);
    for (i64 p = 0; p < P; p += PANEL) {
      i64 n = P - p < PANEL ? P - p : PANEL;
      unfold(s, c, image, p, n, panel, PANEL);
      copied_product(o, K, left, panel, y + p, P, n);
      if (bias) for (i64 i = 0; i < o; i++) {
        T b = bias[g * o + i], *q = y + i * P + p;
        for (i64 j = 0; j < n; j++) q[j] += b;
      }
    }
  }
}
