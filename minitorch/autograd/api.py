"""The functions that start a backward pass, `backward` and `grad`, with PyTorch's checks."""

import contextlib

from ..core import engine
from ..core.grad_mode import grad_mode, open_batches, recording
from ..core.recording import Tied, recorded
from ..core.registry import Hook, extends
from ..core.tensor import Tensor, wrap
from ..explain.cuts import cut_in_words
from .graph import GradientEdge, place_of
from .recording import behind, run_noting

__all__ = ["backward", "grad"]


@Hook
def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """A function of a batch, as `func` of its elements: ``torch.vmap``. Filled by `func`."""
    raise NotImplementedError("functions of batches are made by minitorch.func")


@Hook
def inside(tensors):
    """A block with a backward pass that begins at these tensors of forward mode. Filled by
    `autograd.dual`."""


class ForwardMode:
    """`used` is True once a level has been opened: before that no tensor is dual."""

    used = False


def are_dual(values):
    """True if some of these values are tensors of forward mode."""
    return any([isinstance(x, Tensor) and x.backend.level is not None for x in values])


@extends(Tensor, "backward")
def backward_of(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Add this tensor's gradients to the `grad` of every leaf it depends on: see
    `autograd.backward`."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Add the gradients of `tensors` to the `grad` of every leaf they depend on (or of `inputs`
    only).

    `grad_tensors` are the gradients of `tensors`, None for those with one element (then 1). The graph's saved
    values are freed unless `retain_graph` (default: `create_graph`); with `create_graph` the pass is recorded,
    so that its result can be differentiated again.
    """
    if grad_variables is not None:                         # the name of `grad_tensors` in old programs
        grad_tensors = grad_variables
    tensors, seeds = as_tuple(tensors), as_tuple(grad_tensors)
    if inputs is not None:
        inputs = as_tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        found = grad(tensors, inputs, seeds, retain_graph, create_graph, allow_unused=True)
        for x, g in zip(inputs, found):
            x = leaf_of(x) if isinstance(x, GradientEdge) else x
            if g is not None and not x.retains_grad:       # `retain` has added it already
                engine.accumulate(x, g if create_graph else g.array, create_graph, False)
        return
    roots, seeds = prepare(tensors, seeds, "backward")
    retain_graph = create_graph if retain_graph is None else retain_graph
    if ForwardMode.used and are_dual((*tensors, *seeds)):
        backward_dual(tensors, roots, seeds, retain_graph, create_graph)
        return
    with recording(create_graph):      # not in `pull`, so that the frames to the user's line stay
        run = run_noting if Tied.made else engine.run
        run(roots, seeds, create_graph, retain_graph)


def backward_dual(tensors, roots, seeds, retain_graph, create_graph):
    """The pass of `backward` from tensors of forward mode: on tensors."""
    with inside(tensors):
        pull(roots, seeds, retain_graph, create_graph, True)
    if not create_graph:                       # gradients came as tensors, which may share memory
        for leaf in behind(roots):
            if not leaf.parents and leaf._grad is not None:
                leaf._grad = recorded.clone(leaf._grad)


def pull(roots, seeds, retain_graph, create_graph, on_tensors, capture=None):
    """Run a backward pass like `engine.run`; on tensors if it is recorded or gradients may have
    tangents."""
    with recording(create_graph):
        run = run_noting if Tied.made else engine.run
        run(roots, seeds, on_tensors, retain_graph, capture)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
         is_grads_batched=False, materialize_grads=False):
    """The gradients of `outputs` (weighted by `grad_outputs`) with respect to `inputs`, as a tuple of tensors.

    Nothing is added to any ``.grad``. An input that does not influence the outputs raises RuntimeError, unless
    `allow_unused` (its gradient is None) or `materialize_grads` (zeros).
    """
    if allow_unused is False and materialize_grads:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                         "allow_unused=False.")
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    outputs, inputs = as_tuple(outputs), as_tuple(inputs)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    for x in inputs:
        if not isinstance(x, (Tensor, GradientEdge)):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(x).__name__}")
        if not isinstance(x, GradientEdge) and not x.needs_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    if is_grads_batched:
        return _all_rows(outputs, inputs, as_tuple(grad_outputs), retain_graph, create_graph, allow_unused,
                         materialize_grads)
    roots, seeds = prepare(outputs, as_tuple(grad_outputs), "grad")
    places = [place_of(x, roots) for x in inputs]
    capture = dict.fromkeys(places)
    retain_graph = create_graph if retain_graph is None else retain_graph
    dual = ForwardMode.used and are_dual((*outputs, *seeds))
    on_tensors = create_graph or dual
    if open_batches and grad_mode.batches:
        on_tensors = on_tensors or len({x.backend.backend for x in (*roots, *seeds, *places)}) > 1
        with each_element(), inside(outputs) if dual else contextlib.nullcontext():
            pull(roots, seeds, retain_graph, create_graph, on_tensors, capture)
    elif dual:
        with inside(outputs):
            pull(roots, seeds, retain_graph, create_graph, on_tensors, capture)
    else:
        pull(roots, seeds, retain_graph, create_graph, on_tensors, capture)
    found = [capture[place] for place in places]
    capture.clear()
    return tuple([_captured(x, place, found, i, on_tensors, create_graph or dual, allow_unused,
                            materialize_grads) for i, (x, place) in enumerate(zip(inputs, places))])


class each_element:
    """Within the block, a value shared by all elements of a running batch gets one gradient per
    element.

    Such a pass is computed on tensors, because these may be batched where the values they meet are
    not.
    """

    def __enter__(self):
        self.outer, grad_mode.each = grad_mode.each, True

    def __exit__(self, *exc):
        grad_mode.each = self.outer


def _all_rows(outputs, inputs, seeds, retain_graph, create_graph, allow_unused, materialize):
    """Run one pass for all elements of the first dimension of the `seeds`, as a batch."""
    found: list = []

    def pull(*given):
        rest = iter(given)
        rows = [None if s is None else next(rest) for s in seeds]
        found[:] = grad(outputs, inputs, rows, retain_graph, create_graph, allow_unused=allow_unused,
                        materialize_grads=materialize)
        return tuple([g for g in found if g is not None])
    given = [s for s in seeds if s is not None]
    if not given:
        raise RuntimeError("is_grads_batched=True needs grad_outputs, all with a first dimension of the same size")
    rest = iter(vmap(pull, randomness="different")(*given))
    return tuple([None if g is None else next(rest) for g in found])


def leaf_of(edge):
    """The leaf whose `grad` an edge leads to."""
    leaf = place_of(edge)
    if not isinstance(leaf, Tensor):
        raise RuntimeError("backward(inputs=...) takes the gradient edges of leaves only: there is no tensor whose "
                           ".grad could hold the gradient; autograd.grad() returns it")
    return leaf


def _captured(x, place, found, i, on_tensors, as_it_is, allow_unused, materialize):
    """The gradient `found[i]` as a tensor; a copy if something else refers to its memory."""
    g = found[i]
    if g is None:
        if not allow_unused:
            raise RuntimeError("One of the differentiated Tensors appears to not have been used in the graph. Set "
                               "allow_unused=True if this is the desired behavior.")
        if not materialize:
            return None
        if isinstance(x, GradientEdge):
            raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
        return wrap(x.backend.xp.zeros_like(x.array), x.backend)
    if as_it_is:
        return g
    # a node's backend may be a `Float32Compute`
    backend = g.backend if on_tensors else place.backend.backend
    if engine.references(found[i]) == engine.ALONE and g.__class__ is backend.ndarray and g.base is None:
        return wrap(g, backend)                            # made in this pass, and not shared
    g = g.array if on_tensors else g
    return wrap(backend.xp.array(g) if g.strides is not None else g.copy(), backend)


def as_tuple(x):
    if isinstance(x, GradientEdge):                        # a tuple, too
        return (x,)
    if x is None:
        return ()
    one = isinstance(x, Tensor) or not hasattr(x, "__iter__") or hasattr(x, "__torch_function__")
    return (x,) if one else tuple(x)


def prepare(outputs, seeds, caller):
    """The roots and seeds of a pass, after PyTorch's checks."""
    seeds = seeds or (None,) * len(outputs)
    if len(seeds) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(seeds)} gradients")
    roots, ready = [], []
    for t, seed in zip(outputs, seeds):
        if isinstance(t, GradientEdge):
            if not isinstance(seed, Tensor):
                raise RuntimeError("grad can be implicitly created only for scalar outputs: a GradientEdge has no "
                                   "tensor, pass its gradient")
            roots.append(place_of(t))
            ready.append(seed)
            continue
        if not isinstance(t, Tensor):
            raise TypeError(f"{caller}() expected tensors, got {type(t).__name__}")
        if not t.needs_grad:
            raise RuntimeError(f"element {len(roots)} of tensors does not require grad and does not have a grad_fn: "
                               f"nothing that it was computed from requires gradients, or the graph was cut on the way "
                               f"by detach(), no_grad(), item(), or an op without a derivative such as argmax or >."
                               + cut_in_words(t))
        ready.append(seed_one(t) if seed is None else fitting(seed, t, len(roots)))
        roots.append(t.node or t)
    return roots, ready


def seed_one(t):
    """The gradient of an output with respect to itself, 1; the output must be a real number."""
    if t.array.size != 1:
        raise RuntimeError(f"grad can be implicitly created only for scalar outputs: this one has shape "
                           f"{list(t.shape)}; pass a gradient of that shape or reduce it, as in .sum()")
    xp, shape, dtype = t.backend.xp, t.array.shape, t.array.dtype
    if dtype.kind == "c":
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {t.dtype}: "
                           f"pass the gradient, or make the result real, as in .abs() or .real")
    return wrap(xp.ones(shape, dtype) if shape else xp.array(1, dtype), t.backend)


def fitting(seed, t, i):
    """The gradient given for output `i`, the tensor `t`: checked for its shape, cast to its
    dtype."""
    if not isinstance(seed, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(seed).__name__}")
    if seed.array.shape != t.array.shape:
        raise RuntimeError(f"Mismatch in shape: grad_output[0] has a shape of {seed.shape} and output[0] has a "
                           f"shape of {t.shape}.")
    if seed.array.dtype == t.array.dtype:
        return seed
    if "c" in (seed.array.dtype.kind, t.array.dtype.kind) and seed.array.dtype.kind != t.array.dtype.kind:
        raise RuntimeError(f"For complex Tensors, both grad_output and output are required to have the same "
                           f"dtype. Mismatch in dtype: grad_output[{i}] has a dtype of {seed.dtype} "
                           f"and output[{i}] has a dtype of {t.dtype}.")
    return seed.to(t.dtype)

