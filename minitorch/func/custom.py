"""`autograd.Function` in `vmap`: its own rule, the static method `vmap`, or one that is generated."""

from typing import NamedTuple

from .. import Tensor
from ..autograd.function import Function
from ..autograd.recording import behind
from ..backends.batched.crossing import chain, hide, join, show
from ..core.grad_mode import grad_mode
from ..utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from .vmap import spread

__all__ = ["VmapInfo", "function_in_batch"]

SEE = "See \"Custom functions\" in minitorch's page on vmap."


class VmapInfo(NamedTuple):
    """The batch that `Function.vmap` is called for: its size, and the `randomness` of the vmap."""

    batch_size: int
    randomness: str


def function_in_batch(cls, args):
    """A call of the function `cls` where a vmap runs: ``(args, forward, None)``, to be recorded like any other, or
    ``(None, None, result)``, computed by its own rule and recorded below the batch."""
    if cls.setup_context is Function.setup_context and not cls.generate_vmap_rule:
        raise RuntimeError("In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, "
                           f"...), it must override the setup_context staticmethod. {SEE}")
    own = cls.vmap is not Function.vmap
    if own and cls.generate_vmap_rule:
        raise RuntimeError(f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an "
                           f"overridden vmap staticmethod. Please set generate_vmap_rule=False or delete the "
                           f"overridden vmap staticmethod to avoid ambiguity. {SEE}")
    if not own and not cls.generate_vmap_rule:
        raise RuntimeError(f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override "
                           f"and implement the vmap staticmethod or set generate_vmap_rule=True. {SEE}")
    tensors = [x for x in tree_leaves(list(args)) if isinstance(x, Tensor)]
    F = max([x.backend.below for x in tensors], key=lambda backend: backend.depth, default=None)
    if F is None or not F.depth:
        return args, cls.forward, None
    if own and not is_differentiated_inside(F, tensors):
        return None, None, by_own_rule(cls, F, args)
    args = tree_map(lambda x: join(F, x) if isinstance(x, Tensor) else x, args)
    return args, (lambda *given: by_own_rule(cls, F, given)) if own else cls.forward, None


def is_differentiated_inside(F, tensors):
    """True if gradients flow to leaves in the batch: then the function's `backward` is given
    batched tensors."""
    roots = [x.node or x for x in tensors if x.needs_grad]
    return grad_mode.enabled and any([not place.parents and F in chain(place.backend) for place in behind(roots)])


def by_own_rule(cls, F, args):
    """The result of ``cls.vmap``, which is given tensors of the backend below, with the batch along dimension 0."""
    def is_mapped(x):
        return isinstance(x, Tensor) and x.backend is F and x.array.value.shape[0] == F.size

    def below(x):
        if not isinstance(x, Tensor) or x.backend is not F:
            return x
        return show(F, x, 0) if is_mapped(x) else show(F, x, 0)[0]
    in_dims = tree_map(lambda x: 0 if is_mapped(x) else None, args)
    around, grad_mode.batches = grad_mode.batches, tuple([b for b in grad_mode.batches if b in chain(F.inner)])
    try:
        if any([d == 0 for d in tree_leaves(in_dims)]):
            found = cls.vmap(VmapInfo(F.size, F.randomness), in_dims, *tree_map(below, args))
        else:                                              # nothing is mapped: the rule is not asked
            found = cls.apply(*tree_map(below, args)), None
    finally:
        grad_mode.batches = around
    if not isinstance(found, tuple) or len(found) != 2:
        got = type(found) if not isinstance(found, tuple) else f"a tuple of length {len(found)}"
        raise RuntimeError(f"Expected the vmap staticmethod to have two returns, an output and out_dims with pytree "
                           f"structure compatible with the output. Got {got}")
    out, out_dims = found
    leaves, spec = tree_flatten(out)
    dims = spread(out_dims, out)
    if dims is None:
        raise RuntimeError(f"The vmap staticmethod of {cls.__name__} returned out_dims {out_dims}, which do not have "
                           f"the structure of its output")
    return tree_unflatten([x if d is None or not isinstance(x, Tensor) else hide(F, x, d % x.dim())
                           for x, d in zip(leaves, dims)], spec)
