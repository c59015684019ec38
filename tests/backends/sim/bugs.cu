// Kernels with one mistake each. Above each: the error that the simulator must raise, and how it is launched. The line
// that the error must name ends in "here".

__constant__ float table[2] = {1, 2};
__device__ int count, arrived, flags[32];
__device__ float carries[32];
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
    p[1] = p[1] + 2;
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

// Race: grid 1, block 256, shared 0
extern "C" __global__ void read_only_cache_of_own_writes(float* x, float* y, int n) {
  int t = threadIdx.x;
  y[t] = x[t];
  __syncthreads();
  x[t] = __ldg(y + 255 - t);  // here
}

// DivergentBarrier: grid 1, block 32, shared 0
extern "C" __global__ void active_mask_taken_for_the_branch(float* x, float* y, int n) {
  int t = threadIdx.x;
  float v = x[t];
  if (t < n - 240) {
    unsigned mask = __activemask();
    for (int k = 8; k; k >>= 1) v += __shfl_down_sync(mask, v, k);  // here
  }
  y[t] = v;
}

// OutOfBounds: grid 1, block 256, shared 0
extern "C" __global__ void index_overflows(float* x, float* y, int n) {
  int t = threadIdx.x, row = t * (n << 16);
  y[t] = x[(row * n & 0) + row * n];  // here
}

// OutOfBounds: grid 2, block 128, shared 0
extern "C" __global__ void unsigned_index_overflows(float* x, float* y, int n) {
  unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  y[t * ((unsigned)n * 16777217u)] = 1;  // here
}

// Deadlock: grid 4, block 32, shared 0
extern "C" __global__ void blocks_wait_in_a_ring(float* x, float* y, int n) {
  if (threadIdx.x == 0) {
    while (((volatile int*)flags)[(blockIdx.x + 1) % 4] == 0) {}  // here
    ((volatile int*)flags)[blockIdx.x] = 1;
  }
}

// Deadlock: grid 1, block 32, shared 0
extern "C" __global__ void waits_for_a_block_that_is_none(float* x, float* y, int n) {
  if (threadIdx.x == 0)
    while (((volatile int*)flags)[1] == 0) {}  // here
  __syncthreads();
}

// Deadlock: grid 3, block 64, shared 0
extern "C" __global__ void grid_barrier_for_one_too_many(float* x, float* y, int n) {
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&count, 1);
    while (atomicAdd(&count, 0) < 4) {}  // here
  }
  __syncthreads();
}

// Race: grid 4, block 32, shared 0
extern "C" __global__ void look_back_without_fence(float* x, float* y, int n) {
  int b = blockIdx.x;
  if (threadIdx.x == 0) {
    float before = 0;
    if (b) {
      while (((volatile int*)flags)[b - 1] == 0) {}
      before = y[b - 1];  // here
    }
    y[b] = before + 1;
    ((volatile int*)flags)[b] = 1;
  }
}

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

// Correct: grid 1, block 256, shared 0
extern "C" __global__ void read_only_cache_of_inputs(const float* __restrict__ x, float* __restrict__ y, int n) {
  int t = threadIdx.x;
  y[t] = __ldg(x + 255 - t) + x[t];
}

// Correct: grid 1, block 256, shared 0
extern "C" __global__ void active_mask_for_one_atomic(float* x, float* y, int n) {
  int t = threadIdx.x;
  y[t] = 0;
  __syncthreads();
  if (t % 3 == 0) {  // one atomic for those that run together, whoever they are
    unsigned mask = __activemask(), leader = __ffs(mask) - 1;
    if ((t & 31) == leader) atomicAdd(y, (float)__popc(mask));
    __syncwarp(mask);
    float sum = 0;
    for (unsigned rest = mask; rest; rest &= rest - 1) sum += __shfl_sync(mask, 1.f, __ffs(rest) - 1);
    if (sum != __popc(mask)) y[1] = 1;
  }
}

// Correct: grid 1, block 256, shared 0
extern "C" __global__ void hashes_overflow(float* x, float* y, int n) {
  int t = threadIdx.x;
  unsigned h = t, state = n;
  for (int k = 0; k < 4; k++) {
    h = (h ^ h >> 15) * 2246822519u + k;
    h = (h << 13 | h >> 19) * 5u + 0xe6546b64u;
    state = state * 1664525u + 1013904223u;
  }
  unsigned product = (unsigned)((unsigned long long)h * 256 >> 32);
  int back = (int)(state % 256), near = t - 1000000 + 1000000;
  float zero = 0 * (x[h & 255] + x[h >> 24] + x[product] + x[back] + x[(h * 3 ^ state) % 256]);
  y[(t * 16777619 * n >> 24 & 0) + near] = x[255u - t] + zero;
}

// Correct: grid 1, block 256, shared 0
extern "C" __global__ void unsigned_there_and_back(float* x, float* y, int n) {
  unsigned t = threadIdx.x, far = t - (unsigned)n;
  y[far + (unsigned)n] = x[t - n + n + (t * 0x01000193u & 0u)];
}

// Correct: grid 16, block 64, shared 0
extern "C" __global__ void chained_look_back(float* x, float* y, int n) {
  __shared__ float before, sums[2];
  int t = threadIdx.x, b = blockIdx.x;
  float v = 1;
  for (int k = 1; k < 32; k <<= 1) {
    float w = __shfl_up_sync(~0u, v, k);
    if ((t & 31) >= k) v += w;
  }
  if ((t & 31) == 31) sums[t / 32] = v;
  __syncthreads();
  if (t == 0) {
    float carry = 0;
    if (b) {
      while (((volatile int*)flags)[b - 1] == 0) {}
      __threadfence();
      carry = carries[b - 1];
    }
    carries[b] = carry + sums[0] + sums[1];
    __threadfence();
    ((volatile int*)flags)[b] = 1;
    before = carry;
  }
  __syncthreads();
  if (t < 16) y[b * 16 + t] = before + v;
}

// Correct: grid 8, block 64, shared 0
extern "C" __global__ void look_back_by_a_warp(float* x, float* y, int n) {
  int t = threadIdx.x, b = blockIdx.x;
  if (t < 32) {  // all lanes look, each at the flag of another block
    int mine = t < b, ready;
    do {
      ready = 1;
      if (mine) asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(ready) : "l"(flags + t) : "memory");
    } while (!__all_sync(~0u, ready));
    float v = mine ? carries[t] : 0;
    for (int k = 16; k; k >>= 1) v += __shfl_xor_sync(~0u, v, k);
    if (t == 0) {
      carries[b] = v + 1;
      asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(flags + b), "r"(1) : "memory");
    }
    y[b * 32 + t] = v + 1;
  }
}

// Correct: grid 5, block 96, shared 0
extern "C" __global__ void grid_barrier(float* x, float* y, int n) {
  int t = threadIdx.x, b = blockIdx.x;
  float v = 0;
  for (int turn = 0; turn < 6; turn++) {  // writes and reads in turns
    if (t < 32 && turn % 2 == 0) y[b * 32 + t] = v + b;
    if (t < 32 && turn % 2) v = y[(b + 1) % 5 * 32 + t];
    __syncthreads();
    if (t == 0) {
      __threadfence();
      atomicAdd(&count, 1);
      while (*(volatile int*)&count < 5 * (turn + 1)) {}
      __threadfence();
    }
    __syncthreads();
  }
  if (t < 32) y[b * 32 + t] = v;
}

// Correct: grid 6, block 32, shared 0
extern "C" __global__ void spin_lock(float* x, float* y, int n) {
  if (threadIdx.x == 0) {
    while (atomicCAS(&count, 0, 1)) {}
    __threadfence();
    carries[0] += 1;
    __threadfence();
    atomicExch(&count, 0);
    y[blockIdx.x] = 1;
  }
}
