// Kernels with one mistake each. Above each: the error that the simulator must raise, and how it is launched. The line
// that the error must name ends in "here".

__constant__ float table[2] = {1, 2};
__device__ int count;
__device__ __noinline__ float deep(int n) {
  volatile float a[64];
  for (int k = 0; k < 64; k++) a[k] = n;
  return n > 1000000 ? 0 : deep(n + 1) + a[n & 63];
}
#define WAIT(bar, phase)                                                                                          \
  asm volatile(                                                                                                   \
      "{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again; }" ::"r"(bar), \
      "r"(phase)                                                                                                  \
      : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory")

// Race: grid 1, block 256, shared 0
extern "C" __global__ void missing_barrier(float* x, float* y, int n) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = x[t];
  y[t] = s[255 - t];  // here
}

// Race: grid 1, block 256, shared 0
extern "C" __global__ void missing_barrier_one_way(float* x, float* y, int n) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = x[t];
  y[t] = s[t ? t - 1 : 0];  // here
}

// Race: grid 1, block 256, shared 0
extern "C" __global__ void missing_second_barrier(float* x, float* y, int n) {
  __shared__ float s[256];
  int t = threadIdx.x;
  float v = 0;
  for (int k = 0; k < 3; k++) {
    s[t] = x[t] + k;  // here
    __syncthreads();
    v += s[255 - t];
  }
  y[t] = v;
}

// Race: grid 1, block 32, shared 0
extern "C" __global__ void warp_without_syncwarp(float* x, float* y, int n) {
  __shared__ float s[32];
  int t = threadIdx.x;
  s[t] = x[t];
  if (t < 16)
    s[t] += s[t + 16];  // here
  y[t] = s[0];
}

// Race: grid 1, block 32, shared 0
extern "C" __global__ void shuffle_is_no_barrier(float* x, float* y, int n) {
  __shared__ float s[32];
  int t = threadIdx.x;
  s[t] = x[t];
  float v = __shfl_xor_sync(~0u, s[t], 1);
  y[t] = v + s[31 - t];  // here
}

// OutOfBounds: grid 1, block 256, shared 0
extern "C" __global__ void read_past_end(float* x, float* y, int n) {
  int t = threadIdx.x;
  y[t] = x[t + 1];  // here
}

// OutOfBounds: grid 2, block 256, shared 0
extern "C" __global__ void write_past_end(float* x, float* y, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t <= n) x[t] = 1;  // here
}

// OutOfBounds: grid 1, block 256, shared 0
extern "C" __global__ void negative_index(float* x, float* y, int n) {
  x[(int)threadIdx.x - 1] = 1;  // here
}

// OutOfBounds: grid 1, block 32, shared 0
extern "C" __global__ void null_pointer(float* x, float* y, int n) {
  float* p = (float*)(long long)(n - 256);
  p[threadIdx.x] = 1;  // here
}

// OutOfBounds: grid 1, block 32, shared 0
extern "C" __global__ void wild_pointer(float* x, float* y, int n) {
  float* p = x + (1ll << 44) * (n > 0);
  p[threadIdx.x] = 1;  // here
}

// OutOfBounds: grid 1, block 32, shared 0
extern "C" __global__ void atomic_past_end(float* x, float* y, int n) {
  atomicAdd(&x[n + threadIdx.x], 1.f);  // here
}

// Misaligned: grid 1, block 16, shared 0
extern "C" __global__ void misaligned_vector(float* x, float* y, int n) {
  int t = threadIdx.x;
  float4 v = *(float4*)(x + 1 + t * 4);  // here
  y[t] = v.x + v.y + v.z + v.w;
}

// DivergentBarrier: grid 1, block 256, shared 0
extern "C" __global__ void barrier_in_branch(float* x, float* y, int n) {
  int t = threadIdx.x;
  if (t < 100) {
    x[t] = 1;
    __syncthreads();
  } else {
    x[t] = 2;
    __syncthreads();
    y[0] = 1;
  }
}

// DivergentBarrier: grid 1, block 256, shared 0
extern "C" __global__ void return_before_barrier(float* x, float* y, int n) {
  int t = threadIdx.x;
  if (t >= n - 56) return;
  __syncthreads();  // here
  x[t] = 1;
}

// DivergentBarrier: grid 1, block 64, shared 0
extern "C" __global__ void shuffle_after_exit(float* x, float* y, int n) {
  int t = threadIdx.x;
  if (t >= n - 206) return;
  float v = x[t];
  v += __shfl_xor_sync(~0u, v, 16);  // here
  x[t] = v;
}

// DivergentBarrier: grid 1, block 32, shared 0
extern "C" __global__ void shuffle_in_branch(float* x, float* y, int n) {
  int t = threadIdx.x;
  float v = x[t];
  if (t & 1) v += __shfl_xor_sync(~0u, v, 2);
  x[t] = v;
}

// DivergentBarrier: grid 1, block 32, shared 0
extern "C" __global__ void shuffle_from_outside_mask(float* x, float* y, int n) {
  int t = threadIdx.x;
  float v = x[t];
  if (t < 16)  v += __shfl_down_sync(0xffffu, v, 8);  // here
  x[t] = v;
}

// DivergentBarrier: grid 1, block 32, shared 0
extern "C" __global__ void lane_not_in_mask(float* x, float* y, int n) {
  y[threadIdx.x] = __shfl_sync(0xffu, x[threadIdx.x], 0);  // here
}

// Uninitialised: grid 1, block 256, shared 0
extern "C" __global__ void unwritten_shared(float* x, float* y, int n) {
  __shared__ float s[256];
  int t = threadIdx.x;
  if (t < 128) s[t] = x[t];
  __syncthreads();
  y[t] = s[t];  // here
}

// Uninitialised: grid 1, block 32, shared 0
extern "C" __global__ void unwritten_global(float* x, float* y, int n) {
  x[threadIdx.x] += y[threadIdx.x];  // here
}

// Uninitialised: grid 1, block 32, shared 0
extern "C" __global__ void atomic_on_unwritten(float* x, float* y, int n) {
  atomicAdd(y, x[threadIdx.x]);  // here
}

// OutOfBounds: grid 1, block 256, shared 0
extern "C" __global__ void static_shared_overrun(float* x, float* y, int n) {
  __shared__ float s[8][33];
  __shared__ float other[64];
  int t = threadIdx.x;
  other[t & 63] = 0;
  s[t / 32][t % 32 + 2 * (t == 255)] = x[t];  // here
  __syncthreads();
  y[t] = s[t / 32][t % 32] + other[t & 63];
}

// OutOfBounds: grid 1, block 256, shared 1020
extern "C" __global__ void dynamic_shared_overrun(float* x, float* y, int n) {
  extern __shared__ float d[];
  d[threadIdx.x] = 1;  // here
  __syncthreads();
  y[threadIdx.x] = d[255 - threadIdx.x];
}

// OutOfBounds: grid 1, block 32, shared 0
extern "C" __global__ void local_array_overrun(float* x, float* y, int n) {
  float a[4];
  for (int k = 0; k < 4; k++) a[k] = x[k];
  float s = 0;
  for (int k = 0; k < n; k++) s += a[(k * 3) % 5];
  y[threadIdx.x] = s;
}

// Race: grid 4, block 1, shared 0
extern "C" __global__ void blocks_write_one_cell(float* x, float* y, int n) {
  x[0] += 1;  // here
}

// Race: grid 1, block 256, shared 0
extern "C" __global__ void scatter_without_atomics(float* x, float* y, int n) {
  int t = threadIdx.x;
  x[t / 2] += 1;  // here
}

// Race: grid 8, block 32, shared 0
extern "C" __global__ void reads_what_a_block_wrote(float* x, float* y, int n) {
  if (threadIdx.x == 0)
    x[blockIdx.x + 1] = x[blockIdx.x] + 2;  // here
}

// Race: grid 1, block 32, shared 0
extern "C" __global__ void plain_and_atomic(float* x, float* y, int n) {
  atomicAdd(x, 1.f);
  if (threadIdx.x == 3) x[0] = 2;
}

// Race: grid 4, block 32, shared 0
extern "C" __global__ void last_block_without_fence(float* x, float* y, int n) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    y[blockIdx.x] = x[blockIdx.x];
    last = atomicAdd(&count, 1) == 3;
  }
  __syncthreads();
  if (last)
    y[4 + threadIdx.x] = y[threadIdx.x % 4];  // here
}

// Race: grid 1, block 64, shared 0
extern "C" __global__ void copy_not_waited_for(float* x, float* y, int n) {
  __shared__ __align__(16) float s[256];
  int t = threadIdx.x;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(s + 4 * t)),
               "l"(x + 4 * t)
               : "memory");
  asm volatile("cp.async.commit_group;");
  __syncthreads();
  y[t] = s[t];  // here
}

// Race: grid 1, block 64, shared 0
extern "C" __global__ void copy_waited_for_but_no_barrier(float* x, float* y, int n) {
  __shared__ __align__(16) float s[256];
  int t = threadIdx.x;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(s + 4 * t)),
               "l"(x + 4 * t)
               : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  y[t] = s[255 - t];  // here
}

// Deadlock: grid 1, block 64, shared 0
extern "C" __global__ void waits_for_too_few(float* x, float* y, int n) {
  int t = threadIdx.x;
  if (t < 32) { asm volatile("bar.sync 1, 96;" ::: "memory"); }
  x[t] = 1;
}

// Deadlock: grid 1, block 32, shared 0
extern "C" __global__ void barrier_and_warp_wait_crosswise(float* x, float* y, int n) {
  int t = threadIdx.x;
  if (t < 16)
    __syncthreads();
  else
    __syncwarp();
  x[t] = 1;
}

// Deadlock: grid 1, block 1, shared 0
extern "C" __global__ void endless_loop(float* x, float* y, int n) {
  volatile float* p = x;
  while (p[0] >= 0)  // here
    p[1] = 2;
}

// Trap: grid 1, block 32, shared 0
extern "C" __global__ void assertion(float* x, float* y, int n) {
  assert(x[threadIdx.x] < 30);  // here
}

// Trap: grid 1, block 32, shared 0
extern "C" __global__ void trap(float* x, float* y, int n) {
  if (x[threadIdx.x] > 20)
    __trap();  // here
}

// OutOfBounds: grid 1, block 1, shared 0
extern "C" __global__ void writes_a_constant(float* x, float* y, int n) {
  asm volatile("st.global.f32 [%0], %1;" ::"l"(&table[n & 1]), "f"(x[0]));
}

// OutOfBounds: grid 1, block 1, shared 0
extern "C" __global__ void stack_overflow(float* x, float* y, int n) {
  y[0] = deep(n);
}

// Uninitialised: grid 1, block 32, shared 0
extern "C" __global__ void mbarrier_not_initialised(float* x, float* y, int n) {
  __shared__ unsigned long long b;
  asm volatile(
      "mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"((unsigned)__cvta_generic_to_shared(&b)) : "memory");  // here
}

// Deadlock: grid 1, block 32, shared 0
extern "C" __global__ void too_many_arrivals(float* x, float* y, int n) {
  __shared__ unsigned long long b;
  unsigned a = __cvta_generic_to_shared(&b);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 6;" ::"r"(a) : "memory");
  __syncthreads();
  asm volatile("{ .reg .b64 s; mbarrier.arrive.noComplete.shared::cta.b64 s, [%0], 4; }" ::"r"(a) : "memory");
}

// Race: grid 1, block 64, shared 0
extern "C" __global__ void bulk_store_without_proxy_fence(float* x, float* y, int n) {
  __shared__ __align__(16) float s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  if (t == 0) {
    unsigned from = __cvta_generic_to_shared(s);
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(y), "r"(from) : "memory");  // here
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

// Race: grid 1, block 64, shared 0
extern "C" __global__ void overwrites_what_is_being_stored(float* x, float* y, int n) {
  __shared__ __align__(16) float s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    unsigned from = __cvta_generic_to_shared(s);
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(y), "r"(from) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  }
  __syncthreads();
  s[t] = 0;  // here
  if (t == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// ---- correct kernels: no alarm ----

// Correct: grid 1, block 256, shared 0
extern "C" __global__ void reverse_through_shared(float* x, float* y, int n) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  y[t] = s[255 - t];
}

// Correct: grid 1, block 32, shared 0
extern "C" __global__ void with_syncwarp(float* x, float* y, int n) {
  __shared__ float s[32];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncwarp();
  float v = 0;
  if (t < 16) v = s[t] + s[t + 16];
  __syncwarp();
  if (t < 16) s[t] = v;
  __syncwarp();
  y[t] = s[t & 15];
}

// Correct: grid 1, block 256, shared 0
extern "C" __global__ void atomics_collide(float* x, float* y, int n) {
  int t = threadIdx.x;
  y[t] = 0;
  __syncthreads();
  atomicAdd(&y[t / 4], 1.f);
}

// Correct: grid 1, block 256, shared 0
extern "C" __global__ void same_value_twice(float* x, float* y, int n) {
  int t = threadIdx.x;
  y[t % 16] = 5;
  if (t >= 16) y[t] = 5;
}

// Correct: grid 1, block 256, shared 0
extern "C" __global__ void bytes_side_by_side(float* x, float* y, int n) {
  __shared__ char s[256];
  int t = threadIdx.x;
  s[t] = t;
  __syncthreads();
  y[t] = s[t ^ 1];
}

// Correct: grid 4, block 256, shared 0
extern "C" __global__ void global_bytes_side_by_side(float* x, float* y, int n) {
  int t = threadIdx.x;
  ((char*)y)[blockIdx.x * 256 + t] = t;
}

// Correct: grid 1, block 128, shared 0
extern "C" __global__ void named_barrier_pipeline(float* x, float* y, int n) {
  __shared__ float s[64];
  int t = threadIdx.x;
  for (int k = 0; k < 4; k++) {
    if (t < 64) {
      if (k) asm volatile("bar.sync 2, 128;" ::: "memory");
      s[t] = x[64 * k + t];
      asm volatile("bar.arrive 1, 128;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 128;" ::: "memory");
      y[64 * k + t - 64] = s[127 - t];
      if (k < 3) asm volatile("bar.arrive 2, 128;" ::: "memory");
    }
  }
}

// Correct: grid 1, block 96, shared 0
extern "C" __global__ void two_consumers_of_an_mbarrier(float* x, float* y, int n) {
  __shared__ float s[32];
  __shared__ unsigned long long full, empty;
  int t = threadIdx.x;
  unsigned f = __cvta_generic_to_shared(&full), e = __cvta_generic_to_shared(&empty);
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(f) : "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" ::"r"(e) : "memory");
  }
  __syncthreads();
  for (int k = 0; k < 8; k++) {
    if (t < 32) {
      if (k) WAIT(e, (k - 1) & 1);
      s[t] = x[32 * k + t];
      ARRIVE(f);
    } else {
      WAIT(f, k & 1);
      float v = s[t & 31];
      ARRIVE(e);
      if (t < 64) y[32 * k + t - 32] = v;
    }
  }
}

// Correct: grid 4, block 64, shared 0
extern "C" __global__ void fenced_last_block(float* x, float* y, int n) {
  __shared__ bool last;
  int t = threadIdx.x;
  y[64 * blockIdx.x + t] = 1;
  __threadfence();
  __syncthreads();
  if (t == 0) last = atomicAdd(&count, 1) == 3;
  __syncthreads();
  if (last) {
    float v = 0;
    __threadfence();
    for (int b = 0; b < 4; b++) v += y[64 * b + t];
    __syncthreads();
    y[t] = v;
  }
}
