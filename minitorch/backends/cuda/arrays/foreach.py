"""Many arrays a launch: steps of optimisers, the norm of all gradients, and scaling them: `src/optim.cu`.

The addresses of the tensors go along with the launch, up to 400 of them: Adam, with four arrays for each parameter,
takes one launch for every 100 parameters.
"""

import functools
from itertools import groupby

import numpy as np

from ..ops.rows import dense
from ..runtime.kernel import Kernel
from .dtypes import compute_dtype, is_float

STEP = Kernel("optim.cu", "optimiser_step",
              "const i64* chunks, Addresses addresses, i32 tensors, Numbers numbers, const f64* of_rule?")
MEASURE = Kernel("optim.cu", "measure", "V* parts, const i64* chunks, Addresses addresses, i64 first_part")
MEASURE_ALL = Kernel("optim.cu", "measure_all", "T* out, const V* parts, i64 n")
SCALE = Kernel("optim.cu", "scale_all", "const i64* chunks, Addresses addresses, const V* factor, u32* found?")
MOST_NUMBERS = 7           # of a rule
ADDRESSES = np.dtype([("at", "u8", 400)])                  # the structs of optim.cu
NUMBERS = np.dtype([("shrink", "f8"), ("decay", "f8"), ("sign", "f8"), ("of_rule", "f8", MOST_NUMBERS)])
CHUNK, BLOCK = 16384, 512  # elements and threads of a block
RULES = {rule: k for k, rule in enumerate(("adam", "sgd", "rmsprop", "adagrad", "adadelta", "nadam", "radam", "adamax",
                                           "rprop"))}      # their numbers in optim.cu


# ---- many tensors ------------------------------------------------------------------------------------------
@functools.lru_cache(maxsize=64)
def chunks_of(F, sizes):
    """The chunks of tensors of these sizes, on the device: for each its tensor, first element, number of elements."""
    rows = [(i, start, min(CHUNK, n - start)) for i, n in enumerate(sizes) for start in range(0, n, CHUNK)]
    return F.from_host(np.array(rows, np.int64).reshape(-1, 3))


def launches(F, lists):
    """Split lists of arrays, all of one length, into runs whose addresses go along with one launch.

    Yields for each its chunks and its addresses, list after list, and how many there are of each.
    """
    most = ADDRESSES["at"].shape[0] // len(lists)
    for start in range(0, len(lists[0]), most):
        parts = [arrays[start:start + most] for arrays in lists]
        chunks = F.machine.lasting(chunks_of, F, tuple([a.size for a in parts[0]]))
        record, n = np.zeros((), ADDRESSES), len(parts[0])
        record["at"][:n * len(parts)] = [a.data.ptr for part in parts for a in part]
        yield chunks, record, n


def alike(F, arrays):
    """True if these are arrays of this device and of one floating dtype."""
    return all([a.__class__ is F.ndarray and a.dtype == arrays[0].dtype for a in arrays]) and is_float(arrays[0].dtype)


# ---- steps -------------------------------------------------------------------------------------------------
class Step:
    """One step of an update rule for parameters and states that stay where they are; see `minitorch.optim.flat`."""

    def __init__(self, F, rule, lists):
        self.F, self.rule = F, RULES[rule]
        params, *states = lists
        self.lists, self.runs = 1 + len(lists), []         # the gradients are one more
        by_dtype = groupby(sorted(range(len(params)), key=lambda i: params[i].dtype.str), lambda i: params[i].dtype)
        for dtype, members in by_dtype:
            members, most = list(members), ADDRESSES["at"].shape[0] // self.lists
            self.runs += [self.run(dtype, members[k:k + most], params, states) for k in range(0, len(members), most)]

    def run(self, dtype, members, params, states):
        """The part that all steps of some parameters share: their dtype, their numbers, chunks, all addresses but
        those of the gradients. The arrays are kept, since nothing else may lie at their addresses."""
        n, record = len(members), np.zeros((), ADDRESSES)
        own = [[column[i] for i in members] for column in (params, params, *states)]
        record["at"][:n * len(own)] = [a.data.ptr for part in own for a in part]
        chunks = self.F.machine.lasting(chunks_of, self.F, tuple([params[i].size for i in members]))
        return dtype, members, chunks, record, own

    def __call__(self, grads, c, shrink, decay, maximize, of_rule=None):
        """Update from the gradients with the rule's numbers `c`: p <- shrink p, g <- decay p + g (or - g) before.

        `of_rule`: for a captured graph, an array of the device with `c`, room for seven, then `shrink` and `decay`.
        """
        F = self.F
        if F.machine.capture is not None:                  # whose launches have the addresses of what the step keeps
            F.machine.capture.keep(self)
        numbers = np.zeros((), NUMBERS)
        numbers["shrink"], numbers["decay"], numbers["sign"] = shrink, decay, -1 if maximize else 1
        numbers["of_rule"][:len(c)] = c
        for dtype, members, chunks, addresses, _ in self.runs:
            own = [g if g.dtype is dtype and g._c_contiguous else dense(F, g.astype(dtype, copy=False))
                   for g in [grads[i] for i in members]]
            n, record = len(own), addresses.copy()
            record["at"][n:2 * n] = [g.data.ptr for g in own]
            STEP(F.machine, len(chunks), BLOCK, chunks, record, n, numbers, of_rule, T=dtype, RULE=self.rule,
                 LISTS=self.lists)


def step_at_once(F, rule, params, states):
    """A `Step` for parameters and their states, or None where the rule must go by chunks."""
    if rule not in RULES:
        return None
    for p, *own in zip(params, *states):
        if not p.flags.c_contiguous or not alike(F, [p, *own]) or not all([s.flags.c_contiguous for s in own]):
            return None
    return Step(F, rule, [params, *states])


# ---- all gradients together --------------------------------------------------------------------------------
WHAT = {2.0: 0, 1.0: 1, float("inf"): 2}


def total_norm(F, *tensors, norm_type):
    """The norm of all elements of all arrays together, 0-d."""
    arrays = [a for a in tensors if a.size]
    if norm_type not in WHAT or not arrays or not alike(F, arrays):
        return F.reference.total_norm(*tensors, norm_type=norm_type)
    arrays, dtype, what = [dense(F, a) for a in arrays], arrays[0].dtype, WHAT[norm_type]
    runs = list(launches(F, [arrays]))
    parts, first = F.empty((sum([len(chunks) for chunks, _, _ in runs]),), compute_dtype(dtype)), 0
    for chunks, addresses, _ in runs:
        MEASURE(F.machine, len(chunks), BLOCK, parts, chunks, addresses, first, T=dtype, WHAT=what)
        first += len(chunks)
    out = F.empty((), dtype)
    MEASURE_ALL(F.machine, 1, BLOCK, out, parts, parts.size, WHAT=what)
    return out


def scale_all(F, arrays, factor, check=False):
    """Multiply all elements of all arrays by a number, or a 0-d array, in place; False where this is not for kernels.

    With `check`, a uint32 array of one element instead of True: 1 if a product is infinite or NaN.
    """
    arrays = [a for a in arrays if a.size]
    if not arrays or not alike(F, arrays) or not all([a.flags.c_contiguous for a in arrays]):
        return False
    dtype = compute_dtype(arrays[0].dtype)
    factor = factor.astype(dtype, copy=False) if isinstance(factor, F.ndarray) else F.xp.full((), factor, dtype)
    found = F.xp.zeros((1,), np.uint32) if check else None
    for chunks, addresses, _ in launches(F, [arrays]):
        SCALE(F.machine, len(chunks), BLOCK, chunks, addresses, factor, found, T=arrays[0].dtype)
    return found if check else True
