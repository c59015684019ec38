/* Scalar functions that vectorise, in double precision and, by way of it, in single: no calls, no branches, no errno.

   Sources: logarithms as in Sun's fdlibm (Freely Distributable LIBM: e_log.c, s_log1p.c), the arcus tangent as in
   S. Moshier's Cephes (atan.c), exponentials and sines by Taylor's series after Cody's and Waite's reduction of the
   argument (Software Manual for the Elementary Functions, 1980). Single precision results are rounded once: 0.5 ulp. */

INLINE double as_double(i64 i) { double f; memcpy(&f, &i, 8); return f; }
INLINE i64 as_long(double f) { i64 i; memcpy(&i, &f, 8); return i; }
#define NEAREST 6755399441055744.0          /* 1.5 * 2^52: added to a number, its nearest integer lies in the low bits */

/* exp(r) - 1 for |r| <= log(2) / 2, by Taylor's series */
INLINE double d_expm1_small(double r) {
  double p = 1.0 / 6227020800.0;
  p = fma(p, r, 1.0 / 479001600.0);
  p = fma(p, r, 1.0 / 39916800.0);
  p = fma(p, r, 1.0 / 3628800.0);
  p = fma(p, r, 1.0 / 362880.0);
  p = fma(p, r, 1.0 / 40320.0);
  p = fma(p, r, 1.0 / 5040.0);
  p = fma(p, r, 1.0 / 720.0);
  p = fma(p, r, 1.0 / 120.0);
  p = fma(p, r, 1.0 / 24.0);
  p = fma(p, r, 1.0 / 6.0);
  p = fma(p, r, 0.5);
  return fma(p, r * r, r);
}
/* x = n log(2) + r: r, and n by way of `bits` */
INLINE double d_reduced(double x, i64 *n) {
  double z = fma(x, 1.4426950408889634, NEAREST), k = z - NEAREST;
  *n = as_long(z) - as_long(NEAREST);
  return fma(k, -1.9082149292705877e-10, fma(k, -0.69314718036912382, x));
}
INLINE double d_exp(double x) {
  double c = x > 710.0 ? 710.0 : x;                      /* NaN stays: comparisons with it are false */
  c = c < -750.0 ? -750.0 : c;
  i64 n;
  double p = 1.0 + d_expm1_small(d_reduced(c, &n));
  i64 h = n >> 1;                                        /* 2^n in two factors: subnormals come out right, and inf */
  return p * as_double((h + 1023) << 52) * as_double((n - h + 1023) << 52);
}
INLINE double d_expm1(double x) {
  double c = x > 710.0 ? 710.0 : x;
  c = c < -750.0 ? -750.0 : c;
  i64 n;
  double p = d_expm1_small(d_reduced(c, &n));
  i64 h = n >> 1, m = n < -60 ? -60 : n > 60 ? 60 : n;
  double scale = as_double((m + 1023) << 52), near = fma(scale, p, scale - 1.0);
  double far = (1.0 + p) * as_double((h + 1023) << 52) * as_double((n - h + 1023) << 52);
  double found = n > 60 ? far : near;
  found = fabs(x) < 1e-300 ? x : found;                  /* signed zeros, subnormals */
  return found;
}
/* log(2^n (1 + f)) for 1 + f in [sqrt(2) / 2, sqrt(2)], plus c */
INLINE double d_log_of(double n, double f, double c) {
  double s = f / (2.0 + f), z = s * s, w = z * z;
  double t1 = w * fma(w, fma(w, 1.531383769920937332e-01, 2.222219843214978396e-01), 3.999999999940941908e-01);
  double t2 = z * fma(w, fma(w, fma(w, 1.479819860511658591e-01, 1.818357216161805012e-01), 2.857142874366239149e-01),
                      6.666666666666735130e-01);
  double h = 0.5 * f * f;
  return n * 6.93147180369123816490e-01 - ((h - (s * (h + t1 + t2) + (n * 1.90821492927058770002e-10 + c))) - f);
}
/* x = 2^n m with m in [sqrt(2) / 2, sqrt(2)]: m; n as a number */
INLINE double d_split(double x, double *n) {
  i64 bits = as_long(x) - 0x3fe6a09e667f3bcdLL, e = bits >> 52;
  *n = as_double(e + as_long(NEAREST)) - NEAREST;
  return as_double(as_long(x) - (i64)((uint64_t)e << 52));
}
INLINE double d_log(double x) {
  int tiny = x < 2.2250738585072014e-308;
  double n, a = tiny ? x * 18014398509481984.0 : x, m = d_split(a, &n);
  double r = d_log_of(tiny ? n - 54.0 : n, m - 1.0, 0.0);
  r = x == INFINITY ? x : r;
  r = x == 0.0 ? -INFINITY : r;
  return x >= 0.0 ? r : NAN;                             /* also for NaN */
}
INLINE double d_log1p(double x) {
  double u = 1.0 + x, n, m = d_split(u, &n);
  double c = (x >= 1.0 ? 1.0 - (u - x) : x - (u - 1.0)) / u;
  int near = x > -0.2928 && x < 0.4142;                  /* then n is 0, and f is x itself */
  double r = d_log_of(near ? 0.0 : n, near ? x : m - 1.0, near ? 0.0 : c);
  r = x == INFINITY ? x : r;
  r = u == 0.0 ? -INFINITY : r;
  r = fabs(x) < 1e-300 ? x : r;
  return x >= -1.0 ? r : NAN;
}
INLINE double d_sigmoid(double x) { return 1.0 / (1.0 + d_exp(-x)); }
INLINE double d_tanh(double x) {
  double t = d_expm1(2.0 * fabs(x > 30.0 ? 30.0 : x < -30.0 ? -30.0 : x));
  return copysign(t / (t + 2.0), x);
}
INLINE double d_sinh(double x) {
  double a = fabs(x), t = d_expm1(a), e = d_exp(0.5 * a);
  return copysign(a > 40.0 ? 0.5 * e * e : 0.5 * (t + t / (t + 1.0)), x);
}
INLINE double d_cosh(double x) {
  double a = fabs(x), t = d_exp(a), e = d_exp(0.5 * a);
  return a > 40.0 ? 0.5 * e * e : 0.5 * (t + 1.0 / t);
}
INLINE double d_asinh(double x) {
  double a = fabs(x), s = a * a, big = d_log(a) + 0.6931471805599453;
  return copysign(a > 1e9 ? big : d_log1p(a + s / (1.0 + sqrt(1.0 + s))), x);
}
INLINE double d_acosh(double x) {
  double t = x - 1.0, big = d_log(x) + 0.6931471805599453;
  double near = d_log1p(t + sqrt(2.0 * t + t * t));
  return x > 1e9 ? big : x >= 1.0 ? near : NAN;
}
INLINE double d_atanh(double x) {
  double a = fabs(x);
  return copysign(0.5 * d_log1p(2.0 * a / (1.0 - a)), x);
}
INLINE double d_atan(double x) {
  double a = fabs(x);
  int far = a > 2.41421356237309504880, middle = a > 0.66 && !far;
  double y = far ? -1.0 / a : middle ? (a - 1.0) / (a + 1.0) : a;
  double base = far ? 1.57079632679489661923 : middle ? 0.78539816339744830962 : 0.0;
  double z = y * y;
  double p = fma(z, fma(z, fma(z, fma(z, -8.750608600031904122785e-1, -1.615753718733365076637e1),
                               -7.500855792314704667340e1), -1.228866684490136173410e2), -6.485021904942025371773e1);
  double q = fma(z, fma(z, fma(z, fma(z, z + 2.485846490142306297962e1, 1.650270098316988542046e2),
                               4.328810604912902668951e2), 4.853903996359136964868e2), 1.945506571482613964425e2);
  double rest = far ? 6.123233995736765886130e-17 : middle ? 3.061616997868382943065e-17 : 0.0;
  return copysign(base + (fma(z * p / q, y, y) + rest), x);
}

/* ---- sines: 2^e modulo 2 pi for e from 27 to 104, as sums of two numbers, for arguments beyond 2^50 ------------------ */
static const double POWER_MODULO_TURN[2 * 78] = {        /* the first numbers, then the second ones */
  -0x1.bcb4a23e73336p-1, -0x1.bcb4a23e73336p+0, 0x1.678ac84a126fap+1, -0x1.54a767d1830eep-1, -0x1.54a767d1830eep+0,
  -0x1.54a767d1830eep+1, 0x1.ebc26b95fe14fp-1, 0x1.ebc26b95fe14fp+0, -0x1.387cfef2878e2p+1, 0x1.668ad946ed0dap+0,
  0x1.668ad946ed0dap+1, -0x1.5ca6dfeaae1f6p-1, -0x1.5ca6dfeaae1f6p+0, -0x1.5ca6dfeaae1f6p+1, 0x1.abc6aacca5912p-1,
  0x1.abc6aacca5912p+0, -0x1.7878bfbbe011fp+1, 0x1.9a6f58862bf99p-2, 0x1.9a6f58862bf99p-1, 0x1.9a6f58862bf99p+0,
  -0x1.89d0120259a97p+1, 0x1.09f4683d25023p-3, 0x1.09f4683d25023p-2, 0x1.09f4683d25023p-1, 0x1.09f4683d25023p+0,
  0x1.09f4683d25023p+1, -0x1.10569a0e3b9eap+1, 0x1.0392366c0e65cp+1, -0x1.1d1afdb068d79p+1, 0x1.d412de4f67e7ep+0,
  -0x1.502c8c391dbb2p+1, 0x1.07cca42c94599p+0, 0x1.07cca42c94599p+1, -0x1.14a6222f5ceffp+1, 0x1.f5e64c5397865p+0,
  -0x1.2e591e34ee1cbp+1, 0x1.8f1a5c3d52d34p+0, 0x1.8f1a5c3d52d34p+1, -0x1.82ac8377ff216p-5, -0x1.82ac8377ff216p-4,
  -0x1.82ac8377ff216p-3, -0x1.82ac8377ff216p-2, -0x1.82ac8377ff216p-1, -0x1.82ac8377ff216p+0, -0x1.82ac8377ff216p+1,
  0x1.ee6639887604dp-3, 0x1.ee6639887604dp-2, 0x1.ee6639887604dp-1, 0x1.ee6639887604dp+0, -0x1.35d931000f9e3p+1,
  0x1.711a1110cccd4p+0, 0x1.711a1110cccd4p+1, -0x1.082d219bb0225p-1, -0x1.082d219bb0225p+0, -0x1.082d219bb0225p+1,
  0x1.13e52751255e7p+1, -0x1.f8ea37cc75cc6p+0, 0x1.2b5532bc0fd6bp+1, -0x1.9b2a0a20cbeb6p+0, 0x1.89156067b9b7bp+1,
  -0x1.214a9b91233b2p-3, -0x1.214a9b91233b2p-2, -0x1.214a9b91233b2p-1, -0x1.214a9b91233b2p+0, -0x1.214a9b91233b2p+1,
  0x1.c35466cc7e59ap+0, -0x1.60eb03bc07497p+1, 0x1.89a58c41dc40cp-1, 0x1.89a58c41dc40cp+0, 0x1.89a58c41dc40cp+1,
  -0x1.0f45204cd2192p-3, -0x1.0f45204cd2192p-2, -0x1.0f45204cd2192p-1, -0x1.0f45204cd2192p+0, -0x1.0f45204cd2192p+1,
  0x1.05b529eee170cp+1, -0x1.18d516aac2c18p+1, 0x1.e52a7a6600402p+0, -0x1.4cc11b4920ae8p-57, -0x1.4cc11b4920ae8p-56,
  0x1.e1947f9043554p-53, -0x1.c66f1d081359ap-55, -0x1.c66f1d081359ap-54, -0x1.c66f1d081359ap-53,
  -0x1.6065ceb66cc97p-55, -0x1.6065ceb66cc97p-54, 0x1.ab55ab9c1ed6dp-55, -0x1.eb20c79eca277p-54,
  -0x1.eb20c79eca277p-53, -0x1.60cab403f9f91p-58, -0x1.60cab403f9f91p-57, -0x1.60cab403f9f91p-56,
  -0x1.1b6f34f397eb5p-56, -0x1.1b6f34f397eb5p-55, 0x1.3d839f23a8898p-53, 0x1.7e60254ee49ebp-56, 0x1.7e60254ee49ebp-55,
  0x1.7e60254ee49ebp-54, -0x1.6cc942274dc45p-54, 0x1.fee10ecf6f246p-59, 0x1.fee10ecf6f246p-58, 0x1.fee10ecf6f246p-57,
  0x1.fee10ecf6f246p-56, 0x1.fee10ecf6f246p-55, -0x1.35543efad3eebp-53, -0x1.af1dbc98e2e42p-56, 0x1.5f73ca773bc62p-53,
  0x1.e758b6a2061a3p-54, -0x1.35b03f02159adp-55, -0x1.984d6479fd323p-55, -0x1.984d6479fd323p-54,
  0x1.976ea91bba67bp-56, 0x1.3540e152f4359p-54, -0x1.ff07ca1f2e969p-54, 0x1.ade7e21ae7526p-56, 0x1.ade7e21ae7526p-55,
  0x1.17955574142a1p-60, 0x1.17955574142a1p-59, 0x1.17955574142a1p-58, 0x1.17955574142a1p-57, 0x1.17955574142a1p-56,
  0x1.17955574142a1p-55, 0x1.17955574142a1p-54, 0x1.8b437ad3f55e0p-58, 0x1.8b437ad3f55e0p-57, 0x1.8b437ad3f55e0p-56,
  0x1.8b437ad3f55e0p-55, -0x1.6f2308f890d1ep-53, -0x1.5302971d2c45bp-54, -0x1.5302971d2c45bp-53,
  0x1.29b05b18df9e2p-56, 0x1.29b05b18df9e2p-55, 0x1.29b05b18df9e2p-54, -0x1.4315bd0929c20p-54, 0x1.104af928957a5p-54,
  -0x1.75e080e9be09ap-54, 0x1.556ae2ced9d62p-55, -0x1.2085c83607941p-53, 0x1.45f5262caae07p-58, 0x1.45f5262caae07p-57,
  0x1.45f5262caae07p-56, 0x1.45f5262caae07p-55, 0x1.45f5262caae07p-54, -0x1.0a8c26e1933d7p-54, 0x1.815e2577c2837p-54,
  -0x1.27745096c7eeep-55, -0x1.27745096c7eeep-54, -0x1.27745096c7eeep-53, -0x1.d6b3c80daf49ap-60,
  -0x1.d6b3c80daf49ap-59, -0x1.d6b3c80daf49ap-58, -0x1.d6b3c80daf49ap-57, -0x1.d6b3c80daf49ap-56,
  0x1.bf17d45f1fae7p-53, 0x1.496ae25bb3dc1p-53, 0x1.8f351633e671fp-54};
/* x modulo pi / 2, from -pi / 4 to pi / 4, of a number of single precision; the quadrant in the low bits of `q` */
INLINE double d_quadrant(double x, i64 *q) {
  i64 e = ((as_long(x) >> 52) & 0x7ff) - 1023 - 23;      /* x = m 2^e with a whole m of 24 bits */
  i64 k = e < 27 ? 0 : e > 104 ? 77 : e - 27;
  double m = x * as_double((1023 - (k + 27)) << 52), high = POWER_MODULO_TURN[k], low = POWER_MODULO_TURN[k + 78];
  double y = e < 27 ? x : m * high, rest = e < 27 ? 0.0 : fma(m, high, -y) + m * low;
  double z = fma(y, 0.63661977236758134308, NEAREST), n = z - NEAREST;
  *q = as_long(z);
  return fma(n, 0x1.f1976b7ed8fbcp-110, fma(n, -0x1.1a62633145c07p-54, fma(n, -0x1.921fb54442d18p+0, y))) + rest;
}
INLINE double d_sin_small(double r) {
  double s = r * r, p = -1.0 / 1307674368000.0;
  p = fma(p, s, 1.0 / 6227020800.0);
  p = fma(p, s, -1.0 / 39916800.0);
  p = fma(p, s, 1.0 / 362880.0);
  p = fma(p, s, -1.0 / 5040.0);
  p = fma(p, s, 1.0 / 120.0);
  p = fma(p, s, -1.0 / 6.0);
  return fma(p * s, r, r);
}
INLINE double d_cos_small(double r) {
  double s = r * r, p = 1.0 / 20922789888000.0;
  p = fma(p, s, -1.0 / 87178291200.0);
  p = fma(p, s, 1.0 / 479001600.0);
  p = fma(p, s, -1.0 / 3628800.0);
  p = fma(p, s, 1.0 / 40320.0);
  p = fma(p, s, -1.0 / 720.0);
  p = fma(p, s, 1.0 / 24.0);
  p = fma(p, s, -0.5);
  return fma(p, s, 1.0);
}
INLINE float m_sin(float x) {
  i64 q;
  double r = d_quadrant(x, &q), y = q & 1 ? d_cos_small(r) : d_sin_small(r);
  return x == 0.0f ? x : (float)(q & 2 ? -y : y);
}
INLINE float m_cos(float x) {
  i64 q;
  double r = d_quadrant(x, &q), y = q & 1 ? d_sin_small(r) : d_cos_small(r);
  return (float)((q + 1) & 2 ? -y : y);
}
INLINE float m_tan(float x) {
  i64 q;
  double r = d_quadrant(x, &q), s = d_sin_small(r), c = d_cos_small(r);
  return x == 0.0f ? x : (float)(q & 1 ? -c / s : s / c);
}

/* ---- single precision, rounded once ------------------------------------------------------------------------------ */
INLINE float m_log1p(float x) { return (float)d_log1p(x); }
INLINE float m_expm1(float x) { return (float)d_expm1(x); }
INLINE float m_sinh(float x) { return (float)d_sinh(x); }
INLINE float m_cosh(float x) { return (float)d_cosh(x); }
INLINE float m_asinh(float x) { return (float)d_asinh(x); }
INLINE float m_acosh(float x) { return (float)d_acosh(x); }
INLINE float m_atanh(float x) { return (float)d_atanh(x); }
INLINE float m_atan(float x) { return (float)d_atan(x); }
INLINE float m_asin(float x) { double a = x; return (float)(2.0 * d_atan(a / (1.0 + sqrt(1.0 - a * a)))); }
INLINE float m_acos(float x) { double a = x; return (float)(2.0 * d_atan(sqrt((1.0 - a) / (1.0 + a)))); }
INLINE float m_exp2(float x) { return (float)d_exp(x * 0.69314718055994531); }
INLINE float m_log2(float x) { return (float)(d_log(x) * 1.4426950408889634); }
INLINE float m_log10(float x) { return (float)(d_log(x) * 0.43429448190325183); }
INLINE float m_hypot(float x, float y) {
  double s = sqrt((double)x * x + (double)y * y);
  return isinf(x) || isinf(y) ? INFINITY : (float)s;
}
INLINE float m_pow(float x, float y) {      /* as C99 has it: 1 for any x if y is 0, and for any y if x is 1 */
  double a = fabs((double)x), b = y, r = d_exp(b * d_log(a));
  int whole = b == floor(b), odd = whole && b * 0.5 != floor(b * 0.5);
  r = x < 0.0f && !whole && a != INFINITY ? NAN : r;
  r = signbit(x) && odd ? -r : r;
  r = a == 1.0 && isinf(y) ? 1.0 : r;
  return y == 0.0f || x == 1.0f ? 1.0f : (float)r;
}

/* log(exp(a) + exp(b)) without overflow */
INLINE double d_logaddexp(double a, double b) {
  double d = a - b, most = d > 0 ? a : b;
  return a == b ? a + 0.69314718055994530942 : most + d_log1p(d_exp(-fabs(d)));
}
INLINE float m_logaddexp(float a, float b) { return (float)d_logaddexp(a, b); }
/* the angle of a point: the arcus tangent of the smaller coordinate by the larger one, turned to where the point lies */
INLINE double d_atan2(double y, double x) {
  double a = fabs(x), b = fabs(y), low = a < b ? a : b, high = a < b ? b : a;
  double t = high == 0 ? 0 : low == high ? 1 : low / high, r = d_atan(t);
  r = b > a ? 1.57079632679489661923 - r : r;
  r = as_long(x) < 0 ? 3.14159265358979323846 - r : r;
  return x != x || y != y ? NAN : copysign(r, y);
}
INLINE float m_atan2(float y, float x) { return (float)d_atan2(y, x); }
