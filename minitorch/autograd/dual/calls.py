"""One call on dual arrays: the derivative follows from the op's definition.

No definition has a forward rule. The values that its formulas (VJPs) read show how the op depends
on its inputs:

- "zero": the formulas are ``F.zero(g)``, and the tangent is zero too
- "linear": they read neither an input nor a result; the tangent is ``op(tangent)``
- "multilinear": none reads its own input or a result; the tangent is a sum of calls, each with one
  input (or several that are not multiplied) replaced by its tangent
- "symmetric": the Jacobian is its own transpose, so the tangent is that of the formulas with
  tangents in place of `g`. This holds for all elementwise ops (the column `dims` is "*") that are
  none of the above
- "transpose": the backward pass is linear in `g`, so its derivative with respect to `g` is the
  product (the trick of two passes)

The last holds for any op. The column `tangent` is for ops that would seem linear or multilinear but
are not (they add a constant), and for those that another method serves faster: symmetric ones that
are not elementwise, and "reference": the op's own reference, made of ops, runs on dual arrays. A
test compares all of them with double backward.
"""

from ...core import engine
from ...core.arrays import is_inexact
from ...core.grad_mode import recording
from ...core.graph import OutputNode
from ...core.op import Op
from ...core.recording import Tied
from ...core.registry import extends
from ...core.tensor import wrap
from .. import saved
from ..recording import run_noting
from .array import Dual, dual_array, of_backend, plain, wrapped

__all__ = ["Call", "derived_kind", "kind_of"]

_kinds: dict = {}


@extends(Op, "tangent_kind", property)
def kind_of(op):
    """The name of the method of `Call` that computes the tangent of `op`; None if it has no
    derivative."""
    if op not in _kinds:
        _kinds[op] = op.tangent or (derived_kind(op) if op.differentiable else None)
    return _kinds[op]


def derived_kind(op):
    """The kind of an op, derived from the values that its derivative formulas read."""
    live = {x.name for x in op.inputs if x.kind != "other"}
    values = {*live, "out", *op.keeps}
    if op.outputs != 1:
        values |= {f"out{i}" for i in range(len(op.outputs))}
    formulas = [op.joint] if op.joint else [f for f in op.vjps.values() if f]
    if not op.joint and all(f.__code__.co_names == ("zero",) for f in formulas):
        return "zero"
    reads = {x: values.intersection(fields) for x, fields in op.reads.items()}
    if not any(reads.values()):
        return "linear"
    if op.joint or any(x in read or not read <= live
                       for x, read in reads.items() if x != "together"):
        return "symmetric" if op.dims == "*" and op.outputs == 1 else "transpose"
    return "multilinear"


class Call:
    """One call of `op` on arrays of the dual backend `F`: `xs` are the inputs with values in place
    of dual arrays, `ts` the tangents, None for an input without one or without a formula.

    The methods of the kinds return the results followed by what the op keeps, on the backend below,
    and the tangents of the results.
    """

    def __init__(self, F, op, arrays, attrs):
        self.F, self.inner, self.op = F, F.inner, op
        self.specs = op.inputs * len(arrays) if op.variadic else op.inputs
        self.attrs = {k: plain(v) for k, v in attrs.items()}
        left_out = [None] * (len(self.specs) - len(arrays))                # by a formula
        arrays = [*[of_backend(F, x) if x.__class__ is Dual else x for x in arrays], *left_out]
        self.arrays, self.xs = arrays, plain(arrays)
        on = (op.differentiable or op.tangent) and F.computes
        self.ts = [x.tangent if on and x.__class__ is Dual and self.is_live(spec) else None
                   for x, spec in zip(arrays, self.specs)]

    def is_live(self, spec):
        return spec.kind != "other" and bool(self.op.joint or not self.op.differentiable
                                             or self.op.vjps[spec.name])

    def result(self, full):
        """The results as dual arrays; with `full`, followed by the values that the op keeps. These
        have no tangents: the formulas of backward ops account for them."""
        if all([t is None for t in self.ts]):
            y, *kept = self.run(full)
            tangents = [None] * len(self.outputs(y))
        else:
            self.refuse_missing()
            (y, *kept), tangents = getattr(self, self.kind())(full)
        if self.op.outputs == 1:
            y = self.paired(y, tangents[0])
        else:
            y = named([v if v is None else self.paired(v, t) for v, t in zip(y, tangents)], y)
        return (y, *[wrapped(self.F, k) for k in kept]) if full else y

    def kind(self):
        """The kind of the op. Formulas by themselves do not know what sums leave out of masked
        arrays; those of nodes do."""
        found = kind_of(self.op)
        sums = found == "symmetric" and self.op.dims != "*"
        return "transpose" if sums and self.inner.marks and self.inner.pull_of else found

    def refuse_missing(self):
        for spec, t in zip(self.specs, self.ts):
            if t is not None and getattr(self.op.vjps.get(spec.name), "missing", False):
                raise NotImplementedError(
                    f"Trying to use forward AD with {self.op.name} that does not support it "
                    f"because it has not been implemented yet.")

    def run(self, full):
        """The results for the values, followed by what the op keeps if `full` and it does."""
        if not full or not self.op.keeps:
            return (self.of(self.op.name, self.xs),)
        return self.of("full_" + self.op.name, self.xs)

    def of(self, name, arrays):
        F = self.inner
        if F.depth and F.below is F:                       # a batch
            return F.once(name, arrays, self.attrs)
        return getattr(F, name)(*arrays, **self.attrs)

    def outputs(self, y):
        return (y,) if self.op.outputs == 1 else y

    def paired(self, y, t):
        """A result and its tangent as a dual array."""
        if y.__class__ is not self.inner.ndarray:
            y = self.inner.asarray(y)
        return dual_array(self.F, y, None if t is None or not is_inexact(y.dtype) else fitted(
            self.inner, t, y))

    def zeros(self, y):
        return self.inner.xp.zeros(y.shape, y.dtype)

    # -- by calls of the op itself -----------------------------------------------------------------
    def zero(self, full):
        y, *kept = self.run(full)
        return (y, *kept), [self.zeros(v) for v in self.outputs(y)]

    def linear(self, full):
        live = [i for i, spec in enumerate(self.specs) if self.is_live(spec)]
        return self.run(full), self.outputs(self.replaced(live, ()))

    def multilinear(self, full):
        """A sum of calls: inputs whose formulas do not read each other are replaced together, those
        that they read stay."""
        total, places = None, {spec.name: i for i, spec in enumerate(self.specs)}
        reads = [{places[f] for f in self.op.reads.get(spec.name, ()) if f in places}
                 for spec in self.specs]
        for group in apart([i for i, t in enumerate(self.ts) if t is not None], reads):
            part = self.replaced(group, set().union(*[reads[i] for i in group]))
            total = part if total is None else total + part
        return self.run(full), (total,)

    def replaced(self, group, kept):
        """The op on the tangents of the inputs in `group`; the others are zero, except those `kept`
        or without a formula."""
        inputs = []
        for i, (x, t, spec) in enumerate(zip(self.xs, self.ts, self.specs)):
            if i in kept or not self.is_live(spec):
                inputs.append(x)
            else:
                inputs.append(t if i in group and t is not None else self.nothing(x, spec))
        return self.of(self.op.name, inputs)

    def nothing(self, x, spec):
        """An input that contributes nothing to a multilinear op: None, zero or zeros."""
        if x is None or spec.optional:
            return None
        return self.zeros(x) if x.__class__ is self.inner.ndarray else 0

    def reference(self, full):
        """The op's own reference, on dual arrays."""
        found = self.op.forward(self.F, *self.arrays, **self.attrs)
        y, *kept = found if self.op.keeps else (found,)
        return plain((y, *kept) if full else (y,)), [
            v if v is None else v.tangent for v in self.outputs(y)]

    # -- by the derivative formulas ----------------------------------------------------------------
    def symmetric(self, full):
        """Call the formulas with tangents in place of the result's gradient."""
        y, *kept = self.run(True)
        if self.op.complex == "conjugate" and any([is_complex(x) for x in (y, *self.xs)]):
            return self.transpose(full)        # a complex gradient is not a derivative times `g`
        fields, total = self.fields(y, kept), None
        for i, t in enumerate(self.ts):
            if t is not None:
                part = self.pulled(i, t, fields)
                total = part if total is None else total + part
        return (y, *kept) if full else (y,), (total,)

    def fields(self, y, kept):
        """The values that formulas read, by name."""
        left_out = dict.fromkeys([spec.name for spec in self.specs]) | dict(self.op.attrs)
        found = {**left_out, **self.attrs, "out": y, **dict(zip(self.op.keeps, kept))}
        for spec, x in zip(self.specs, self.xs):
            found[spec.name] = x
            found[spec.name + "_shape"] = getattr(x, "shape", ())
            found[spec.name + "_dtype"] = getattr(x, "dtype", None)
        return found

    def pulled(self, i, g, fields):
        """The gradient of input `i` by its formula."""
        op, name = self.op, self.specs[i].name
        if not op.joint:
            return op.vjps[name](self.inner, g, *[fields[f] for f in op.reads[name]])
        needs = tuple([j == i for j in range(len(self.xs))])
        return op.joint(self.inner, g, needs, *[fields[f] for f in op.reads[None]])[i]

    def transpose(self, full):
        """The derivative of the backward pass with respect to its incoming gradients: a recorded
        pass on leaves of the backend below, and a pass through that."""
        op = self.op
        with recording(True), saved.without_hooks():
            inputs = [self.leaf(x, t is not None) for x, t in zip(self.xs, self.ts)]
            result = op.bare(*[inputs] if op.variadic else inputs, **self.attrs)
            outputs = self.outputs(result)
            seeds = [self.leaf(self.zeros(out.array), True) if out.needs_grad else None
                     for out in outputs]
            node = node_of(outputs)
            kept = dict(zip(op.saved_fields, node.saved)) if node else {}
            pulled = node.pull(seeds if op.outputs != 1 else seeds[0], True) if node else ()
        found = self.through(pulled, [s for s in seeds if s is not None])
        tangents = [None if s is None else self.zeros(s.array) if found[s] is None else found[s]
                    for s in seeds]
        if full and not kept.keys() >= set(op.keeps):
            return self.run(True), tangents
        arrays = [out.array for out in outputs]
        y = arrays[0] if op.outputs == 1 else named(arrays, result)
        return (y, *[kept[k] for k in op.keeps if full]), tangents

    def through(self, pulled, seeds):
        """The gradients of the `seeds` of a pass with the results `pulled`, by seed."""
        found: dict = dict.fromkeys(seeds)
        pairs = [(p, t) for p, t in zip(pulled, self.ts)
                 if t is not None and p is not None and p.needs_grad]
        if pairs:
            ts = [wrap(fitted(self.inner, t, p.array), self.inner) for p, t in pairs]
            run = run_noting if Tied.made else engine.run
            with recording(False):
                run([p.node or p for p, _ in pairs], ts, False, True, found)
        return found

    def leaf(self, x, on):
        """An array of the backend below as a tensor, a leaf that needs gradients if `on`."""
        if not hasattr(x, "strides"):
            return x
        found = wrap(x, self.inner)
        found.needs_grad = on
        return found


def node_of(outputs):
    """The node of the call that returned these tensors; None if it was not recorded."""
    node = next((out.node for out in outputs if out.node is not None), None)
    return node.parents[0] if node.__class__ is OutputNode else node


def named(results, like):
    """Several results in a tuple; in a named tuple if `like` is one."""
    return type(like)(*results) if hasattr(like, "_fields") else tuple(results)


def fitted(F, t, y):
    """A tangent, converted to the dtype and the shape of `y`: the real part for a real one."""
    if t.__class__ is not F.ndarray:
        t = F.asarray(t)
    if t.dtype != y.dtype:
        t = (F.real(t) if is_complex(t) and not is_complex(y) else t).astype(y.dtype)
    return t if t.shape == y.shape else F.xp.broadcast_to(t, y.shape)


def is_complex(x):
    return hasattr(x, "dtype") and x.dtype.kind == "c"


def apart(left, reads):
    """The inputs `left`, in groups within which no formula (see `reads`) reads another input."""
    while left:
        group: list = []
        for i in left:
            if all([i not in reads[j] and j not in reads[i] for j in group]):
                group.append(i)
        yield group
        left = [i for i in left if i not in group]


