// Barriers, and what the lanes of a warp do together: shuffles, votes, matches, reductions.
#include "state.h"

struct Barrier {  // of threads of a block
  u32 arrived;  // threads that arrived without waiting, and what they had done
  Clock clock;
};
struct BlockCollectives {  // of a block
  u32 waiting[WARPS], gone[WARPS];  // lanes that wait in an operation of their warp; that have exited or never were
  u32 held[WARPS], pool;            // registers of a thread; what warps gave up
  Barrier barriers[16];
};
static std::vector<BlockCollectives*> slots;
static BlockCollectives* mine = new BlockCollectives();

// ---- warp operations: each lane leaves what it brings; the last one to arrive does the work of all -----------------
// Do the operation that `t` waits in, if nobody is missing. False: some lane has yet to come.
static bool complete(Thread& t) {
  const u32 mask = t.op->mask, base = t.warp * 32, left = mask & mine->gone[t.warp];
  if (mask & ~(mine->waiting[t.warp] | left)) return false;
  WarpOp* ops[32] = {};
  for (u32 rest = mask & ~left; rest; rest &= rest - 1) {
    u32 lane = __builtin_ctz(rest);
    WarpOp* op = ops[lane] = threads[base + lane].op;
    if (op->mask != mask) return false;  // it waits in another operation
    if (op->run == t.op->run && op->site == t.op->site) continue;
    current = &t;
    report(Kind::divergent, t.op->site,
           "lanes of a warp meet in different operations: lane %u is here, lane %u at {%u} (mask %08x)", t.lane, lane,
           op->site, mask);
    failed = true;
    return true;
  }
  Thread* caller = current;
  current = &t;
  if (left) {
    report(Kind::divergent, t.op->site,
           "the mask %08x of a warp operation names lanes %08x, which have exited or do not exist", mask, left);
    failed = true;
    return true;
  }
  t.op->run(ops, mask);
  for (u32 rest = mask; rest; rest &= rest - 1) threads[base + __builtin_ctz(rest)].state = State::ready;
  mine->waiting[t.warp] &= ~mask;
  current = caller;
  return true;
}
void lane_exited(const Thread& t) {
  mine->gone[t.warp] |= 1u << t.lane;
  for (u32 rest = mine->waiting[t.warp]; rest && !failed; rest &= rest - 1) {
    Thread& other = threads[t.warp * 32 + __builtin_ctz(rest)];
    if (other.state == State::warp) complete(other);
  }
}
void warp_op(WarpOp& op) {
  if (!(op.mask >> current->lane & 1)) {
    report(Kind::divergent, op.site, "lane %u is not in the mask %08x of the operation it calls", current->lane,
           op.mask);
    stop();
  }
  current->op = &op;
  current->state = State::warp;
  mine->waiting[current->warp] |= 1u << current->lane;
  if (!complete(*current) || failed) yield();
}
static void whole_warp(WarpOp** lanes, u32 mask, const char* what) {
  if (mask == FULL) return;
  u32 site = 0;
  for (u32 i = 0; i < 32; i++)
    if (lanes[i]) site = lanes[i]->site;
  report(Kind::divergent, site, "%s needs all 32 lanes of the warp, has %08x", what, mask);
  failed = true;
}
bool is_whole_warp(WarpOp** lanes, u32 mask, const char* what) {
  whole_warp(lanes, mask, what);
  return !failed;
}

static u64& in(WarpOp* op) { return *(u64*)op->in; }
static u64& out(WarpOp* op) { return *(u64*)op->out; }

// The source lane, as the PTX ISA defines it ("shfl.sync").
static void run_shuffle(WarpOp** lanes, u32 mask) {
  for (u32 lane = 0; lane < 32; lane++)
    if (mask >> lane & 1) {
      WarpOp* op = lanes[lane];
      u32 b = op->argument & 31, c = op->argument2 & 31, segment = op->argument2 >> 8 & 31;
      u32 lowest = lane & segment, highest = lowest | (c & ~segment & 31), source = lane;
      s32 wanted = 0;
      switch (op->kind) {
        case SIM_UP:
          wanted = (s32)lane - (s32)b;
          op->flag = wanted >= (s32)highest;
          break;
        case SIM_DOWN:
          wanted = lane + b;
          op->flag = wanted <= (s32)highest;
          break;
        case SIM_BFLY:
          wanted = lane ^ b;
          op->flag = wanted <= (s32)highest;
          break;
        default: wanted = lowest | (b & ~segment & 31); op->flag = wanted <= (s32)highest;
      }
      if (op->flag) source = wanted;
      if (!(mask >> source & 1)) {
        if (first_time(op->site, "shuffle"))
          report(Kind::divergent, op->site, "lane %u reads lane %u in a shuffle, which is not in its mask %08x", lane,
                 source, mask);
        out(op) = ~0ull;
      } else
        out(op) = in(lanes[source]);
    }
}
static void run_vote(WarpOp** lanes, u32 mask) {
  u32 ballot = 0, first = __builtin_ctz(mask);
  u64 sum = 0, all = ~0ull, any = 0, parity = 0;
  s32 low = INT32_MAX, high = INT32_MIN;
  u32 ulow = FULL, uhigh = 0;
  bool equal = true;
  for (u32 i = 0; i < 32; i++)
    if (mask >> i & 1) {
      u64 v = in(lanes[i]);
      if (v) ballot |= 1u << i;
      equal &= v == in(lanes[first]);
      sum += v;
      all &= v;
      any |= v;
      parity ^= v;
      low = std::min(low, (s32)v);
      high = std::max(high, (s32)v);
      ulow = std::min(ulow, (u32)v);
      uhigh = std::max(uhigh, (u32)v);
    }
  for (u32 i = 0; i < 32; i++)
    if (mask >> i & 1) {
      u64 result = 0;
      switch (lanes[i]->kind) {
        case SIM_BALLOT: result = ballot; break;
        case SIM_ALL: result = ballot == mask; break;
        case SIM_ANY: result = ballot != 0; break;
        case SIM_UNI: result = ballot == mask || !ballot; break;
        case SIM_MATCH_ANY:
          for (u32 j = 0; j < 32; j++)
            if (mask >> j & 1 && in(lanes[j]) == in(lanes[i])) result |= 1u << j;
          break;
        case SIM_MATCH_ALL:
          result = equal ? mask : 0;
          lanes[i]->flag = equal;
          break;
        case SIM_ELECT:
          result = first;
          lanes[i]->flag = i == first;
          break;
        case SIM_ADD: result = (u32)sum; break;
        case SIM_MIN_S: result = (u32)low; break;
        case SIM_MAX_S: result = (u32)high; break;
        case SIM_MIN_U: result = ulow; break;
        case SIM_MAX_U: result = uhigh; break;
        case SIM_AND: result = (u32)all; break;
        case SIM_OR: result = (u32)any; break;
        case SIM_XOR: result = (u32)parity; break;
      }
      out(lanes[i]) = result;
    }
}
static void run_warp_barrier(WarpOp**, u32) { order_warp(current->warp); }
static WarpOp make_op(void (*run)(WarpOp**, u32), u32 kind, u32 mask, u32 site) {
  WarpOp op;
  op.run = run;
  op.kind = kind;
  op.mask = mask;
  op.site = site;
  op.flag = false;
  return op;
}
extern "C" u32 sim_shuffle(u32 kind, u32 value, u32 lane, u32 clamp, u32 mask, bool* valid, u32 site) {
  WarpOp op = make_op(run_shuffle, kind, mask, site);
  op.argument = lane;
  op.argument2 = clamp;
  in(&op) = value;
  warp_op(op);
  *valid = op.flag;
  return (u32)out(&op);
}
extern "C" u64 sim_vote(u32 kind, u64 value, u32 mask, bool* flag, u32 site) {
  WarpOp op = make_op(run_vote, kind, mask, site);
  in(&op) = value;
  warp_op(op);
  *flag = op.flag;
  return out(&op);
}
extern "C" void sim_warp_barrier(u32 mask, u32 site) {
  WarpOp op = make_op(run_warp_barrier, 0, mask, site);
  warp_op(op);
}
// Which lanes run together is the hardware's choice; here: those that reach the same instruction before they must wait,
// all of them if they are all that are left of the warp.
extern "C" u32 sim_active_mask(u32 site) {
  current->site = site;
  current->state = State::converge;
  yield();
  return current->converged;
}
// Lanes that have parted need not meet again: of those that took one branch, only some are told to run together.
static u32 some_of(u32 mask) {
  u32 wanted = (__builtin_popcount(mask) + 1) / 2, some = 0;
  for (u32 rest = mask; wanted; wanted--, rest &= ~some) some |= rest & -rest;
  return launch.order == DESCENDING ? mask & ~some : some;
}
bool release_converged(u32 warp) {
  u32 mask = 0, site = 0, base = warp * 32, end = std::min(base + 32, thread_count), live = 0;
  for (u32 i = base; i < end; i++) {
    if (threads[i].state != State::done) live |= 1u << threads[i].lane;
    if (threads[i].state != State::converge || (mask && threads[i].site != site)) continue;
    site = threads[i].site;
    mask |= 1u << threads[i].lane;
  }
  if (mask != live && (mask & (mask - 1))) mask = some_of(mask);
  for (u32 rest = mask; rest; rest &= rest - 1) {
    Thread& t = threads[base + __builtin_ctz(rest)];
    t.converged = mask;
    t.state = State::ready;
  }
  return mask;
}

// ---- setmaxnreg: registers that a warp gives up go to a pool of the block, from which others take more ------------------
static void run_set_registers(WarpOp** lanes, u32 mask) {
  if (!is_whole_warp(lanes, mask, "setmaxnreg")) return;
  u32 wanted = lanes[0]->argument, warp = current->warp, have = mine->held[warp];
  bool grows = lanes[0]->kind, done = !grows || wanted - have <= mine->pool;
  if (wanted % 8 || wanted < 24 || wanted > 256 || (grows ? wanted < have : wanted > have)) {
    report(Kind::trap, lanes[0]->site, "setmaxnreg.%s to %u registers from %u: it takes 24, 32 ... 256, and %s",
           grows ? "inc" : "dec", wanted, have, grows ? "none that are fewer" : "none that are more");
    failed = true;
    return;
  }
  for (u32 i = 0; i < 32; i++) lanes[i]->flag = done;
  if (!done) return;
  mine->pool += have - wanted;
  mine->held[warp] = wanted;
  progress++;
}
extern "C" void sim_set_registers(u32 number, bool grows, u32 site) {
  for (;;) {
    WarpOp op = make_op(run_set_registers, grows, FULL, site);
    op.argument = number;
    warp_op(op);
    if (op.flag) return;
    current->site = site;
    current->op = nullptr;
    current->barrier_threads = number;
    current->state = State::registers;
    yield();
  }
}
void wake_register_waiters() {
  if (!launch.registers) return;
  for (u32 i = 0; i < thread_count; i++) {
    Thread& t = threads[i];
    if (t.state == State::registers && t.barrier_threads - mine->held[t.warp] <= mine->pool) t.state = State::ready;
  }
}

// ---- barriers of the block: number 0 is __syncthreads(), 1 to 15 may be for fewer threads --------------------------
void collectives_exchange(u32 slot) { std::swap(in_slot(slots, slot), mine); }
void collectives_begin_block() {
  for (Barrier& b : mine->barriers) b = Barrier();
  memset(mine->waiting, 0, sizeof mine->waiting);
  memset(mine->gone, 0, sizeof mine->gone);
  std::fill_n(mine->held, WARPS, launch.registers);
  mine->pool = 0;
  if (thread_count % 32) mine->gone[thread_count / 32] = FULL << thread_count % 32;
}

static void wait_in_barrier(u32 id, u32 count, u32 operation, u32 predicate, u32 site) {
  if (id > 15) {
    report(Kind::unsupported, site, "barrier %u: there are 16", id);
    stop();
  }
  if (count % 32) {
    report(Kind::divergent, site, "a barrier for %u threads: not a multiple of 32", count);
    stop();
  }
  Thread& t = *current;
  t.barrier_id = id;
  t.barrier_threads = count;
  t.site = site;
  t.barrier_operation = operation;
  t.barrier_predicate = predicate;
  t.state = State::barrier;
  if (trace_on) trace_event("barrier", nullptr, 0, 0, 0, site);
  yield();
}
extern "C" void sim_barrier(u32 id, u32 count, u32 site) { wait_in_barrier(id, count, 0, 0, site); }
extern "C" u32 sim_barrier_reduce(u32 id, u32 count, u32 operation, u32 predicate, u32 site) {
  wait_in_barrier(id, count, operation, predicate, site);
  return current->barrier_result;
}
extern "C" void sim_barrier_arrive(u32 id, u32, u32 site) {
  if (id > 15) {
    report(Kind::unsupported, site, "barrier %u: there are 16", id);
    stop();
  }
  mine->barriers[id].arrived++;
  order_release(mine->barriers[id].clock);
}
static bool release_barrier(u32 id, u32 done) {
  std::vector<Thread*> waiting;
  for (u32 i = 0; i < thread_count; i++)
    if (threads[i].state == State::barrier && threads[i].barrier_id == id) waiting.push_back(&threads[i]);
  if (waiting.empty()) return false;
  Thread& first = *waiting[0];
  u32 count = waiting.size(), needed = first.barrier_threads ? first.barrier_threads : thread_count;
  current = &first;
  if (count + mine->barriers[id].arrived < needed) {
    if (first.barrier_threads || !done || count + done < thread_count) return false;
    report(Kind::divergent, first.site, "%u threads wait in this barrier, %u have exited without it", count, done);
    failed = true;
    return false;
  }
  u32 all = 1, any = 0, number = 0, warps = 0;
  for (Thread* t : waiting) {
    if (t->site != first.site && !first.barrier_threads) {
      report(Kind::divergent, first.site, "threads of a block meet in different barriers: %s here, %s at {%u}",
             name_of(first.id()).c_str(), name_of(t->id()).c_str(), t->site);
      failed = true;
      return false;
    }
    bool p = t->barrier_predicate;
    all &= p;
    any |= p;
    number += p;
    warps |= 1u << t->warp;
  }
  for (Thread* t : waiting) {
    t->barrier_result = t->barrier_operation == 1 ? all : t->barrier_operation == 2 ? any : number;
    t->state = State::ready;
  }
  if (count == thread_count)
    order_barrier();
  else
    order_group(warps, &mine->barriers[id].clock);
  mine->barriers[id] = Barrier();
  progress++;
  return true;
}
bool release_barriers(u32 done) {
  bool released = false;
  for (u32 id = 0; id < 16 && !failed; id++) released |= release_barrier(id, done);
  return released;
}

// ---- barriers of a cluster: arrive and wait are two steps --------------------------------------------------------------
static void end_cluster_phase() {
  Cluster& c = *cluster;
  if (c.arrived + c.exited < c.threads) return;
  c.phase++;
  c.arrived = 0;
  c.released = c.releasing;
  c.releasing = Clock();
  c.was_relaxed = c.relaxed;
  c.relaxed = false;
}
extern "C" void sim_cluster_arrive(bool release, u32 site) {
  Thread& t = *current;
  if (t.cluster_arrived) {
    report(Kind::divergent, site, "a thread arrives at the barrier of its cluster twice, without waiting in between");
    stop();
  }
  if (trace_on) trace_event("barrier", nullptr, 0, 0, 0, site);
  t.cluster_arrived = true;
  t.cluster_phase = cluster->phase;
  cluster->arrived++;
  if (release) order_release(cluster->releasing);
  cluster->relaxed |= !release;
  cluster->inits[my_rank] = std::max(cluster->inits[my_rank], t.mbarrier_fence);
  progress++;
  end_cluster_phase();
}
extern "C" void sim_cluster_wait(u32 site) {
  Thread& t = *current;
  if (!t.cluster_arrived) {
    report(Kind::divergent, site, "a thread waits in the barrier of its cluster without having arrived");
    stop();
  }
  t.site = site;
  t.state = State::cluster;
  yield();
  t.cluster_arrived = false;
  order_cluster(cluster->released);
  memory_inits_seen();
}
// All that a block waits for in it go on at a time; if these are all its threads, it is a barrier of the block too.
bool release_cluster_barrier(u32 done) {
  u32 waiting = 0;
  for (u32 i = 0; i < thread_count; i++)
    if (threads[i].state == State::cluster && threads[i].cluster_phase != cluster->phase) {
      threads[i].state = State::ready;
      waiting++;
    }
  if (waiting && waiting + done == thread_count && !cluster->was_relaxed) order_barrier();
  return waiting;
}
void cluster_end_thread() {
  cluster->exited++;
  if (current->cluster_arrived && current->cluster_phase == cluster->phase) cluster->arrived--;
  progress++;
  end_cluster_phase();
}
