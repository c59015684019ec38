/* Pooling of planes (H, W), forward and backward: kernel, stride, padding and dilation (h, w) in `how`; `spans` has, for
   each row of windows, which rows of places lie inside, [from, to), and then, for each column, its first place inside.

   Windows are taken UNIT at a time, on copies of rows that go on for `wide` numbers, so that none is cut off. */
#include "typed.h"

#define WINDOWS i64 kh = how[0], kw = how[1], sh = how[2], sw = how[3], ph = how[4], pw = how[5], dh = how[6], dw = how[7]
#define PLACES i64 top = spans[2 * oy], end = spans[2 * oy + 1]
#define UNIT 16
#define LONG 512                            /* numbers of a row that are worked on at a time */
#define LATER(v, top) ((v) > (top) | (v) != (v))           /* a maximum: the first one, or the last NaN */
#define LARGER(top, v) (LATER(v, top) ? (v) : (top))

/* A loop over windows, compiled apart for strides of 1 and 2, in which S is known. */
#define STRIDED(s, LOOP)                                                                                              \
  if (s == 1) { enum { S = 1 }; LOOP } else if (s == 2) { enum { S = 2 }; LOOP } else { const i64 S = s; LOOP }
#define SIMD(q, from, to) _Pragma("omp simd") for (i64 q = (from); q < (to); q++)

/* ---- windows of two that cover a row, or two by two that cover a plane: without a branch, all of dx is written ------ */
static void halve(const T *restrict x, i64 n, T *restrict top, BITS *restrict second) {
  SIMD(i, 0, n) {
    T a = x[2 * i], b = x[2 * i + 1];
    BITS m = -(BITS)LATER(b, a);
    second[i] = m;
    top[i] = m ? b : a;
  }
}
static void spread(const BITS *restrict g, const BITS *restrict second, i64 n, BITS *restrict dx) {
  SIMD(i, 0, n) {
    BITS here = g[i], m = second[i];
    dx[2 * i] = here & ~m;
    dx[2 * i + 1] = here & m;
  }
}
/* Some whole pairs of rows at a time, or a part of one pair. */
static void pairs_backward(const T *g, const T *x, T *dx, i64 OH, i64 OW, int two) {
  T top[2 * LONG];
  BITS second[2 * LONG], parts[2 * LONG];
  i64 wide = OW < LONG ? OW : LONG, rows = wide == OW ? LONG / OW : 1;
  for (i64 y = 0; y < OH; y += rows) {
    if (rows > OH - y) rows = OH - y;
    for (i64 q = 0; q < OW; q += wide) {
      const i64 n = OW - q < wide ? OW - q : wide, m = rows * n, high = two ? 2 : 1, joined = n == OW;
      const i64 at = 2 * (y * high * OW + q), runs = joined ? 1 : high, each = joined ? m * high : m;
      for (i64 r = 0; r < runs; r++) halve(x + at + r * 2 * OW, each, top + r * n, second + r * n);
      const BITS *from = (const BITS *)(g + y * OW + q);
      if (two)
        for (i64 r = 0; r < rows; r++) {
          const BITS *here = from + r * OW;
          const T *a = top + r * 2 * n, *b = a + n;
          BITS *p = parts + r * 2 * n;
          SIMD(i, 0, n) {
            BITS below = -(BITS)LATER(b[i], a[i]);
            p[i] = here[i] & ~below;
            p[n + i] = here[i] & below;
          }
        }
      for (i64 r = 0; r < runs; r++) spread(two ? parts + r * n : from, second + r * n, each, (BITS *)dx + at + r * 2 * OW);
    }
  }
}

static void pairs_forward(const T *x, T *out, i64 OH, i64 OW, int two) {
  T top[2 * LONG];
  i64 wide = OW < LONG ? OW : LONG, rows = wide == OW ? LONG / OW : 1;
  for (i64 y = 0; y < OH; y += rows) {
    if (rows > OH - y) rows = OH - y;
    for (i64 q = 0; q < OW; q += wide) {
      const i64 n = OW - q < wide ? OW - q : wide, m = rows * n, joined = n == OW;
      T *o = out + y * OW + q, *to = two ? top : o;
      const T *a = x + 2 * (y * (two ? 2 : 1) * OW + q);
      SIMD(i, 0, two && joined ? 2 * m : m) to[i] = LARGER(a[2 * i], a[2 * i + 1]);
      if (!two) continue;
      if (!joined) SIMD(i, 0, m) top[n + i] = LARGER(a[2 * OW + 2 * i], a[2 * OW + 2 * i + 1]);
      for (i64 r = 0; r < rows; r++) SIMD(i, 0, n) o[r * OW + i] = LARGER(top[2 * r * n + i], top[(2 * r + 1) * n + i]);
    }
  }
}

/* ---- maxima --------------------------------------------------------------------------------------------------------- */
void max_pool(i64 part, i64 parts, const T *x, T *out, i64 planes, i64 H, i64 W, i64 OH, i64 OW, const i64 *how,
              const i64 *spans, i64 wide, T *rows, i64 each, i64 pairs) {
  ROWS(planes);
  WINDOWS;
  T *row = rows + part * each, *inner = row + pw;          /* the maximum of the rows of a window */
  for (i64 i = 0; i < wide && !pairs; i++) row[i] = -INFINITY;
  for (i64 p = first; p < last; p++) {
    if (pairs) { pairs_forward(x + p * H * W, out + p * OH * OW, OH, OW, kh == 2); continue; }
    for (i64 oy = 0; oy < OH; oy++) {
      PLACES;
      const T *a = x + p * H * W + (oy * sh - ph + top * dh) * W;
      if (end - top == 1) memcpy(inner, a, W * sizeof(T));
      else SIMD(i, 0, W) inner[i] = LARGER(a[i], a[dh * W + i]);
      for (i64 k = top + 2; k < end; k++) {
        const T *b = a + (k - top) * dh * W;
        SIMD(i, 0, W) inner[i] = LARGER(inner[i], b[i]);
      }
      for (i64 b = 0; b < OW; b += UNIT) {
        T most[UNIT];
        for (int q = 0; q < UNIT; q++) most[q] = -INFINITY;
        for (i64 j = 0; j < kw; j++) {
          const T *v = row + b * sw + j * dw;
          STRIDED(sw, SIMD(q, 0, UNIT) most[q] = LARGER(most[q], v[q * S]);)
        }
        memcpy(out + (p * OH + oy) * OW + b, most, (OW - b < UNIT ? OW - b : UNIT) * sizeof(T));
      }
    }
  }
}
/* To the first maximum of each window, or to its last NaN. dx is zeros, unless windows are pairs that cover it. */
void max_pool_backward(i64 part, i64 parts, const T *g, const T *x, T *dx, i64 planes, i64 H, i64 W, i64 OH, i64 OW,
                       const i64 *how, const i64 *spans, i64 wide, T *rows, i64 each, i64 pairs) {
  ROWS(planes);
  WINDOWS;
  const i64 *firsts = spans + 2 * OH;
  T *frame = rows + part * each;
  for (i64 i = 0; i < H * wide && !pairs; i++) frame[i] = -INFINITY;
  for (i64 p = first; p < last; p++) {
    const T *plane = x + p * H * W;
    T *into = dx + p * H * W;
    if (pairs) { pairs_backward(g + p * OH * OW, plane, into, OH, OW, kh == 2); continue; }
    for (i64 y = 0; y < H; y++) memcpy(frame + y * wide + pw, plane + y * W, W * sizeof(T));
    for (i64 oy = 0; oy < OH; oy++) {
      PLACES;
      for (i64 b = 0; b < OW; b += UNIT) {
        const i64 n = OW - b < UNIT ? OW - b : UNIT, y0 = oy * sh - ph, x0 = b * sw - pw;
        T most[UNIT];
        BITS best[UNIT] = {0};                             /* where it stands: an offset from the window's first place */
        for (int q = 0; q < UNIT; q++) most[q] = -INFINITY;
        for (i64 q = 0; q < n; q++) best[q] = top * dh * W + firsts[b + q] * dw;
        for (i64 i = top; i < end; i++)
          for (i64 j = 0; j < kw; j++) {
            const T *a = frame + (y0 + i * dh) * wide + b * sw + j * dw;
            const BITS place = i * dh * W + j * dw;
            STRIDED(sw, SIMD(q, 0, UNIT) {
              T v = a[q * S];
              BITS m = -(BITS)LATER(v, most[q]);
              most[q] = m ? v : most[q];
              best[q] = m ? place : best[q];
            })
          }
        const T *e = g + (p * OH + oy) * OW + b;
        for (i64 q = 0; q < n; q++) into[y0 * W + x0 + q * sw + best[q]] += e[q];
      }
    }
  }
}

/* ---- means: windows' sums by `divisor`, or by `sizes` (OH, OW) -------------------------------------------------------- */
void avg_pool(i64 part, i64 parts, const T *x, T *out, i64 planes, i64 H, i64 W, i64 OH, i64 OW, const i64 *how,
              const i64 *spans, i64 wide, T *rows, i64 each, const T *sizes, double divisor) {
  ROWS(planes);
  WINDOWS;
  T *row = rows + part * each, *inner = row + pw;
  memset(row, 0, wide * sizeof(T));
  for (i64 p = first; p < last; p++)
    for (i64 oy = 0; oy < OH; oy++) {
      PLACES;
      const T *a = x + p * H * W + (oy * sh - ph + top * dh) * W;
      if (end - top > 1) EACH(i, W) inner[i] = a[i] + a[dh * W + i];
      else if (end > top) memcpy(inner, a, W * sizeof(T));
      else memset(inner, 0, W * sizeof(T));
      for (i64 k = top + 2; k < end; k++) EACH(i, W) inner[i] += a[(k - top) * dh * W + i];
      for (i64 b = 0; b < OW; b += UNIT) {
        const i64 n = OW - b < UNIT ? OW - b : UNIT;
        T sum[UNIT] = {0}, by[UNIT];
        for (int q = 0; q < UNIT; q++) by[q] = (T)divisor;
        if (sizes) memcpy(by, sizes + oy * OW + b, n * sizeof(T));
        for (i64 j = 0; j < kw; j++) {
          const T *v = row + b * sw + j * dw;
          STRIDED(sw, SIMD(q, 0, UNIT) sum[q] += v[q * S];)
        }
        SIMD(q, 0, UNIT) sum[q] /= by[q];
        memcpy(out + (p * OH + oy) * OW + b, sum, n * sizeof(T));
      }
    }
}
/* dx is zeros. */
void avg_pool_backward(i64 part, i64 parts, const T *g, T *dx, i64 planes, i64 H, i64 W, i64 OH, i64 OW, const i64 *how,
                       const i64 *spans, i64 wide, T *rows, i64 each, const T *sizes, double divisor) {
  ROWS(planes);
  WINDOWS;
  T *row = rows + part * each;
  for (i64 p = first; p < last; p++)
    for (i64 oy = 0; oy < OH; oy++) {
      const T *e = g + (p * OH + oy) * OW;
      memset(row, 0, wide * sizeof(T));
      for (i64 b = 0; b < OW; b += UNIT) {
        const i64 n = OW - b < UNIT ? OW - b : UNIT;
        T each_[UNIT] = {0};
        if (sizes) for (i64 q = 0; q < n; q++) each_[q] = e[b + q] / sizes[oy * OW + b + q];
        else for (i64 q = 0; q < n; q++) each_[q] = e[b + q] / (T)divisor;
        for (i64 j = 0; j < kw; j++) {
          T *v = row + b * sw + j * dw;
          STRIDED(sw, SIMD(q, 0, UNIT) v[q * S] += each_[q];)
        }
      }
      PLACES;
      T *o = dx + p * H * W + (oy * sh - ph) * W;
      for (i64 k = top; k < end; k++) EACH(i, W) o[k * dh * W + i] += row[pw + i];
    }
}
