// What the arithmetic instructions of PTX do, where C++ has no operator for it.
#pragma once
#include "abi.h"
#define INLINE static inline __attribute__((always_inline, unused))

template <class To, class From>
INLINE To bits_as(From x) {
  static_assert(sizeof(To) == sizeof(From), "as many bits");
  To y;
  __builtin_memcpy(&y, &x, sizeof y);
  return y;
}

// The content of an accumulator of a wgmma under way: a NaN that says which result it will be.
const u32 UNDER_WAY = 0x7fb00000u;
template <class T>
INLINE bool under_way(T word) {
  return (bits_as<u32>(word) & 0xfff00000u) == UNDER_WAY;
}
template <class T>
INLINE void settle(T& word) {
  if (__builtin_expect(under_way(word), 0)) word = bits_as<T>(sim_wgmma_result(bits_as<u32>(word)));
}

// The exact value of an index, beside its 32 bits; a NaN where a leaf may be signed or not. See indices.py.
INLINE f64 leaf(u32 x) { return (s32)x < 0 ? __builtin_nan("") : (f64)x; }
INLINE bool is_off(f64 exact, f64 value) { return exact < value || exact > value; }

template <class T>
struct unsigned_of {
  typedef T type;
};
template <>
struct unsigned_of<s8> {
  typedef u8 type;
};
template <>
struct unsigned_of<s16> {
  typedef u16 type;
};
template <>
struct unsigned_of<s32> {
  typedef u32 type;
};
template <>
struct unsigned_of<s64> {
  typedef u64 type;
};

// ---- 16-bit floats: computed in wider types, rounded once ----------------------------------------------------------
#if defined(__aarch64__)
typedef __fp16 native_half;
#else
typedef _Float16 native_half;
#endif
struct f16 {
  u16 bits;
  f16() = default;
  explicit f16(f32 x) : bits(x != x ? 0x7fff : bits_as<u16>((native_half)x)) {}
  explicit f16(f64 x) : bits(x != x ? 0x7fff : bits_as<u16>((native_half)x)) {}
  operator f32() const { return (f32)bits_as<native_half>(bits); }
};
// A double whose last bit says whether anything was lost: rounding it to 24 bits or fewer is then
// exact.
INLINE f64 sum_to_odd(f64 a, f64 b) {
  f64 s = a + b, t = s - a, lost = (a - (s - t)) + (b - t);
  u64 bits = bits_as<u64>(s);
  if (lost != 0 && lost == lost && !(bits & 1)) bits += (lost > 0) == (s > 0) ? 1 : -1;
  return bits_as<f64>(bits);
}
struct bf16 {
  u16 bits;
  bf16() = default;
  explicit bf16(f32 x) {
    u32 u = bits_as<u32>(x);
    bits = x != x ? 0x7fff : (u16)((u + 0x7fff + (u >> 16 & 1)) >> 16);
  }
  explicit bf16(f64 x) {
    f32 y = (f32)x;  // to odd: what the narrowing lost goes into the last bit
    u32 u = bits_as<u32>(y);
    if (x == x && (f64)y != x && !(u & 1)) y = bits_as<f32>(((f64)y < x) == (y > 0) ? u + 1 : u - 1);
    *this = bf16(y);
  }
  operator f32() const { return bits_as<f32>((u32)bits << 16); }
};
template <class H>
INLINE H fma_half(H a, H b, H c) {
  return H(sum_to_odd((f64)(f32)a * (f64)(f32)b, (f64)(f32)c));
}

// Apply a function to a 16-bit float, or to each half of a packed pair.
template <class H, class F>
INLINE u16 map_half(F f, u16 a, u16 b = 0, u16 c = 0) {
  return f(bits_as<H>(a), bits_as<H>(b), bits_as<H>(c)).bits;
}
template <class H, class F>
INLINE u32 map_pair(F f, u32 a, u32 b = 0, u32 c = 0) {
  return map_half<H>(f, (u16)a, (u16)b, (u16)c) | (u32)map_half<H>(f, (u16)(a >> 16), (u16)(b >> 16), (u16)(c >> 16))
                                                      << 16;
}
// A float to 16 bits towards zero, down or up: from the nearest, one step back if that went too far.
template <class H>
INLINE H narrow_half(f64 x, u32 mode) {
  H y(x);
  f64 back = (f32)y;
  if (x != x || back == x || mode == SIM_RN) return y;
  bool inside = back > x ? mode == SIM_RM || (mode == SIM_RZ && x > 0) : mode == SIM_RP || (mode == SIM_RZ && x < 0);
  if (!inside) return y;
  bool away = back > x ? back > 0 : back < 0;  // which way the bits go
  if ((y.bits & 0x7fff) == 0)
    y.bits = back > x ? 0x8001 : 1;
  else
    y.bits += away ? -1 : 1;
  return y;
}

// ---- integers ------------------------------------------------------------------------------------------------------
template <class T>
INLINE T shift_left(T x, u32 n) {
  return n >= sizeof(T) * 8 ? 0 : (T)(x << n);
}
template <class T>
INLINE T shift_right(T x, u32 n) {
  return n >= sizeof(T) * 8 ? (T)(x < 0 ? -1 : 0) : (T)(x >> n);
}
INLINE u32 funnel(bool left, bool clamp, u32 low, u32 high, u32 n) {
  n = clamp ? (n > 32 ? 32 : n) : n & 31;
  u64 both = (u64)high << 32 | low;
  return left ? (u32)((n == 32 ? both << 32 : both << n) >> 32) : (u32)(both >> n);
}
INLINE u32 logic3(u32 a, u32 b, u32 c, u32 table) {
  u32 r = 0;
  if (table & 1) r |= ~a & ~b & ~c;
  if (table & 2) r |= ~a & ~b & c;
  if (table & 4) r |= ~a & b & ~c;
  if (table & 8) r |= ~a & b & c;
  if (table & 16) r |= a & ~b & ~c;
  if (table & 32) r |= a & ~b & c;
  if (table & 64) r |= a & b & ~c;
  if (table & 128) r |= a & b & c;
  return r;
}
INLINE u32 permute(u32 a, u32 b, u32 selector) {
  u64 bytes = (u64)b << 32 | a;
  u32 r = 0;
  for (int i = 0; i < 4; i++) {
    u32 s = selector >> 4 * i;
    u8 x = (u8)(bytes >> 8 * (s & 7));
    if (s & 8) x = (s8)x < 0 ? 255 : 0;
    r |= (u32)x << 8 * i;
  }
  return r;
}
// prmt's other modes: f4e, b4e, rc8, ecl, ecr, rc16, by their rows of selectors (PTX ISA, "prmt").
INLINE u32 permute_mode(u32 a, u32 b, u32 c, u32 mode) {
  static const u16 rows[6][4] = {{0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
                                 {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
                                 {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
  return permute(a, b, rows[mode][c & 3]);
}
INLINE u32 count_bits(u32 x) { return __builtin_popcount(x); }
INLINE u32 count_bits(u64 x) { return __builtin_popcountll(x); }
INLINE u32 leading_zeros(u32 x) { return x ? __builtin_clz(x) : 32; }
INLINE u32 leading_zeros(u64 x) { return x ? __builtin_clzll(x) : 64; }
template <class T>
INLINE T reverse_bits(T x) {
  T r = 0;
  for (u32 i = 0; i < sizeof(T) * 8; i++) {
    r = r << 1 | (x & 1);
    x >>= 1;
  }
  return r;
}
// The place of the highest bit that differs from the sign; how far from the top it is with `shift`.
template <class T>
INLINE u32 find_leading(T x, bool shift) {
  typedef typename unsigned_of<T>::type U;
  U u = (U)(x < 0 ? ~x : x);
  if (!u) return 0xffffffffu;
  u32 top = sizeof(T) * 8 - 1, at = top - (sizeof(T) == 8 ? leading_zeros((u64)u) : leading_zeros((u32)u));
  return shift ? top - at : at;
}
template <class T>
INLINE T extract_bits(T x, u32 at, u32 n) {  // n bits from `at`, extended by their sign where T has one
  typedef typename unsigned_of<T>::type U;
  const u32 width = sizeof(T) * 8;
  at &= 255;
  n &= 255;
  if (!n) return 0;
  u32 have = at >= width ? 0 : n < width - at ? n : width - at, top = at + n - 1 < width ? at + n - 1 : width - 1;
  bool negative = (T)-1 < 0 && (U)x >> top & 1;
  U bits = have ? (U)x >> at : 0;
  if (have < width) bits = negative ? bits | ~(U)0 << have : bits & (((U)1 << have) - 1);
  return (T)bits;
}
template <class T>
INLINE T insert_bits(T a, T b, u32 at, u32 n) {
  const u32 width = sizeof(T) * 8;
  at &= 255;
  n &= 255;
  if (!n || at >= width) return b;
  T mask = (n >= width ? ~(T)0 : (((T)1 << n) - 1)) << at;
  return (b & ~mask) | ((a << at) & mask);
}
INLINE u16 multiply_high(u16 a, u16 b) { return (u16)((u32)a * b >> 16); }
INLINE s16 multiply_high(s16 a, s16 b) { return (s16)((s32)a * b >> 16); }
INLINE u32 multiply_high(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }
INLINE s32 multiply_high(s32 a, s32 b) { return (s32)((s64)a * b >> 32); }
INLINE u64 multiply_high(u64 a, u64 b) { return (u64)((u128)a * b >> 64); }
INLINE s64 multiply_high(s64 a, s64 b) { return (s64)((s128)a * b >> 64); }
template <class T>
INLINE T divide(T a, T b) {
  return b == 0 ? (T)-1 : (T)-1 < 0 && b == (T)-1 ? (T)(0 - (typename unsigned_of<T>::type)a) : a / b;
}
template <class T>
INLINE T remainder(T a, T b) {
  return b == 0 ? a : (T)-1 < 0 && b == (T)-1 ? 0 : a % b;
}
template <class A, class B>
INLINE s64 dot_bytes(u32 a, u32 b) {
  s64 sum = 0;
  for (int i = 0; i < 4; i++) sum += (s64)(A)(a >> 8 * i) * (B)(b >> 8 * i);
  return sum;
}
template <class A, class B>
INLINE s64 dot_halves(u32 a, u32 b, bool high) {
  return (s64)(A)a * (B)(b >> 16 * high) + (s64)(A)(a >> 16) * (B)(b >> (16 * high + 8));
}

// ---- floats --------------------------------------------------------------------------------------------------------
INLINE f32 flush(f32 x) {
  u32 u = bits_as<u32>(x);
  return u & 0x7f800000u ? x : bits_as<f32>(u & 0x80000000u);
}
INLINE f32 saturate(f32 x) { return x > 0 ? (x < 1 ? x : 1.f) : 0.f; }
INLINE f64 saturate(f64 x) { return x > 0 ? (x < 1 ? x : 1.) : 0.; }
template <class T>
INLINE T lesser(T a, T b) {  // -0 is less than +0; a number beats a NaN
  if (a != a) return b;
  if (b != b) return a;
  return a < b || (a == b && __builtin_signbit(a)) ? a : b;
}
template <class T>
INLINE T greater(T a, T b) {
  if (a != a) return b;
  if (b != b) return a;
  return a > b || (a == b && !__builtin_signbit(a)) ? a : b;
}
template <class T>
INLINE T or_nan(T a, T b, T value) {
  return a != a || b != b ? (T)__builtin_nan("") : value;
}
INLINE u32 to_tf32(f32 x) {
  u32 u = bits_as<u32>(x);
  return x != x ? 0x7fffffffu : (u + 0x1000u) & 0xffffe000u;
}
template <class T>
INLINE T to_integer(f64 x) {  // saturates; NaN gives 0
  if (x != x) return 0;
  const bool is_signed = (T)-1 < 0;
  const u32 bits = sizeof(T) * 8;
  const f64 high = (f64)((u64)1 << (bits - 1)) * (is_signed ? 1 : 2), low = is_signed ? -high : 0;
  typedef typename unsigned_of<T>::type U;
  if (x <= low) return (T)(is_signed ? (U)1 << (bits - 1) : 0);
  if (x >= high) return (T)(is_signed ? (U) ~((U)1 << (bits - 1)) : (U) ~(U)0);
  return (T)x;
}
template <class T, class S>
INLINE T clamp_integer(S x) {
  const s128 high = (T)-1 < 0 ? ((s128)1 << (sizeof(T) * 8 - 1)) - 1 : ((s128)1 << sizeof(T) * 8) - 1;
  const s128 low = (T)-1 < 0 ? -((s128)1 << (sizeof(T) * 8 - 1)) : 0;
  return (s128)x < low ? (T)low : (s128)x > high ? (T)high : (T)x;
}
