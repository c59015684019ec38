// Kernels for sm_90a with one mistake each, and their correct twins; written as those of bugs.cu.
#define FENCE_PROXY() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define BEGIN_PRODUCTS() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT_PRODUCTS() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT_PRODUCTS(left) asm volatile("wgmma.wait_group.sync.aligned " #left ";" ::: "memory")
#define INIT(bar, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(n) : "memory")
#define EXPECT(bar, bytes) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory")
#define WAIT(bar, phase)                                                                                          \
  asm volatile(                                                                                                   \
      "{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again; }" ::"r"(bar), \
      "r"(phase)                                                                                                  \
      : "memory")
typedef unsigned u32;
typedef unsigned long long u64;

__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ u64 descriptor(const void* p) {  // no swizzle: groups of 8 lines of 16 bytes
  return (u64)(shared_address(p) >> 4) | (u64)8 << 16 | (u64)16 << 32;
}
// Ones of bfloat16 in two tiles, 64 x 16 and 8 x 16: each product adds 16 to every sum.
__device__ __forceinline__ void fill(u32* tiles) {
  for (int i = threadIdx.x; i < 576; i += 128) tiles[i] = 0x3f803f80u;
  FENCE_PROXY();
  __syncthreads();
}
#define MULTIPLY(d, tiles)                                                                                        \
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"     \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                   \
               : "l"(descriptor(tiles)), "l"(descriptor(tiles + 512)))

// Race: grid 1, block 128, shared 0
extern "C" __global__ void __launch_bounds__(128) sums_before_the_wait(float* x, float* y, int n) {
  __shared__ __align__(128) u32 tiles[576];
  float d[4] = {0, 0, 0, 0};
  fill(tiles);
  BEGIN_PRODUCTS();
  MULTIPLY(d, tiles);
  COMMIT_PRODUCTS();
  y[threadIdx.x] = d[0] + d[3];  // here
  WAIT_PRODUCTS(0);
}

// Race: grid 1, block 128, shared 0
extern "C" __global__ void __launch_bounds__(128) sums_of_a_group_left_out(float* x, float* y, int n) {
  __shared__ __align__(128) u32 tiles[576];
  float d[4] = {0, 0, 0, 0}, e[4] = {0, 0, 0, 0};
  fill(tiles);
  BEGIN_PRODUCTS();
  MULTIPLY(d, tiles);
  COMMIT_PRODUCTS();
  MULTIPLY(e, tiles);
  COMMIT_PRODUCTS();
  WAIT_PRODUCTS(1);
  y[threadIdx.x] = d[0];
  y[128 + threadIdx.x] = e[0];  // here
}

// Race: grid 1, block 128, shared 0
extern "C" __global__ void __launch_bounds__(128) no_fence_at_all(float* x, float* y, int n) {
  __shared__ __align__(128) u32 tiles[576];
  float d[4] = {x[0], x[0], x[0], x[0]};
  fill(tiles);
  MULTIPLY(d, tiles);  // here
  COMMIT_PRODUCTS();
  WAIT_PRODUCTS(0);
  y[threadIdx.x] = d[0];
}

// Race: grid 1, block 128, shared 0
extern "C" __global__ void __launch_bounds__(128) no_fence_after_scaling(float* x, float* y, int n) {
  __shared__ __align__(128) u32 tiles[576];
  float d[4] = {0, 0, 0, 0};
  fill(tiles);
  BEGIN_PRODUCTS();
  MULTIPLY(d, tiles);
  COMMIT_PRODUCTS();
  WAIT_PRODUCTS(0);
  for (int i = 0; i < 4; i++) d[i] *= x[2];
  MULTIPLY(d, tiles);  // here
  COMMIT_PRODUCTS();
  WAIT_PRODUCTS(0);
  y[threadIdx.x] = d[0];
}

// Deadlock: grid 1, block 384, shared 0
extern "C" __global__ void __launch_bounds__(384, 1) more_registers_than_there_are(float* x, float* y, int n) {
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");  // here
    y[threadIdx.x - 128] = x[threadIdx.x - 128];
  }
}

// Trap: grid 1, block 384, shared 0
extern "C" __global__ void __launch_bounds__(384, 1) gives_up_more_than_it_has(float* x, float* y, int n) {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 240;");  // here
}

// Race: grid 1, block 32, shared 0
extern "C" __global__ void mbarrier_unseen_by_copies(float* x, float* y, int n) {
  __shared__ __align__(16) float s[64];
  __shared__ u64 full;
  int t = threadIdx.x;
  u32 f = shared_address(&full);
  if (t == 0) INIT(f, 1);
  __syncthreads();
  if (t == 0) {
    EXPECT(f, 256);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(
                     shared_address(s)), "l"(x), "r"(f) : "memory");  // here
  }
  WAIT(f, 0);
  y[t] = s[t];
}

// Correct: grid 1, block 128, shared 0
extern "C" __global__ void __launch_bounds__(128) sums_after_the_wait(float* x, float* y, int n) {
  __shared__ __align__(128) u32 tiles[576];
  float d[4] = {0, 0, 0, 0}, e[4] = {1, 1, 1, 1};
  fill(tiles);
  BEGIN_PRODUCTS();
  MULTIPLY(d, tiles);
  COMMIT_PRODUCTS();
  MULTIPLY(e, tiles);
  MULTIPLY(e, tiles);
  COMMIT_PRODUCTS();
  WAIT_PRODUCTS(1);
  y[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
  WAIT_PRODUCTS(0);
  MULTIPLY(e, tiles);  // sums that nobody touched need no fence
  COMMIT_PRODUCTS();
  WAIT_PRODUCTS(0);
  y[128 + threadIdx.x] = e[3];
}

// Correct: grid 1, block 128, shared 0
extern "C" __global__ void __launch_bounds__(128) a_fence_after_scaling(float* x, float* y, int n) {
  __shared__ __align__(128) u32 tiles[576];
  float d[4] = {x[0], x[0], x[0], x[0]};
  fill(tiles);
  for (int k = 0; k < 3; k++) {
    BEGIN_PRODUCTS();
    MULTIPLY(d, tiles);
    COMMIT_PRODUCTS();
    WAIT_PRODUCTS(0);
    for (int i = 0; i < 4; i++) d[i] *= x[2];
  }
  y[threadIdx.x] = d[threadIdx.x % 4];
}

// Correct: grid 2, block 384, shared 0
extern "C" __global__ void __launch_bounds__(384, 1) as_many_registers_as_there_are(float* x, float* y, int n) {
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    if (blockIdx.x == 0) y[threadIdx.x - 128] = x[threadIdx.x - 128];
  }
}

// Correct: grid 1, block 32, shared 0
extern "C" __global__ void mbarrier_seen_by_copies(float* x, float* y, int n) {
  __shared__ __align__(16) float s[64];
  __shared__ u64 full;
  int t = threadIdx.x;
  u32 f = shared_address(&full);
  if (t == 0) {
    INIT(f, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (t == 0) {
    EXPECT(f, 256);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(
                     shared_address(s)), "l"(x), "r"(f) : "memory");
  }
  WAIT(f, 0);
  y[t] = s[t];
  y[t + 32] = s[t + 32];
}

// Trap: grid 1, block 32, shared 0
extern "C" __global__ void write_over_an_mbarrier(float* x, float* y, int n) {
  __shared__ u64 s[17];
  int t = threadIdx.x;
  if (t == 0) INIT(shared_address(s + 15), 1);
  __syncthreads();
  ((float*)s)[t] = x[t];  // here
  __syncthreads();
  y[t] = ((float*)s)[31 - t];
}

// Trap: grid 1, block 32, shared 0
extern "C" __global__ void copy_over_an_mbarrier(float* x, float* y, int n) {
  __shared__ __align__(16) u64 s[32];
  int t = threadIdx.x;
  u32 f = shared_address(s + 31);
  if (t == 0) {
    INIT(f, 1);
    FENCE_PROXY();
    EXPECT(f, 256);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(
                     shared_address(s)), "l"(x), "r"(f) : "memory");  // here
  }
  __syncthreads();
  WAIT(f, 0);
  y[t] = ((float*)s)[t];
}

// Correct: grid 1, block 32, shared 0
extern "C" __global__ void memory_of_an_mbarrier_that_is_over(float* x, float* y, int n) {
  __shared__ u64 s[16];
  int t = threadIdx.x;
  u32 f = shared_address(s + 15);
  if (t == 0) {
    INIT(f, 1);
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(f) : "memory");
  }
  __syncthreads();
  ((float*)s)[t] = x[t];
  __syncthreads();
  y[t] = ((float*)s)[31 - t];
}

// One warpgroup multiplies two tiles that another warp puts into the same place, one after the other.
#define TWO_PRODUCTS(before_the_wait, after_the_wait)                 \
  __shared__ __align__(128) u32 tiles[576];                           \
  __shared__ u64 full, empty;                                         \
  u32 f = shared_address(&full), e = shared_address(&empty);          \
  int t = threadIdx.x;                                                \
  if (t == 0) {                                                       \
    INIT(f, 32);                                                      \
    INIT(e, 1);                                                       \
  }                                                                   \
  __syncthreads();                                                    \
  float d[4] = {0, 0, 0, 0};                                          \
  for (int tile = 0; tile < 2; tile++) {                              \
    if (t >= 128) {                                                   \
      if (tile) WAIT(e, 0);                                           \
      u32 value = tile ? 0x40004000u : 0x3f803f80u;                   \
      for (int i = t - 128; i < 576; i += 32) tiles[i] = value;       \
      FENCE_PROXY();                                                  \
      ARRIVE(f);                                                      \
    } else {                                                          \
      WAIT(f, tile);                                                  \
      BEGIN_PRODUCTS();                                               \
      MULTIPLY(d, tiles);                                             \
      COMMIT_PRODUCTS();                                              \
      before_the_wait;                                                \
      WAIT_PRODUCTS(0);                                               \
      after_the_wait;                                                 \
    }                                                                 \
  }                                                                   \
  if (t < 128) y[t] = d[t % 4]

// Race: grid 1, block 160, shared 0
extern "C" __global__ void __launch_bounds__(160) empty_before_the_product_is_over(float* x, float* y, int n) {
  TWO_PRODUCTS(if (t == 0) ARRIVE(e), );
}

// Correct: grid 1, block 160, shared 0
extern "C" __global__ void __launch_bounds__(160) empty_after_the_product_is_over(float* x, float* y, int n) {
  TWO_PRODUCTS(, if (t == 0) ARRIVE(e));
}
