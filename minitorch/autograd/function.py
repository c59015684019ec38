"""`Function`: an op defined by the user, forward and backward, in PyTorch's spelling.

    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return 3 * x * x * g

    y = Cube.apply(x)

`forward` runs unrecorded. `backward` receives a gradient for each output and returns one for each
argument of `forward`, or None; under ``create_graph`` it is recorded, so that it can be
differentiated again. `jvp`, the forward derivative, receives a tangent for each argument and
returns one for each output.
"""

import functools
import inspect

from ..core import graph
from ..core.arrays import counted, is_inexact
from ..core.grad_mode import grad_mode, open_batches, recording
from ..core.graph import MultiOutputNode, OutputNode, made_node
from ..core.inplace import adopt, check_is_no_leaf
from ..core.recording import recorded
from ..core.registry import Hook
from ..core.tensor import Tensor, mark_view, wrap
from ..core.typed import fitted
from ..explain.callers import warn
from ..explain.graphs import raise_freed, raise_written
from .grad_mode import enable_grad, no_grad

__all__ = ["Function", "FunctionCtx", "once_differentiable"]


@Hook
def function_with_tangents(cls, args):
    """The context and the result of a call of `cls`, a `Function`, in forward mode; None if no
    argument has a tangent. Filled by `autograd.dual`, which opens levels."""


@Hook
def function_in_batch(cls, args):
    """A call of `cls`, a `Function`, where a vmap runs: arguments, forward and None, or None, None
    and the result. Filled by `func.custom`; batches are opened by `func`."""
    raise NotImplementedError("calls on batches are made by minitorch.func")


class FunctionCtx:
    """The context of a call: `forward` stores on it the values that `backward` needs, as
    attributes."""

    needs_input_grad = ()
    _saved = _dirty = _non_differentiable = ()
    _materialize, _node, _for_forward = True, None, None

    def save_for_backward(self, *tensors):
        """Save input or output tensors (or None) for `backward`, which raises if they were written
        to since."""
        self._saved = tensors

    def save_for_forward(self, *tensors):
        """Save input or output tensors (or None) for `jvp`, which finds them in `saved_tensors`."""
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"save_for_forward expects all arguments to be tensors, but argument {i} is of type "
                                f"{type(t).__name__}: keep it as an attribute, as in ctx.n = n")
        self._for_forward = tensors

    @property
    def saved_tensors(self):
        """The saved tensors; RuntimeError if they were freed or written to since."""
        if self._for_forward is not None:                  # while `jvp` runs
            return self._for_forward
        if self._saved is None:
            raise_freed(self._node)
        return tuple(s.unpack(self._node) if isinstance(s, Saved) else s for s in self._saved)

    saved_variables = saved_tensors

    def mark_dirty(self, *tensors):
        """Declare that `forward` has written to these inputs in place (and returns them)."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Declare that these outputs have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value):
        """Choose if gradients of unused outputs arrive as zeros (True, the default) or as None."""
        self._materialize = bool(value)


class Saved:
    """A tensor saved by a context: an input as it is, an output as its array, to avoid a reference
    cycle."""

    def __init__(self, tensor, output):
        self.value, self.output, self.backend = tensor if output is None else tensor.array, output, tensor.backend
        self.time = graph.version_counter

    def unpack(self, node):
        array = self.value if self.output is not None else self.value.array
        found = graph.versions.get(id(counted(array)))
        if found is not None and found.time > self.time:
            raise_written(node, array, found)
        if self.output is None:
            return self.value
        t = wrap(array, self.backend)
        t.node, t.needs_grad = OutputNode(node, self.output), True
        return t


class Function:
    """Base of user-defined ops: subclass it, define static `forward` and `backward`, call ``apply``.

    `forward(ctx, *args)`, or ``forward(*args)`` with a separate ``setup_context(ctx, inputs, output)``.
    """

    # True if `vmap` may call it with batched tensors
    generate_vmap_rule = False

    def __init__(self, *args, **kwargs):
        warn(f"{type(self)} should not be instantiated: its methods are static, call {type(self).__name__}.apply(...).",
             DeprecationWarning)

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"Legacy autograd function with non-static forward method is deprecated: make `forward` and "
                           f"`backward` static methods and call {type(self).__name__}.apply(...).")

    @staticmethod
    def forward(*args, **kwargs):
        """Compute the result. Must be overridden."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """Compute the gradient of each argument of `forward`. Must be overridden to be
        differentiated."""
        raise NotImplementedError("You must implement either the backward or vjp method for your custom "
                                  "autograd.Function to use it with backward mode AD.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Save the values that `backward` needs, if `forward` takes no context."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """Compute the tangent of each output from those of the arguments. Must be overridden for
        forward mode."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with "
                                  "forward mode AD.")

    @staticmethod
    def vmap(info, in_dims, *args):
        """Compute a whole batch, within `minitorch.vmap`: returns the output and its ``out_dims``.

        `args` are the arguments, with the batch along dimension ``in_dims[i]`` of each tensor (None
        for an argument that all elements share); `info` has ``batch_size`` and ``randomness``.
        Override this, or set ``generate_vmap_rule = True`` if `forward`, `setup_context` and
        `backward` only call functions of tensors.
        """
        raise NotImplementedError("To use autograd.Function with vmap, you must either override the vmap staticmethod "
                                  "or set generate_vmap_rule=True.")

    @classmethod
    def apply(cls, *args, **kwargs):
        """Call the function, recording it if an argument requires grad.

        Keywords, and defaults if there is a `setup_context`, are put at their positions in the
        signature of `forward`: `backward` returns a gradient for each.
        """
        if kwargs or cls.setup_context is not Function.setup_context and getattr(cls.forward, "__defaults__", None):
            args = cls._positional(args, kwargs)
        ctx, result = cls._called(args)
        if ctx._for_forward is not None:
            ctx._for_forward = None                        # `jvp` has run, for all levels
        return result

    @classmethod
    def _positional(cls, args, kwargs):
        """All arguments of a call by position, in the order of the signature of `forward`."""
        context = () if cls.setup_context is not Function.setup_context else (None,)
        bound = inspect.signature(cls.forward).bind(*context, *args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(f"{cls.__name__}.forward() has arguments that can only be given by keyword, "
                            f"{', '.join(bound.kwargs)}: apply() passes all of them by position")
        return bound.args[len(context):]

    @classmethod
    def _called(cls, args):
        """The context and the result of a call, with tangents if arguments have any."""
        found = function_with_tangents(cls, args) if grad_mode.levels else None
        return cls._recorded(args) if found is None else found

    @classmethod
    def _recorded(cls, args):
        """The context and the result of a call without tangents."""
        forward = cls.forward
        if open_batches and grad_mode.batches:
            args, forward, result = function_in_batch(cls, args)
            if forward is None:                            # its own rule has made the result
                return FunctionCtx(), result
        ctx = FunctionCtx()
        needs = tuple(isinstance(a, Tensor) and a.needs_grad for a in args)
        ctx.needs_input_grad = needs
        record = grad_mode.enabled and any(needs)
        places = tuple((a.node or a) if on else None for a, on in zip(args, needs))
        with no_grad():
            if cls.setup_context is Function.setup_context:
                result = cls.forward(ctx, *args)
            else:
                result = forward(*args)
                cls.setup_context(ctx, args, result)
        if ctx._dirty:
            check_returned(ctx._dirty, result)
            for t in ctx._dirty:
                graph.bump_version(t, cls.__name__)
        if record:
            result = attach(cls, ctx, args, places, result)
        elif isinstance(result, tuple):
            result = tuple([apart(ctx, args, out) for out in result])
        else:
            result = apart(ctx, args, result)
        return ctx, result

    vjp = backward


class FunctionNode(MultiOutputNode):
    """The node of one `apply`: `op` is the Function class, `saved` the context, `dtypes` and
    `taken`
    the dtypes of the outputs and of the inputs."""

    __slots__ = ("dtypes", "taken")
    is_function = True

    def name(self):
        return self.op.__name__ + "Backward"

    def pull(self, g, create_graph):
        ctx = self.saved
        # only while it runs: the node refers to the context
        ctx._node = self
        try:
            with recording(create_graph and grad_mode.enabled):
                grads = self.op.backward(ctx, *self.incoming(g, create_graph))
        finally:
            ctx._node = None
        grads = grads if isinstance(grads, (tuple, list)) else (grads,)
        return [self.checked(i, gi, create_graph) for i, gi in enumerate(self.fit(grads))]

    def incoming(self, grads, create_graph):
        """The gradients of the outputs as tensors; zeros for unused ones, unless the function wants None."""
        for g, shape, dtype in zip(grads, self.shape, self.dtypes):
            if g is None and self.saved._materialize and dtype is not None:
                yield wrap(self.backend.xp.zeros(shape, dtype), self.backend)
            else:
                yield g if g is None or create_graph else wrap(g, self.backend)

    def fit(self, grads):
        n = len(self.parents)
        if len(grads) > n and all(x is None for x in grads[n:]):
            grads = grads[:n]
        if len(grads) != n:
            raise RuntimeError(f"function {self.name()} returned an incorrect number of gradients (expected {n}, got "
                               f"{len(grads)})")
        return grads

    def checked(self, i, g, create_graph):
        parent = self.parents[i]
        if g is None or parent is None:
            return None
        if not isinstance(g, Tensor):
            raise RuntimeError(f"{self.name()}: expected Variable or None (got {type(g).__name__}) as gradient {i}")
        want, got = tuple(getattr(parent, "array", parent).shape), g.array.shape
        if got != want and not sums_to(got, want):
            raise RuntimeError(f"Function {self.name()} returned an invalid gradient at index {i} - got {list(got)} "
                               f"but expected shape compatible with {list(want)}")
        if got != want and create_graph:                   # arrays are summed by the engine
            g = recorded.sum_to(g, shape=want)
        return fitted(g if create_graph else g.array, self.taken[i])

    def release(self):
        if self.saved._saved:
            self.saved._saved = None


def sums_to(shape, target):
    """True if `target` broadcasts to `shape`."""
    lead = len(shape) - len(target)
    return lead >= 0 and all(t in (1, s) for s, t in zip(shape[lead:], target))


def attach(cls, ctx, args, places, result):
    """Record one call: make a node with an edge to each argument, and attach it to the
    differentiable outputs."""
    several = isinstance(result, tuple)
    outputs = list(result) if several else [result]
    tensors = [o for o in outputs if isinstance(o, Tensor)]
    if not tensors:
        return result
    shapes = tuple([o.array.shape if isinstance(o, Tensor) else () for o in outputs])
    node = made_node(cls, places, ctx, shapes, tensors[0].backend, FunctionNode)
    node.dtypes = [o.array.dtype if isinstance(o, Tensor) else None for o in outputs]
    node.taken = [a.array.dtype if isinstance(a, Tensor) else None for a in args]
    for i, out in enumerate(outputs):
        if isinstance(out, Tensor) and is_inexact(out.array.dtype) and not has(ctx._non_differentiable, out):
            outputs[i] = attach_output(cls, ctx, args, node, i, out)
        else:
            outputs[i] = apart(ctx, args, out)
    for i, t in enumerate(ctx._saved):
        if t is not None and not isinstance(t, Tensor):
            raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type "
                            f"{type(t).__name__}: keep it as an attribute, as in ctx.n = n")
    ctx._saved = tuple(t if t is None else Saved(t, index_of(outputs, t)) for t in ctx._saved)
    if graph.node_hooks is not None:
        graph.tell_recorded(node, tuple(outputs))
    return tuple(outputs) if several else outputs[0]


def attach_output(cls, ctx, args, node, i, out):
    """Attach the node to one output, which is an input written in place, an unchanged input, or
    new."""
    if has(ctx._dirty, out):
        made = out.detach()
        made.node, made.needs_grad = OutputNode(node, i), True
        with enable_grad():
            check_is_no_leaf(out, cls.__name__, made)
        adopt(out, made)
        return out
    if has(args, out):                                     # an input returned as it is: a view of all of it
        out = view_of(out)
    out.node, out.needs_grad = OutputNode(node, i), True
    return out


def apart(ctx, args, out):
    """An output without a gradient: a tensor of its own if it is an input as it is, or one whose
    node would say more."""
    if not isinstance(out, Tensor) or not has(args, out):
        return out
    if out.needs_grad:
        return out.detach()
    return out if has(ctx._dirty, out) else view_of(out)


def view_of(source):
    """A view of all of a tensor, outside the graph."""
    out = source.detach()
    if isinstance(source.array, source.backend.ndarray):
        out.array = source.array[...]
        mark_view(out, source)
    return out


def check_returned(dirty, result):
    """RuntimeError if an input that `forward` has marked as written to is not among its results."""
    if not all([has(result if isinstance(result, (tuple, list)) else (result,), t) for t in dirty]):
        raise RuntimeError("Some elements marked as dirty during the forward method were not returned as output. The "
                           "inputs that are modified inplace must all be outputs of the Function.")


def has(tensors, t):
    return index_of(tensors, t) is not None


def index_of(tensors, t):
    """The index of the object `t` in `tensors`, or None (``list.index`` would compare elements)."""
    return next((i for i, other in enumerate(tensors) if other is t), None)


def once_differentiable(fn):
    """Decorator of a `backward` that must not be differentiated again: doing so raises RuntimeError."""
    @functools.wraps(fn)
    def wrapped(ctx, *grad_outputs):
        recorded = grad_mode.enabled and any(isinstance(g, Tensor) and g.needs_grad for g in grad_outputs)
        with no_grad():
            grads = fn(ctx, *grad_outputs)
        if not recorded:
            return grads
        several = isinstance(grads, tuple)
        blocked = tuple(_Once.apply(*[g for g in grad_outputs if isinstance(g, Tensor)], g)
                        if isinstance(g, Tensor) else g for g in (grads if several else (grads,)))
        return blocked if several else blocked[0]
    return wrapped


class _Once(Function):
    """Returns its last argument and refuses to be differentiated."""

    generate_vmap_rule = True

    @staticmethod
    def forward(ctx, *tensors):
        return tensors[-1].clone()

    @staticmethod
    def backward(ctx, g):
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")

