"""`compile`: run a function once, keep its array calls as straight-line NumPy, and run these later.

    @minitorch.compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

The first call is an ordinary one, which is recorded (`trace`). The recording is simplified
(`program`) and becomes the source of one function (`emit`), without tensors, graph and engine:
results go to buffers that are used again, and elementwise chains run in blocks that stay in the
cache. ``print(step.source)`` shows it, backward pass included.

A program has the same results as the function. It is valid while everything that it relies on is
unchanged: shapes, dtypes, layouts, modes, Python arguments, and the globals, closures and
attributes that the function reads (`surroundings`). After a change the function is traced again. A
function that a program cannot express runs eagerly, with the reason in ``step.notes``: its Python
reads values of tensors (``if loss > 3``, ``.item()``), the shape of a result depends on values, it
counts a variable up, it prints, it uses an iterator, a file or another object whose state cannot be
watched, or it runs a backward pass through a graph with hooks.
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
from .options import check_backend, check_mode, check_options
from .stance import current

__all__ = ["Compiled", "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
           "get_default_backend", "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "reset",
           "set_default_backend", "set_stance", "substitute_in_graph", "wrap_numpy"]


def compile(model=None, *, fullgraph=False, dynamic=None, backend=None, mode=None, options=None, disable=False):
    """Compile a function, or a module's `forward`; usable as a decorator.

    - `fullgraph`: raise RuntimeError, with the reason, if a function has to run eagerly. One that
      changes Python values in its first call, as those that fill a cache, may do so once
    - `disable`: return the function unchanged
    - `mode`: "reduce-overhead" makes each program of a device one captured graph, whose results the
      next run overwrites
    - `backend`: "numpy" runs NumPy calls. "c" prints C for the processor, for all loops and
      products, and builds it with a C compiler, if one is found; ``c_source`` shows it, and
      ``notes`` list the calls that remain, with reasons. None, "auto" and PyTorch's names use NumPy
      for the first runs of a program and then C, if there is a compiler and C is faster (`choice`).
      Results are equal up to rounding

    The other arguments of PyTorch's `compile` choose among its compilers and have no effect here.
    RuntimeError for a mode, a backend or an option that does not exist, and for a mode beside
    options.

    >>> import minitorch as torch
    >>> f = torch.compile(lambda x: (x * x + 1).sum())
    >>> f(torch.ones(3)), f(torch.ones(3))
    (tensor(6.), tensor(6.))
    """
    backend = current.backend if backend is None else backend
    check_backend(backend)
    check_mode(mode, options)
    check_options(options)
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, backend=backend, mode=mode, options=options,
                                 disable=disable)
    if disable:
        return model
    if not callable(model):
        raise TypeError(f"compile() takes a function or a module, got {type(model).__name__}")
    if isinstance(model, Module):
        return CompiledModule(model, fullgraph, backend)
    return Compiled(model, fullgraph, graphs=mode in ("reduce-overhead", "max-autotune"), backend=backend)
