// A launch: what it is told, what is found in it, crashes, and what the kernel prints. Who runs when: schedule.cpp.
#include "state.h"
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <unordered_set>

bool failed;
Launch launch;
extern "C" {
SimGrid sim_grid;
u8 sim_watching;
}

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
void stop() {
  failed = true;
  yield();
  abort();
}
extern "C" void sim_trap(u32 site, const char* what) {
  report(Kind::trap, site, "%s", what);
  stop();
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
    report(Kind::out_of_bounds, 0, "access to %p, which is not memory at all", crash_address);
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

extern "C" u32 sim_launch(const Launch* wanted, Finding* out, u32 limit) {
  launch = *wanted;
  findings.clear();
  known.clear();
  failed = false;
  current = nullptr;
  sim_watching = launch.checks || statistics_on || trace_on;
  for (int i = 0; i < 3; i++) {
    sim_grid.ntid[i] = launch.block[i];
    sim_grid.nctaid[i] = launch.grid[i];
    sim_grid.cluster_nctaid[i] = std::max(1u, launch.cluster[i]);
    sim_grid.nclusterid[i] = launch.grid[i] / sim_grid.cluster_nctaid[i];
  }
  sim_grid.cluster_nctarank = sim_grid.cluster_nctaid[0] * sim_grid.cluster_nctaid[1] * sim_grid.cluster_nctaid[2];
  sim_grid.is_cluster = launch.cluster[0] != 0;
  sim_grid.static_shared = launch.static_shared;
  sim_grid.dynamic_shared = launch.dynamic_shared;
  schedule_begin();
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
