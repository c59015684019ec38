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
u64 progress = 1;
bool failed;
Launch launch;
extern "C" {
SimGrid sim_grid;
u8 sim_watching;
long sim_budget;
alignas(4096) char sim_shared[SHARED + 4096];
void sim_switch(void** save, void* load);
void* sim_new_stack(char* top, void (*start)());
}
static void* scheduler_stack;
static u64 switches;
static double deadline;
static const long SLICE = 1 << 20;  // backward branches between two looks at the clock

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
  sim_budget = SLICE;
  if (cpu_seconds() < deadline) {  // let the others run: perhaps it polls memory that they write
    look_for_interrupt = true;
    yield();
    return;
  }
  report(Kind::deadlock, site,
         "the kernel still runs after %.3g s (settings.time_limit). It loops for ever, or waits for "
         "a block that runs later: here blocks run one after another",
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
static void make_stacks() {
  if (threads[0].stack) return;
  size_t each = STACK + GUARD;
  char* memory = (char*)mmap(nullptr, MAX_THREADS * each, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  for (u32 i = 0; i < MAX_THREADS; i++) {
    mprotect(memory + i * each, GUARD, PROT_NONE);
    threads[i].stack = memory + i * each + GUARD;
  }
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
enum { ASCENDING, DESCENDING, SEEDED };
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
// Run the lanes of a warp until each is done or waits for something outside the warp. Adds to `done` who finished.
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
static void run_block(const std::vector<u32>& warps, const std::vector<u32>& lanes) {
  u32 done = 0;
  for (u32 i = 0; i < thread_count; i++) threads[i].state = State::fresh;
  while (done < thread_count) {
    bool moved = false;
    wake_mbarrier_waiters();
    for (u32 warp : warps) {
      moved |= run_warp(warp, lanes, done);
      if (failed) return;
    }
    bool released = release_barriers(done);
    if (failed) return;
    if (moved || released || async_step() || refuse_mbarrier_waiters()) {
      if (failed) return;
      continue;
    }
    if (failed) return;
    if (done < thread_count) return report_deadlock();
  }
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

static void run_blocks() {
  u32 blocks = launch.grid[0] * launch.grid[1] * launch.grid[2], shared = launch.static_shared + launch.dynamic_shared;
  std::vector<u32> order = make_order(blocks), warps = make_order((thread_count + 31) / 32), lanes = make_order(32);
  for (u32 block : order) {
    sim_grid.ctaid[0] = block % launch.grid[0];
    sim_grid.ctaid[1] = block / launch.grid[0] % launch.grid[1];
    sim_grid.ctaid[2] = block / launch.grid[0] / launch.grid[1];
    std::fill_n((u32*)sim_shared, (shared + 3) / 4, POISON);
    if (launch.order == SEEDED) {
      warps = make_order(warps.size());
      lanes = make_order(32);
    }
    memory_begin_block();
    collectives_begin_block();
    async_begin_block();
    run_block(warps, lanes);
    if (failed) return;
    current = nullptr;
    while (async_step_stores()) {}
    statistics_end_block();
    check_interrupt();
    if (failed) return;
  }
}

extern "C" u32 sim_launch(const Launch* wanted, Finding* out, u32 limit) {
  launch = *wanted;
  make_stacks();
  findings.clear();
  known.clear();
  failed = false;
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
  for (u32 i = 0; i < thread_count; i++) {
    Thread& t = threads[i];
    t.index = i;
    t.lane = i & 31;
    t.warp = i >> 5;
    t.tid[0] = i % launch.block[0];
    t.tid[1] = i / launch.block[0] % launch.block[1];
    t.tid[2] = i / launch.block[0] / launch.block[1];
  }
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
