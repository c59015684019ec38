"""`Compiled`: a function and its programs, which are chosen by the kinds of the arguments."""

import functools
import inspect
import weakref

import numpy as np

from ..extend import must_run_eagerly
from . import trace
from .choice import Waiting, become_c
from .graphed import Graph, why_not
from .guards import circumstances, signature, watched_modules
from .plan import Plan, planned
from .sized import HANDFUL
from .stance import current
from .surroundings import Surroundings

__all__ = ["Compiled"]

EAGERLY = (None,)  # in place of plans, for a kind of arguments that has to run in Python
KINDS = 256                # of arguments that a function keeps plans for
PLANS = 8                  # for one kind of arguments, with different surroundings


class Compiled:
    """A function and the programs made of it, one for each kind of arguments.

    ``source`` is that of the program used last; ``notes`` describe the programs, or the reasons why
    the function runs eagerly.
    """

    # all of them: `compiler.reset` forgets their programs
    living: weakref.WeakSet = weakref.WeakSet()

    def __init__(self, function, fullgraph=False, modules=None, graphs=False, backend="auto"):
        functools.update_wrapper(self, function)
        Compiled.living.add(self)
        self.function, self.fullgraph, self.graphs = function, fullgraph, graphs
        self.label = f"compiled {getattr(self, '__name__', 'function')}"
        self.modules, self.backend = modules, backend
        self.plans, self.notes, self._last, self.quick = {}, [], None, None
        self.settling = False                              # True after a trace that changed values
        try:
            self.names = [p.name for p in inspect.signature(function).parameters.values()]
        except (TypeError, ValueError):
            self.names = []

    def __call__(self, *args, **kwargs):
        if current.eager:
            return self.function(*args, **kwargs)
        plan = self.quick
        if plan is not None and not kwargs and plan.takes(args) and not (
                must_run_eagerly(args)) and plan.fits(args):
            return self.run(plan, args, args, kwargs)
        tensors, others, key = signature(args, kwargs)
        if must_run_eagerly(tensors):
            # a program saves nothing, and makes plain tensors
            return self.function(*args, **kwargs)
        key = key, circumstances()
        plans = self.plans_for(key)
        for plan in plans:
            if plan.__class__ is not Plan:                 # known to need Python
                return self.function(*args, **kwargs)
            if plan.fits(tensors):
                if plan.outdated:
                    return self.trace(args, kwargs, tensors, others, plans, plan)
                self.prefer(plan, plans)
                self.quick = plan.noted(args, kwargs, tensors, key[1]) or self.quick
                return self.run(plan, tensors, args, kwargs)
        if not self.may_trace(plans, key):
            return self.function(*args, **kwargs)
        return self.trace(args, kwargs, tensors, others, plans)

    def plans_for(self, key):
        """The plans for one kind of arguments; with too many kinds, new ones run eagerly."""
        plans = self.plans.get(key)
        if plans is None:
            if len(self.plans) >= KINDS:
                return EAGERLY
            plans = self.plans[key] = []
        return plans

    def may_trace(self, plans, key):
        """False within a trace, in which the values that a function reads keep changing, and if the
        stance forbids it."""
        if len(plans) >= PLANS or trace.active:
            return False
        return self.plans == {key: []} or current.recompile(self.function)

    def prefer(self, plan, plans):
        """Try this plan first from now on: most calls are of the same kind as the last one."""
        self._last = plan
        if plan is not plans[0]:
            plans.remove(plan)
            plans.insert(0, plan)

    def run(self, plan, tensors, args, kwargs):
        """Run a plan as one call for the layers that are on the backends; the function
        itself explains an error, if it may run again."""
        try:
            return plan.base.layered(self.label, plan.run)(tensors)
        except Exception:
            if not plan.repeatable:
                raise
            return self.function(*args, **kwargs)

    def trace(self, args, kwargs, tensors, others, plans, old=None):
        """Run eagerly once, and keep the program; only run while another trace is under way, which
        may have begun in another thread a moment ago.
        """
        if not trace.turn.acquire(blocking=False):
            return self.function(*args, **kwargs)
        try:
            return self.traced(args, kwargs, tensors, others, plans, old)
        finally:
            trace.turn.release()

    def traced(self, args, kwargs, tensors, others, plans, old):
        """Run eagerly once, and keep the program; with native kernels if it replaces an `old` one.
        """
        modules = watched_modules(self.function) if self.modules is None else self.modules
        if old is not None:
            old.outdated = False                           # it stays if anything goes wrong here
        in_c = self.backend == "c" or old is not None
        surroundings = Surroundings(self.function, others)
        sized = sum(map(len, self.plans.values())) >= HANDFUL
        plan, reason, result = planned(self.function, args, kwargs, tensors, self.names, modules,
                                       surroundings, in_c, sized)
        if plan is not None:
            self.prepare(plan, in_c)
            plans[:] = [*[p for p in plans if p is not old], plan]
            self._last = plan
            return result
        name = getattr(self.function, "__name__", "function")
        if old is not None:
            self.notes.append(f"{name} stays NumPy's: {reason}")
            return result
        if surroundings.settled is False and not self.settling:
            self.settling = True                           # as `model.eval()` in the first call
            self.notes.append(f"{name} is traced again: {reason}")
            return result
        plans.append(others)                               # kept, so that their ids stay their own
        note = f"{name} runs eagerly: {reason}"
        self.notes.append(note)
        if self.fullgraph:
            raise RuntimeError(note)
        return result

    def prepare(self, plan, in_c):
        """Give a new plan its code, now or later, and add notes."""
        on_numpy = plan.base.xp is np
        self.notes += plan.notes
        if in_c and on_numpy:
            become_c(plan, self.notes, asked=self.backend == "c")
        if self.graphs:
            self.make_graph(plan)
        if not in_c and self.backend != "numpy" and on_numpy:
            plan.function = Waiting(plan, self.notes)

    def make_graph(self, plan):
        reason = why_not(plan)
        if reason is None:
            plan.graph = plan.function = Graph(plan)
        else:
            self.notes.append(f"no captured graph: {reason}")

    @property
    def source(self):
        """The source of the program used last; RuntimeError if there is none."""
        if self._last is None:
            why = self.notes[-1] if self.notes else "call the function first"
            raise RuntimeError("no program yet: " + why)
        return self._last.code.source

    @property
    def c_source(self):
        """The C of the program used last; "" if it is made of NumPy calls alone. RuntimeError if
        there is none."""
        self.source                                        # noqa: B018  (which raises the error)
        return self._last.code.c_source

    def __get__(self, instance, owner=None):
        """As a method: bound like a function."""
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self):
        return f"<compiled {getattr(self.function, '__name__', self.function)}>"
