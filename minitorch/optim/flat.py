"""`Elementwise`: one step of an optimiser over all parameters, in blocks that stay in the processor's cache.

An update rule is a dozen array operations. On one small array each costs more in calls than in arithmetic, and on
one large array each goes through main memory again. So the elements of all parameters are dealt with in chunks of
up to `tuning.optimizer_block`: a large parameter is cut into slices, small ones are copied side by side into scratch
memory and back after the update. Their states lie side by side for good: the state tensors in `Optimizer.state` are
views of common buffers. Adam on 148 parameters of 1,000 elements takes an eighth of the time of PyTorch's default, on
one of 10 million 0.8 (one thread each, `benchmarks/optimizers.py`); PyTorch's ``fused=True``, one pass over memory
instead of two dozen over the cache, is some two times faster than this on large parameters.

What the user may do between two steps (freeze or replace parameters, edit or load states, add groups) is found by
comparing the arrays with those that the plan of the last step was made for; where they differ, a new plan is made.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.device import host
from ..core.graph import calling_line, versions
from ..core.tensor import Tensor, wrap
from ..ops.layouts import shaped_like
from .chunks import Plan, Workspace, is_small
from .optimizer import Optimizer, counter_type, loss_of, number

__all__ = ["Elementwise", "has_kernel", "lerp", "add_square"]

DECAYS = ("l2", "decoupled", None)

special: list = []         # functions that are asked first: `Elementwise.ask_first`


class Elementwise(Optimizer):
    """An optimiser whose update treats every element alike. A subclass says:

    - ``rule(xp, p, g, states, scratch, c)``: the update on flat arrays, in place (a static method);
    - ``slots(group)``: the states that have the shape of the parameter, name to first value;
    - ``counters``: the states that are one number for each parameter, by default the step count;
    - ``coefficients(group, fresh, *counters)``: the counters after this step and the rule's coefficients `c`, a named
      tuple (kernels for all parameters at once read them in its order);
    - ``decay``: what the option `weight_decay` means. It has no default, because a wrong one gives
      wrong numbers and no error. "l2": ``weight_decay * p`` is added to the gradient before the
      rule sees it. "decoupled": p shrinks by ``lr * weight_decay * p`` before the rule. None: the
      rule decays p itself, by its coefficients, or there is no such option.

    With "l2" and "decoupled" neither the rule nor `coefficients` deal with weight decay. Negation
    for the option `maximize`, weight decay, closures, state, dtypes and layout are handled here.
    float16 and bfloat16 parameters are updated in float32 and rounded once at the end, which is
    more exact than PyTorch's rounding after every operation; their states have their own dtype, as
    in PyTorch. `foreach`, `fused` and `capturable` choose among PyTorch's kernels; here they are
    accepted and make no difference.
    """

    rule: Any = None
    scratch = 1                                            # how many scratch arrays the rule needs
    decay: str | None                                      # each subclass says it

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if not hasattr(cls, "decay") or cls.decay not in DECAYS:
            raise TypeError(
                f"{cls.__name__} must say what weight_decay means to it: decay = \"l2\" (added to "
                f"the gradient), \"decoupled\" (p shrinks before the rule) or None (the rule "
                f"decays p itself, or never); got {getattr(cls, 'decay', 'nothing')!r}")

    def __init__(self, params, defaults):
        if self.decay and "weight_decay" not in defaults:
            raise TypeError(f"{type(self).__name__} has decay = {self.decay!r}, but no option "
                            f"weight_decay")
        self._plans, self._workspace = {}, Workspace()
        super().__init__(params, defaults)

    def decay_of(self, group):
        """`decay`, unless an option of the group may choose another one."""
        return self.decay

    def shrink_and_decay(self, group):
        """The factor for p (None: 1), and what times p is added to the gradient (0: nothing)."""
        decay = float(group["weight_decay"]) if self.decay else 0
        if decay and self.decay_of(group) == "decoupled":
            return 1 - number(group["lr"]) * decay, 0
        return None, decay

    def slots(self, group):
        """The states of the parameter's shape: name to first value."""
        raise NotImplementedError

    def first(self, group, counter):
        """The first value of a counter."""
        return 0.0

    def coefficients(self, group, fresh, *counters):
        """The counters after this step, and the rule's coefficients; `fresh`: the state is all new."""
        raise NotImplementedError

    def step(self, closure=None):
        """Update the parameters from their gradients; with a closure, evaluate it first and return its loss."""
        loss = loss_of(closure)
        for index, group in enumerate(self.param_groups):
            params = [p for p in group["params"] if p._grad is not None]
            if params:
                self._update(index, group, params)
        return loss

    @staticmethod
    def ask_first(function):
        """A decorator of ``function(optimizer, key, group, params)``, asked before each update of
        `params`; True if it has done it. Sparse gradients are stepped so."""
        special.append(function)
        return function

    @staticmethod
    def step_within(holds, inside, around):
        """Have parameters that hold another tensor updated by that one: DTensors by their parts,
        nested tensors by their values.

        - ``holds(x)``: True for a tensor of the kind
        - ``inside(p, x)``: the tensor in `x`, which is the parameter `p`, its gradient or one of
          its states, as it lies in `p`
        - ``around(p, x)``: a tensor that lies as `p` does, around `x`
        """
        Elementwise.ask_first(Within(holds, inside, around))

    # -- one group -----------------------------------------------------------------------------------------
    def _update(self, key, group, params):
        """One step for the tensors `params` of `group`; all have gradients."""
        if special and any(step(self, key, group, params) for step in special):
            return
        slots, fresh = self.slots(group), ()
        names = (*self.counters, *slots)
        arrays = self._arrays(params, names)
        if arrays is None:
            fresh = self._create(group, params, slots)
            arrays = self._arrays(params, names)
        n = len(params)
        counts = [[x.item() for x in arrays[k * n:(k + 1) * n]] for k in range(1, 1 + len(self.counters))]
        plan = self._plans.get(key)
        if plan is None or not plan.fits(arrays, counts):
            plan = self._plans[key] = Plan(params, arrays, counts, fresh, names, self.scratch, self._workspace,
                                             self.rule)
        grads = plan.gradients(params)
        for bucket in plan.buckets:
            counters = [[arrays[k * n + i] for i in bucket.members] for k in range(1, 1 + len(self.counters))]
            if bucket.capture is not None:
                self._capture(group, bucket, grads, counters, bool(fresh))
            else:
                numbers = self._coefficients(group, params[bucket.members[0]] in fresh, counters)
                self._apply(group, bucket, grads, *numbers)
        versions.bump(plan.memories, f"{type(self).__name__}.step", calling_line())
        if plan.repeated:                                  # parameters that the group lists twice move twice
            self._update((key, "repeated"), group, plan.repeated)

    def _coefficients(self, group, fresh, counters):
        """Coefficients of one step, the factor for p (or None) and the weight decay; counters are moved on.

        `counters` has a list of arrays for each counter, which are equal.
        """
        after, c = self.coefficients(group, fresh, *[column[0].item() for column in counters])
        for column, value in zip(counters, after):
            for x in column:
                x[()] = value
        return c, *self.shrink_and_decay(group)

    def _capture(self, group, bucket, grads, counters, fresh):
        """Record a step in a captured graph, which asks for its coefficients before each run."""
        if not bucket.at_once:
            raise RuntimeError(f"{type(self).__name__} cannot be captured in a graph: its rule has no kernel, or "
                               f"parameters, gradients or states are not contiguous")
        if fresh:
            raise RuntimeError(f"{type(self).__name__} has no state yet: run a step or two before capturing one")

        def numbers():
            c, shrink, decay = self._coefficients(group, False, counters)
            return [*c, *[0.0] * (7 - len(c)), 1.0 if shrink is None else shrink, decay]
        of_rule = bucket.capture.numbers(9, numbers)
        bucket.at_once([grads[i] for i in bucket.members], (), 1, 0, group.get("maximize"), of_rule)

    def _apply(self, group, bucket, grads, c, shrink, decay):
        """Run the update rule over the chunks of one bucket."""
        xp, rule, maximize = bucket.xp, self.rule, group.get("maximize")
        if bucket.at_once:                                 # a kernel of the backend's for this rule
            bucket.at_once([grads[i] for i in bucket.members], c, 1 if shrink is None else shrink, decay, maximize)
            return
        c = bucket.operands(c)
        if shrink is not None:
            shrink = bucket.operand(shrink)
        if decay:
            decay, combine = bucket.operand(decay), xp.subtract if maximize else xp.add
        for chunk in bucket.chunks:
            p, scratch = chunk.p, chunk.scratch
            g = chunk.load(grads)
            if shrink is not None:                         # p <- (1 - lr decay) p
                xp.multiply(p, shrink, p)
            if decay:                                      # g <- decay p + g, or - g
                xp.multiply(p, decay, scratch[0])
                g = combine(scratch[0], g, chunk.g)
            elif maximize:
                g = xp.negative(g, chunk.g)
            rule(xp, p, g, chunk.states, scratch, c)
            chunk.store()

    # -- state ---------------------------------------------------------------------------------------------
    def _arrays(self, params, names):
        """The arrays of the parameters, then of each of their states by name; None if a state is missing."""
        found = [p.array for p in params]
        if names:
            try:
                states = [self.state.get(p) for p in params]
                for name in names:
                    found += [s[name].array for s in states]
            except (KeyError, TypeError, AttributeError):
                return None
        return found

    def _create(self, group, params, slots):
        """Make the states that are missing; returns the parameters that had some missing."""
        fresh = [p for p in params if any(self.state[p].get(name) is None for name in (*self.counters, *slots))]
        for name in self.counters:
            for p in fresh:
                value = self.state[p].get(name)
                if not isinstance(value, Tensor):
                    value = self.first(group, name) if value is None else value
                    self.state[p][name] = wrap(np.array(value, counter_type()), host())
        for name, value in slots.items():
            lacking = [p for p in fresh if self.state[p].get(name) is None]
            for p, array in side_by_side(lacking, value):
                self.state[p][name] = wrap(array, p.backend)
        return set(fresh)

    def __setstate__(self, state):
        """After loading or copying: counters that older versions kept as numbers become tensors, states flat."""
        super().__setstate__(state)
        self._plans, self._workspace = {}, Workspace()
        for group in self.param_groups:
            params = [p for p in group["params"] if self.state.get(p)]
            for p in params:
                for name in self.counters:
                    value = self.state[p].get(name)
                    if value is not None and not isinstance(value, Tensor):
                        self.state[p][name] = wrap(np.array(value, counter_type()), host())
            for name in self.slots(group):
                held = [p for p in params if isinstance(self.state[p].get(name), Tensor)
                        and self.state[p][name].array.shape == p.array.shape
                        and not hasattr(p.array, "value")  # those of DTensors stay as they lie
                        # and so do sparse and nested ones
                        and self.state[p][name].array.__class__ is p.backend.ndarray]
                for p, array in side_by_side(held):
                    array[...] = self.state[p][name].array
                    self.state[p][name] = wrap(array, p.backend)


def side_by_side(params, value=0):
    """(parameter, array like it filled with `value`) for each; small ones share a buffer."""
    def kind(p):
        return id(p.backend), p.array.dtype.str, is_small(p.array)

    order = {}                                             # first-come order, unlike sorting
    for p in params:
        order.setdefault(kind(p), []).append(p)
    for (_, _, small), members in order.items():
        xp = members[0].backend.xp
        for run in [members] if small else ([p] for p in members):
            first = complex(value, value) if run[0].array.dtype.kind == "c" else value
            buffer = xp.full(sum(p.array.size for p in run), first, run[0].array.dtype)
            start = 0
            for p in run:
                stop = start + p.array.size
                yield p, shaped_like(buffer[start:stop], p.array)
                start = stop


# ------------------------------------------------------------------ rules
def has_kernel(name):
    """A decorator of the rule that backends may have a kernel for: see `Backend.step_at_once`."""
    def mark(rule):
        rule.kernel = name
        return rule
    return mark


def lerp(xp, a, b, weight, s):
    """``a <- a + weight (b - a)``: `a` is a running mean of the `b`; `s` is scratch."""
    xp.subtract(b, a, s)
    xp.multiply(s, weight, s)
    xp.add(a, s, a)


def add_square(xp, a, b, decay, weight, s):
    """``a <- decay a + weight b^2``; `s` is scratch."""
    xp.multiply(a, decay, a)
    xp.multiply(b, b, s)
    xp.multiply(s, weight, s)
    xp.add(a, s, a)


class Within(NamedTuple):
    """Steps of parameters that hold another tensor: an elementwise rule updates that one, which
    stands in for the parameter. See `Elementwise.step_within`."""

    holds: Any
    inside: Any
    around: Any

    def __call__(self, optimizer, key, group, params):
        """Update `params` by what they hold, where they do; False if none does."""
        if not any(map(self.holds, params)):
            return False
        inner = [self.taken(optimizer, p) if self.holds(p) else p for p in params]
        try:
            optimizer._update(key, group, inner)
        finally:
            for p, x in zip(params, inner):
                if x is not p:
                    self.put_back(optimizer, p, x)
        return True

    def taken(self, optimizer, p):
        """The tensor in a parameter, with its gradient and its state."""
        x = self.inside(p, p)
        x._grad = self.inside(p, p._grad)
        state = optimizer.state.get(p)
        if state is not None:
            optimizer.state[x] = {name: self.inside(p, s) if self.holds(s) else s
                                  for name, s in state.items()}
        return x

    def put_back(self, optimizer, p, x):
        """Give the parameter the state of the tensor in it: states that were written in place stay
        the tensors that they are."""
        found, state = optimizer.state.pop(x, None), optimizer.state[p]
        for name, s in (found or {}).items():
            array, before = getattr(s, "array", None), state.get(name)
            if self.holds(before) and self.inside(p, before).array is array:
                continue
            is_slot = name not in optimizer.counters
            fits = is_slot and getattr(array, "shape", None) == x.array.shape
            state[name] = self.around(p, s) if fits else s
