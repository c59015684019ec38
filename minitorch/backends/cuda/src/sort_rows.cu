// Rows in order, stably, with the places in the row that their elements came from.
//
// Elements are given as unsigned numbers T of their size, whatever they are (KIND 0: unsigned, 1: signed, 2: floats,
// whose infinity is INFINITE), and compared by keys: unsigned numbers in the same order, in which NaN is the largest and
// -0 equals 0. In descending order these are their complements, so that equal elements keep their order, too.
//
//   LANES given    rows of up to LANES elements: each lane counts the elements in front of its own
//   ROUNDS given   a block sorts a row of up to 256 * ROUNDS elements in shared memory, by 8 bits at a time
//   SELECT given   a block finds up to SELECT elements that come first in a row of any length: how often each digit
//                  occurs says what the last of them begins with, and only these are sorted; ROUNDS is 1
//   neither        what the sort of long rows by sort.cu needs besides
#ifdef ROUNDS
#include "digits.cuh"
#else
#include "common.cuh"
#endif

template <int Size> struct word { typedef u32 type; };
template <> struct word<8> { typedef u64 type; };
typedef word<sizeof(T)>::type Key;
enum { WIDTH = 8 * sizeof(T) };

__device__ __forceinline__ Key key_of(T element, bool descending) {
    constexpr Key SIGN = Key(1) << (WIDTH - 1), ALL = SIGN | (SIGN - 1);
    Key key = element;
#if KIND == 1
    key ^= SIGN;
#elif KIND == 2
    Key size = key & ~SIGN;
    if (size > Key(INFINITE)) key = ALL;                   // NaN
    else if (!size) key = SIGN;                            // 0 and -0
    else key = key & SIGN ? ~key & ALL : key | SIGN;
#endif
    return descending ? ~key & ALL : key;
}

#if defined(LANES)
enum { BLOCK = 256 };

extern "C" __global__ void __launch_bounds__(BLOCK)
sort_short_rows(T* __restrict__ values, i64* __restrict__ places, const T* __restrict__ input, i64 rows, int columns,
                bool descending) {
    int column = threadIdx.x % LANES;
    i64 row = blockIdx.x * (i64)(BLOCK / LANES) + threadIdx.x / LANES;
    bool inside = row < rows && column < columns;
    T element = inside ? input[row * columns + column] : 0;
    Key key = key_of(element, descending);
    int rank = 0;
#pragma unroll
    for (int step = 1; step < LANES; step++) {
        Key other = __shfl_xor_sync(ALL_LANES, key, step);
        int its = column ^ step;
        if (its < columns) rank += other < key || (other == key && its < column);
    }
    if (!inside) return;
    values[row * columns + rank] = element;
    places[row * columns + rank] = column;
}

#elif defined(SELECT)
enum { ITEMS = 4 };                                        // neighbours that a thread looks at when it collects

extern "C" __global__ void __launch_bounds__(BLOCK)
select_rows(T* __restrict__ values, i64* __restrict__ places, const T* __restrict__ input, i64 columns, int k,
            bool descending) {
    __shared__ u32 occurs[DIGITS], digit_found, before_found;
    __shared__ u64 in_chunk;
    __shared__ Key key_at[SELECT];
    __shared__ u32 place_at[SELECT];
    const T* row = input + blockIdx.x * columns;
    Key last = 0;                                          // the key of the k-th element, and how many of its equals
    u32 wanted = k;                                        // are wanted
    for (int pass = WIDTH / BITS - 1; pass >= 0; pass--) {
        occurs[threadIdx.x] = 0;
        __syncthreads();
        for (i64 i = threadIdx.x; i < columns; i += BLOCK) {
            Key key = key_of(row[i], descending);
            bool begins_so = pass == WIDTH / BITS - 1 || !((key ^ last) >> (pass + 1) * BITS);
            if (begins_so) atomicAdd(&occurs[digit_of(key, pass)], 1u);
        }
        __syncthreads();
        u32 own = occurs[threadIdx.x], before = u32(sum_before(own));
        if (before < wanted && wanted <= before + own) {
            digit_found = threadIdx.x;
            before_found = before;
        }
        __syncthreads();
        last |= Key(digit_found) << pass * BITS;
        wanted -= before_found;
    }
    u32 less = 0, equal = 0;                               // found so far, in the order of their places
    for (i64 start = 0; start < columns && less + min(equal, wanted) < k; start += BLOCK * ITEMS) {
        i64 begin = start + threadIdx.x * ITEMS;
        Key key[ITEMS];
        u64 own = 0;                                       // less in the upper half, equal ones in the lower
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            bool inside = begin + i < columns;
            key[i] = inside ? key_of(row[begin + i], descending) : 0;
            own += inside && key[i] < last ? u64(1) << 32 : inside && key[i] == last ? 1 : 0;
        }
        if (!__syncthreads_or(own != 0)) continue;
        u64 before = sum_before(own);
        if (threadIdx.x == BLOCK - 1) in_chunk = before + own;
        u32 lower = less + u32(before >> 32), same = equal + u32(before);
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            if (begin + i >= columns || key[i] > last) continue;
            if (key[i] < last || same < wanted) {
                key_at[lower + min(same, wanted)] = key[i];
                place_at[lower + min(same, wanted)] = u32(begin + i);
            }
            if (key[i] < last) lower++;
            else same++;
        }
        __syncthreads();
        less += u32(in_chunk >> 32);
        equal += u32(in_chunk);
    }
    for (int i = threadIdx.x; i < k; i += BLOCK) {
        int rank = 0;
        for (int j = 0; j < k; j++) rank += key_at[j] < key_at[i] || (key_at[j] == key_at[i] && j < i);
        values[blockIdx.x * (i64)k + rank] = row[place_at[i]];
        places[blockIdx.x * (i64)k + rank] = place_at[i];
    }
}

#elif defined(ROUNDS)
extern "C" __global__ void __launch_bounds__(BLOCK)
sort_rows(T* __restrict__ values, i64* __restrict__ places, const T* __restrict__ input, int columns, bool descending) {
    __shared__ u32 next[WARPS][DIGITS];
    __shared__ Key key_at[TILE];
    __shared__ unsigned short place_at[TILE];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, run = warp * (WARP * ROUNDS) + lane;
    i64 start = blockIdx.x * (i64)columns;
    Key key[ROUNDS];
    u32 place[ROUNDS], rank[ROUNDS];
#pragma unroll
    for (int round = 0; round < ROUNDS; round++) {
        place[round] = run + round * WARP;
        key[round] = place[round] < columns ? key_of(input[start + place[round]], descending) : 0;
    }
    for (int pass = 0; pass < WIDTH / BITS; pass++) {
        if (pass) {
#pragma unroll
            for (int round = 0; round < ROUNDS; round++) {
                key[round] = run + round * WARP < columns ? key_at[run + round * WARP] : 0;
                place[round] = run + round * WARP < columns ? place_at[run + round * WARP] : 0;
            }
        }
        rank_in_run(rank, key, next[warp], pass, columns - (run - lane));
        __syncthreads();
        place_runs(next, u32(sum_before(occurrences(next))));
        __syncthreads();
#pragma unroll
        for (int round = 0; round < ROUNDS; round++) {
            if (run + round * WARP >= columns) continue;
            u32 at = next[warp][digit_of(key[round], pass)] + rank[round];
            key_at[at] = key[round];
            place_at[at] = place[round];
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < columns; i += BLOCK) {
        values[start + i] = input[start + place_at[i]];
        places[start + i] = place_at[i];
    }
}

#else
enum { BLOCK = 256 };

// The lower (word 0) or upper 32 bits of the keys of the elements at `places`; without these, of all in order.
extern "C" __global__ void __launch_bounds__(BLOCK)
load_keys(u32* __restrict__ keys, const T* __restrict__ input, const u32* __restrict__ places, i64 n, int word,
          bool descending) {
    i64 i = blockIdx.x * (i64)BLOCK + threadIdx.x;
    if (i < n) keys[i] = u32(u64(key_of(input[places ? places[i] : i], descending)) >> 32 * word);
}

// The numbers of the rows that places are in.
extern "C" __global__ void __launch_bounds__(BLOCK)
number_rows(u32* __restrict__ keys, const u32* __restrict__ places, i64 n, u32 columns) {
    i64 i = blockIdx.x * (i64)BLOCK + threadIdx.x;
    if (i < n) keys[i] = places[i] / columns;
}

// The elements at `found`, places of all rows one behind the other, and these places in their rows.
extern "C" __global__ void __launch_bounds__(BLOCK)
take_sorted(T* __restrict__ values, i64* __restrict__ places, const T* __restrict__ input, const u32* __restrict__ found,
            i64 n, u32 columns) {
    i64 i = blockIdx.x * (i64)BLOCK + threadIdx.x;
    if (i >= n) return;
    values[i] = input[found[i]];
    places[i] = found[i] % columns;
}
#endif
