"""One matrix product, ``activation(alpha * a @ b + beta * addend)``, as launches of kernels.

`product` takes arrays, `plan` decides by shapes and strides alone which kernel runs, on which tiles, over which grid; a
plan is made once for each such situation and kept. The kernels are in `minitorch/backends/cuda/src`:

- `matmul_simt.cu`, for every dtype and layout;
- `matmul_mma.cu`, tensor cores by `mma.sync`: 16-bit floats, and float32 where TF32 is allowed;
- `matmul_hopper.cu`, the tensor cores of compute capability 9.0: 16-bit floats, and float32 as TF32, in aligned arrays
  (see `hopper.py`);
- `matvec.cu`, where one side is a vector.

Where there are fewer tiles than multiprocessors the depth is split, and a second kernel, `combine.cu`, adds the
partial sums up in a fixed order: every product is the same in every run.
"""

import functools
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ....core.arrays import is_half
from ...precision import float32_matmul
from ..runtime.kernel import Kernel
from . import hopper

__all__ = ["ACTIVATIONS", "product", "product_and_sums"]

BATCH_DIMS = 3                                             # as in product.cuh
ACTIVATIONS = {None: 0, "relu": 1, "gelu": 2, "gelu_tanh": 3, "silu": 4}
SHORTEST_SPLIT = 256                                       # depth that is worth a block of its own
FEWEST_SPLITS = 3          # adding two halves up takes as long as the depth that they save: an estimate
WORTH_A_COPY = 2048        # products of each element that gain, by wgmma, what a copy of it costs: an estimate
LONGEST_SUM = 4096                                         # terms of a sum of a row that are added one by one

OPERAND = np.dtype([("row", "i8"), ("column", "i8"), ("batch", "i8", BATCH_DIMS)], align=True)
PRODUCT = np.dtype([("a", OPERAND), ("b", OPERAND), ("addend", OPERAND), ("out", OPERAND), ("split_stride", "i8"),
                    ("alpha", "f8"), ("beta", "f8"), ("alpha_single", "f4"), ("beta_single", "f4"), ("rows", "i4"),
                    ("columns", "i4"), ("depth", "i4"), ("chunk", "i4"), ("batch", "i4", BATCH_DIMS), ("splits", "i4")],
                   align=True)

ARGUMENTS = "U* out, const T* a, const T* b, const T* addend?, Product p"
SIMT = Kernel("matmul_simt.cu", "matmul_simt", ARGUMENTS)
MMA = Kernel("matmul_mma.cu", "matmul_mma", ARGUMENTS)
ALONG = Kernel("matvec.cu", "matvec_along", ARGUMENTS)
ACROSS = Kernel("matvec.cu", "matvec_across", ARGUMENTS)
COMBINING = "T* out, const U* pieces, const T* addend?, Product p"
COMBINE = Kernel("combine.cu", "combine", COMBINING)
SIMT_SUMS = Kernel("matmul_simt.cu", "matmul_simt", f"{ARGUMENTS}, U* row_sums")
MMA_SUMS = Kernel("matmul_mma.cu", "matmul_mma", f"{ARGUMENTS}, U* row_sums")
COMBINE_SUMS = Kernel("combine.cu", "combine", f"{COMBINING}, T* row_sums, const U* row_pieces")


class Operand(NamedTuple):
    """Layout of a batch of matrices: strides in elements, and whether it begins at a multiple of 16 bytes."""

    row: int
    column: int
    batch: tuple
    aligned: bool

    def transposed(self):
        return self._replace(row=self.column, column=self.row)


class Problem(NamedTuple):
    """Sizes and operands of a product; `addend` is None where there is none."""

    rows: int
    columns: int
    depth: int
    batch: tuple
    a: Operand
    b: Operand
    addend: Any
    out: Operand

    def transposed(self):
        """``out.T = b.T @ a.T``: the same numbers, with rows for columns."""
        addend = self.addend and self.addend.transposed()
        return Problem(self.columns, self.rows, self.depth, self.batch, self.b.transposed(), self.a.transposed(),
                       addend, self.out.transposed())


class Launch(NamedTuple):
    """A kernel, how it is launched, and its last argument; `shared` is dynamic shared memory in bytes, `maps` the
    tensor maps that the kernel for Hopper takes instead of two arrays."""

    kernel: Kernel
    grid: int | tuple
    block: int
    record: Any
    shared: int
    constants: dict
    maps: tuple = ()


class Plan(NamedTuple):
    """One launch; or one that makes partial sums, of a shape and a dtype, and one that adds these up.

    `swapped` says that the kernel is given `b` for `a` and `a` for `b`, transposed. `turned`, instead of a launch, says
    which of `a` and `b` are first copied so that they lie along the depth.
    """

    first: Launch | None
    swapped: bool = False
    partials: tuple | None = None
    second: Launch | None = None
    turned: tuple = ()


class Tiles(NamedTuple):
    """The part of the output that a block computes, and the part of that which is a thread's (in matmul_simt.cu) or a
    warp's (in matmul_mma.cu); how much of the depth is taken at a time, and how many threads work on it."""

    rows: int
    columns: int
    part_rows: int
    part_columns: int
    depth: int
    threads: int


# ---- the product -------------------------------------------------------------------------------------------
def product(F, a, b, addend=None, *, alpha=1, beta=1, activation=None, out=None, tf32=False):
    """``activation(alpha * a @ b + beta * addend)`` for (..., n, k) and (..., k, m), batched by broadcasting.

    `addend` broadcasts to the result; `out` may be given and have any strides. The operands are of one dtype, which is
    that of the result; 16-bit floats are summed in float32, and rounded once, after the activation. `tf32` lets float32
    be rounded to 10 bits of mantissa for the tensor cores. ValueError if the shapes do not fit.
    """
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"matmul: dimension mismatch: {a.shape} and {b.shape} have {a.shape[-1]} and {b.shape[-2]} "
                         f"elements to sum over")
    batch = () if a.ndim == b.ndim == 2 else np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = (*batch, a.shape[-2], b.shape[-1])
    out = F.empty(shape, a.dtype) if out is None else out
    if not out.size:
        return out
    made = plan(F.machine, a.dtype, describe(a), describe(b), addend if addend is None else repeated(addend, shape),
                describe(out), alpha, beta, activation, tf32)
    if made is None:                                       # the batch lies too irregularly
        a, b = [F.xp.ascontiguousarray(F.xp.broadcast_to(x, (*batch, *x.shape[-2:]))) for x in (a, b)]
        addend = addend if addend is None else F.xp.ascontiguousarray(F.xp.broadcast_to(addend, shape))
        F.xp.copyto(out, product(F, a, b, addend, alpha=alpha, beta=beta, activation=activation, tf32=tf32))
        return out
    if made.turned:
        a = F.xp.ascontiguousarray(a) if made.turned[0] else a
        b = F.xp.ascontiguousarray(b.swapaxes(-1, -2)).swapaxes(-1, -2) if made.turned[1] else b
        return product(F, a, b, addend, alpha=alpha, beta=beta, activation=activation, out=out, tf32=tf32)
    if made.swapped:
        a, b = b, a
    if made.first.maps:
        run(F, made.first, *hopper.arguments(F.machine, made.first, out, a, b, addend))
    elif made.partials is None:
        run(F, made.first, out, a, b, addend)
    else:
        partials = F.empty(*made.partials)
        run(F, made.first, partials, a, b, None)
        run(F, made.second, out, partials, addend)
    return out


def run(F, launch, *arrays, after=()):
    launch.kernel(F.machine, launch.grid, launch.block, *arrays, launch.record, *after, shared=launch.shared,
                  **launch.constants)


def product_and_sums(F, a, b):
    """``a @ b`` and the sums of the rows of `a`, for two matrices, at the cost of the product; None where there is no
    kernel for it: for TF32, which would round what is summed, wgmma, vectors, sums too long to be added one by one."""
    shape, half = (a.shape[0], b.shape[1]), is_half(a.dtype)
    if 0 in shape or not half and a.dtype.char not in "fd":
        return None
    order = shape, (shape[1] * a.itemsize, a.itemsize), True
    tf32 = a.dtype == np.float32 and float32_matmul() != "highest"
    made = plan(F.machine, a.dtype, describe(a), describe(b), None, order, 1, 1, None, tf32)
    kernel = None if made is None else {SIMT: SIMT_SUMS, MMA: MMA_SUMS if half else None}.get(made.first.kernel)
    if kernel is None or made.turned or made.first.record["chunk"] > LONGEST_SUM:
        return None
    out, sums = F.empty(shape, a.dtype), F.empty(shape[:1], a.dtype)
    first, second = [x and x._replace(constants=x.constants | {"ROW_SUMS": 1}) for x in (made.first, made.second)]
    if second is None:
        run(F, first._replace(kernel=kernel), out, a, b, None, after=(sums,))
        return out, sums
    (splits, size), dtype = made.partials
    partials, pieces = F.empty((splits, size), dtype), F.empty((splits, shape[0]), dtype)
    run(F, first._replace(kernel=kernel), partials, a, b, None, after=(pieces,))
    run(F, second._replace(kernel=COMBINE_SUMS), out, partials, None, after=(sums, pieces))
    return out, sums


def describe(x):
    """The facts about an array that a plan depends on."""
    return x.shape, x.strides, x.data.ptr % 16 == 0


def repeated(x, shape):
    """`describe` of an array broadcast to a shape, without making the view. ValueError if it does not fit."""
    lead = len(shape) - x.ndim
    if lead < 0 or any([n != m and n != 1 for n, m in zip(x.shape, shape[lead:])]):
        raise ValueError(f"matmul: the summand has shape {x.shape}, "
                         f"which does not broadcast to {shape}")
    strides = (0,) * lead + tuple([0 if n == 1 else s for n, s in zip(x.shape, x.strides)])
    return shape, strides, x.data.ptr % 16 == 0


# ---- how operands lie --------------------------------------------------------------------------------------
def problem_of(itemsize, a, b, addend, out):
    """The `Problem` of described arrays, with as few dimensions of the batch as possible; None if too many remain."""
    shape = out[0]
    strides = [batch_strides(x[0], x[1], shape[:-2]) if x else None for x in (a, b, addend, out)]
    batch, kept = collapse(shape[:-2], [s for s in strides if s is not None])
    if len(batch) > BATCH_DIMS:
        return None
    kept = iter(kept)
    operands = [x and Operand(x[1][-2] // itemsize, x[1][-1] // itemsize, tuple([s // itemsize for s in next(kept)]),
                              x[2]) for x in (a, b, addend, out)]
    return fold_batch(Problem(shape[-2], shape[-1], a[0][-1], batch, *operands))


def batch_strides(shape, strides, batch):
    """The strides of an operand over the dimensions of a batch that it broadcasts to."""
    lead = len(batch) - (len(shape) - 2)
    return (0,) * lead + tuple([0 if n == 1 else s for n, s in zip(shape[:-2], strides)])


def collapse(sizes, operands):
    """Sizes and each operand's strides with neighbouring dimensions taken as one where all operands allow it."""
    kept, strides = [], [[] for _ in operands]
    for i, n in enumerate(sizes):
        if n == 1:
            continue
        if kept and all(s[-1] == x[i] * n for s, x in zip(strides, operands)):
            kept[-1] *= n
            for s, x in zip(strides, operands):
                s[-1] = x[i]
        else:
            kept.append(n)
            for s, x in zip(strides, operands):
                s.append(x[i])
    return tuple(kept), [tuple(s) for s in strides]


def fold_batch(p):
    """One product of a tall matrix instead of a batch of small ones with the same `b`, where rows lie evenly."""
    if len(p.batch) != 1 or p.b.batch[0] != 0:
        return p
    tall = [x for x in (p.a, p.addend, p.out) if x]
    if p.rows == 1:
        tall = [x._replace(row=x.batch[0]) for x in tall]
    elif any(x.batch[0] != p.rows * x.row for x in tall):
        return p
    tall = iter([x._replace(batch=()) for x in tall])
    return Problem(p.rows * p.batch[0], p.columns, p.depth, (), next(tall), p.b._replace(batch=()),
                   p.addend and next(tall), next(tall))


def neighbours(operand, along_rows, extent, most):
    """How many elements of a row (or down a column) may be read at once: `most`, if all of them lie aligned, or 1."""
    step, other = (operand.column, operand.row) if along_rows else (operand.row, operand.column)
    even = all(s % most == 0 for s in (other, *operand.batch)) and extent % most == 0
    return most if step == 1 and even and operand.aligned else 1


def along_depth(p):
    """True if `a` and `b` are read along the depth: where the stride is smaller."""
    return abs(p.a.column) <= abs(p.a.row), abs(p.b.row) < abs(p.b.column)


# ---- which kernel, on which tiles --------------------------------------------------------------------------
LARGE, MEDIUM, SMALL = Tiles(128, 128, 8, 8, 8, 256), Tiles(64, 64, 8, 4, 8, 128), Tiles(32, 32, 4, 4, 16, 64)

MMA_LARGE, MMA_SMALL = Tiles(128, 128, 64, 64, 0, 128), Tiles(64, 64, 32, 32, 0, 128)    # depth: 64 bytes
STAGES = 4


@functools.lru_cache(maxsize=4096)
def plan(machine, dtype, a, b, addend, out, alpha, beta, activation, tf32):
    """The `Plan` of a product of described arrays; None if it takes copies of them first."""
    p = problem_of(dtype.itemsize, a, b, addend, out)
    if p is None:
        return None
    how = {"alpha": alpha, "beta": beta, "activation": ACTIVATIONS[activation]}
    if p.rows == 1 or p.columns == 1:
        return plan_vector(machine, dtype, p, how)
    half = dtype.itemsize == 2 and dtype.kind != "i"
    if (half or tf32 and dtype == np.float32) and capability(machine) >= 80:
        return (plan_hopper(machine, dtype, p, how) or plan_turned(machine, dtype, p, how, a, b)
                or plan_tensor_cores(machine, dtype, p, how))
    return plan_simt(machine, dtype, p, how)


def plan_simt(machine, dtype, p, how):
    tiles = choose_tiles(machine, p, (MEDIUM, SMALL) if dtype.itemsize == 8 else (LARGE, MEDIUM, SMALL))
    most = min(4, 16 // dtype.itemsize)
    a_along, b_along = along_depth(p)
    constants = {"TILE_M": tiles.rows, "TILE_N": tiles.columns, "THREAD_M": tiles.part_rows,
                 "THREAD_N": tiles.part_columns, "DEPTH": tiles.depth, "A_ALONG_K": a_along, "B_ALONG_K": b_along,
                 "VECTOR_A": neighbours(p.a, a_along, p.depth if a_along else p.rows, most),
                 "VECTOR_B": neighbours(p.b, not b_along, p.depth if b_along else p.columns, most)}
    return split_depth(machine, dtype, p, how, SIMT, tiles, count_tiles(p, tiles), 0, constants)


def plan_tensor_cores(machine, dtype, p, how):
    tiles = choose_tiles(machine, p, (MMA_LARGE, MMA_SMALL))
    a_along, b_along = along_depth(p)
    chunk, depth = 16 // dtype.itemsize, 64 // dtype.itemsize
    constants = {"TILE_M": tiles.rows, "TILE_N": tiles.columns, "WARP_M": tiles.part_rows, "WARP_N": tiles.part_columns,
                 "DEPTH": depth, "STAGES": STAGES, "A_ALONG_K": a_along, "B_ALONG_K": b_along,
                 "ALIGNED_A": neighbours(p.a, a_along, chunk, chunk) > 1,
                 "ALIGNED_B": neighbours(p.b, not b_along, chunk, chunk) > 1}
    shared = STAGES * (tiles.rows + tiles.columns) * 64
    return split_depth(machine, dtype, p, how, MMA, tiles, count_tiles(p, tiles), shared, constants)


def plan_hopper(machine, dtype, p, how):
    """None where the device or the arrays are not for it, or most multiprocessors would have no tile."""
    if capability(machine) != 90:
        return None
    least = {256: multiprocessors(machine), 128: multiprocessors(machine) // 3}          # tiles of so many columns
    enough = [n for n in least if count_tiles(p, Tiles(hopper.ROWS, n, 0, 0, 0, 0)) >= max(least[n], 1)]
    along = along_depth(p)
    way = hopper.way(p, dtype.itemsize, along, enough[0]) if enough else None
    if way is None:
        return None
    constants = {"T": dtype, "TILE_N": way.columns, "STAGES": hopper.STAGES[way.columns], "CLUSTER": way.cluster,
                 "STAGGER": hopper.STAGGER, "A_ALONG_K": along[0], "B_ALONG_K": along[1], "STORE": way.store,
                 "ADDEND": 0 if not p.addend else neighbours(p.addend, True, p.columns, 2) if way.store else 1,
                 "VECTOR_OUT": 2 if way.store else neighbours(p.out, True, p.columns, 2),
                 "ACTIVATION": how["activation"]}
    blocks = max(multiprocessors(machine) // way.cluster, 1) * way.cluster
    return Plan(Launch(hopper.KERNEL, blocks, hopper.THREADS, record_of(p, how, p.depth, 1, 0),
                       hopper.shared_bytes(way.columns, way.store), constants, way.maps))


def plan_turned(machine, dtype, p, how, a, b):
    """Copies that let the kernel for Hopper multiply float32, which it does along the depth only; None where there is
    nothing to copy, too little is computed with it, or that would not be enough."""
    along = along_depth(p)
    turned = tuple([not x for x in along])
    few = [n < WORTH_A_COPY for n, copied in zip((p.columns, p.rows), turned) if copied]
    repeats = [0 in strides for (_, strides, _), copied in zip((a, b), turned) if copied]
    if dtype != np.float32 or not any(turned) or any(few) or any(repeats):
        return None
    dense = [x if is_along else Operand(*((p.depth, 1) if i == 0 else (1, p.depth)),
                                        tuple([s and p.depth * n for s in x.batch]), True)
             for i, (x, is_along, n) in enumerate(zip((p.a, p.b), along, (p.rows, p.columns)))]
    return plan_hopper(machine, dtype, p._replace(a=dense[0], b=dense[1]), how) and Plan(None, turned=turned)


def plan_vector(machine, dtype, p, how):
    """One side is a vector: as a matrix times a column."""
    swapped = p.columns != 1
    p = p.transposed() if swapped else p
    along, _ = along_depth(p)
    vector = neighbours(p.a, along, p.depth if along else p.rows, 16 // dtype.itemsize)
    constants = {"VECTOR": vector,
                 "VECTOR_B": neighbours(p.b, False, p.depth, vector) if along else 1}
    rows = 4 if along else 32 * vector
    blocks = -(-p.rows // rows) * prod(p.batch)
    kernel, threads = (ALONG, 128) if along else (ACROSS, 256)
    made = split_depth(machine, dtype, p, how, kernel, Tiles(rows, 1, 1, 1, 64, threads), blocks, 0, constants)
    return made._replace(swapped=swapped)


def count_tiles(p, tiles):
    """How many tiles cover the output."""
    return -(-p.rows // tiles.rows) * -(-p.columns // tiles.columns) * prod(p.batch)


def choose_tiles(machine, p, sizes):
    """The largest tiles that give three of four multiprocessors work, with the depth cut; or the smallest."""
    splits = max(p.depth // SHORTEST_SPLIT, 1)
    enough = [t for t in sizes if 4 * splits * count_tiles(p, t) >= 3 * multiprocessors(machine)]
    return enough[0] if enough else sizes[-1]


def split_depth(machine, dtype, p, how, kernel, tiles, blocks, shared, constants):
    """The `Plan` for `blocks` blocks, with the depth split if that gives all multiprocessors work."""
    most = 2 if kernel is MMA else 4
    wanted = min(2 * multiprocessors(machine) // blocks, p.depth // SHORTEST_SPLIT, 64)
    finish = {"ACTIVATION": how["activation"]}
    vector_out = {} if "VECTOR" in constants else {"VECTOR_OUT": 1}
    if wanted < FEWEST_SPLITS:
        if vector_out:
            vector_out["VECTOR_OUT"] = neighbours(p.out, True, p.columns, min(most, 16 // dtype.itemsize))
        record = record_of(p, how, max(p.depth, 1), 1, 0)
        return Plan(Launch(kernel, blocks, tiles.threads, record, shared, constants | finish | vector_out))
    chunk = -(-p.depth // wanted)
    chunk = -(-chunk // 64) * 64
    splits = -(-p.depth // chunk)
    sums = np.dtype("f4") if dtype.itemsize == 2 and dtype.kind != "i" else dtype
    size = p.rows * p.columns * prod(p.batch)
    steps = [p.rows * p.columns * prod(p.batch[i + 1:]) for i in range(len(p.batch))]
    whole = p._replace(out=Operand(p.columns, 1, tuple(steps), True))
    if vector_out:
        vector_out["VECTOR_OUT"] = neighbours(whole.out, True, p.columns, min(most, 16 // sums.itemsize))
    record = record_of(whole, {"alpha": 1, "beta": 0}, chunk, splits, size)
    first = Launch(kernel, (blocks, splits), tiles.threads, record, shared, constants | {"ACTIVATION": 0} | vector_out)
    second = Launch(COMBINE, -(-size // 256), 256, record_of(p, how, chunk, splits, size), 0, finish)
    return Plan(first, False, ((splits, size), sums), second)


def record_of(p, how, chunk, splits, split_stride):
    """The kernels' last argument."""
    record = np.zeros((), PRODUCT)
    for name in ("a", "b", "addend", "out"):
        x = getattr(p, name)
        if x is not None:
            record[name] = x.row, x.column, (0,) * (BATCH_DIMS - len(x.batch)) + x.batch
    record["batch"] = (1,) * (BATCH_DIMS - len(p.batch)) + p.batch
    record["rows"], record["columns"], record["depth"], record["chunk"] = p.rows, p.columns, p.depth, chunk
    for name in ("alpha", "beta"):
        record[name] = record[f"{name}_single"] = how[name]
    record["splits"], record["split_stride"] = splits, split_stride
    return record


# ---- devices -----------------------------------------------------------------------------------------------
def capability(machine):
    """The compute capability, 90 for 9.0."""
    return int(machine.arch.rstrip("af"))


@functools.cache
def multiprocessors(machine):
    """How many multiprocessors there are; the simulator counts as an H100."""
    device = getattr(machine, "device", None)
    return device.attributes["MultiProcessorCount"] if device is not None else 132
