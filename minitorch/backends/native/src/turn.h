/* Transposes, by vectors: squares of one vector's length change places in registers, half by half. */
#include "tile.h"

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define SHUFFLES 1
#endif
#endif

#ifdef SHUFFLES
/* Lane l of the first and second row of a pair that is H rows apart: numbers from WIDE on are lanes of the second row. */
#define UPPER(l, H) ((l) & (H) ? LANE + (l) - (H) : (l))
#define LOWER(l, H) ((l) & (H) ? LANE + (l) : (l) + (H))
#define TWO(F, l, H) F(l, H), F(l + 1, H)
#define FOUR(F, l, H) TWO(F, l, H), TWO(F, l + 2, H)
#define EIGHT(F, l, H) FOUR(F, l, H), FOUR(F, l + 4, H)
#define SIXTEEN(F, l, H) EIGHT(F, l, H), EIGHT(F, l + 8, H)
#if VEC == 64 && !IS_DOUBLE
#define LANE 16
#define LIST SIXTEEN
#elif VEC == 64 || (VEC == 32 && !IS_DOUBLE)
#define LANE 8
#define LIST EIGHT
#elif VEC == 32 || !IS_DOUBLE
#define LANE 4
#define LIST FOUR
#else
#define LANE 2
#define LIST TWO
#endif
#define CHANGE(H)                                                                                                     \
  _Pragma("GCC unroll 16") for (int i = 0; i < LANE; i++) if (!(i & H)) {                                             \
    V a = v[i], b = v[i + H];                                                                                         \
    v[i] = __builtin_shufflevector(a, b, LIST(UPPER, 0, H));                                                          \
    v[i + H] = __builtin_shufflevector(a, b, LIST(LOWER, 0, H));                                                      \
  }
INLINE void turn_square(const T *from, i64 step, T *to, i64 step_to) {
  V v[LANE];
#pragma GCC unroll 16
  for (int i = 0; i < LANE; i++) v[i] = *(const V *)(from + i * step);
#if LANE > 8
  CHANGE(8)
#endif
#if LANE > 4
  CHANGE(4)
#endif
#if LANE > 2
  CHANGE(2)
#endif
  CHANGE(1)
#pragma GCC unroll 16
  for (int i = 0; i < LANE; i++) *(V *)(to + i * step_to) = v[i];
}
#undef TWO
#undef FOUR
#else
#define LANE WIDE
INLINE void turn_square(const T *from, i64 step, T *to, i64 step_to) {
  for (i64 r = 0; r < LANE; r++) for (i64 c = 0; c < LANE; c++) to[c * step_to + r] = from[r * step + c];
}
#endif

/* to (columns, rows) = the transpose of (rows, columns) */
static SEPARATE void turn(const T *from, i64 step, T *to, i64 step_to, i64 rows, i64 columns) {
  i64 r = 0;
  for (; r + LANE <= rows; r += LANE) {
    i64 c = 0;
    for (; c + LANE <= columns; c += LANE) turn_square(from + r * step + c, step, to + c * step_to + r, step_to);
    for (; c < columns; c++) for (i64 i = r; i < r + LANE; i++) to[c * step_to + i] = from[i * step + c];
  }
  for (; r < rows; r++) for (i64 c = 0; c < columns; c++) to[c * step_to + r] = from[r * step + c];
}
