"""The plain mean, and the mean of gradients rounded to 16 bits, which halves what is sent.

A hook is ``hook(state, bucket)`` with a group (or None) as its state; it returns a Future of the mean.
"""

from ....core import dtypes
from ...collectives import all_reduce
from ...reducing import ReduceOp

__all__ = ["allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook",
           "fp16_compress_wrapper"]


def mean_of(tensor, group):
    """A Future of the mean over the ranks, in the tensor's place."""
    return all_reduce(tensor, ReduceOp.AVG, group, async_op=True).get_future().then(lambda f: f.value()[0])


def allreduce_hook(process_group, bucket):
    """The mean over the ranks."""
    return mean_of(bucket.buffer(), process_group)


def compressed(process_group, bucket, dtype):
    buffer = bucket.buffer()
    return mean_of(buffer.to(dtype), process_group).then(lambda f: f.value().to(buffer.dtype))


def fp16_compress_hook(process_group, bucket):
    """The mean of the gradients rounded to float16."""
    return compressed(process_group, bucket, dtypes.float16)


def bf16_compress_hook(process_group, bucket):
    """The mean of the gradients rounded to bfloat16."""
    return compressed(process_group, bucket, dtypes.bfloat16)


def wrapped(hook, dtype):
    def call(state, bucket):
        before = bucket.buffer().dtype
        bucket.set_buffer(bucket.buffer().to(dtype))
        return hook(state, bucket).then(lambda f: f.value().to(before))
    return call


def fp16_compress_wrapper(hook):
    """`hook` on gradients rounded to float16."""
    return wrapped(hook, dtypes.float16)


def bf16_compress_wrapper(hook):
    """`hook` on gradients rounded to bfloat16."""
    return wrapped(hook, dtypes.bfloat16)
