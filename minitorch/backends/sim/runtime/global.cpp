// Accesses to memory of the device: its allocations, and the order of what different blocks do.
#include "memory.h"
#include <map>

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

static std::map<const void*, Stretches> released;  // by X

static void add_stretch() {
  my_memory->own_stretches.push_back(block_times.size());
  block_times.push_back(++order_.now);
  block_numbers.push_back(block_number());
}
void begin_stretch() {
  if (!block_numbers.empty() && block_numbers.back() == block_number()) {
    if (my_memory->own_stretches.empty()) my_memory->own_stretches.push_back(block_times.size() - 1);
    return;
  }
  add_stretch();
}
void memory_end_phase() {
  for (u32 r = 0; r < cluster->size; r++) {
    const BlockMemory& m = of_rank(memory_slots, my_memory, r);
    cluster->stretches.add(m.acquired);
    for (u32 i : m.own_stretches) cluster->stretches.add(i);
  }
}
void memory_begin_phase() {
  my_memory->acquired.add(cluster->stretches);
  add_stretch();
}
void forget_allocations() {
  for (Allocation* a : allocations) {
    free(a->cells);
    a->cells = nullptr;
  }
}
void global_begin_launch() {
  block_times.clear();
  block_numbers.clear();
  released.clear();
  in_turns = false;
  last_found = nullptr;
}
void stretches_in_turns() { in_turns = true; }

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
    report(Kind::out_of_bounds, site, "%s %u bytes at %p, which is not memory of the device",
           verb(how), size, p);
  stop();
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
// True if the work of a thread (of another block) happened before.
static bool is_acquired(u32 id, u32 time) {
  u32 stretch = stretch_of(time);
  if (my_memory->acquired.has(stretch)) return true;
  return cluster && cluster->blocks[rank_of_id(id)] == block_numbers[stretch] && order_has(id, time);
}
static bool is_of_other_block(u32 time) {
  return time < my_memory->start || (in_turns && block_numbers[stretch_of(time)] != block_numbers.back());
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
      } else if (c.read_time > my_memory->barrier && (c.reader & MANY) && !launch.partial_sync) {
        if (c.read_time > my_warp().seen[my_clock + current->warp] || warp_of(reader) != current->warp)
          race("read", how, where(), "several threads of this block", site);
      } else if (!is_ordered(reader, c.read_time))
        race("read", how, where(), name_of(reader) + " of this block", site);
    }
    if (how & SIM_STORE) {
      c.write_time = o.now;
      c.writer = my_id() | (how & SIM_ATOMIC ? ATOMIC : 0);
    } else {
      bool many = c.read_time > my_memory->barrier && (reader != my_id() || (c.reader & MANY));
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
extern "C" void sim_fence() { my_memory->fenced = true; }
static void order_blocks(const char* p) {  // an atomic operation on p: acquire what others released, release if fenced
  Stretches& here = released[p];
  my_memory->acquired.add(here);
  if (!my_memory->fenced) return;
  here.add(my_memory->acquired);
  for (u32 i : my_memory->own_stretches) here.add(i);
}

// An access to memory of the device.
void access_memory(const char* p, u32 size, u32 how, const void* value, u32 site) {
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
extern "C" bool sim_locate(const void* address, char* label, u64 length, s64* offset) {
  Allocation* a = find((const char*)address);
  if (!a) return false;
  snprintf(label, length, "%s", a->label);
  *offset = (const char*)address - a->begin;
  return true;
}
