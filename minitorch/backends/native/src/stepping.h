/* Steps of optimisers on lists of arrays: `lists` holds, one after the other, the addresses of all parameters, of all
   gradients, and of each of their states. Numbers: `h`, then the factor of p, the weight decay, the sign of g. */
#include "typed.h"

#define STEP(NAME, STATES, BODY)                                                                                      \
  void NAME(i64 part, i64 parts, T *const *lists, const i64 *sizes, i64 count, i64 states, const double *h,           \
            double shrink_, double decay_, double sign_) {                                                            \
    const T shrink = shrink_, decay = decay_, sign = sign_, h0 = h[0], h1 = h[1], h2 = h[2], h3 = h[3], h4 = h[4];    \
    for (i64 k = 0; k < count; k++) {                                                                                 \
      ROWS(sizes[k]);                                                                                                 \
      T *restrict p = lists[k];                                                                                       \
      const T *restrict g = lists[count + k];                                                                         \
      STATES                                                                                                          \
      BODY                                                                                                            \
    }                                                                                                                 \
  }
#define HERE _Pragma("omp simd") for (i64 i = first; i < last; i++)
/* h: lr, momentum, weight, nesterov */
STEP(sgd, T *restrict b = states ? lists[2 * count + k] : 0;,
  if (!b) HERE { T x = p[i] * shrink; p[i] = x - h0 * (sign * g[i] + decay * x); }
  else HERE {
    T x = p[i] * shrink; T d = sign * g[i] + decay * x; T m = h1 * b[i] + h2 * d;
    b[i] = m;
    p[i] = x - h0 * (h3 != 0 ? d + h1 * m : m);
  })
/* h: 1 - beta1, beta2, 1 - beta2, eps, lr, the last two corrected */
STEP(adam, T *restrict m = lists[2 * count + k]; T *restrict v = lists[3 * count + k];
           T *restrict most = states > 2 ? lists[4 * count + k] : 0;,
  HERE {
    T x = p[i] * shrink; T d = sign * g[i] + decay * x;
    T a = m[i] + h0 * (d - m[i]); T s = h1 * v[i] + h2 * (d * d); T q = s;
    m[i] = a; v[i] = s;
    if (most) { T o = most[i]; q = o != o || o >= s ? o : s; most[i] = q; }
    p[i] = x - h4 * (a / (SQRT(q) + h3));
  })
