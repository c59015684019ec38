// Random numbers by Philox 4x32-10 (see minitorch/philox.py, which is the reference), and dropout.
//
// Word w of a draw is word w % 4 of the block for counter (offset / 4, w / 4). A number takes one word, or two where it
// has more than 32 random bits (WORDS).
//
//   WHAT  0: uniform in [a, b); 1: normal, mean a, deviation b; 2: 1 with probability a; 3: low + draw % span, where a
//         span of 0 leaves the draw as it is; 4: exponential, rate a; 5: Cauchy, median a, scale b; 6: exp of normal;
//         7: trials up to a success of probability a
#include "common.cuh"

enum { BLOCK = 256 };

struct Place {                                             // `state` on the device: seed, and what is added to offset
    u64 seed, offset;
};

__device__ __forceinline__ Place place_of(u64 seed, u64 offset, const u64* state) {
    if (state) return {state[0], state[1] + offset};
    return {seed, offset};
}

struct Words {
    u32 at[4];
};

__device__ __forceinline__ Words philox(Place place, u64 block) {
    u64 call = place.offset / 4;
    u32 a = u32(call), b = u32(call >> 32), c = u32(block), d = u32(block >> 32);
    u32 key0 = u32(place.seed), key1 = u32(place.seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; round++) {
        u64 p = u64(a) * 0xD2511F53u, q = u64(c) * 0xCD9E8D57u;
        a = u32(q >> 32) ^ b ^ key0;
        b = u32(q);
        c = u32(p >> 32) ^ d ^ key1;
        d = u32(p);
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return {{a, b, c, d}};
}

#ifdef WHAT
// ---- numbers -----------------------------------------------------------------------------------------------
enum { NUMBERS = 4 / WORDS };                              // of a block of four words
#if WHAT == 3
typedef i64 Wide;
#elif WORDS == 2
typedef double Wide;
#else
typedef float Wide;
#endif

// In [0, 1): 24 bits of one word, or 53 of two, the high half first.
__device__ __forceinline__ Wide unit(const Words& words, int k) {
#if WORDS == 2
    return ((u64(words.at[2 * k] & 0x1FFFFFu) << 32) | words.at[2 * k + 1]) * 0x1p-53;
#else
    return (words.at[k] & 0xFFFFFFu) * 0x1p-24f;
#endif
}

#if WHAT == 1 || WHAT == 6
// Two normal numbers (G. Box and M. Muller, 1958): a radius of one uniform number, an angle of another.
__device__ __forceinline__ void pair(Wide u, Wide v, Wide& x, Wide& y) {
    Wide radius = sqrt(Wide(-2) * log(1 - u)), sine, cosine;
#if WORDS == 2
    sincospi(2 * v, &sine, &cosine);
#else
    sincospif(2 * v, &sine, &cosine);
#endif
    x = radius * cosine;
    y = radius * sine;
}
#endif

__device__ __forceinline__ void make(Wide (&x)[NUMBERS], const Words& words, double a, double b, i64 low, u64 span) {
#if WHAT == 1 || WHAT == 6
    Wide u[NUMBERS];
#pragma unroll
    for (int k = 0; k < NUMBERS; k++) u[k] = unit(words, k);
#pragma unroll
    for (int k = 0; k < NUMBERS; k += 2) pair(u[k], u[k + 1], x[k], x[k + 1]);
#endif
#pragma unroll
    for (int k = 0; k < NUMBERS; k++) {
#if WHAT == 0
        x[k] = unit(words, k) * (Wide(b) - Wide(a)) + Wide(a);
#elif WHAT == 1
        x[k] = x[k] * Wide(b) + Wide(a);
#elif WHAT == 2
        x[k] = words.at[k] < a * 4294967296.0;             // all 32 bits count
#elif WHAT == 3
#if WORDS == 2
        u64 draw = u64(words.at[2 * k]) << 32 | words.at[2 * k + 1];
        x[k] = i64(u64(low) + (span ? draw % span : draw));
#else
        x[k] = low + (u32(span) ? words.at[k] % u32(span) : words.at[k]);
#endif
#elif WHAT == 4
        x[k] = -log(1 - unit(words, k)) / Wide(a);
#elif WHAT == 5
        Wide at = unit(words, k) - Wide(0.5), sine, cosine;
#if WORDS == 2
        sincospi(at, &sine, &cosine);
#else
        sincospif(at, &sine, &cosine);
#endif
        x[k] = Wide(a) + Wide(b) * (sine / cosine);
#elif WHAT == 6
        x[k] = exp(x[k] * Wide(b) + Wide(a));
#elif WHAT == 7
        x[k] = fmax(Wide(1), ceil(log(1 - unit(words, k)) / Wide(log1p(-a))));
#endif
    }
}

template <class X> __device__ __forceinline__ T stored(X x) {
    if constexpr (compute_type<T>::half) return from_float<T>(float(x));
    else return static_cast<T>(x);
}

// One block of words a thread. Rounding must not bring a uniform number to the end that is left out.
extern "C" __global__ void __launch_bounds__(BLOCK)
fill(T* __restrict__ out, i64 n, u64 seed, u64 offset, const u64* __restrict__ state, double a, double b, i64 low,
     u64 span) {
    i64 block = blockIdx.x * (i64)BLOCK + threadIdx.x, first = block * NUMBERS;
    if (first >= n) return;
    Wide x[NUMBERS];
    make(x, philox(place_of(seed, offset, state), block), a, b, low, span);
    Vector<T, NUMBERS> pack;
#pragma unroll
    for (int k = 0; k < NUMBERS; k++) {
        pack.at[k] = stored(x[k]);
#if WHAT == 0
        if (a < b && widen(pack.at[k]) == Wide(b)) pack.at[k] = stored(Wide(a));
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
// x times `scale` where its word is not below `dropped`, else 0: the mask is computed, not stored. GROUP elements to a
// thread, which lie in 16 bytes.
enum { GROUP = 16 / sizeof(T) < 4 ? 4 : 16 / sizeof(T), PACK = GROUP * sizeof(T) > 16 ? 16 / sizeof(T) : GROUP };
typedef compute<T> Wide;

extern "C" __global__ void __launch_bounds__(BLOCK)
drop(T* __restrict__ out, const T* __restrict__ input, i64 n, u64 seed, u64 offset, const u64* __restrict__ state,
     u64 dropped, double scale, bool aligned) {
    i64 first = (blockIdx.x * (i64)BLOCK + threadIdx.x) * GROUP;
    if (first >= n) return;
    bool whole = aligned && first + GROUP <= n;
    T x[GROUP];
#pragma unroll
    for (int start = 0; start < GROUP; start += PACK) {
        if (whole) {
            Vector<T, PACK> pack = load_vector<T, PACK>(input + first + start);
#pragma unroll
            for (int k = 0; k < PACK; k++) x[start + k] = pack.at[k];
        } else {
#pragma unroll
            for (int k = 0; k < PACK; k++)
                if (first + start + k < n) x[start + k] = input[first + start + k];
        }
    }
    Place place = place_of(seed, offset, state);
#pragma unroll
    for (int start = 0; start < GROUP; start += 4) {
        Words words = philox(place, (first + start) / 4);
#pragma unroll
        for (int k = 0; k < 4; k++)
            x[start + k] = narrow<T>(words.at[k] < dropped ? Wide(0) : widen(x[start + k]) * Wide(scale));
    }
#pragma unroll
    for (int start = 0; start < GROUP; start += PACK) {
        Vector<T, PACK> pack;
#pragma unroll
        for (int k = 0; k < PACK; k++) {
            pack.at[k] = x[start + k];
            if (!whole && first + start + k < n) out[first + start + k] = pack.at[k];
        }
        if (whole) store_vector(out + first + start, pack);
    }
}
#endif
