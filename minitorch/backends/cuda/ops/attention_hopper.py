"""Attention of 16-bit floats on compute capability 9.0: when `attention_hopper.cu` is taken, and how it is launched."""

import functools
from math import prod

from ..runtime.kernel import Kernel
from . import hopper
from .product import BATCH_DIMS, capability, multiprocessors

__all__ = ["KERNEL", "launch"]

SIGNATURE = "T* out, f32* logs, TensorMap query_map, TensorMap key_map, TensorMap value_map, Attention p"
KERNEL = Kernel("attention_hopper.cu", "attention_hopper", SIGNATURE, arch="90a")
KEYS, ROWS, BLOCK = 128, 64, 64                            # rows of a warpgroup; features of a block, 128 bytes
CONSUMERS, STAGES = {64: 3, 128: 2}, {64: 8, 128: 6}       # by the size of a head: what registers and memory are for


def shared_bytes(head):
    """The dynamic shared memory of a block: queries, stages of keys or values, the barriers, and room to align."""
    return 2 * head * (CONSUMERS[head] * ROWS + STAGES[head] * KEYS) + 8 * (2 + 2 * STAGES[head]) + 1024


def launch(F, out, logs, query, key, value, record, how):
    """Launch the kernel; False, and nothing done, where it is not for these arrays or most multiprocessors would have
    no work. `record` and `how` are the last argument and the constants of the kernels of attention.cu."""
    head = how["HEAD"]
    if capability(F.machine) != 90 or query.dtype.itemsize != 2 or head < BLOCK or how["MASK"] or not how["ALIGNED"]:
        return False
    rows = CONSUMERS[head] * ROWS
    parts = -(-query.shape[-2] // rows) * prod(record["batch"].tolist())
    maps = [map_of(x, record[name], record["batch"], n) for name, x, n in
            (("query", query, rows), ("key", key, KEYS), ("value", value, KEYS))]
    if 2 * parts < multiprocessors(F.machine) or None in maps:
        return False
    maps = [F.machine.by_address(x, functools.partial(hopper.tensor_map, F.machine.real, x.dtype.name, m))
            for x, m in zip((query, key, value), maps)]
    KERNEL(F.machine, min(parts, multiprocessors(F.machine)), 128 * (1 + CONSUMERS[head]), out, logs, *maps, record,
           shared=shared_bytes(head), KEYS=KEYS, CONSUMERS=CONSUMERS[head], STAGES=STAGES[head], **how)
    return True


def map_of(x, operand, batch, lines):
    """The tensor map of an array for boxes of so many rows of 64 features; None where the device takes none."""
    rows, features = x.shape[-2:]
    row, places = int(operand["row"]) if rows > 1 else -(-features // 8) * 8, operand["batch"].tolist()
    if row <= 0 or min(places) < 0:
        return None
    sizes = [n if step else 1 for n, step in zip(batch.tolist(), places)]      # all have the same matrix: size 1
    return hopper.Map((features, rows, *sizes[::-1]), (2 * row, *[2 * (step or row) for step in places[::-1]]),
                      (BLOCK, lines, *[1] * BATCH_DIMS))
