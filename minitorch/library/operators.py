"""Custom operators: a function on tensors with a schema, kernels for kinds of devices, and a derivative formula.

A call takes the values that the schema names, has them cast where mixed precision says so, and runs the kernel of the
first tensor's device: on its own, or, where a derivative formula is needed, as one `autograd.Function`, whose
derivative formula, rule for `vmap` and graph node are those of any other.
"""

from contextlib import contextmanager

from .. import Tensor, no_grad, stack
from ..amp import autocast_mode
from ..autograd import Function
from ..extend import ask_overrides, bump_version, grad_mode, owner
from ..utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

__all__ = ["CustomOpDef", "OPERATORS", "OpOverload", "operator"]

OPERATORS: dict = {}                                       # "namespace::name" -> CustomOpDef


def operator(op):
    """The operator that a name ("mylib::sin"), an operator or its overload means; RuntimeError if there is none."""
    if isinstance(op, str):
        name = op.removesuffix(".default")
        if name not in OPERATORS:
            raise RuntimeError(f"there is no operator {op!r}: make it with torch.library.custom_op or define")
        return OPERATORS[name]
    found = getattr(op, "definition", op)
    if not isinstance(found, CustomOpDef):
        raise ValueError(f"expected an operator or its name, got {type(op).__name__}")
    return found


class OpOverload:
    """An operator as ``torch.ops`` shows it, ``torch.ops.mylib.sin.default``: called, it is the operator."""

    def __init__(self, definition):
        self.definition = definition
        self.__name__ = f"{definition.name}.default"

    def __call__(self, *args, **kwargs):
        return self.definition(*args, **kwargs)

    @property
    def _schema(self):
        """Its schema."""
        return self.definition.schema

    def name(self):
        """Its name with the namespace, such as "mylib::sin"."""
        return self.definition.qualname

    def __repr__(self):
        return f"<OpOverload(op='{self.definition.qualname.replace('::', '.')}', overload='default')>"


class CustomOpDef:
    """An operator of the user's own, as `custom_op` makes it: call it, or give it kernels and formulas."""

    def __init__(self, qualname, schema, apart=True):
        self.namespace, _, self.name = qualname.partition("::")
        self.qualname, self.schema, self.apart = qualname, schema, apart
        self.kernels, self.disabled, self.casts = {}, set(), {}
        self.fake = self.formula = self.setup = self.batch_rule = self.function = None
        self.default = OpOverload(self)
        self.flat = not any("[" in a.type for a in schema.arguments if a.takes_tensors) and not any(
            "[" in kind for kind in schema.returns)
        OPERATORS[qualname] = self

    _qualname, _schema = property(lambda self: self.qualname), property(lambda self: self.schema)
    _opoverload = property(lambda self: self.default)

    def __repr__(self):
        return f"<CustomOpDef({self.qualname})>"

    def overloads(self):
        """The names of its overloads."""
        return ["default"]

    # -- what it is made of --------------------------------------------------------------------------------------
    def register_kernel(self, device_types, fn=None, /):
        """Let `fn` compute it on devices of these types ("cpu", "cuda", a list; None: all), or decorate it."""
        if fn is None:
            return lambda fn: self.register_kernel(device_types, fn)
        for kind in [device_types] if device_types is None or isinstance(device_types, str) else device_types:
            self.kernels[kind] = fn
        return fn

    def register_fake(self, fn, /):
        """Let `fn` say shapes and dtypes of the results: it computes them for tensors of device "meta"."""
        self.fake = fn
        return fn

    def register_autograd(self, backward, /, *, setup_context=None):
        """Let ``backward(ctx, *grads)`` be its derivative formula: a gradient for each positional argument, or None.

        ``setup_context(ctx, inputs, output)`` keeps what it needs; where arguments are keyword-only it is
        ``setup_context(ctx, inputs, keyword_only_inputs, output)``. RuntimeError for operators that write to arguments.
        """
        if self.schema.mutates:
            raise RuntimeError(f"Cannot register autograd formula for non-functional operator {self!r} with schema "
                               f"{self.qualname}{self.schema}. Please create a functional operator and register an "
                               "autograd formula for that.")
        self.formula, self.setup = backward, setup_context

    def register_vmap(self, func=None, /):
        """Let ``func(info, in_dims, *args)`` compute a batch at once, as `Function.vmap`; otherwise it is a loop."""
        if func is None:
            return self.register_vmap
        self.batch_rule = func
        return func

    def register_autocast(self, device_type, cast_inputs):
        """In mixed precision on such devices, cast float tensors to the dtype `cast_inputs` first."""
        if device_type not in ("cpu", "cuda"):
            raise ValueError(f"Unknown device type: {device_type}")
        self.casts[device_type] = cast_inputs

    @contextmanager
    def _enabled(self, device_type, enabled, before):
        try:
            yield
        finally:
            (self.disabled.add if before else self.disabled.discard)(device_type)

    def set_kernel_enabled(self, device_type, enabled=True):
        """Use the kernel of such devices, or that of all others; as a context, until its end."""
        before = device_type in self.disabled
        (self.disabled.discard if enabled else self.disabled.add)(device_type)
        return self._enabled(device_type, enabled, before)

    # -- the call ------------------------------------------------------------------------------------------------
    def __call__(self, *args, **kwargs):
        values = self.schema.bind(self.qualname, args, kwargs)
        tensors = [x for x in tree_leaves(values) if isinstance(x, Tensor)]
        result = ask_overrides(self.default, tensors, args, kwargs)
        if result is not NotImplemented:
            return result
        kind = tensors[0].device.type if tensors else None
        dtype = self.casts.get(kind)
        if dtype is not None and autocast_mode.is_autocast_enabled(kind):
            with autocast_mode.autocast(kind, enabled=False):
                return self.recorded(tree_map(lambda x: x.to(dtype) if is_float(x) else x, values), tensors)
        return self.recorded(values, tensors)

    def recorded(self, values, tensors):
        """The results, on the graph, in the batch and with the tangents that the arguments bring along."""
        wanted = grad_mode.enabled and any([x.needs_grad for x in tensors])
        batched = grad_mode.batches
        if self.formula is None and not self.apart or self.schema.mutates or not (
                wanted or batched or grad_mode.levels):
            return self.run(values) if self.formula is None and not self.apart else self.unrecorded(values)
        if self.function is None:
            self.function = function_of(self)
        layout = Layout(self, values)
        return layout.results(self.function.apply(layout, *layout.leaves))

    def unrecorded(self, values):
        with no_grad():
            return self.run(values)

    def run(self, values):
        """The kernel's results, checked, with writes to the arguments counted."""
        bare = tree_map(lambda x: x.detach() if isinstance(x, Tensor) and x.needs_grad else x, values)
        args, kwargs = self.given(bare if self.apart or self.formula is not None else values)
        result = self.kernel(values)(*args, **kwargs)
        for argument, value in zip(self.schema.arguments, values):
            if argument.mutated:
                for x in tree_leaves(value):
                    if isinstance(x, Tensor):
                        bump_version(x, self.qualname)
        if self.apart:
            self.check_apart(values, result)
        return result

    def given(self, values):
        """Values as positional and keyword-only arguments."""
        pairs = list(zip(self.schema.arguments, values))
        return [v for a, v in pairs if not a.keyword_only], {a.name: v for a, v in pairs if a.keyword_only}

    def kernel(self, values):
        """The function that computes it, by the device of the first tensor; NotImplementedError if there is none."""
        first = next((x for x in tree_leaves(values) if isinstance(x, Tensor)), None)
        kind = None if first is None else first.device.type
        if kind == "meta":
            if self.fake is not None:
                return self.fake
            if "meta" not in self.kernels:
                raise NotImplementedError(f"There was no fake impl registered for {self!r}: "
                                          f"describe its results by {self.name}.register_fake")
        found = self.kernels.get(kind) if kind not in self.disabled else None
        found = found or self.kernels.get(None)
        if found is None:
            raise NotImplementedError(f"Could not run '{self.qualname}' with arguments from the {str(kind).upper()!r} "
                                      f"backend: it has kernels for {sorted(map(str, self.kernels)) or 'no device'}; "
                                      "register_kernel gives it one")
        return found

    def check_apart(self, values, result):
        """RuntimeError if a result shares memory with an argument or with another result."""
        known = {id(owner(x.array)) for x in tree_leaves(values) if isinstance(x, Tensor)}
        for x in tree_leaves(result):
            if isinstance(x, Tensor):
                place = id(owner(x.array))
                if place in known and x.array.size:
                    raise RuntimeError(f"{self.qualname}: The output of this custom operator (1) must not also be an "
                                       "input to this custom operator and (2) may not alias any inputs to this custom "
                                       "operator or other returns. Return a clone(), as in x.view(-1).clone()")
                known.add(place)


def is_float(x):
    return isinstance(x, Tensor) and x.is_floating_point()


# ---- as one Function -------------------------------------------------------------------------------------------
class Layout:
    """Arguments of one call as a flat list of leaves, as a `Function` takes them, and results likewise."""

    def __init__(self, op, values):
        self.op = op
        self.leaves, self.spec = (values, None) if op.flat else tree_flatten(values)
        self.result_spec = None

    def values(self, leaves):
        """The values in the order of the schema."""
        return list(leaves) if self.spec is None else tree_unflatten(list(leaves), self.spec)

    def flat_results(self, result):
        """Results as a `Function` returns them: a tensor or a tuple."""
        if self.op.flat:
            return result
        leaves, self.result_spec = tree_flatten(result)
        return tuple(leaves)

    def results(self, flat):
        """Results as the kernel returned them."""
        return flat if self.op.flat else tree_unflatten(list(flat), self.result_spec)


def function_of(op):
    """The `Function` of an operator: its first argument is the `Layout` of the call."""
    class Generated(Function):
        @staticmethod
        def forward(layout, *leaves):
            return layout.flat_results(op.run(layout.values(leaves)))

        @staticmethod
        def setup_context(ctx, inputs, output):
            layout, *leaves = inputs
            ctx._layout, values = layout, layout.values(leaves)
            ctx.needs_input_grad = needed(layout, ctx.needs_input_grad[1:])
            if op.setup is not None:
                args, kwargs = op.given(values)
                output = layout.results(output)
                op.setup(ctx, tuple(args), *([kwargs] if kwargs else []), output)

        @staticmethod
        def backward(ctx, *grads):
            if op.formula is None:
                raise RuntimeError(f"Trying to backward through {op.namespace}.{op.name}.default but no autograd "
                                   "formula was registered. Please use register_autograd to add one.")
            layout = ctx._layout
            found = layout.results(grads)
            if op.flat or len(op.schema.returns) != 1:
                given = op.formula(ctx, *found)
            else:
                given = op.formula(ctx, found)
            return None, *flat_gradients(layout, given if isinstance(given, tuple) else (given,))

        @staticmethod
        def vmap(info, in_dims, layout, *leaves):
            return in_batch(layout, info, in_dims[1:], leaves)

    Generated.__name__ = Generated.__qualname__ = f"GeneratedBackwardFor_{op.namespace}_{op.name}_default"
    return Generated


def needed(layout, flags):
    """``ctx.needs_input_grad`` with a list of flags for a list of tensors."""
    args, _ = layout.op.given(layout.values(flags))
    return tuple(args)


def flat_gradients(layout, grads):
    """A gradient for each leaf, from one for each positional argument (a list for a list)."""
    op, spec = layout.op, layout.spec
    grads = list(grads)
    count = len(op.schema.arguments)
    grads += [None] * (count - len(grads)) if len(grads) == len(op.given([None] * count)[0]) else []
    if spec is None:
        return grads
    flat = []
    for value, g in zip(layout.values(layout.leaves), grads):
        leaves = tree_leaves(value)
        flat += list(g) if isinstance(g, (list, tuple)) else [g] * len(leaves) if g is None else [g]
    return flat


def in_batch(layout, info, in_dims, leaves):
    """A batch: by the operator's own rule, or element by element; with the place of the batch in each result."""
    op, size = layout.op, info.batch_size
    values, dims = layout.values(leaves), layout.values(in_dims)
    if op.batch_rule is not None:
        args, kwargs = op.given(values)
        result, out_dims = op.batch_rule(info, tuple(op.given(dims)[0]), *args, **kwargs)
        layout.flat_results(result)
        leaves_out = tree_leaves(result)
        spread = [out_dims] * len(leaves_out) if isinstance(out_dims, int) else tree_leaves(out_dims)
        return (result, spread[0]) if op.flat and isinstance(result, Tensor) else (tuple(leaves_out), tuple(spread))
    rows = [[x.select(d, i) if d is not None else x for x, d in zip(leaves, in_dims)] for i in range(size)]
    results = [layout.flat_results(op(*(given := op.given(layout.values(row)))[0], **given[1])) for row in rows]
    if isinstance(results[0], Tensor):
        return stack(results), 0
    return tuple(stack(list(column)) for column in zip(*results)), (0,) * len(results[0])
