// What is computed for one element: a line for each operation. The skeletons in elementwise.cu are compiled with one of
// these at a time (-DOP=name).
//
// x, y, z are the operands in the type that they are computed in (float for 16-bit floats), a and b numbers given with
// the launch. The result is converted to the type of the output.
#pragma once
#include "normal.cuh"

#define UNARY(name, ...)                                                                                     \
  struct name {                                                                                              \
    template <class C> __device__ __forceinline__ auto operator()(C x, C a, C b) const { return __VA_ARGS__; } \
  };
#define BINARY(name, ...)                                                              \
  struct name {                                                                        \
    template <class C, class D>                                                        \
    __device__ __forceinline__ auto operator()(C x, D y, C a, C b) const {             \
      return __VA_ARGS__;                                                              \
    }                                                                                  \
  };
#define TERNARY(name, ...)                                                             \
  struct name {                                                                        \
    template <class C, class D>                                                        \
    __device__ __forceinline__ auto operator()(C x, D y, C z, C a, C b) const {        \
      return __VA_ARGS__;                                                              \
    }                                                                                  \
  };

namespace op {

// ---- helpers ---------------------------------------------------------------------------------------------------
template <class C> constexpr bool floats = is_floating<C>::value;
template <class C> constexpr bool is_signed = C(-1) < C(0);

// The highest and the lowest value of a type.
template <class C> __device__ __forceinline__ C highest() {
  if constexpr (sizeof(C) == 4 && floats<C>) return __int_as_float(0x7f800000);
  else if constexpr (floats<C>) return __longlong_as_double(0x7ff0000000000000ll);
  else if constexpr (is_signed<C>) return static_cast<C>((1ull << (8 * sizeof(C) - 1)) - 1);
  else return static_cast<C>(~0ull);
}
template <class C> __device__ __forceinline__ C lowest() {
  if constexpr (floats<C>) return -highest<C>();
  else if constexpr (is_signed<C>) return static_cast<C>(1ull << (8 * sizeof(C) - 1));
  else return C(0);
}

template <class C> __device__ __forceinline__ C magnitude(C x) {
  if constexpr (floats<C>) return fabs(x);
  else if constexpr (is_signed<C>) return x < C(0) ? -x : x;
  else return x;
}
template <class C> __device__ __forceinline__ C greater_of(C x, C y) { return x > y || x != x ? x : y; }   // NaN wins
template <class C> __device__ __forceinline__ C lesser_of(C x, C y) { return x < y || x != x ? x : y; }

// Python's remainder: with the sign of y. Of integers divided by 0 it is 0, as NumPy's.
template <class C> __device__ __forceinline__ C modulo(C x, C y) {
  if constexpr (floats<C>) {
    C rest = fmod(x, y);
    if (rest == C(0)) return copysign(C(0), y);
    return (y < C(0)) != (rest < C(0)) ? rest + y : rest;
  } else {
    if (y == C(0) || y == C(-1)) return is_signed<C> || y == C(0) ? C(0) : C(x % y);
    C rest = x % y;
    return rest != C(0) && (y < C(0)) != (rest < C(0)) ? rest + y : rest;
  }
}
// Python's division, rounded down. Of integers divided by 0 it is 0, as NumPy's.
template <class C> __device__ __forceinline__ C floor_quotient(C x, C y) {
  if constexpr (floats<C>) {
    if (y == C(0)) return x / y;
    C rest = fmod(x, y), quotient = (x - rest) / y;
    if (rest != C(0) && (y < C(0)) != (rest < C(0))) quotient -= C(1);
    if (quotient == C(0)) return copysign(C(0), x / y);
    C whole = floor(quotient);
    return quotient - whole > C(0.5) ? whole + C(1) : whole;
  } else {
    if (y == C(0)) return C(0);
    if (is_signed<C> && y == C(-1)) return -x;
    C quotient = x / y;
    return quotient * y != x && (x < C(0)) != (y < C(0)) ? quotient - 1 : quotient;
  }
}
template <class C> __device__ __forceinline__ C raised(C x, C y) {
  if constexpr (floats<C>) {
    return pow(x, y);
  } else {
    if (y < C(0)) return x == C(1) ? C(1) : x == C(-1) ? (y % 2 ? C(-1) : C(1)) : C(0);
    C result = 1;
    for (; y; y >>= 1) {
      if (y & 1) result *= x;
      x *= x;
    }
    return result;
  }
}
template <class C> __device__ __forceinline__ C c_remainder(C x, C y) {
  if constexpr (floats<C>) return fmod(x, y);
  else return y == C(0) || (is_signed<C> && y == C(-1)) ? C(0) : C(x % y);
}
template <class C> __device__ __forceinline__ C log_of_sum(C x, C y) {
  return x == y ? x + C(0.6931471805599453) : greater_of(x, y) + log1p(exp(-fabs(x - y)));
}
template <class C> __device__ __forceinline__ C log2_of_sum(C x, C y) {
  return x == y ? x + C(1) : greater_of(x, y) + log1p(exp2(-fabs(x - y))) * C(1.4426950408889634);
}
template <class C> __device__ __forceinline__ C bent(C size, C a) {
  C near = lesser_of(size, a);
  return near * (size - near * C(0.5));
}
template <class C> __device__ __forceinline__ C soft_plus(C x) { return log1p(exp(-fabs(x))) + greater_of(x, C(0)); }
template <class C> __device__ __forceinline__ C silu_slope(C x) {
  C s = logistic(x);
  return s * (C(1) + x * (C(1) - s));
}
// x where `condition` holds, else 0, also where x is infinite or NaN.
template <class C> __device__ __forceinline__ C kept(C x, bool condition) { return condition ? x : C(0); }

// ---- one operand -----------------------------------------------------------------------------------------------
UNARY(identity, x)
UNARY(tf32, to_tf32(x))
UNARY(negative, C(-x))
UNARY(absolute, magnitude(x))
UNARY(sign, x != x ? x : C((x > C(0)) - (x < C(0))))
UNARY(square, C(x * x))
UNARY(reciprocal, C(1) / x)
UNARY(sqrt_of, sqrt(x))
UNARY(rsqrt_of, C(1) / sqrt(x))
UNARY(exp_of, exp(x))
UNARY(exp2_of, exp2(x))
UNARY(expm1_of, expm1(x))
UNARY(log_of, log(x))
UNARY(log2_of, log2(x))
UNARY(log10_of, log10(x))
UNARY(log1p_of, log1p(x))
UNARY(sin_of, sin(x))
UNARY(cos_of, cos(x))
UNARY(tan_of, tan(x))
UNARY(asin_of, asin(x))
UNARY(acos_of, acos(x))
UNARY(atan_of, atan(x))
UNARY(sinh_of, sinh(x))
UNARY(cosh_of, cosh(x))
UNARY(tanh_of, tanh(x))
UNARY(asinh_of, asinh(x))
UNARY(acosh_of, acosh(x))
UNARY(atanh_of, atanh(x))
UNARY(floor_of, floor(x))
UNARY(ceil_of, ceil(x))
UNARY(trunc_of, trunc(x))
UNARY(rint_of, rint(x))
UNARY(is_nan, x != x)
UNARY(is_inf, x == x && x - x != C(0))
UNARY(is_finite, x - x == C(0))
UNARY(sign_bit, signbit(x) != 0)
UNARY(logical_not, !x)
UNARY(invert, ~x)
UNARY(erf_of, erf(x))
UNARY(erfc_of, erfc(x))

// activations
UNARY(sigmoid, logistic(x))
UNARY(relu, x > C(0) || x != x ? x : C(0))
UNARY(silu, x * logistic(x))
UNARY(gelu, x * normal_cdf(x))
UNARY(gelu_tanh, x * gelu_gate(x))
UNARY(leaky_relu, x > C(0) ? x : x * a)
UNARY(threshold, x <= a ? b : x)
UNARY(softplus, x * a > b ? x : soft_plus(x * a) / a)
UNARY(logsigmoid, lesser_of(x, C(0)) - log1p(exp(-fabs(x))))
UNARY(mish, x * tanh(soft_plus(x)))
UNARY(hardsigmoid, lesser_of(greater_of(x + C(3), C(0)), C(6)) * C(1.0 / 6))
UNARY(hardswish, x * (lesser_of(greater_of(x + C(3), C(0)), C(6)) * C(1.0 / 6)))
UNARY(clamp_to_numbers, lesser_of(greater_of(x, a), b))

// ---- two operands ----------------------------------------------------------------------------------------------
BINARY(add, C(x + y))
BINARY(subtract, C(x - y))
BINARY(multiply, C(x * y))
BINARY(true_divide, x / y)
BINARY(floor_divide, floor_quotient<C>(x, y))
BINARY(remainder, modulo<C>(x, y))
BINARY(fmod_of, c_remainder<C>(x, y))
BINARY(power, raised<C>(x, y))
BINARY(maximum, greater_of<C>(x, y))
BINARY(minimum, lesser_of<C>(x, y))
BINARY(fmax_of, x > y || y != y ? x : C(y))
BINARY(fmin_of, x < y || y != y ? x : C(y))
BINARY(atan2_of, atan2(x, C(y)))
BINARY(hypot_of, hypot(x, C(y)))
BINARY(copysign_of, copysign(x, C(y)))
BINARY(logaddexp, log_of_sum<C>(x, y))
BINARY(logaddexp2, log2_of_sum<C>(x, y))
BINARY(equal, x == y)
BINARY(not_equal, x != y)
BINARY(less, x < y)
BINARY(less_equal, x <= y)
BINARY(greater, x > y)
BINARY(greater_equal, x >= y)
BINARY(logical_and, bool(x) && bool(y))
BINARY(logical_or, bool(x) || bool(y))
BINARY(logical_xor, bool(x) != bool(y))
BINARY(bitwise_and, C(x & y))
BINARY(bitwise_or, C(x | y))
BINARY(bitwise_xor, C(x ^ y))
BINARY(left_shift, y < 0 || y >= D(8 * sizeof(C)) ? C(0) : C(x << y))
BINARY(right_shift, y < 0 || y >= D(8 * sizeof(C)) ? C(x < C(0) ? -1 : 0) : C(x >> y))

// masks: y is a bool or a gate
BINARY(keep, kept(x, bool(y)))
BINARY(elu, x > C(0) ? x * b : a * expm1(x * y))
BINARY(prelu, x > C(0) ? x : x * y)
BINARY(keep_above, kept(x, !(y <= a)))

// backward passes: x is the gradient of the output, y the input
BINARY(silu_backward, x * silu_slope<C>(y))
BINARY(gelu_backward, x * normal_cdf_slope<C>(y))
BINARY(gelu_tanh_backward, x * gelu_tanh_slope<C>(y))

// The losses of pairs, x the prediction and y the target; the bent one is a parabola up to a, then straight, times b.
BINARY(squared_difference, square()(C(x - C(y)), a, b))
BINARY(bent_difference, bent(magnitude(C(x - C(y))), a) * b)
BINARY(log_loss_of_logit, (C(1) - C(y)) * x + (log1p(exp(-fabs(x))) - lesser_of(x, C(0))))
BINARY(log_loss, (C(y) - C(1)) * greater_of(log1p(-x), C(-100)) - C(y) * greater_of(log(x), C(-100)))

// chains: a bias, then an activation
BINARY(bias_relu, relu()(C(x + y), a, b))
BINARY(bias_gelu, gelu()(C(x + y), a, b))
BINARY(bias_gelu_tanh, gelu_tanh()(C(x + y), a, b))
BINARY(bias_silu, silu()(C(x + y), a, b))

// ---- three operands --------------------------------------------------------------------------------------------
TERNARY(where, bool(y) ? x : z)                            // y: the condition
TERNARY(clip, lesser_of<C>(greater_of<C>(x, y), z))
TERNARY(addcmul, x + a * (y * z))
TERNARY(addcdiv, x + (a * y) / z)
TERNARY(lerp, fabs(z) < C(0.5) ? x + z * (y - x) : y - (y - x) * (C(1) - z))
TERNARY(bias_gelu_backward, gelu_backward()(x, C(y + z), a, b))            // x: the gradient, y + z: what gelu was given
TERNARY(bias_gelu_tanh_backward, gelu_tanh_backward()(x, C(y + z), a, b))
TERNARY(bias_silu_backward, silu_backward()(x, C(y + z), a, b))

}  // namespace op
