// What accesses cost: 32-byte sectors of global memory, cycles of the 32 banks of shared memory; and the trace.
#include "state.h"
#include <map>
bool statistics_on, trace_on;

// ---- statistics: lanes of a warp that reach one instruction for the n-th time make one request ---------------------
struct Request {
  const char* address[32];
  u32 mask, size;
};
struct Total {
  u64 requests, cost, ideal, bytes;
};
struct Key {
  u32 site, kind;
  bool operator<(const Key& k) const { return site != k.site ? site < k.site : kind < k.kind; }
};
static std::unordered_map<u64, Request> requests;  // by site and kind, warp, occurrence
static std::unordered_map<u64, u32> occurrences;   // by site and kind, thread
static std::map<Key, Total> totals;

void statistics_access(const char* address, u32 size, u32 how, bool shared, u32 site) {
  u64 what = (u64)site << 2 | (how & SIM_STORE ? 2 : 0) | shared;
  u32 n = occurrences[what << 10 | current->index]++;
  Request& r = requests[what << 29 | (u64)current->warp << 24 | (n & 0xffffff)];
  r.address[current->lane] = address;
  r.mask |= 1u << current->lane;
  r.size = size;
}
static void count_sectors(const Request& r, Total& t) {
  std::vector<u64> sectors;
  u64 bytes = 0;
  for (u32 lane = 0; lane < 32; lane++)
    if (r.mask >> lane & 1) {
      u64 first = (u64)r.address[lane] / 32, last = ((u64)r.address[lane] + r.size - 1) / 32;
      for (u64 s = first; s <= last; s++) sectors.push_back(s);
      bytes += r.size;
    }
  std::sort(sectors.begin(), sectors.end());
  sectors.erase(std::unique(sectors.begin(), sectors.end()), sectors.end());
  t.cost += sectors.size();
  t.ideal += (bytes + 31) / 32;
  t.bytes += bytes;
}
// 16-byte accesses are served 8 lanes at a time, 8-byte ones 16; within one such phase each bank gives one word a
// cycle.
static void count_banks(const Request& r, Total& t) {
  u32 together = r.size >= 16 ? 8 : r.size == 8 ? 16 : 32;
  for (u32 begin = 0; begin < 32; begin += together) {
    std::vector<u64> words[32];
    bool any = false;
    for (u32 lane = begin; lane < begin + together; lane++)
      if (r.mask >> lane & 1) {
        any = true;
        t.bytes += r.size;
        for (u64 word = (u64)r.address[lane] / 4; word <= ((u64)r.address[lane] + r.size - 1) / 4; word++) {
          auto& list = words[word & 31];
          if (std::find(list.begin(), list.end(), word) == list.end()) list.push_back(word);
        }
      }
    size_t cycles = 0;
    for (auto& list : words) cycles = std::max(cycles, list.size());
    t.cost += cycles;
    t.ideal += any;
  }
}
void statistics_end_block() {
  if (!statistics_on) return;
  for (auto& [key, request] : requests) {
    u64 what = key >> 29;
    Total& t = totals[{(u32)(what >> 2), (u32)(what & 3)}];
    t.requests++;
    if (what & 1)
      count_banks(request, t);
    else
      count_sectors(request, t);
  }
  requests.clear();
  occurrences.clear();
}
struct StatisticsAside {
  std::unordered_map<u64, Request> requests;
  std::unordered_map<u64, u32> occurrences;
};
static std::vector<StatisticsAside*> slots;
void statistics_exchange(u32 slot) {
  StatisticsAside& a = *in_slot(slots, slot);
  std::swap(a.requests, requests);
  std::swap(a.occurrences, occurrences);
}
extern "C" void sim_statistics(bool on) {
  for (StatisticsAside* a : slots) *a = StatisticsAside();
  statistics_on = on;
  totals.clear();
  requests.clear();
  occurrences.clear();
}
struct Row {
  u32 site, kind;
  u64 requests, cost, ideal, bytes;
};
extern "C" u32 sim_statistics_rows(Row* out, u32 limit) {
  u32 n = 0;
  for (auto& [key, t] : totals) {
    if (n < limit && out) out[n] = {key.site, key.kind, t.requests, t.cost, t.ideal, t.bytes};
    n++;
  }
  return n;
}

// ---- the trace -----------------------------------------------------------------------------------------------------
struct Event {
  u32 site, kind, space, bytes, block[3], thread[3];
  u64 address;
};
static std::vector<Event> events;
static u32 event_limit;
static s32 wanted_block[3];
void trace_event(const char* barrier, const void* address, u32 size, u32 how, u32 space, u32 site) {
  if (events.size() >= event_limit) return;
  Event e{
      site,        barrier ? 3u : how & SIM_MODIFY ? 2u : how & SIM_STORE ? 1u : 0u, barrier ? 2u : space, size, {}, {},
      (u64)address};
  for (int i = 0; i < 3; i++) {
    if (wanted_block[i] >= 0 && (u32)wanted_block[i] != sim_grid.ctaid[i]) return;
    e.block[i] = sim_grid.ctaid[i];
    e.thread[i] = current->tid[i];
  }
  if (space == 1 && !barrier) e.address = offset_of(sim_cluster_window(address, site));
  events.push_back(e);
}
extern "C" void sim_trace(bool on, u32 limit, const s32* block) {
  trace_on = on;
  event_limit = limit;
  if (!on) return;
  memcpy(wanted_block, block, sizeof wanted_block);
  events.clear();
}
extern "C" u32 sim_trace_events(Event* out, u32 limit) {
  if (out) std::copy_n(events.begin(), std::min<size_t>(limit, events.size()), out);
  return events.size();
}
