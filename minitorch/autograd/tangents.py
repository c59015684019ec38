"""Forward derivatives of calls, derived from the definitions: how `forward_ad` and `func.jvp` compute.

A tensor's `tangents` are those of the levels of forward mode that it takes part in: a dict from `Level` to tensor,
which is replaced, never written to. Calls look for them from the moment the first level is entered
(`look_for_tangents`); then a call with tangents is one at the innermost of its levels: the value and the tangent are
computed outside of that level, by calls that may be calls of further levels, or be recorded. So levels nest, and
products have gradients.

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
are not (they add a constant), and for symmetric ones that are not elementwise, for which one
formula is faster than two passes. A test compares all of them with double backward.
"""


from ..core import generate, graph, inplace
from ..core.arrays import is_inexact
from ..core.complex import conjugate
from ..core.grad_mode import grad_mode, open_levels, recording
from ..core.op import Op
from ..core.recording import placed, recorded, rewrap
from ..core.registry import extends
from ..core.tensor import Tensor, wrap
from ..core.views import in_parts
from . import api, dispatch, function, saved
from .noted import Noted, node_of, note, outputs_of

__all__ = ["Level", "detached", "dual", "innermost", "kind_of", "opened", "tangent_of", "with_tangents",
           "within", "without_level", "write_tangents", "zeros_like"]


class Level:
    """One level of forward mode: a derivative in one direction. `name` is for messages."""

    def __init__(self, name=None):
        self.name = name


class within:
    """A block in which only these levels are open in this thread."""

    def __init__(self, levels):
        self.levels = levels

    def __enter__(self):
        self.outer, grad_mode.levels = grad_mode.levels, self.levels
        return self

    def __exit__(self, *exc):
        grad_mode.levels = self.outer


class opened:
    """A block in which one more level is open, the innermost: ``with opened() as level``."""

    def __init__(self, name=None):
        self.level = Level(name)

    def __enter__(self):
        generate.look_for_tangents()
        self.outer = grad_mode.levels
        grad_mode.levels = (*self.outer, self.level)
        open_levels.append(self.level)
        return self.level

    def __exit__(self, *exc):
        grad_mode.levels = self.outer
        open_levels.remove(self.level)


# ---- tangents of tensors -----------------------------------------------------------------------------------
def tangent_of(x, level):
    """The tangent of `x`, a tensor or anything else, at a level; None if it has none."""
    tangents = getattr(x, "tangents", None)
    return None if tangents is None else tangents.get(level)


def innermost(values):
    """The innermost open level at which one of the values has a tangent; None without one."""
    found = [t.tangents for t in values if isinstance(t, Tensor) and t.tangents is not None]
    if not found or grad_mode.inference:
        return None
    return next((level for level in reversed(grad_mode.levels) if any([level in tangents for tangents in found])), None)


def outside_of(level):
    """The levels that were entered before `level`."""
    return grad_mode.levels[:grad_mode.levels.index(level)]


def give(x, level, tangent):
    """Give `x` a tangent, converted to its shape and dtype."""
    x.tangents = {**(x.tangents or {}), level: fitted(tangent, x)}


def fitted(tangent, like):
    """A tangent in the shape and dtype of `like`."""
    if tangent.array.dtype != like.array.dtype:
        tangent = tangent.to(like.dtype)
    return tangent if tangent.array.shape == like.array.shape else tangent.expand(like.shape)


def without_level(x, level):
    """`x` without its tangent at `level`: a tensor over the same memory with the same node."""
    if tangent_of(x, level) is None:
        return x
    found = placed(wrap(x.array, x.backend), (x.node or x) if x.needs_grad else None)
    found.tangents = {k: t for k, t in x.tangents.items() if k is not level} or None
    return found


def detached(x):
    """`x` detached from the graph; it keeps its tangents, detached too."""
    found = wrap(x.array, x.backend)
    if x.tangents and grad_mode.levels:
        found.tangents = {level: detached(t) for level, t in x.tangents.items() if level in grad_mode.levels}
    return found


def dual(tensor, tangent, level):
    """A view of `tensor` with `tangent` at `level`; writes to it give `tensor` no tangent."""
    check_size(tensor, tangent)
    if tensor.needs_grad:
        # tangents of other levels are copied from `tensor`
        with within(()):
            found = recorded.alias(tensor)
    else:
        found = wrap(tensor.array, tensor.backend)
    found.tangents = {**(tensor.tangents or {}), level: tangent}
    if dispatch.is_overloaded(type(tensor)):
        found.__class__ = type(tensor)
    return found


def zeros_like(x):
    """Zeros of the shape and dtype of `x`, without a tangent."""
    return wrap(x.backend.xp.zeros(x.array.shape, x.array.dtype), x.backend)


# ---- the classes of ops ------------------------------------------------------------------------------------
_kinds: dict = {}


@extends(Op, "tangent_kind", property)
def kind_of(op):
    """The name of the method of `Call` that computes the tangent of `op`; None if it has no
    derivative."""
    if op not in _kinds:
        _kinds[op] = op.tangent or derived_kind(op) if op.differentiable else None
    return _kinds[op]


def derived_kind(op):
    """The kind of an op, derived from the values that its derivative formulas read."""
    live = {x.name for x in op.inputs if x.kind != "other"}
    values = live | {"out", *op.keeps} | ({f"out{i}" for i in range(len(op.outputs))} if op.outputs != 1 else set())
    formulas = [op.joint] if op.joint else [f for f in op.vjps.values() if f]
    if not op.joint and all(f.__code__.co_names == ("zero",) for f in formulas):
        return "zero"
    reads = {x: values.intersection(fields) for x, fields in op.reads.items()}
    if not any(reads.values()):
        return "linear"
    if op.joint or any(x in read or not read <= live for x, read in reads.items() if x != "together"):
        return "symmetric" if op.dims == "*" and op.outputs == 1 else "transpose"
    return "multilinear"


# ---- a call ------------------------------------------------------------------------------------------------
@generate.with_tangents.fill
def with_tangents(op, inputs, attrs):
    """The result of a call with its tangents at the innermost level of its inputs; None if these
    have none."""
    variadic = op.inputs[0].kind == "variadic"
    flat = tuple(inputs[0]) if variadic else inputs
    level = innermost(flat)
    if level is None:
        return None
    call = Call(op, flat, attrs, [tangent_of(x, level) for x in flat], variadic)
    with within(outside_of(level)):
        if dispatch.active:                                # overrides have already seen the call itself
            with dispatch.DisableTorchFunction():
                result, tangents = call.derived()
        else:
            result, tangents = call.derived()
        for out, tangent in zip(outputs_of(result), tangents):
            if tangent is not None and is_inexact(out.array.dtype):
                give(out, level, tangent)
    note(op, flat, result)
    return result


class Call:
    """One call to be differentiated; `tangents` has a tangent or None for each input."""

    def __init__(self, op, inputs, attrs, tangents, variadic):
        self.op, self.inputs, self.attrs, self.variadic = op, inputs, attrs, variadic
        self.specs = op.inputs * len(inputs) if variadic else op.inputs
        self.tangents = [t if self.is_live(spec) else None for t, spec in zip(tangents, self.specs)]

    def is_live(self, spec):
        return spec.kind != "other" and bool(self.op.joint or self.op.vjps[spec.name])

    def run(self, inputs):
        """Call the op on these inputs, which have one dtype and one backend."""
        return self.op.bare(inputs, **self.attrs) if self.variadic else self.op.bare(*inputs, **self.attrs)

    def derived(self):
        """The result, and the tangents of its tensors, by the method for the op's kind."""
        kind = kind_of(self.op)
        if kind is None or all([t is None for t in self.tangents]):
            result = self.run(self.inputs)
            return result, [None] * len(outputs_of(result))
        for spec, t in zip(self.specs, self.tangents):
            if t is not None and getattr(self.op.vjps.get(spec.name), "missing", False):
                raise NotImplementedError(f"Trying to use forward AD with {self.op.name} that does not support it "
                                          f"because it has not been implemented yet.")
        return getattr(self, kind)()

    # -- by calls of the op itself ---------------------------------------------------------------------------
    def zero(self):
        result = self.run(self.inputs)
        return result, [zeros_like(out) for out in outputs_of(result)]

    def linear(self):
        live = [i for i, spec in enumerate(self.specs) if self.is_live(spec)]
        return self.run(self.inputs), outputs_of(self.replaced(live, ()))

    def multilinear(self):
        """A sum of calls: inputs whose formulas do not read each other are replaced together, those
        that they read stay."""
        result, total = self.run(self.inputs), None
        places = {spec.name: i for i, spec in enumerate(self.specs)}
        reads = [{places[f] for f in self.op.reads.get(spec.name, ()) if f in places} for spec in self.specs]
        for group in apart([i for i, t in enumerate(self.tangents) if t is not None], reads):
            part = self.replaced(group, set().union(*[reads[i] for i in group]))
            total = part if total is None else total + part
        return result, (total,)

    def replaced(self, group, kept):
        """The op on the tangents of the inputs in `group`; the others are zero, except those `kept`
        or without a formula."""
        inputs = [x if i in kept or not self.is_live(spec) else
                  self.tangents[i] if i in group and self.tangents[i] is not None else nothing(x, spec)
                  for i, (x, spec) in enumerate(zip(self.inputs, self.specs))]
        return self.op.call(inputs, **self.attrs) if self.variadic else self.op.call(*inputs, **self.attrs)

    # -- by the derivative formulas --------------------------------------------------------------------------
    def symmetric(self):
        """Call the formulas with tangents in place of the result's gradient."""
        result, values_at, graded = self.recorded()
        if self.op.complex == "conjugate" and any([is_complex(x) for x in (result, *self.inputs)]):
            # a complex gradient is not a derivative times `g`
            return result, self.transposed(result, values_at, graded)
        fields, total = values_at(self.places, self.inputs), None
        for i, t in enumerate(self.tangents):
            if t is not None:
                part = self.pulled(t, fields, [j == i for j in range(len(self.inputs))])[i]
                total = part if total is None else total + part
        return result, (total,)

    def transpose(self):
        """The derivative of the backward pass with respect to its incoming gradients."""
        result, *rest = self.recorded()
        return result, self.transposed(result, *rest)

    def transposed(self, result, values_at, graded):
        """The tangents of the result, by a backward pass and a backward pass through that.

        Inputs and result are leaves in these passes: otherwise each op would traverse the whole
        graph below them. If the tangent will be differentiated, they are attached to the graph
        again afterwards.
        """
        outer = grad_mode.enabled and any(map(needs_grad, (*self.tangents, *self.inputs)))
        several = self.op.outputs != 1
        sources, outputs = self.as_leaves(outputs_of(result), graded)
        seeds = [zeros_like(out).requires_grad_() if on else None for out, on in zip(outputs, graded)]
        live = [s for s in seeds if s is not None]
        with saved.without_hooks():
            with recording(True):
                fields = values_at([*sources, outputs if several else outputs[0]], sources)
                pairs = self.gradients_and_tangents(tuple(seeds) if several else seeds[0], fields)
            ends = [t for _, t in pairs]
            found = api.grad([p for p, _ in pairs], live, ends, create_graph=outer,
                             allow_unused=True) if pairs else [None] * len(live)
        if outer:
            places = self.places_of(sources, outputs) | {id(s): None for s in live}
            put_back(found, places, [t.node for t in ends])
        left = iter([zeros_like(s) if t is None else self.conj(t) for s, t in zip(live, found)])
        return [None if s is None else next(left) for s in seeds]

    def as_leaves(self, outputs, graded):
        """The inputs and the outputs; those with derivatives as leaves."""
        return ([needing_grad(x) if self.is_live(spec) and isinstance(x, Tensor) else x
                 for x, spec in zip(self.inputs, self.specs)],
                [needing_grad(out) if on else out for out, on in zip(outputs, graded)])

    def gradients_and_tangents(self, g, fields):
        """For each input with a tangent: its gradient, as a function of `g`, and that tangent."""
        pulled = self.pulled(g, fields, [t is not None for t in self.tangents])
        return [(like(p, t), self.conj(fitted(t, p))) for p, t in zip(pulled, self.tangents)
                if t is not None and p is not None and p.needs_grad]

    def conj(self, x):
        """`x`, conjugated for formulas that are written for real numbers: see `core/complex.py`."""
        return conjugate(x, None) if self.op.complex == "holomorphic" else x

    def places_of(self, sources, outputs):
        """The nodes or leaves of the inputs and outputs in the graph, by the ids of their leaves
        here."""
        *of_inputs, node = self.places
        nodes = [node]
        if self.op.outputs != 1 and node is not None:
            nodes = [graph.OutputNode(node, i) for i in range(len(outputs))]
        return {id(leaf): place for leaf, place in zip((*sources, *outputs), (*of_inputs, *nodes))}

    def pulled(self, g, fields, needs):
        """The gradients of the inputs for which `needs` is true, None for others."""
        if self.op.joint:
            return self.op.joint(recorded, g, tuple(needs), *[fields[f] for f in self.op.reads.get(None, ())])
        found: list = []
        for x, spec, on in zip(self.inputs, self.specs, needs):
            own = {f"{spec.name}_shape": x.array.shape} if on else {}
            found.append(self.op.vjps[spec.name](recorded, g, *[own[f] if f in own else fields[f]
                                                                for f in self.op.reads[spec.name]]) if on else None)
        return found

    def recorded(self):
        """The result; a function that returns the values that formulas read, by name, as tensors
        attached to the graph; and for each output whether it has a gradient. `places` are the nodes
        or leaves of the inputs and the result, None for those without a gradient for the user.

        The call is recorded to get its saved values; afterwards the inputs whose gradient is not
        needed are detached from its node.
        """
        on = [grad_mode.enabled and needs_grad(x) for x in self.inputs]
        inputs = [x if t is None or x.needs_grad else needing_grad(x) for x, t in zip(self.inputs, self.tangents)]
        with recording(True), saved.without_hooks():
            result = self.run(inputs)
        outputs = outputs_of(result)
        graded = [out.needs_grad for out in outputs]
        node = node_of(outputs)
        values = node.saved
        if any(on):
            node.parents = tuple([p if asked else None for p, asked in zip(node.parents, on)])
            self.places = (*node.parents, node)
            self.keep_less(node, on)
        else:
            for out in outputs:
                out.node, out.needs_grad = None, False
            self.places = (None,) * (len(self.inputs) + 1)
        out = result if self.op.outputs != 1 else outputs[0]

        def values_at(places, sources):
            fields = {name: as_tensors(value, place, places, (*sources, out), node.backend)
                      for name, value, place in zip(self.op.saved_fields, values, self.op.saved_places)}
            for x in self.op.restores[:1]:
                fields[x] = sources[[spec.name for spec in self.specs].index(x)]
            return fields
        return result, values_at, graded

    def keep_less(self, node, on):
        """Drop the saved values of a node that only formulas of inputs not in `on` read; let hooks
        pack the rest."""
        if not self.op.joint and not self.variadic:
            needed = {f for spec, asked in zip(self.specs, on) if asked for f in self.op.reads.get(spec.name, ())}
            kept = [value if name in needed or not isinstance(value, node.backend.ndarray) else None
                    for name, value in zip(self.op.saved_fields, node.saved)]
            node.saved = Noted(kept, node.saved.tangents) if isinstance(node.saved, Noted) else tuple(kept)
        if saved.stack.pairs:
            saved.packer.recorded(node, None)


def apart(left, reads):
    """The inputs `left`, in groups within which no formula (see `reads`) reads another input."""
    while left:
        group: list = []
        for i in left:
            if all([i not in reads[j] and j not in reads[i] for j in group]):
                group.append(i)
        yield group
        left = [i for i in left if i not in group]


def put_back(tensors, places, ends):
    """Replace leaves in the graph behind the `tensors`: each leaf whose id is a key of `places` by
    the value there, a node, another leaf or None. The search stops at the nodes `ends`."""
    todo = [t.node for t in tensors if t is not None and t.node is not None]
    seen = {id(node) for node in ends}
    for t in tensors:
        if t is not None and id(t) in places:              # the seed of the pass, which was a leaf
            placed(t, places[id(t)])
    while todo:
        node = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        todo += [p for p in node.parents if p is not None and p.parents and id(p) not in places]
        node.parents = tuple([places.get(id(p), p) for p in node.parents])


def is_complex(x):
    return isinstance(x, Tensor) and x.array.dtype.kind == "c"


def like(gradient, x):
    """A gradient of `x`: the real part of a complex one if `x` is real."""
    return recorded.to(gradient, dtype=x.array.dtype) if is_complex(gradient) and not is_complex(x) else gradient


def nothing(x, spec):
    """An input that contributes nothing to a multilinear op: None, zero or zeros."""
    return None if x is None or spec.optional else zeros_like(x) if isinstance(x, Tensor) else 0


def needs_grad(x):
    return isinstance(x, Tensor) and x.needs_grad


def needing_grad(x):
    """`x` as a leaf that requires grad, with its tangents of outer levels."""
    found = wrap(x.array, x.backend)
    found.needs_grad, found.tangents, found._base = True, x.tangents, x if x._base is None else x._base
    return found


def as_tensors(value, place, places, sources, backend):
    """A saved value as a tensor attached to the graph, with the tangents of the tensor whose array
    it is."""
    if place is None:
        return rewrap(value, None, backend)
    if isinstance(value, tuple):
        several, nodes = (sources[place], places[place]) if isinstance(place, slice) else (sources[-1], places[-1])
        if not isinstance(nodes, (tuple, list)):
            nodes = [None if nodes is None else graph.OutputNode(nodes, i) for i in range(len(value))]
        return tuple([with_tangents_of(rewrap(v, p, backend), x) for v, p, x in zip(value, nodes, several)])
    return with_tangents_of(rewrap(value, places[place], backend), sources[place])


def with_tangents_of(found, source):
    if isinstance(found, Tensor) and found is not source and isinstance(source, Tensor):
        found.tangents = source.tangents
    return found


# ---- functions of the user's own ---------------------------------------------------------------------------
@function.function_with_tangents.fill
def function_with_tangents(cls, args):
    """The context and the result of a call of `cls`, a `Function`, with tangents from its `jvp`;
    tangents that `forward` computes are ignored. None if no open level concerns the arguments."""
    level = innermost(args)
    if level is None:
        with within(()):                                   # tensors that are not arguments of `forward` are constants
            return cls._recorded(args)
    with within(outside_of(level)):
        ctx, result = cls._called(args)
        several = isinstance(result, tuple)
        outputs = list(result) if several else [result]
        for i, tangent in enumerate(tangents_by_jvp(cls, ctx, args, level, len(outputs))):
            if tangent is not None and isinstance(outputs[i], Tensor):
                outputs[i] = with_users_tangent(cls, ctx, args, outputs[i], i, level, tangent)
    for kept in ctx._saved:
        if getattr(kept, "output", None) is not None:
            kept.tangents = outputs[kept.output].tangents
    return ctx, tuple(outputs) if several else outputs[0]


def tangents_by_jvp(cls, ctx, args, level, count):
    """The tangents of the outputs, or None, from the user's `jvp` and the tangents of `args`."""
    given = [tangent_of(x, level) for x in args]
    if ctx._materialize:
        given = [zeros_like(x) if t is None and isinstance(x, Tensor) and is_inexact(x.array.dtype) else t
                 for t, x in zip(given, args)]
    found = outputs_of(cls.jvp(ctx, *given))
    if len(found) != count:
        raise RuntimeError(f"Function's jvp returned an invalid number of forward gradients "
                           f"(expected {count} but got {len(found)})")
    return found


def with_users_tangent(cls, ctx, args, out, i, level, tangent):
    """Output `i` of a Function, with the tangent that its `jvp` returned."""
    if not isinstance(tangent, Tensor):
        raise TypeError(f"{cls.__name__}: expected Tensor or None (got {type(tangent).__name__}) "
                        f"as tangent {i}")
    check_size(out, tangent)
    if any([out is x for x in args]) and not any([out is x for x in ctx._dirty]):
        out = recorded.alias(out)                          # an input returned unchanged
    if is_inexact(out.array.dtype):
        out.tangents = {**(out.tangents or {}), level: tangent}
    return out


def check_size(tensor, tangent):
    """RuntimeError unless a tangent has the shape of its tensor."""
    if tangent.array.shape != tensor.array.shape:
        raise RuntimeError(f"Trying to set a forward gradient that has a different size than that of the original "
                           f"Tensor, this is not supported. Tensor is of size {list(tensor.shape)} while the given "
                           f"forward gradient is of size {list(tangent.shape)}.")


# ---- writes in place ---------------------------------------------------------------------------------------
@inplace.write_tangents.fill
def write_tangents(target, result):
    """Update the tangents of `target`, of its base and of the base's other views after a write of
    `result`."""
    if not is_inexact(target.array.dtype) or grad_mode.inference:
        return
    base = target if target._base is None else target._base
    for level in grad_mode.levels:
        if any([tangent_of(x, level) is not None for x in (result, base, target)]):
            with within(outside_of(level)):
                write_tangent(target, base, level, tangent_of(result, level))


def write_tangent(target, base, level, new):
    """Update the tangents of `base` and all its views, after `target`, one of them, got the tangent
    `new`."""
    new = zeros_like(target) if new is None else fitted(new, target)
    views = [view for ref in base._views or () if (view := ref()) is not None]
    layout = in_parts(base.array)
    if base is not target:
        old = tangent_of(base, level)
        new = recorded.as_strided_scatter(parts(zeros_like(base) if old is None else old), parts(new),
                                          **named(target), layout=layout)
        new = recorded.view_as_complex(new) if is_complex(base) else new
    give(base, level, new)
    for view in views:
        piece = recorded.as_strided_take(parts(new), **named(view), layout=layout)
        give(view, level, recorded.view_as_complex(piece) if is_complex(view) else piece)


def parts(x):
    """A complex tensor viewed as real numbers; a real one unchanged."""
    return recorded.view_as_real(recorded.copy_contiguous(x)) if is_complex(x) else x


def named(view):
    """The attributes of `as_strided` and similar ops that describe a view, counted in real
    numbers."""
    return dict(zip(("size", "stride", "storage_offset"), in_parts(view.array)))
