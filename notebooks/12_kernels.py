# %% [markdown]
# # 12. A kernel, thread by thread
#
# A GPU runs one short function, the *kernel*, thousands of times at once. Writing one is easy; this notebook is about
# one that is right for every size and does not wait for memory all day. You write real CUDA C++, and need no GPU: it is
# compiled, and then every thread runs on a simulator that checks each access to memory.
#
# **You will be able to**
# * say which thread does what, and guard the last block;
# * use shared memory with the barriers it needs, and no more;
# * recognise uncoalesced accesses and bank conflicts in a report, and remove them;
# * write a reduction, a softmax, a transpose, a tiled matrix product and a scatter-add that are free of races.
#
# You need: notebook 3 for strides. Time: three hours.

# %%
import math
import re
import time

import matplotlib.pyplot as plt
import numpy as np

import minitorch as torch
from minitorch import check, viz
from minitorch.backends import sim
from minitorch.backends.cuda import load_kernel
from minitorch.viz.pictures import show_figure

lacking = check.nb12.missing()
print(f"This notebook needs {lacking}; pictures are made in Python instead." if lacking else "The simulator is ready.")

# %% [markdown]
# ## Threads and blocks
#
# A launch says how many *blocks* there are (the grid) and how many *threads* each has. Every thread runs the same text
# and finds out from `blockIdx`, `blockDim` and `threadIdx` who it is. Thirteen numbers, blocks of eight: two blocks,
# sixteen threads, and three of them have nothing to do. Step through it; the coloured cells are the threads that act,
# and the words of memory that they touch.


# %%
said = []                                                  # what the simulator has complained about


def watch(source, signature, grid, block, *arguments):
    """Run a kernel on the simulator and show what its threads did; say what the simulator finds."""
    name = re.search(r"void (\w+)\(", source)[1]
    kernel = load_kernel(source, name, signature)
    with sim.trace() as seen:
        try:
            kernel(grid, block, *arguments)
        except sim.SimulatorError as error:
            said.append(type(error).__name__)
            print(type(error).__name__, "in", *str(error).splitlines()[:6], sep="\n")
    return viz.kernel(seen, source, name)


def in_python(kernel, grid, block, arrays, shared=None):
    """The same picture of a kernel written in Python, where there is no simulator."""
    return viz.kernel(viz.emulate(kernel, grid, block, arrays, shared), kernel, kernel.__name__)


def twice(t, out, x):
    i = t.index
    if i < len(x):
        out[i] = 2 * x[i]


TWICE = r"""extern "C" __global__ void twice(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * x[i];
}"""
if lacking:
    view = in_python(twice, 2, 8, {"out": [0.0] * 13, "x": [float(i) for i in range(13)]})
else:
    x = torch.arange(13.0, device="sim")
    out = torch.empty(13, device="sim")
    view = watch(TWICE, "f32* out, const f32* x, i32 n", 2, 8, out, x, 13)
    print(out)
    assert torch.equal(out, 2 * x)
view

# %% [markdown]
# Without `if (i < n)`, threads 13, 14 and 15 read and write memory that is someone else's. A real GPU often says
# nothing at all; the simulator stops at the first access, which is the *read* of `x[13]`, and says who did it, and
# where:

# %%
if not lacking:
    out = torch.empty(13, device="sim")
    watch(TWICE.replace("if (i < n) ", ""), "f32* out, const f32* x, i32 n", 2, 8, out, x, 13)
    assert said[-1] == "OutOfBounds"

# %% [markdown]
# ## Exercise: one thread, one element
#
# A kernel is a string here. The check runs it on several sizes and compares; if the simulator complains, you read its
# words.

# %%
# <solution>
# | AXPY = r"""extern "C" __global__ void axpy(float* y, const float* x, float a, int n) {
# |     // your code here: y[i] = a * x[i] + y[i]
# | }"""
AXPY = r"""extern "C" __global__ void axpy(float* y, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}"""
# </solution>

check.nb12.axpy(AXPY)

# %% [markdown]
# ## Warps and sectors
#
# Threads do not come one by one. Thirty-two of them are a *warp*: they execute one instruction together, and their
# requests to memory are served together, in *sectors* of 32 bytes. If 32 threads read 32 neighbouring floats, that is 4
# sectors: the access is *coalesced*. If each reads a float in another sector, 32 sectors move, and
# seven eighths of them are thrown away. Here thread $i$ reads `x[i * stride]`:

# %%
strides = [1, 2, 3, 4, 6, 8, 12, 16, 32]
sectors = [len(set(np.arange(32) * 4 * stride // 32)) for stride in strides]
if not lacking:
    STRIDED = r"""extern "C" __global__ void strided(float* out, const float* x, int stride) {
    out[threadIdx.x] = x[threadIdx.x * stride];
}"""
    strided = load_kernel(STRIDED, "strided", "f32* out, const f32* x, i32 stride")
    x, out = torch.rand(1024, device="sim"), torch.empty(32, device="sim")
    reports = [strided.report(1, 32, out, x, stride) for stride in strides]
    sectors = [next(row.per_request for row in found.rows if row.kind == "load") for found in reports]
    print(reports[3])
figure, axis = plt.subplots(figsize=(8, 2.8))
axis.bar(range(len(strides)), sectors, color="#0072b2")
axis.set_xticks(range(len(strides)), strides)
axis.set(xlabel="stride between neighbouring threads, in floats", ylabel="sectors a request", ylim=(0, 34))
show_figure(figure, """Bars of the sectors that a request of 32 threads moves: 4 for stride 1, 8 for 2, 16 for 4, and
            32 for strides of 8 and more.""")
assert sectors[0] == 4 and sectors[-1] == 32 and sorted(sectors) == list(sectors)

# %% [markdown]
# That was the only thing that changed: same arithmetic, same number of reads, up to eight times the traffic. The rule:
# **`threadIdx.x` belongs on the last axis.**
#
# ## Exercise: rows and columns
#
# Grids and blocks may have two dimensions: `.x` and `.y`.

# %%
# <solution>
# | OUTER = r"""extern "C" __global__ void outer(float* out, const float* a, const float* b, int rows, int columns) {
# |     // your code here: out[r, c] = a[r] + b[c]
# | }"""
OUTER = r"""extern "C" __global__ void outer(float* out, const float* a, const float* b, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < columns) out[r * columns + c] = a[r] + b[c];
}"""
# </solution>

check.nb12.outer(OUTER)

# %% [markdown]
# ## Shared memory and a race
#
# Each block has some fast memory for itself: `__shared__`. Its threads can pass things on to each other there. But they
# do not run in step, so a thread may look before its neighbour has written. That is a *race*: the result depends on who
# comes first. This kernel reverses a block, and something is missing. The marked words are the ones in danger.


# %%
def reverse(t, out, x, s):
    s[t.thread] = x[t.thread]            # a barrier would be a `yield` here
    out[t.thread] = s[t.threads - 1 - t.thread]


REVERSE = r"""extern "C" __global__ void reverse(float* out, const float* x) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    out[t] = s[blockDim.x - 1 - t];
}"""
if lacking:
    view = in_python(reverse, 1, 8, {"out": [0.0] * 8, "x": [float(i) for i in range(8)]}, {"s": 8})
else:
    x, out = torch.arange(64.0, device="sim"), torch.empty(64, device="sim")
    view = watch(REVERSE, "f32* out, const f32* x", 1, 64, out, x)
    assert said[-1] == "Race"
view

# %% [markdown]
# The cure is a *barrier* between the two lines: `__syncthreads()` lets nobody pass before all threads of the block have
# come. All of them: a thread that has returned, or went another way at an `if`, never comes.
#
# ## Exercise: a moving average
#
# Three reads from global memory for each element are two too many. Blocks have at most 64 threads here.

# %%
# <solution>
# | SMOOTH = r"""extern "C" __global__ void smooth(float* out, const float* x, int n) {
# |     __shared__ float s[66];              // the block's elements, and one on either side
# |     // your code here: out[i] = (x[i - 1] + x[i] + x[i + 1]) / 3, zero outside
# | }"""
SMOOTH = r"""extern "C" __global__ void smooth(float* out, const float* x, int n) {
    __shared__ float s[66];              // the block's elements, and one on either side
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x + 1;
    s[t] = i < n ? x[i] : 0;
    if (t == 1) s[0] = i > 0 ? x[i - 1] : 0;
    if (t == blockDim.x) s[t + 1] = i + 1 < n ? x[i + 1] : 0;
    __syncthreads();
    if (i < n) out[i] = (s[t - 1] + s[t] + s[t + 1]) / 3;
}"""
# </solution>

check.nb12.smooth(SMOOTH)

# %% [markdown]
# ## Exercise: a sum is a tree
#
# 128 threads cannot all add to one place. Half of them add the other half's numbers to their own, then a quarter, and
# after seven rounds `s[0]` is the sum. Block sizes are powers of two, up to 128.

# %%
# <solution>
# | BLOCK_SUM = r"""extern "C" __global__ void block_sum(float* out, const float* x, int n) {
# |     __shared__ float s[128];
# |     // your code here: out[blockIdx.x] = the sum of this block's elements
# | }"""
BLOCK_SUM = r"""extern "C" __global__ void block_sum(float* out, const float* x, int n) {
    __shared__ float s[128];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? x[i] : 0;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) s[t] += s[t + half];
    }
    if (t == 0) out[blockIdx.x] = s[0];
}"""
# </solution>

check.nb12.block_sum(BLOCK_SUM)

# %% [markdown]
# Watch the tree: each round half as many threads are at work.

# %%
if check.passed("nb12.block_sum"):
    out = torch.empty(1, device="sim")
    view = watch(BLOCK_SUM, "f32* out, const f32* x, i32 n", 1, 16, out, torch.arange(16.0, device="sim"), 16)
else:
    view = None
view

# %% [markdown]
# ## Exercise: softmax
#
# Two reductions, one after the other, in the same shared memory; one block for each row, whose columns the threads deal
# out among themselves like cards. Block sizes are powers of two, up to 64.

# %%
# <solution>
# | SOFTMAX = r"""extern "C" __global__ void softmax(float* out, const float* x, int columns) {
# |     __shared__ float s[64];
# |     // your code here: row blockIdx.x of out = softmax of that row of x
# | }"""
SOFTMAX = r"""extern "C" __global__ void softmax(float* out, const float* x, int columns) {
    __shared__ float s[64];
    int t = threadIdx.x;
    x += blockIdx.x * columns;
    out += blockIdx.x * columns;
    float largest = x[0], sum = 0;
    for (int c = t; c < columns; c += blockDim.x) largest = fmaxf(largest, x[c]);
    s[t] = largest;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) s[t] = fmaxf(s[t], s[t + half]);
    }
    __syncthreads();
    largest = s[0];
    __syncthreads();
    for (int c = t; c < columns; c += blockDim.x) sum += expf(x[c] - largest);
    s[t] = sum;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) s[t] += s[t + half];
    }
    __syncthreads();
    for (int c = t; c < columns; c += blockDim.x) out[c] = expf(x[c] - largest) / s[0];
}"""
# </solution>

check.nb12.softmax(SOFTMAX)

# %% [markdown]
# ## Compare with the one that is shipped
#
# On device "sim", minitorch's own CUDA sources run (`minitorch/backends/cuda/src`). Its softmax keeps the row in the
# registers of its threads and reads it **once**; yours reads it three times. Compare the requests:

# %%
if check.passed("nb12.softmax"):
    x = torch.randn(6, 100, device="sim")
    with sim.report() as shipped:
        right = x.softmax(1)
    out = torch.empty_like(x)
    mine = load_kernel(SOFTMAX, "softmax", "f32* out, const f32* x, i32 columns").report(6, 32, out, x, 100)
    print("largest difference:", (out - right).abs().max().item())
    assert (out - right).abs().max().item() < 1e-6
    for name, found in (("shipped", shipped), ("yours", mine)):
        print(f"\n{name}: {sum(row.bytes for row in found.rows if row.space == 'global')} bytes of global memory")
        print(found)

# %% [markdown]
# ## Banks
#
# Shared memory has 32 *banks*; word $i$ lies in bank $i \bmod 32$, and each bank serves one word a turn. Thirty-two
# threads that read a *column* of a tile that is 32 wide want 32 words of one bank: 32 turns. One unused column more,
# and they want one word of each.

# %%
widths = np.arange(1, 41)
turns = [max(np.bincount(np.arange(32) * width % 32)) for width in widths]
figure, axis = plt.subplots(figsize=(8, 2.8))
axis.bar(widths, turns, color=["#d55e00" if width == 32 else "#0072b2" for width in widths])
axis.set(xlabel="width of the tile", ylabel="turns to read a column")
show_figure(figure, """Bars of the turns it takes to read a column of tiles that are 1 to 40 wide: 1 for every odd
            width, 2 to 16 for even ones, and 32, the tallest by far, for a width of 32.""")
assert turns[31] == 32 and turns[32] == 1
grid = (np.arange(8)[:, None] * np.array([32, 33])[:, None, None] + np.arange(32)) % 32
figure, axes = plt.subplots(2, 1, figsize=(8, 3.6))
for axis, banks, width in zip(axes, grid, (32, 33)):
    axis.imshow(banks, cmap="cividis")
    for r in range(8):
        axis.text(3, r, banks[r, 3], ha="center", va="center", color="white", fontsize=7)
    axis.set(title=f"the bank of each word, width {width}: column 3 is in "
                   f"{'one bank' if width == 32 else 'different banks'}", xticks=[], yticks=[])
figure.tight_layout()
show_figure(figure, """Two tables of 8 rows of words, coloured by their bank. Width 32: every row is the same, column
            3 lies in bank 3. Width 33: each row is shifted by one, column 3 lies in the banks 3 to 10.""")

# %% [markdown]
# ## Exercise: transpose
#
# Read rows, write rows, and turn in between. Blocks of 32 x 32 threads; mind the tile's width, and what the guard is
# about the second time.

# %%
# <solution>
# | TRANSPOSE = r"""extern "C" __global__ void transpose(float* out, const float* x, int rows, int columns) {
# |     // your code here: out[c, r] = x[r, c]; out has `columns` rows of length `rows`
# | }"""
TRANSPOSE = r"""extern "C" __global__ void transpose(float* out, const float* x, int rows, int columns) {
    __shared__ float tile[32][33];
    int tx = threadIdx.x, ty = threadIdx.y;
    int r = blockIdx.y * 32 + ty, c = blockIdx.x * 32 + tx;
    if (r < rows && c < columns) tile[ty][tx] = x[r * columns + c];
    __syncthreads();
    r = blockIdx.y * 32 + tx;
    c = blockIdx.x * 32 + ty;
    if (r < rows && c < columns) out[c * rows + r] = tile[tx][ty];
}"""
# </solution>

check.nb12.transpose(TRANSPOSE)

# %% [markdown]
# The shipped transpose (`copy.cu`) does the same, with a quarter of the threads; each takes four
# rows of the tile. Its report names the lines:

# %%
if check.passed("nb12.transpose"):
    x = torch.randn(64, 96, device="sim")
    with sim.report() as shipped:
        x.T.contiguous()
    print(shipped)

# %% [markdown]
# ## Exercise: a matrix product in tiles
#
# One thread computes one element of the result, from a row and a column. Neighbours need the same rows and columns: let
# a block fetch a tile of 8 x 8 of each matrix, use each number eight times, and go on to the next tile.

# %%
# <solution>
# | MATMUL = r"""extern "C" __global__ void matmul(float* out, const float* a, const float* b, int m, int n, int k) {
# |     __shared__ float s[8][8], t[8][8];
# |     // your code here: out (m x n) = a (m x k) times b (k x n)
# | }"""
MATMUL = r"""extern "C" __global__ void matmul(float* out, const float* a, const float* b, int m, int n, int k) {
    __shared__ float s[8][8], t[8][8];
    int x = threadIdx.x, y = threadIdx.y, r = blockIdx.y * 8 + y, c = blockIdx.x * 8 + x;
    float sum = 0;
    for (int first = 0; first < k; first += 8) {
        s[y][x] = r < m && first + x < k ? a[r * k + first + x] : 0;
        t[y][x] = c < n && first + y < k ? b[(first + y) * n + c] : 0;
        __syncthreads();
        for (int j = 0; j < 8; j++) sum += s[y][j] * t[j][x];
        __syncthreads();
    }
    if (r < m && c < n) out[r * n + c] = sum;
}"""
# </solution>

check.nb12.matmul(MATMUL)

# %% [markdown]
# What is it good for? A GPU that does 60 trillion operations and moves 3 trillion bytes a second must do 20 operations
# with each byte, or it waits. The *roofline* shows what can be reached: the slope is memory's, the flat part
# arithmetic's. Your kernel's place is measured; larger tiles move it to the right.

# %%
if check.passed("nb12.matmul"):
    size = 32
    NAIVE = r"""extern "C" __global__ void naive(float* out, const float* a, const float* b, int n) {
    int r = blockIdx.y * 8 + threadIdx.y, c = blockIdx.x * 8 + threadIdx.x;
    float sum = 0;
    for (int j = 0; j < n; j++) sum += a[r * n + j] * b[j * n + c];
    out[r * n + c] = sum;
}"""
    a, b, out = (torch.rand(size, size, device="sim") for _ in range(3))
    signature = "f32* out, const f32* a, const f32* b, i32 "
    naive = load_kernel(NAIVE, "naive", signature + "n").report((4, 4), (8, 8), out, a, b, size)
    tiled = load_kernel(MATMUL, "matmul", signature + "m, i32 n, i32 k").report((4, 4), (8, 8), out, a, b, *3 * [size])
    figure, axis = plt.subplots(figsize=(8, 3.2))
    intensity = np.logspace(-1.5, 3, 100)
    axis.loglog(intensity, np.minimum(60e12, intensity * 3e12), color="#999999")
    for name, found, sign in (("one element a thread", naive, "s"), ("your tiles of 8", tiled, "o")):
        moved = sum(32 * row.cost for row in found.rows if row.space == "global")
        place = 2 * size ** 3 / moved
        axis.plot(place, min(60e12, place * 3e12), sign, markersize=9, label=f"{name}: {moved // 1000} kB moved")
    axis.axvline(128 / 4, linestyle=":", color="#0072b2", label="tiles of 128, in theory")
    axis.set(xlabel="operations for each byte of global memory, caches left out", ylabel="operations a second, at most")
    axis.legend()
    show_figure(figure, """A roofline: a slope that becomes flat at 20 operations a byte. Both kernels lie low on the
                slope, yours to the right of the other; a dotted line for tiles of 128 lies beyond the bend.""")
    traffic = [sum(32 * row.cost for row in found.rows if row.space == "global") for found in (naive, tiled)]
    assert traffic[1] < traffic[0]

# %% [markdown]
# ## Exercise: many to one
#
# The backward pass of an embedding adds each gradient to the row that was looked up; if a word comes twice, two threads
# add to one place. `+=` is three steps, and between them others may slip in.

# %%
# <solution>
# | SCATTER_ADD = r"""extern "C" __global__ void scatter_add(float* out, const float* x, const int* index, int n) {
# |     // your code here: out[index[i]] += x[i], whatever the indices are
# | }"""
SCATTER_ADD = r"""extern "C" __global__ void scatter_add(float* out, const float* x, const int* index, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&out[index[i]], x[i]);
}"""
# </solution>

check.nb12.scatter_add(SCATTER_ADD)

# %% [markdown]
# Free of races, but not of surprises: atomic additions come in any order, and floating-point sums depend on the order
# (notebook 11). Let the simulator run the blocks forwards, backwards and at random:

# %%
if check.passed("nb12.scatter_add"):
    kernel = load_kernel(SCATTER_ADD, "scatter_add", "f32* out, const f32* x, const i32* index, i32 n")
    torch.manual_seed(0)
    x, index = torch.randn(1000).to("sim"), torch.zeros(1000, dtype=torch.int32).to("sim")
    for order in ("ascending", "descending", "seeded"):
        out = torch.zeros(1, device="sim")
        with sim.settings(order=order):
            kernel(8, 128, out, x, index, 1000)
        print(f"{order:10} {out.item():.7f}")

# %% [markdown]
# That is why the shipped `index_add` sorts the indices first and adds in a fixed order: same input, same bits.
#
# ## On a real GPU
#
# The same sources run on one, unchanged. What the simulator counted is what the clock shows there.

# %%
if torch.cuda.is_available() and check.passed("nb12.transpose"):
    DIRECT = r"""extern "C" __global__ void direct(float* out, const float* x, int rows, int columns) {
    int r = blockIdx.y * 32 + threadIdx.y, c = blockIdx.x * 32 + threadIdx.x;
    if (r < rows && c < columns) out[c * rows + r] = x[r * columns + c];
}"""
    x, out = torch.rand(4096, 4096, device="cuda"), torch.empty(4096, 4096, device="cuda")
    for name, source in (("direct", DIRECT), ("transpose", TRANSPOSE)):
        kernel = load_kernel(source, name, "f32* out, const f32* x, i32 rows, i32 columns")
        best = math.inf
        for _ in range(5):
            torch.cuda.synchronize()
            start = time.perf_counter()
            kernel((128, 128), (32, 32), out, x, 4096, 4096)
            torch.cuda.synchronize()
            best = min(best, time.perf_counter() - start)
        print(f"{name}: {2 * x.nbytes / best / 1e9:.0f} GB/s")
else:
    print("No GPU here: nothing is timed. The simulator knows what memory costs, but not how long it takes.")

# %% [markdown]
# ## In real PyTorch
#
# What you wrote by hand, in the words of the library.


# %%
def by_the_library(torch):
    x = torch.linspace(-2, 2, 12).reshape(3, 4)
    a, b = torch.arange(3.0), torch.arange(4.0)
    index = torch.tensor([0, 2, 0, 1, 2, 2])
    kernel = torch.full((1, 1, 3), 1 / 3)
    return {"outer": a[:, None] + b, "smooth": torch.nn.functional.conv1d(x[:, None], kernel, padding=1),
            "block_sum": x.reshape(-1, 4).sum(1), "softmax": x.softmax(1), "transpose": x.T.contiguous(),
            "matmul": x @ x.T, "scatter_add": torch.zeros(3).index_add(0, index, torch.arange(6.0))}


check.in_pytorch(by_the_library)

# %%
check.report()

# %% [markdown]
# **Remember**
# * `blockIdx.x * blockDim.x + threadIdx.x`, and a guard.
# * Neighbouring threads, neighbouring addresses: 4 sectors for a warp instead of 32.
# * Between writing shared memory and reading another thread's part: a barrier, which *all* threads reach. And one
#   before it is used again.
# * A tile that is 33 wide has no bank conflicts. A tile is used many times, or it is useless.
# * What several threads add to one place is added atomically, in an order that nobody knows.
#
# **Go further.** `__shfl_down_sync` passes a register to another thread of the warp, without shared memory. Write the
# sum with it: how many barriers are left?
#
# Next: [13. Memory, time and many workers](13_workers.ipynb)
