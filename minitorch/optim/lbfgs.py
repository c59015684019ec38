"""`LBFGS`: a quasi-Newton method for full batches, with the line search of Wolfe."""

from collections import namedtuple
from math import sqrt

import numpy as np

from ..core.graph import bump_version
from ..core.tensor import Tensor, wrap
from .chunks import parts
from .optimizer import Optimizer, check_lr, loss_of

__all__ = ["LBFGS"]

Point = namedtuple("Point", "t f g slope")     # a step along the search direction: its length, loss, gradient, slope


class LBFGS(Optimizer):
    """Limited-memory BFGS: Newton's method with the inverse Hessian estimated from the last steps.

    Args:
        params: the tensors to optimise: one group, one device; of complex ones the parts are optimised.
        lr: length of the steps, or the first length that the line search tries.
        max_iter: iterations in one call of `step`.
        max_eval: evaluations of the closure in one call, by default ``max_iter * 5 // 4``.
        tolerance_grad: stop when no element of the gradient is larger.
        tolerance_change: stop when neither the loss nor any parameter changes by more.
        history_size: how many steps the estimate rests on; each takes the memory of two copies of the parameters.
        line_search_fn: None or ``"strong_wolfe"``.

    Liu and Nocedal, "On the limited memory BFGS method for large scale optimization", Math. Programming 1989;
    Nocedal and Wright, "Numerical Optimization", algorithms 7.4, 7.5 (two loops) and 3.5, 3.6 (line search).

    >>> import minitorch
    >>> w = minitorch.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = minitorch.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure).item()
    13.0
    >>> [round(x, 3) for x in w.tolist()]
    [1.0, 1.0]
    """

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9,
                 history_size=100, line_search_fn=None):
        check_lr(lr)
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        super().__init__(params, dict(lr=lr, max_iter=max_iter, max_eval=max_eval, tolerance_grad=tolerance_grad,
                                      tolerance_change=tolerance_change, history_size=history_size,
                                      line_search_fn=line_search_fn))

    def add_param_group(self, param_group):
        if self.param_groups:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups): it has one group only")
        super().add_param_group(param_group)

    def step(self, closure):
        """Run up to `max_iter` iterations; returns the loss before the first one.

        `closure` sets the gradients to zero, evaluates the model, calls ``backward()`` and returns the loss.
        """
        group = self.param_groups[0]
        search = group["line_search_fn"]
        if search not in (None, "strong_wolfe"):
            raise RuntimeError(f"only 'strong_wolfe' is supported, got line_search_fn={search!r}")
        lr, change = float(group["lr"]), group["tolerance_change"]
        state = self.state[group["params"][0]]             # of all parameters, kept with the first, as in PyTorch
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first_loss = loss_of(closure)
        loss, g, evals = float(first_loss), self._gradient(), 1
        state["func_evals"] += 1
        if abs(g).max() <= group["tolerance_grad"]:
            return first_loss
        memory = Memory(state, group["history_size"])
        for n in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            d = memory.direction(g) if state["n_iter"] > 1 else memory.restart(g)
            memory.g, memory.loss = g, loss
            t = memory.t = min(1.0, 1.0 / abs(g).sum()) * lr if state["n_iter"] == 1 else lr
            slope = g @ d
            if slope > -change:
                break
            used = 0
            if search is not None:
                best, used = strong_wolfe(self._along(d, closure), Point(0, loss, g, slope), t, abs(d).max(),
                                          max_evals=group["max_eval"] - evals)
                t, loss, g, _ = best
                memory.t = t
                self._move(t, d)
            else:
                self._move(t, d)
                if n != group["max_iter"]:                 # in the last iteration nobody would use the result
                    loss, g, used = float(loss_of(closure)), self._gradient(), 1
            evals += used
            state["func_evals"] += used
            if (evals >= group["max_eval"] or abs(g).max() <= group["tolerance_grad"] or abs(d * t).max() <= change
                    or abs(loss - memory.loss) < change):
                break
        memory.save(state, group["params"][0].backend)
        return first_loss

    def _gradient(self):
        """The gradients of all parameters as one flat array; zeros where there is none."""
        return np.concatenate([parts(np.zeros_like(p.array) if p.grad is None else p.grad.array, p.backend).reshape(-1)
                               for p in self.param_groups[0]["params"]])

    def _move(self, t, d):
        """``p <- p + t d``."""
        start = 0
        for p in self.param_groups[0]["params"]:
            array = parts(p.array, p.backend)
            stop = start + array.size
            array[...] += t * d[start:stop].reshape(array.shape)
            bump_version(p, "LBFGS.step")
            start = stop

    def _along(self, d, closure):
        """The function that evaluates the loss at distance `t` along `d` from where the parameters are now."""
        params = self.param_groups[0]["params"]
        origin = [p.array.copy() for p in params]

        def evaluate(t):
            self._move(t, d)
            loss, g = float(loss_of(closure)), self._gradient()
            for p, array in zip(params, origin):           # back to the same bits, not by a move of -t
                p.array[...] = array
                bump_version(p, "LBFGS.step")
            return Point(t, loss, g, g @ d)
        return evaluate


class Memory:
    """The last steps `s` with the changes `y` of the gradient that they caused, oldest first.

    They stand for an estimate H of the inverse Hessian. Besides: the last direction `d`, its length `t`, the gradient
    `g` and the loss where it began. Kept in the optimiser's state under PyTorch's names.
    """

    NAMES = {"d": "d", "t": "t", "y": "old_dirs", "s": "old_stps", "ro": "ro", "scale": "H_diag",
             "g": "prev_flat_grad", "loss": "prev_loss", "al": "al"}

    def __init__(self, state, size):
        self.size = size
        for name, key in self.NAMES.items():
            setattr(self, name, convert(state.get(key), lambda x: x.array if isinstance(x, Tensor) else x))
        if self.al is None:
            self.al = [None] * size

    def save(self, state, backend):
        """Put everything into the optimiser's state, arrays as tensors."""
        def tensor(x):
            return wrap(np.asarray(x), backend) if isinstance(x, (np.ndarray, np.generic)) else x

        for name, key in self.NAMES.items():
            if name != "al" or state["n_iter"] > 1:
                state[key] = convert(getattr(self, name), tensor)

    def restart(self, g):
        """The first direction: straight downhill."""
        self.y, self.s, self.ro, self.scale, self.d = [], [], [], 1, -g
        return self.d

    def direction(self, g):
        """``-H g``, after the last step has been taken into account, by the two-loop recursion."""
        y, s = g - self.g, self.d * self.t
        ys = y @ s
        if ys > 1e-10:                                     # the curvature condition; other steps teach nothing
            for kept, new in (self.y, y), (self.s, s), (self.ro, 1.0 / ys):
                if len(kept) == self.size:
                    kept.pop(0)
                kept.append(new)
            self.scale = ys / (y @ y)
        y, s, ro, al, n = self.y, self.s, self.ro, self.al, len(self.y)
        q = -g
        for i in reversed(range(n)):
            al[i] = (s[i] @ q) * ro[i]
            q -= al[i] * y[i]
        q *= self.scale
        for i in range(n):
            q += (al[i] - (y[i] @ q) * ro[i]) * s[i]
        self.d = q
        return q


def convert(x, function):
    """`function` of a value, or of each entry of a list."""
    return [function(v) for v in x] if isinstance(x, list) else function(x)


# ------------------------------------------------------------------ line search
def strong_wolfe(evaluate, start, t, size, c1=1e-4, c2=0.9, tolerance=1e-9, max_evals=25):
    """A point that satisfies the strong Wolfe conditions, and the number of evaluations.

    ``evaluate(t)`` gives the `Point` at distance `t`, `start` is the one at 0, `size` the largest element of the
    search direction. The conditions: ``f <= f0 + c1 t slope0`` and ``|slope| <= -c2 slope0``.
    """
    def too_high(point):
        return point.f > start.f + c1 * point.t * start.slope

    def flat_enough(point):
        return abs(point.slope) <= -c2 * start.slope

    last, new, evals = start, evaluate(t), 1
    while evals - 1 < max_evals:                           # bracket a minimum
        if too_high(new) or (evals > 2 and new.f >= last.f):
            bracket = [last, new]
            break
        if flat_enough(new):
            return new, evals
        if new.slope >= 0:
            bracket = [last, new]
            break
        t = cubic_minimum(last, new, new.t + 0.01 * (new.t - last.t), new.t * 10)
        last, new = new, evaluate(t)
        evals += 1
    else:
        bracket = [start, new]
    return zoom(evaluate, bracket, size, too_high, flat_enough, tolerance, evals, max_evals)


def zoom(evaluate, bracket, size, too_high, flat_enough, tolerance, evals, max_evals):
    """Shrink a bracket around a point that satisfies the conditions; the best point found, and all evaluations."""
    def lower():
        return 0 if bracket[0].f <= bracket[1].f else 1

    low, stuck = lower(), False
    while evals - 1 < max_evals and not abs(bracket[1].t - bracket[0].t) * size < tolerance:
        left, right = sorted(point.t for point in bracket)
        t = cubic_minimum(*bracket, left, right)
        margin = 0.1 * (right - left)
        near_end = min(right - t, t - left) < margin       # allowed once, then moved inwards
        if near_end and (stuck or not left < t < right):
            t = right - margin if abs(t - right) < abs(t - left) else left + margin
            near_end = False
        stuck = near_end
        new = evaluate(t)
        evals += 1
        if too_high(new) or new.f >= bracket[low].f:
            bracket[1 - low] = new
            low = lower()
            continue
        if flat_enough(new):
            return new, evals
        if new.slope * (bracket[1 - low].t - bracket[low].t) >= 0:
            bracket[1 - low] = bracket[low]
        bracket[low] = new
    return bracket[low], evals


def cubic_minimum(a, b, least, most):
    """Where the cubic through two points with their slopes is smallest, kept in [least, most]; else the middle.

    Nocedal and Wright, equation 3.59.
    """
    d1 = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return (least + most) / 2
    if a.t > b.t:
        a, b = b, a
    d2 = sqrt(square)
    with np.errstate(divide="ignore", invalid="ignore"):   # a straight line: t is infinite, then kept in bounds
        t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(t, least), most)
