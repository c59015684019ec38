// The interface between the code translated from PTX and the runtime.
#pragma once
typedef unsigned char u8;
typedef signed char s8;
typedef unsigned short u16;
typedef short s16;
typedef unsigned u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;
typedef float f32;
typedef double f64;
typedef unsigned __int128 u128;
typedef __int128 s128;

struct SimThread {
  u32 tid[3], lane, warp;
};  // handed to every translated function
struct SimGrid {
  u32 ctaid[3], ntid[3], nctaid[3], static_shared, dynamic_shared;
  u32 cluster_ctaid[3], cluster_nctaid[3], clusterid[3], nclusterid[3],
      cluster_ctarank, cluster_nctarank, is_cluster;
};

// How an access is made: plain or atomic (which also means relaxed, acquire, release), read, write or both.
enum { SIM_LOAD = 0, SIM_STORE = 1, SIM_ATOMIC = 2, SIM_MODIFY = 4, SIM_CONSTANT = 8 };  // constant: ld.global.nc
enum { SIM_IDX, SIM_UP, SIM_DOWN, SIM_BFLY };
enum {
  SIM_BALLOT,
  SIM_ALL,
  SIM_ANY,
  SIM_UNI,
  SIM_MATCH_ANY,
  SIM_MATCH_ALL,
  SIM_ELECT,
  SIM_ADD,
  SIM_MIN_S,
  SIM_MAX_S,
  SIM_MIN_U,
  SIM_MAX_U,
  SIM_AND,
  SIM_OR,
  SIM_XOR
};
enum { SIM_F16, SIM_BF16, SIM_TF32, SIM_S8, SIM_U8 };  // elements of tensor-core operands

extern "C" {
extern SimGrid sim_grid;
extern u8 sim_watching;    // whether accesses are to be reported to sim_access
extern long sim_budget;    // backward branches until the clock is looked at
extern u64 sim_changes;    // counts changes of memory by atomics, and by stores where a thread has polled for long
extern char* sim_shared;   // the shared memory of the block: static variables, then the dynamic part

void sim_access(const void* address, u32 size, u32 how, const void* value, u32 site);
void sim_local(const void* address, u32 size, const void* frame, u32 frame_size, u32 site);
void sim_overflow(u32 site);
void sim_tick(u32 site);
void sim_trap(u32 site, const char* what);
void sim_fence();
void sim_proxy_fence();
void sim_mbarrier_fence();
u64 sim_clock();
int sim_printf(const char* format, const void* arguments, u32 site);
void sim_assert_fail(const char* message, const char* file, u32 line, const char* function, u32 site);

void sim_barrier(u32 id, u32 threads, u32 site);
void sim_barrier_arrive(u32 id, u32 threads, u32 site);
u32 sim_barrier_reduce(u32 id, u32 threads, u32 operation, u32 predicate, u32 site);
u32 sim_shuffle(u32 kind, u32 value, u32 lane, u32 clamp, u32 mask, bool* valid, u32 site);
u64 sim_vote(u32 kind, u64 value, u32 mask, bool* flag, u32 site);
void sim_warp_barrier(u32 mask, u32 site);
u32 sim_active_mask(u32 site);
void sim_set_registers(u32 number, bool grow, u32 site);

// Clusters: addresses of shared memory name its block, by its rank + 1 in the upper 8 of 32 bits (0: the block itself).
void sim_cluster_arrive(bool release, u32 site);
void sim_cluster_wait(u32 site);
char* sim_cluster_address(u32 address, u32 site);
u32 sim_cluster_window(const void* address, u32 site);  // the other way round
u32 sim_cluster_rank(u32 address);
bool sim_in_cluster(const void* address);
u32 sim_mapa(u32 address, u32 rank, u32 site);
void sim_store_async(u32 to, const void* value, u32 bytes, u32 mbarrier, u32 site);

void sim_mma(u32 element, u32 k, bool half_result, const u32* a, const u32* b, const u32* c, u32* d, u32 site);
void sim_ldmatrix(u32* out, const void* row, u32 count, bool transposed, u32 site);
void sim_stmatrix(const u32* in, void* row, u32 count, bool transposed, u32 site);
u32 sim_movmatrix(u32 in, u32 site);

void sim_copy_async(void* to, const void* from, u32 bytes, u32 source_bytes, u32 site);
void sim_copy_commit();
void sim_copy_wait(u32 groups_left, u32 site);
void sim_copy_arrive(u32 mbarrier, bool increment, u32 site);

void sim_mbarrier_init(u32 address, u32 count, u32 site);
void sim_mbarrier_invalidate(u32 address, u32 site);
u64 sim_mbarrier_arrive(u32 address, u32 count, u32 expected_bytes, bool drop, bool wide, u32 site);  // wide: .cluster
void sim_mbarrier_expect(u32 address, s32 bytes, u32 site);
bool sim_mbarrier_wait(u32 address, u64 phase, bool parity, bool wide, u32 site);

// blocks: a bit for each block of the cluster that it goes to; 0: the one that `to` names
void sim_tensor_load(u32 to, const void* map, u32 mbarrier, u32 rank, const s32* coordinates, u32 blocks, u32 site);
void sim_tensor_store(const void* map, u32 from, u32 rank, const s32* coordinates, bool add, u32 site);
void sim_bulk_load(u32 to, const void* from, u32 bytes, u32 mbarrier, u32 blocks, bool shared, u32 site);
void sim_bulk_store(void* to, u32 from, u32 bytes, u32 site);
void sim_bulk_commit();
void sim_bulk_wait(u32 groups_left, bool read_only, u32 site);

void sim_wgmma(u32 element, u32 n, bool half_result, void* d, const u32* a, u64 a_descriptor, u64 b_descriptor,
               bool accumulate, int scale_a, int scale_b, bool transpose_a, bool transpose_b, u32 site);
void sim_wgmma_fence();
void sim_wgmma_commit();
void sim_wgmma_wait(u32 groups_left, u32 site);
u32 sim_wgmma_result(u32 word);
void sim_wgmma_early(u32 site);

f32 sim_round_f32(u32 operation, f32 a, f32 b, f32 c, u32 mode);  // add, sub, mul, fma, div, sqrt in a given rounding
f64 sim_round_f64(u32 operation, f64 a, f64 b, f64 c, u32 mode);
f32 sim_narrow(f64 x, u32 mode);
f32 sim_f32_of_s64(s64 x, u32 mode);
f32 sim_f32_of_u64(u64 x, u32 mode);
f64 sim_f64_of_s64(s64 x, u32 mode);
f64 sim_f64_of_u64(u64 x, u32 mode);
}
enum { SIM_RN, SIM_RZ, SIM_RM, SIM_RP };
enum { SIM_OP_ADD, SIM_OP_SUB, SIM_OP_MUL, SIM_OP_FMA, SIM_OP_DIV, SIM_OP_SQRT };
