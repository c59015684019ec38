/* Convolution and its gradients without unfolding: products whose left matrix is read where it lies.

   Its element (r, k) is x[at[r] + off[k]]: pixel r under place k of a window (forward, and the gradient of the input), or
   place r under pixel k (the gradient of the weight). The right matrix has outputs side by side, `lanes` of them a panel.
   Stride, dilation and the number of dimensions are in the tables that the caller makes; images have zeros around, so
   that no window leaves them. */
#include "turn.h"

#if defined(__AVX512F__)
#define STEP 4                              /* rows of a tile: a multiple of STEP / (vectors of a panel) */
#define MOST 7
#else
#define STEP 2
#define MOST 6
#endif
#define STRIP 96                            /* rows whose sums lie in the cache until they are written out */
#define STRETCH 512                         /* products that are added up in one go */

typedef struct {
  i64 N, groups, C, O;                      /* images; groups; channels of x and of the result, of one group */
  i64 rows, W, step;                        /* rows of a channel, their length; elements of a channel with zeros around */
  i64 P, phases;                            /* pixels of the result; phases */
  i64 of_lane, of_group, of_channel, places;               /* distances in the weight; places of the kernel */
} Shape;
typedef struct { i64 rows, taps, row, tap; } Phase;       /* how many pixels and places, and where their tables begin */

INLINE void gather(const int R, const int B, i64 K, const T *x, const i64 *at, const i64 *off, const T *w, const i64 *order,
                   T *sums, int add) {
  V s[MOST * STEP], u[2];
#pragma GCC unroll 32
  for (int i = 0; i < R * B; i++) s[i] = add ? *(const V *)(sums + i * WIDE) : (V){0};
  for (i64 k = 0; k < K; k++) {
    const T *q = x + off[k], *m = w + (order ? order[k] : k) * B * WIDE;
#pragma GCC unroll 4
    for (int b = 0; b < B; b++) u[b] = *(const V *)(m + b * WIDE);
#pragma GCC unroll 32
    for (int r = 0; r < R; r++) {
      T v = q[at[r]];
#pragma GCC unroll 4
      for (int b = 0; b < B; b++) s[r * B + b] += v * u[b];
    }
  }
#pragma GCC unroll 32
  for (int i = 0; i < R * B; i++) *(V *)(sums + i * WIDE) = s[i];
}
#define GATHER(I, B)                                                                                                  \
  static SEPARATE void gather_##I##_##B(i64 K, const T *x, const i64 *at, const i64 *off, const T *w,                 \
                                        const i64 *order, T *sums, int add) {                                         \
    gather(I * STEP / B, B, K, x, at, off, w, order, sums, add);                                                      \
  }
#define GATHERS(B) GATHER(1, B) GATHER(2, B) GATHER(3, B) GATHER(4, B) GATHER(5, B) GATHER(6, B) GATHER(7, B)
GATHERS(1) GATHERS(2)
#define NAMES(B) {gather_1_##B, gather_2_##B, gather_3_##B, gather_4_##B, gather_5_##B, gather_6_##B, gather_7_##B}
typedef void (*gather_t)(i64, const T *, const i64 *, const i64 *, const T *, const i64 *, T *, int);
static const gather_t GATHERERS[2][7] = {NAMES(1), NAMES(2)};

/* sums (rows, B vectors) = or += the product over K. Whole tiles: `at` and `sums` go on for another STEP rows. The rows of
   w are taken in the order of `order`, if there is one. */
static void gathered(i64 rows, i64 K, const T *x, const i64 *at, const i64 *off, const T *w, const i64 *order, i64 B, T *sums,
                     int add) {
  const i64 unit = STEP / B, units = (rows + unit - 1) / unit, count = (units + MOST - 1) / MOST;
  for (i64 i = 0; i < count; i++) {
    i64 from = units * i / count, n = units * (i + 1) / count - from;
    GATHERERS[B - 1][n - 1](K, x, at + from * unit, off, w, order, sums + from * unit * B * WIDE, add);
  }
}
/* Outputs lie side by side in panels of two vectors, the last of one if that is enough. */
#define PANELS(O) for (i64 o = 0, B; o < (O) && (B = (O) - o > WIDE ? 2 : 1); o += 2 * WIDE)

/* The channels of one image of a group with zeros around. `starts`: where each row of a channel goes. */
static const T *framed(const Shape *s, const i64 *starts, const T *x, T *image) {
  if (!starts) return x;
  memset(image, 0, s->C * s->step * sizeof(T));
  for (i64 c = 0; c < s->C; c++, image += s->step)
    for (i64 r = 0; r < s->rows; r++, x += s->W) memcpy(image + starts[r], x, s->W * sizeof(T));
  return image - s->C * s->step;
}

/* out[to[p]] = bias + sum over k of w[from[k]] x[at[p] + off[k]], for the pixels and places of each phase. Pixels of
   `images` at a time go side by side; of more than one, none has zeros around.

   `scratch` of a part: an image with zeros around, all weights in panels, and the sums of a strip; `spots` has room for
   two tables of `room` entries, of pixels that go side by side. */
void convolve(i64 part, i64 parts, const Shape *s, const Phase *phases, const i64 *starts, const i64 *at, const i64 *to,
              const i64 *off, const i64 *from, const T *x, const T *w, const T *bias, T *out, T *scratch, i64 each,
              i64 *spots, i64 room, i64 images) {
  const i64 blocks = (s->N + images - 1) / images, image_size = s->groups * s->C * s->rows * s->W;
  ROWS(s->groups * blocks);
  T *image = scratch + part * each, *sums = image + (starts ? s->C * s->step : 0);
  T *packed = sums + (STRIP + STEP) * 2 * WIDE;
  for (i64 r = first; r < last; r++) {
    const i64 g = r / blocks, n0 = r % blocks * images, count = s->N - n0 < images ? s->N - n0 : images;
    const T *here = framed(s, starts, x + n0 * image_size + g * s->C * s->rows * s->W, image);
    const i64 weights = s->C * s->places;
    if (r == first || n0 == 0)
      PANELS(s->O) {
        const i64 lanes = B * WIDE, n = s->O - o < lanes ? s->O - o : lanes;
        T *panel = packed + o * weights;
        for (i64 k = 0; k < weights; k++, panel += lanes) {
          const T *v = w + g * s->of_group + o * s->of_lane + k / s->places * s->of_channel + k % s->places;
          for (i64 i = 0; i < n; i++) panel[i] = v[i * s->of_lane];
          for (i64 i = n; i < lanes; i++) panel[i] = 0;
        }
      }
    T *result = out + (n0 * s->groups + g) * s->O * s->P;
    for (const Phase *f = phases; f < phases + s->phases; f++) {
      const i64 *rows = at + f->row, *into = to ? to + f->row : 0, *taps = off + f->tap, K = f->taps, all = count * f->rows;
      if (images > 1) {
        i64 *here_at = spots + 2 * part * room, *here_to = here_at + room, e = 0;
        for (i64 i = 0; i < count; i++)
          for (i64 p = 0; p < f->rows; p++, e++) {
            here_at[e] = i * image_size + rows[p];
            here_to[e] = i * s->groups * s->O * s->P + into[p];
          }
        for (i64 i = 0; i < STEP; i++) here_at[e + i] = here_at[e - 1];
        rows = here_at; into = here_to;
      }
      PANELS(s->O) {
        const i64 lanes = B * WIDE, n = s->O - o < lanes ? s->O - o : lanes;
        for (i64 p = 0; p < all; p += STRIP) {
          const i64 m = all - p < STRIP ? all - p : STRIP;
          if (!K) memset(sums, 0, m * lanes * sizeof(T));
          for (i64 k = 0; k < K; k += STRETCH)
            gathered(m, K - k < STRETCH ? K - k : STRETCH, here, rows + p, taps + k, packed + o * weights,
                     from + f->tap + k, B, sums, k > 0);
          if (bias)
            for (i64 i = 0; i < m; i++) EACH(j, n) sums[i * lanes + j] += bias[g * s->O + o + j];
          if (!into) turn(sums, lanes, result + o * s->P + p, s->P, m, n);
          else
            for (i64 j = 0; j < n; j++)
              for (i64 i = 0; i < m; i++) result[(o + j) * s->P + into[p + i]] = sums[i * lanes + j];
        }
      }
    }
  }
}

/* For each group and panel sums (K, lanes) of a part, += over images and pixels of x[off[k] + at[p]] g[p]. */
void weigh(i64 part, i64 parts, const Shape *s, const i64 *starts, const i64 *at, const i64 *off, const T *x, const T *g,
           T *sums, T *scratch, i64 K, i64 size, i64 each) {
  ROWS(s->groups * s->N);
  T *image = scratch + part * each, *turned = image + (starts ? s->C * s->step : 0);
  const i64 P = s->P;
  for (i64 r = first; r < last; r++) {
    const i64 group = r / s->N, place = r % s->N * s->groups + group;
    const T *here = framed(s, starts, x + place * s->C * s->rows * s->W, image), *from = g + place * s->O * P;
    T *total = sums + (part * s->groups + group) * size;
    PANELS(s->O) {
      const i64 lanes = B * WIDE, n = s->O - o < lanes ? s->O - o : lanes;
      for (i64 p = 0; p < P; p += STRETCH) {
        const i64 m = P - p < STRETCH ? P - p : STRETCH;
        if (n < lanes) memset(turned, 0, m * lanes * sizeof(T));
        turn(from + o * P + p, P, turned, lanes, n, m);
        gathered(K, m, here, off, at + p, turned, 0, B, total, 1);
      }
      total += (K + STEP) * lanes;
    }
  }
}
/* The weight's gradient (groups O, K) from the sums of all parts. */
void weighed(const Shape *s, T *sums, T *out, i64 K, i64 size, i64 parts) {
  for (i64 i = 1; i < parts; i++) EACH(j, s->groups * size) sums[j] += sums[i * s->groups * size + j];
  for (i64 g = 0; g < s->groups; g++) {
    T *total = sums + g * size;
    PANELS(s->O) {
      const i64 lanes = B * WIDE, n = s->O - o < lanes ? s->O - o : lanes;
      turn(total, lanes, out + (g * s->O + o) * K, K, K, n);
      total += (K + STEP) * lanes;
    }
  }
}
