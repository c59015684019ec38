"""`compile`: run a function once, keep what it did as straight-line NumPy, and run that from then on.

    @minitorch.compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

The first call is an ordinary one, written down (`trace`). What it did is shortened (`program`) and becomes the source
of one function (`emit`): no tensors, no graph, no engine, results in buffers that are used again, elementwise chains
in blocks that stay in the cache. ``print(step.source)`` shows it, backward pass included.

A program gives what the function would. It serves while everything that it relies on is as it was: shapes, dtypes,
layouts, modes, Python's arguments, and the globals, closures and attributes that the function reads (`surroundings`).
After a change the function is traced again. What a program cannot say runs eagerly, with the reason in ``step.notes``:
functions whose Python reads values of tensors (``if loss > 3``, ``.item()``), results whose shape depends on values,
variables that are counted up, hooks on a graph that the function goes through itself. Printing alone is not seen: it
happens in the traced call only.
"""

import functools

from ..nn import Module
from .compiled import Compiled
from .module import CompiledModule
from .names import (
    allow_in_graph,
    assume_constant_result,
    cudagraph_mark_step_begin,
    disable,
    get_default_backend,
    is_compiling,
    is_dynamo_compiling,
    is_exporting,
    list_backends,
    reset,
    set_default_backend,
    set_stance,
    substitute_in_graph,
    wrap_numpy,
)
from .stance import current

__all__ = ["Compiled", "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
           "get_default_backend", "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "reset",
           "set_default_backend", "set_stance", "substitute_in_graph", "wrap_numpy"]


def compile(model=None, *, fullgraph=False, dynamic=None, backend=None, mode=None, options=None, disable=False):
    """A function, or a module's `forward`, as a compiled one; usable as a decorator.

    `fullgraph`: RuntimeError, with the reason, where a function has to run eagerly. `disable`: leave it as it is.
    `mode`: "reduce-overhead" makes each program of a device one captured graph, whose results the next run overwrites.
    `backend`: "c" prints C for the processor, as far as loops and products go, and runs it by way of a C compiler
    that is found (``c_source`` shows it; ``notes`` say what is still called, and why; without a compiler the program
    stays NumPy's); "numpy" takes NumPy calls; None, "auto" and any other name do so for the first runs of a program and
    then take C, where there is a compiler and the program gains by it (`choice`). Results are equal to rounding.
    The other arguments of PyTorch's `compile` choose among its compilers; here they make no difference.

    >>> import minitorch as torch
    >>> f = torch.compile(lambda x: (x * x + 1).sum())
    >>> f(torch.ones(3)), f(torch.ones(3))
    (tensor(6.), tensor(6.))
    """
    backend = current.backend if backend is None else backend
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, backend=backend, mode=mode, disable=disable)
    if disable:
        return model
    if not callable(model):
        raise TypeError(f"compile() takes a function or a module, got {type(model).__name__}")
    if isinstance(model, Module):
        return CompiledModule(model, fullgraph, backend)
    return Compiled(model, fullgraph, graphs=mode in ("reduce-overhead", "max-autotune"), backend=backend)
