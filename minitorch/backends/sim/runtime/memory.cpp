// The memory checker: bounds, alignment, unwritten memory, races. Every access of a kernel comes through sim_access.
//
// Order between threads is kept per warp (`Clock`): `now` counts synchronisations, an access is stamped with it, and a
// warp knows up to which stamp it has seen each other warp. Two accesses by different threads, one of them a write, are
// a race unless the later one's warp has seen the earlier one's stamp. Blocks are never ordered, but by atomics after
// fences (`released`), and by what a cluster does together. They run one after another, or in turns where they wait for
// each other: stamps between two changes of block are a stretch of one block.
#include "state.h"
#include <map>

Order order_;
u32 clock_size = EACH;

// ---- shadow cells --------------------------------------------------------------------------------------------------
const u16 ATOMIC = 0x8000, MANY = 0x8000, COPIED = 0x2000, ENGINE = 0x4000, ID = 0x3fff;
const u32 BY_ENGINE = 16;  // how an access is made, beside those of abi.h
struct Cell {                 // of `granule` bytes of memory
  u32 write_time, read_time;  // 0: never
  u16 writer, reader;         // thread with its rank, and the bits ATOMIC; MANY (several lanes), ENGINE (wgmma alone)
  u32 reader_warps;           // shared memory: warps that have read since the last barrier
};
struct Allocation {
  char *begin, *end;
  bool poisoned;  // whether unwritten words hold POISON
  bool read_only;
  u32 granule;
  Cell* cells;  // made at the first access; halved when a smaller access comes
  char label[64];
};
static std::vector<Allocation*> allocations;  // by address
static Allocation* last_found;
static std::vector<u32> block_times;  // the stamp at which each stretch of this launch began
static std::vector<u32> block_numbers;  // whose it is
static bool in_turns;                   // whether a block of this launch has been put aside
static u32 block_number() {
  return sim_grid.ctaid[0] + sim_grid.nctaid[0] * (sim_grid.ctaid[1] + sim_grid.nctaid[1] * sim_grid.ctaid[2]);
}

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
static std::map<const void*, Stretches> released;  // by X

// An access to shared memory by a thread of another block.
struct Remote {
  u32 id, time, site;
};
// What is known of the memory of a block; one that is put aside takes it along.
struct BlockMemory {
  char* shared = (char*)aligned_alloc(4096, SHARED + 4096);
  Cell* cells = (Cell*)calloc(SHARED, sizeof(Cell));  // of shared memory
  u32 (*read_times)[WARPS] = nullptr;                 // per cell and warp, where barriers are partial
  u8* in_flight = (u8*)calloc(SHARED, 1);             // bytes of shared memory that a copy under way will write
  bool any_in_flight = false, fenced = false;
  u32 start, barrier;  // all up to this stamp happened before the block began; before its last full barrier
  Clock warps[EACH];
  Clock over[EACH];  // of a cluster: what is over, as other blocks said without a release to the cluster
  Stretches acquired;
  std::vector<u32> own_stretches;
  std::unordered_map<u32, std::vector<Remote>> remote_reads;  // by cell; the last of each warp
  std::unordered_map<u32, Remote> remote;                     // the last access of each warp of other blocks
  u32 inits[RANKS];                                           // up to where it knows mbarriers by their fences
  bool begun[RANKS];                                          // whether it knows that the others have begun
};
static std::vector<BlockMemory*> slots;
static BlockMemory* mine;
static bool taking;   // a copy begins to write
static u32 my_clock;  // where a Clock has the warps of the present block
static void forget_stamps() {
  auto forget = [](BlockMemory* m) {
    memset(m->cells, 0, SHARED * sizeof(Cell));
    free(m->read_times);
    m->read_times = nullptr;
  };
  for (BlockMemory* m : slots) forget(m);
  if (mine) forget(mine);
  for (Allocation* a : allocations) {
    free(a->cells);
    a->cells = nullptr;
  }
  order_.now = 1;
}
void memory_begin_launch() {
  if (order_.now > 0xE0000000u) forget_stamps();
  if (!mine) mine = new BlockMemory();
  sim_shared = mine->shared;
  my_clock = 0;
  order_.launch_start = ++order_.now;
  block_times.clear();
  block_numbers.clear();
  released.clear();
  in_turns = taking = false;
  last_found = nullptr;
}
static void begin_stretch() {
  if (!block_numbers.empty() && block_numbers.back() == block_number()) {
    if (mine->own_stretches.empty()) mine->own_stretches.push_back(block_times.size() - 1);
    return;
  }
  mine->own_stretches.push_back(block_times.size());
  block_times.push_back(++order_.now);
  block_numbers.push_back(block_number());
}
void memory_begin_block() {
  BlockMemory& m = *mine;
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
  std::swap(in_slot(slots, slot), mine);
  sim_shared = mine->shared;
  in_turns = true;
}
void memory_resume_block() {
  my_clock = my_rank * EACH;
  begin_stretch();
}
char* shared_of(u32 rank) { return of_rank(slots, mine, rank).shared; }
static u32 my_id() { return current->id(); }
static Clock& my_warp() { return mine->warps[current->warp]; }

// ---- order within the block, and the cluster -----------------------------------------------------------------------
// What one warp knows of other blocks all know after a barrier.
static void share_foreign(u32 mask) {
  Clock all;
  for (u32 w = 0; w < WARPS; w++)
    if (mask >> w & 1) all.join(mine->warps[w]);
  for (u32 w = 0; w < WARPS; w++) {
    if (!(mask >> w & 1)) continue;
    u32 own[EACH];
    std::copy_n(mine->warps[w].seen + my_clock, EACH, own);
    mine->warps[w] = all;
    std::copy_n(own, EACH, mine->warps[w].seen + my_clock);
  }
}
void order_barrier() {
  if (cluster) share_foreign(FULL);
  mine->barrier = order_.now++;
}
void order_warp(u32 warp) { mine->warps[warp].seen[my_clock + warp] = order_.now++; }
void order_group(u32 mask, const Clock* also) {
  Clock joined;
  if (also) joined = *also;
  for (u32 w = 0; w < WARPS; w++)
    if (mask >> w & 1) {
      joined.join(mine->warps[w]);
      joined.seen[my_clock + w] = order_.now;
    }
  for (u32 w = 0; w < WARPS; w++)
    if (mask >> w & 1) mine->warps[w] = joined;
  order_.now++;
}
void order_release(Clock& into) {
  u32 w = current ? current->warp : ASYNC;
  into.join(mine->warps[w]);
  if (cluster)  // other blocks do not know of the barriers of this one
    for (u32 i = my_clock; i < my_clock + EACH; i++) into.seen[i] = std::max(into.seen[i], mine->barrier);
  into.seen[my_clock + w] = order_.now++;
}
void order_acquire(const Clock& from) {
  Clock& clock = my_warp();
  u32 own = clock.seen[my_clock + current->warp];
  clock.join(from);
  clock.seen[my_clock + current->warp] = own;  // lanes of one warp are ordered by __syncwarp() alone
}
void order_over(const Clock& from) { mine->over[current->warp].join(from); }
void order_cluster(const Clock& from) { my_warp().join(from); }
u32 copier_of(u32 rank) { return rank << 10 | COPIED; }
u32 order_stamp(Clock& into, u32 rank) { return into.seen[rank * EACH + ASYNC] = order_.now++; }
static u32 warp_of(u32 id) { return id & COPIED ? ASYNC : (id & 1023) / 32; }
bool order_has(u32 id, u32 time) {
  u32 rank = rank_of_id(id);
  if (rank == my_rank && (id == my_id() || time <= mine->barrier)) return true;
  return time <= my_warp().seen[rank * EACH + warp_of(id)];
}
// A remote arrival at an mbarrier tells, even without a release to the cluster, that products and copies which its
// thread has waited for are over: another copy may then take their place. It says nothing of what threads read or wrote.
static u32 known_over(u32 clock) { return taking && cluster ? mine->over[current->warp].seen[clock] : 0; }
// Whether an access by thread `other` at `time` happened before.
static bool is_ordered(u32 other, u32 time) {
  if (cluster) return order_has(other, time);
  if (other == current->index || time <= mine->barrier) return true;
  return time <= my_warp().seen[warp_of(other)];
}

// ---- allocations ---------------------------------------------------------------------------------------------------
static Allocation* find(const char* p) {
  if (last_found && p >= last_found->begin && p < last_found->end) return last_found;
  auto after = std::upper_bound(allocations.begin(), allocations.end(), p,
                                [](const char* p, Allocation* a) { return p < a->begin; });
  if (after == allocations.begin()) return nullptr;
  Allocation* a = *(after - 1);
  return p < a->end ? last_found = a : nullptr;
}
extern "C" void sim_register(void* p, u64 bytes, const char* label, bool poisoned, bool read_only) {
  Allocation* a = new Allocation{(char*)p, (char*)p + bytes, poisoned, read_only, 0, nullptr, {}};
  snprintf(a->label, sizeof a->label, "%s", label);
  auto after = std::upper_bound(allocations.begin(), allocations.end(), a,
                                [](Allocation* x, Allocation* y) { return x->begin < y->begin; });
  allocations.insert(after, a);
  last_found = nullptr;
}
extern "C" bool sim_unregister(void* p) {
  auto at = std::lower_bound(allocations.begin(), allocations.end(), (char*)p,
                             [](Allocation* a, char* p) { return a->begin < p; });
  if (at == allocations.end() || (*at)->begin != (char*)p) return false;
  free((*at)->cells);
  delete *at;
  allocations.erase(at);
  last_found = nullptr;
  return true;
}
static void make_cells(Allocation* a, u32 granule) {
  if (granule > 16) granule = 16;
  size_t size = a->end - a->begin + 16;
  if (!a->cells) {
    a->granule = granule;
    a->cells = (Cell*)calloc(size / granule + 1, sizeof(Cell));
    return;
  }
  u32 times = a->granule / granule;
  Cell* finer = (Cell*)malloc((size / granule + times + 1) * sizeof(Cell));
  for (size_t i = 0; i <= size / a->granule; i++)
    for (u32 j = 0; j < times; j++) finer[i * times + j] = a->cells[i];
  free(a->cells);
  a->cells = finer;
  a->granule = granule;
}

// ---- messages ------------------------------------------------------------------------------------------------------
// The label of some memory, and which parameter of the kernel (of Python's list) leads to the place p in it: of those
// that point into it, the last that points before p.
static std::string name_of(const Allocation* a, const char* p) {
  const char *nearest = nullptr, *end;
  int found = -1;
  for (int i = 0; launch.parameters[i]; i++) {
    end = launch.parameters[i + 1] ? launch.parameters[i + 1] : launch.parameters_end;
    for (const char* word = launch.parameters[i]; word + 8 <= end; word += 8) {
      const char* address;
      memcpy(&address, word, 8);
      if (address < a->begin || address >= a->end || (nearest && (address > p || address <= nearest))) continue;
      nearest = address;
      found = i;
    }
  }
  return a->label + (found < 0 ? "" : "{p" + std::to_string(found) + "}");
}
static const char* verb(u32 how) {
  return how & SIM_MODIFY ? "atomic operation on" : how & SIM_STORE ? "write of" : "read of";
}
static void race(const char* earlier, u32 how, const std::string& where, const std::string& other, u32 site) {
  if (!first_time(site, earlier)) return;
  const char* later = how & SIM_MODIFY ? "atomic operation" : how & SIM_STORE ? "write" : "read";
  report(Kind::race, site, "race: this %s of %s and a %s of it by %s are not ordered", later, where.c_str(), earlier,
         other.c_str());
}
static void out_of_bounds(const char* p, u32 size, u32 how, u32 site) {
  Allocation* nearest = nullptr;
  long best = 64 << 20;
  for (Allocation* a : allocations) {
    long distance = p < a->begin ? a->begin - p : p - a->end;
    if (distance < best) best = distance, nearest = a;
  }
  if ((u64)p < 4096)
    report(Kind::out_of_bounds, site, "%s %u bytes through a null pointer (address %p)", verb(how), size, p);
  else if (nearest)
    report(Kind::out_of_bounds, site, "%s %u bytes at offset %ld of %s, which has %ld bytes", verb(how), size,
           (long)(p - nearest->begin), name_of(nearest, p).c_str(), (long)(nearest->end - nearest->begin));
  else
    report(Kind::out_of_bounds, site, "%s %u bytes at %p, which is no memory of the device", verb(how), size, p);
  stop();
}

// ---- shared memory -------------------------------------------------------------------------------------------------
static std::string shared_place(u32 offset) {
  bool is_static = offset < launch.static_shared;
  u32 from = is_static ? 0 : launch.static_shared;
  if (is_static)
    for (u32 i = 0; i < launch.variable_count; i++)
      if (offset >= launch.variables[2 * i] && offset < launch.variables[2 * i + 1]) from = launch.variables[2 * i];
  return std::string(is_static ? "static" : "dynamic") + " shared memory at offset " + std::to_string(offset - from);
}
static void check_shared_bounds(u32 offset, u32 size, u32 how, u32 site) {
  if (offset >= launch.static_shared) {
    if (offset + size <= launch.static_shared + launch.dynamic_shared) return;
    report(Kind::out_of_bounds, site, "%s %u bytes at offset %u of dynamic shared memory: the launch gave %u bytes",
           verb(how), size, offset - launch.static_shared, launch.dynamic_shared);
    stop();
  }
  for (u32 i = 0; i < launch.variable_count; i++)
    if (offset >= launch.variables[2 * i] && offset + size <= launch.variables[2 * i + 1]) return;
  u32 nearest = 0;
  for (u32 i = 1; i < launch.variable_count; i++)
    if (launch.variables[2 * i] <= offset) nearest = i;
  report(Kind::out_of_bounds, site, "%s %u bytes at offset %u of a shared variable of %u bytes", verb(how), size,
         offset - launch.variables[2 * nearest], launch.variables[2 * nearest + 1] - launch.variables[2 * nearest]);
  stop();
}
static std::string place_of(u32 rank, u32 offset) {
  return shared_place(offset) + (rank == my_rank ? "" : " of " + name_of_block(rank));
}
static bool same_bytes(const char* p, const void* value, u32 size) { return value && !memcmp(p, value, size); }
static u32 granule_shift() { return launch.granule == 4 ? 2 : launch.granule == 2 ? 1 : 0; }

// An access to a cell of shared memory.
struct SharedAccess {
  BlockMemory& m;
  u32 rank, offset, how, site;
  const void* value;
};
static void check_readers(const SharedAccess& a, const Cell& c, u32 i) {
  bool own = a.rank == my_rank, one_warp = !(c.reader_warps & (c.reader_warps - 1));
  for (u32 rest = c.reader_warps; rest; rest &= rest - 1) {
    u32 warp = __builtin_ctz(rest);
    if (own && warp == current->warp && (!one_warp || ((c.reader & ID) == my_id() && !(c.reader & MANY)))) continue;
    u32 time = launch.partial_sync ? a.m.read_times[i][warp] : c.read_time;
    u32 over = c.reader & ENGINE ? known_over(a.rank * EACH + warp) : 0;
    if (time <= std::max({own ? mine->barrier : 0, my_warp().seen[a.rank * EACH + warp], over})) continue;
    u32 reader = one_warp && (c.reader & ID) != my_id() ? c.reader & ID : a.rank << 10 | warp * 32;
    race("read", a.how, place_of(a.rank, a.offset), one_warp ? name_of(reader) : "warp " + std::to_string(warp), a.site);
    return;
  }
}
static void check_remote_readers(const SharedAccess& a, u32 i) {
  auto reads = a.m.remote_reads.find(i);
  if (reads == a.m.remote_reads.end()) return;
  for (const Remote& r : reads->second)
    if (!order_has(r.id, r.time)) race("read", a.how, place_of(a.rank, a.offset), name_of(r.id), a.site);
}
static void note_read(const SharedAccess& a, Cell& c, u32 i) {
  if (a.rank != my_rank) {
    auto& reads = a.m.remote_reads[i];
    auto same = [](const Remote& r) { return r.id >> 5 == my_id() >> 5; };
    auto at = std::find_if(reads.begin(), reads.end(), same);
    if (at == reads.end()) at = reads.insert(at, Remote());
    *at = {my_id(), order_.now, a.site};
    return;
  }
  u16 engine = a.how & BY_ENGINE ? ENGINE : 0;
  if (c.read_time <= mine->barrier) {
    c.reader_warps = 0;
    c.reader = my_id() | engine;
  } else if ((c.reader & ID) != my_id())
    c.reader = my_id() | MANY | (c.reader & engine);
  else if (!engine)
    c.reader &= ~ENGINE;
  c.reader_warps |= 1u << current->warp;
  c.read_time = order_.now;
  if (launch.partial_sync) mine->read_times[i][current->warp] = order_.now;
}
static void access_cell(const SharedAccess& a, u32 i, u32 size) {
  Cell& c = a.m.cells[i];
  const char* place = a.m.shared + a.offset;
  u32 how = a.how;
  bool written = c.write_time >= a.m.start;
  if (!written && (!(how & SIM_STORE) || (how & SIM_MODIFY)) && checks(CHECK_UNINITIALISED) &&
      first_time(a.site, "unwritten"))
    report(Kind::uninitialised, a.site, "read of %s, which nothing has written", place_of(a.rank, a.offset).c_str());
  bool both_atomic = (how & SIM_ATOMIC) && (c.writer & ATOMIC);
  bool copied_over = c.writer & COPIED && c.write_time <= known_over(rank_of_id(c.writer & ID) * EACH + ASYNC);
  if (written && !both_atomic && !copied_over && !is_ordered(c.writer & 0x7fff, c.write_time) && checks(CHECK_RACES) &&
      !((how & SIM_STORE) && same_bytes(place, a.value, size)))
    race("write", how, place_of(a.rank, a.offset),
         c.writer & COPIED ? "an asynchronous copy" : name_of(c.writer & 0x7fff), a.site);
  if ((how & SIM_STORE) && !(how & SIM_ATOMIC) && checks(CHECK_RACES) && !same_bytes(place, a.value, size)) {
    if (c.read_time >= a.m.start) check_readers(a, c, i);
    if (cluster) check_remote_readers(a, i);
  }
  if (how & SIM_STORE) {
    c.write_time = order_.now;
    c.writer = my_id() | (how & SIM_ATOMIC ? ATOMIC : 0);
  } else
    note_read(a, c, i);
}
static void access_shared(u32 rank, u32 offset, u32 size, u32 how, const void* value, u32 site) {
  SharedAccess a{of_rank(slots, mine, rank), rank, offset, how, site, value};
  if (checks(CHECK_MEMORY)) check_shared_bounds(offset, size, how, site);
  if (a.m.any_in_flight && checks(CHECK_RACES) && is_in_flight(rank, offset, size) && first_time(site, "flight"))
    report(Kind::race, site, "race: this %s of %s comes before the copy into it has been waited for",
           how & SIM_STORE ? "write" : "read", place_of(rank, offset).c_str());
  if ((how & SIM_STORE) && checks(CHECK_MEMORY) && holds_mbarrier(rank, offset, offset + size)) {
    report(Kind::trap, site, "a write to %s, where an mbarrier lies (until mbarrier.inval)",
           place_of(rank, offset).c_str());
    stop();
  }
  if ((how & SIM_STORE) && checks(CHECK_RACES)) {
    const char* reader = wgmma_reads(rank, offset, offset + size)       ? "wgmma"
                         : bulk_copy_reads(rank, offset, offset + size) ? "bulk copy"
                                                                        : nullptr;
    if (reader && first_time(site, reader))
      report(Kind::race, site, "race: this write of %s comes before the %s that reads it has been waited for",
             place_of(rank, offset).c_str(), reader);
  }
  for (u32 i = offset >> granule_shift(); i <= (offset + size - 1) >> granule_shift(); i++) access_cell(a, i, size);
}

// ---- shared memory of other blocks of the cluster --------------------------------------------------------------------
// It is there from the beginning of the other block to its end: both must be known to lie around an access.
void check_remote(u32 rank, u32 site) {
  const u32* seen = my_warp().seen + rank * EACH;
  bool begun = mine->begun[rank] || std::any_of(seen, seen + EACH, [](u32 time) { return time; });
  if (cluster->ended >> rank & 1) {
    report(Kind::race, site, "race: this access to shared memory of %s comes after that block has ended",
           name_of_block(rank).c_str());
    stop();
  }
  if (!begun && first_time(site, "begun"))
    report(Kind::race, site,
           "race: this access to shared memory of %s may come before that block has begun: nothing orders them "
           "(barrier.cluster does)",
           name_of_block(rank).c_str());
}
void note_remote(u32 rank, u32 id, u32 time, u32 site) { of_rank(slots, mine, rank).remote[id >> 5] = {id, time, site}; }
void reach_block(u32 rank, u32 site) {
  check_remote(rank, site);
  note_remote(rank, my_id(), order_.now, site);
}
// The copy engine begins to write there.
void shared_taken_by_copy(u32 rank, u32 offset, u32 bytes, u32 site) {
  if (rank != my_rank && checks(CHECK_RACES)) check_remote(rank, site);
  u32 step = std::min(bytes, 16u);
  taking = true;
  for (u32 i = 0; i + step <= bytes; i += step)
    if (rank == my_rank)
      sim_access(sim_shared + offset + i, step, SIM_STORE, nullptr, site);
    else if (launch.checks)
      access_shared(rank, offset + i, step, SIM_STORE, nullptr, site);
  taking = false;
  mark_in_flight(rank, offset, bytes);
}
void memory_end_block() {
  if (!checks(CHECK_RACES) || mine->remote.empty()) return;
  for (u32 w = 1; w < WARPS; w++) mine->warps[0].join(mine->warps[w]);
  for (auto& [_, r] : mine->remote) {
    if (r.time <= mine->warps[0].seen[rank_of_id(r.id) * EACH + warp_of(r.id)] || !first_time(r.site, "end")) continue;
    report(Kind::race, r.site,
           "race: an access to shared memory of this block by %s may come after the block has ended: nothing orders "
           "them (barrier.cluster does)",
           name_of(r.id).c_str());
  }
}
void memory_inits_seen() {  // after barrier.cluster.wait
  for (u32 r = 0; r < cluster->size; r++) {
    mine->inits[r] = std::max(mine->inits[r], cluster->inits[r]);
    mine->begun[r] = true;
  }
}
// Whether an mbarrier of another block, made at this stamp, is surely initialised.
bool order_has_mbarrier(u32 id, u32 time) { return time <= mine->inits[rank_of_id(id)] || order_has(id, time); }
static u32 find_rank(const char* p) {  // whose shared memory; RANKS for nobody's
  for (u32 r = 0; r < cluster->size; r++)
    if ((size_t)(p - shared_of(r)) < SHARED) return r;
  return RANKS;
}
static void check_rank(u32 address, u32 site) {
  if (rank_of(address) < (cluster ? cluster->size : 1)) return;
  report(Kind::out_of_bounds, site, "an address of shared memory of the block with rank %u in a cluster of %u",
         rank_of(address), cluster ? cluster->size : 1);
  stop();
}
extern "C" char* sim_cluster_address(u32 address, u32 site) {
  check_rank(address, site);
  return (cluster ? shared_of(rank_of(address)) : sim_shared) + offset_of(address);
}
extern "C" u32 sim_cluster_window(const void* address, u32 site) {
  u32 rank = cluster ? find_rank((const char*)address) : 0;
  if (cluster && rank < RANKS) return (rank + 1) << 24 | (u32)((const char*)address - shared_of(rank));
  u64 offset = (const char*)address - sim_shared;
  if (!cluster && offset < SHARED) return (u32)offset;
  report(Kind::out_of_bounds, site, "%p is no address of shared memory of a cluster", address);
  stop();
}
extern "C" u32 sim_cluster_rank(u32 address) { return rank_of(address); }
extern "C" bool sim_in_cluster(const void* p) {
  return cluster ? find_rank((const char*)p) < RANKS : (size_t)((const char*)p - sim_shared) < SHARED;
}
extern "C" u32 sim_mapa(u32 address, u32 rank, u32 site) {
  address = (rank + 1) << 24 | offset_of(address);
  check_rank(rank >= 255 ? FULL : address, site);
  return address;
}

// The copy engine and wgmma see what threads wrote only after a fence.proxy.async of the writer, or of who starts them.
void check_copied_from(u32 begin, u32 bytes, u32 site) {
  if (!launch.checks) return;
  access_shared(my_rank, begin, bytes, SIM_LOAD | BY_ENGINE, nullptr, site);
  if (!checks(CHECK_RACES)) return;
  for (u32 i = begin >> granule_shift(); i <= (begin + bytes - 1) >> granule_shift(); i++) {
    const Cell& c = mine->cells[i];
    if (c.write_time < mine->start || c.writer & COPIED) continue;
    u32 writer = c.writer & 0x7fff;
    if (c.write_time <= std::max(thread_of(writer).proxy_fence, current->proxy_fence) || !first_time(site, "proxy")) continue;
    report(Kind::race, site, "race: %s was written by %s without fence.proxy.async before this asynchronous read",
           shared_place(begin).c_str(), name_of(writer).c_str());
    return;
  }
}
extern "C" void sim_proxy_fence() { current->proxy_fence = order_.now++; }
extern "C" void sim_mbarrier_fence() { current->mbarrier_fence = order_.now++; }
// A copy into shared memory has arrived: by a thread that waited for it, or (COPIED) by the copy engine.
void shared_written_by_copy(u32 rank, u32 begin, u32 bytes, u32 writer) {
  BlockMemory& m = of_rank(slots, mine, rank);
  for (u32 i = begin >> granule_shift(); i <= (begin + bytes - 1) >> granule_shift(); i++) {
    m.cells[i].write_time = order_.now;
    m.cells[i].writer = rank << 10 | (writer == FULL ? COPIED : writer);
  }
  memset(m.in_flight + begin, 0, bytes);
}
void mark_in_flight(u32 rank, u32 begin, u32 bytes) {
  BlockMemory& m = of_rank(slots, mine, rank);
  memset(m.in_flight + begin, 1, bytes);
  m.any_in_flight = true;
}
bool is_in_flight(u32 rank, u32 begin, u32 bytes) {
  const u8* bytes_of = of_rank(slots, mine, rank).in_flight + begin;
  return std::any_of(bytes_of, bytes_of + bytes, [](u8 b) { return b; });
}

// ---- global memory -------------------------------------------------------------------------------------------------
static std::string other_block(u32 time) {
  u32 i = std::upper_bound(block_times.begin(), block_times.end(), time) - block_times.begin() - 1;
  u32 n = block_numbers[i], x = sim_grid.nctaid[0], y = sim_grid.nctaid[1];
  return "block (" + std::to_string(n % x) + "," + std::to_string(n / x % y) + "," + std::to_string(n / x / y) + ")";
}
static u32 stretch_of(u32 time) {
  return std::upper_bound(block_times.begin(), block_times.end(), time) - block_times.begin() - 1;
}
// Whether what a thread (of another block) did happened before.
static bool is_acquired(u32 id, u32 time) {
  u32 stretch = stretch_of(time);
  if (mine->acquired.has(stretch)) return true;
  return cluster && cluster->blocks[rank_of_id(id)] == block_numbers[stretch] && order_has(id, time);
}
static bool is_of_other_block(u32 time) {
  return time < mine->start || (in_turns && block_numbers[stretch_of(time)] != block_numbers.back());
}
static void access_global(Allocation* a, const char* p, u32 size, u32 how, const void* value, u32 site) {
  if (!a->cells || size < a->granule) make_cells(a, size);
  const Order& o = order_;
  const char* base = (const char*)((uintptr_t)a->begin & ~15ull);
  size_t first = (p - base) / a->granule, last = (p + size - 1 - base) / a->granule;
  auto where = [&] { return name_of(a, p) + " at offset " + std::to_string(p - a->begin); };
  bool repeats = (how & SIM_STORE) && same_bytes(p, value, size);  // writes what is there already: harmless
  for (size_t i = first; i <= last; i++) {
    Cell& c = a->cells[i];
    u32 writer = c.writer & 0x7fff, reader = c.reader & 0x7fff;
    if ((how & SIM_CONSTANT) && c.write_time >= o.launch_start && first_time(site, "constant"))
      report(Kind::race, site,
             "race: this read of %s goes through the read-only cache (ld.global.nc, __ldg), which need not see what "
             "the same launch has written",
             where().c_str());
    if (c.write_time >= o.launch_start && !repeats && !((how & SIM_ATOMIC) && (c.writer & ATOMIC))) {
      if (is_of_other_block(c.write_time)) {
        if (!is_acquired(writer, c.write_time)) race("write", how, where(), other_block(c.write_time), site);
      } else if (!is_ordered(writer, c.write_time))
        race("write", how, where(), name_of(writer) + " of this block", site);
    }
    if ((how & SIM_STORE) && !(how & SIM_ATOMIC) && !repeats && c.read_time >= o.launch_start) {
      if (is_of_other_block(c.read_time)) {
        if (!is_acquired(reader, c.read_time)) race("read", how, where(), other_block(c.read_time), site);
      } else if (c.read_time > mine->barrier && (c.reader & MANY) && !launch.partial_sync) {
        if (c.read_time > my_warp().seen[my_clock + current->warp] || warp_of(reader) != current->warp)
          race("read", how, where(), "several threads of this block", site);
      } else if (!is_ordered(reader, c.read_time))
        race("read", how, where(), name_of(reader) + " of this block", site);
    }
    if (how & SIM_STORE) {
      c.write_time = o.now;
      c.writer = my_id() | (how & SIM_ATOMIC ? ATOMIC : 0);
    } else {
      bool many = c.read_time > mine->barrier && (reader != my_id() || (c.reader & MANY));
      c.read_time = o.now;
      c.reader = my_id() | (many ? MANY : 0);
    }
  }
}
static void check_poison(Allocation* a, const char* p, u32 size, u32 how, u32 site) {
  const char* word = (const char*)((uintptr_t)p & ~3ull);
  for (; word < p + size; word += 4) {
    u32 value;
    if (word < a->begin || word + 4 > a->end) continue;
    memcpy(&value, word, 4);
    if (value != POISON || !first_time(site, "poison")) continue;
    report(Kind::uninitialised, site, "%s %s at offset %ld, which nothing has written", verb(how),
           name_of(a, p).c_str(), (long)(word - a->begin));
    return;
  }
}
extern "C" void sim_fence() { mine->fenced = true; }
static void order_blocks(const char* p) {  // an atomic operation on p: acquire what others released, release if fenced
  Stretches& here = released[p];
  mine->acquired.add(here);
  if (!mine->fenced) return;
  here.add(mine->acquired);
  for (u32 i : mine->own_stretches) here.add(i);
}

// Whether a place is polled that was not polled lately in this launch: who goes over memory is not waiting.
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
    report(Kind::misaligned, site, "%s %u bytes at an address that is no multiple of %u (%u over)", verb(how), size,
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
  Allocation* a = find(p);
  if (!a || p + size > a->end) {
    if (checks(CHECK_MEMORY)) out_of_bounds(p, size, how, site);
    return;
  }
  if (a->read_only && (how & SIM_STORE)) {
    report(Kind::out_of_bounds, site, "write to %s, which is constant", name_of(a, p).c_str());
    stop();
  }
  if (a->poisoned && checks(CHECK_UNINITIALISED) && (!(how & SIM_STORE) || (how & SIM_MODIFY)))
    check_poison(a, p, size, how, site);
  if (!checks(CHECK_RACES)) return;
  if (how & SIM_ATOMIC) order_blocks(p);
  access_global(a, p, size, how, value, site);
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
extern "C" bool sim_locate(const void* address, char* label, u64 length, s64* offset) {
  Allocation* a = find((const char*)address);
  if (!a) return false;
  snprintf(label, length, "%s", a->label);
  *offset = (const char*)address - a->begin;
  return true;
}
