// What is included before the first line of every kernel source: the headers of 16-bit floats where they are needed (they
// cost compile time), and the types T, U and V of this specialisation, which the launcher names.
#pragma once
#ifdef NEEDS_FP16
#include <cuda_fp16.h>
#endif
#ifdef NEEDS_BF16
#include <cuda_bf16.h>
#endif
#ifdef TYPE_T
typedef TYPE_T T;
#endif
#ifdef TYPE_U
typedef TYPE_U U;
#endif
#ifdef TYPE_V
typedef TYPE_V V;
#endif
