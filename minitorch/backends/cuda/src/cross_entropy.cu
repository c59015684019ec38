// Losses over classes: the logarithm of the softmax at the target, and its derivative.
//
// Logits are (outer, classes, inner), targets (outer, inner) of type U; sample i is place i of the targets. A sample
// whose target is `ignored` has weight 0, no loss and no gradient; one whose target is not a class
// has the loss NaN.
#include "exponentials.cuh"

__device__ __forceinline__ Wide nan() { return __int_as_float(0x7fffffff); }

// The weight of a sample's loss.
__device__ __forceinline__ Wide weight_of(i64 target, const T* weight, i64 classes, i64 ignored) {
    if (target == ignored) return 0;
    if (target < 0 || target >= classes) return nan();
    return weight ? widen(weight[target]) : Wide(1);
}

// The loss `value` of a sample as it is stored, and its weight.
__device__ __forceinline__ void store_loss(Wide* losses, Wide* counts, i64 sample, Wide value, Wide count) {
    losses[sample] = count == 0 ? 0 : value * count;
    if (counts) counts[sample] = count;
}

#ifdef THREADS
// A row of logits by THREADS threads; `normalisers` (2, samples) get the largest logit and log(sum(exp(row - largest))):
// their sum would lose the digits that logits far from 0 share.
extern "C" __global__ void __launch_bounds__(THREADS* ROWS)
entropy_rows(Wide* __restrict__ losses, Wide* __restrict__ counts, Wide* __restrict__ normalisers,
             const T* __restrict__ input, const U* __restrict__ targets, const T* __restrict__ weight, i64 rows,
             i64 classes, i64 ignored) {
    i64 sample = this_row();
    if (sample >= rows) return;
    input += sample * classes;
    Exponentials row = of_nothing();
#pragma unroll 4
    for (i64 i = threadIdx.x * VECTOR; i < classes; i += THREADS * VECTOR) {
        Wide x[VECTOR];
        load_pack(x, input + i);
        row.add(x);
    }
    row = over_row(row, Merge(), 0);
    if (threadIdx.x) return;
    i64 target = targets[sample];
    Wide count = weight_of(target, weight, classes, ignored), rest = log(row.sum);
    normalisers[sample] = row.largest;
    normalisers[rows + sample] = rest;
    store_loss(losses, counts, sample,
               count == count && count != 0 ? rest - (widen(input[target]) - row.largest) : 0, count);
}

#else
// One thread for each sample: neighbours in `inner` lie side by side in memory.
extern "C" __global__ void __launch_bounds__(256)
entropy_planes(Wide* __restrict__ losses, Wide* __restrict__ counts, Wide* __restrict__ normalisers,
               const T* __restrict__ input, const U* __restrict__ targets, const T* __restrict__ weight, i64 samples,
               i64 classes, i64 inner, i64 ignored) {
    i64 sample = blockIdx.x * 256LL + threadIdx.x;
    if (sample >= samples) return;
    input += sample / inner * classes * inner + sample % inner;
    Exponentials row = of_nothing();
    for (i64 c = 0; c < classes; c++) row.add(widen(input[c * inner]));
    i64 target = targets[sample];
    Wide count = weight_of(target, weight, classes, ignored), rest = log(row.sum);
    normalisers[sample] = row.largest;
    normalisers[samples + sample] = rest;
    store_loss(losses, counts, sample,
               count == count && count != 0 ? rest - (widen(input[target * inner]) - row.largest) : 0, count);
}

// The same for logits that are log-probabilities already: the negative log likelihood. Without `input`, only counts.
extern "C" __global__ void __launch_bounds__(256)
likelihood(Wide* __restrict__ losses, Wide* __restrict__ counts, const T* __restrict__ input,
           const U* __restrict__ targets, const T* __restrict__ weight, i64 samples, i64 classes, i64 inner,
           i64 ignored) {
    i64 sample = blockIdx.x * 256LL + threadIdx.x;
    if (sample >= samples) return;
    i64 target = targets[sample];
    Wide count = weight_of(target, weight, classes, ignored), value = 0;
    if (input && count == count && count != 0)
        value = -widen(input[(sample / inner * classes + target) * inner + sample % inner]);
    store_loss(losses, counts, sample, value, count);
}

// Sums of the losses and of what they count, in a fixed order: each block of 1024 threads makes a pair of partial sums.
// The last launch, of one block, makes the result of them: the sum, or with MEAN the sum over the total count.
__device__ __forceinline__ Wide block_sum(Wide x, Wide* shared) { return block_reduce(x, Add(), Wide(0), shared); }

extern "C" __global__ void __launch_bounds__(1024)
add_up(Wide* __restrict__ sums, Wide* __restrict__ totals, const Wide* __restrict__ losses,
       const Wide* __restrict__ counts, i64 samples) {
    __shared__ Wide shared[32];
    Wide sum = 0, total = 0;
    for (i64 i = blockIdx.x * 1024LL + threadIdx.x; i < samples; i += gridDim.x * 1024LL) {
        sum += losses[i];
        total += counts[i];
    }
    sum = block_sum(sum, shared);
    total = block_sum(total, shared);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;
        totals[blockIdx.x] = total;
    }
}

extern "C" __global__ void __launch_bounds__(1024)
conclude(T* __restrict__ out, Wide* __restrict__ total_out, const Wide* __restrict__ losses,
         const Wide* __restrict__ counts, i64 samples, bool mean) {
    __shared__ Wide shared[32];
    Wide sum = 0, total = 0;
    for (i64 i = threadIdx.x; i < samples; i += 1024) {
        sum += losses[i];
        total += counts[i];
    }
    sum = block_sum(sum, shared);
    total = block_sum(total, shared);
    if (threadIdx.x == 0) {
        *out = narrow<T>(mean ? sum / total : sum);
        *total_out = total;
    }
}
#endif

// ---- backward ----------------------------------------------------------------------------------------------
// The gradient of a sample's loss times what it counts. `total` is the count that a mean divides by; where nothing
// counts the mean is NaN, and its gradient 0.
__device__ __forceinline__ Wide scale_of(const T* grad, bool each, i64 sample, Wide count, const Wide* total) {
    if (count == 0 || (total && *total == 0)) return 0;
    Wide scale = widen(grad[each ? sample : 0]) * count;
    return total ? scale / *total : scale;
}

#ifdef THREADS
extern "C" __global__ void __launch_bounds__(THREADS* ROWS)
entropy_rows_backward(T* __restrict__ out, const T* __restrict__ grad, const T* __restrict__ input,
                      const U* __restrict__ targets, const T* __restrict__ weight,
                      const Wide* __restrict__ normalisers, const Wide* __restrict__ total, i64 rows, i64 classes,
                      i64 ignored, bool each) {
    i64 sample = this_row();
    if (sample >= rows) return;
    i64 target = targets[sample];
    Wide scale = scale_of(grad, each, sample, weight_of(target, weight, classes, ignored), total);
    Wide largest = normalisers[sample], rest = normalisers[rows + sample];
    input += sample * classes;
    out += sample * classes;
#pragma unroll 4
    for (i64 i = threadIdx.x * VECTOR; i < classes; i += THREADS * VECTOR) {
        Wide x[VECTOR];
        load_pack(x, input + i);
#pragma unroll
        for (int v = 0; v < VECTOR; v++) x[v] = scale * (exp(x[v] - largest - rest) - (i + v == target ? 1 : 0));
        store_pack(out + i, x);
    }
}

#else
extern "C" __global__ void __launch_bounds__(256)
entropy_planes_backward(T* __restrict__ out, const T* __restrict__ grad, const T* __restrict__ input,
                        const U* __restrict__ targets, const T* __restrict__ weight,
                        const Wide* __restrict__ normalisers, const Wide* __restrict__ total, i64 samples,
                        i64 classes, i64 inner, i64 ignored, bool each) {
    i64 sample = blockIdx.x * 256LL + threadIdx.x;
    if (sample >= samples) return;
    i64 target = targets[sample], start = sample / inner * classes * inner + sample % inner;
    Wide scale = scale_of(grad, each, sample, weight_of(target, weight, classes, ignored), total);
    Wide largest = normalisers[sample], rest = normalisers[samples + sample];
    for (i64 c = 0; c < classes; c++)
        out[start + c * inner] =
            narrow<T>(scale * (exp(widen(input[start + c * inner]) - largest - rest) - (c == target ? 1 : 0)));
}

// All of the gradient by the log-probabilities: zeros but at the targets.
extern "C" __global__ void __launch_bounds__(256)
likelihood_backward(T* __restrict__ out, const T* __restrict__ grad, const U* __restrict__ targets,
                    const T* __restrict__ weight, const Wide* __restrict__ total, i64 size, i64 classes, i64 inner,
                    i64 ignored, bool each) {
    i64 i = blockIdx.x * 256LL + threadIdx.x;
    if (i >= size) return;
    i64 place = i % inner, row = i / inner, c = row % classes, sample = row / classes * inner + place;
    i64 target = targets[sample];
    Wide value = 0;
    if (c == target || target < 0 || target >= classes)
        value = -scale_of(grad, each, sample, weight_of(target, weight, classes, ignored), total);
    out[i] = narrow<T>(value);
}
#endif
