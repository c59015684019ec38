"""CUDA graphs in PyTorch's spelling: `CUDAGraph`, the context `graph`, `make_graphed_callables`.

    step()                                                 # once or twice before, so that kernels are compiled
    g = minitorch.cuda.CUDAGraph()
    with minitorch.cuda.graph(g):
        loss = step()                                      # written down, not run
    x.copy_(batch)
    g.replay()                                             # runs on what the same tensors hold now

A whole training step can be captured: forward, backward, Adam, AdamW or SGD, dropout. On device "sim" too:
``CUDAGraph("sim")``.
"""

import itertools
from typing import NamedTuple

from .autograd import api
from .autograd.function import Function
from .autograd.grad_mode import no_grad
from .backends.cuda.runtime.graphs import Capture
from .backends.cuda.runtime.machine import import_cupy
from .core.device import get, made
from .core.tensor import Tensor, wrap
from .nn.modules.module import Module

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]


class CUDAGraph:
    """One captured sequence of launches. `device`: the current GPU, another one, or "sim"."""

    def __init__(self, device="cuda", keep_graph=False):
        self.backend, self.capture = get(device), None
        if not hasattr(self.backend, "machine"):
            raise ValueError(f"a graph is captured on a GPU or on device 'sim', not on {self.backend.device}")

    def capture_begin(self, pool=None, capture_error_mode="global"):
        """Write down what follows instead of running it. `pool`: another graph's memory, to be shared with it."""
        self.capture = Capture(self.backend)
        self.capture.begin(**({} if pool is None or self.backend.machine.kind == "sim" else {"pool": pool}))

    def capture_end(self):
        """Stop writing down."""
        self.capture.end()

    def replay(self):
        """Run what was captured, on the current stream; tensors made in the capture hold the results."""
        if self.capture is None or self.capture.recorded is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        self.capture.run()

    def reset(self):
        """Forget what was captured, and give its memory back."""
        self.capture = None

    def pool(self):
        """The memory of this graph, for `capture_begin` of another one that never runs at the same time."""
        return self.capture.recorded[1] if self.backend.machine.kind == "cuda" else None


class graph:                                               # noqa: N801  (PyTorch's name)
    """``with graph(g): ...`` captures the work inside in the `CUDAGraph` `g`. Results exist after ``g.replay()``.

    RuntimeError if the host reads a value of a tensor inside.
    """

    def __init__(self, cuda_graph, pool=None, stream=None, capture_error_mode="global"):
        self.graph, self.pool, self.mode = cuda_graph, pool, capture_error_mode

    def __enter__(self):
        self.graph.capture_begin(self.pool, self.mode)
        return self.graph

    def __exit__(self, kind, *exc):
        if kind is None:
            self.graph.capture_end()
        else:
            self.graph.capture.abandon()


def graph_pool_handle():
    """A pool of memory that graphs can share, as an argument for `graph`."""
    return import_cupy().cuda.MemoryPool()


def is_current_stream_capturing():
    """True if work on any device in use is being captured."""
    found = [get(":".join(map(str, [x for x in key if x is not None]))) for key in made()]
    return any(getattr(getattr(b, "machine", None), "capture", None) is not None for b in found)


def make_graphed_callables(callables, sample_args, num_warmup_iters=3, allow_unused_input=False, pool=None):
    """Functions or modules whose forward and backward passes run as captured graphs.

    `callables` is one or a tuple of them, `sample_args` the tuple of tensors to capture with, or one tuple for each.
    Arguments of later calls must have the same shapes and dtypes. Results are overwritten by the next call.
    """
    if not isinstance(callables, tuple):
        return graphed(callables, sample_args, num_warmup_iters, allow_unused_input)
    return tuple(graphed(f, args, num_warmup_iters, allow_unused_input) for f, args in zip(callables, sample_args))


def graphed(function, sample_args, warmup, allow_unused):
    """One callable as two graphs; a module comes back with its `forward` exchanged, a function as a new one."""
    inputs = tuple(x.detach().clone().requires_grad_(x.requires_grad) for x in sample_args)
    params = tuple(p for p in function.parameters() if p.requires_grad) if isinstance(function, Module) else ()
    result, passes = captured(function, inputs, params, warmup, allow_unused)
    replay = replaying(passes)

    def call(*args):
        found = replay(*args, *params)
        return found if isinstance(result, tuple) else found[0]

    if not isinstance(function, Module):
        return call
    plain, training = function.forward, function.training

    def either(*args, **kwargs):                           # the graphs are of one mode, that of the capture
        return call(*args) if function.training == training and not kwargs else plain(*args, **kwargs)
    function.forward = either
    return function


class Passes(NamedTuple):
    """A forward and a backward pass as graphs, and the tensors that they read and write."""

    forward: CUDAGraph
    backward: CUDAGraph
    inputs: tuple
    outputs: tuple
    seeds: tuple                                           # gradients of the outputs that have a graph
    slots: list                                            # gradients of inputs and parameters, None for some


def captured(function, inputs, params, warmup, allow_unused):
    """The result of ``function(*inputs)``, and its `Passes`; it is run `warmup` times before."""
    wanted = tuple(x for x in (*inputs, *params) if x.requires_grad)
    for _ in range(warmup):
        outputs = as_tuple(function(*inputs))
        if wanted:
            api.grad(live(outputs), wanted, [o.detach() for o in live(outputs)], allow_unused=allow_unused)
    forward, backward = CUDAGraph(inputs[0].device), CUDAGraph(inputs[0].device)
    with graph(forward):
        result = function(*inputs)
    outputs = as_tuple(result)
    seeds = tuple(wrap(o.backend.xp.zeros(o.shape, o.array.dtype), o.backend) for o in live(outputs))
    found = ()
    if wanted:
        with graph(backward):
            found = api.grad(live(outputs), wanted, seeds, allow_unused=allow_unused)
    grads = iter(found)
    slots = [next(grads) if x.requires_grad else None for x in (*inputs, *params)]
    return result, Passes(forward, backward, inputs, outputs, seeds, slots)


def replaying(passes):
    """A function of new inputs and of the parameters, whose passes replay the captured ones."""
    makes = tuple(o.detach() for o in passes.outputs)
    recorded = [o.requires_grad for o in passes.outputs]

    class Graphed(Function):
        @staticmethod
        def forward(ctx, *given):
            with no_grad():
                for mine, x in zip(passes.inputs, given):
                    mine.copy_(x)
            passes.forward.replay()
            results = tuple(o.detach() for o in makes)
            ctx.mark_non_differentiable(*[r for r, on in zip(results, recorded) if not on])
            return results

        @staticmethod
        def backward(ctx, *gs):
            with no_grad():
                for mine, g in zip(passes.seeds, [g for g, on in zip(gs, recorded) if on]):
                    mine.copy_(g)
            passes.backward.replay()
            return tuple(None if s is None else s.clone() for s in passes.slots)
    return Graphed.apply


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


def live(outputs):
    return tuple(itertools.compress(outputs, [isinstance(o, Tensor) and o.requires_grad for o in outputs]))
