/* Elementwise chains: one pass over memory for what NumPy takes a dozen for. */
#include "typed.h"

#define ROOT_HALF ((T)0.70710678118654752440)
#define HEIGHT ((T)0.39894228040143267794)  /* of the normal density */
#define K ((T)0.79788456080286535588)       /* sqrt(2 / pi) */
#define C ((T)0.044715)

#define ONE(NAME, EXPRESSION)                                                                                         \
  void NAME(i64 part, i64 parts, const T *x_, T *y_, i64 n) {                                                         \
    ROWS(n);                                                                                                          \
    _Pragma("omp simd") for (i64 i = first; i < last; i++) { T x = x_[i]; y_[i] = EXPRESSION; }                       \
  }
#define TWO(NAME, STEPS, EXPRESSION)                                                                                  \
  void NAME(i64 part, i64 parts, const T *g_, const T *x_, T *y_, i64 n) {                                            \
    ROWS(n);                                                                                                          \
    _Pragma("omp simd") for (i64 i = first; i < last; i++) { T g = g_[i], x = x_[i]; STEPS; y_[i] = EXPRESSION; }     \
  }
ONE(gelu_erf, ((T)1 + ERF(x * ROOT_HALF)) * (T)0.5 * x)
ONE(gelu_tanh, ((T)1 + TANH(K * (x + C * x * x * x))) * (T)0.5 * x)
TWO(gelu_erf_backward,, g * (((T)1 + ERF(x * ROOT_HALF)) * (T)0.5 + x * EXP(x * x * (T)-0.5) * HEIGHT))
INLINE T within(T x) { T y = x > 100 ? 100 : x; return y < -100 ? -100 : y; }  /* so that 0 meets no infinity */
TWO(gelu_tanh_backward, T c = within(x); T t = TANH(K * (x + C * x * x * x)),
    g * ((T)0.5 * ((T)1 + t) * ((T)1 + c * ((T)1 - t) * (K * ((T)1 + 3 * C * c * c)))))
ONE(silu, x / ((T)1 + EXP(-x)))
TWO(silu_backward, T s = SIGMOID(x), g * (s * ((T)1 + x * ((T)1 - s))))
ONE(relu, x != x || x > 0 ? x : 0)
TWO(relu_backward,, x != 0 ? g : 0)
void threshold_backward(i64 part, i64 parts, const T *g, const T *x, T *y, i64 n, double level) {
  ROWS(n);
  EACH(i, last - first) y[first + i] = x[first + i] <= (T)level ? 0 : g[first + i];   /* NaN passes */
}
