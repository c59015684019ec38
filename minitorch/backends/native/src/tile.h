/* Products of small matrices, tile by tile in registers. Built with -ffp-contract=fast: a multiplication and its addition
   are rounded once.

   A tile is R rows by one or two vectors of columns. The right matrix comes in panels: PANEL columns side by side for each
   k, anything beyond the last column. The left one is copied, TILE rows side by side for each k,
   or, in whole tiles, read as it lies. */
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
#define SEPARATE __attribute__((noinline, noclone, unused))
#define THIRD (TILE / 3)
typedef T V __attribute__((vector_size(VEC), aligned(sizeof(T)), may_alias));
#define WIDE ((i64)(VEC / sizeof(T)))
#define PANEL (2 * WIDE)
#define DEEP 256                            /* rows of the right matrix at a time */

/* c (rows <= R, n) = or += a (R, K) b. n <= PANEL, n <= WIDE if not `both`. */
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
#define TILES(R, BOTH)                                                                                                \
  static __attribute__((noinline)) void tile_##R##_##BOTH(i64 K, const T *a, const T *b, T *c, i64 ldc, i64 rows,     \
                                                          i64 n, int add) {                                           \
    tile(R * THIRD, BOTH, 1, K, a, 0, b, c, ldc, rows, n, add);                                                            \
  }
TILES(1, 0) TILES(2, 0) TILES(3, 0) TILES(1, 1) TILES(2, 1) TILES(3, 1)
/* Whole tiles of a left matrix as it lies. */
static __attribute__((noinline)) void tile_3_lying(i64 K, const T *a, i64 ar, const T *b, T *c, i64 ldc, i64 n, int add) {
  tile(TILE, 1, 0, K, a, ar, b, c, ldc, TILE, n, add);
}
static __attribute__((noinline)) void tile_2_lying(i64 K, const T *a, i64 ar, const T *b, T *c, i64 ldc, i64 n, int add) {
  tile(2 * THIRD, 1, 0, K, a, ar, b, c, ldc, 2 * THIRD, n, add);
}
typedef void (*tile_t)(i64, const T *, const T *, T *, i64, i64, i64, int);
static const tile_t KINDS[2][3] = {{tile_1_0, tile_2_0, tile_3_0}, {tile_1_1, tile_2_1, tile_3_1}};
INLINE tile_t kind(i64 rows, i64 n) { return KINDS[n > WIDE][(rows - 1) / THIRD]; }

/* The copy of a left matrix (M, K): ceil(M / TILE) times K times TILE. */
static SEPARATE void copy_left(i64 M, i64 K, const T *a, i64 ar, i64 ak, T *to) {
  for (i64 i = 0; i < M; i += TILE, to += K * TILE) {
    i64 rows = M - i < TILE ? M - i : TILE;
    const T *from = a + i * ar;
    if (rows < TILE) memset(to, 0, K * TILE * sizeof(T));
    if (ak == 1 && rows == TILE)
      for (i64 k = 0; k < K; k++) {
#pragma GCC unroll 16
        for (i64 r = 0; r < TILE; r++) to[k * TILE + r] = from[r * ar + k];
      }
    else for (i64 k = 0; k < K; k++) for (i64 r = 0; r < rows; r++) to[k * TILE + r] = from[r * ar + k * ak];
  }
}
/* c (M, n) = a b for a copied left matrix and one panel */
static void copied_product(i64 M, i64 K, const T *a, const T *panel, T *c, i64 ldc, i64 n) {
  for (i64 i = 0; i < M; i += TILE, a += K * TILE) {
    i64 rows = M - i < TILE ? M - i : TILE;
    kind(rows, n)(K, a, panel, c + i * ldc, ldc, rows, n, 0);
  }
}
/* The panels of b (K, N), or of its transpose (N, K) if `turned`: ceil(N / PANEL) times K rows of PANEL. */
static SEPARATE void pack(i64 K, i64 N, const T *b, i64 ldb, int turned, T *panels) {
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
/* c (M, N) = or += a (M, K) b, b in panels. */
static SEPARATE void packed_product(i64 M, i64 N, i64 K, const T *a, i64 ar, i64 ak, const T *panels, T *c, i64 ldc,
                                    int add) {
  T copy[TILE * DEEP];
  for (i64 i = 0; i < M; i += TILE) {
    i64 rows = M - i < TILE ? M - i : TILE;
    int lying = ak == 1 && rows >= 2 * THIRD && rows % THIRD == 0;
    for (i64 k = 0; k < K; k += DEEP) {
      i64 deep = K - k < DEEP ? K - k : DEEP;
      const T *from = a + i * ar + k * ak;
      if (!lying || N % PANEL) copy_left(rows, deep, from, ar, ak, copy);
      for (i64 j = 0; j < N; j += PANEL) {
        i64 n = N - j < PANEL ? N - j : PANEL;
        const T *panel = panels + j * K + k * PANEL;
        T *to = c + i * ldc + j;
        if (lying && n == PANEL) (rows == TILE ? tile_3_lying : tile_2_lying)(deep, from, ar, panel, to, ldc, n, add || k);
        else kind(rows, n)(deep, copy, panel, to, ldc, rows, n, add || k);
      }
    }
  }
}
/* The same of a matrix that is not packed yet, DEEP of its rows at a time; `scratch` is for panels of DEEP rows. */
static SEPARATE void product(i64 M, i64 N, i64 K, const T *a, i64 ar, i64 ak, const T *b, i64 ldb, int turned, T *c, i64 ldc,
                    int add, T *scratch) {
  for (i64 k = 0; k < K; k += DEEP) {
    i64 deep = K - k < DEEP ? K - k : DEEP;
    pack(deep, N, turned ? b + k : b + k * ldb, ldb, turned, scratch);
    packed_product(M, N, deep, a + k * ak, ar, ak, scratch, c, ldc, add || k);
  }
}
