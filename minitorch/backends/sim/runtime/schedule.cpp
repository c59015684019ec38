// Who runs when: the threads of a block as fibers, blocks one after another, in a chosen order, until all are done. The
// blocks of a cluster take turns, and so do blocks that wait for each other.
#include "state.h"
#include <memory>
#include <sys/mman.h>
#include <time.h>

static Thread first_threads[MAX_THREADS];
Thread* threads = first_threads;
Thread* current;
u32 thread_count;
u64 progress = 1, polls;
bool suspicious;
Cluster* cluster;
u32 my_rank;
extern "C" {
u64 sim_changes;
long sim_budget;
char* sim_shared;
void sim_switch(void** save, void* load);
void* sim_new_stack(char* top, void (*start)());
}
static void* scheduler_stack;
static u64 switches;
static double deadline;
static const long SLICE = 1 << 20, SHORT_SLICE = 1 << 12;  // backward branches between two looks at the clock
static bool any_was_paused;  // in this launch
static u64 polls_seen, changes_seen, ticks;
static bool gives_way;  // since its last pause the block has looked at what others write, and changed nothing

void yield() { sim_switch(&current->stack_pointer, scheduler_stack); }
static std::string triple(u32 x, u32 y, u32 z) {
  return "(" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + ")";
}
std::string name_of(u32 index) {
  const Thread& t = thread_of(index);
  bool here = !cluster || rank_of_id(index) == my_rank;
  return "thread " + triple(t.tid[0], t.tid[1], t.tid[2]) + (here ? "" : " of " + name_of_block(rank_of_id(index)));
}
std::string name_of_block(u32 rank) {
  u32 n = cluster->blocks[rank], x = launch.grid[0], y = launch.grid[1];
  return "block " + triple(n % x, n / x % y, n / x / y);
}

// Ctrl-C: Python's handler has only made a note of it; asked here, on Python's own stack, it raises KeyboardInterrupt.
extern "C" int PyErr_CheckSignals() __attribute__((weak));
static bool look_for_interrupt;
static void check_interrupt() {
  look_for_interrupt = false;
  if (PyErr_CheckSignals && PyErr_CheckSignals()) failed = true;
}

static double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
extern "C" void sim_tick(u32 site) {
  if (cpu_seconds() < deadline) {  // let the others run: perhaps it polls memory that they write
    look_for_interrupt = true;
    Thread& t = *current;
    t.state = State::paused;
    t.site = site;
    gives_way = !sim_watching || (polls != polls_seen && sim_changes == changes_seen);
    polls_seen = polls;
    changes_seen = sim_changes;
    ticks++;
    suspicious |= gives_way;
    any_was_paused = true;
    sim_budget = suspicious ? SHORT_SLICE : SLICE;
    yield();
    return;
  }
  report(Kind::deadlock, site, "the kernel still runs after %.3g s (settings.time_limit): it loops for ever, perhaps",
         launch.time_limit);
  stop();
}
extern "C" u64 sim_clock() { return ++switches; }

// ---- threads -------------------------------------------------------------------------------------------------------
static void thread_main() {
  launch.run(*current, launch.parameters);
  async_end_thread();
  if (cluster) cluster_end_thread();
  current->state = State::done;
  yield();
  abort();
}
static char* make_stacks(u32 number, bool guarded) {
  size_t each = STACK + GUARD;
  char* memory = (char*)mmap(nullptr, number * each, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  for (u32 i = 0; guarded && i < number; i++) mprotect(memory + i * each, GUARD, PROT_NONE);
  return memory + GUARD;
}
static void number_thread(Thread* threads, u32 i) {
  Thread& t = threads[i];
  t.index = i;
  t.lane = i & 31;
  t.warp = i >> 5;
  t.tid[0] = i % launch.block[0];
  t.tid[1] = i / launch.block[0] % launch.block[1];
  t.tid[2] = i / launch.block[0] / launch.block[1];
}
static void run(Thread& t) {
  if (t.state == State::fresh) t.stack_pointer = sim_new_stack(t.stack + STACK - t.lane * 128, thread_main);
  t.state = State::ready;
  current = &t;
  switches++;
  sim_switch(&scheduler_stack, t.stack_pointer);
  if (look_for_interrupt) check_interrupt();
}

// ---- the orders in which blocks, warps and lanes run ---------------------------------------------------------------
static u32 random_state;
static u32 random_number() {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 17;
  random_state ^= random_state << 5;
  return random_state;
}
static std::vector<u32> make_order(u32 n) {
  std::vector<u32> order(n);
  for (u32 i = 0; i < n; i++) order[i] = launch.order == DESCENDING ? n - 1 - i : i;
  if (launch.order == SEEDED)
    for (u32 i = n; i > 1; i--) std::swap(order[i - 1], order[random_number() % i]);
  return order;
}

// ---- one block -----------------------------------------------------------------------------------------------------
// Run the lanes of a warp until each is done, paused, or waits for something outside the warp. Adds to `done` who
// finished. Whether any ran.
static bool run_warp(u32 warp, const std::vector<u32>& lanes, u32& done) {
  bool moved = false;
  for (bool again = true; again;) {
    again = false;
    for (u32 lane : lanes) {
      u32 index = warp * 32 + lane;
      if (index >= thread_count) continue;
      Thread& t = threads[index];
      if (t.state != State::fresh && t.state != State::ready) continue;
      run(t);
      moved = again = true;
      if (failed) return true;
      if (t.state == State::done) {
        done++;
        lane_exited(t);
      }
      if (failed) return true;
    }
    if (!again) again = release_converged(warp);
  }
  return moved;
}
static const char* waiting_for(const Thread& t) {
  switch (t.state) {
    case State::barrier: return "in a barrier";
    case State::warp: return "in a warp operation";
    case State::mbarrier: return "for an mbarrier";
    case State::warpgroup: return "for its warpgroup in wgmma";
    case State::registers: return "for registers";
    case State::cluster: return "in the barrier of their cluster";
    case State::paused: return "until another block writes what it reads in a loop";
    default: return "";
  }
}
// Describes in a few lines what the threads of the present block wait for; `current` is the first,
// if any.
static u32 describe_waiting(std::string& text, u32 most) {
  u32 shown = 0, waiting = 0;
  const Thread* last = nullptr;
  for (u32 i = 0; i < thread_count; i++) {
    Thread& t = threads[i];
    if (t.state == State::done) continue;
    u32 site = t.state == State::warp ? t.op->site : t.site;
    if (!waiting++) current = &t;
    if (last && last->state == t.state && (t.state == State::warp ? last->op->site : last->site) == site) continue;
    last = &t;
    if (shown++ < most)
      text += "\n  " + name_of(t.id()) + " and those after it wait " + waiting_for(t) + " at {" + std::to_string(site) + "}";
  }
  return waiting;
}
static u32 site_of_current() { return current->state == State::warp ? current->op->site : current->site; }
static void report_deadlock() {
  std::string text = "no thread can go on:";
  u32 waiting = describe_waiting(text, 4), site = site_of_current();
  text += "\n  " + std::to_string(waiting) + " of " + std::to_string(thread_count) + " threads wait";
  report(Kind::deadlock, site, "%s", text.c_str());
  failed = true;
}
struct Block {
  u32 number, done;  // threads that have finished
  std::vector<u32> warps, lanes;
};
static bool is_paused(const Thread& t) { return t.state == State::paused; }
static bool any_paused() { return std::any_of(threads, threads + thread_count, is_paused); }
static void resume_paused() {
  for (u32 i = 0; i < thread_count; i++)
    if (is_paused(threads[i])) threads[i].state = State::ready;
}
// Run a block to its end, or until it gives way to others, or (of a cluster) can do nothing without them. Whether it has
// ended.
static bool run_block(Block& b) {
  u32& done = b.done;
  while (done < thread_count) {
    bool moved = false;
    if (any_was_paused) resume_paused();
    wake_mbarrier_waiters();
    wake_register_waiters();
    for (u32 warp : b.warps) {
      moved |= run_warp(warp, b.lanes, done);
      if (failed) return true;
    }
    bool released = release_barriers(done) | (cluster && release_cluster_barrier(done));
    if (failed) return true;
    if (gives_way && done < thread_count && any_paused()) {
      gives_way = false;
      return false;
    }
    if (moved || released) continue;
    if (cluster && done < thread_count) return false;
    if (async_step() || refuse_mbarrier_waiters()) {
      if (failed) return true;
      continue;
    }
    if (failed) return true;
    if (done < thread_count) {
      report_deadlock();
      return true;
    }
  }
  return true;
}

// ---- blocks that wait for others ---------------------------------------------------------------------------------------
// They are put aside, each into a slot of its own, with their threads and their stacks.
struct Aside {
  Thread* threads;
  u64 numbered;  // the launch for which the threads have their numbers
};
static std::vector<Aside> aside;          // by slot
static const size_t MOST_ASIDE = 1 << 17;   // threads, or memory would run out: as many as run on a device at a time
static u64 launch_number, numbered;
static void give_stacks(Thread* threads, bool guarded) {
  char* stacks = make_stacks(MAX_THREADS, guarded);
  for (u32 i = 0; i < MAX_THREADS; i++) threads[i].stack = stacks + i * (STACK + GUARD);
}
static void exchange(u32 slot) {
  while (aside.size() <= slot) {  // guard pages for a few only: their number is limited
    aside.push_back({new Thread[MAX_THREADS](), 0});
    give_stacks(aside.back().threads, aside.size() <= 8);
  }
  std::swap(threads, aside[slot].threads);
  std::swap(numbered, aside[slot].numbered);
  for (u32 i = 0; i < thread_count && numbered != launch_number; i++) number_thread(threads, i);
  numbered = launch_number;
  memory_exchange(slot);
  collectives_exchange(slot);
  async_exchange(slot);
  wgmma_exchange(slot);
  statistics_exchange(slot);
}
Thread& thread_of(u32 id) {
  u32 rank = rank_of_id(id);
  return (!cluster || rank == my_rank ? threads : aside[cluster->slots[rank]].threads)[id & 1023];
}
static void place(u32 number) {
  sim_grid.ctaid[0] = number % launch.grid[0];
  sim_grid.ctaid[1] = number / launch.grid[0] % launch.grid[1];
  sim_grid.ctaid[2] = number / launch.grid[0] / launch.grid[1];
  for (int i = 0; i < 3; i++) {
    u32 size = std::max(1u, launch.cluster[i]);
    sim_grid.cluster_ctaid[i] = sim_grid.ctaid[i] % size;
    sim_grid.clusterid[i] = sim_grid.ctaid[i] / size;
  }
  sim_grid.cluster_ctarank = my_rank;
}

static void begin_block(Block& b) {
  place(b.number);
  std::fill_n((u32*)sim_shared, (launch.static_shared + launch.dynamic_shared + 3) / 4, POISON);
  memory_begin_block();
  collectives_begin_block();
  async_begin_block();
  for (u32 i = 0; i < thread_count; i++) threads[i].state = State::fresh;
  gives_way = false;
}
static void end_block() {
  current = nullptr;
  while (async_step_stores()) {}
  statistics_end_block();
  check_interrupt();
}

// ---- clusters: their blocks lie in slots and take turns ----------------------------------------------------------------
// Blocks that run together: one, or those of a cluster; `slots` where they are while others run.
struct Group {
  std::vector<Block> blocks;
  std::vector<u32> slots;
  std::shared_ptr<Cluster> cluster;
};
static std::vector<u32> free_slots;
static u32 slots_used;
static u32 take_slot() {
  if (free_slots.empty()) free_slots.push_back(slots_used++);
  u32 slot = free_slots.back();
  free_slots.pop_back();
  return slot;
}
static void enter(Group& g, u32 rank) {
  cluster = g.cluster.get();
  my_rank = rank;
  place(g.blocks[rank].number);
  exchange(g.slots[rank]);
  memory_resume_block();
  polls_seen = polls;
  changes_seen = sim_changes;
}
static void leave(Group& g, u32 rank) {
  exchange(g.slots[rank]);
  cluster = nullptr;
  my_rank = 0;
}
// Call f() within each block of a cluster (that has not ended), until it is true. Whether it was.
template <class F>
static bool in_some_block(Group& g, F f, bool ended_too = false) {
  for (u32 i = 0; i < g.blocks.size(); i++) {
    u32 rank = launch.order == DESCENDING ? g.blocks.size() - 1 - i : i;
    if (g.cluster->ended >> rank & !ended_too) continue;
    enter(g, rank);
    bool found = f(g.blocks[rank]);
    leave(g, rank);
    if (found || failed) return true;
  }
  return false;
}
static void report_cluster_deadlock(Group& g) {
  std::string text = "no thread of a cluster can go on:";
  u32 site = 0, waiting = 0;
  in_some_block(g, [&](Block& b) {
    text += "\n  block " + triple(sim_grid.ctaid[0], sim_grid.ctaid[1], sim_grid.ctaid[2]) + ":";
    waiting += describe_waiting(text, 2);
    if (!site) site = site_of_current();
    return false;
  });
  enter(g, __builtin_ctz(~g.cluster->ended));
  describe_waiting(text, 0);  // for `current`
  report(Kind::deadlock, site, "%s", text.c_str());
  leave(g, my_rank);
  failed = true;
}
static u64 signs_of_progress() { return progress + sim_changes; }
// Run the blocks of a cluster in turns until all have ended, or wait for blocks outside. Whether they have ended.
static bool run_cluster(Group& g) {
  Cluster& c = *g.cluster;
  while (c.ended != (1u << c.size) - 1) {
    u64 before = signs_of_progress();
    bool moved = false, polls_others = false;
    in_some_block(g, [&](Block& b) {
      u64 runs = switches;
      if (run_block(b) && !failed) {
        end_block();
        memory_end_block();
        c.ended |= 1u << my_rank;
        moved = true;
      } else if (any_paused())
        polls_others = true;
      else
        moved |= switches != runs;
      return false;
    });
    if (failed) return true;
    if (moved || signs_of_progress() != before) continue;
    if (in_some_block(g, [](Block&) { return async_step(); }, true)) {
      if (failed) return true;
      continue;
    }
    if (polls_others) return false;
    if (in_some_block(g, [](Block&) { return refuse_mbarrier_waiters(); })) continue;
    report_cluster_deadlock(g);
    return true;
  }
  while (!failed && in_some_block(g, [](Block&) { return async_step(); }, true)) {}
  return true;
}
static void begin_group(Group& g, u32 number, const std::vector<u32>& warps, const std::vector<u32>& lanes) {
  u32 size = launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
  if (!size) {
    g.blocks = {{number, 0, warps, lanes}};
    begin_block(g.blocks[0]);
    return;
  }
  g.cluster = std::make_shared<Cluster>();
  Cluster* c = g.cluster.get();
  c->size = size;
  c->threads = size * thread_count;
  u32 along[3], first[3];
  for (int i = 0; i < 3; i++) along[i] = launch.grid[i] / launch.cluster[i];
  first[0] = number % along[0] * launch.cluster[0];
  first[1] = number / along[0] % along[1] * launch.cluster[1];
  first[2] = number / along[0] / along[1] * launch.cluster[2];
  for (u32 rank = 0; rank < size; rank++) {
    u32 x = first[0] + rank % launch.cluster[0], y = first[1] + rank / launch.cluster[0] % launch.cluster[1],
        z = first[2] + rank / launch.cluster[0] / launch.cluster[1];
    c->blocks[rank] = x + launch.grid[0] * (y + launch.grid[1] * z);
    g.blocks.push_back({c->blocks[rank], 0, warps, lanes});
    g.slots.push_back(c->slots[rank] = take_slot());
  }
  in_some_block(g, [](Block& b) {
    begin_block(b);
    return false;
  });
}
static void end_group(Group& g) { free_slots.insert(free_slots.end(), g.slots.begin(), g.slots.end()); }
// Go on with a group that was put aside. Whether it has ended.
static bool go_on(Group& g) {
  if (g.cluster) return run_cluster(g);
  enter(g, 0);
  bool ended = run_block(g.blocks[0]);
  if (ended && !failed) end_block();
  if (!failed) leave(g, 0);
  return ended;
}
// Run a group from its beginning. Whether it has ended; if not, it is put aside.
static bool run_group(Group& g) {
  if (g.cluster) return run_cluster(g);
  if (run_block(g.blocks[0])) {
    if (!failed) end_block();
    return true;
  }
  g.slots = {take_slot()};
  exchange(g.slots[0]);
  return false;
}

const u64 MANY_TICKS = (1 << 21) / SHORT_SLICE;  // in which nothing happens: then nothing will
static void report_waiting(std::vector<Group>& waiting, u32 unstarted) {
  u32 site = 0, blocks = 0;
  for (Group& g : waiting) blocks += g.blocks.size();
  std::string text = blocks == 1
      ? "the block waits for another one, in a loop that reads the same again and again, and there is none left:"
      : "all blocks that can run wait for others, in loops that read the same again and again:";
  for (Group& g : waiting) {
    if (site) {
      text += "\n  and " + std::to_string(blocks - 1) + " blocks more";
      break;
    }
    for (u32 rank = 0; rank < g.blocks.size() && !site; rank++) {
      const Thread* threads = aside[g.slots[rank]].threads;
      const Thread* first = std::find_if(threads, threads + thread_count, is_paused);
      if (first == threads + thread_count) continue;
      place(g.blocks[rank].number);
      current = &aside[g.slots[rank]].threads[first->index];
      site = first->site;
      text += "\n  block " + std::to_string(g.blocks[rank].number) + " at {" + std::to_string(site) + "}";
    }
  }
  if (unstarted) text += "\n  " + std::to_string(unstarted) + " more find no place beside them on a device";
  report(Kind::deadlock, site, "%s", text.c_str());
  failed = true;
}
// Go on with each waiting group, the last first: most often that is whom the one before it waits for. Whether anything
// has changed.
static bool run_waiting(std::vector<Group>& waiting) {
  u64 before = sim_changes;
  size_t waited = waiting.size();
  for (size_t i = waiting.size(); i-- > 0;) {
    bool ended = go_on(waiting[i]);
    if (failed) return true;
    if (!ended) continue;
    end_group(waiting[i]);
    waiting.erase(waiting.begin() + i);
  }
  return waiting.size() != waited || sim_changes != before;
}
void run_blocks() {
  u32 size = std::max(1u, launch.cluster[0] * launch.cluster[1] * launch.cluster[2]);
  u32 groups = launch.grid[0] * launch.grid[1] * launch.grid[2] / size;
  u64 last_change = ticks;
  std::vector<u32> order = make_order(groups), warps = make_order((thread_count + 31) / 32), lanes = make_order(32);
  std::vector<Group> waiting;
  for (u32 next = 0; next < groups || !waiting.empty();) {
    if (next < groups && waiting.size() * size * thread_count < MOST_ASIDE) {
      if (launch.order == SEEDED) {
        warps = make_order(warps.size());
        lanes = make_order(32);
      }
      Group g;
      begin_group(g, order[next++], warps, lanes);
      bool ended = run_group(g);
      if (failed) return;
      if (ended)
        end_group(g);
      else
        waiting.push_back(g);
    } else {
      if (run_waiting(waiting)) last_change = ticks;
      if (ticks - last_change > MANY_TICKS && sim_watching && !failed)
        report_waiting(waiting, (groups - next) * size);
    }
    if (failed) return;
  }
}

void schedule_begin() {
  if (!threads[0].stack) give_stacks(threads, true);
  cluster = nullptr;
  my_rank = slots_used = 0;
  free_slots.clear();
  clock_size = EACH * std::max(1u, launch.cluster[0] * launch.cluster[1] * launch.cluster[2]);
  suspicious = any_was_paused = false;
  random_state = launch.seed * 2654435761u + 88172645u;
  sim_budget = launch.time_limit > 0 && launch.time_limit < 1 ? SHORT_SLICE : SLICE;
  deadline = launch.time_limit > 0 ? cpu_seconds() + launch.time_limit : 1e300;
  thread_count = launch.block[0] * launch.block[1] * launch.block[2];
  for (u32 i = 0; i < thread_count; i++) number_thread(threads, i);
  numbered = ++launch_number;
}
