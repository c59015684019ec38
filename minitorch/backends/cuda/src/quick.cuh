// Approximate instructions of the special function unit, with the errors that the PTX ISA states for them.
#pragma once
#include "common.cuh"

__device__ __forceinline__ float quick_exp2(float x) {     // within 2^-22
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float quick_reciprocal(float x) {               // within 2^-23
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float quick_root(float x) {     // within 2^-22
  float y;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
