// Copies that run beside the threads: cp.async, bulk and tensor copies (TMA), and the mbarriers
// that signal their completion.
//
// A copy is made as late as the program allows: at the wait for it. Until then its bytes are "in flight", and who
// reads or writes them has forgotten a wait.
#include "state.h"
#include "arithmetic.h"

// ---- cp.async: copies of one thread, waited for in groups ----------------------------------------------------------
extern "C" void sim_copy_async(void* to, const void* from, u32 bytes, u32 source_bytes, u32 site) {
  if (source_bytes > bytes) {
    report(Kind::out_of_bounds, site, "cp.async of %u bytes takes %u from the source", bytes, source_bytes);
    stop();
  }
  if (sim_watching) {
    if (source_bytes) sim_access(from, source_bytes & (source_bytes - 1) ? 1 : source_bytes, SIM_LOAD, nullptr, site);
    if ((u64)from % bytes && source_bytes) {
      report(Kind::misaligned, site,
             "cp.async of %u bytes from an address that is not a multiple of %u", bytes, bytes);
      stop();
    }
    sim_access(to, bytes, SIM_STORE, nullptr, site);
    mark_in_flight(my_rank, (char*)to - sim_shared, bytes);
  }
  current->copies.push_back({(char*)to, (const char*)from, bytes, source_bytes, current->copy_group, site});
}
extern "C" void sim_copy_commit() { current->copy_group++; }
static void make_copies(u32 groups_left) {
  Thread& t = *current;
  s64 limit = (s64)t.copy_group - groups_left;
  size_t kept = 0;
  for (CopyAsync& c : t.copies) {
    if ((s64)c.group >= limit) {
      t.copies[kept++] = c;
      continue;
    }
    memcpy(c.to, c.from, c.source_bytes);
    memset(c.to + c.source_bytes, 0, c.bytes - c.source_bytes);
    if (sim_watching) shared_written_by_copy(my_rank, c.to - sim_shared, c.bytes, t.index);
  }
  t.copies.resize(kept);
}
extern "C" void sim_copy_wait(u32 groups_left, u32) {
  if (groups_left == FULL) {
    current->copy_group++;
    groups_left = 0;
  }  // cp.async.wait_all
  make_copies(groups_left);
}

// ---- mbarriers: a count of arrivals and of bytes to come; a phase ends when both are zero --------------------------
struct MBarrier {
  u32 count, pending;
  s64 bytes;
  u64 phase;
  Clock arrived, ready, far, far_ready;  // `far` is what threads of other blocks released to the cluster
  Clock over, over_ready;                // and what was over when they arrived, see order_over
  u32 maker, made;                       // the thread that initialised it, and when
};
struct TensorMap {  // what `tensor_map` of the Python side puts into the 128 bytes
  u64 magic, base;
  s32 item, rank, swizzle, tf32;
  u64 size[5], stride[4];
  s32 box[5];
};
struct Copy {
  TensorMap map;
  const char* from;  // or `data`, or the box of the map at `at`
  u32 to, bytes, mbarrier, rank;
  s32 at[5];
  u32 site;
  u32 blocks;     // a bit for each block whose shared memory it goes to, at the same place
  bool immediate;  // takes `data`
  alignas(16) char data[16];
};
struct BlockCopies {  // of a block
  std::unordered_map<u32, MBarrier> mbarriers;
  u32 first_mbarrier, end_of_mbarriers;  // all lie between these
  std::vector<Copy> copies;
  std::vector<BulkStore> last_stores;
  u32 pending_stores;
};
static std::vector<BlockCopies*> slots;
static BlockCopies* mine = new BlockCopies();
void async_exchange(u32 slot) { std::swap(in_slot(slots, slot), mine); }

static MBarrier& find_mbarrier(u32 address, u32 site) {
  u32 rank = rank_of(address);
  bool there = !cluster || (rank < cluster->size && !(cluster->ended >> rank & 1));
  if (there) {
    auto& mbarriers = of_rank(slots, mine, rank).mbarriers;
    auto at = mbarriers.find(offset_of(address));
    if (at != mbarriers.end()) return at->second;
  }
  report(Kind::uninitialised, site, "offset %u of shared memory%s holds no initialised mbarrier", offset_of(address),
         rank == my_rank ? "" : (" of " + (there ? name_of_block(rank) : "a block that has ended or never was")).c_str());
  stop();
}
// An mbarrier of another block must be known to be initialised there, and its block to be there still.
static void check_made(const MBarrier& b, u32 rank, u32 site) {
  if (rank == my_rank || !checks(CHECK_RACES) || order_has_mbarrier(b.maker, b.made) || !first_time(site, "made")) return;
  report(Kind::race, site, "race: nothing orders the initialisation of the mbarrier in %s before this (barrier.cluster "
         "does)", name_of_block(rank).c_str());
}
static MBarrier& reach_mbarrier(u32 address, u32 site) {
  MBarrier& b = find_mbarrier(address, site);
  u32 rank = rank_of(address);
  check_made(b, rank, site);
  if (rank != my_rank && checks(CHECK_RACES)) reach_block(rank, site);
  return b;
}
static void end_phase(MBarrier& b) {
  if (b.pending || b.bytes) return;
  b.phase++;
  b.pending = b.count;
  b.ready = b.arrived;
  if (!cluster) return;
  b.far_ready = b.far;
  b.over_ready = b.over;
}
extern "C" void sim_mbarrier_init(u32 address, u32 count, u32 site) {
  if (address & 7) {
    report(Kind::misaligned, site, "an mbarrier at offset %u, not a multiple of 8", address);
    stop();
  }
  if (sim_watching) {
    u64 v = 0;
    sim_access(sim_shared + address, 8, SIM_STORE, &v, site);
  }
  mine->mbarriers[address] = MBarrier{count, count, 0, 0, {}, {}, {}, {}, {}, {}, current->id(), order_.now++};
  mine->first_mbarrier = std::min(mine->first_mbarrier, address);
  mine->end_of_mbarriers = std::max(mine->end_of_mbarriers, address + 8);
}
bool holds_mbarrier(u32 rank, u32 begin, u32 end) {
  const BlockCopies& block = of_rank(slots, mine, rank);
  if (begin >= block.end_of_mbarriers || end <= block.first_mbarrier) return false;
  return std::any_of(block.mbarriers.begin(), block.mbarriers.end(),
                     [&](const auto& b) { return begin < b.first + 8 && b.first < end; });
}
extern "C" void sim_mbarrier_invalidate(u32 address, u32) { mine->mbarriers.erase(address); }
extern "C" u64 sim_mbarrier_arrive(u32 address, u32 count, u32 expected, bool drop, bool wide, u32 site) {
  MBarrier& b = reach_mbarrier(address, site);
  if (b.pending < count) {
    report(Kind::deadlock, site,
           "%u arrivals at an mbarrier that expects %u more in this phase (it was initialised for %u)", count,
           b.pending, b.count);
    stop();
  }
  u64 phase = b.phase;
  b.bytes += expected;
  if (rank_of(address) == my_rank)
    order_release(b.arrived);
  else {
    order_release(b.over);
    if (wide) order_release(b.far);  // release.cluster
  }
  if (drop) b.count -= count;
  b.pending -= count;
  progress++;
  end_phase(b);
  return phase;
}
extern "C" void sim_mbarrier_expect(u32 address, s32 bytes, u32 site) {
  MBarrier& b = reach_mbarrier(address, site);
  b.bytes += bytes;
  if (bytes < 0) end_phase(b);
}
extern "C" void sim_copy_arrive(u32 address, bool increment,
                                u32 site) {  // the copies so far are over, then one arrival
  current->copy_group++;
  make_copies(0);
  MBarrier& b = find_mbarrier(address, site);
  if (increment) b.pending++;
  sim_mbarrier_arrive(address, 1, 0, false, false, site);
}
// `phase` is the parity of the phase waited for, or the token that arrive gave.
static bool is_over(const MBarrier& b, u64 phase, bool parity) {
  return parity ? (b.phase & 1) != (phase & 1) : b.phase > phase;
}
extern "C" bool sim_mbarrier_wait(u32 address, u64 phase, bool parity, bool wide, u32 site) {
  address = offset_of(address);
  MBarrier* b = &find_mbarrier(address, site);
  if (!is_over(*b, phase, parity)) {
    Thread& t = *current;
    t.site = site;
    t.mbarrier = address;
    t.mbarrier_phase = parity ? phase & 1 : phase | 1ull << 63;
    t.state = State::mbarrier;
    yield();
    b = &find_mbarrier(address, site);
    if (!is_over(*b, phase, parity)) return false;
  }
  order_acquire(b->ready);
  if (wide && cluster) order_acquire(b->far_ready);  // acquire.cluster
  if (cluster) order_over(b->over_ready);
  return true;
}
void wake_mbarrier_waiters() {
  for (u32 i = 0; i < thread_count; i++) {
    Thread& t = threads[i];
    if (t.state != State::mbarrier) continue;
    auto at = mine->mbarriers.find(t.mbarrier);
    bool parity = !(t.mbarrier_phase >> 63);
    if (at == mine->mbarriers.end() || is_over(at->second, t.mbarrier_phase & ~(1ull << 63), parity)) t.state = State::ready;
  }
}
// Nobody can go on: try_wait and test_wait may also give up. Each waiting thread is told so once; if nothing comes of
// it, it is a deadlock.
bool refuse_mbarrier_waiters() {
  bool any = false;
  for (u32 i = 0; i < thread_count; i++) {
    Thread& t = threads[i];
    if (t.state != State::mbarrier || t.refused_at == progress) continue;
    t.refused_at = progress;
    any = true;
    t.state = State::ready;
  }
  return any;
}

// ---- bulk and tensor copies ----------------------------------------------------------------------------------------
const u64 MAGIC = 0x544d415053494dull;

// The 16-byte units of 8 rows are permuted: address bits 4.. are XORed with bits 7.. (1: 32-byte rows, 2: 64, 3: 128).
u32 swizzled(u32 address, u32 mode) { return address ^ ((address >> 7 & ((1u << mode) - 1)) << 4); }

static TensorMap read_map(const void* map, u32 rank, u32 site) {
  TensorMap m;
  memcpy(&m, map, sizeof m);
  if (m.magic != MAGIC) {
    report(Kind::trap, site, "the tensor map of a bulk copy is not one (pass it as const __grid_constant__)");
    stop();
  }
  if (m.rank != (s32)rank) {
    report(Kind::trap, site, "a copy of %u dimensions with a tensor map of %d", rank, m.rank);
    stop();
  }
  return m;
}
static u32 box_bytes(const TensorMap& m) {
  u32 n = m.item;
  for (s32 i = 0; i < m.rank; i++) n *= m.box[i];
  return n;
}
// Call f(element of the box in shared memory, its address or null where it lies outside the array).
template <class F>
static void each_element(const TensorMap& m, const s32* at, F f) {
  s32 i[5] = {};
  for (u32 offset = 0;; offset += m.item) {
    bool inside = true;
    u64 address = m.base;
    for (s32 d = 0; d < m.rank; d++) {
      s64 x = (s64)at[d] + i[d];
      if (x < 0 || (u64)x >= m.size[d]) inside = false;
      address += x * (d ? (s64)m.stride[d - 1] : m.item);
    }
    f(offset, inside ? (char*)address : nullptr);
    s32 d = 0;
    while (d < m.rank && ++i[d] == m.box[d]) i[d++] = 0;
    if (d == m.rank) return;
  }
}
static void check_target(u32 to, u32 bytes, u32 align, u32 site) {
  if (to % align) {
    report(Kind::misaligned, site,
           "a bulk copy at offset %u of shared memory, not a multiple of %u", to, align);
    stop();
  }
  if (to + bytes > launch.static_shared + launch.dynamic_shared) {
    report(Kind::out_of_bounds, site, "a bulk copy of %u bytes at offset %u of shared memory, which has %u bytes",
           bytes, to, launch.static_shared + launch.dynamic_shared);
    stop();
  }
}
static void start_in(u32 rank, const Copy& c) {  // one of the blocks that the copy goes to
  if (wgmma_reads(rank, c.to, c.to + c.bytes)) {
    report(Kind::race, c.site, "race: a bulk copy overwrites shared memory that a wgmma not waited for may still read");
    stop();
  }
  if (sim_watching) {
    if (is_in_flight(rank, c.to, c.bytes)) {
      report(Kind::race, c.site, "race: two copies into one place are under way");
      stop();
    }
    shared_taken_by_copy(rank, c.to, c.bytes, c.site);
  }
  const MBarrier& b = find_mbarrier((rank + 1) << 24 | c.mbarrier, c.site);
  const Thread& maker = thread_of(b.maker);
  u32 seen = std::max({maker.mbarrier_fence, maker.proxy_fence, rank == my_rank ? current->proxy_fence : 0});
  if (seen < b.made && checks(CHECK_RACES) && first_time(c.site, "mbarrier"))
    report(Kind::race, c.site,
           "race: the mbarrier of this copy was initialised by %s without fence.mbarrier_init (or fence.proxy.async) "
           "after it: the copy engine may not see it yet",
           name_of(b.maker).c_str());
  check_made(b, rank, c.site);
}
static void start_copy(Copy c, u32 blocks) {
  if (rank_of(c.to) != rank_of(c.mbarrier)) {
    report(Kind::trap, c.site, "a bulk copy and its mbarrier are in different blocks of the cluster");
    stop();
  }
  if (!blocks) blocks = 1u << rank_of(c.to);
  c.to = offset_of(c.to);
  c.mbarrier = offset_of(c.mbarrier);
  c.blocks = blocks;
  u32 size = cluster ? cluster->size : 1;
  if (blocks >> size) {
    report(Kind::out_of_bounds, c.site, "a copy to the blocks %#x of a cluster of %u", blocks, size);
    stop();
  }
  for (u32 rank = 0; rank < size; rank++)
    if (blocks >> rank & 1) start_in(rank, c);
  mine->copies.push_back(c);
}
extern "C" void sim_tensor_load(u32 to, const void* map, u32 mbarrier, u32 rank, const s32* at, u32 blocks, u32 site) {
  Copy c{read_map(map, rank, site), nullptr, to, 0, mbarrier, rank, {}, site, 0, false, {}};
  c.bytes = box_bytes(c.map);
  memcpy(c.at, at, rank * sizeof *at);
  u32 swizzle = c.map.swizzle;
  check_target(offset_of(to), c.bytes, swizzle ? 128 << (swizzle == 3 ? 3 : swizzle == 2 ? 2 : 1) : 128, site);
  start_copy(c, blocks);
}
// A copy of plain bytes, from global memory or (`shared`) from that of the block.
extern "C" void sim_bulk_load(u32 to, const void* from, u32 bytes, u32 mbarrier, u32 blocks, bool shared, u32 site) {
  if (bytes % 16 || (u64)from % 16) {
    report(Kind::misaligned, site, "a bulk copy of %u bytes: size and addresses must be multiples of 16", bytes);
    stop();
  }
  check_target(offset_of(to), bytes, 16, site);
  if (shared) {
    check_target((const char*)from - sim_shared, bytes, 16, site);
    check_copied_from((const char*)from - sim_shared, bytes, site);
  } else if (sim_watching)
    for (u32 i = 0; i < bytes; i += 16) sim_access((const char*)from + i, 16, SIM_LOAD, nullptr, site);
  start_copy(Copy{{}, (const char*)from, to, bytes, mbarrier, 0, {}, site, 0, false, {}}, blocks);
}
extern "C" void sim_store_async(u32 to, const void* value, u32 bytes, u32 mbarrier, u32 site) {
  if (to % bytes) {
    report(Kind::misaligned, site,
           "st.async of %u bytes at an address that is not a multiple of it", bytes);
    stop();
  }
  Copy c{{}, nullptr, to, bytes, mbarrier, 0, {}, site, 0, true, {}};
  memcpy(c.data, value, bytes);
  start_copy(c, 0);
}
// Float32 to 10 bits of mantissa, to the nearest, ties to the even one; infinities and NaN as they are.
static void round_to_tf32(char* to, const char* from) {
  u32 bits;
  memcpy(&bits, from, 4);
  if ((bits & 0x7f800000u) != 0x7f800000u) bits = (bits + 0xfffu + (bits >> 13 & 1)) & 0xffffe000u;
  memcpy(to, &bits, 4);
}
static void complete_in(u32 rank, const Copy& c) {
  char* shared = shared_of(rank);
  if (c.from || c.immediate)
    memcpy(shared + c.to, c.immediate ? c.data : c.from, c.bytes);
  else
    each_element(c.map, c.at, [&](u32 offset, const char* from) {
      char* to = shared + swizzled(c.to + offset, c.map.swizzle);
      if (from && c.map.tf32)
        round_to_tf32(to, from);
      else if (from)
        memcpy(to, from, c.map.item);
      else
        memset(to, 0, c.map.item);
    });
  if (sim_watching) shared_written_by_copy(rank, c.to, c.bytes, FULL);
  auto& mbarriers = of_rank(slots, mine, rank).mbarriers;
  auto at = mbarriers.find(c.mbarrier);
  bool ended = cluster && cluster->ended >> rank & 1;
  if (ended || at == mbarriers.end()) {
    report(ended ? Kind::race : Kind::uninitialised, c.site,
           ended ? "race: a copy comes to a block of the cluster that has ended" : "the mbarrier of a bulk copy is gone");
    failed = true;
    return;
  }
  MBarrier& b = at->second;
  b.bytes -= c.bytes;
  u32 time = order_stamp(b.arrived, rank);
  if (cluster) note_remote(rank, copier_of(rank), time, c.site);
  end_phase(b);
  progress++;
}
bool async_step() {
  if (mine->copies.empty()) return false;
  Copy c = mine->copies.front();
  mine->copies.erase(mine->copies.begin());
  for (u32 rank = 0; rank < RANKS && !failed; rank++)
    if (c.blocks >> rank & 1) complete_in(rank, c);
  return true;
}

// Stores read shared memory when they are waited for, so that one who overwrites it too early is found out.
bool bulk_copy_reads(u32 rank, u32 begin, u32 end) {
  const BlockCopies& block = of_rank(slots, mine, rank);
  const char* shared = sim_shared;
  if (cluster) {
    shared = shared_of(rank);
    for (const Copy& c : block.copies)
      if (c.from && c.from < shared + end && shared + begin < c.from + c.bytes) return true;
  }
  if (!block.pending_stores) return false;
  for (u32 i = 0; i < thread_count; i++)
    for (const BulkStore& s : thread_of(rank << 10 | i).stores)
      if (s.from < end && begin < s.from + s.bytes) return true;
  return false;
}
static void store_element(char* to, const char* from, u32 item, bool add) {
  if (!add) {
    memcpy(to, from, item);
    return;
  }
  f32 a, b;
  memcpy(&a, to, 4);
  memcpy(&b, from, 4);
  a += b;
  memcpy(to, &a, 4);
}
static void make_store(const BulkStore& s) {
  if (!s.rank) {
    memcpy(s.to, sim_shared + s.from, s.bytes);
    return;
  }
  TensorMap m;
  memcpy(&m, s.map.data(), sizeof m);
  each_element(m, s.at, [&](u32 offset, char* to) {
    if (to) store_element(to, sim_shared + swizzled(s.from + offset, m.swizzle), m.item, s.add);
  });
}
extern "C" void sim_tensor_store(const void* map, u32 from, u32 rank, const s32* at, bool add, u32 site) {
  TensorMap m = read_map(map, rank, site);
  if (add && m.item != 4) {
    report(Kind::unsupported, site, "a tensor copy that adds: of float32 only");
    stop();
  }
  check_target(from, box_bytes(m), 128, site);
  check_copied_from(from, box_bytes(m), site);
  if (sim_watching)
    each_element(m, at, [&](u32, char* to) {
      if (to) sim_access(to, m.item, add ? SIM_STORE | SIM_ATOMIC : SIM_STORE, nullptr, site);
    });
  BulkStore s{
      {(char*)&m, (char*)&m + sizeof m}, nullptr, from, box_bytes(m), rank, {}, add, current->store_group, site};
  memcpy(s.at, at, rank * sizeof *at);
  current->stores.push_back(s);
  mine->pending_stores++;
}
extern "C" void sim_bulk_store(void* to, u32 from, u32 bytes, u32 site) {
  if (bytes % 16 || (u64)to % 16) {
    report(Kind::misaligned, site, "a bulk copy of %u bytes: size and addresses must be multiples of 16", bytes);
    stop();
  }
  check_target(from, bytes, 16, site);
  check_copied_from(from, bytes, site);
  if (sim_watching)
    for (u32 i = 0; i < bytes; i += 16) sim_access((char*)to + i, 16, SIM_STORE, nullptr, site);
  current->stores.push_back(BulkStore{{}, (char*)to, from, bytes, 0, {}, false, current->store_group, site});
  mine->pending_stores++;
}
extern "C" void sim_bulk_commit() { current->store_group++; }
extern "C" void sim_bulk_wait(u32 groups_left, bool, u32) {
  Thread& t = *current;
  s64 limit = (s64)t.store_group - groups_left;
  std::vector<BulkStore> kept;
  for (BulkStore& s : t.stores)
    if ((s64)s.group < limit)
      make_store(s);
    else
      kept.push_back(s);
  mine->pending_stores -= t.stores.size() - kept.size();
  t.stores.swap(kept);
}
bool async_step_stores() {  // at the end of the block: what nobody waited for
  for (BulkStore& s : mine->last_stores) make_store(s);
  bool any = !mine->last_stores.empty();
  mine->last_stores.clear();
  return any;
}
void async_end_thread() {
  Thread& t = *current;
  t.copies.clear();
  for (BulkStore& s : t.stores) {
    if (checks(CHECK_RACES) && first_time(s.site, "unread"))
      report(Kind::race, s.site,
             "race: the thread ends without having waited for this bulk copy: the shared memory that it reads may be "
             "another block's by then (cp.async.bulk.wait_group.read)");
    mine->last_stores.push_back(s);
  }
  t.stores.clear();
}
void wgmma_begin_block();
void async_begin_block() {
  mine->mbarriers.clear();
  mine->first_mbarrier = FULL;
  mine->end_of_mbarriers = 0;
  mine->copies.clear();
  mine->last_stores.clear();
  mine->pending_stores = 0;
  wgmma_begin_block();
  for (u32 i = 0; i < thread_count; i++) {
    Thread& t = threads[i];
    t.copies.clear();
    t.stores.clear();
    t.copy_group = t.store_group = 0;
    t.refused_at = 0;
    t.cluster_arrived = false;
    t.products = Products();
  }
}
