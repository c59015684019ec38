// The state of the simulated device: one launch, one block at a time, each CUDA thread a fiber. The blocks of a cluster
// take turns.
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
const u32 RANKS = 8;  // blocks of a cluster at most
const u32 POISON = 0xFFF5FFF5u;  // what unwritten memory holds: a NaN as f16, bf16, f32 and f64
const u32 FULL = 0xFFFFFFFFu;

enum class Kind : u32 { out_of_bounds, misaligned, race, uninitialised, divergent, deadlock, unsupported, trap };
enum class State : u8 { fresh, ready, barrier, warp, converge, mbarrier, warpgroup, registers, cluster, paused, done };

// ---- order: what happened before what ------------------------------------------------------------------------------
// `now` counts synchronisations. Each access is stamped with it. A warp has seen what another did up to a stamp: those
// of its own block, then those of the other blocks of its cluster, WARPS + 1 for each.
const u32 EACH = WARPS + 1;
extern u32 clock_size;  // of this launch: EACH for each block of a cluster
struct Clock {
  u32 seen[EACH * RANKS];
  Clock() { std::fill_n(seen, clock_size, 0); }
  Clock(const Clock& other) { *this = other; }
  Clock& operator=(const Clock& other) {
    std::copy_n(other.seen, clock_size, seen);
    return *this;
  }
  void join(const Clock& other) {
    for (u32 w = 0; w < clock_size; w++) seen[w] = std::max(seen[w], other.seen[w]);
  }
};
struct Order {
  u32 now = 1, launch_start = 1;
};
extern Order order_;

// Between blocks: a block that has made its writes visible by a fence and then does an atomic on X happens before a
// block that does an atomic on X later.
struct Stretches {  // a set of them
  std::vector<u64> bits;
  void add(u32 i) {
    if (bits.size() <= i / 64) bits.resize(i / 64 + 1);
    bits[i / 64] |= 1ull << i % 64;
  }
  void add(const Stretches& other) {
    if (bits.size() < other.bits.size()) bits.resize(other.bits.size());
    for (size_t i = 0; i < other.bits.size(); i++) bits[i] |= other.bits[i];
  }
  bool has(u32 i) const { return i / 64 < bits.size() && bits[i / 64] >> i % 64 & 1; }
};

// ---- clusters ------------------------------------------------------------------------------------------------------
// Blocks that run together and reach each other's shared memory. One of them is the present block; the others lie in
// slots. An address of shared memory of the block with rank r is (r + 1) << 24 | offset; with 0 there, one's own.
struct Cluster {
  u32 size, slots[RANKS], blocks[RANKS];  // the slot and the number of each block
  u32 ended;                              // a bit for each block
  u32 arrived, exited, threads;           // of all blocks
  u64 phase;                              // of barrier.cluster
  bool relaxed, was_relaxed;              // whether somebody arrived without order: in this phase, in the last one
  Clock releasing, released;              // by who has arrived in this phase; by all, in the last one
  Stretches stretches;                    // that happened before the end of the last phase
  u32 inits[RANKS];                       // for each block, up to where mbarriers are known to all by their fences
};
extern Cluster* cluster;  // null in a launch without clusters
extern u32 my_rank;       // of the present block
inline u32 rank_of(u32 address) { return address >> 24 ? (address >> 24) - 1 : my_rank; }
inline u32 offset_of(u32 address) { return address & 0xffffff; }
// Threads of a cluster in one number: 10 bits for the thread, 3 for the rank of its block.
inline u32 rank_of_id(u32 id) { return id >> 10 & 7; }

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
  u32 id() const { return index | my_rank << 10; }  // of a thread of the present block
  u32 barrier_id, barrier_threads, barrier_operation, barrier_predicate, barrier_result;
  WarpOp* op;
  WarpgroupOp* warpgroup_op;
  u32 mbarrier;
  u64 mbarrier_phase;
  u64 refused_at;  // the state of `progress` when this thread last heard that an mbarrier is not over
  u32 proxy_fence, mbarrier_fence;  // the stamps of its last fence.proxy.async and fence.mbarrier_init
  u32 converged;  // lanes that were at the same __activemask()
  bool cluster_arrived;  // and has not waited yet
  u64 cluster_phase;
  std::vector<CopyAsync> copies;
  u32 copy_group;
  std::vector<BulkStore> stores;
  u32 store_group;
  Products products;
};
extern Thread* threads;  // of the present block
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
  u32 cluster[3];  // blocks of a cluster along each axis; 0 in a launch without clusters
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
void schedule_begin();                        // of a launch
void run_blocks();                            // all of them
std::string name_of(u32 id);                  // "thread (3,0,0)", and its block where that is another one
Thread& thread_of(u32 id);
std::string name_of_block(u32 rank);          // "block (1,0,0)"

// ---- memory --------------------------------------------------------------------------------------------------------
void memory_begin_launch();
void memory_begin_block();
void memory_exchange(u32 slot);
void memory_resume_block();
void order_barrier();  // all threads of the block
void order_warp(u32 warp);
void order_group(u32 warp_mask, const Clock* also = nullptr);
void order_release(Clock& into);
void order_acquire(const Clock& from);
void order_over(const Clock& from);                  // of products and copies, by a remote arrival
void order_cluster(const Clock& from);            // each thread of the cluster arrived
bool order_has(u32 id, u32 time);                 // whether a stamp of a thread of the cluster is known to this warp
u32 order_stamp(Clock& into, u32 rank);           // of the copy engine of a block
char* shared_of(u32 rank);                        // the shared memory of a block of the cluster
void shared_written_by_copy(u32 rank, u32 begin, u32 bytes, u32 writer_thread);
bool is_in_flight(u32 rank, u32 begin, u32 bytes);  // whether a copy under way will write there
void mark_in_flight(u32 rank, u32 begin, u32 bytes);
void shared_taken_by_copy(u32 rank, u32 begin, u32 bytes, u32 site);
void reach_block(u32 rank, u32 site);             // the present thread comes to shared memory of another block
void note_remote(u32 rank, u32 id, u32 time, u32 site);
u32 copier_of(u32 rank);                          // the number of a block's copy engine, as of a thread
bool order_has_mbarrier(u32 id, u32 time);        // whether an mbarrier made then is known to be initialised
void memory_end_block();
void memory_inits_seen();
void memory_end_phase();                          // of barrier.cluster: what all have done and acquired ...
void memory_begin_phase();                        // ... the present block knows
void read_until_now(const std::vector<u32>& units);  // by wgmma, 16 bytes each
void check_copied_from(u32 begin, u32 bytes, u32 site);  // the copy engine or wgmma reads shared memory
inline bool checks(u32 which) { return launch.checks & which; }

// A block that waits for others is put aside: each file's `..._exchange` changes what it knows of the present block for
// what lies in a slot, where at first there is nothing.
template <class T>
T*& in_slot(std::vector<T*>& slots, u32 slot) {
  while (slots.size() <= slot) slots.push_back(new T());
  return slots[slot];
}
// The state that a file keeps for a block of the cluster.
template <class T>
T& of_rank(std::vector<T*>& slots, T* mine, u32 rank) {
  return rank == my_rank ? *mine : *in_slot(slots, cluster->slots[rank]);
}

// ---- the rest ------------------------------------------------------------------------------------------------------
void lane_exited(const Thread& t);  // perhaps the others of its warp wait for it in vain
bool release_converged(u32 warp);   // lanes that ask who runs with them, once no other lane can go on
void collectives_begin_block();
void collectives_exchange(u32 slot);
void wake_register_waiters();
bool release_barriers(u32 done);
bool release_cluster_barrier(u32 done);
void cluster_end_thread();
void async_begin_block();
void async_exchange(u32 slot);
void wgmma_exchange(u32 slot);
void async_end_thread();
bool async_step();  // make one copy that is under way; whether there was one
bool async_step_stores();
void wake_mbarrier_waiters();
bool refuse_mbarrier_waiters();
bool wgmma_reads(u32 rank, u32 begin, u32 end);
bool bulk_copy_reads(u32 rank, u32 begin, u32 end);
bool holds_mbarrier(u32 rank, u32 begin, u32 end);
void statistics_access(const char* address, u32 size, u32 how, bool shared, u32 site);
void statistics_end_block();
void statistics_exchange(u32 slot);
void trace_event(const char* kind, const void* address, u32 size, u32 how, u32 space, u32 site);
extern bool statistics_on, trace_on;
