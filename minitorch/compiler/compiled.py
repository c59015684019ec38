"""`Compiled`: a function and the programs that were made of it, chosen by the kinds of its arguments."""

import functools
import inspect

from ..amp import autocast_mode as mixed_precision
from ..autograd import dispatch, saved
from ..core import layers
from ..core.device import get
from ..core.grad_mode import grad_mode
from .graphed import Graph, why_not
from .guards import signature, watched_modules
from .plan import Plan
from .trace import Tracer

__all__ = ["Compiled"]


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
        if saved.stack.pairs or dispatch.would_ask(tensors):
            return self.function(*args, **kwargs)          # a program saves nothing, and makes plain tensors
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
        if any(isinstance(t.backend, Tracer) for t in tensors) or isinstance(get(), Tracer):
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
