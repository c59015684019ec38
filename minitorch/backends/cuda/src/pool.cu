// Maxima and means over windows of (planes, depth, height, width); fewer dimensions have sizes of 1 in front.
//
// Forward, a thread has an output and goes over its window; backward, it has an input and goes over the windows that
// cover it, so that nothing is added atomically and the order is always the same.
#include "common.cuh"

enum { BLOCK = 256 };
typedef compute<T> Wide;

struct Windows {
    int size[3], out[3], kernel[3], stride[3], padding[3], dilation[3];
};

struct At {
    i64 plane;
    int place[3];
};

// Which element of (planes, *size) this thread has; false if none.
__device__ __forceinline__ bool own_element(At& at, i64& index, const int (&size)[3], i64 planes) {
    index = blockIdx.x * (i64)BLOCK + threadIdx.x;
    int volume = size[0] * size[1] * size[2];
    at.plane = index / volume;
    u32 rest = index - at.plane * volume;
    at.place[2] = rest % size[2];
    rest /= size[2];
    at.place[1] = rest % size[1];
    at.place[0] = rest / size[1];
    return at.plane < planes;
}

// f(index in the plane) for all places of the window of output `at` that are not padding, in the order of memory.
template <class F> __device__ __forceinline__ void over_window(const At& at, const Windows& w, F f) {
    int start[3], first[3], end[3];
#pragma unroll
    for (int d = 0; d < 3; d++) {
        start[d] = at.place[d] * w.stride[d] - w.padding[d];
        first[d] = start[d] < 0 ? (-start[d] + w.dilation[d] - 1) / w.dilation[d] : 0;
        end[d] = min(w.kernel[d], (w.size[d] - start[d] + w.dilation[d] - 1) / w.dilation[d]);
    }
    for (int i = first[0]; i < end[0]; i++)
        for (int j = first[1]; j < end[1]; j++)
            for (int k = first[2]; k < end[2]; k++)
                f(((start[0] + i * w.dilation[0]) * w.size[1] + start[1] + j * w.dilation[1]) * w.size[2] + start[2] +
                  k * w.dilation[2]);
}

// f(index of the output in the plane) for all windows that cover input `at`, in the order of memory.
template <class F> __device__ __forceinline__ void over_covering(const At& at, const Windows& w, F f) {
    int first[3], last[3];
#pragma unroll
    for (int d = 0; d < 3; d++) {
        int place = at.place[d] + w.padding[d], reach = (w.kernel[d] - 1) * w.dilation[d];
        first[d] = place > reach ? (place - reach + w.stride[d] - 1) / w.stride[d] : 0;
        last[d] = min(w.out[d] - 1, place / w.stride[d]);
    }
    for (int i = first[0]; i <= last[0]; i++) {
        if ((at.place[0] + w.padding[0] - i * w.stride[0]) % w.dilation[0]) continue;
        for (int j = first[1]; j <= last[1]; j++) {
            if ((at.place[1] + w.padding[1] - j * w.stride[1]) % w.dilation[1]) continue;
            for (int k = first[2]; k <= last[2]; k++)
                if ((at.place[2] + w.padding[2] - k * w.stride[2]) % w.dilation[2] == 0)
                    f((i * w.out[1] + j) * w.out[2] + k);
        }
    }
}

// ---- maxima ------------------------------------------------------------------------------------------------
// The largest element of each window, and where it stands in its plane: the first of equals, the last NaN. Either of
// `out` and `indices` may be missing. Every window has a place that is not padding.
extern "C" __global__ void __launch_bounds__(BLOCK)
max_pool(T* __restrict__ out, i64* __restrict__ indices, const T* __restrict__ input, i64 planes,
         const __grid_constant__ Windows windows) {
    At at;
    i64 index;
    if (!own_element(at, index, windows.out, planes)) return;
    const T* plane = input + at.plane * windows.size[0] * windows.size[1] * windows.size[2];
    Wide best = 0;
    int where = -1;
    over_window(at, windows, [&](int i) {
        Wide x = widen(plane[i]);
        if (where < 0 || x > best || x != x) {
            best = x;
            where = i;
        }
    });
    if (out) out[index] = narrow<T>(best);
    if (indices) indices[index] = where;
}

// Each input gets the gradients of the windows of whose maximum it is the place.
extern "C" __global__ void __launch_bounds__(BLOCK)
max_pool_backward(T* __restrict__ result, const T* __restrict__ grad, const i64* __restrict__ indices, i64 planes,
                  const __grid_constant__ Windows windows) {
    At at;
    i64 index;
    if (!own_element(at, index, windows.size, planes)) return;
    i64 start = at.plane * windows.out[0] * windows.out[1] * windows.out[2];
    int here = (at.place[0] * windows.size[1] + at.place[1]) * windows.size[2] + at.place[2];
    Wide sum = 0;
    over_covering(at, windows, [&](int o) {
        if (indices[start + o] == here) sum += widen(grad[start + o]);
    });
    result[index] = narrow<T>(sum);
}

// ---- means -------------------------------------------------------------------------------------------------
// The sum of each window times `scale`, or times its own of `scales`.
extern "C" __global__ void __launch_bounds__(BLOCK)
avg_pool(T* __restrict__ out, const T* __restrict__ input, const Wide* __restrict__ scales, i64 planes,
         const __grid_constant__ Windows windows, double scale) {
    At at;
    i64 index;
    if (!own_element(at, index, windows.out, planes)) return;
    const T* plane = input + at.plane * windows.size[0] * windows.size[1] * windows.size[2];
    Wide sum = 0;
    over_window(at, windows, [&](int i) { sum += widen(plane[i]); });
    i64 volume = i64(windows.out[0]) * windows.out[1] * windows.out[2];
    out[index] = narrow<T>(sum * (scales ? scales[index % volume] : Wide(scale)));
}

extern "C" __global__ void __launch_bounds__(BLOCK)
avg_pool_backward(T* __restrict__ result, const T* __restrict__ grad, const Wide* __restrict__ scales, i64 planes,
                  const __grid_constant__ Windows windows, double scale) {
    At at;
    i64 index;
    if (!own_element(at, index, windows.size, planes)) return;
    i64 start = at.plane * windows.out[0] * windows.out[1] * windows.out[2];
    Wide sum = 0;
    over_covering(at, windows, [&](int o) {
        Wide g = widen(grad[start + o]);
        sum += scales ? g * scales[o] : g;
    });
    result[index] = narrow<T>(scales ? sum : sum * Wide(scale));
}
