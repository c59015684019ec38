// Random numbers by Philox 4x32-10 (see minitorch/random/philox.py, which is the reference), and dropout.
//
// Word w of a draw is word w % 4 of the block for counter (offset / 4, w / 4). A number takes one word, or two where it
// has more than 32 random bits (WORDS).
//
// With WHOLE, numbers are `low` plus the draw modulo `span` (0: as it is); else what `what` says: uniform in [a, b);
// normal or its exponential, mean a, deviation b; exponential, rate a; Cauchy, median a, scale b; trials up to a
// success, b the logarithm of the probability of none. And, of both kinds, 1 with probability a.
#include "philox.cuh"

enum { BLOCK = 256 };

#ifdef WORDS
// ---- numbers -----------------------------------------------------------------------------------------------
enum { NUMBERS = 4 / WORDS };                              // of a block of four words
enum What { UNIFORM, NORMAL, EXPONENTIAL, CAUCHY, LOG_NORMAL, GEOMETRIC, BERNOULLI, INTEGERS };
#if WORDS == 2
typedef double Wide;
__device__ __forceinline__ void circle(double turns, double& sine, double& cosine) { sincospi(turns, &sine, &cosine); }
#else
typedef float Wide;
__device__ __forceinline__ void circle(float turns, float& sine, float& cosine) { sincospif(turns, &sine, &cosine); }
#endif

// In [0, 1): 24 bits of one word, or 53 of two, the high half first.
__device__ __forceinline__ Wide unit(const Words& words, int k) {
#if WORDS == 2
    return ((u64(words.at[2 * k] & 0x1FFFFFu) << 32) | words.at[2 * k + 1]) * 0x1p-53;
#else
    return (words.at[k] & 0xFFFFFFu) * 0x1p-24f;
#endif
}

// Two normal numbers (G. Box and M. Muller, 1958): a radius of one uniform number, an angle of another.
__device__ __forceinline__ void pair(Wide& x, Wide& y) {
    Wide radius = sqrt(Wide(-2) * log(1 - x)), sine, cosine;
    circle(2 * y, sine, cosine);
    x = radius * cosine;
    y = radius * sine;
}

#if WHOLE
typedef i64 Number;
__device__ __forceinline__ void make(Number (&x)[NUMBERS], int what, const Words& words, double a, double b, i64 low,
                                     u64 span) {
#pragma unroll
    for (int k = 0; k < NUMBERS; k++) {
#if WORDS == 2
        u64 draw = u64(words.at[2 * k]) << 32 | words.at[2 * k + 1];
        x[k] = i64(u64(low) + (span ? draw % span : draw));
#else
        u32 draw = words.at[k];
        x[k] = what == BERNOULLI ? draw < a * 4294967296.0 : low + (u32(span) ? draw % u32(span) : draw);
#endif
    }
}
#else
typedef Wide Number;
__device__ __forceinline__ void make(Number (&x)[NUMBERS], int what, const Words& words, double a, double b, i64, u64) {
#pragma unroll
    for (int k = 0; k < NUMBERS; k++) x[k] = unit(words, k);
    if (what == NORMAL || what == LOG_NORMAL) {
#pragma unroll
        for (int k = 0; k < NUMBERS; k += 2) pair(x[k], x[k + 1]);
    }
#pragma unroll
    for (int k = 0; k < NUMBERS; k++) {
        Wide u = x[k], sine, cosine;
        if (what == UNIFORM) x[k] = u * (Wide(b) - Wide(a)) + Wide(a);
        if (what == NORMAL) x[k] = u * Wide(b) + Wide(a);
        if (what == EXPONENTIAL) x[k] = -log(1 - u) / Wide(a);
        if (what == LOG_NORMAL) x[k] = exp(u * Wide(b) + Wide(a));
        if (what == GEOMETRIC) x[k] = fmax(Wide(1), ceil(log(1 - u) / Wide(b)));
        if (what == BERNOULLI) x[k] = words.at[k] < a * 4294967296.0;      // all 32 bits count
        if (what == CAUCHY) {
            circle(u - Wide(0.5), sine, cosine);
            x[k] = Wide(a) + Wide(b) * (sine / cosine);
        }
    }
}
#endif

template <class X> __device__ __forceinline__ T stored(X x) {
    if constexpr (compute_type<T>::half) return from_float<T>(float(x));
    else return static_cast<T>(x);
}

// One block of words a thread. Rounding must not bring a uniform number to the end that is left out.
extern "C" __global__ void __launch_bounds__(BLOCK)
fill(T* __restrict__ out, i64 n, u64 seed, u64 offset, const u64* __restrict__ state, int what, double a, double b,
     i64 low, u64 span) {
    i64 block = blockIdx.x * (i64)BLOCK + threadIdx.x, first = block * NUMBERS;
    if (first >= n) return;
    Number x[NUMBERS];
    Place place = place_of(seed, offset, state);
    make(x, what, philox(Keys(place.seed), place.offset, block), a, b, low, span);
    Vector<T, NUMBERS> pack;
#pragma unroll
    for (int k = 0; k < NUMBERS; k++) {
        pack.at[k] = stored(x[k]);
#if !WHOLE
        if (what == UNIFORM && a < b && widen(pack.at[k]) == Wide(b)) pack.at[k] = stored(Wide(a));
#endif
    }
    if (first + NUMBERS <= n) {
        store_vector(out + first, pack);
        return;
    }
#pragma unroll
    for (int k = 0; k < NUMBERS; k++)
        if (first + k < n) out[first + k] = pack.at[k];
}

#else
// ---- with the same numbers in the backward pass as in the forward pass ---------------------------------------
// x times `scale` where its word is above `last`, else 0: the mask is computed, not stored. A thread has AT_ONCE groups
// of elements under way, BLOCK groups apart; GROUP elements take whole blocks of words and whole loads.
enum { PACK = 16 / sizeof(T), GROUP = PACK < 4 ? 4 : PACK, PACKS = GROUP / PACK, AT_ONCE = 64 / (GROUP * sizeof(T)) };
typedef compute<T> Wide;

struct Drop {
    Keys keys;
    u64 offset;
    u32 last;
    Wide scale;

    __device__ __forceinline__ void operator()(T (&x)[GROUP], i64 first) const {
#pragma unroll
        for (int start = 0; start < GROUP; start += 4) {
            Words words = philox(keys, offset, (first + start) / 4);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                Wide kept = widen(x[start + k]) * scale;
                x[start + k] = narrow<T>(words.at[k] > last ? kept : Wide(0));
            }
        }
    }
};

extern "C" __global__ void __launch_bounds__(BLOCK)
drop(T* __restrict__ out, const T* __restrict__ input, i64 n, u64 seed, u64 offset, const u64* __restrict__ state,
     u32 last, double scale, bool aligned) {
    i64 begin = blockIdx.x * (i64)(BLOCK * AT_ONCE * GROUP), start = begin + threadIdx.x * GROUP;
    Place place = place_of(seed, offset, state);
    Drop drop = {Keys(place.seed), place.offset, last, Wide(scale)};
    T x[AT_ONCE][GROUP];
    if (!aligned || begin + BLOCK * AT_ONCE * GROUP > n) {
#pragma unroll 1
        for (i64 first = start; first < begin + BLOCK * AT_ONCE * GROUP; first += BLOCK * GROUP) {
#pragma unroll
            for (int k = 0; k < GROUP; k++)
                if (first + k < n) x[0][k] = input[first + k];
            drop(x[0], first);
#pragma unroll
            for (int k = 0; k < GROUP; k++)
                if (first + k < n) out[first + k] = x[0][k];
        }
        return;
    }
#pragma unroll
    for (int u = 0; u < AT_ONCE; u++)                      // all loads are under way before the first is needed
#pragma unroll
        for (int p = 0; p < PACKS; p++) {
            Vector<T, PACK> pack = load_vector<T, PACK>(input + start + u * BLOCK * GROUP + p * PACK);
#pragma unroll
            for (int k = 0; k < PACK; k++) x[u][p * PACK + k] = pack.at[k];
        }
#pragma unroll
    for (int u = 0; u < AT_ONCE; u++) {
        drop(x[u], start + u * BLOCK * GROUP);
#pragma unroll
        for (int p = 0; p < PACKS; p++) {
            Vector<T, PACK> pack;
#pragma unroll
            for (int k = 0; k < PACK; k++) pack.at[k] = x[u][p * PACK + k];
            store_vector(out + start + u * BLOCK * GROUP + p * PACK, pack);
        }
    }
}
#endif
