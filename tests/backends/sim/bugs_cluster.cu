// Kernels of clusters of blocks with one mistake each, and their correct twins; written as those of bugs.cu.
#define SYNC_CLUSTER() asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory")
#define SYNC_RELAXED() asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory")
#define INIT(bar, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(n) : "memory")
#define FENCE_INIT() asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
#define EXPECT(bar, bytes) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory")
#define ARRIVE(how, bar) asm volatile("mbarrier.arrive" how ".shared::cluster.b64 _, [%0];" ::"r"(bar) : "memory")
#define WAIT(how, bar, phase)                                                                                          \
  asm volatile(                                                                                                        \
      "{ .reg .pred p; again: mbarrier.try_wait.parity" how ".shared::cta.b64 p, [%0], %1; @!p bra again; }" ::"r"(bar), \
      "r"(phase)                                                                                                       \
      : "memory")
#define MULTICAST(to, from, bytes, bar, mask)                                                                            \
  asm volatile(                                                                                                          \
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" :: \
          "r"(to), "l"(from), "r"(bytes), "r"(bar), "h"((unsigned short)(mask))                                          \
      : "memory")
#define LOAD(value, address) asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory")
#define STORE(address, value) asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory")
typedef unsigned u32;
typedef unsigned long long u64;

__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ u32 my_rank() {
  u32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ __forceinline__ u32 there(const void* p, u32 rank) {
  u32 address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared_address(p)), "r"(rank));
  return address;
}
// Correct: grid 4, block 64, shared 0
extern "C" __global__ void __cluster_dims__(4, 1, 1) partial_sums_of_a_cluster(float* x, float* y, int n) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = x[64 * blockIdx.x + t];
  SYNC_CLUSTER();
  float sum = 0;
  for (u32 r = 0; r < 4; r++) {
    float v;
    LOAD(v, there(&s[t], r));
    sum += v;
  }
  y[64 * blockIdx.x + t] = sum;
  SYNC_CLUSTER();
}

// Race: grid 4, block 64, shared 0
extern "C" __global__ void __cluster_dims__(4, 1, 1) reads_before_the_others_wrote(float* x, float* y, int n) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = x[64 * blockIdx.x + t];
  __syncthreads();
  float v;
  LOAD(v, there(&s[t], my_rank() ^ 1));  // here
  y[64 * blockIdx.x + t] = v;
  SYNC_CLUSTER();
}

// Race: grid 4, block 64, shared 0
extern "C" __global__ void __cluster_dims__(4, 1, 1) ends_while_others_read(float* x, float* y, int n) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = x[64 * blockIdx.x + t];
  SYNC_CLUSTER();
  float v;
  LOAD(v, there(&s[t], my_rank() ^ 1));  // here
  y[64 * blockIdx.x + t] = v;
}

// Race: grid 2, block 64, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) overwrites_what_others_read(float* x, float* y, int n) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  SYNC_CLUSTER();
  float v;
  LOAD(v, there(&s[t], my_rank() ^ 1));
  y[64 * blockIdx.x + t] = v;
  s[t] = 2 * x[t] + 1;  // a barrier is missing before
  SYNC_CLUSTER();
}

// Race: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) relaxed_barrier_orders_nothing(float* x, float* y, int n) {
  __shared__ float s[32];
  int t = threadIdx.x;
  s[t] = x[t];
  SYNC_RELAXED();
  float v;
  LOAD(v, there(&s[t], my_rank() ^ 1));  // here
  y[32 * blockIdx.x + t] = v;
  SYNC_CLUSTER();
}

// Race: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) writes_before_the_other_has_begun(float* x, float* y, int n) {
  __shared__ float s[32];
  int t = threadIdx.x;
  STORE(there(&s[t], my_rank() ^ 1), x[t]);  // here
  SYNC_CLUSTER();
  y[32 * blockIdx.x + t] = s[t];
}

// Correct: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) writes_once_the_other_has_begun(float* x, float* y, int n) {
  __shared__ float s[32];
  int t = threadIdx.x;
  SYNC_RELAXED();
  STORE(there(&s[t], my_rank() ^ 1), x[32 * blockIdx.x + t]);
  SYNC_CLUSTER();
  y[32 * blockIdx.x + t] = s[t];
}

// Uninitialised: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) reads_what_nobody_wrote(float* x, float* y, int n) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  SYNC_CLUSTER();
  float v;
  LOAD(v, there(&s[t + 32], my_rank() ^ 1));  // here
  y[t] = v;
  SYNC_CLUSTER();
}

// OutOfBounds: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) reads_past_the_end_there(float* x, float* y, int n) {
  __shared__ float s[32];
  int t = threadIdx.x;
  s[t] = x[t];
  SYNC_CLUSTER();
  float v;
  LOAD(v, there(&s[t] + 1, my_rank() ^ 1));  // here
  y[32 * blockIdx.x + t] = v;
  SYNC_CLUSTER();
}

// OutOfBounds: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) asks_for_a_rank_that_is_none(float* x, float* y, int n) {
  __shared__ float s[32];
  s[threadIdx.x] = x[threadIdx.x];
  SYNC_CLUSTER();
  float v;
  LOAD(v, there(&s[threadIdx.x], my_rank() + 1));
  y[threadIdx.x] = v;
  SYNC_CLUSTER();
}

// DivergentBarrier: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) arrives_twice(float* x, float* y, int n) {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  if (threadIdx.x == 3) asm volatile("barrier.cluster.arrive.release;" ::: "memory");  // here
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

// Deadlock: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) waits_for_an_arrival_elsewhere(float* x, float* y, int n) {
  __shared__ u64 full;
  u32 f = shared_address(&full);
  if (threadIdx.x == 0) {
    INIT(f, 1);
    FENCE_INIT();
  }
  SYNC_CLUSTER();
  if (threadIdx.x == 0 && my_rank() == 0) ARRIVE(".release.cluster", there(&full, 0));
  WAIT(".acquire.cluster", f, 0);
  SYNC_CLUSTER();
}

// Two blocks share a tile: each loads a half of it into both.
#define SHARE(sync, before, mask)                                      \
  __shared__ __align__(128) float s[64];                               \
  __shared__ u64 full;                                                 \
  int t = threadIdx.x;                                                 \
  u32 f = shared_address(&full), r = my_rank();                        \
  if (t == 0) {                                                        \
    INIT(f, 1);                                                        \
    before;                                                            \
  }                                                                    \
  sync;                                                                \
  if (t == 0) {                                                        \
    EXPECT(f, 256);                                                    \
    MULTICAST(shared_address(s + 32 * r), x + 32 * r, 128, f, mask);   \
  }                                                                    \
  WAIT("", f, 0);                                                      \
  y[64 * blockIdx.x + t] = s[t];                                       \
  y[64 * blockIdx.x + 32 + t] = s[t + 32]

// Correct: grid 4, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) a_tile_for_both(float* x, float* y, int n) {
  SHARE(SYNC_RELAXED(), FENCE_INIT(), 3);
}

// Correct: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) a_tile_for_both_by_a_full_barrier(float* x, float* y, int n) {
  SHARE(SYNC_CLUSTER(), FENCE_INIT(), 3);
}

// Race: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) multicast_before_a_fence(float* x, float* y, int n) {
  SHARE(SYNC_CLUSTER(), , 3);
}

// Uninitialised: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) multicast_to_an_mbarrier_that_is_none(float* x, float* y, int n) {
  __shared__ __align__(128) float s[64];
  __shared__ u64 full;
  u32 f = shared_address(&full), r = my_rank();
  if (threadIdx.x == 0 && r == 0) {
    INIT(f, 1);
    FENCE_INIT();
  }
  SYNC_CLUSTER();
  if (threadIdx.x == 0 && r == 0) {
    EXPECT(f, 128);
    MULTICAST(shared_address(s), x, 128, f, 3);  // here
  }
  if (r == 0) WAIT("", f, 0);
  SYNC_CLUSTER();
  y[threadIdx.x] = s[threadIdx.x];
}

// Deadlock: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) multicast_to_itself_alone(float* x, float* y, int n) {
  SHARE(SYNC_RELAXED(), FENCE_INIT(), 1u << r);
}

// OutOfBounds: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) multicast_to_more_than_there_are(float* x, float* y, int n) {
  SHARE(SYNC_RELAXED(), FENCE_INIT(), 7);
}

// The block with rank 0 loads two tiles into the same place of both; consumers say when they have read the first.
#define TWO_TILES(release, acquire, who)                                 \
  __shared__ __align__(128) float s[32];                                 \
  __shared__ u64 full, empty;                                            \
  int t = threadIdx.x;                                                   \
  u32 f = shared_address(&full), e = shared_address(&empty);             \
  if (t == 0) {                                                          \
    INIT(f, 1);                                                          \
    INIT(e, 2);                                                          \
    FENCE_INIT();                                                        \
  }                                                                      \
  SYNC_RELAXED();                                                        \
  for (int tile = 0; tile < 2; tile++) {                                 \
    if (t == 0) {                                                        \
      EXPECT(f, 128);                                                    \
      if (my_rank() == 0) {                                              \
        if (tile) WAIT(acquire, e, 0);                                   \
        MULTICAST(shared_address(s), x + 32 * tile, 128, f, 3);          \
      }                                                                  \
    }                                                                    \
    WAIT("", f, tile);                                                   \
    y[64 * tile + 32 * blockIdx.x + t] = s[t];                           \
    if (who) ARRIVE(release, there(&empty, 0));                          \
    __syncwarp();                                                        \
  }                                                                      \
  SYNC_CLUSTER()

// Race: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) empty_without_release_to_the_cluster(float* x, float* y, int n) {
  TWO_TILES("", ".acquire.cluster", (__syncwarp(), t == 0 && tile == 0));
}

// Race: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) empty_without_acquire_of_the_cluster(float* x, float* y, int n) {
  TWO_TILES(".release.cluster", "", (__syncwarp(), t == 0 && tile == 0));
}

// Correct: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) a_second_tile_once_both_are_ready(float* x, float* y, int n) {
  TWO_TILES(".release.cluster", ".acquire.cluster", (__syncwarp(), t == 0 && tile == 0));
}

// Race: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) arrives_before_the_other_has_made_it(float* x, float* y, int n) {
  __shared__ u64 full;
  u32 f = shared_address(&full);
  if (threadIdx.x == 0 && my_rank() == 0) {
    INIT(f, 1);
  }
  asm volatile("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait.acquire;" ::: "memory");
  if (threadIdx.x == 0 && my_rank() == 1) ARRIVE(".release.cluster", there(&full, 0));  // here
  if (my_rank() == 0) WAIT(".acquire.cluster", f, 0);
  SYNC_CLUSTER();
}

// Correct: grid 4, block 32, shared 0
extern "C" __global__ void __cluster_dims__(4, 1, 1) stores_that_an_mbarrier_tells_of(float* x, float* y, int n) {
  __shared__ float s[4];
  __shared__ u64 full;
  int t = threadIdx.x;
  u32 f = shared_address(&full), r = my_rank();
  if (t == 0) {
    INIT(f, 1);
    EXPECT(f, 16);
    FENCE_INIT();
  }
  SYNC_CLUSTER();
  if (t < 4)
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(there(&s[r], t)),
                 "f"(x[4 * r + t]), "r"(there(&full, t)) : "memory");
  WAIT("", f, 0);
  if (t < 4) y[4 * r + t] = s[t];
}

// Race: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) ends_before_a_copy_comes(float* x, float* y, int n) {
  __shared__ float s[4];
  __shared__ u64 full;
  u32 f = shared_address(&full), r = my_rank();
  if (threadIdx.x == 0) {
    INIT(f, 1);
    EXPECT(f, 4);
    FENCE_INIT();
  }
  SYNC_CLUSTER();
  if (threadIdx.x == 0)
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(there(&s[0], r ^ 1)),
                 "f"(x[r]), "r"(there(&full, r ^ 1)) : "memory");  // here
  if (r) WAIT("", f, 0);
}

// Correct: grid 2, block 64, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) atomics_on_one_counter(float* x, float* y, int n) {
  __shared__ float sum;
  int t = threadIdx.x;
  if (t == 0) sum = 0;
  SYNC_CLUSTER();
  float* first;
  asm("mapa.u64 %0, %1, 0;" : "=l"(first) : "l"(&sum));
  if (my_rank() == 1 && t < 32)
    asm volatile("red.relaxed.cluster.shared::cluster.add.f32 [%0], %1;" ::"r"(there(&sum, 0)), "f"(x[t]) : "memory");
  else
    atomicAdd(first, x[t]);
  SYNC_CLUSTER();
  y[64 * blockIdx.x + t] = *first;
  SYNC_CLUSTER();
}

// Correct: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) memory_of_the_device_in_turns(float* x, float* y, int n) {
  int t = threadIdx.x;
  y[32 * my_rank() + t] = x[t];
  SYNC_CLUSTER();
  y[64 + 32 * my_rank() + t] = y[32 * (my_rank() ^ 1) + t] + my_rank();
}

// Race: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) memory_of_the_device_at_once(float* x, float* y, int n) {
  int t = threadIdx.x;
  y[32 * my_rank() + t] = x[t];
  y[64 + 32 * my_rank() + t] = y[32 * (my_rank() ^ 1) + t];
  SYNC_CLUSTER();
}

// Shared memory of one block copied into that of the other by the copy engine.
#define PASS_ON(before_the_copy, after_the_copy)                                                                       \
  __shared__ __align__(16) float s[32], from[32];                                                                      \
  __shared__ u64 full;                                                                                                 \
  int t = threadIdx.x;                                                                                                 \
  u32 f = shared_address(&full), other = my_rank() ^ 1;                                                                \
  from[t] = x[32 * my_rank() + t];                                                                                     \
  before_the_copy;                                                                                                     \
  if (t == 0) {                                                                                                        \
    INIT(f, 1);                                                                                                        \
    FENCE_INIT();                                                                                                      \
    EXPECT(f, 128);                                                                                                    \
  }                                                                                                                    \
  SYNC_CLUSTER();                                                                                                      \
  if (t == 0)                                                                                                          \
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];" ::"r"( \
                     there(s, other)), "r"(shared_address(from)), "r"(there(&full, other)) : "memory");                \
  after_the_copy;                                                                                                      \
  WAIT("", f, 0);                                                                                                      \
  y[32 * my_rank() + t] = s[t];                                                                                        \
  SYNC_CLUSTER()

// Correct: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) copies_from_block_to_block(float* x, float* y, int n) {
  PASS_ON(asm volatile("fence.proxy.async.shared::cta;" ::: "memory"), );
}

// Race: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) copies_what_was_not_fenced(float* x, float* y, int n) {
  PASS_ON(, );
}

// Race: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) writes_what_is_being_copied(float* x, float* y, int n) {
  PASS_ON(asm volatile("fence.proxy.async.shared::cta;" ::: "memory"), __syncwarp(); from[t] = 1);
}

// Race: grid 2, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) reads_before_the_copy_came(float* x, float* y, int n) {
  PASS_ON(asm volatile("fence.proxy.async.shared::cta;" ::: "memory"), y[64 + 32 * my_rank() + t] = s[t]);
}

#define SPECIAL(name, value) asm volatile("mov.u32 %0, %%" name ";" : "=r"(value))

// Correct: grid 8, block 32, shared 0
extern "C" __global__ void __cluster_dims__(4, 1, 1) places_in_a_cluster(float* x, float* y, int n) {
  __shared__ float s[32];
  u32 rank, number, blocks, clusters, found[3];
  SPECIAL("cluster_ctarank", rank);
  SPECIAL("clusterid.x", number);
  SPECIAL("cluster_nctaid.x", blocks);
  SPECIAL("nclusterid.x", clusters);
  float* next;
  asm("mapa.u64 %0, %1, %2;" : "=l"(next) : "l"(s), "r"((rank + 1) % blocks));
  asm("getctarank.u64 %0, %1;" : "=r"(found[0]) : "l"(next));
  asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(found[1]) : "r"(there(s, rank)));
  asm("{ .reg .pred p, q; isspacep.shared::cta p, %1; isspacep.shared::cluster q, %1; @p mov.u32 %0, 9; @!p selp.u32 %0, "
      "1, 2, q; }" : "=r"(found[2]) : "l"(next));
  if (threadIdx.x == 0) {
    y[blockIdx.x] = 1000 * number + 100 * rank + 10 * blocks + clusters;
    y[8 + blockIdx.x] = 100 * found[0] + 10 * found[1] + found[2];
  }
}

__device__ unsigned turn;

// Correct: grid 8, block 32, shared 0
extern "C" __global__ void __cluster_dims__(2, 1, 1) clusters_wait_for_each_other(float* x, float* y, int n) {
  u32 number;
  SPECIAL("clusterid.x", number);
  if (my_rank() == 1 && threadIdx.x == 0) {
    while (atomicAdd(&turn, 0) != 3 - number) {}  // the last cluster goes first
    __threadfence();
  }
  SYNC_CLUSTER();
  float before = number == 3 ? 0 : y[2 * (number + 1)];
  SYNC_CLUSTER();
  if (threadIdx.x == 0) {
    y[2 * number + my_rank()] = before + 1;
    __threadfence();
  }
  SYNC_CLUSTER();
  if (my_rank() == 0 && threadIdx.x == 0) atomicAdd(&turn, 1);
}
