// A launch: blocks one after another, the threads of a block as fibers, run in a chosen order until all are done.
#include "state.h"
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <sys/mman.h>
#include <time.h>
#include <unordered_set>

Thread threads[MAX_THREADS];
Thread* current;
u32 thread_count;
u64 progress = 1, polls;
bool suspicious;
bool failed;
Launch launch;
extern "C" {
SimGrid sim_grid;
u8 sim_watching;
u64 sim_changes;
long sim_budget;
alignas(4096) char sim_shared[SHARED + 4096];
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

// ---- findings ------------------------------------------------------------------------------------------------------
static std::vector<Finding> findings;
static std::unordered_set<std::string> known;

void report(Kind kind, u32 site, const char* format, ...) {
  if (findings.size() >= 12) {
    failed = true;
    return;
  }
  Finding f{(u32)kind, site, 0, {}, {}, {}};
  for (int i = 0; i < 3; i++) {
    f.block[i] = sim_grid.ctaid[i];
    f.thread[i] = current ? current->tid[i] : 0;
  }
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(f.text, sizeof f.text, format, arguments);
  va_end(arguments);
  findings.push_back(f);
}
bool first_time(u32 site, const char* kind) { return known.insert(kind + std::to_string(site)).second; }
void yield() { sim_switch(&current->stack_pointer, scheduler_stack); }
void stop() {
  failed = true;
  yield();
  abort();
}
std::string name_of(u32 index) {
  const Thread& t = threads[index];
  return "thread (" + std::to_string(t.tid[0]) + "," + std::to_string(t.tid[1]) + "," + std::to_string(t.tid[2]) + ")";
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
extern "C" void sim_trap(u32 site, const char* what) {
  report(Kind::trap, site, "%s", what);
  stop();
}
extern "C" u64 sim_clock() { return ++switches; }

// ---- threads -------------------------------------------------------------------------------------------------------
static void thread_main() {
  launch.run(*current, launch.parameters);
  async_end_thread();
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
static char* stacks;
static void number_thread(u32 i) {
  Thread& t = threads[i];
  t.index = i;
  t.lane = i & 31;
  t.warp = i >> 5;
  t.tid[0] = i % launch.block[0];
  t.tid[1] = i / launch.block[0] % launch.block[1];
  t.tid[2] = i / launch.block[0] / launch.block[1];
}
static void run(Thread& t) {
  if (t.state == State::fresh) t.stack_pointer = sim_new_stack(t.stack + STACK, thread_main);
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
    case State::paused: return "until another block writes what it reads in a loop";
    default: return "";
  }
}
static void report_deadlock() {
  std::string text = "no thread can go on:";
  u32 shown = 0, waiting = 0;
  const Thread* last = nullptr;
  for (u32 i = 0; i < thread_count; i++) {
    Thread& t = threads[i];
    if (t.state == State::done) continue;
    u32 site = t.state == State::warp ? t.op->site : t.site;
    if (!waiting++) current = &t;
    if (last && last->state == t.state && (t.state == State::warp ? last->op->site : last->site) == site) continue;
    last = &t;
    if (shown++ < 4)
      text += "\n  " + name_of(i) + " and those after it wait " + waiting_for(t) + " at {" + std::to_string(site) + "}";
  }
  u32 site = current->state == State::warp ? current->op->site : current->site;
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
// Run a block to its end, or until it gives way to others. Whether it has ended.
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
    bool released = release_barriers(done);
    if (failed) return true;
    if (gives_way && done < thread_count && any_paused()) {
      gives_way = false;
      return false;
    }
    if (moved || released || async_step() || refuse_mbarrier_waiters()) {
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
  char* stacks;
};
static std::vector<Aside> aside;          // by slot
static const size_t MOST_ASIDE = 1 << 17;   // threads, or memory would run out: as many as run on a device at a time
static void exchange(u32 slot) {
  while (aside.size() <= slot) {  // guard pages for a few only: their number is limited
    aside.push_back({new Thread[MAX_THREADS](), make_stacks(MAX_THREADS, aside.size() < 8)});
    for (u32 i = 0; i < MAX_THREADS; i++) aside.back().threads[i].stack = aside.back().stacks + i * (STACK + GUARD);
  }
  for (u32 i = 0; i < thread_count; i++) {
    std::swap(threads[i], aside[slot].threads[i]);
    number_thread(i);
  }
  memory_exchange(slot);
  collectives_exchange(slot);
  async_exchange(slot);
  wgmma_exchange(slot);
  statistics_exchange(slot);
}
static void place(u32 number) {
  sim_grid.ctaid[0] = number % launch.grid[0];
  sim_grid.ctaid[1] = number / launch.grid[0] % launch.grid[1];
  sim_grid.ctaid[2] = number / launch.grid[0] / launch.grid[1];
}

// ---- a crash inside translated code ends the launch, not the process -----------------------------------------------
static sigjmp_buf crash;
static volatile sig_atomic_t crash_expected;
static void* crash_address;
static void on_crash(int number, siginfo_t* info, void*) {
  if (!crash_expected) {
    signal(number, SIG_DFL);
    return;
  }
  crash_expected = 0;
  crash_address = info->si_addr;
  siglongjmp(crash, number);
}
static void report_crash(int number) {
  bool overflow = current && (size_t)((char*)crash_address - (current->stack - GUARD)) < GUARD;
  if (overflow)
    report(Kind::out_of_bounds, 0, "stack overflow: a thread has %zu KiB for local arrays and calls", STACK >> 10);
  else if (number == SIGFPE)
    report(Kind::trap, 0, "integer division by zero");
  else
    report(Kind::out_of_bounds, 0, "access to %p, which is no memory at all", crash_address);
  failed = true;
}

#if defined(__x86_64__)
#include <xmmintrin.h>
static unsigned set_flush(bool on) {
  unsigned old = _mm_getcsr();
  if (on) _mm_setcsr(old | 0x8040);
  return old;
}
static void restore_flush(unsigned old) { _mm_setcsr(old); }
#else
static u64 set_flush(bool on) {
  u64 old;
  asm volatile("mrs %0, fpcr" : "=r"(old));
  if (on) asm volatile("msr fpcr, %0" ::"r"(old | 1ull << 24));
  return old;
}
static void restore_flush(u64 old) { asm volatile("msr fpcr, %0" ::"r"(old)); }
#endif

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
const u64 MANY_TICKS = (1 << 21) / SHORT_SLICE;  // in which nothing happens: then nothing will
// A block, and the slot that it is in while it waits.
struct Waiting {
  Block block;
  u32 slot;
};
static void report_waiting(const std::vector<Waiting>& waiting, u32 unstarted) {
  std::string text = "all blocks that can run wait for others, in loops that read the same again and again:";
  u32 site = 0;
  for (const Waiting& w : waiting) {
    const Thread* first = std::find_if(aside[w.slot].threads, aside[w.slot].threads + thread_count, is_paused);
    if (site) {
      text += "\n  and " + std::to_string(waiting.size() - 1) + " blocks more";
      break;
    }
    place(w.block.number);
    current = &threads[first->index];
    site = first->site;
    text += "\n  block " + std::to_string(w.block.number) + " at {" + std::to_string(site) + "}";
  }
  if (unstarted) text += "\n  " + std::to_string(unstarted) + " more find no place beside them on a device";
  report(Kind::deadlock, site, "%s", text.c_str());
  failed = true;
}
// Go on with each waiting block, the last first: most often that is whom the one before it waits for. Whether anything
// has changed.
static bool run_waiting(std::vector<Waiting>& waiting, std::vector<u32>& free_slots) {
  u64 before = sim_changes;
  size_t ended_before = free_slots.size();
  for (size_t i = waiting.size(); i-- > 0;) {
    Waiting& w = waiting[i];
    place(w.block.number);
    exchange(w.slot);
    memory_resume_block();
    polls_seen = polls;
    changes_seen = sim_changes;
    bool ended = run_block(w.block);
    if (failed) return true;
    if (ended) {
      end_block();
      if (failed) return true;
    }
    exchange(w.slot);
    if (!ended) continue;
    free_slots.push_back(w.slot);
    waiting.erase(waiting.begin() + i);
  }
  return free_slots.size() != ended_before || sim_changes != before;
}
static void run_blocks() {
  u32 blocks = launch.grid[0] * launch.grid[1] * launch.grid[2];
  u64 last_change = ticks;
  std::vector<u32> order = make_order(blocks), warps = make_order((thread_count + 31) / 32), lanes = make_order(32);
  std::vector<Waiting> waiting;
  std::vector<u32> free_slots;
  for (u32 next = 0; next < blocks || !waiting.empty();) {
    if (next < blocks && waiting.size() * thread_count < MOST_ASIDE) {
      if (launch.order == SEEDED) {
        warps = make_order(warps.size());
        lanes = make_order(32);
      }
      Block b{order[next++], 0, warps, lanes};
      begin_block(b);
      while (!run_block(b)) {
        if (blocks == 1) continue;  // perhaps the time limit ends it
        if (free_slots.empty()) free_slots.push_back(waiting.size());
        exchange(free_slots.back());
        waiting.push_back({b, free_slots.back()});
        free_slots.pop_back();
        break;
      }
      if (failed) return;
      if (b.done == thread_count) end_block();
    } else {
      if (run_waiting(waiting, free_slots)) last_change = ticks;
      if (ticks - last_change > MANY_TICKS && sim_watching && !failed) report_waiting(waiting, blocks - next);
    }
    if (failed) return;
  }
}

extern "C" u32 sim_launch(const Launch* wanted, Finding* out, u32 limit) {
  launch = *wanted;
  if (!stacks) {
    stacks = make_stacks(MAX_THREADS, true);
    for (u32 i = 0; i < MAX_THREADS; i++) threads[i].stack = stacks + i * (STACK + GUARD);
  }
  findings.clear();
  known.clear();
  failed = suspicious = any_was_paused = false;
  current = nullptr;
  random_state = launch.seed * 2654435761u + 88172645u;
  sim_watching = launch.checks || statistics_on || trace_on;
  sim_budget = SLICE;
  deadline = launch.time_limit > 0 ? cpu_seconds() + launch.time_limit : 1e300;
  if (launch.time_limit > 0 && launch.time_limit < 1) sim_budget = 1 << 12;
  for (int i = 0; i < 3; i++) {
    sim_grid.ntid[i] = launch.block[i];
    sim_grid.nctaid[i] = launch.grid[i];
  }
  sim_grid.static_shared = launch.static_shared;
  sim_grid.dynamic_shared = launch.dynamic_shared;
  thread_count = launch.block[0] * launch.block[1] * launch.block[2];
  for (u32 i = 0; i < thread_count; i++) number_thread(i);
  memory_begin_launch();
  static char signal_stack[64 << 10];
  stack_t alternative = {}, old_stack;
  alternative.ss_sp = signal_stack;
  alternative.ss_size = sizeof signal_stack;
  sigaltstack(&alternative, &old_stack);
  struct sigaction action = {}, old[4];
  const int signals[4] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (int i = 0; i < 4; i++) sigaction(signals[i], &action, &old[i]);
  auto flush = set_flush(launch.flush);
  int number = sigsetjmp(crash, 1);
  if (!number) {
    crash_expected = 1;
    run_blocks();
  } else
    report_crash(number);
  crash_expected = 0;
  restore_flush(flush);
  for (int i = 0; i < 4; i++) sigaction(signals[i], &old[i], nullptr);
  sigaltstack(&old_stack, nullptr);
  current = nullptr;
  u32 n = std::min<u32>(findings.size(), limit);
  std::copy_n(findings.begin(), n, out);
  return n;
}

// ---- printf --------------------------------------------------------------------------------------------------------
static std::string printed;
extern "C" int sim_printf(const char* format, const void* arguments, u32) {
  const char* next = (const char*)arguments;
  int count = 0;
  for (const char* p = format; *p;) {
    if (*p != '%') {
      printed += *p++;
      continue;
    }
    const char* begin = p++;
    while (*p && !strchr("diouxXcsfFeEgGaAp%", *p)) p++;
    std::string spec(begin, *p ? p + 1 - begin : p - begin);
    char kind = *p ? *p++ : 0, text[512];
    auto take = [&](size_t size) {
      next = (const char*)(((uintptr_t)next + size - 1) & ~(size - 1));
      next += size;
      return next - size;
    };
    if (kind == '%') {
      printed += '%';
      continue;
    }
    if (!kind) break;
    count++;
    bool wide = spec.find('l') != spec.npos || kind == 's' || kind == 'p';
    if (strchr("fFeEgGaA", kind)) {
      f64 v;
      memcpy(&v, take(8), 8);
      snprintf(text, sizeof text, spec.c_str(), v);
    } else if (wide) {
      u64 v;
      memcpy(&v, take(8), 8);
      snprintf(text, sizeof text, spec.c_str(), v);
    } else {
      u32 v;
      memcpy(&v, take(4), 4);
      snprintf(text, sizeof text, spec.c_str(), v);
    }
    printed += text;
  }
  return count;
}
extern "C" const char* sim_printed() { return printed.c_str(); }
extern "C" void sim_forget_printed() { printed.clear(); }
extern "C" void sim_assert_fail(const char* message, const char* file, u32 line, const char* function, u32 site) {
  report(Kind::trap, site, "assertion failed: %s (%s:%u, in %s)", message, file, line, function);
  stop();
}
