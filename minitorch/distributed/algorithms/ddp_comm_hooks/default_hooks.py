"""The plain mean, and the mean of gradients rounded to 16 bits, which halves what is sent.

A hook is ``hook(state, bucket)`` with a group (or None) as its state; it returns a Future of the mean.
"""

from .... import bfloat16, float16
from ...collectives import all_reduce
from ...reducing import ReduceOp

__all__ = ["allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook",
           "fp16_compress_wrapper"]


def allreduce_hook(process_group, bucket):
    """The mean over the ranks."""
    work = all_reduce(bucket.buffer(), ReduceOp.AVG, process_group, async_op=True)
    return work.get_future().then(lambda f: f.value()[0])


def fp16_compress_hook(process_group, bucket):
    """The mean of the gradients rounded to float16."""
    return wrapped(allreduce_hook, float16)(process_group, bucket)


def bf16_compress_hook(process_group, bucket):
    """The mean of the gradients rounded to bfloat16."""
    return wrapped(allreduce_hook, bfloat16)(process_group, bucket)


def wrapped(hook, dtype):
    """`hook` on gradients rounded to a dtype."""
    def call(state, bucket):
        before = bucket.buffer().dtype
        bucket.set_buffer(bucket.buffer().to(dtype))
        return hook(state, bucket).then(lambda f: f.value().to(before))
    return call


def fp16_compress_wrapper(hook):
    """`hook` on gradients rounded to float16."""
    return wrapped(hook, float16)


def bf16_compress_wrapper(hook):
    """`hook` on gradients rounded to bfloat16."""
    return wrapped(hook, bfloat16)
