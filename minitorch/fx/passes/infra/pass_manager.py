"""`PassManager`: passes over a module, in an order that constraints allow."""

import inspect
from collections import deque
from functools import wraps

from ....nn import Module
from ...graph_module import GraphModule
from .pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]


def pass_result_wrapper(fn):
    """A pass that returns a module, or None if it has changed it in place, as one that returns a `PassResult`."""
    if fn is None:
        return None

    @wraps(fn)
    def call(gm):
        result = fn(gm)
        if isinstance(result, PassResult):
            return result
        return PassResult(gm if result is None else result, True) if result is None or isinstance(
            result, Module) else None
    if not inspect.isfunction(fn):
        call.__name__ = type(fn).__name__
    return call


def this_before_that_pass_constraint(this, that):
    """The constraint that the pass `this` runs before `that`: a function of two passes that follow each other, true if
    they may."""
    return lambda a, b: a != that or b != this


def name_of(fn):
    return fn.__name__ if inspect.isfunction(fn) else type(fn).__name__


def in_order(passes, constraints):
    """The passes in an order that all constraints allow. RuntimeError if there is none."""
    if not constraints:
        return passes
    after = {p: [a for a in passes if a != p for allows in constraints if not allows(a, p)] for p in passes}
    missing = {p: sum(found.count(p) for found in after.values()) for p in passes}
    ready, order = deque([p for p in passes if not missing[p]]), []
    while ready:
        p = ready.popleft()
        order.append(p)
        for a in after[p]:
            missing[a] -= 1
            if not missing[a]:
                ready.append(a)
    if len(order) != len(passes):
        raise RuntimeError(f"Circular dependency detected within the following passes: "
                           f"{[p for p in passes if missing[p]]}")
    return order


class PassManager:
    """Runs passes, functions of a module that return a `PassResult`, one after the other: up to `steps` times, until
    none changes anything.

    `constraints` are functions of two passes, false if the first may not run before the second: the passes are put in
    an order that fits. With `run_checks_after_each_pass` the check that `add_checks` has set runs after each.
    """

    def __init__(self, passes=None, constraints=None, steps=None, run_checks_after_each_pass=False,
                 suppress_check_failures=False):
        self.passes, self.constraints, self.steps = passes or [], constraints or [], steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass):
        """Add a pass at the end."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint):
        """Add a constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self):
        """RuntimeError unless the passes are in an order that the constraints allow."""
        for allows in () if self._validated else self.constraints:
            for i, a in enumerate(self.passes):
                for j, b in enumerate(self.passes[i + 1:]):
                    if not allows(a, b):
                        raise RuntimeError(f"pass schedule constraint violated. Expected {a} before {b} but found {a} "
                                           f"at index {i} and {b} at index {j} in pass list.")
        self._validated = True

    def solve_constraints(self):
        """Put the passes in an order that the constraints allow."""
        self.passes, self._validated = in_order(self.passes, self.constraints), True

    def add_checks(self, check):
        """Have ``check(module)`` run before the passes, and after each if the manager was told so."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check                                 # type: ignore[method-assign]

    def check(self, module):
        """The check between passes: none, unless `add_checks` has set one."""

    def __call__(self, module):
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        changed = False
        for _ in range(self.steps):
            modified = False
            for i, fn in enumerate(self.passes):
                module, here = self.run(fn, module, i)
                modified = modified or here
            changed = changed or modified
            if not modified:
                break
        return PassResult(module, changed)

    def run(self, fn, module, i):
        """The module after one pass, and whether it was changed."""
        try:
            result = fn(module)
            if not hasattr(result, "graph_module"):
                raise TypeError(f"The result of the pass {name_of(fn)} should be type PassResult. Please wrap it with "
                                f"pass_result_wrapper()")
            if isinstance(result.graph_module, GraphModule):
                result.graph_module.recompile()
            if self.run_checks_after_each_pass:
                self.check(result.graph_module)
        except Exception as error:
            raise Exception(f"An error occurred when running the '{name_of(fn)}' pass after the following passes: "  # noqa: TRY002  (PyTorch's class)
                            f"{[name_of(p) for p in self.passes[:i]]}") from error
        return result.graph_module, result.modified
