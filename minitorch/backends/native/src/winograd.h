/* Convolution with 3x3 kernels by Winograd's minimal filtering, F(4x4, 3x3), and both gradients.

   Formulas, points and letters are those of backends/cpu/convolution/winograd.py. Channels lie side by side here: images
   are turned to (pixels, channels), and a tile, one vector of channels at a time, is transformed in registers. Tiles find
   their pixels by tables; pixel P of an image is zeros, or one that nobody reads. */
#include "convolve.h"

#define A1 ((T)(2.0 / 3))                   /* the points are 0, A1, -A1, B1, -B1 and infinity; A1 B1 = 1 */
#define B1 ((T)1.5)
#define A2 (A1 * A1)
#define B2 (B1 * B1)
#define SUM2 (A2 + B2)
#define UP(n) (((n) + WIDE - 1) / WIDE * WIDE)
#define POINTS 36

/* N images; C channels of x and O of the result; pixels and tiles of an image */
typedef struct { i64 N, C, O, from, to, tiles, of_lane, of_depth, flip; } Sizes;

/* ---- one dimension of each transform: rows at v[0], v[s] ... ----------------------------------------------------- */
INLINE void input_6(const V *v, const int s, V *r, const int t) {
  V e = v[4 * s] - B2 * v[2 * s], o = A1 * v[3 * s] - B1 * v[s];
  V f = v[4 * s] - A2 * v[2 * s], p = B1 * v[3 * s] - A1 * v[s];
  r[0] = v[0] - SUM2 * v[2 * s] + v[4 * s];
  r[t] = e + o; r[2 * t] = e - o; r[3 * t] = f + p; r[4 * t] = f - p;
  r[5 * t] = v[s] - SUM2 * v[3 * s] + v[5 * s];
}
INLINE void output_4(const V *v, const int s, V *r, const int t) {
  V e = v[s] + v[2 * s], o = v[s] - v[2 * s], f = v[3 * s] + v[4 * s], p = v[3 * s] - v[4 * s];
  r[0] = v[0] + e + f;
  r[t] = A1 * o + B1 * p;
  r[2 * t] = A2 * e + B2 * f;
  r[3 * t] = A1 * A2 * o + B1 * B2 * p + v[5 * s];
}
INLINE void gradient_6(const V *v, const int s, V *r, const int t) {
  V e = v[0] + A2 * v[2 * s], o = A1 * v[s] + A1 * A2 * v[3 * s];
  V f = v[0] + B2 * v[2 * s], p = B1 * v[s] + B1 * B2 * v[3 * s];
  r[0] = v[0]; r[t] = e + o; r[2 * t] = e - o; r[3 * t] = f + p; r[4 * t] = f - p; r[5 * t] = v[3 * s];
}
#define AT_A ((T)1 / (2 * A2 * (A2 - B2)))
#define AT_B ((T)1 / (2 * B2 * (B2 - A2)))
INLINE void weight_6(const V *v, const int s, V *r, const int t) {
  V e = AT_A * v[0] + AT_A * A2 * v[2 * s], o = AT_A * A1 * v[s], f = AT_B * v[0] + AT_B * B2 * v[2 * s], p = AT_B * B1 * v[s];
  r[0] = v[0]; r[t] = e + o; r[2 * t] = e - o; r[3 * t] = f + p; r[4 * t] = f - p; r[5 * t] = v[2 * s];
}
INLINE void weight_3(const V *v, const int s, V *r, const int t) {
  V e = AT_A * (v[s] + v[2 * s]), f = AT_B * (v[3 * s] + v[4 * s]);
  r[0] = v[0] + e + f;
  r[t] = AT_A * A1 * (v[s] - v[2 * s]) + AT_B * B1 * (v[3 * s] - v[4 * s]);
  r[2 * t] = A2 * e + B2 * f + v[5 * s];
}
/* Both dimensions, (m, m) to (n, n), by way of (n, m). */
#define BOTH(NAME, ONE, m, n)                                                                                         \
  INLINE void NAME(const V *v, V *r) {                                                                                \
    V half[36];                                                                                                       \
    _Pragma("GCC unroll 6") for (int i = 0; i < m; i++) ONE(v + i, m, half + i, m);                                   \
    _Pragma("GCC unroll 6") for (int i = 0; i < n; i++) ONE(half + i * m, 1, r + i * n, 1);                           \
  }
BOTH(input_tile, input_6, 6, 6)
BOTH(output_tile, output_4, 6, 4)
BOTH(gradient_tile, gradient_6, 4, 6)
BOTH(weight_points, weight_6, 3, 6)
BOTH(weight_places, weight_3, 6, 3)

/* ---- numbers that may be mixed: see backends/cpu/convolution/level.py ---------------------------------------------- */
/* `top`: the largest magnitude of x (channels, n); to `sums`, or 0, those of the channels are added */
static SEPARATE int is_level(const T *x, i64 channels, i64 n, double most, T *top, T *sums) {
  double all = 0;
  T most_of_all = 0;
  for (i64 c = 0; c < channels; c++, x += n) {
    SUM(total, n, FABS(x[i]))                              /* passes NaN on */
    T large = 0;
    _Pragma("omp simd reduction(max:large)")
    for (i64 i = 0; i < n; i++) large = FABS(x[i]) > large ? FABS(x[i]) : large;
    if (large > most_of_all) most_of_all = large;
    if (sums) sums[c] += total;
    all += total;
  }
  *top = most_of_all;
  return most_of_all <= all * 256 / (channels * n) && most_of_all <= most;
}
/* Whether all rows (n, width) are level: into `found`. */
void level(i64 part, i64 parts, const T *x, i64 n, i64 width, double most, i64 *found) {
  T top;
  *found = 1;
  for (i64 i = 0; i < n && *found; i++) *found = is_level(x + i * width, 1, width, most, &top, 0);
}

/* ---- results too small for tiles: see backends/cpu/convolution/small.py ------------------------ */
#define FOUR_U ((T)(IS_DOUBLE ? 0x1p-51 : 0x1p-22))
#define FEW(n) ((n) / 256)                  /* so many may be summed by themselves */
typedef BITS Mask __attribute__((vector_size(VEC)));
INLINE int any(Mask m) {
  int found = 0;
  for (i64 l = 0; l < WIDE; l++) found |= m[l] != 0;
  return found;
}

/* The plain sums of those of 16 vectors of results that are within `limit`; how many they were. */
static SEPARATE i64 settle(const Sizes *s, const T *x, const T *w, const i64 *pixels, const i64 *to,
                           V limit, V *r) {
  i64 found = 0;
  for (int k = 0; k < 16; k++)
    for (i64 l = 0; l < WIDE; l++) {
      if (r[k][l] == 0 || FABS(r[k][l]) > limit[l] || to[k] == s->to) continue;
      double total = 0;
      for (int t = 0; t < 9; t++) {
        const i64 pixel = pixels[(k / 4 + t / 3) * 6 + k % 4 + t % 3];
        const T *of = w + l * s->of_lane + (s->flip ? 8 - t : t);
        if (pixel < s->from)
          for (i64 c = 0; c < s->C; c++)
            total += (double)x[c * s->from + pixel] * of[c * s->of_depth];
      }
      r[k][l] = total;
      found++;
    }
  return found;
}

/* ---- weights at the points: (36, panels, C, lanes); and the error of each output, for images up to 1 ----------------- */
void at_points(const Sizes *s, const T *w, T *points, T *errors) {
  memset(errors, 0, UP(s->O) * sizeof(T));
  PANELS(s->O) {
    const i64 lanes = B * WIDE, n = s->O - o < lanes ? s->O - o : lanes;
    for (i64 c = 0; c < s->C; c++)
      for (i64 l = 0; l < lanes; l += WIDE) {
        T few[9 * WIDE];
        V v[9], r[POINTS];
        memset(few, 0, sizeof(few));
        for (i64 i = 0; i < WIDE && l + i < n; i++) {
          const T *from = w + (o + l + i) * s->of_lane + c * s->of_depth;
          for (int t = 0; t < 9; t++) few[t * WIDE + i] = from[s->flip ? 8 - t : t];
        }
        for (int t = 0; t < 9; t++) {
          v[t] = *(V *)(few + t * WIDE);
          EACH(i, WIDE) errors[o + l + i] += FOUR_U * FABS(few[t * WIDE + i]);
        }
        weight_points(v, r);
        for (int p = 0; p < POINTS; p++) *(V *)(points + (p * UP(s->O) + o) * s->C + c * lanes + l) = r[p];
      }
  }
}

/* ---- blocks of tiles ------------------------------------------------------------------------------------------------ */
/* (pixels + 1, channels) of an image, the last pixel zeros, channels filled up with zeros */
static void turned(const T *x, i64 channels, i64 pixels, T *to) {
  const i64 wide = UP(channels);
  if (wide > channels) memset(to, 0, pixels * wide * sizeof(T));
  turn(x, pixels, to, wide, channels, pixels);
  memset(to + pixels * wide, 0, wide * sizeof(T));
}
/* Transform n tiles of `k` pixels in all channels to `to` (36, n, channels), points `apart`. */
#define TRANSFORM(NAME, k, TILE_OF)                                                                                   \
  static SEPARATE void NAME(const T *image, const i64 *pixels, i64 n, i64 wide, T *to, i64 across, i64 apart) {       \
    for (i64 t = 0; t < n; t++, pixels += k)                                                                          \
      for (i64 c = 0; c < wide; c += WIDE) {                                                                          \
        V v[36], r[36];                                                                                               \
        T *o = to + t * across + c;                                                                                   \
        _Pragma("GCC unroll 36") for (int i = 0; i < k; i++) v[i] = *(const V *)(image + pixels[i] * wide + c);       \
        TILE_OF(v, r);                                                                                                \
        _Pragma("GCC unroll 36") for (int i = 0; i < POINTS; i++) *(V *)(o + i * apart) = r[i];                       \
      }                                                                                                               \
  }
TRANSFORM(transform_input, 36, input_tile)

#define BLOCKS                                                                                                        \
  const i64 C = UP(s->C), O = UP(s->O), images = many > s->tiles ? many / s->tiles : 1;                               \
  const i64 room = many + STEP, apart = room * C + WIDE, of_point = room * O + WIDE;                                  \
  ROWS((s->N + images - 1) / images);                                                                                 \
  T *in = scratch + part * each, *result = in + (s->from + 1) * C, *before = result + (s->to + 1) * O;                \
  T *after = before + POINTS * apart, *tops = after + POINTS * of_point;                                              \
  i64 *table = tables + part * (room + s->C + STEP), *ones = table + room;                                            \
  for (i64 i = 0; i < room; i++) table[i] = i * C;                                                                    \
  for (i64 i = 0; i < s->C + STEP; i++) ones[i] = i;                                                                  \
  level[part] = 1
#define IMAGES                                                                                                        \
  const i64 tiles = s->tiles - from < many ? s->tiles - from : many, start = b * images;                              \
  const i64 stop = start + images < s->N ? start + images : s->N
/* out (N, O, to) of x (N, C, from); `pixels` (tiles, 36) and `results` (tiles, 16) say where. A block is some images, or
   some tiles of one. `level` of a part is made 0, and nothing more is done, if an image is not level, or too many of its
   results are too small.

   `scratch` of a part: an image, a result, a block of tiles at the points before the products, and after them. */
void winograd(i64 part, i64 parts, const Sizes *s, const i64 *pixels, const i64 *results, i64 *tables, const T *x,
              const T *w, const T *points, const T *errors, const T *bias, T *out, T *scratch, i64 each, i64 *level,
              i64 many, double most) {
  BLOCKS;
  i64 small = 0;
  for (i64 b = first; b < last; b++)
    for (i64 from = 0; from < s->tiles; from += many) {
      IMAGES;
      for (i64 i = start; i < stop; i++) {
        if (!from) {
          if (!is_level(x + i * s->C * s->from, s->C, s->from, most, tops + i - start, 0)) {
            level[part] = 0;
            return;
          }
          turned(x + i * s->C * s->from, s->C, s->from, in);
        }
        transform_input(in, pixels + from * 36, tiles, C, before + (i - start) * tiles * C, C, apart);
      }
      for (int p = 0; p < POINTS; p++) PANELS(s->O)
        gathered((stop - start) * tiles, s->C, before + p * apart, table, ones, points + (p * O + o) * s->C, 0, B,
                 after + p * of_point + o * room, 0);
      for (i64 i = start; i < stop; i++) {
        const i64 *to = results + from * 16;
        if (!from) small = 0;
        PANELS(s->O)
          for (i64 t = 0; t < tiles; t++)
            for (i64 l = 0; l < B * WIDE; l += WIDE) {
              V v[36], r[16], shift = {0};
              const T *a = after + o * room + ((i - start) * tiles + t) * B * WIDE + l;
              if (bias) shift = *(const V *)(bias + o + l);
#pragma GCC unroll 36
              for (int k = 0; k < POINTS; k++) v[k] = *(const V *)(a + k * of_point);
              output_tile(v, r);
              const V limit = tops[i - start] * *(const V *)(errors + o + l);
              Mask tiny = {0};
#pragma GCC unroll 16
              for (int k = 0; k < 16; k++) tiny |= (Mask)(r[k] <= limit) & (Mask)(r[k] >= -limit);
              if (any(tiny))
                small += settle(s, x + i * s->C * s->from, w + (o + l) * s->of_lane,
                                pixels + (from + t) * 36, to + t * 16, limit, r);
#pragma GCC unroll 16
              for (int k = 0; k < 16; k++) *(V *)(result + to[t * 16 + k] * O + o + l) = r[k] + shift;
            }
        if (small > FEW(s->O * s->to)) { level[part] = 0; return; }
        if (from + tiles == s->tiles) turn(result, O, out + i * s->O * s->to, s->to, s->to, s->O);
      }
    }
}

/* ---- the weight's gradient: sums (36, panels, C and STEP more, lanes) of each part ----------------------------------- */
/* `sizes` of a part: the sums of magnitudes of g for each output, and the largest one of x */
static SEPARATE void transform_gradient(const T *image, const i64 *pixels, i64 n, i64 O, T *to, i64 at, i64 room,
                                        i64 apart) {
  PANELS(O)
    for (i64 t = 0; t < n; t++)
      for (i64 l = 0; l < B * WIDE; l += WIDE) {
        V v[16], r[36];
        T *a = to + o * room + (at + t) * B * WIDE + l;
#pragma GCC unroll 16
        for (int k = 0; k < 16; k++) v[k] = *(const V *)(image + pixels[t * 16 + k] * UP(O) + o + l);
        gradient_tile(v, r);
#pragma GCC unroll 36
        for (int k = 0; k < POINTS; k++) *(V *)(a + k * apart) = r[k];
      }
}
void winograd_weight(i64 part, i64 parts, const Sizes *s, const i64 *pixels, const i64 *results, i64 *tables,
                     const T *x, const T *g, T *sums, i64 size, T *sizes, T *scratch, i64 each, i64 *level, i64 many,
                     double most) {
  BLOCKS;
  T *total = sums + part * size, *of_outputs = sizes + part * (s->O + 1);
  T *top = of_outputs + s->O, large;
  for (i64 b = first; b < last; b++)
    for (i64 from = 0; from < s->tiles; from += many) {
      IMAGES;
      for (i64 i = start; i < stop; i++) {
        const T *a = x + i * s->C * s->from, *e = g + i * s->O * s->to;
        if (!from) {
          if (!is_level(a, s->C, s->from, most, tops, 0) ||
              !is_level(e, s->O, s->to, most, &large, of_outputs)) {
            level[part] = 0;
            return;
          }
          if (*tops > *top) *top = *tops;
          turned(a, s->C, s->from, in);
          turned(e, s->O, s->to, result);
        }
        transform_input(in, pixels + from * 36, tiles, C, before + (i - start) * tiles * C, C, apart);
        transform_gradient(result, results + from * 16, tiles, s->O, after, (i - start) * tiles, room, of_point);
      }
      for (int p = 0; p < POINTS; p++) PANELS(s->O)
        gathered(s->C, (stop - start) * tiles, before + p * apart, ones, table, after + p * of_point + o * room, 0, B,
                 total + (p * O + o) * (s->C + STEP), 1);
    }
}
/* The gradient (O, C, 9) from the sums of all parts. `small`: how many are within their `errors`,
   and the first of them. */
void winograd_weighed(const Sizes *s, T *sums, T *out, i64 size, i64 parts, const T *errors,
                      i64 *small) {
  for (i64 i = 1; i < parts; i++) EACH(j, size) sums[j] += sums[i * size + j];
  const i64 most = FEW(s->O * s->C * 9);
  *small = 0;
  PANELS(s->O) {
    const i64 lanes = B * WIDE, n = s->O - o < lanes ? s->O - o : lanes;
    for (i64 c = 0; c < s->C; c++)
      for (i64 l = 0; l < n; l += WIDE) {
        V v[36], r[9];
        for (int p = 0; p < POINTS; p++) v[p] = *(V *)(sums + (p * UP(s->O) + o) * (s->C + STEP) + c * lanes + l);
        weight_places(v, r);
        for (i64 i = 0; i < WIDE && l + i < n; i++)
          for (int t = 0; t < 9; t++) {
            const i64 at = ((o + l + i) * s->C + c) * 9 + t;
            out[at] = r[t][i];
            const int tiny = FABS(out[at]) <= errors[o + l + i] && out[at] != 0;
            if (tiny && ++*small <= most) small[*small] = at;
          }
      }
  }
}
