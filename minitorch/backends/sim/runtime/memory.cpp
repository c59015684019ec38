// The memory checker: bounds, alignment, unwritten memory, races. Every access of a kernel comes through sim_access.
//
// Order between threads is kept per warp (`Clock`): `now` counts synchronisations, an access is stamped with it, and a
// warp knows up to which stamp it has seen each other warp. Two accesses by different threads, one of them a write, are
// a race unless the later one's warp has seen the earlier one's stamp. Blocks are never ordered, but by atomics after
// fences (`released`), and by what a cluster does together. They run one after another, or in turns where they wait for
// each other: stamps between two changes of block are a stretch of one block.
#include "memory.h"

Order order_;
u32 clock_size = EACH;
std::vector<BlockMemory*> memory_slots;
BlockMemory* my_memory;
u32 my_clock;
static void forget_stamps() {
  auto forget = [](BlockMemory* m) {
    memset(m->cells, 0, SHARED * sizeof(Cell));
    free(m->read_times);
    m->read_times = nullptr;
  };
  for (BlockMemory* m : memory_slots) forget(m);
  if (my_memory) forget(my_memory);
  forget_allocations();
  order_.now = 1;
}
void memory_begin_launch() {
  if (order_.now > 0xE0000000u) forget_stamps();
  if (!my_memory) my_memory = new BlockMemory();
  sim_shared = my_memory->shared;
  my_clock = 0;
  order_.launch_start = ++order_.now;
  global_begin_launch();
  shared_begin_launch();
}
void memory_begin_block() {
  BlockMemory& m = *my_memory;
  if (launch.partial_sync && !m.read_times) m.read_times = (u32(*)[WARPS])calloc(SHARED, sizeof *m.read_times);
  m.start = m.barrier = ++order_.now;
  for (Clock& clock : m.warps) clock = Clock();
  for (u32 i = 0; i < thread_count; i++) threads[i].proxy_fence = threads[i].mbarrier_fence = 0;
  m.own_stretches.clear();
  begin_stretch();
  m.acquired = Stretches();
  m.fenced = false;
  if (m.any_in_flight) memset(m.in_flight, 0, SHARED);
  m.any_in_flight = false;
  if (!cluster) return;
  for (Clock& clock : m.over) clock = Clock();
  m.remote_reads.clear();
  m.remote.clear();
  std::fill_n(m.inits, RANKS, 0);
  std::fill_n(m.begun, RANKS, false);
}

void memory_exchange(u32 slot) {
  std::swap(in_slot(memory_slots, slot), my_memory);
  sim_shared = my_memory->shared;
  stretches_in_turns();
}
void memory_resume_block() {
  my_clock = my_rank * EACH;
  begin_stretch();
}
char* shared_of(u32 rank) { return of_rank(memory_slots, my_memory, rank).shared; }

// ---- order within the block, and the cluster -----------------------------------------------------------------------
// What one warp knows about other blocks all know after a barrier.
static void share_foreign(u32 mask) {
  Clock all;
  for (u32 w = 0; w < WARPS; w++)
    if (mask >> w & 1) all.join(my_memory->warps[w]);
  for (u32 w = 0; w < WARPS; w++) {
    if (!(mask >> w & 1)) continue;
    u32 own[EACH];
    std::copy_n(my_memory->warps[w].seen + my_clock, EACH, own);
    my_memory->warps[w] = all;
    std::copy_n(own, EACH, my_memory->warps[w].seen + my_clock);
  }
}
void order_barrier() {
  if (cluster) share_foreign(FULL);
  my_memory->barrier = order_.now++;
}
void order_warp(u32 warp) { my_memory->warps[warp].seen[my_clock + warp] = order_.now++; }
void order_group(u32 mask, const Clock* also) {
  Clock joined;
  if (also) joined = *also;
  for (u32 w = 0; w < WARPS; w++)
    if (mask >> w & 1) {
      joined.join(my_memory->warps[w]);
      joined.seen[my_clock + w] = order_.now;
    }
  for (u32 w = 0; w < WARPS; w++)
    if (mask >> w & 1) my_memory->warps[w] = joined;
  order_.now++;
}
void order_release(Clock& into) {
  u32 w = current ? current->warp : ASYNC;
  into.join(my_memory->warps[w]);
  if (cluster)  // other blocks do not see the barriers of this one
    for (u32 i = my_clock; i < my_clock + EACH; i++) into.seen[i] = std::max(into.seen[i], my_memory->barrier);
  into.seen[my_clock + w] = order_.now++;
}
void order_acquire(const Clock& from) {
  Clock& clock = my_warp();
  u32 own = clock.seen[my_clock + current->warp];
  clock.join(from);
  clock.seen[my_clock + current->warp] = own;  // lanes of one warp are ordered by __syncwarp() alone
}
void order_over(const Clock& from) { my_memory->over[current->warp].join(from); }
void order_cluster(const Clock& from) { my_warp().join(from); }
u32 copier_of(u32 rank) { return rank << 10 | COPIED; }
u32 order_stamp(Clock& into, u32 rank) { return into.seen[rank * EACH + ASYNC] = order_.now++; }
bool order_has(u32 id, u32 time) {
  u32 rank = rank_of_id(id);
  if (rank == my_rank && (id == my_id() || time <= my_memory->barrier)) return true;
  return time <= my_warp().seen[rank * EACH + warp_of(id)];
}

extern "C" void sim_proxy_fence() { current->proxy_fence = order_.now++; }
extern "C" void sim_mbarrier_fence() { current->mbarrier_fence = order_.now++; }

// ---- words ----------------------------------------------------------------------------------------------------------
const char* verb(u32 how) {
  return how & SIM_MODIFY ? "atomic operation on" : how & SIM_STORE ? "write of" : "read of";
}
void race(const char* earlier, u32 how, const std::string& where, const std::string& other, u32 site) {
  if (!first_time(site, earlier)) return;
  const char* later = how & SIM_MODIFY ? "atomic operation" : how & SIM_STORE ? "write" : "read";
  report(Kind::race, site, "race: this %s of %s and a %s of it by %s are not ordered", later, where.c_str(), earlier,
         other.c_str());
}

// True if a place is polled that was not polled lately in this launch: a thread that sweeps memory
// is not waiting.
static bool is_new_poll(const char* p) {
  static u64 recent[1 << 16];
  u64 key = (u64)p << 16 ^ (order_.launch_start & 0xffff);
  u64& slot = recent[(u64)p / 4 % (1 << 16)];
  bool is_new = slot != key;
  slot = key;
  return is_new;
}

// ---- every access --------------------------------------------------------------------------------------------------
extern "C" void sim_access(const void* address, u32 size, u32 how, const void* value, u32 site) {
  const char* p = (const char*)address;
  if ((size_t)(p - current->stack) < STACK) return;
  if (((uintptr_t)p & (size - 1)) && checks(CHECK_MEMORY)) {
    report(Kind::misaligned, site,
           "%s %u bytes at an address that is not a multiple of %u (%u over)", verb(how), size,
           size, (u32)((uintptr_t)p & (size - 1)));
    stop();
  }
  size_t offset = p - sim_shared;
  bool shared = offset < SHARED;
  u32 rank = my_rank;
  if (cluster && !shared && (rank = find_rank(p)) < RANKS) {
    shared = true;
    offset = p - shared_of(rank);
    if (checks(CHECK_RACES)) reach_block(rank, site);
  }
  if (statistics_on) statistics_access(p, size, how, shared, site);
  if (trace_on) trace_event(nullptr, p, size, how, shared ? 1 : 0, site);
  if ((how & SIM_ATOMIC) && ++polls % 1024 == 0) sim_budget = 0;  // it will be paused
  if (suspicious && (how & SIM_ATOMIC) && is_new_poll(p)) sim_changes++;
  if (suspicious && (how & SIM_STORE) && !same_bytes(p, value, size)) sim_changes += !(how & SIM_MODIFY);
  if (!launch.checks) return;
  if (shared) return access_shared(rank, offset, size, how, value, site);
  if (p >= launch.parameters_begin && p + size <= launch.parameters_end) {
    if (how & SIM_STORE) {
      report(Kind::out_of_bounds, site, "write to a parameter of the kernel");
      stop();
    }
    return;
  }
  access_memory(p, size, how, value, site);
}
extern "C" void sim_overflow(u32 site) {
  if (!checks(CHECK_MEMORY)) return;
  report(Kind::out_of_bounds, site,
         "the index of this access was computed in 32 bits and overflowed them: compute it in 64 (i64 or size_t)");
  stop();
}
extern "C" void sim_local(const void* address, u32 size, const void* frame, u32 frame_size, u32 site) {
  long offset = (const char*)address - (const char*)frame;
  if (offset >= 0 && offset + size <= frame_size) return;
  report(Kind::out_of_bounds, site,
         "access to %u bytes at offset %ld of the local arrays of the thread, which have %u bytes", size, offset,
         frame_size);
  stop();
}
