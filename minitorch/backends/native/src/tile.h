/* Products of small matrices, tile by tile in registers. Built with -ffp-contract=fast: a multiplication and its addition
   are rounded once.

   A tile is R rows by one or two vectors of columns. The right matrix comes in panels: PANEL columns side by side for each
   k, anything beyond the last column. The left one is read as it lies, or from a copy, TILE rows side by side for each k. */
#include "typed.h"

#if defined(__AVX512F__)
#define VEC 64
#define TILE 12
#elif defined(__AVX__)
#define VEC 32
#define TILE 6
#else
#define VEC 16
#define TILE 6
#endif
#define THIRD (TILE / 3)
typedef T V __attribute__((vector_size(VEC), aligned(sizeof(T)), may_alias));
#define WIDE ((i64)(VEC / sizeof(T)))
#define PANEL (2 * WIDE)
#define DEEP 256                            /* rows of the right matrix at a time */

/* c (rows <= R, n) = or += a (R, K) b. n <= PANEL, n <= WIDE if not `both`. a[r * ar + k], or a[r + k * TILE] of a copy. */
INLINE void tile(const int R, const int both, const int copied, i64 K, const T *a, i64 ar, const T *b, T *c, i64 ldc,
                 i64 rows, i64 n, int add) {
  V x[TILE], y[TILE];
#pragma GCC unroll 16
  for (int r = 0; r < R; r++) x[r] = y[r] = (V){0};
  for (i64 k = 0; k < K; k++) {
    V u = *(const V *)(b + k * PANEL), v;
    if (both) v = *(const V *)(b + k * PANEL + WIDE);
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) {
      T s = copied ? a[k * TILE + r] : a[r * ar + k];
      x[r] += s * u;
      if (both) y[r] += s * v;
    }
  }
  T all[TILE * PANEL];
#pragma GCC unroll 16
  for (int r = 0; r < R; r++) {
    *(V *)(all + r * PANEL) = x[r];
    if (both) *(V *)(all + r * PANEL + WIDE) = y[r];
  }
  for (i64 r = 0; r < rows; r++) {
    T *o = c + r * ldc, *from = all + r * PANEL;
    if (add) EACH(j, n) o[j] += from[j];
    else EACH(j, n) o[j] = from[j];
  }
}
#define TILES(R, BOTH, COPIED)                                                                                        \
  static __attribute__((noinline)) void tile_##R##_##BOTH##_##COPIED(i64 K, const T *a, i64 ar, const T *b, T *c,     \
                                                                     i64 ldc, i64 rows, i64 n, int add) {             \
    tile(R * THIRD, BOTH, COPIED, K, a, ar, b, c, ldc, rows, n, add);                                                 \
  }
TILES(1, 0, 0) TILES(2, 0, 0) TILES(3, 0, 0) TILES(1, 1, 0) TILES(2, 1, 0) TILES(3, 1, 0)
TILES(1, 0, 1) TILES(2, 0, 1) TILES(3, 0, 1) TILES(1, 1, 1) TILES(2, 1, 1) TILES(3, 1, 1)
typedef void (*tile_t)(i64, const T *, i64, const T *, T *, i64, i64, i64, int);
static const tile_t KINDS[2][2][3] = {{{tile_1_0_0, tile_2_0_0, tile_3_0_0}, {tile_1_1_0, tile_2_1_0, tile_3_1_0}},
                                      {{tile_1_0_1, tile_2_0_1, tile_3_0_1}, {tile_1_1_1, tile_2_1_1, tile_3_1_1}}};
INLINE tile_t kind(i64 rows, i64 n, int copied) { return KINDS[copied][n > WIDE][(rows - 1) / THIRD]; }

/* The copy of a left matrix (M, K): ceil(M / TILE) times K times TILE. */
static void copy_left(i64 M, i64 K, const T *a, i64 ar, i64 ak, T *to) {
  for (i64 i = 0; i < M; i += TILE, to += K * TILE) {
    i64 rows = M - i < TILE ? M - i : TILE;
    for (i64 k = 0; k < K; k++)
      for (i64 r = 0; r < TILE; r++) to[k * TILE + r] = r < rows ? a[(i + r) * ar + k * ak] : 0;
  }
}
/* c (M, n) = a b for a copied left matrix and one panel */
static void copied_product(i64 M, i64 K, const T *a, const T *panel, T *c, i64 ldc, i64 n) {
  for (i64 i = 0; i < M; i += TILE, a += K * TILE) {
    i64 rows = M - i < TILE ? M - i : TILE;
    kind(rows, n, 1)(K, a, 0, panel, c + i * ldc, ldc, rows, n, 0);
  }
}
/* The panels of b (K, N), or of its transpose (N, K) if `turned`: ceil(N / PANEL) times K rows of PANEL. */
static void pack(i64 K, i64 N, const T *b, i64 ldb, int turned, T *panels) {
  for (i64 j = 0; j < N; j += PANEL) {
    i64 n = N - j < PANEL ? N - j : PANEL;
    for (i64 k = 0; k < K; k++, panels += PANEL) {
      if (turned) for (i64 i = 0; i < n; i++) panels[i] = b[(j + i) * ldb + k];
      else if (n == PANEL) memcpy(panels, b + k * ldb + j, PANEL * sizeof(T));
      else for (i64 i = 0; i < n; i++) panels[i] = b[k * ldb + j + i];
      for (i64 i = n; i < PANEL; i++) panels[i] = 0;
    }
  }
}
/* c (M, N) = or += a (M, K) b, b in panels. Rows of a that do not fill a tile, and all if they lie turned (ak > 1, their
   columns may lie powers of two apart), are copied. */
static void packed_product(i64 M, i64 N, i64 K, const T *a, i64 ar, i64 ak, const T *panels, T *c, i64 ldc, int add) {
  T copy[TILE * DEEP];
  for (i64 i = 0; i < M; i += TILE) {
    i64 rows = M - i < TILE ? M - i : TILE;
    for (i64 k = 0; k < K; k += DEEP) {
      i64 deep = K - k < DEEP ? K - k : DEEP;
      const T *from = a + i * ar + k * ak;
      int copied = ak != 1 || rows % THIRD;
      if (copied) copy_left(rows, deep, from, ar, ak, copy);
      for (i64 j = 0; j < N; j += PANEL) {
        i64 n = N - j < PANEL ? N - j : PANEL;
        kind(rows, n, copied)(deep, copied ? copy : from, ar, panels + j * K + k * PANEL, c + i * ldc + j, ldc, rows, n,
                              add || k);
      }
    }
  }
}
/* The same of a matrix that is not packed yet, DEEP of its rows at a time; `scratch` is for panels of DEEP rows. */
static void product(i64 M, i64 N, i64 K, const T *a, i64 ar, i64 ak, const T *b, i64 ldb, int turned, T *c, i64 ldc,
                    int add, T *scratch) {
  for (i64 k = 0; k < K; k += DEEP) {
    i64 deep = K - k < DEEP ? K - k : DEEP;
    pack(deep, N, turned ? b + k : b + k * ldb, ldb, turned, scratch);
    packed_product(M, N, deep, a + k * ak, ar, ak, scratch, c, ldc, add || k);
  }
}
