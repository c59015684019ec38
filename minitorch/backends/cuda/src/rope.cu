// Rotary positions: each pair (x, y) of elements turned by the angle of its place and column.
//
// A thread turns VECTOR pairs: two packs of the input, one of each table. INTERLEAVED, pairs are neighbours and the
// second pack follows the first; otherwise it lies `half` elements behind it. The layout counts packs of the tables in
// (..., T, D / 2 / VECTOR), and gives the places of the first packs of out and input, and of those of cos and sin.
#include "rows.cuh"

enum { BLOCK = 256 };

extern "C" __global__ void __launch_bounds__(BLOCK)
turn_pairs(T* __restrict__ out, const T* __restrict__ input, const T* __restrict__ cos, const T* __restrict__ sin,
           i64 half, Layout layout) {
    u32 index = blockIdx.x * BLOCK + threadIdx.x;
    if (index >= layout.size) return;
    i64 place[4];
    locate(layout, index, place);
    i64 second = INTERLEAVED ? VECTOR : half;
    Wide e[2][VECTOR], c[VECTOR], s[VECTOR];
    load_pack(e[0], input + place[1]);
    load_pack(e[1], input + place[1] + second);
    load_pack(c, cos + place[2]);
    load_pack(s, sin + place[3]);
#pragma unroll
    for (int v = 0; v < VECTOR; v++) {
        Wide& x = INTERLEAVED ? e[2 * v / VECTOR][2 * v % VECTOR] : e[0][v];
        Wide& y = INTERLEAVED ? e[(2 * v + 1) / VECTOR][(2 * v + 1) % VECTOR] : e[1][v];
        Wide turned = x * c[v] - y * s[v];
        y = x * s[v] + y * c[v];
        x = turned;
    }
    store_pack(out + place[0], e[0]);
    store_pack(out + place[0] + second, e[1]);
}
