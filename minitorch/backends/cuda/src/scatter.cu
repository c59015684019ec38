// Reading and writing by index: rows taken, elements gathered, sums scattered.
//
// Sums are made without atomics. The indices are sorted (sort.cu), equal ones then form runs, and each run is added up
// in the order in which its members stand in memory. So that a long run keeps more than one thread busy, the sorted
// sequence is cut into chunks: a run inside one chunk is finished there, of one that reaches over its ends each chunk
// makes a partial sum, and where the run begins these are joined.
//
// T is the dtype of the values, U that of the indices. An index outside its dimension is written to nothing and reads
// NaN (0 for integers).
#include "packs.cuh"

enum { BLOCK = 256, CHUNK = 32 };
typedef compute<T> Wide;

__device__ __forceinline__ T missing() {
    if constexpr (is_floating<T>::value) return narrow<T>(Wide(__int_as_float(0x7fffffff)));
    else return T(0);
}

#ifdef TYPE_U
// An index counted from the front; negative ones stand, `from_end`, for places counted from the end.
__device__ __forceinline__ i64 from_front(i64 at, i64 size, bool from_end) {
    return from_end && at < 0 ? at + size : at;
}

// ---- reading -----------------------------------------------------------------------------------------------
// Slices: (outer, size, inner) to (outer, n, inner). One thread moves VECTOR neighbours of `inner`, which are `packs`.
extern "C" __global__ void __launch_bounds__(BLOCK)
take_slices(T* __restrict__ out, const T* __restrict__ input, const U* __restrict__ index, i64 size, i64 n, u32 packs,
            i64 total, bool from_end) {
    i64 i = blockIdx.x * (i64)BLOCK + threadIdx.x;
    if (i >= total) return;
    i64 row = i / packs, rest = i - row * packs, outer = row / n;
    i64 at = from_front(index[row - outer * n], size, from_end);
    Vector<T, VECTOR> pack;
    if (at >= 0 && at < size) {
        pack = load_vector<T, VECTOR>(input + ((outer * size + at) * packs + rest) * VECTOR);
    } else {
#pragma unroll
        for (int v = 0; v < VECTOR; v++) pack.at[v] = missing();
    }
    store_vector(out + i * VECTOR, pack);
}

// Elements: `layout` says where the element with index 0 is that an element of `index` names; `step` how far the others
// are from there.
extern "C" __global__ void __launch_bounds__(BLOCK)
gather(T* __restrict__ out, const T* __restrict__ input, const U* __restrict__ index,
       const __grid_constant__ Layout layout, i64 size, i64 step, bool from_end) {
    u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= layout.size) return;
    i64 place[1], at = from_front(index[i], size, from_end);
    locate(layout, i, place);
    out[i] = at >= 0 && at < size ? input[place[0] + at * step] : missing();
}

// Elements to the same places; no place is named twice.
extern "C" __global__ void __launch_bounds__(BLOCK)
put_elements(T* __restrict__ out, const T* __restrict__ input, const U* __restrict__ index,
             const __grid_constant__ Layout layout, i64 size, i64 step) {
    u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= layout.size) return;
    i64 place[1], at = index[i];
    locate(layout, i, place);
    if (at >= 0 && at < size) out[place[0] + at * step] = input[i];
}

// The same places, to be sorted; `nowhere`, which is larger than all, for an index outside the dimension.
extern "C" __global__ void __launch_bounds__(BLOCK)
keys_of_elements(u32* __restrict__ keys, const U* __restrict__ index, const __grid_constant__ Layout layout, i64 size,
                 i64 step, u32 nowhere) {
    u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= layout.size) return;
    i64 place[1], at = index[i];
    locate(layout, i, place);
    keys[i] = at >= 0 && at < size ? u32(place[0] + at * step) : nowhere;
}

// Indices as keys; those that are `ignored` are nowhere too.
extern "C" __global__ void __launch_bounds__(BLOCK)
keys_of_slices(u32* __restrict__ keys, const U* __restrict__ index, i64 n, i64 size, i64 ignored,
               bool from_end) {
    i64 i = blockIdx.x * (i64)BLOCK + threadIdx.x;
    if (i >= n) return;
    i64 at = from_front(index[i], size, from_end);
    keys[i] = at >= 0 && at < size && at != ignored ? u32(at) : u32(size);
}
#endif

// ---- sums of runs ------------------------------------------------------------------------------------------
// Values (outer, n, inner) are added to `out` (outer, size, inner): the member `places[i]` of the n to `keys[i]` of the
// `size`. A thread sums VECTOR of the `columns` = outer * inner, neighbours, over one chunk.
struct Columns {
    i64 from, to;                                          // of member and key 0
};

__device__ __forceinline__ Columns columns_at(i64 column, i64 n, i64 size, i64 inner) {
    i64 outer = column / inner, rest = column - outer * inner;
    return {outer * n * inner + rest, outer * size * inner + rest};
}

__device__ __forceinline__ void add_to(T* out, const Wide (&sum)[VECTOR]) {
    Vector<T, VECTOR> pack = load_vector<T, VECTOR>(out);
#pragma unroll
    for (int v = 0; v < VECTOR; v++) pack.at[v] = narrow<T>(widen(pack.at[v]) + sum[v]);
    store_vector(out, pack);
}

// `heads` and `tails` (chunks, columns) get the sums of the runs that begin before, or end behind, a chunk.
extern "C" __global__ void __launch_bounds__(BLOCK)
sum_runs(T* __restrict__ out, Wide* __restrict__ heads, Wide* __restrict__ tails, const T* __restrict__ values,
         const u32* __restrict__ keys, const u32* __restrict__ places, i64 n, i64 size, i64 inner, i64 columns) {
    i64 thread = blockIdx.x * (i64)BLOCK + threadIdx.x, packs = columns / VECTOR, chunk = thread / packs;
    i64 column = (thread - chunk * packs) * VECTOR, first = chunk * CHUNK, last = min(first + CHUNK, n) - 1;
    if (first >= n) return;
    Columns at = columns_at(column, n, size, inner);
    bool head = first > 0 && keys[first - 1] == keys[first];
    Wide sum[VECTOR] = {};
    for (i64 i = first; i <= last; i++) {
        u32 key = keys[i];
        if (key >= size) return;                           // nowhere: all that follow are
        Vector<T, VECTOR> pack = load_vector<T, VECTOR>(values + at.from + places[i] * inner);
#pragma unroll
        for (int v = 0; v < VECTOR; v++) sum[v] += widen(pack.at[v]);
        bool ends = i + 1 == n || keys[i + 1] != key;
        if (!ends && i < last) continue;
        Wide* part = (head ? heads : tails) + chunk * columns + column;
        if (ends && !head) add_to(out + at.to + key * inner, sum);
        else store_numbers(part, sum);
        head = false;
#pragma unroll
        for (int v = 0; v < VECTOR; v++) sum[v] = 0;
    }
}

// Joins the parts of each run that reaches over the end of the chunk it begins in.
extern "C" __global__ void __launch_bounds__(BLOCK)
join_runs(T* __restrict__ out, const Wide* __restrict__ heads, const Wide* __restrict__ tails,
          const u32* __restrict__ keys, i64 n, i64 size, i64 inner, i64 columns) {
    i64 thread = blockIdx.x * (i64)BLOCK + threadIdx.x, packs = columns / VECTOR, chunk = thread / packs;
    i64 column = (thread - chunk * packs) * VECTOR, first = chunk * CHUNK, next = first + CHUNK;
    if (next >= n) return;
    u32 key = keys[next - 1];
    bool begins_here = first == 0 || keys[first - 1] != key;
    if (key >= size || keys[next] != key || !begins_here) return;
    Wide sum[VECTOR], part[VECTOR];
    load_numbers(sum, tails + chunk * columns + column);
    for (; next < n && keys[next] == key; next += CHUNK) {
        load_numbers(part, heads + next / CHUNK * columns + column);
#pragma unroll
        for (int v = 0; v < VECTOR; v++) sum[v] += part[v];
    }
    add_to(out + columns_at(column, n, size, inner).to + key * inner, sum);
}

// Writes the last member of each run: out[key] = values[place], one element each.
extern "C" __global__ void __launch_bounds__(BLOCK)
write_last(T* __restrict__ out, const T* __restrict__ values, const u32* __restrict__ keys,
           const u32* __restrict__ places, i64 n, i64 size, bool one) {
    i64 i = blockIdx.x * (i64)BLOCK + threadIdx.x;
    if (i < n && keys[i] < size && (i + 1 == n || keys[i + 1] != keys[i])) out[keys[i]] = values[one ? 0 : places[i]];
}
