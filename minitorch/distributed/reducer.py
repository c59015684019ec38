"""The gradients of a model in buckets, each averaged over the ranks as soon as the backward pass has filled it.

Parameters are put into buckets in reverse order, since the last layers' gradients come first: a small bucket to begin
with, then larger ones. Where the ranks share memory the buckets lie in it, and are averaged there. A hook runs when a
parameter has its gradient; it copies it into its bucket. Full buckets are sent in order, the same on all ranks, by the
group's thread, while the backward pass goes on. The hook of the last parameter waits for all, and writes the means into
the gradients.
"""

import numpy as np

from .. import Tensor
from ..extend import bump_version, get_backend, wrap
from .buffers import words
from .collectives import all_reduce
from .errors import DistBackendError
from .reducing import ReduceOp

__all__ = ["GradBucket", "Reducer"]

FIRST = 1 << 20                                            # bytes of the first bucket


class GradBucket:
    """The argument of a communication hook: some gradients as one flat tensor.

    The hook returns a Future of the tensor that takes the bucket's place: a mean over the ranks.
    """

    def __init__(self, index, flat, params, slices, last):
        self._index, self._flat, self._params, self._slices, self._last = index, flat, params, slices, last

    def index(self):
        """The number of the bucket; 0 is filled first."""
        return self._index

    def buffer(self):
        """The gradients, one after the other, as a tensor of one dimension."""
        return self._flat

    def set_buffer(self, buffer):
        """Put another tensor in its place."""
        self._flat = buffer

    def gradients(self):
        """The gradients as views of the buffer, in the shapes of the parameters."""
        return [self._flat[a:b].view(p.shape) for p, (a, b) in zip(self._params, self._slices)]

    def parameters(self):
        """The parameters."""
        return list(self._params)

    def is_last(self):
        """True if it is the last bucket of the backward pass."""
        return self._last


class Bucket:
    """Some parameters of one dtype: a flat array for their gradients."""

    def __init__(self, index, params):
        self.index, self.params, self.slices, place = index, params, [], 0
        for p in params:
            self.slices.append((place, place + p.numel()))
            place += p.numel()
        self.size, self.dtype, self.backend = place, params[0].array.dtype, params[0].backend
        self.missing, self.mean = set(), None              # mean: a tensor, or a Future of one
        self.on_device = False                             # whether the flat array lies where the gradients do
        self.flat = self.arrays = None                     # the array, and those of all ranks in memory that they share

    def clear(self):
        """Wait for all gradients."""
        self.missing, self.mean = {id(p) for p in self.params}, None

    def tensor(self):
        """The flat array as a tensor of the parameters' device."""
        return wrap(self.flat if self.on_device else self.backend.from_host(self.flat), self.backend)

    def raw(self, array):
        """An array of the parameters' device as one that the flat array can take."""
        return array if self.on_device else self.backend.to_host(array)


def buckets_of(params, first, most):
    """Parameters, the last first, in buckets of at most `most` bytes (or of one parameter) of one dtype and device."""
    found, open_ = [], {}
    for p in reversed(params):
        key = p.array.dtype, p.backend
        members = open_.setdefault(key, [])
        members.append(p)
        if sum(m.nbytes for m in members) >= (most if found else first):
            found.append(open_.pop(key))
    found += open_.values()
    return [Bucket(i, members) for i, members in enumerate(found)]


class Reducer:
    """The buckets of a model on one rank. `names` are those of `params`, for errors."""

    def __init__(self, params, names, group, most, views):
        self.params, self.group, self.views = params, group, views
        self.names = {id(p): name for p, name in zip(params, names)}
        self.buckets = buckets_of(params, min(FIRST, most), most)
        for bucket in self.buckets:
            bucket.arrays = group.shared(bucket.size, bucket.dtype) if bucket.backend.on_host else None
            bucket.on_device = group.carries(bucket.params[0])
            bucket.flat = (bucket.backend.empty((bucket.size,), bucket.dtype) if bucket.on_device else
                           np.empty(bucket.size, bucket.dtype) if bucket.arrays is None else
                           bucket.arrays[group.rank()])
        self.bucket_of = {id(p): (bucket, cut) for bucket in self.buckets
                          for p, cut in zip(bucket.params, bucket.slices)}
        self.places = {id(p): i for i, p in enumerate(params)}
        self.hook = self.state = None
        self.op, self.factor = ReduceOp.AVG, None          # with `join`, other means
        self.expecting = False                             # whether this pass is to be averaged
        self.begun, self.next, self.used = False, 0, None
        for p in params:
            p.register_post_accumulate_grad_hook(self.ready)

    def prepare(self, find_unused):
        """A forward pass begins whose gradients are to be averaged; an error if the last one's were not."""
        if self.begun:
            missing = [self.names[key] for bucket in self.buckets for key in bucket.missing]
            raise RuntimeError(
                "Expected to have finished reduction in the prior iteration before starting a new one. These "
                f"parameters did not receive a gradient on rank {self.group.rank()}: {', '.join(sorted(missing))}. "
                "Their outputs had no part in the loss. Leave them out of the module, or give "
                "find_unused_parameters=True to "
                "DistributedDataParallel, and make sure that all outputs of `forward` take part in the loss.")
        self.expecting, self.next = True, 0
        self.used = np.zeros(len(self.params), np.uint8) if find_unused else None
        for bucket in self.buckets:
            bucket.clear()

    def ready(self, param):
        """The gradient of a parameter is there."""
        if not self.expecting:
            return
        bucket, (a, b) = self.bucket_of[id(param)]
        if id(param) not in bucket.missing:
            raise RuntimeError(
                f"Expected to mark a variable ready only once: the parameter {self.names[id(param)]!r} received a "
                "gradient a second time after one forward pass, or after it was found to be unused. Call forward "
                "before each backward pass, or use static_graph=True for a graph that is the same in each step.")
        self.begun = True
        place, grad = bucket.flat[a:b], bucket.raw(param._grad.array)
        if not self.views or not np.shares_memory(place, grad, max_work=1):
            place.reshape(grad.shape)[...] = grad
        if self.used is not None:
            self.used[self.places[id(param)]] = 1
        self.count(bucket, param)

    def unused(self, reached):
        """The backward pass begins: parameters that it does not reach count as zeros."""
        if not self.expecting:
            return
        for param in self.params:
            bucket, (a, b) = self.bucket_of[id(param)]
            if id(param) not in reached and id(param) in bucket.missing:
                grad = param._grad                         # of earlier passes without synchronisation
                place = bucket.flat[a:b]
                place[...] = 0 if grad is None else bucket.raw(grad.array).reshape(-1)
                if grad is not None and self.used is not None:
                    self.used[self.places[id(param)]] = 1
                self.begun = True
                self.count(bucket, param)

    def count(self, bucket, param):
        """One gradient less to wait for."""
        bucket.missing.discard(id(param))
        while self.next < len(self.buckets) and not self.buckets[self.next].missing:
            self.next += 1
            self.send(self.buckets[self.next - 1], self.next == len(self.buckets))
        if self.next == len(self.buckets):
            self.finish()

    def send(self, bucket, last):
        """Average a bucket over the ranks; the last one at once, since nothing is left to do meanwhile."""
        flat = bucket.tensor()
        if self.hook is not None:
            bucket.mean = self.hook(self.state, GradBucket(bucket.index, flat, bucket.params, bucket.slices, last))
            if not hasattr(bucket.mean, "wait"):
                raise TypeError(f"a communication hook returns a Future of a tensor, got {type(bucket.mean).__name__}")
            return
        if bucket.arrays is not None:
            op, arrays = self.op, bucket.arrays
            work = self.group.call("all_reduce", words(flat, op.name.lower()),
                                   lambda transport: transport.all_reduce_shared(arrays, op), not last, [flat])
        else:
            work = all_reduce(flat, self.op, self.group, async_op=not last)
        bucket.mean = flat if work is None else work.get_future()

    def finish(self):
        """All gradients are there: write the means into them."""
        self.expecting = self.begun = False
        if self.used is not None:
            all_reduce(wrap(self.used, get_backend("cpu")), ReduceOp.MAX, self.group)
        for bucket in self.buckets:
            self.take(bucket)
            for param, (a, b) in zip(bucket.params, bucket.slices):
                if self.used is None or self.used[self.places[id(param)]]:
                    self.write(param, bucket.flat[a:b].reshape(param.array.shape), bucket.on_device)

    def take(self, bucket):
        """Wait for a bucket's mean, and put it into its array."""
        result = bucket.mean if isinstance(bucket.mean, Tensor) else bucket.mean.wait()
        result = result[0] if isinstance(result, (list, tuple)) else result
        array = bucket.raw(result.array)
        if array.size != bucket.size:
            raise DistBackendError(f"a communication hook returned {array.size} elements for a bucket of {bucket.size}")
        if array is not bucket.flat:
            bucket.flat[...] = array.reshape(-1)
        if self.factor is not None:
            bucket.flat *= bucket.dtype.type(self.factor)
        bucket.mean = None

    def write(self, param, mean, on_device):
        """Make `mean`, an array of the host or of the parameter's device, the gradient of a parameter."""
        grad, given = param._grad, (lambda array: array) if on_device else param.backend.from_host
        if self.views and param.backend.on_host:
            if grad is None or not np.shares_memory(grad.array, mean, max_work=1):
                param._grad = wrap(mean, param.backend)
                return
        elif grad is None:
            param._grad = wrap(given(mean.copy()), param.backend)
            return
        else:
            grad.array[...] = given(mean)
        bump_version(param._grad, "DistributedDataParallel")

    def shadow(self, find_unused):
        """Take part in the reductions of a step of other ranks with zeros; the means are the gradients here, too."""
        for bucket in self.buckets:
            bucket.clear()
            bucket.flat[...] = 0
            bucket.missing.clear()
        for i, bucket in enumerate(self.buckets):
            self.send(bucket, i + 1 == len(self.buckets))
        self.used = np.zeros(len(self.params), np.uint8) if find_unused else None
        self.finish()
