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

A new shape, dtype, Python argument, or a model changed between `train` and `eval`, is traced again. What Python does
besides tensors (printing, counting) happens in the traced call only; a function whose Python reads values of tensors
(``if loss > 3``, ``.item()``) cannot be kept and runs eagerly, with the reason in ``step.notes``.
"""

import functools
import inspect

from .. import backends
from ..amp import autocast_mode as mixed_precision
from ..core import layers
from ..core.grad_mode import grad_mode
from .guards import signature, watched_modules
from .plan import Plan
from .trace import Tracer

__all__ = ["Compiled", "compile"]


def compile(model=None, *, fullgraph=False, dynamic=None, backend=None, mode=None, options=None, disable=False):
    """A function, or a module's `forward`, as a compiled one; usable as a decorator.

    `fullgraph`: RuntimeError, with the reason, where a function has to run eagerly. `disable`: leave it as it is.
    `mode`: "reduce-overhead" makes each program of a device one captured graph, whose results the next run overwrites.
    The other arguments of PyTorch's `compile` choose among its compilers; here they make no difference.

    >>> import minitorch as torch
    >>> f = torch.compile(lambda x: (x * x + 1).sum())
    >>> f(torch.ones(3)), f(torch.ones(3))
    (tensor(6.), tensor(6.))
    """
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, mode=mode, disable=disable)
    if disable:
        return model
    if not callable(model):
        raise TypeError(f"compile() takes a function or a module, got {type(model).__name__}")
    from ..nn.modules.module import Module
    if isinstance(model, Module):
        from .module import CompiledModule
        return CompiledModule(model, fullgraph)
    return Compiled(model, fullgraph, graphs=mode in ("reduce-overhead", "max-autotune"))


class Compiled:
    """A function and the programs made of it, one for each kind of arguments.

    ``source`` is that of the program used last, ``notes`` say what was done or why a function runs eagerly.
    """

    def __init__(self, function, fullgraph=False, modules=None, graphs=False):
        functools.update_wrapper(self, function)
        self.function, self.fullgraph, self.graphs = function, fullgraph, graphs
        self.modules = watched_modules(function) if modules is None else modules
        self.plans, self.notes, self._last = {}, [], None
        try:
            self.names = [p.name for p in inspect.signature(function).parameters.values()]
        except (TypeError, ValueError):
            self.names = []

    def __call__(self, *args, **kwargs):
        tensors, key = signature(args, kwargs)
        key = key, grad_mode.enabled, mixed_precision.state.enabled, tuple([m.training for m in self.modules])
        plans = self.plans.get(key)
        if plans is None:
            plans = self.plans[key] = []
        for plan in plans:
            if plan is None:                               # known to need Python
                return self.function(*args, **kwargs)
            if plan.fits():
                self._last = plan
                return plan.run(tensors) if not layers.stack else self.layered(plan)(tensors)
        if len(plans) >= 8:                                # its surroundings change all the time
            return self.function(*args, **kwargs)
        return self.trace(args, kwargs, tensors, plans)

    def layered(self, plan):
        """A run of the program as one call, with the layers that are on the backends around it."""
        return layers.around(f"compiled {getattr(self, '__name__', 'function')}", plan.run, plan.base)

    def trace(self, args, kwargs, tensors, plans):
        """Run eagerly once, and keep the program."""
        if any(isinstance(t.backend, Tracer) for t in tensors) or isinstance(backends.get(), Tracer):
            return self.function(*args, **kwargs)          # called by a function that is being traced: part of it
        plan, result = Plan.trace(self.function, args, kwargs, tensors, self.names, self.modules)
        if plan.reason is None:
            plans.append(plan)
            self._last = plan
            self.notes += plan.program.notes
            if self.graphs:
                self.make_graph(plan)
        else:
            plans.append(None)
            note = f"{getattr(self.function, '__name__', 'function')} runs eagerly: {plan.reason}"
            self.notes.append(note)
            if self.fullgraph:
                raise RuntimeError(note)
        return result

    def make_graph(self, plan):
        from .graphed import Graph, why_not
        reason = why_not(plan)
        if reason is None:
            plan.graph = Graph(plan)
        else:
            self.notes.append(f"no captured graph: {reason}")

    @property
    def source(self):
        """The source of the program used last; RuntimeError if there is none."""
        if self._last is None:
            raise RuntimeError("no program yet: " + (self.notes[-1] if self.notes else "call the function first"))
        return self._last.source

    def __get__(self, instance, owner=None):
        """As a method: bound like a function."""
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self):
        return f"<compiled {getattr(self.function, '__name__', self.function)}>"
