"""Forward derivatives of calls, derived from the definitions: how `forward_ad` and `func.jvp` compute.

A tensor's `tangents` are those of the levels of forward mode that it takes part in: a dict from `Level` to tensor,
which is replaced, never written to. Calls look for them from the moment the first level is entered
(`look_for_tangents`); then a call with tangents is one at the innermost of its levels: the value and the tangent are
computed outside of that level, by calls that may be calls of further levels, or be recorded. So levels nest, and
products have gradients.

No definition has a forward rule. The values that its formulas (VJPs) read tell how the op depends on its inputs:

- "zero": the formulas are ``F.zero(g)``; so is the tangent
- "linear": they read neither an input nor a result; the tangent is ``op(tangent)``
- "multilinear": none reads its own input or a result; a sum of calls, one input (or several that no product joins)
  replaced by its tangent in each
- "symmetric": the Jacobian is its own transpose: the formulas themselves, given tangents for `g`. So are all ops that
  work element by element (the column `dims` is "*") and are none of the above
- "transpose": the backward pass is linear in `g`, so its derivative by `g` is the product (the trick of two passes)

The last holds for any op; the column `tangent` is for those that would be taken for linear or multilinear but are not
(a constant is added), and for symmetric ones elsewhere, where one formula is faster than two passes. A test compares
all of them with double backward.
"""


from ..core import generate, graph, inplace
from ..core.arrays import is_inexact
from ..core.complex import conjugate
from ..core.grad_mode import grad_mode, open_levels, recording
from ..core.recording import placed, recorded, rewrap
from ..core.tensor import Tensor, wrap
from ..core.views import in_parts
from . import api, dispatch, function, saved
from .noted import Noted, node_of, note, outputs_of

__all__ = ["Level", "detached", "dual", "innermost", "kind_of", "opened", "tangent_of", "with_tangents",
           "within", "without_level", "write_tangents", "zeros_like"]


class Level:
    """One level of forward mode: a derivative in one direction. `name` is what messages call it."""

    def __init__(self, name=None):
        self.name = name


class within:
    """Inside the block these levels are open in this thread, and no others."""

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
    """The innermost open level at which any of the values has a tangent; None if there is none."""
    found = [t.tangents for t in values if isinstance(t, Tensor) and t.tangents is not None]
    if not found or grad_mode.inference:
        return None
    return next((level for level in reversed(grad_mode.levels) if any([level in tangents for tangents in found])), None)


def outside_of(level):
    """The levels that were entered before `level`."""
    return grad_mode.levels[:grad_mode.levels.index(level)]


def give(x, level, tangent):
    """Let `x` have a tangent, which takes its shape and dtype."""
    x.tangents = {**(x.tangents or {}), level: fitted(tangent, x)}


def fitted(tangent, like):
    """A tangent in the shape and dtype of `like`."""
    if tangent.array.dtype != like.array.dtype:
        tangent = tangent.to(like.dtype)
    return tangent if tangent.array.shape == like.array.shape else tangent.expand(like.shape)


def without_level(x, level):
    """`x` without its tangent at `level`: a tensor of the same memory at the same place in the graph."""
    if tangent_of(x, level) is None:
        return x
    found = placed(wrap(x.array, x.backend), (x.node or x) if x.needs_grad else None)
    found.tangents = {k: t for k, t in x.tangents.items() if k is not level} or None
    return found


def detached(x):
    """`x` without its graph, and so are its tangents, which it keeps."""
    found = wrap(x.array, x.backend)
    if x.tangents and grad_mode.levels:
        found.tangents = {level: detached(t) for level, t in x.tangents.items() if level in grad_mode.levels}
    return found


def dual(tensor, tangent, level):
    """A view of `tensor` with `tangent` at `level`; writes to it give `tensor` no tangent."""
    check_size(tensor, tangent)
    if tensor.needs_grad:
        with within(()):                                   # tangents of other levels are those of `tensor` itself
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


def kind_of(op):
    """How the tangent of `op` is computed, a method of `Call`; None if it has no derivative."""
    if op not in _kinds:
        _kinds[op] = op.tangent or derived_kind(op) if op.differentiable else None
    return _kinds[op]


def derived_kind(op):
    """The class of an op, by the values that its derivative formulas read."""
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
    """The result of a call, with its tangents at the innermost level of its inputs'; None if these have none."""
    variadic = op.inputs[0].kind == "variadic"
    flat = tuple(inputs[0]) if variadic else inputs
    level = innermost(flat)
    if level is None:
        return None
    call = Call(op, flat, attrs, [tangent_of(x, level) for x in flat], variadic)
    with within(outside_of(level)):
        if dispatch.active:                                # overrides have been asked about the call itself
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
    """One call to be differentiated: `tangents` are those of its inputs, None for those that have none."""

    def __init__(self, op, inputs, attrs, tangents, variadic):
        self.op, self.inputs, self.attrs, self.variadic = op, inputs, attrs, variadic
        self.specs = op.inputs * len(inputs) if variadic else op.inputs
        self.tangents = [t if self.is_live(spec) else None for t, spec in zip(tangents, self.specs)]

    def is_live(self, spec):
        return spec.kind != "other" and bool(self.op.joint or self.op.vjps[spec.name])

    def run(self, inputs):
        """The op on these inputs, all of one dtype and of one backend."""
        return self.op.bare(inputs, **self.attrs) if self.variadic else self.op.bare(*inputs, **self.attrs)

    def derived(self):
        """The result, and the tangents of its tensors."""
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
        """Inputs whose formulas do not read each other are replaced together, what these read stays."""
        result, total = self.run(self.inputs), None
        places = {spec.name: i for i, spec in enumerate(self.specs)}
        reads = [{places[f] for f in self.op.reads.get(spec.name, ()) if f in places} for spec in self.specs]
        for group in apart([i for i, t in enumerate(self.tangents) if t is not None], reads):
            part = self.replaced(group, set().union(*[reads[i] for i in group]))
            total = part if total is None else total + part
        return result, (total,)

    def replaced(self, group, kept):
        """The op on the tangents of the inputs in `group`; others but those `kept` and without formula are zero."""
        inputs = [x if i in kept or not self.is_live(spec) else
                  self.tangents[i] if i in group and self.tangents[i] is not None else nothing(x, spec)
                  for i, (x, spec) in enumerate(zip(self.inputs, self.specs))]
        return self.op.call(inputs, **self.attrs) if self.variadic else self.op.call(*inputs, **self.attrs)

    # -- by the derivative formulas --------------------------------------------------------------------------
    def symmetric(self):
        """The formulas, given tangents in place of the result's gradient."""
        result, values_at, graded = self.recorded()
        if self.op.complex == "conjugate" and any([is_complex(x) for x in (result, *self.inputs)]):
            return result, self.transposed(result, values_at, graded)      # a gradient is no derivative times `g`
        fields, total = values_at(self.places, self.inputs), None
        for i, t in enumerate(self.tangents):
            if t is not None:
                part = self.pulled(t, fields, [j == i for j in range(len(self.inputs))])[i]
                total = part if total is None else total + part
        return result, (total,)

    def transpose(self):
        """The derivative of the backward pass by the gradients that it is given."""
        result, *rest = self.recorded()
        return result, self.transposed(result, *rest)

    def transposed(self, result, values_at, graded):
        """The tangents of the result by a pass back and one back again.

        Inputs and result are leaves to that pass: it would go through the whole graph below them otherwise, once for
        each op. Where the tangent is to be differentiated they are put back into their places afterwards.
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
        """The inputs and the outputs, as leaves where they have derivatives."""
        return ([needing_grad(x) if self.is_live(spec) and isinstance(x, Tensor) else x
                 for x, spec in zip(self.inputs, self.specs)],
                [needing_grad(out) if on else out for out, on in zip(outputs, graded)])

    def gradients_and_tangents(self, g, fields):
        """For each input with a tangent: its gradient, a function of `g`, and that tangent."""
        pulled = self.pulled(g, fields, [t is not None for t in self.tangents])
        return [(like(p, t), self.conj(fitted(t, p))) for p, t in zip(pulled, self.tangents)
                if t is not None and p is not None and p.needs_grad]

    def conj(self, x):
        """`x` as formulas that are written for real numbers take complex ones: see `complex.py`."""
        return conjugate(x, None) if self.op.complex == "holomorphic" else x

    def places_of(self, sources, outputs):
        """The places in the graph of the inputs and outputs, by the ids of their leaves."""
        *of_inputs, node = self.places
        nodes = [node]
        if self.op.outputs != 1 and node is not None:
            nodes = [graph.OutputNode(node, i) for i in range(len(outputs))]
        return {id(leaf): place for leaf, place in zip((*sources, *outputs), (*of_inputs, *nodes))}

    def pulled(self, g, fields, needs):
        """The gradients of the inputs that `needs` says, None for others."""
        if self.op.joint:
            return self.op.joint(recorded, g, tuple(needs), *[fields[f] for f in self.op.reads.get(None, ())])
        found: list = []
        for x, spec, on in zip(self.inputs, self.specs, needs):
            own = {f"{spec.name}_shape": x.array.shape} if on else {}
            found.append(self.op.vjps[spec.name](recorded, g, *[own[f] if f in own else fields[f]
                                                                for f in self.op.reads[spec.name]]) if on else None)
        return found

    def recorded(self):
        """The result; a function that returns the values that formulas read, by name, as tensors at places in the
        graph; and which outputs have a gradient. `places` are those of the inputs and the result, None where the user
        asks for no gradient.

        The call is recorded for its saved values; the inputs that no gradient is asked for get none afterwards.
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
        """Take from a node what only formulas of inputs read that are not `on`; then pack the rest, if hooks ask."""
        if not self.op.joint and not self.variadic:
            needed = {f for spec, asked in zip(self.specs, on) if asked for f in self.op.reads.get(spec.name, ())}
            kept = [value if name in needed or not isinstance(value, node.backend.ndarray) else None
                    for name, value in zip(self.op.saved_fields, node.saved)]
            node.saved = Noted(kept, node.saved.tangents) if isinstance(node.saved, Noted) else tuple(kept)
        if saved.stack.pairs:
            saved.packer.recorded(node, None)


def apart(left, reads):
    """The inputs `left` in groups in which no formula (see `reads`) reads another input."""
    while left:
        group: list = []
        for i in left:
            if all([i not in reads[j] and j not in reads[i] for j in group]):
                group.append(i)
        yield group
        left = [i for i in left if i not in group]


def put_back(tensors, places, ends):
    """Exchange the leaves in the graph behind the `tensors` whose ids are keys of `places` for the values there: nodes,
    other leaves or None. Beyond the nodes `ends` there are none."""
    todo = [t.node for t in tensors if t is not None and t.node is not None]
    seen = {id(node) for node in ends}
    for t in tensors:
        if t is not None and id(t) in places:              # the seed of the pass itself, which was a leaf
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
    """The gradient of `x`: the real part of a complex one if `x` is real."""
    return recorded.to(gradient, dtype=x.array.dtype) if is_complex(gradient) and not is_complex(x) else gradient


def nothing(x, spec):
    """The value of an input that adds nothing to a sum: None, zero or zeros."""
    return None if x is None or spec.optional else zeros_like(x) if isinstance(x, Tensor) else 0


def needs_grad(x):
    return isinstance(x, Tensor) and x.needs_grad


def needing_grad(x):
    """`x` as a leaf that requires grad, with its tangents of outer levels."""
    found = wrap(x.array, x.backend)
    found.needs_grad, found.tangents, found._base = True, x.tangents, x if x._base is None else x._base
    return found


def as_tensors(value, place, places, sources, backend):
    """A saved value as a tensor at its place in the graph, with the tangents of the tensor that it is the array of."""
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
    """The context and the result of a call of `cls`, a `Function`, with tangents from its `jvp`; the tangents that its
    `forward` computes on the way are not looked at. None while no level is open for it."""
    level = innermost(args)
    if level is None:
        with within(()):                                   # tensors that `forward` finds elsewhere are constants to it
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
    """The tangents, or None, of the outputs by the user's `jvp` for the tangents of `args`."""
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
    """Output `i` of a Function with a tangent that its `jvp` has returned."""
    if not isinstance(tangent, Tensor):
        raise TypeError(f"{cls.__name__}: expected Tensor or None (got {type(tangent).__name__}) "
                        f"as tangent {i}")
    check_size(out, tangent)
    if any([out is x for x in args]) and not any([out is x for x in ctx._dirty]):
        out = recorded.alias(out)                          # an input returned as it is
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
    """After a write of `result` into `target`: its tangents, those of its base and of the other views of it."""
    if not is_inexact(target.array.dtype) or grad_mode.inference:
        return
    base = target if target._base is None else target._base
    for level in grad_mode.levels:
        if any([tangent_of(x, level) is not None for x in (result, base, target)]):
            with within(outside_of(level)):
                write_tangent(target, base, level, tangent_of(result, level))


def write_tangent(target, base, level, new):
    """Give `base` and all its views their tangents after `target`, one of them, got `new`."""
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
    """A complex tensor as one of real numbers; a real one as it is."""
    return recorded.view_as_real(recorded.copy_contiguous(x)) if is_complex(x) else x


def named(view):
    """The attributes of `as_strided` and its like that describe a view, counted in real numbers."""
    return dict(zip(("size", "stride", "storage_offset"), in_parts(view.array)))
