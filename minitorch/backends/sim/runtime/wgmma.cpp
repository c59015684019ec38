// wgmma: the matrix product of a warpgroup (128 threads) with operands in shared memory, for sm_90a.
#include "state.h"
#include "arithmetic.h"

f32 unpack(u32 element, u32 word, u32 index);
u32 elements_per_word(u32 element);
u32 swizzled(u32 address, u32 mode);
void warp_op(WarpOp& op);

struct WarpgroupOp {
  u32 element, n;
  bool half_result;
  void* d;
  const u32* a;
  u64 a_descriptor, b_descriptor;
  bool accumulate;
  int scale_a, scale_b;
  bool transpose_a, transpose_b;
  u32 site;
};
// Shared memory that a wgmma may read until its group has been waited for.
struct Reading {
  u32 begin, end, warpgroup, group;
  std::vector<u32> units;  // of 16 bytes
};
struct BlockProducts {  // of a block
  std::vector<Reading> readings;
  u32 groups[8];
};
static std::vector<BlockProducts*> slots;
static BlockProducts* mine = new BlockProducts();

void wgmma_begin_block() {
  mine->readings.clear();
  memset(mine->groups, 0, sizeof mine->groups);
}
void wgmma_exchange(u32 slot) { std::swap(in_slot(slots, slot), mine); }
bool wgmma_reads(u32 rank, u32 begin, u32 end) {
  for (const Reading& r : of_rank(slots, mine, rank).readings)
    if (r.begin < end && begin < r.end) return true;
  return false;
}

// Where element (row, k) of an operand lies. The descriptor holds (PTX ISA, "matrix descriptor"): bits 0-13 the start,
// 16-29 the leading and 32-45 the stride byte offset, all divided by 16; 62-63 the swizzle: 0 none, 1 of 128 bytes,
// 2 of 64, 3 of 32. Rows are M or N. In units of 16 bytes, with W = 1, 2, 4 or 8 units to a swizzled row:
//   K-major:  row = (8, n) with strides (W, stride); k: units of a row side by side (no swizzle: leading offset apart)
//   MN-major: row units = (W, n) with strides (1, leading), k = (8, m) with strides (W, stride);
//             without swizzle the two offsets change places
struct Operand {
  u32 start, leading, stride, mode, units, size;
  bool transposed;
  Operand(u64 d, u32 element, bool transposed) : transposed(transposed) {
    start = (d & 0x3fff) << 4;
    leading = (d >> 16 & 0x3fff) << 4;
    stride = (d >> 32 & 0x3fff) << 4;
    u32 swizzle = d >> 62;
    mode = swizzle ? 4 - swizzle : 0;  // as swizzled() counts: 3 is 128 bytes
    units = 1u << mode;
    size = 4 / elements_per_word(element);
  }
  u32 at(u32 row, u32 k) const {
    u32 per = 16 / size, address;
    if (!transposed) {
      u32 unit = k / per;
      address = (row & 7) * 16 * units + (row >> 3) * stride +
                (mode ? unit / units * leading + unit % units * 16 : unit * leading) + k % per * size;
    } else {
      u32 unit = row / per, far = mode ? leading : stride, deep = mode ? stride : leading;
      address = unit % units * 16 + unit / units * far + (k & 7) * 16 * units + (k >> 3) * deep + row % per * size;
    }
    return swizzled(start + address, mode);
  }
};
static f32 element_at(u32 element, u32 address) {
  u32 word = 0;
  memcpy(&word, sim_shared + address, 4 / elements_per_word(element));
  return unpack(element, word, 0);
}
static std::vector<f32> read_operand(const WarpgroupOp& o, u64 descriptor, bool transposed, u32 rows, u32 k_size,
                                     int scale, u32 warpgroup) {
  Operand operand(descriptor, o.element, transposed);
  std::vector<f32> values(rows * k_size);
  u32 low = FULL, high = 0;
  std::vector<u32> units;
  for (u32 row = 0; row < rows; row++)
    for (u32 k = 0; k < k_size; k++) {
      u32 address = operand.at(row, k);
      if (address + operand.size > launch.static_shared + launch.dynamic_shared) {
        report(Kind::out_of_bounds, o.site, "wgmma reads offset %u of shared memory, which has %u bytes", address,
               launch.static_shared + launch.dynamic_shared);
        failed = true;
        return values;
      }
      low = std::min(low, address);
      high = std::max(high, address + operand.size);
      if (!(address & 15)) units.push_back(address);
      values[row * k_size + k] = element_at(o.element, address) * scale;
    }
  for (u32 unit : units) check_copied_from(unit, 16, o.site);
  mine->readings.push_back({low, high, warpgroup, mine->groups[warpgroup], units});
  return values;
}
static u32 value_of(const Products& p, u32 word) {
  if (!under_way(word)) return word;
  u32 i = (word - p.first) & 0xfffff;
  return i < p.words.size() ? p.words[i].bits : POISON;
}
static void run_wgmma(u32 warpgroup) {
  Thread* all = &threads[warpgroup * 128];
  const WarpgroupOp& o = *all[0].warpgroup_op;
  current = &all[0];
  for (u32 i = 1; i < 128; i++) {
    const WarpgroupOp& p = *all[i].warpgroup_op;
    if (p.site == o.site && p.b_descriptor == o.b_descriptor && (o.a || p.a_descriptor == o.a_descriptor)) continue;
    current = &all[i];
    report(Kind::divergent, p.site, "the threads of a warpgroup call different wgmmas, or with different descriptors");
    failed = true;
    return;
  }
  u32 per = elements_per_word(o.element), k_size = 8 * per;
  std::vector<f32> a(64 * k_size),
      b = read_operand(o, o.b_descriptor, o.transpose_b, o.n, k_size, o.scale_b, warpgroup);
  if (!o.a) a = read_operand(o, o.a_descriptor, o.transpose_a, 64, k_size, o.scale_a, warpgroup);
  if (failed) return;
  if (o.a)
    for (u32 i = 0; i < 128; i++)
      for (u32 r = 0; r < 4; r++)
        for (u32 h = 0; h < per; h++) {
          u32 row = 16 * (i >> 5) + (i >> 2 & 7) + 8 * (r & 1), k = per * (i & 3) + h + 4 * per * (r >> 1);
          a[row * k_size + k] = unpack(o.element, all[i].warpgroup_op->a[r], h) * o.scale_a;
        }
  for (u32 i = 0; i < 128; i++) {
    const WarpgroupOp& its = *all[i].warpgroup_op;
    Products& p = all[i].products;
    u32* d = (u32*)its.d;
    for (u32 w = 0; w < o.n / (o.half_result ? 4 : 2); w++) {
      u32 word = its.accumulate ? value_of(p, d[w]) : 0;
      for (u32 j = o.half_result ? 2 * w : w, h = 0; h < (o.half_result ? 2 : 1); j++, h++) {
        u32 row = 16 * (i >> 5) + (i >> 2 & 7) + 8 * (j >> 1 & 1), column = 8 * (j >> 2) + 2 * (i & 3) + (j & 1);
        f32 sum = o.half_result ? (f32)bits_as<f16>((u16)(word >> 16 * h)) : bits_as<f32>(word);
        for (u32 k = 0; k < k_size; k++) sum += a[row * k_size + k] * b[column * k_size + k];
        word = !o.half_result ? bits_as<u32>(sum) : (word & ~(0xffffu << 16 * h)) | (u32)f16(sum).bits << 16 * h;
      }
      d[w] = UNDER_WAY | ((p.first + p.words.size()) & 0xfffff);
      p.words.push_back({p.group, word});
    }
    p.begun = true;
    all[i].state = State::ready;
  }
}
// Registers are the threads' own again after a wait; what they then write there a wgmma sees after a wgmma.fence only.
static bool is_fenced(const Thread& t, const WarpgroupOp& o) {
  const Products& p = t.products;
  if (p.fenced) return true;
  if (!p.begun || o.a) return false;
  for (u32 w = 0; o.accumulate && w < o.n / (o.half_result ? 4 : 2); w++) {
    u32 word = ((u32*)o.d)[w];
    if (!under_way(word) && std::find(p.settled.begin(), p.settled.end(), word) == p.settled.end()) return false;
  }
  return true;
}
extern "C" void sim_wgmma(u32 element, u32 n, bool half_result, void* d, const u32* a, u64 a_descriptor,
                          u64 b_descriptor, bool accumulate, int scale_a, int scale_b, bool transpose_a,
                          bool transpose_b, u32 site) {
  WarpgroupOp op{element,    n,       half_result, d,           a,           a_descriptor, b_descriptor,
                 accumulate, scale_a, scale_b,     transpose_a, transpose_b, site};
  Thread* me = current;
  if (checks(CHECK_RACES) && !is_fenced(*me, op) && first_time(site, "wgmma.fence"))
    report(Kind::race, site,
           "race: no wgmma.fence between what wrote the registers of this wgmma (%s) and it",
           a ? "its operand, or the sums" : "the sums");
  me->warpgroup_op = &op;
  me->state = State::warpgroup;
  me->site = site;
  u32 warpgroup = me->index / 128;
  if (warpgroup * 128 + 128 > thread_count) {
    report(Kind::divergent, site, "wgmma needs a whole warpgroup of 128 threads");
    stop();
  }
  for (u32 i = 0; i < 128; i++)
    if (threads[warpgroup * 128 + i].state != State::warpgroup) {
      yield();
      return;
    }
  run_wgmma(warpgroup);
  current = me;
  if (failed) yield();
}
extern "C" void sim_wgmma_fence() {
  current->products.fenced = true;
  current->products.settled.clear();
}
extern "C" void sim_wgmma_commit() {
  current->products.group++;
  if (current->index % 128 == 0) mine->groups[current->index / 128]++;
}
// The results of the groups waited for are available from here on: the caller then calls
// `sim_wgmma_result` for its registers, and `words` keeps them until the next wait.
static void run_wait(WarpOp** lanes, u32) {  // once for a warp: none goes on before all have come
  s64 limit = (s64)current->products.group - lanes[current->lane]->argument;
  if (current->index % 128 >= 32 || !checks(CHECK_RACES)) return;
  for (const Reading& r : mine->readings)
    if (r.warpgroup == current->index / 128 && (s64)r.group < limit) read_until_now(r.units);
}
extern "C" void sim_wgmma_wait(u32 groups_left, u32 site) {
  WarpOp op{};
  op.run = run_wait;
  op.argument = groups_left;
  op.mask = FULL;
  op.site = site;
  warp_op(op);
  Products& p = current->products;
  s64 limit = (s64)p.group - groups_left;
  size_t over = 0;
  while (over < p.words.size() && (s64)p.words[over].group < p.over) over++;
  p.words.erase(p.words.begin(), p.words.begin() + over);
  p.first += over;
  p.over = std::max(p.over, limit);
  p.fenced = p.fenced && (p.words.empty() || (s64)p.words[0].group >= p.over);
  p.settled.clear();
  u32 warpgroup = current->index / 128;
  if (current->index % 128) return;
  limit = (s64)mine->groups[warpgroup] - groups_left;
  auto& readings = mine->readings;
  auto over_now = [&](const Reading& r) { return r.warpgroup == warpgroup && (s64)r.group < limit; };
  readings.erase(std::remove_if(readings.begin(), readings.end(), over_now), readings.end());
}
// The content of a register that belongs to a wgmma: its result, or the mark that it is under way.
extern "C" u32 sim_wgmma_result(u32 word) {
  Products& p = current->products;
  u32 i = (word - p.first) & 0xfffff;
  if (i >= p.words.size()) return POISON;
  if ((s64)p.words[i].group >= p.over) return word;
  p.settled.push_back(p.words[i].bits);
  return p.words[i].bits;
}
extern "C" void sim_wgmma_early(u32 site) {
  if (!first_time(site, "early")) return;
  report(Kind::race, site,
         "race: this reads a sum of a wgmma that is still under way: wgmma.wait_group must come before (and the "
         "compiler must not move the read: pass the registers through asm volatile after the wait)");
}
