// Kernels whose barriers and waits are all needed: the tests delete one at a time and see that it is noticed.
#include <cuda_bf16.h>
typedef unsigned u32;
typedef unsigned long long u64;
__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }

// ---- softmax of rows, one block each ---------------------------------------------------------------------------------
__device__ float block_sum(float v, float* scratch) {
  for (int k = 16; k; k >>= 1) v += __shfl_xor_sync(~0u, v, k);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
  __syncthreads();
  v = scratch[threadIdx.x % (blockDim.x / 32)];
  for (int k = blockDim.x / 64; k; k >>= 1) v += __shfl_xor_sync(~0u, v, k);
  return v;
}
extern "C" __global__ void softmax(const float* x, float* y, int columns) {
  __shared__ float scratch[32];
  x += blockIdx.x * columns;
  y += blockIdx.x * columns;
  float mean = 0, sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) mean += x[i];
  mean = block_sum(mean, scratch) / columns;
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(x[i] - mean);
  sum = block_sum(sum, scratch);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) y[i] = expf(x[i] - mean) / sum;
}

// ---- C = A B, 16x16 tiles in shared memory ------------------------------------------------------------------------------
extern "C" __global__ void product(const float* a, const float* b, float* c, int n) {
  __shared__ float s[16][16], t[16][17];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    s[y][x] = a[row * n + k + x];
    t[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int j = 0; j < 16; j++) sum += s[y][j] * t[j][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// ---- the same with two stages of cp.async -----------------------------------------------------------------------------------
__device__ __forceinline__ void copy4(void* to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(shared_address(to)), "l"(from) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int left> __device__ __forceinline__ void wait_copies() { asm volatile("cp.async.wait_group %0;" :: "n"(left) : "memory"); }
extern "C" __global__ void pipelined(const float* a, const float* b, float* c, int n) {
  __shared__ float s[2][16][16], t[2][16][16];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  copy4(&s[0][y][x], a + row * n + x);
  copy4(&t[0][y][x], b + y * n + column);
  commit();
  for (int k = 0, stage = 0; k < n; k += 16, stage ^= 1) {
    if (k + 16 < n) {
      copy4(&s[stage ^ 1][y][x], a + row * n + k + 16 + x);
      copy4(&t[stage ^ 1][y][x], b + (k + 16 + y) * n + column);
    }
    commit();
    wait_copies<1>();
    __syncthreads();
    for (int j = 0; j < 16; j++) sum += s[stage][y][j] * t[stage][j][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// ---- C = A B^T in bf16 on Hopper: a producer warp feeds tiles by TMA, a warpgroup multiplies by wgmma -------------------------
#ifdef HOPPER
struct alignas(64) TensorMap { u64 opaque[16]; };
__device__ __forceinline__ void init(u64* b, u32 n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared_address(b)), "r"(n) : "memory"); }
__device__ __forceinline__ void expect(u64* b, u32 n) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(shared_address(b)), "r"(n) : "memory");
}
__device__ __forceinline__ void arrive(u64* b) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared_address(b)) : "memory"); }
__device__ __forceinline__ void wait(u64* b, u32 phase) {
  asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra over; bra again; over: }"
               :: "r"(shared_address(b)), "r"(phase) : "memory");
}
__device__ __forceinline__ void load(void* to, const TensorMap* map, u64* b, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
               :: "r"(shared_address(to)), "l"(map), "r"(shared_address(b)), "r"(x), "r"(y) : "memory");
}
__device__ __forceinline__ u64 descriptor(const void* p) {       // 128-byte swizzle, 1024 bytes to 8 rows
  return (u64)(shared_address(p) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
__device__ __forceinline__ void multiply(float* d, u64 a, u64 b) {   // 64 x 8 x 16
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
}
extern "C" __global__ void __launch_bounds__(160) hopper(const __grid_constant__ TensorMap ma, const __grid_constant__ TensorMap mb, float* c, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __nv_bfloat16 *a = (__nv_bfloat16*)memory, *b = a + 2 * 64 * 64;
  u64 *full = (u64*)(b + 2 * 8 * 64), *empty = full + 2;
  int t = threadIdx.x, steps = k / 64;
  if (t == 0) {
    for (int i = 0; i < 2; i++) { init(full + i, 1); init(empty + i, 128); }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (t >= 128) {
    if (t == 128) for (int i = 0; i < steps; i++) {
      int stage = i & 1;
      if (i > 1) wait(empty + stage, (i / 2 - 1) & 1);
      expect(full + stage, (64 + 8) * 128);
      load(a + stage * 4096, &ma, full + stage, 64 * i, 64 * blockIdx.y);
      load(b + stage * 512, &mb, full + stage, 64 * i, 8 * blockIdx.x);
    }
    return;
  }
  float d[4] = {0, 0, 0, 0};
  for (int i = 0; i < steps; i++) {
    int stage = i & 1;
    wait(full + stage, i / 2 & 1);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int j = 0; j < 4; j++) multiply(d, descriptor(a + stage * 4096 + 16 * j), descriptor(b + stage * 512 + 16 * j));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    arrive(empty + stage);
  }
  int row = 64 * blockIdx.y + t / 32 * 16 + t % 32 / 4, column = 8 * blockIdx.x + t % 4 * 2;
  for (int j = 0; j < 4; j++) c[(row + 8 * (j >> 1)) * n + column + (j & 1)] = d[j];
}
#endif
