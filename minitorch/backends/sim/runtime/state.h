// The state of the simulated device: one launch, one block at a time, each CUDA thread a fiber.
#pragma once
#include "abi.h"
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

const size_t STACK = 64 << 10, GUARD = 4096;  // of one fiber; an overflow runs into the guard page
const u32 SHARED = 228 << 10, MAX_THREADS = 1024, WARPS = 32, ASYNC = 32;  // ASYNC: the copy engine, as a "warp"
const u32 POISON = 0xFFF5FFF5u;  // what unwritten memory holds: a NaN as f16, bf16, f32 and f64
const u32 FULL = 0xFFFFFFFFu;

enum class Kind : u32 { out_of_bounds, misaligned, race, uninitialised, divergent, deadlock, unsupported, trap };
enum class State : u8 { fresh, ready, barrier, warp, converge, mbarrier, warpgroup, registers, paused, done };

// ---- order: what happened before what ------------------------------------------------------------------------------
// `now` counts synchronisations. Each access is stamped with it. A warp has seen what another did up to a stamp.
struct Clock {
  u32 seen[WARPS + 1] = {};
  void join(const Clock& other) {
    for (u32 w = 0; w <= WARPS; w++) seen[w] = std::max(seen[w], other.seen[w]);
  }
};
struct Order {
  u32 now = 1, launch_start = 1, block_start = 1;
  u32 barrier = 1;  // everything up to this stamp happened before the last full barrier
  Clock warps[WARPS + 1];
};
extern Order order_;

// ---- threads -------------------------------------------------------------------------------------------------------
struct WarpOp {                           // what a lane brings to an operation of its warp
  void (*run)(WarpOp** lanes, u32 mask);  // called once, by the last lane to arrive
  u32 site, mask, kind, argument, argument2;
  alignas(16) u8 in[64];
  alignas(16) u8 out[64];
  const void* address;
  bool flag;
};
struct CopyAsync {
  char* to;
  const char* from;
  u32 bytes, source_bytes, group, site;
};
struct BulkStore {
  std::vector<char> map;
  char* to;
  u32 from, bytes, rank;
  s32 at[5];
  bool add;
  u32 group, site;
};
struct WarpgroupOp;
struct Products {  // the accumulators of the wgmmas of a thread
  struct Word {
    u32 group, bits;
  };
  std::vector<Word> words;  // under way
  u32 first, group;         // the number of words[0]; groups committed
  s64 over;                 // groups waited for
  bool begun, fenced;       // whether there was one; a wgmma.fence since the last wait
  std::vector<u32> settled;  // what the last wait brought
};
struct Thread : SimThread {
  void* stack_pointer;
  char* stack;
  State state;
  u32 index, site;
  u32 barrier_id, barrier_threads, barrier_operation, barrier_predicate, barrier_result;
  WarpOp* op;
  WarpgroupOp* warpgroup_op;
  u32 mbarrier;
  u64 mbarrier_phase;
  u64 refused_at;  // the state of `progress` when this thread last heard that an mbarrier is not over
  u32 proxy_fence, mbarrier_fence;  // the stamps of its last fence.proxy.async and fence.mbarrier_init
  u32 converged;  // lanes that were at the same __activemask()
  std::vector<CopyAsync> copies;
  u32 copy_group;
  std::vector<BulkStore> stores;
  u32 store_group;
  Products products;
};
extern Thread threads[MAX_THREADS];
extern Thread* current;
extern u32 thread_count;
extern u64 progress;  // counts what may let a waiting thread go on
extern u64 polls;     // counts atomic and volatile accesses
extern bool suspicious;  // whether some thread of this launch has polled for long
extern bool failed;  // a finding that ends the launch

// ---- a launch ------------------------------------------------------------------------------------------------------
enum { ASCENDING, DESCENDING, SEEDED };  // orders of blocks, warps and lanes
enum Checks { CHECK_MEMORY = 1, CHECK_RACES = 2, CHECK_UNINITIALISED = 4 };
struct Launch {  // filled in by Python
  void (*run)(const SimThread&, char**);
  char** parameters;
  const char* parameters_begin;
  const char* parameters_end;
  u32 grid[3], block[3], static_shared, dynamic_shared;
  u32 variable_count;
  const u32* variables;  // begin and end of each static shared variable
  u32 granule;           // size of the smallest access that the kernel makes
  u32 partial_sync;      // whether it has barriers that not all threads take part in
  u32 flush;             // whether f32 subnormals are zero in all of it
  u32 registers;         // of a thread at the start, where the kernel changes that
  u32 order, seed, checks;
  f64 time_limit;
};
extern Launch launch;
struct Finding {
  u32 kind, site, other_site, block[3], thread[3];
  char text[640];
};

void report(Kind kind, u32 site, const char* format, ...) __attribute__((format(printf, 3, 4)));
bool first_time(u32 site, const char* kind);  // whether this kind of finding is new at this site in this launch
[[noreturn]] void stop();                     // end the launch from within a fiber
void yield();                                 // back to the scheduler
std::string name_of(u32 thread);              // "thread (3,0,0)"

// ---- memory --------------------------------------------------------------------------------------------------------
extern u8 in_flight[SHARED];  // bytes of shared memory that a copy under way will write
void memory_begin_launch();
void memory_begin_block();
void memory_exchange(u32 slot);
void memory_resume_block();
void order_barrier();  // all threads of the block
void order_warp(u32 warp);
void order_group(u32 warp_mask, const Clock* also = nullptr);
void order_release(Clock& into);
void order_acquire(const Clock& from);
void shared_written_by_copy(u32 begin, u32 bytes, u32 writer_thread);
void check_copied_from(u32 begin, u32 bytes, u32 site);  // the copy engine or wgmma reads shared memory
inline bool checks(u32 which) { return launch.checks & which; }

// A block that waits for others is put aside: each file's `..._exchange` changes what it knows of the present block for
// what lies in a slot, where at first there is nothing.
template <class T>
T& in_slot(std::vector<T*>& slots, u32 slot) {
  while (slots.size() <= slot) slots.push_back(new T());
  return *slots[slot];
}

// ---- the rest ------------------------------------------------------------------------------------------------------
void lane_exited(const Thread& t);  // perhaps the others of its warp wait for it in vain
bool release_converged(u32 warp);   // lanes that ask who runs with them, once no other lane can go on
void collectives_begin_block();
void collectives_exchange(u32 slot);
void wake_register_waiters();
bool release_barriers(u32 done);
void async_begin_block();
void async_exchange(u32 slot);
void wgmma_exchange(u32 slot);
void async_end_thread();
bool async_step();  // make one copy that is under way; whether there was one
bool async_step_stores();
void wake_mbarrier_waiters();
bool refuse_mbarrier_waiters();
bool wgmma_reads(u32 begin, u32 end);
bool bulk_store_reads(u32 begin, u32 end);
void statistics_access(const char* address, u32 size, u32 how, bool shared, u32 site);
void statistics_end_block();
void statistics_exchange(u32 slot);
void trace_event(const char* kind, const void* address, u32 size, u32 how, u32 space, u32 site);
extern bool statistics_on, trace_on;
