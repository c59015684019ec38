// Tensor-core instructions of a warp: mma.sync, ldmatrix, stmatrix. Fragment layouts as in the PTX ISA.
#include "state.h"
#include "arithmetic.h"

void warp_op(WarpOp& op);
bool is_whole_warp(WarpOp** lanes, u32 mask, const char* what);

// Element `index` of the elements packed in 32-bit registers, as a float (or an exact small integer).
f32 unpack(u32 element, u32 word, u32 index) {
  switch (element) {
    case SIM_F16: return (f32)bits_as<f16>((u16)(word >> 16 * index));
    case SIM_BF16: return (f32)bits_as<bf16>((u16)(word >> 16 * index));
    case SIM_TF32: return bits_as<f32>(word & 0xffffe000u);
    case SIM_S8: return (s8)(word >> 8 * index);
    default: return (u8)(word >> 8 * index);
  }
}
u32 elements_per_word(u32 element) { return element == SIM_TF32 ? 1 : element <= SIM_BF16 ? 2 : 4; }

// D = A B + C with A 16 x k, B k x 8. Lane = 4 g + t. With P elements to a register, register r of A holds row
// g + 8 (r & 1), columns P t ... and 4 P further for r >= 2; register r of B holds column g, rows P t + 4 P r ...;
// C and D: element j is row g + 8 (j >> 1), column 2 t + (j & 1).
static void run_mma(WarpOp** lanes, u32 mask) {
  if (!is_whole_warp(lanes, mask, "mma")) return;
  u32 element = lanes[0]->kind, k_size = lanes[0]->argument, per = elements_per_word(element);
  bool half_result = lanes[0]->argument2, integer = element >= SIM_S8;
  f32 a[16][32], b[32][8];
  for (u32 lane = 0; lane < 32; lane++) {
    const u32* words = (const u32*)lanes[lane]->in;  // four of A, two of B, four of C
    u32 g = lane >> 2, t = lane & 3;
    for (u32 r = 0; r < k_size / (2 * per); r++)
      for (u32 h = 0; h < per; h++) a[g + 8 * (r & 1)][per * t + h + 4 * per * (r >> 1)] = unpack(element, words[r], h);
    for (u32 r = 0; r < k_size / (4 * per); r++)
      for (u32 h = 0; h < per; h++) b[per * t + h + 4 * per * r][g] = unpack(element, words[4 + r], h);
  }
  f32 sums[16][8] = {};
  for (u32 lane = 0; lane < 32 && !integer; lane++) {
    const u32* c = (const u32*)lanes[lane]->in + 6;
    for (u32 j = 0; j < 4; j++)
      sums[(lane >> 2) + 8 * (j >> 1)][2 * (lane & 3) + (j & 1)] =
          half_result ? unpack(SIM_F16, c[j >> 1], j & 1) : bits_as<f32>(c[j]);
  }
  for (u32 k = 0; k < k_size && !integer; k++)  // all columns at a time: the compiler's vectors
    for (u32 row = 0; row < 16; row++)
      for (u32 column = 0; column < 8; column++) sums[row][column] += a[row][k] * b[k][column];
  for (u32 lane = 0; lane < 32; lane++) {
    const u32* c = (const u32*)lanes[lane]->in + 6;
    u32* d = (u32*)lanes[lane]->out;
    for (u32 j = 0; j < 4; j++) {
      u32 row = (lane >> 2) + 8 * (j >> 1), column = 2 * (lane & 3) + (j & 1);
      if (integer) {
        s32 sum = (s32)c[j];
        for (u32 k = 0; k < k_size; k++) sum += (s32)a[row][k] * (s32)b[k][column];
        d[j] = (u32)sum;
        continue;
      }
      f32 sum = sums[row][column];
      if (!half_result)
        d[j] = bits_as<u32>(sum);
      else
        ((u16*)d)[j] = bits_as<u16>(f16(sum));
    }
  }
}
extern "C" void sim_mma(u32 element, u32 k, bool half_result, const u32* a, const u32* b, const u32* c, u32* d,
                        u32 site) {
  WarpOp op{};
  op.run = run_mma;
  op.kind = element;
  op.argument = k;
  op.argument2 = half_result;
  op.mask = FULL;
  op.site = site;
  memcpy(op.in, a, 16);
  memcpy(op.in + 16, b, 8);
  memcpy(op.in + 24, c, half_result ? 8 : 16);
  warp_op(op);
  memcpy(d, op.out, half_result ? 8 : 16);
}

// ldmatrix: lanes 8 m ... 8 m + 7 give the addresses of the rows of 8x8 matrix m; each lane gets two elements of each.
static void run_ldmatrix(WarpOp** lanes, u32 mask) {
  if (!is_whole_warp(lanes, mask, "ldmatrix")) return;
  bool transposed = lanes[0]->argument;
  for (u32 m = 0; m < lanes[0]->kind; m++)
    for (u32 lane = 0; lane < 32; lane++)
      for (u32 h = 0; h < 2; h++) {
        u32 row = lane >> 2, column = 2 * (lane & 3) + h;
        if (transposed) std::swap(row, column);
        memcpy(lanes[lane]->out + 4 * m + 2 * h, (const char*)lanes[m * 8 + row]->address + 2 * column, 2);
      }
}
static void run_stmatrix(WarpOp** lanes, u32 mask) {
  if (!is_whole_warp(lanes, mask, "stmatrix")) return;
  bool transposed = lanes[0]->argument;
  for (u32 m = 0; m < lanes[0]->kind; m++)
    for (u32 lane = 0; lane < 32; lane++)
      for (u32 h = 0; h < 2; h++) {
        u32 row = lane >> 2, column = 2 * (lane & 3) + h;
        if (transposed) std::swap(row, column);
        memcpy((char*)lanes[m * 8 + row]->address + 2 * column, lanes[lane]->in + 4 * m + 2 * h, 2);
      }
}
static void run_movmatrix(WarpOp** lanes, u32 mask) {
  if (!is_whole_warp(lanes, mask, "movmatrix")) return;
  for (u32 lane = 0; lane < 32; lane++)
    for (u32 h = 0; h < 2; h++) {
      u32 row = 2 * (lane & 3) + h, column = lane >> 2;
      memcpy(lanes[lane]->out + 2 * h, lanes[4 * row + column / 2]->in + 2 * (column & 1), 2);
    }
}
static WarpOp matrix_op(void (*run)(WarpOp**, u32), u32 count, bool transposed, u32 site) {
  WarpOp op{};
  op.run = run;
  op.kind = count;
  op.argument = transposed;
  op.mask = FULL;
  op.site = site;
  return op;
}
extern "C" void sim_ldmatrix(u32* out, const void* row, u32 count, bool transposed, u32 site) {
  WarpOp op = matrix_op(run_ldmatrix, count, transposed, site);
  op.address = row;
  if (sim_watching && current->lane < 8 * count) sim_access(row, 16, SIM_LOAD, nullptr, site);
  warp_op(op);
  memcpy(out, op.out, 4 * count);
}
extern "C" void sim_stmatrix(const u32* in, void* row, u32 count, bool transposed, u32 site) {
  WarpOp op = matrix_op(run_stmatrix, count, transposed, site);
  op.address = row;
  memcpy(op.in, in, 4 * count);
  if (sim_watching && current->lane < 8 * count) sim_access(row, 16, SIM_STORE, nullptr, site);
  warp_op(op);
}
extern "C" u32 sim_movmatrix(u32 in, u32 site) {
  WarpOp op = matrix_op(run_movmatrix, 1, true, site);
  memcpy(op.in, &in, 4);
  warp_op(op);
  u32 out;
  memcpy(&out, op.out, 4);
  return out;
}
