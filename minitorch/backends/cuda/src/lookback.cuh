// Words by which blocks tell those behind them what they have found: a value and how far it counts, in 8 bytes that are
// read and written at once, so that no fence is needed.
//
// A block takes its number by a ticket when it begins, and waits for words of lower numbers only: their blocks have begun,
// so that they will be written whatever the order in which blocks are started.
#pragma once
#include "common.cuh"

// The number of this block among those that have begun; for all threads, after a barrier. `tickets` is 0 at first.
__device__ __forceinline__ u32 take_ticket(u64* tickets, u32& shared) {
  if (threadIdx.x == 0) shared = u32(atomicAdd(tickets, 1));
  __syncthreads();
  return shared;
}

enum Reach { NOTHING, OF_BLOCK, UP_TO_BLOCK };             // the upper half of a word; NOTHING has been written

__device__ __forceinline__ void tell(u64* word, Reach reach, u32 value) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" :: "l"(word), "l"(u64(reach) << 32 | value) : "memory");
}

// Waits for the word.
__device__ __forceinline__ Reach ask(const u64* word, u32& value) {
  u64 found;
  do asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(found) : "l"(word) : "memory");
  while (!(found >> 32));
  value = u32(found);
  return Reach(found >> 32);
}
