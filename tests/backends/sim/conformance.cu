// Kernels of the conformance suite that are not made from a pattern: conformance_kernels.py has their inputs and results.
// Each takes its inputs, the output and its size.

extern "C" __global__ void vector_loads(const float4* x, float2* out, int n) {
  int i = threadIdx.x;
  float4 v = x[i];
  out[2 * i] = make_float2(v.w, v.z);
  out[2 * i + 1] = make_float2(v.y, v.x);
}

extern "C" __global__ void byte_vectors(const char4* x, short4* out, int n) {
  char4 v = x[threadIdx.x];
  out[threadIdx.x] = make_short4(v.x, v.y, v.z * 2, v.w);
}

extern "C" __global__ void double_vectors(const double2* x, double* out, int n) {
  double2 v = __ldg(x + threadIdx.x);
  out[threadIdx.x] = v.x - v.y;
}

extern "C" __global__ void bool_bytes(const bool* x, const unsigned char* y, bool* out, int n) {
  int i = threadIdx.x;
  out[i] = x[i] != (y[i] > 100);
}

__constant__ float table[8] = {1, 2, 4, 8, 16, 32, 64, 128};
__device__ int offsets[4] = {3, 1, 2, 0};
extern "C" __global__ void constants(float* out, int n) {
  out[threadIdx.x] = table[threadIdx.x & 7] + offsets[threadIdx.x & 3];
}

extern "C" __global__ void local_array(const float* x, float* out, int n) {
  float a[16];
  for (int k = 0; k < 16; k++) a[(k * 5) & 15] = x[k] * threadIdx.x;
  float s = 0;
  for (int k = 0; k < n; k++) s += a[(k + threadIdx.x) & 15] * k;
  out[threadIdx.x] = s;
}

extern "C" __global__ void shared_static_and_dynamic(const int* x, int* out, int n) {
  __shared__ int a[64];
  __shared__ char c[3];
  extern __shared__ int b[];
  int i = threadIdx.x;
  a[i] = x[i];
  b[63 - i] = 2 * x[i];
  if (i < 3) c[i] = i;
  __syncthreads();
  out[i] = a[(i + 1) & 63] + b[i] + c[i % 3];
}

extern "C" __global__ void special_registers(unsigned* out, int n) {
  unsigned b = blockIdx.x + gridDim.x * blockIdx.y,
           t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z), lane, below;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  out[b * 60 + t] = b * 1000 + t + (lane == (t & 31)) * 100000 + (__popc(below) == lane) * 200000;
}

__device__ __noinline__ int collatz(int n, int* steps) {
  *steps = 0;
  while (n > 1) {
    n = n & 1 ? 3 * n + 1 : n / 2;
    ++*steps;
  }
  return n;
}
extern "C" __global__ void device_function(const int* x, int* out, int n) {
  int s;
  int r = collatz(x[threadIdx.x], &s);
  out[threadIdx.x] = 1000 * r + s;
}

__device__ __noinline__ int fib(int n) {
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
extern "C" __global__ void recursion(int* out, int n) {
  out[threadIdx.x] = fib(threadIdx.x);
}

struct Pair {
  double a;
  short b;
  float c[3];
};
__device__ __noinline__ Pair twice(Pair p) {
  p.a *= 2;
  p.b *= 2;
  p.c[1] *= 2;
  return p;
}
extern "C" __global__ void struct_by_value(const float* x, float* out, int n) {
  Pair p = {x[0], 3, {x[1], x[2], x[3]}};
  p = twice(p);
  out[threadIdx.x] = p.a + p.b + p.c[threadIdx.x];
}

extern "C" __global__ void switches(int* out, int n) {
  int t = threadIdx.x, r;
  switch (t % 7) {
    case 0: r = 5; break;
    case 1: r = t; break;
    case 2: r = -t; break;
    case 3: r = t * t; break;
    case 4: r = 1; break;
    case 5: r = t / 2; break;
    default: r = 9;
  }
  out[t] = r;
}

extern "C" __global__ void atomic_exchange(int* out, int n) {
  if (threadIdx.x == 0) out[0] = 7;
  __syncthreads();
  if (threadIdx.x == 5) out[1] = atomicExch(out, 9);
  __syncthreads();
  if (threadIdx.x == 6) {
    out[2] = atomicCAS(out, 9, 11);
    out[3] = atomicCAS(out, 9, 12);
  }
  __syncthreads();
  if (threadIdx.x == 7) {
    out[4] = atomicInc((unsigned*)out, 20);
    out[5] = atomicDec((unsigned*)out, 5);
  }
}

__device__ void grow(float* p, float v) {
  int old = __float_as_int(*(volatile float*)p), seen;
  do {
    seen = old;
    if (__int_as_float(seen) >= v) return;
    old = atomicCAS((int*)p, seen, __float_as_int(v));
  } while (old != seen);
}
extern "C" __global__ void atomic_max_by_cas(float* out, int n) {
  __shared__ float s;
  if (threadIdx.x == 0) s = 0;
  __syncthreads();
  for (int t = 0; t < 32; t++) {
    if (threadIdx.x == t) grow(&s, (t * 7) % 32);
    __syncwarp();
  }
  out[threadIdx.x] = s;
}

extern "C" __global__ void atomic_cas_64(unsigned long long* out, int n) {
  out[threadIdx.x] = threadIdx.x;
  unsigned long long old = atomicCAS(out + threadIdx.x, 3ull, 1ull << 40);
  out[threadIdx.x] += old;
}

extern "C" __global__ void shuffle_double(const double* x, double* out, int n) {
  out[threadIdx.x] = __shfl_xor_sync(~0u, x[threadIdx.x], 1);
}

extern "C" __global__ void partial_mask(const int* x, int* out, int n) {
  int t = threadIdx.x, v = x[t];
  if (threadIdx.x < 16) v = __shfl_xor_sync(0xffffu, v, 15);
  out[t] = v;
}

extern "C" __global__ void votes(const int* x, int* out, int n) {
  int t = threadIdx.x;
  bool p = x[t] > 0;
  out[t] =
      (int)__ballot_sync(~0u, p) ^ (__any_sync(~0u, x[t] > 1000) ? 1 : 0) ^ (__all_sync(~0u, x[t] > -1000) ? 2 : 0);
}

extern "C" __global__ void match(const int* x, unsigned* out, int n) {
  int p;
  out[threadIdx.x] = __match_any_sync(~0u, x[threadIdx.x] & 3);
  out[threadIdx.x] += __match_all_sync(~0u, 5, &p) + p;
}

extern "C" __global__ void reduce_bits(const unsigned* x, unsigned* out, int n) {
  unsigned v = x[threadIdx.x];
  out[threadIdx.x] = __reduce_and_sync(~0u, v) * 3 + __reduce_or_sync(~0u, v) * 5 + __reduce_xor_sync(~0u, v) * 7 +
                     __reduce_max_sync(~0u, v);
}

extern "C" __global__ void elect(unsigned* out, int n) {
  unsigned r, p;
  asm volatile("{ .reg .pred p; elect.sync %0|p, 0xffffffff; selp.u32 %1, 1, 0, p; }" : "=r"(r), "=r"(p));
  out[threadIdx.x] = r * 10 + p + __activemask() % 7;
}

extern "C" __global__ void warp_sum(const int* x, int* out, int n) {
  int v = x[threadIdx.x];
  for (int k = 16; k; k >>= 1) v += __shfl_down_sync(~0u, v, k);
  if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = v;
}

extern "C" __global__ void barrier_reductions(const int* x, int* out, int n) {
  int p = x[threadIdx.x], a = __syncthreads_count(p), b = __syncthreads_and(p), c = __syncthreads_or(p);
  out[threadIdx.x] = 100 * a + 10 * (b != 0) + (c != 0);
}

extern "C" __global__ void named_barriers(int* out, int n) {
  __shared__ int s[128];
  int t = threadIdx.x, half = t / 64;
  s[t] = t;
  asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
  out[t] = s[half * 64 + 63 - t % 64];
}

extern "C" __global__ void arrive_and_sync(int* out, int n) {
  __shared__ int s[32];
  int t = threadIdx.x;
  if (t < 32) {
    s[t] = 3 * t;
    asm volatile("bar.arrive 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[t - 32] = s[t - 32];
  }
}

__device__ unsigned arrived;
extern "C" __global__ void last_block(const int* x, int* out, int n) {
  __shared__ bool last;
  int t = threadIdx.x, b = blockIdx.x;
  if (t == 0) {
    int s = 0;
    for (int k = 0; k < 32; k++) s += x[32 * b + k];
    out[1 + b] = s;
    __threadfence();
    last = atomicAdd(&arrived, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t == 0) {
    __threadfence();
    int s = 0;
    for (int k = 0; k < gridDim.x; k++) s += ((volatile int*)out)[1 + k];
    out[0] = s;
    arrived = 0;
  }
}

extern "C" __global__ void movmatrix(const unsigned* x, unsigned* out, int n) {
  unsigned r;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(x[threadIdx.x]));
  out[threadIdx.x] = r;
}

extern "C" __global__ void mbarrier(const float* x, float* out, int n) {
  __shared__ __align__(16) float s[256];
  __shared__ unsigned long long bar;
  int t = threadIdx.x;
  unsigned b = __cvta_generic_to_shared(&bar), a = __cvta_generic_to_shared(s);
  if (t == 0)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(b) : "memory");
  __syncthreads();
  if (t == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(b) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" ::"r"(a),
                 "l"(x), "r"(b)
                 : "memory");
  }
  asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra again; }" ::"r"(b)
               : "memory");
  out[t] = s[255 - t];
}

extern "C" __global__ void bulk_store(float* out, int n) {
  __shared__ __align__(16) float s[64];
  int t = threadIdx.x;
  s[t] = t;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(out),
                 "r"((unsigned)__cvta_generic_to_shared(s))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
