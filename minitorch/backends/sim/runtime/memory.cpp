// The memory checker: bounds, alignment, unwritten memory, races. Every access of a kernel comes through sim_access.
//
// Order between threads is kept per warp (`Clock`): `now` counts synchronisations, an access is stamped with it, and a
// warp knows up to which stamp it has seen each other warp. Two accesses by different threads, one of them a write, are
// a race unless the later one's warp has seen the earlier one's stamp. Blocks are never ordered, but by atomics after
// fences (`released`). They run one after another, or in turns where they wait for each other: stamps between two changes
// of block are a stretch of one block.
#include "state.h"
#include <map>

Order order_;
u8 in_flight[SHARED];
static bool any_in_flight;

// ---- shadow cells --------------------------------------------------------------------------------------------------
const u16 NOBODY = 0x3fff, ATOMIC = 0x8000, MANY = 0x8000, COPIED = 0x2000;
struct Cell {                 // of `granule` bytes of memory
  u32 write_time, read_time;  // 0: never
  u16 writer, reader;         // thread, and the bit ATOMIC or MANY (several lanes have read)
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
static Cell* shared_cells;
static u32 (*read_times)[WARPS];      // per cell of shared memory and warp, where barriers are partial
static std::vector<u32> block_times;  // the stamp at which each stretch of this launch began
static std::vector<u32> block_numbers;  // whose it is
static std::vector<u32> own_stretches;  // of this block
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
static Stretches acquired;
static bool fenced;

// What a block that is put aside takes with it.
struct MemoryAside {
  Cell* shared_cells;
  u32 (*read_times)[WARPS];
  Order order;
  Stretches acquired;
  std::vector<u32> own_stretches;
  bool fenced, any_in_flight;
  u8 in_flight[SHARED];
  char shared[SHARED];
};
static std::vector<MemoryAside*> slots;
static void forget_stamps() {
  for (MemoryAside* a : slots) {
    free(a->shared_cells);
    free(a->read_times);
    a->shared_cells = nullptr;
    a->read_times = nullptr;
  }
  for (Allocation* a : allocations) {
    free(a->cells);
    a->cells = nullptr;
  }
  if (shared_cells) memset(shared_cells, 0, SHARED * sizeof(Cell));
  if (read_times) memset(read_times, 0, SHARED * sizeof *read_times);
  order_.now = 1;
}
void memory_begin_launch() {
  if (order_.now > 0xE0000000u) forget_stamps();
  order_.launch_start = ++order_.now;
  block_times.clear();
  block_numbers.clear();
  released.clear();
  in_turns = false;
  last_found = nullptr;
}
static void begin_stretch() {
  own_stretches.push_back(block_times.size());
  block_times.push_back(++order_.now);
  block_numbers.push_back(block_number());
}
void memory_begin_block() {
  if (!shared_cells) shared_cells = (Cell*)calloc(SHARED, sizeof(Cell));
  if (launch.partial_sync && !read_times) read_times = (u32(*)[WARPS])calloc(SHARED, sizeof *read_times);
  order_.block_start = order_.barrier = ++order_.now;
  for (Clock& clock : order_.warps) clock = Clock();
  for (u32 i = 0; i < thread_count; i++) threads[i].proxy_fence = threads[i].mbarrier_fence = 0;
  own_stretches.clear();
  begin_stretch();
  acquired = Stretches();
  fenced = false;
  if (any_in_flight) memset(in_flight, 0, sizeof in_flight);
  any_in_flight = false;
}

void memory_exchange(u32 slot) {
  MemoryAside& a = in_slot(slots, slot);
  u32 bytes = launch.static_shared + launch.dynamic_shared;
  std::swap(a.shared_cells, shared_cells);
  std::swap(a.read_times, read_times);
  std::swap(a.order.block_start, order_.block_start);
  std::swap(a.order.barrier, order_.barrier);
  std::swap(a.order.warps, order_.warps);
  std::swap(a.acquired, acquired);
  std::swap(a.own_stretches, own_stretches);
  std::swap(a.fenced, fenced);
  if (any_in_flight || a.any_in_flight) std::swap_ranges(in_flight, in_flight + bytes, a.in_flight);
  std::swap(a.any_in_flight, any_in_flight);
  std::swap_ranges(sim_shared, sim_shared + bytes, a.shared);
  in_turns = true;
}
void memory_resume_block() { begin_stretch(); }

// ---- order within the block ----------------------------------------------------------------------------------------
void order_barrier() { order_.barrier = order_.now++; }
void order_warp(u32 warp) { order_.warps[warp].seen[warp] = order_.now++; }
void order_group(u32 mask, const Clock* also) {
  Clock joined;
  if (also) joined = *also;
  for (u32 w = 0; w < WARPS; w++)
    if (mask >> w & 1) {
      joined.join(order_.warps[w]);
      joined.seen[w] = order_.now;
    }
  for (u32 w = 0; w < WARPS; w++)
    if (mask >> w & 1) order_.warps[w] = joined;
  order_.now++;
}
void order_release(Clock& into) {
  u32 w = current ? current->warp : ASYNC;
  into.join(order_.warps[w]);
  into.seen[w] = order_.now++;
}
void order_acquire(const Clock& from) {
  Clock& mine = order_.warps[current->warp];
  u32 own = mine.seen[current->warp];
  mine.join(from);
  mine.seen[current->warp] = own;  // lanes of one warp are ordered by __syncwarp() alone
}
static bool is_ordered(u32 other, u32 time) {  // whether an access by thread `other` at `time` happened before
  if (other == current->index || time <= order_.barrier) return true;
  u32 warp = other & COPIED ? ASYNC : other / 32;
  return time <= order_.warps[current->warp].seen[warp];
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
           (long)(p - nearest->begin), nearest->label, (long)(nearest->end - nearest->begin));
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
static void check_readers(const Cell& c, u32 i, u32 how, u32 offset, u32 site) {
  u32 mine = current->warp;
  bool one_warp = !(c.reader_warps & (c.reader_warps - 1));
  for (u32 rest = c.reader_warps; rest; rest &= rest - 1) {
    u32 warp = __builtin_ctz(rest);
    if (warp == mine && (!one_warp || ((c.reader & ~MANY) == current->index && !(c.reader & MANY)))) continue;
    u32 time = launch.partial_sync ? read_times[i][warp] : c.read_time;
    if (time <= std::max(order_.barrier, order_.warps[mine].seen[warp])) continue;
    u32 reader = one_warp && (c.reader & 0x7fff) != current->index ? c.reader & 0x7fff : warp * 32;
    race("read", how, shared_place(offset), one_warp ? name_of(reader) : "warp " + std::to_string(warp), site);
    return;
  }
}
static bool same_bytes(const char* p, const void* value, u32 size) { return value && !memcmp(p, value, size); }

static u32 granule_shift() { return launch.granule == 4 ? 2 : launch.granule == 2 ? 1 : 0; }
static void access_shared(u32 offset, u32 size, u32 how, const void* value, u32 site) {
  if (checks(CHECK_MEMORY)) check_shared_bounds(offset, size, how, site);
  if (any_in_flight && checks(CHECK_RACES))
    for (u32 i = 0; i < size; i++)
      if (in_flight[offset + i]) {
        if (first_time(site, "flight"))
          report(Kind::race, site, "race: this %s of %s comes before the copy into it has been waited for",
                 how & SIM_STORE ? "write" : "read", shared_place(offset).c_str());
        break;
      }
  if ((how & SIM_STORE) && checks(CHECK_RACES)) {
    const char* reader = wgmma_reads(offset, offset + size)        ? "wgmma"
                         : bulk_store_reads(offset, offset + size) ? "bulk copy"
                                                                   : nullptr;
    if (reader && first_time(site, reader))
      report(Kind::race, site, "race: this write of %s comes before the %s that reads it has been waited for",
             shared_place(offset).c_str(), reader);
  }
  for (u32 i = offset >> granule_shift(); i <= (offset + size - 1) >> granule_shift(); i++) {
    Cell& c = shared_cells[i];
    bool written = c.write_time >= order_.block_start;
    if (!written && (!(how & SIM_STORE) || (how & SIM_MODIFY)) && checks(CHECK_UNINITIALISED) &&
        first_time(site, "unwritten"))
      report(Kind::uninitialised, site, "read of %s, which nothing has written", shared_place(offset).c_str());
    bool both_atomic = (how & SIM_ATOMIC) && (c.writer & ATOMIC);
    if (written && !both_atomic && !is_ordered(c.writer & 0x7fff, c.write_time) && checks(CHECK_RACES) &&
        !((how & SIM_STORE) && same_bytes(sim_shared + offset, value, size)))
      race("write", how, shared_place(offset), c.writer & COPIED ? "an asynchronous copy" : name_of(c.writer & 0x7fff),
           site);
    if ((how & SIM_STORE) && !(how & SIM_ATOMIC) && c.read_time >= order_.block_start && checks(CHECK_RACES) &&
        !same_bytes(sim_shared + offset, value, size))
      check_readers(c, i, how, offset, site);
    if (how & SIM_STORE) {
      c.write_time = order_.now;
      c.writer = current->index | (how & SIM_ATOMIC ? ATOMIC : 0);
    }
    if (!(how & SIM_STORE)) {
      if (c.read_time <= order_.barrier) {
        c.reader_warps = 0;
        c.reader = current->index;
      } else if ((c.reader & ~MANY) != current->index)
        c.reader = current->index | MANY;
      c.reader_warps |= 1u << current->warp;
      c.read_time = order_.now;
      if (launch.partial_sync) read_times[i][current->warp] = order_.now;
    }
  }
}
// The copy engine and wgmma see what threads wrote only after a fence.proxy.async of the writer, or of who starts them.
void check_copied_from(u32 begin, u32 bytes, u32 site) {
  if (!launch.checks) return;
  access_shared(begin, bytes, SIM_LOAD, nullptr, site);
  if (!checks(CHECK_RACES)) return;
  for (u32 i = begin >> granule_shift(); i <= (begin + bytes - 1) >> granule_shift(); i++) {
    const Cell& c = shared_cells[i];
    if (c.write_time < order_.block_start || c.writer & COPIED) continue;
    u32 writer = c.writer & 0x7fff;
    if (c.write_time <= std::max(threads[writer].proxy_fence, current->proxy_fence) || !first_time(site, "proxy")) continue;
    report(Kind::race, site, "race: %s was written by %s without fence.proxy.async before this asynchronous read",
           shared_place(begin).c_str(), name_of(writer).c_str());
    return;
  }
}
extern "C" void sim_proxy_fence() { current->proxy_fence = order_.now++; }
extern "C" void sim_mbarrier_fence() { current->mbarrier_fence = order_.now++; }
// A copy into shared memory has arrived: by a thread that waited for it, or (COPIED) by the copy engine.
void shared_written_by_copy(u32 begin, u32 bytes, u32 writer) {
  for (u32 i = begin >> granule_shift(); i <= (begin + bytes - 1) >> granule_shift(); i++) {
    shared_cells[i].write_time = order_.now;
    shared_cells[i].writer = writer == FULL ? COPIED : writer;
  }
  memset(in_flight + begin, 0, bytes);
}
void mark_in_flight(u32 begin, u32 bytes) {
  memset(in_flight + begin, 1, bytes);
  any_in_flight = true;
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
static bool is_acquired(u32 time) { return acquired.has(stretch_of(time)); }
static bool is_of_other_block(u32 time) {
  return time < order_.block_start || (in_turns && block_numbers[stretch_of(time)] != block_numbers.back());
}
static void access_global(Allocation* a, const char* p, u32 size, u32 how, const void* value, u32 site) {
  if (!a->cells || size < a->granule) make_cells(a, size);
  const Order& o = order_;
  const char* base = (const char*)((uintptr_t)a->begin & ~15ull);
  size_t first = (p - base) / a->granule, last = (p + size - 1 - base) / a->granule;
  auto where = [&] { return std::string(a->label) + " at offset " + std::to_string(p - a->begin); };
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
        if (!is_acquired(c.write_time)) race("write", how, where(), other_block(c.write_time), site);
      } else if (!is_ordered(writer, c.write_time))
        race("write", how, where(), name_of(writer) + " of this block", site);
    }
    if ((how & SIM_STORE) && !(how & SIM_ATOMIC) && !repeats && c.read_time >= o.launch_start) {
      if (is_of_other_block(c.read_time)) {
        if (!is_acquired(c.read_time)) race("read", how, where(), other_block(c.read_time), site);
      } else if (c.read_time > o.barrier && (c.reader & MANY) && !launch.partial_sync) {
        if (c.read_time > o.warps[current->warp].seen[current->warp] || reader / 32 != current->warp)
          race("read", how, where(), "several threads of this block", site);
      } else if (!is_ordered(reader, c.read_time))
        race("read", how, where(), name_of(reader) + " of this block", site);
    }
    if (how & SIM_STORE) {
      c.write_time = o.now;
      c.writer = current->index | (how & SIM_ATOMIC ? ATOMIC : 0);
    } else {
      bool many = c.read_time > o.barrier && (reader != current->index || (c.reader & MANY));
      c.read_time = o.now;
      c.reader = current->index | (many ? MANY : 0);
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
    report(Kind::uninitialised, site, "%s %s at offset %ld, which nothing has written", verb(how), a->label,
           (long)(word - a->begin));
    return;
  }
}
extern "C" void sim_fence() { fenced = true; }
static void order_blocks(const char* p) {  // an atomic operation on p: acquire what others released, release if fenced
  Stretches& here = released[p];
  acquired.add(here);
  if (!fenced) return;
  here.add(acquired);
  for (u32 i : own_stretches) here.add(i);
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
  if (statistics_on) statistics_access(p, size, how, shared, site);
  if (trace_on) trace_event(nullptr, p, size, how, shared ? 1 : 0, site);
  if ((how & SIM_ATOMIC) && ++polls % 1024 == 0) sim_budget = 0;  // it will be paused
  if (suspicious && (how & SIM_STORE) && !same_bytes(p, value, size)) sim_changes += !(how & SIM_MODIFY);
  if (!launch.checks) return;
  if (shared) return access_shared(offset, size, how, value, site);
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
    report(Kind::out_of_bounds, site, "write to %s, which is constant", a->label);
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
