/* Products of small matrices, tile by tile in registers. Built with -ffp-contract=fast: a multiplication and its addition
   are rounded once.

   A tile is up to R rows by two vectors of columns. The left matrix is read as it lies, the right one from panels: PANEL
   columns side by side for each k, zeros beyond the last column. */
#include "typed.h"

#if defined(__AVX512F__)
#define VEC 64
#define TILE 12
#elif defined(__AVX__)
#define VEC 32
#define TILE 6
#else
#define VEC 16
#define TILE 8
#endif
typedef T V __attribute__((vector_size(VEC), aligned(sizeof(T)), may_alias));
#define WIDE ((i64)(VEC / sizeof(T)))
#define PANEL (2 * WIDE)

/* c (R, n) = or += a (R, K) b, for n <= PANEL columns, n <= WIDE if not `both`. `ar`, `ak`: how far the rows and the
   columns of a lie apart, `step` the rows of b. */
INLINE void tile(const int R, const int both, i64 K, const T *a, i64 ar, i64 ak, const T *b, i64 step, T *c, i64 ldc,
                 i64 n, int add) {
  V x[TILE], y[TILE];
#pragma GCC unroll 16
  for (int r = 0; r < R; r++) x[r] = y[r] = (V){0};
  for (i64 k = 0; k < K; k++) {
    V u = *(const V *)(b + k * step), v;
    if (both) v = *(const V *)(b + k * step + WIDE);
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) {
      T s = a[r * ar + k * ak];
      x[r] += s * u;
      if (both) y[r] += s * v;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; r++) {
    T *o = c + r * ldc;
    if (n == (both ? PANEL : WIDE)) {
      if (add) { *(V *)o += x[r]; if (both) *(V *)(o + WIDE) += y[r]; }
      else { *(V *)o = x[r]; if (both) *(V *)(o + WIDE) = y[r]; }
    } else {
      T all[PANEL];
      memcpy(all, &x[r], VEC);
      if (both) memcpy(all + WIDE, &y[r], VEC);
      for (i64 j = 0; j < n; j++) o[j] = add ? o[j] + all[j] : all[j];
    }
  }
}
#define EACH_SIZE(CASE) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12)
INLINE void some_rows(int rows, int both, i64 K, const T *a, i64 ar, i64 ak, const T *b, i64 step, T *c, i64 ldc, i64 n,
                      int add) {
  switch (rows) {
#define CASE(R) case R: if (R <= TILE) tile(R, both, K, a, ar, ak, b, step, c, ldc, n, add); break;
    EACH_SIZE(CASE)
#undef CASE
  }
}
/* The same for any number of rows, in tiles of about equal size. One text for ak == 1, which is cheaper to address. */
static __attribute__((noinline)) void tiles(i64 M, i64 K, const T *a, i64 ar, i64 ak, const T *b, i64 step, T *c,
                                            i64 ldc, i64 n, int add) {
  i64 count = (M + TILE - 1) / TILE;
  for (i64 t = 0; t < count; t++) {
    i64 i = M * t / count, rows = M * (t + 1) / count - i;
    const T *p = a + i * ar;
    T *q = c + i * ldc;
    if (n > WIDE) {
      if (ak == 1) some_rows(rows, 1, K, p, ar, 1, b, step, q, ldc, n, add);
      else some_rows(rows, 1, K, p, ar, ak, b, step, q, ldc, n, add);
    } else if (ak == 1) some_rows(rows, 0, K, p, ar, 1, b, step, q, ldc, n, add);
    else some_rows(rows, 0, K, p, ar, ak, b, step, q, ldc, n, add);
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
/* c (M, N) = or += a (M, K) b, b in panels; some rows at a time, so that they stay in the cache */
#define FEW 96
static void packed_product(i64 M, i64 N, i64 K, const T *a, i64 ar, i64 ak, const T *panels, T *c, i64 ldc, int add) {
  for (i64 i = 0; i < M; i += FEW)
    for (i64 j = 0; j < N; j += PANEL)
      tiles(M - i < FEW ? M - i : FEW, K, a + i * ar, ar, ak, panels + j * K, PANEL, c + i * ldc + j, ldc,
            N - j < PANEL ? N - j : PANEL, add);
}
/* The same of a matrix that is not packed yet, DEEP of its rows at a time; `scratch` is for panels of DEEP rows. */
#define DEEP 256
static void product(i64 M, i64 N, i64 K, const T *a, i64 ar, i64 ak, const T *b, i64 ldb, int turned, T *c, i64 ldc,
                    int add, T *scratch) {
  for (i64 k = 0; k < K; k += DEEP) {
    i64 deep = K - k < DEEP ? K - k : DEEP;
    pack(deep, N, turned ? b + k : b + k * ldb, ldb, turned, scratch);
    packed_product(M, N, deep, a + k * ak, ar, ak, scratch, c, ldc, add || k);
  }
}
