// Arithmetic in a given rounding direction: rare, so it goes through the floating-point control register.
#include "abi.h"
#include <cfenv>
#include <cmath>

static int set(u32 mode) {
  static const int modes[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  int old = fegetround();
  fesetround(modes[mode]);
  return old;
}
template <class T>
static T round_to(u32 operation, volatile T a, volatile T b, volatile T c, u32 mode) {
  int old = set(mode);
  volatile T r;
  switch (operation) {
    case SIM_OP_ADD: r = a + b; break;
    case SIM_OP_SUB: r = a - b; break;
    case SIM_OP_MUL: r = a * b; break;
    case SIM_OP_FMA: r = std::fma(a, b, c); break;
    case SIM_OP_DIV: r = a / b; break;
    default: r = std::sqrt(a);
  }
  fesetround(old);
  return r;
}
template <class T, class S>
static T convert(volatile S x, u32 mode) {
  int old = set(mode);
  volatile T r = (T)x;
  fesetround(old);
  return r;
}
extern "C" {
f32 sim_round_f32(u32 o, f32 a, f32 b, f32 c, u32 mode) { return round_to<f32>(o, a, b, c, mode); }
f64 sim_round_f64(u32 o, f64 a, f64 b, f64 c, u32 mode) { return round_to<f64>(o, a, b, c, mode); }
f32 sim_narrow(f64 x, u32 mode) { return convert<f32, f64>(x, mode); }
f32 sim_f32_of_s64(s64 x, u32 mode) { return convert<f32, s64>(x, mode); }
f64 sim_f64_of_s64(s64 x, u32 mode) { return convert<f64, s64>(x, mode); }
// No instruction converts a u64 on every machine: split it, so that one rounding remains.
f64 sim_f64_of_u64(u64 x, u32 mode) {
  int old = set(mode);
  volatile f64 high = (f64)(s64)(x >> 32) * 4294967296.0, low = (f64)(s64)(x & 0xffffffffu);
  volatile f64 r = high + low;
  fesetround(old);
  return r;
}
f32 sim_f32_of_u64(u64 x, u32 mode) {  // the last bit kept says whether anything was cut off below it
  u64 y = x >> 40 ? (x >> 8) << 8 | ((x & 0xff) != 0) << 8 : x;
  if (x >> 63) return convert<f32, s64>((s64)(y >> 1 | (y & 1)), mode) * 2;
  return convert<f32, s64>((s64)x, mode);
}
}
