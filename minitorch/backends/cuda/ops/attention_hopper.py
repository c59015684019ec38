"""Attention of 16-bit floats on compute capability 9.0: when `attention_hopper.cu` and `attention_hopper_backward.cu`
are taken, and how they are launched."""

from math import prod

from ..runtime.kernel import Kernel
from . import hopper
from .product import BATCH_DIMS, capability, multiprocessors

__all__ = ["KERNEL", "KEY_GRAD", "QUERY_GRAD", "launch", "launch_gradients"]

SIGNATURE = "T* out, f32* logs, TensorMap query_map, TensorMap key_map, TensorMap value_map, Attention p"
KERNEL = Kernel("attention_hopper.cu", "attention_hopper", SIGNATURE, arch="90a")
COMMON = "TensorMap query_map, TensorMap grad_map, TensorMap key_map, TensorMap value_map, const f32* logs, " \
         "const f32* delta, Attention p"
QUERY_SIGNATURE, KEY_SIGNATURE = f"T* query_grad, {COMMON}", f"T* key_grad, T* value_grad, {COMMON}"
QUERY_GRAD = Kernel("attention_hopper_backward.cu", "attention_hopper_query_grad", QUERY_SIGNATURE, arch="90a")
KEY_GRAD = Kernel("attention_hopper_backward.cu", "attention_hopper_key_grad", KEY_SIGNATURE, arch="90a")
KEYS, ROWS, BLOCK = 128, 64, 64                            # rows of a warpgroup; features of a block, 128 bytes
CONSUMERS, STAGES = {64: 3, 128: 2}, {64: 8, 128: 6}       # by the size of a head: what registers and memory are for
BACKWARD_CONSUMERS, BACKWARD_STAGES, OTHERS = 2, 4, {64: 128, 128: 64}


def shared_bytes(head):
    """The dynamic shared memory of a block: queries, stages of keys or values, the barriers, and room to align."""
    return 2 * head * (CONSUMERS[head] * ROWS + STAGES[head] * KEYS) + 8 * (2 + 2 * STAGES[head]) + 1024


def shared_bytes_backward(head):
    """The same for gradients: two tiles of the block's rows, and of others in each stage, with two numbers for each."""
    rows, lines = BACKWARD_CONSUMERS * ROWS, BACKWARD_STAGES * OTHERS[head]
    return 4 * head * (rows + lines) + 8 * (lines + 2 + 3 * BACKWARD_STAGES) + 1024


def blocks_for(F, query, rows, size, record, how):
    """The number of blocks of a kernel whose blocks take `size` of `rows` each, for all places of the batch; 0 where
    the kernel is not for such arrays, or most multiprocessors would have no work."""
    if capability(F.machine) != 90 or query.dtype.itemsize != 2 or how["HEAD"] < BLOCK or how["MASK"] \
            or not how["ALIGNED"] or how["DROPOUT"]:
        return 0
    parts, most = -(-rows // size) * prod(record["batch"].tolist()), multiprocessors(F.machine)
    return 0 if 2 * parts < most else min(parts, most)


def maps_of(F, record, boxes):
    """The tensor maps of arrays as arguments; `boxes` has a name, the array and the lines of a box for each. None where
    the device takes none."""
    maps = [map_of(x, record[name], record["batch"], lines) for name, x, lines in boxes]
    if None in maps:
        return None
    return [F.machine.by_address(x, hopper.tensor_map(F.machine.real, x.dtype.name, m))
            for (_, x, _), m in zip(boxes, maps)]


def launch(F, out, logs, query, key, value, record, how):
    """Launch the kernel; False, and nothing done, where it is not for these arrays or most multiprocessors would have
    no work. `record` and `how` are the last argument and the constants of the kernels of attention.cu."""
    head = how["HEAD"]
    rows = CONSUMERS.get(head, 1) * ROWS
    blocks = blocks_for(F, query, query.shape[-2], rows, record, how)
    maps = blocks and maps_of(F, record, (("query", query, rows), ("key", key, KEYS), ("value", value, KEYS)))
    if not maps:
        return False
    KERNEL(F.machine, blocks, 128 * (1 + CONSUMERS[head]), out, logs, *maps, record, shared=shared_bytes(head),
           KEYS=KEYS, CONSUMERS=CONSUMERS[head], STAGES=STAGES[head], **how)
    return True


def launch_gradients(F, results, grad, query, key, value, logs, delta, record, how):
    """The same for the gradient of the queries, or for those of keys and values: one or two `results`."""
    of_keys, head, rows = len(results) == 2, how["HEAD"], BACKWARD_CONSUMERS * ROWS
    blocks, lines = blocks_for(F, query, results[0].shape[-2], rows, record, how), OTHERS.get(head)
    of_query, of_key = (lines, rows) if of_keys else (rows, lines)
    maps = blocks and maps_of(F, record, (("query", query, of_query), ("grad", grad, of_query), ("key", key, of_key),
                                          ("value", value, of_key)))
    if not maps:
        return False
    (KEY_GRAD if of_keys else QUERY_GRAD)(
        F.machine, blocks, 128 * (1 + BACKWARD_CONSUMERS), *results, *maps, logs, delta, record,
        shared=shared_bytes_backward(head), OF_KEYS=of_keys, OTHERS=lines, CONSUMERS=BACKWARD_CONSUMERS,
        STAGES=BACKWARD_STAGES, **how)
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
