"""Attention without its matrix of weights, forward and backward, for float32 and 16-bit floats.

`attention.cu` has the algorithm; compute capability 9.0 has kernels of its own (`attention_hopper.py`).
Unsupported calls fall back to the reference, products and softmax by their own kernels: float64, heads of more than 128
features, scales that are not positive, devices before compute capability 8.0, and batches that do not lie in three
regular dimensions.
"""

from math import prod
from typing import NamedTuple

import numpy as np

from ....core.arrays import is_half
from ..backend import kernel
from ..runtime.kernel import Kernel
from . import attention_hopper
from .product import BATCH_DIMS, OPERAND, batch_strides, capability, collapse, multiprocessors
from .supported import LARGEST_HEAD, attention_heads

OPERANDS = ("query", "key", "value", "mask", "out", "grad", "query_grad", "key_grad", "value_grad")
ATTENTION = np.dtype([(name, OPERAND) for name in OPERANDS] +
                     [("scale", "f4"), ("queries", "i4"), ("keys", "i4"), ("features", "i4"), ("value_features", "i4"),
                      ("batch", "i4", BATCH_DIMS), ("last", "u4"), ("seed", "u8"), ("offset", "u8"), ("kept", "f4")],
                     align=True)
COMMON = "const T* grad, const T* query, const T* key, const T* value, const V* mask?, const f32* logs, " \
         "const f32* delta, const u64* state?"
SIGNATURES = {
    "FORWARD": "T* out, f32* logs, const T* query, const T* key, const T* value, const V* mask?, const u64* state?, "
               "Attention p",
    "QUERY_GRAD": f"T* query_grad, {COMMON}, Attention p",
    "KEY_GRAD": f"T* key_grad, T* value_grad, {COMMON}, Attention p",
}
FORWARD, QUERY_GRAD, KEY_GRAD = [Kernel("attention.cu", f"attention_{name.lower()}", signature)
                                 for name, signature in SIGNATURES.items()]
DELTA = Kernel("attention_delta.cu", "attention_delta",
               "f32* delta, const T* grad, const T* out, Attention p, i64 rows")


def describe(query, scale, **arrays):
    """The kernels' last argument for arrays of one batch, which broadcast; and the size of the batch.

    None if the batch has too many dimensions.
    """
    arrays = {"query": query} | {k: x for k, x in arrays.items() if x is not None}
    shape = np.broadcast_shapes(*[x.shape[:-2] for x in arrays.values()])
    batch, strides = collapse(shape, [batch_strides(x.shape, x.strides, shape) for x in arrays.values()])
    if len(batch) > BATCH_DIMS:
        return None
    record, fill = np.zeros((), ATTENTION), BATCH_DIMS - len(batch)
    for (name, x), steps in zip(arrays.items(), strides):
        rows, columns = x.shape[-2:]                       # of a mask there may be one, which repeats
        row, column = x.strides[-2] * (rows > 1), x.strides[-1] * (columns > 1)
        record[name] = row // x.itemsize, column // x.itemsize, (0,) * fill + tuple([s // x.itemsize for s in steps])
    record["queries"], record["features"] = query.shape[-2:]
    record["keys"], record["value_features"] = arrays["value"].shape[-2:]
    record["scale"], record["batch"] = scale, (1,) * fill + batch
    return record, prod(shape)


class Sizes(NamedTuple):
    """Rows that a warp has in each of the three kernels, and lines that it takes at a time, forward and backward: as in
    attention.cu. `room` is a warp's shared memory besides, in elements for each row."""

    forward: int
    keys: int
    query_grad: int
    key_grad: int
    lines: int
    room: int

    @classmethod
    def of(cls, half, head, mask, dropout):
        short = head <= 64
        return cls(32 if half or short else 16, 64 if short and not (mask or dropout) else 32,
                   32 if half and (short or mask < 2) else 16, 32 if half and short and not dropout else 16,
                   32 if half or short else 16, 0 if half else 32)

    def shared_forward(self, warps, head):
        """Elements of shared memory that a block of the forward kernel takes."""
        return warps * self.forward * (head + self.room) + 2 * self.keys * head

    def shared_backward(self, warps, rows, head):
        """The same for the backward kernels, whose warps have so many rows of two arrays."""
        return warps * rows * (2 * head + self.room) + 4 * self.lines * head


def constants(query, value, mask, causal, dropout, *rows):
    """The constants that the kernels are compiled with, but for WARPS; `rows` are the arrays that are copied row by
    row."""
    most = max(query.shape[-1], value.shape[-1])
    head = next(n for n in (32, 64, LARGEST_HEAD) if most <= n)
    aligned = all(x.strides[-1] == x.itemsize and x.data.ptr % 16 == 0 and x.shape[-1] * x.itemsize % 16 == 0 and
                  all(s % 16 == 0 for s, n in zip(x.strides[:-1], x.shape) if n > 1) for x in rows)
    kind = 0 if mask is None else 1 if mask.dtype == np.bool_ else 2
    return {"HEAD": head, "MASK": kind, "CAUSAL": causal, "DROPOUT": dropout, "ALIGNED": aligned,
            "V": query.dtype if mask is None else mask.dtype}


def set_dropout(record, p, place):
    """Write what the kernels need to drop weights; whether they do, and where they find the state of a captured graph.
    """
    dropped = round(p * 2**32)
    if not dropped:
        return False, None
    record["last"], record["kept"] = dropped - 1, 1 / (1 - p)
    record["seed"], record["offset"] = place.seed, place.offset
    return True, place.state


def warps_for(machine, rows, count, per_warp):
    """Four warps a block, or two where most multiprocessors would have no block."""
    return 4 if -(-rows // (4 * per_warp)) * count >= multiprocessors(machine) else 2


def empty_like_heads(F, x, shape):
    """A new array of `shape`, its dimensions but the last in the order in which they lie in `x`.

    Where heads are views of (batch, place, head, feature), as they mostly are, so are results and gradients: putting
    heads side by side again is a view then, as in PyTorch.
    """
    if x.ndim != len(shape):
        return F.empty(shape, x.dtype)
    order = [*sorted(range(x.ndim - 1), key=lambda d: -x.strides[d]), x.ndim - 1]
    out = F.empty(tuple([shape[d] for d in order]), x.dtype)
    return out.transpose(sorted(range(x.ndim), key=order.__getitem__))


def of_rank(mask):
    """A mask with at least the two dimensions of queries and keys."""
    return mask if mask is None or mask.ndim >= 2 else mask.reshape((1,) * (2 - mask.ndim) + mask.shape)


@kernel("scaled_dot_product_attention", halves=True)
def scaled_dot_product_attention(F, query, key, value, mask=None, *, scale=1.0, causal=False, p=0.0, place=None):
    mask, found = of_rank(mask), None
    if attention_heads(query, key, value, mask, scale) and capability(F.machine) >= 80:
        batch = np.broadcast_shapes(*[x.shape[:-2] for x in (query, key, value, mask) if x is not None])
        out = empty_like_heads(F, query, (*batch, query.shape[-2], value.shape[-1]))
        logs = F.empty((*batch, query.shape[-2]), np.dtype("f4"))
        found = describe(query, scale, key=key, value=value, mask=mask, out=out)
    if found is None:
        return F.reference.scaled_dot_product_attention(query, key, value, mask, scale=scale, causal=causal, p=p,
                                                        place=place)
    record, count = found
    dropout, state = set_dropout(record, p, place)
    how = constants(query, value, mask, causal, dropout, query, key, value)
    if attention_hopper.launch(F, out, logs, query, key, value, record, how):
        return out, logs
    sizes = Sizes.of(is_half(query.dtype), how["HEAD"], how["MASK"], dropout)
    warps = warps_for(F.machine, query.shape[-2], count, sizes.forward)
    FORWARD(F.machine, -(-query.shape[-2] // (warps * sizes.forward)) * count, 32 * warps, out, logs, query, key, value,
            mask, state, record, shared=sizes.shared_forward(warps, how["HEAD"]) * query.itemsize, WARPS=warps, **how)
    return out, logs


@kernel("scaled_dot_product_attention_backward", halves=True)
def scaled_dot_product_attention_backward(F, grad, query, key, value, mask=None, result=None, logs=None, *, scale=1.0,
                                          causal=False, p=0.0, place=None):
    mask, found = of_rank(mask), None
    if logs is not None and attention_heads(query, key, value, mask, scale) and capability(F.machine) >= 80:
        batch = result.shape[:-2]
        grads = [empty_like_heads(F, x, (*batch, *x.shape[-2:])) for x in (query, key, value)]
        found = describe(query, scale, key=key, value=value, mask=mask, out=result, grad=grad, query_grad=grads[0],
                         key_grad=grads[1], value_grad=grads[2])
    if found is None:
        arrays = grad, query, key, value, mask, result, logs
        return F.reference.scaled_dot_product_attention_backward(*arrays, scale=scale, causal=causal, p=p, place=place)
    record, count = found
    dropout, state = set_dropout(record, p, place)
    how = constants(query, value, mask, causal, dropout, grad, query, key, value)
    sizes, head = Sizes.of(is_half(query.dtype), how["HEAD"], how["MASK"], dropout), how["HEAD"]
    warps = 2 if sizes.lines < 32 else warps_for(F.machine, key.shape[-2], count, sizes.key_grad)
    rows = count * query.shape[-2]
    delta = F.empty((rows,), np.dtype("f4"))
    DELTA(F.machine, -(-rows // warps), 32 * warps, delta, grad, result, record, rows, WARPS=warps)
    arrays = grad, query, key, value, mask, logs, delta, state, record
    for launch, results, length, per_warp in ((QUERY_GRAD, grads[:1], query.shape[-2], sizes.query_grad),
                                              (KEY_GRAD, grads[1:], key.shape[-2], sizes.key_grad)):
        if attention_hopper.launch_gradients(F, results, grad, query, key, value, logs, delta, record, how):
            continue
        shared = sizes.shared_backward(warps, per_warp, head) * query.itemsize
        launch(F.machine, -(-length // (warps * per_warp)) * count, 32 * warps, *results, *arrays, shared=shared,
               WARPS=warps, **how)
    return tuple(grads)
