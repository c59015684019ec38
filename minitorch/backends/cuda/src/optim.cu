// Steps of optimisers, and what goes with them, for many tensors in one launch.
//
// The tensors are cut into chunks, one for each block. `chunks` says for each its tensor, its first element and how
// many there are; the addresses of the tensors come by value: LISTS lists (the parameters, their gradients, their
// states), each of `tensors` addresses.
//
//   RULE  0: Adam, 1: gradient descent, 2: RMSprop, 3: Adagrad, 4: Adadelta, 5: NAdam, 6: RAdam, 7: Adamax, 8: Rprop;
//         of the states there are LISTS - 2
//   WHAT  of `measure`: 0: sum of squares, 1: sum of sizes, 2: largest size
#include "quick.cuh"
#include "rows.cuh"

enum { BLOCK = 512, ADDRESSES = 400, PACK = 16 / sizeof(T) };

struct Addresses {
    u64 at[ADDRESSES];
};

struct Chunk {
    i64 tensor, first, count;
};

__device__ __forceinline__ Chunk this_chunk(const i64* chunks) {
    return {chunks[3 * blockIdx.x], chunks[3 * blockIdx.x + 1], chunks[3 * blockIdx.x + 2]};
}

// Calls f.run<N>(i) for N neighbours from i on: PACK where all `addresses` (joined by "or") allow it, else one.
template <class F> __device__ __forceinline__ void over_chunk(i64 count, u64 addresses, F& f) {
    i64 packed = addresses % 16 ? 0 : count / PACK * PACK;
    for (i64 i = threadIdx.x * PACK; i < packed; i += BLOCK * PACK) f.template run<PACK>(i);
    for (i64 i = packed + threadIdx.x; i < count; i += BLOCK) f.template run<1>(i);
}

#ifdef RULE
// What all rules have in common comes first: p <- shrink p; g <- sign g + decay p. Then the rule's own numbers, those of
// its coefficients in minitorch/optim.
enum { NUMBERS = 7 };
struct Numbers {
    double shrink, decay, sign, of_rule[NUMBERS];
};
enum { STATES = LISTS - 2 };

// m / (sqrt(v) + eps); of float32 within four roundings, for a third of the instructions and without their branches.
__device__ __forceinline__ float direction(float m, float v, float eps) {
    return m * quick_reciprocal(quick_root(v) + eps);
}
__device__ __forceinline__ double direction(double m, double v, double eps) { return m / (sqrt(v) + eps); }

struct Step {
    T *p, *states[STATES + 1];
    const T* g;
    Wide shrink, decay, sign, c[NUMBERS];

    __device__ __forceinline__ void rule(Wide& p, Wide g, Wide (&s)[STATES + 1]) const {
#if RULE == 0
        Wide m = s[0] + (g - s[0]) * c[0], v = s[1] * c[1] + g * g * c[2];
        s[0] = m;
        s[1] = v;
        if (STATES > 2) s[STATES - 1] = v = !(v <= s[STATES - 1]) ? v : s[STATES - 1];
        p -= direction(m, v, c[3]) * c[4];
#elif RULE == 2
        Wide v = s[0] = s[0] * c[0] + g * g * c[1];
        if (STATES > 1 && c[5] != 0) {
            Wide a = s[STATES - 1] += (g - s[STATES - 1]) * c[1];
            v -= a * a;
        }
        g = direction(g, v, c[2]);
        if (STATES > 1 && c[4] > 0) g = s[1] = s[1] * c[4] + g;
        p -= g * c[3];
#elif RULE == 3
        s[0] += g * g;
        p -= direction(g * c[1], s[0], c[0]);
#elif RULE == 4
        s[0] = s[0] * c[0] + g * g * c[1];
        Wide d = sqrt(s[1] + c[2]) / sqrt(s[0] + c[2]) * g;
        s[1] = s[1] * c[0] + d * d * c[1];
        p -= d * c[3];
#elif RULE == 5
        s[0] += (g - s[0]) * c[0];
        s[1] = s[1] * c[1] + g * g * c[2];
        p -= direction(g * c[5] + s[0] * c[6], s[1] * c[3] * c[3], c[4]);
#elif RULE == 6
        s[0] += (g - s[0]) * c[0];
        s[1] = s[1] * c[1] + g * g * c[2];
        p -= (c[5] != 0 ? direction(s[0], s[1], c[3]) : s[0]) * c[4];
#elif RULE == 7
        Wide u = s[1] * c[1], size = fabs(g) + c[2];
        s[0] += (g - s[0]) * c[0];
        s[1] = u > size || u != u ? u : size;
        p -= s[0] / s[1] * c[3];
#elif RULE == 8
        Wide turn = g * s[0], step = s[1] * (turn < 0 ? c[0] : turn > 0 ? c[1] : Wide(1));
        s[0] = turn < 0 ? Wide(0) : g;
        s[1] = step = step < c[2] ? c[2] : step > c[3] ? c[3] : step;
        p -= (Wide(s[0] > 0) - Wide(s[0] < 0)) * step;     // 0 for NaN: one bad gradient moves nothing
#else
        if (STATES) {
            s[0] = s[0] * c[1] + g * c[2];
            g = c[3] != 0 ? g + s[0] * c[1] : s[0];
        }
        p -= g * c[0];
#endif
    }

    template <int N> __device__ __forceinline__ void run(i64 i) const {
        Vector<T, N> of_p = load_vector<T, N>(p + i), of_g = load_vector<T, N>(g + i), of_states[STATES + 1];
#pragma unroll
        for (int k = 0; k < STATES; k++) of_states[k] = load_vector<T, N>(states[k] + i);
#pragma unroll
        for (int v = 0; v < N; v++) {
            Wide x = widen(of_p.at[v]) * shrink, s[STATES + 1];
#pragma unroll
            for (int k = 0; k < STATES; k++) s[k] = widen(of_states[k].at[v]);
            rule(x, widen(of_g.at[v]) * sign + x * decay, s);
            of_p.at[v] = narrow<T>(x);
#pragma unroll
            for (int k = 0; k < STATES; k++) of_states[k].at[v] = narrow<T>(s[k]);
        }
        store_vector(p + i, of_p);
#pragma unroll
        for (int k = 0; k < STATES; k++) store_vector(states[k] + i, of_states[k]);
    }
};

extern "C" __global__ void __launch_bounds__(BLOCK)
optimiser_step(const i64* __restrict__ chunks, const __grid_constant__ Addresses addresses, int tensors,
               const __grid_constant__ Numbers numbers, const double* __restrict__ of_rule) {
    Chunk chunk = this_chunk(chunks);
    Step step;
    step.p = (T*)addresses.at[chunk.tensor] + chunk.first;
    step.g = (const T*)addresses.at[tensors + chunk.tensor] + chunk.first;
    u64 all = (u64)step.p | (u64)step.g;
#pragma unroll
    for (int k = 0; k < STATES; k++) {
        step.states[k] = (T*)addresses.at[(2 + k) * tensors + chunk.tensor] + chunk.first;
        all |= (u64)step.states[k];
    }
    step.shrink = of_rule ? of_rule[NUMBERS] : numbers.shrink;  // of a graph: recomputed each run
    step.decay = of_rule ? of_rule[NUMBERS + 1] : numbers.decay;
    step.sign = numbers.sign;
#pragma unroll
    for (int k = 0; k < NUMBERS; k++) step.c[k] = of_rule ? of_rule[k] : numbers.of_rule[k];
    over_chunk(chunk.count, all, step);
}

#elif defined(WHAT)
// ---- how large all elements together are -------------------------------------------------------------------
struct Measure {
    const T* x;
    Wide total;

    __device__ __forceinline__ Wide with(Wide a, Wide b) const {
#if WHAT == 2
        return Max()(a, b);
#else
        return a + b;
#endif
    }

    template <int N> __device__ __forceinline__ void run(i64 i) {
        Vector<T, N> pack = load_vector<T, N>(x + i);
#pragma unroll
        for (int v = 0; v < N; v++) {
            Wide value = widen(pack.at[v]);
            total = with(total, WHAT == 0 ? value * value : fabs(value));
        }
    }
};

struct With {
    __device__ __forceinline__ Wide operator()(Wide a, Wide b) const { return Measure().with(a, b); }
};

// One number for each chunk, in `parts` from `first_part` on.
extern "C" __global__ void __launch_bounds__(BLOCK)
measure(Wide* __restrict__ parts, const i64* __restrict__ chunks, const __grid_constant__ Addresses addresses,
        i64 first_part) {
    __shared__ Wide shared[WARP];
    Chunk chunk = this_chunk(chunks);
    Measure own = {(const T*)addresses.at[chunk.tensor] + chunk.first, 0};
    over_chunk(chunk.count, (u64)own.x, own);
    Wide total = block_reduce(own.total, With(), Wide(0), shared);
    if (threadIdx.x == 0) parts[first_part + blockIdx.x] = total;
}

// All parts together: the norm, which is the root of the sum of squares.
extern "C" __global__ void __launch_bounds__(BLOCK)
measure_all(T* __restrict__ out, const Wide* __restrict__ parts, i64 n) {
    __shared__ Wide shared[WARP];
    Wide total = 0;
    for (i64 i = threadIdx.x; i < n; i += BLOCK) total = With()(total, parts[i]);
    total = block_reduce(total, With(), Wide(0), shared);
    if (threadIdx.x == 0) *out = narrow<T>(WHAT == 0 ? sqrt(total) : total);
}

#else
// ---- all times a number ------------------------------------------------------------------------------------
// x <- x factor, which lies on the device; `found` becomes 1 where a product is infinite or NaN.
struct Scale {
    T* x;
    Wide factor;
    bool finite;

    template <int N> __device__ __forceinline__ void run(i64 i) {
        Vector<T, N> pack = load_vector<T, N>(x + i);
#pragma unroll
        for (int v = 0; v < N; v++) {
            pack.at[v] = narrow<T>(widen(pack.at[v]) * factor);
            Wide kept = widen(pack.at[v]);
            finite = finite && kept - kept == 0;
        }
        store_vector(x + i, pack);
    }
};

extern "C" __global__ void __launch_bounds__(BLOCK)
scale_all(const i64* __restrict__ chunks, const __grid_constant__ Addresses addresses, const Wide* __restrict__ factor,
          unsigned int* __restrict__ found) {
    Chunk chunk = this_chunk(chunks);
    Scale scale = {(T*)addresses.at[chunk.tensor] + chunk.first, *factor, true};
    over_chunk(chunk.count, (u64)scale.x, scale);
    if (found && __syncthreads_or(!scale.finite) && threadIdx.x == 0) atomicExch(found, 1u);
}
#endif
