"""Checks of lesson 12, "A kernel, thread by thread": students' CUDA C++, run on the simulator on several sizes.

A solution is the text of a kernel. Its outcome is what it writes, and which of the exercise's budgets it exceeds; or
what the simulator finds (a race, an access out of bounds ...). The planted mistakes are kernels too.
"""

import functools
import shutil
from pathlib import Path

import numpy as np

from .. import empty, from_numpy
from .exercise import Exercise, Outcome, Result, show

WORDS = {
    "OutOfBounds": "a thread touches memory that is not the array's: is a guard missing, or one index wrong?",
    "Race": "two threads use one place, one of them writes, and nothing says who comes first: a barrier, an atomic "
            "operation, or a wrong index",
    "DivergentBarrier": "some threads wait at a barrier that others never reach: no `return` and no `if` around it",
    "Uninitialised": "something is read that nobody has written, or not yet: an index, a guard or a barrier",
    "Deadlock": "the kernel does not end", "CompileError": "the compiler does not understand it: it names the line"}


@functools.cache
def missing():
    """The reason why the simulator does not run here, in words; "" if it runs."""
    try:
        from cupy.cuda import nvrtc

        from ..backends import sim
        nvrtc.getVersion()
        sim.compiler()
        empty(1, device="sim")
    except Exception as error:              # no module, no library, no compiler, no Linux
        return ("the simulator: pip install cupy-cuda13x nvidia-cuda-nvrtc nvidia-cuda-runtime; and g++ "
                f"({str(error).splitlines()[0]})")
    return ""


def lend_simulator(home):
    """Copy the simulator's compiled runtime, which takes g++ 6 s, to the caches under `home`."""
    if missing():
        return
    from ..backends import sim
    folder = Path(home, ".cache", "minitorch", "sim")
    folder.mkdir(mode=0o700, parents=True)
    for file in sim.runtime_files():
        shutil.copyfile(file, folder / file.name)


LOADED: dict = {}                           # (source, name, signature) -> kernel, or the error that it gave


def load(source, name, signature):
    """The kernel of a source."""
    from ..backends.cuda import load_kernel
    key = source, name, signature
    if key not in LOADED:
        LOADED[key] = load_kernel(source, name, signature)
    return LOADED[key]


class Excess(str):
    """The name of a budget that a kernel exceeds; `words` says where."""

    words = ""


class Launched(Outcome):
    """The result of a kernel, and what was too expensive; or the simulator's message."""

    def __str__(self):
        if self.error is not None:
            return "\n".join(f"{type(self.error).__name__}: {self.error}".splitlines()[:5])
        array, excess = self.value
        return "\n".join([show(array), *(f"but {e.words}" for e in excess)])


class KernelExercise(Exercise):
    """An exercise whose solution is the text of a kernel.

    ``launch(*example)`` gives (grid, block, arguments): arrays and numbers; the first array is the output, None stands
    for one of the truth's shape that nobody has written. Budgets: `sectors` and `turns` are how many times the fewest
    sectors of global memory, or turns of shared memory, a line may need; ``reads(*example)`` is how many numbers may be
    read from global memory.
    """

    composes = False                        # each trial is a launch on the simulator

    def __init__(self, name, task, hints, signature, sectors=None, turns=None, reads=None):
        super().__init__(name, task, hints, tensors=False, rtol=1e-4, atol=1e-5)
        self.signature, self.sectors, self.turns, self.reads = signature, sectors, turns, reads
        self._run = self._execute

    def launch(self, function):
        """How an example is launched; a decorator."""
        self._launch = function
        return function

    def needs(self):
        return missing()

    def _check(self, solution):
        if isinstance(solution, str) and "your code here" in solution:
            return Result(self, "missing", needs=missing())
        return super()._check(solution)

    def _execute(self, solution, *example):
        if callable(solution):
            return [solution(*example), ()]
        from ..backends import sim
        grid, block, given = self._launch(*example)
        if given[0] is None:
            given = [np.empty_like(self._truth(*example)), *given[1:]]
            out = empty(given[0].shape, device="sim")
        else:
            out = from_numpy(given[0]).to("sim")
        tensors = [out, *(from_numpy(x).to("sim") if isinstance(x, np.ndarray) else x for x in given[1:])]
        kernel = load(solution, self.name.split(".")[1], self.signature)
        with sim.settings(time_limit=2):
            report = kernel.report(grid, block, *tensors)
        return [out.cpu().numpy(), tuple(self._excess(report, example))]

    def _excess(self, report, example):
        for space, limit, what in (("global", self.sectors, "sectors of 32 bytes"), ("shared", self.turns, "turns")):
            row = max((r for r in report.rows if r.space == space), key=lambda r: r.ratio, default=None)
            if limit and row and row.ratio > limit:
                found = Excess(space)
                found.words = (f"line {row.site.line}, `{row.site.text}`: {row.per_request:.1f} {what} for each "
                               f"{space} {row.kind} of a warp, {row.ideal / row.requests:.1f} would do")
                yield found
        loads = [r for r in report.rows if (r.space, r.kind) == ("global", "load")]
        read, limit = sum(r.bytes for r in loads) // 4, self.reads(*example) if self.reads else None
        if limit is not None and read > limit:
            found = Excess("reads")
            found.words = f"{read} numbers are read from global memory, {limit} would do"
            yield found

    def _outcome(self, solution, args):
        found = super()._outcome(solution, args)
        outcome = Launched(found.value, found.error)
        outcome.changed_inputs = found.changed_inputs
        return outcome

    def _name_mistake(self, tried):
        errors = [type(x.found.error).__name__ for x in tried if x.found.error is not None]
        known = None if "CompileError" in errors else super()._name_mistake(tried)
        return known or next(((name.lower(), WORDS[name]) for name in errors if name in WORDS), None)


def but(source, *changes):
    """The source with (old, new) replaced, for mistakes."""
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    return source


def blocks(n, block):
    return -(-n // block)


def numbers(*shape, seed=0, scale=1):
    """Numbers with two digits, none of them near 0."""
    rng = np.random.default_rng([seed, *shape])
    return (scale * np.round(rng.uniform(0.5, 3, shape) * rng.choice([-1, 1], shape), 1)).astype(np.float32)


HEAD = 'extern "C" __global__ void '

# ---- map, with a guard
axpy = KernelExercise(
    "nb12.axpy", "y[i] = a * x[i] + y[i], one thread for each element, neighbouring threads at neighbouring elements.",
    ("Which element is mine? The blocks before mine have blockIdx.x * blockDim.x threads.",
     "The last block may have more threads than there are elements left: they must do nothing.",
     "int i = ____ * blockDim.x + ____; if (____) y[i] = a * x[i] + y[i];"),
    "f32* y, const f32* x, f32 a, i32 n", sectors=2.5)
axpy.cases(lambda: [(block, 2.0, numbers(n), numbers(n, seed=1))
                    for block, n in ((4, 4), (4, 3), (8, 13), (4, 40), (32, 100), (32, 128))])
axpy.describe(lambda block, a, x, y: f"n = {len(x)}, blocks of {block} threads, a = {a:g}, x = {show(x)}, "
                                     f"y = {show(y)}")
axpy.truth(lambda block, a, x, y: (a * x + y).astype(np.float32))
axpy.launch(lambda block, a, x, y: (blocks(len(x), block), block, [y, x, a, len(x)]))
AXPY = HEAD + """axpy(float* y, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}"""
axpy.slips(
    no_guard=("missing guard (or `<=` for `<`): the last block has more threads than there are elements left",
              but(AXPY, ("if (i < n) ", ""))),
    thread_only=("every block works on the first elements: blockIdx.x is not used",
                 but(AXPY, ("blockIdx.x * blockDim.x + ", ""))),
    block_only=("all threads of a block work on the same element: threadIdx.x is not used",
                but(AXPY, (" * blockDim.x + threadIdx.x", ""))),
    grid_for_block=("gridDim is the number of blocks; the blocks before mine have blockDim.x threads each",
                    but(AXPY, ("blockDim", "gridDim"))),
    strided=("uncoalesced: neighbouring threads are gridDim.x elements apart, so that each needs a sector of its own",
             but(AXPY, ("blockIdx.x * blockDim.x + threadIdx.x", "threadIdx.x * gridDim.x + blockIdx.x"))),
    assigned=("what y held before is lost: add it", but(AXPY, (" + y[i]", ""))),
    inverted=("the guard is the wrong way round: it lets those through that have no element",
              but(AXPY, ("i < n", "i >= n"))))

# ---- two dimensions
outer = KernelExercise(
    "nb12.outer", "out[r, c] = a[r] + b[c], stored row by row; threadIdx.x runs along the columns.",
    ("Two indices, two guards.", "r comes from the .y, c from the .x. Where is row r's first element?",
     "if (r < ____ && c < ____) out[____] = a[r] + b[c];"),
    "f32* out, const f32* a, const f32* b, i32 rows, i32 columns", sectors=2.5)
outer.cases(lambda: [(block, numbers(rows), numbers(columns)) for block, rows, columns in (
    ((4, 2), 2, 4), ((4, 2), 3, 4), ((4, 2), 4, 5), ((4, 2), 5, 2), ((32, 4), 8, 64), ((32, 4), 9, 70))])
outer.describe(lambda block, a, b: f"{len(a)} rows, {len(b)} columns, blocks of {block[0]} x {block[1]} threads, "
                                   f"a = {show(a)}, b = {show(b)}")
outer.truth(lambda block, a, b: a[:, None] + b)
outer.launch(lambda block, a, b: ((blocks(len(b), block[0]), blocks(len(a), block[1])), block,
                                  [None, a, b, len(a), len(b)]))
OUTER = HEAD + """outer(float* out, const float* a, const float* b, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < columns) out[r * columns + c] = a[r] + b[c];
}"""
outer.slips(
    flipped=("x and y are exchanged: the grid has its x along the columns", but(OUTER, ("int c =", "int R ="), (
        ", r =", ", c ="), ("int R", "int r"))),
    no_column_guard=("the columns have no guard: what is past the end of a row lies in the next one",
                     but(OUTER, (" && c < columns", ""))),
    no_row_guard=("the rows have no guard", but(OUTER, ("r < rows && ", ""))),
    either=("no guard, or one with `||`: *both* indices must be inside", but(OUTER, ("&&", "||"))),
    row_length=("a row is `columns` long, not `rows`", but(OUTER, ("r * columns", "r * rows"))),
    column_major=("stored column by column; and neighbouring threads then write far apart",
                  but(OUTER, ("r * columns + c", "c * rows + r"))),
    y_by_x=("a block is blockDim.y high, not blockDim.x", but(OUTER, ("blockDim.y", "blockDim.x"))))

# ---- shared memory and a barrier
smooth = KernelExercise(
    "nb12.smooth", "out[i] = (x[i-1] + x[i] + x[i+1]) / 3, zero outside; each block reads its elements once, and two "
    "more.",
    ("Each thread puts its own element into shared memory. Who fetches the two beside the block?",
     "Between writing shared memory and reading a neighbour's part of it, all threads must meet.",
     "s[t + 1] = i < n ? x[i] : 0; if (t == 0) s[____] = ____; if (t == blockDim.x - 1) s[____] = ____; ____; then "
     "the mean of s[t], s[t + 1] and s[t + 2] under the guard"),
    "f32* out, const f32* x, i32 n", reads=lambda block, x: len(x) + 2 * blocks(len(x), block))
smooth.cases(lambda: [(block, numbers(n)) for block, n in ((4, 4), (4, 3), (4, 9), (32, 64), (64, 150))])
smooth.describe(lambda block, x: f"n = {len(x)}, blocks of {block} threads, x = {show(x)}")
smooth.truth(lambda block, x: np.convolve(x, np.ones(3, np.float32) / 3, "same"))
smooth.launch(lambda block, x: (blocks(len(x), block), block, [None, x, len(x)]))
SMOOTH = HEAD + """smooth(float* out, const float* x, int n) {
    __shared__ float s[66];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x + 1;
    s[t] = i < n ? x[i] : 0;
    if (t == 1) s[0] = i > 0 ? x[i - 1] : 0;
    if (t == blockDim.x) s[t + 1] = i + 1 < n ? x[i + 1] : 0;
    __syncthreads();
    if (i < n) out[i] = (s[t - 1] + s[t] + s[t + 1]) / 3;
}"""
smooth.slips(
    no_barrier=("missing barrier: a thread reads its neighbour's element before the neighbour has written it",
                but(SMOOTH, ("    __syncthreads();\n", ""))),
    early_return=("a thread that returns early never comes to the barrier, nor writes the zero its neighbour reads",
                  but(SMOOTH, ("    s[t] = i < n ? x[i] : 0;", "    if (i >= n) return;\n    s[t] = x[i];"))),
    no_halo=("nobody writes the two places beside the block's own elements",
             but(SMOOTH, ("    if (t == 1) s[0] = i > 0 ? x[i - 1] : 0;\n", ""))),
    zero_halo=("the neighbours of a block's first and last element belong to other blocks: they are not zero",
               but(SMOOTH, ("i > 0 ? x[i - 1] : 0", "0"), ("i + 1 < n ? x[i + 1] : 0", "0"))),
    straight=("each number is read from global memory three times: put it into shared memory once", HEAD +
              """smooth(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = ((i > 0 ? x[i - 1] : 0) + x[i] + (i + 1 < n ? x[i + 1] : 0)) / 3;
}"""),
    no_guard=("missing guard: threads without an element read past the end", but(SMOOTH, ("i < n ? x[i] : 0", "x[i]"))),
    not_divided=("a sum, not a mean", but(SMOOTH, (" / 3", ""))))

# ---- reduction
block_sum = KernelExercise(
    "nb12.block_sum", "out[b] = the sum of block b's elements, as a tree in shared memory, without bank conflicts.",
    ("Halve: thread t adds the element of t + half to its own, for half = blockDim.x / 2, / 4 ... 1.",
     "Each round reads what the round before has written: a barrier in each round, outside of the `if`.",
     "for (int half = blockDim.x / 2; half > 0; half /= 2) { ____; if (t < ____) s[t] += s[____]; }"),
    "f32* out, const f32* x, i32 n", turns=1.5)
block_sum.cases(lambda: [(block, numbers(n)) for block, n in ((1, 3), (2, 2), (2, 3), (4, 4), (8, 20), (128, 300))])
block_sum.describe(smooth._describe)
block_sum.truth(lambda block, x: np.array([x[i:i + block].sum() for i in range(0, len(x), block)], np.float32))
block_sum.launch(smooth._launch)
BLOCK_SUM = HEAD + """block_sum(float* out, const float* x, int n) {
    __shared__ float s[128];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? x[i] : 0;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) s[t] += s[t + half];
    }
    if (t == 0) out[blockIdx.x] = s[0];
}"""
block_sum.slips(
    no_barrier=("missing barrier: a thread reads a partial sum that another is still writing",
                but(BLOCK_SUM, ("        __syncthreads();\n", ""))),
    barrier_once=("one barrier is not enough: *each* round reads what the round before has written",
                  but(BLOCK_SUM, ("        __syncthreads();\n", ""), ("    for", "    __syncthreads();\n    for"))),
    barrier_in_if=("the barrier is inside of the `if`: the other threads never come to it",
                   but(BLOCK_SUM, ("        __syncthreads();\n", ""), ("s[t] +=", "{ __syncthreads(); s[t] +="),
                       ("half];", "half]; }"))),
    interleaved=("bank conflicts: with a stride of 2, 4, 8 ... threads of a warp want different words of one bank. Let "
                 "neighbouring threads add neighbouring elements: halve the stride instead of doubling it",
                 but(BLOCK_SUM, ("int half = blockDim.x / 2; half > 0; half /= 2", "int k = 1; k < blockDim.x; k *= 2"),
                     ("if (t < half) s[t] += s[t + half];",
                      "int j = 2 * k * t;\n        if (j < blockDim.x) s[j] += s[j + k];"))),
    no_padding=("missing guard: the last block's spare threads must put a zero, which changes no sum",
                but(BLOCK_SUM, ("i < n ? x[i] : 0", "x[i]"))),
    stops_early=("the last round is missing: it adds s[1] to s[0]", but(BLOCK_SUM, ("half > 0", "half > 1"))),
    one_place=("all blocks write out[0]: each has its own place", but(BLOCK_SUM, ("out[blockIdx.x]", "out[0]"))),
    straight=("all threads add to one place of global memory at once, and nobody sets it to 0 before",
              but(BLOCK_SUM, ("    if (t == 0) out[blockIdx.x] = s[0];", "    if (i < n) out[blockIdx.x] += x[i];"))))

# ---- a row's softmax
softmax = KernelExercise(
    "nb12.softmax", "The softmax of each row, one block a row; rows may be longer than the block.",
    ("Three passes over the row: the maximum, the sum of exponentials, the result. The first two are reductions.",
     "Each thread takes the columns t, t + blockDim.x, ...; the partial results meet in shared memory.",
     "after the first reduction: ____; largest = s[0]; ____; and only then s[t] = sum, so that nobody still reads "
     "what it overwrites"),
    "f32* out, const f32* x, i32 columns", sectors=2.5)
softmax.cases(lambda: [(2, numbers(1, 2)), (4, numbers(2, 3)), (4, numbers(2, 9)),
                       (4, np.array([[1000.0, 999, 998]], np.float32)),
                       (4, np.array([[-1000.0, -999, -998]], np.float32)), (32, numbers(3, 128))])
softmax.describe(lambda block, x: f"{x.shape[0]} rows of {x.shape[1]}, blocks of {block} threads, x = {show(x)}")
softmax.launch(lambda block, x: (len(x), block, [None, x, x.shape[1]]))


@softmax.truth
def _(block, x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


SOFTMAX = HEAD + """softmax(float* out, const float* x, int columns) {
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
PIECE = "int c = t * columns / blockDim.x; c < (t + 1) * columns / blockDim.x; c++"
softmax.slips(
    no_max=("the exponentials overflow: subtract the row's maximum first", but(SOFTMAX, (" - largest", ""))),
    zero_max=("the maximum starts at 0: a row of negative numbers has a smaller one",
              but(SOFTMAX, ("x[0], sum", "0, sum"))),
    reused=("missing barrier: shared memory is written again (or read already) while others still use it",
            but(SOFTMAX, ("    largest = s[0];\n    __syncthreads();\n", "    largest = s[0];\n"))),
    own_part=("each thread divides by the sum of its own columns: the partial sums must be added up",
              but(SOFTMAX, ("/ s[0]", "/ sum"))),
    one_each=("one column for each thread: a row may be longer than the block",
              but(SOFTMAX, ("int c = t; c < columns; c += blockDim.x",
                            "int c = t; c < columns && c < blockDim.x; c += blockDim.x"))),
    pieces=("uncoalesced: each thread has a piece of the row to itself, so that neighbouring threads are far apart",
            but(SOFTMAX, ("int c = t; c < columns; c += blockDim.x", PIECE))),
    not_divided=("not divided by the sum", but(SOFTMAX, (" / s[0]", ""))),
    first_row=("every block computes the first row: rows begin at blockIdx.x * columns",
               but(SOFTMAX, ("    x += blockIdx.x * columns;\n    out += blockIdx.x * columns;\n", ""))))

# ---- transpose
transpose = KernelExercise(
    "nb12.transpose", "out[c, r] = x[r, c] through a tile in shared memory: coalesced both ways, no bank conflicts.",
    ("Read a tile row by row, write it row by row: only shared memory is read along the columns.",
     "Thread (tx, ty) reads x[r, c] with r of ty, c of tx. For the writing, tx must run along out's rows, which are "
     "x's columns: new r of tx, new c of ty.",
     "__shared__ float tile[32][____]; tile[ty][tx] = x[r * columns + c]; ____; r = blockIdx.y * 32 + ____; c = "
     "blockIdx.x * 32 + ____; out[____] = tile[tx][ty];"),
    "f32* out, const f32* x, i32 rows, i32 columns", sectors=2.5, turns=1.5)
transpose.cases(lambda: [(numbers(rows, columns),) for rows, columns in ((1, 5), (32, 32), (33, 40), (64, 32))])
transpose.describe(lambda x: f"{x.shape[0]} rows, {x.shape[1]} columns, blocks of 32 x 32 threads")
transpose.truth(lambda x: x.T.copy())
transpose.launch(lambda x: ((blocks(x.shape[1], 32), blocks(x.shape[0], 32)), (32, 32), [None, x, *x.shape]))
TRANSPOSE = HEAD + """transpose(float* out, const float* x, int rows, int columns) {
    __shared__ float tile[32][33];
    int tx = threadIdx.x, ty = threadIdx.y;
    int r = blockIdx.y * 32 + ty, c = blockIdx.x * 32 + tx;
    if (r < rows && c < columns) tile[ty][tx] = x[r * columns + c];
    __syncthreads();
    r = blockIdx.y * 32 + tx;
    c = blockIdx.x * 32 + ty;
    if (r < rows && c < columns) out[c * rows + r] = tile[tx][ty];
}"""
transpose.slips(
    direct=("uncoalesced: without shared memory either the reads or the writes of a warp are a whole row apart",
            HEAD + """transpose(float* out, const float* x, int rows, int columns) {
    int r = blockIdx.y * 32 + threadIdx.y, c = blockIdx.x * 32 + threadIdx.x;
    if (r < rows && c < columns) out[c * rows + r] = x[r * columns + c];
}"""),
    no_padding=("bank conflicts: in a tile of 32 x 32 a whole column lies in one bank",
                but(TRANSPOSE, ("[33]", "[32]"))),
    no_barrier=("missing barrier: a thread reads what another one writes",
                but(TRANSPOSE, ("    __syncthreads();\n", ""))),
    tile_only=("each tile is transposed, but stays where it was: the *blocks* must change places too",
               but(TRANSPOSE, ("    r = blockIdx.y * 32 + tx;\n    c = blockIdx.x * 32 + ty;",
                               "    r = blockIdx.x * 32 + tx;\n    c = blockIdx.y * 32 + ty;"))),
    no_guard=("missing guard: matrices need not fill their tiles",
              but(TRANSPOSE, ("    if (r < rows && c < columns) ", "    "))),
    old_guard=("the second guard is still about what the thread *read*: it must be about what it writes",
               but(TRANSPOSE, ("    __sync", "    bool inside = r < rows && c < columns;\n    __sync"),
                   ("    if (r < rows && c < columns) out", "    if (inside) out"))),
    not_turned=("the tile is read as it was written: its rows have to become columns",
                but(TRANSPOSE, ("= tile[tx][ty]", "= tile[ty][tx]"))),
    row_length=("a row of the result has `rows` elements", but(TRANSPOSE, ("c * rows + r", "c * columns + r"))))

# ---- matrix product
matmul = KernelExercise(
    "nb12.matmul", "The product of an m x k and a k x n matrix in tiles of 8 x 8: each block reads each number it "
    "needs once.",
    ("Walk along k in steps of 8. In each step the block's 64 threads fetch a tile of a and a tile of b.",
     "Barriers: one before the tiles are used, one before they are overwritten. Outside of the matrices put zeros.",
     "s[y][x] = r < m && ____ ? a[____] : 0; t likewise; ____; for (j) sum += s[y][____] * t[____][x]; ____;"),
    "f32* out, const f32* a, const f32* b, i32 m, i32 n, i32 k",
    reads=lambda a, b: a.size * blocks(b.shape[1], 8) + b.size * blocks(a.shape[0], 8))
matmul.cases(lambda: [(numbers(m, k), numbers(k, n)) for m, n, k in ((8, 8, 8), (3, 5, 4), (8, 8, 16), (9, 17, 10))])
matmul.describe(lambda a, b: f"m = {a.shape[0]}, k = {a.shape[1]}, n = {b.shape[1]}, blocks of 8 x 8 threads")
matmul.truth(lambda a, b: a @ b)
matmul.launch(lambda a, b: ((blocks(b.shape[1], 8), blocks(a.shape[0], 8)), (8, 8),
                            [None, a, b, a.shape[0], b.shape[1], a.shape[1]]))
MATMUL = HEAD + """matmul(float* out, const float* a, const float* b, int m, int n, int k) {
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
LOOP = "        for (int j = 0; j < 8; j++) sum += s[y][j] * t[j][x];\n"
matmul.slips(
    first_barrier=("missing barrier *before* the tiles are used: they are not yet complete",
                   but(MATMUL, ("        __syncthreads();\n" + LOOP, LOOP))),
    second_barrier=("missing barrier *after* the tiles were used: a fast thread overwrites what a slow one still reads",
                    but(MATMUL, (LOOP + "        __syncthreads();\n", LOOP))),
    straight=("every number is read from global memory again and again: fetch tiles, and use them 8 times",
              HEAD + """matmul(float* out, const float* a, const float* b, int m, int n, int k) {
    int r = blockIdx.y * 8 + threadIdx.y, c = blockIdx.x * 8 + threadIdx.x;
    float sum = 0;
    if (r < m && c < n) for (int j = 0; j < k; j++) sum += a[r * k + j] * b[j * n + c];
    if (r < m && c < n) out[r * n + c] = sum;
}"""),
    early_return=("threads outside of the result return, but they are needed: for the tiles, and at the barrier",
                  but(MATMUL, ("    float sum", "    if (r >= m || c >= n) return;\n    float sum"))),
    no_edge=("past the end of a row of `a` comes its next row: put a zero there",
             but(MATMUL, (" && first + x < k", ""))),
    reset=("each step along k must *add* to the sum: it starts from 0 again",
           but(MATMUL, ("        s[y][x]", "        sum = 0;\n        s[y][x]"))),
    whole_tiles=("the last tile is left out when k is not a multiple of 8",
                 but(MATMUL, ("first < k;", "first + 8 <= k;"))),
    turned=("the tile of `a` is read by columns: row y of it is s[y][j]", but(MATMUL, ("s[y][j]", "s[j][y]"))))

# ---- scatter-add
scatter_add = KernelExercise(
    "nb12.scatter_add", "out[index[i]] += x[i] for all i at once; an index may come many times.",
    ("`out[j] += x` reads, adds and writes. What if two threads do that at the same time?",
     "An atomic operation does all three in one piece.",
     "if (____) atomic____(&out[____], ____);"),
    "f32* out, const f32* x, const i32* index, i32 n")


@scatter_add.cases
def _():
    for block, bins, n in ((4, 4, 4), (4, 3, 4), (4, 9, 6), (8, 5, 24), (32, 3, 100)):
        index = np.random.default_rng(n).permutation(n) % bins
        yield block, numbers(bins, seed=1), numbers(n), index.astype(np.int32)


@scatter_add.truth
def _(block, out, x, index):
    np.add.at(out := out.copy(), index, x)
    return out


scatter_add.describe(lambda block, out, x, index: f"n = {len(x)}, blocks of {block} threads, out = {show(out)}, "
                                                  f"x = {show(x)}, index = {show(index)}")
scatter_add.launch(lambda block, out, x, index: (blocks(len(x), block), block, [out, x, index, len(x)]))
SCATTER_ADD = HEAD + """scatter_add(float* out, const float* x, const int* index, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&out[index[i]], x[i]);
}"""
ADD = "atomicAdd(&out[index[i]], x[i])"
scatter_add.slips(
    not_atomic=("not atomic: two threads with the same index both read the old sum, and one addition is lost",
                but(SCATTER_ADD, (ADD, "out[index[i]] += x[i]"))),
    assigned=("written instead of added: what was there is lost, and of equal indices one survives",
              but(SCATTER_ADD, (ADD, "out[index[i]] = x[i]"))),
    gathered=("that is a gather, out[i] += x[index[i]]: here the *output* is indexed",
              but(SCATTER_ADD, (ADD, "out[i] += x[index[i]]"))),
    no_guard=("missing guard: the last block has more threads than there are elements left",
              but(SCATTER_ADD, ("if (i < n) ", ""))),
    counted=("that counts the indices: add x[i]", but(SCATTER_ADD, (", x[i])", ", 1.0f)"))),
    thread_only=("every block adds the same first elements: blockIdx.x is not used",
                 but(SCATTER_ADD, ("blockIdx.x * blockDim.x + ", ""))),
    replaced=("atomic, but an exchange, not an addition", but(SCATTER_ADD, ("atomicAdd", "atomicExch"))))
