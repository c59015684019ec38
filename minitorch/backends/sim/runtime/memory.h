// What the memory checker's files share: cells that remember who has read and written, and the memory of a block.
#pragma once
#include "state.h"

// ---- shadow cells --------------------------------------------------------------------------------------------------
const u16 ATOMIC = 0x8000, MANY = 0x8000, COPIED = 0x2000, ENGINE = 0x4000, ID = 0x3fff;
const u32 BY_ENGINE = 16;  // how an access is made, beside those of abi.h
struct Cell {                 // of `granule` bytes of memory
  u32 write_time, read_time;  // 0: never
  u16 writer, reader;         // thread with its rank, and the bits ATOMIC; MANY (several lanes), ENGINE (wgmma alone)
  u32 reader_warps;           // shared memory: warps that have read since the last barrier
};

// An access to shared memory by a thread of another block.
struct Remote {
  u32 id, time, site;
};
// The state of a block's memory; a block that is put aside takes it along.
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
extern std::vector<BlockMemory*> memory_slots;
extern BlockMemory* my_memory;
extern u32 my_clock;  // where a Clock has the warps of the present block

inline u32 my_id() { return current->id(); }
inline Clock& my_warp() { return my_memory->warps[current->warp]; }
inline u32 warp_of(u32 id) { return id & COPIED ? ASYNC : (id & 1023) / 32; }
// True if an access by thread `other` at `time` happened before.
inline bool is_ordered(u32 other, u32 time) {
  if (cluster) return order_has(other, time);
  if (other == current->index || time <= my_memory->barrier) return true;
  return time <= my_warp().seen[warp_of(other)];
}
inline bool same_bytes(const char* p, const void* value, u32 size) { return value && !memcmp(p, value, size); }

const char* verb(u32 how);
void race(const char* earlier, u32 how, const std::string& where, const std::string& other, u32 site);

// Shared memory (shared.cpp).
void access_shared(u32 rank, u32 offset, u32 size, u32 how, const void* value, u32 site);
void shared_begin_launch();
u32 find_rank(const char* p);  // whose shared memory this is; RANKS for nobody's

// Memory of the device (global.cpp).
void access_memory(const char* p, u32 size, u32 how, const void* value, u32 site);
void forget_allocations();  // what is known of who wrote them
void global_begin_launch();
void begin_stretch();
void stretches_in_turns();  // a block has been put aside
