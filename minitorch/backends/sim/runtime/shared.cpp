// Accesses to shared memory, a block's own and that of the others of its cluster: bounds, unwritten memory, races.
#include "memory.h"

static bool taking;  // a copy begins to write
void shared_begin_launch() { taking = false; }

// A remote arrival at an mbarrier tells, even without a release to the cluster, that products and copies which its
// thread has waited for are over: another copy may then take their place. It says nothing of what threads read or wrote.
static u32 known_over(u32 clock) { return taking && cluster ? my_memory->over[current->warp].seen[clock] : 0; }

// ---- a block's own -------------------------------------------------------------------------------------------------
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
    if (time <= std::max({own ? my_memory->barrier : 0, my_warp().seen[a.rank * EACH + warp], over})) continue;
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
  if (c.read_time <= my_memory->barrier) {
    c.reader_warps = 0;
    c.reader = my_id() | engine;
  } else if ((c.reader & ID) != my_id())
    c.reader = my_id() | MANY | (c.reader & engine);
  else if (!engine)
    c.reader &= ~ENGINE;
  c.reader_warps |= 1u << current->warp;
  c.read_time = order_.now;
  if (launch.partial_sync) my_memory->read_times[i][current->warp] = order_.now;
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
void access_shared(u32 rank, u32 offset, u32 size, u32 how, const void* value, u32 site) {
  SharedAccess a{of_rank(memory_slots, my_memory, rank), rank, offset, how, site, value};
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
  bool begun = my_memory->begun[rank] || std::any_of(seen, seen + EACH, [](u32 time) { return time; });
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
void note_remote(u32 rank, u32 id, u32 time, u32 site) { of_rank(memory_slots, my_memory, rank).remote[id >> 5] = {id, time, site}; }
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
  if (!checks(CHECK_RACES) || my_memory->remote.empty()) return;
  for (u32 w = 1; w < WARPS; w++) my_memory->warps[0].join(my_memory->warps[w]);
  for (auto& [_, r] : my_memory->remote) {
    if (r.time <= my_memory->warps[0].seen[rank_of_id(r.id) * EACH + warp_of(r.id)] || !first_time(r.site, "end")) continue;
    report(Kind::race, r.site,
           "race: an access to shared memory of this block by %s may come after the block has ended: nothing orders "
           "them (barrier.cluster does)",
           name_of(r.id).c_str());
  }
}
void memory_inits_seen() {  // after barrier.cluster.wait
  for (u32 r = 0; r < cluster->size; r++) {
    my_memory->inits[r] = std::max(my_memory->inits[r], cluster->inits[r]);
    my_memory->begun[r] = true;
  }
}
// True if an mbarrier of another block, made at this stamp, is surely initialised.
bool order_has_mbarrier(u32 id, u32 time) { return time <= my_memory->inits[rank_of_id(id)] || order_has(id, time); }
u32 find_rank(const char* p) {
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
  report(Kind::out_of_bounds, site, "%p is not an address in the shared memory of a cluster",
         address);
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

void read_until_now(const std::vector<u32>& units) {
  for (u32 unit : units)
    for (u32 i = unit >> granule_shift(); i <= (unit + 15) >> granule_shift(); i++)
      note_read({*my_memory, my_rank, unit, SIM_LOAD | BY_ENGINE, 0, nullptr}, my_memory->cells[i], i);
}
// The copy engine and wgmma see what threads wrote only after a fence.proxy.async of the writer, or of who starts them.
void check_copied_from(u32 begin, u32 bytes, u32 site) {
  if (!launch.checks) return;
  access_shared(my_rank, begin, bytes, SIM_LOAD | BY_ENGINE, nullptr, site);
  if (!checks(CHECK_RACES)) return;
  for (u32 i = begin >> granule_shift(); i <= (begin + bytes - 1) >> granule_shift(); i++) {
    const Cell& c = my_memory->cells[i];
    if (c.write_time < my_memory->start || c.writer & COPIED) continue;
    u32 writer = c.writer & 0x7fff;
    if (c.write_time <= std::max(thread_of(writer).proxy_fence, current->proxy_fence) || !first_time(site, "proxy")) continue;
    report(Kind::race, site, "race: %s was written by %s without fence.proxy.async before this asynchronous read",
           shared_place(begin).c_str(), name_of(writer).c_str());
    return;
  }
}
// A copy into shared memory has arrived: by a thread that waited for it, or (COPIED) by the copy engine.
void shared_written_by_copy(u32 rank, u32 begin, u32 bytes, u32 writer) {
  BlockMemory& m = of_rank(memory_slots, my_memory, rank);
  for (u32 i = begin >> granule_shift(); i <= (begin + bytes - 1) >> granule_shift(); i++) {
    m.cells[i].write_time = order_.now;
    m.cells[i].writer = rank << 10 | (writer == FULL ? COPIED : writer);
  }
  memset(m.in_flight + begin, 0, bytes);
}
void mark_in_flight(u32 rank, u32 begin, u32 bytes) {
  BlockMemory& m = of_rank(memory_slots, my_memory, rank);
  memset(m.in_flight + begin, 1, bytes);
  m.any_in_flight = true;
}
bool is_in_flight(u32 rank, u32 begin, u32 bytes) {
  const u8* bytes_of = of_rank(memory_slots, my_memory, rank).in_flight + begin;
  return std::any_of(bytes_of, bytes_of + bytes, [](u8 b) { return b; });
}
