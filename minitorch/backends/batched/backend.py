"""`BatchedBackend`: the ops on arrays with a hidden axis, on top of another backend."""

from typing import Any

from ...core.arrays import owner, pointer
from ...core.backend import Backend
from ...core.errors import worded
from ...core.registry import OPS
from ...core.tensor import wrap
from ...utils._pytree import tree_leaves
from ..kernels import Kernels
from . import loop, products  # noqa: F401  products: entered for `Functions`
from .array import (
    IN_PLACE,
    ITEM,
    Batched,
    NoStrides,
    Unbatched,
    batched,
    is_shared,
    lifted,
    over,
    physical,
    spread,
)
from .classes import derived, without_strides
from .crossing import join, of_one_batch, settled
from .functions import Functions
from .indices import explicit, read, write

__all__ = ["BatchedBackend", "rule"]

rule = Kernels("batched")                                  # the decorator of the rules that are written by hand

RANDOM = ("vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
          "randomness flags on vmap or perform the randomness operation out of vmap")
UNBATCHED = ("vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
             "randomness. Make the tensor of one that is vmapped over, as in x.new_empty(...).")
SAME = "Vmap does not currently support same randomness with a batched tensor input."


class BatchedBackend(Backend):
    """Arrays with a hidden axis of `size`, whose elements lie on the backend `inner`: one for each vmap that runs.

    `depth` is the number of vmaps around, `randomness` what random numbers are: an "error", the "same" for all elements
    of the batch, or "different". `origin` is the backend of the vmap itself: a backward pass that is a vmap of its own
    goes through the graph that another one left on copies of its backend, above the pass's (`crossing.onto`).
    """

    fp32: Any
    kernels: dict = {}             # rules call the ops of the backend below, which has kernels

    def __init__(self, inner, size, randomness="error", origin=None):
        self.inner, self.size, self.randomness = inner, size, randomness
        self.depth, self.on_host, self.device = inner.depth + 1, inner.on_host, inner.device
        self.xp, self.ndarray, self.ops, self.copies = Functions(self), Batched, set(), {}
        self.origin = self if origin is None else origin

    def __repr__(self):
        return f"<backend {self.device}, {self.size} elements at a time>"

    def __reduce__(self):
        raise RuntimeError("vmap: a batched tensor cannot be pickled")

    # -- ops: found once, for all of these backends, since what they are is asked of `self` -----------------------
    def __getattr__(self, name):
        if not name.startswith("__") and name.removeprefix("full_") in OPS:
            setattr(BatchedBackend, name, operation(name))
            return getattr(self, name)
        return super().__getattr__(name)

    def computed(self, op, full, found, arrays, attrs):
        """The results of an op by its rule `found`, or element by element."""
        try:
            return found(self, *arrays, **attrs)
        except NoStrides:
            return without_strides(op, full)(self, *arrays, **attrs)
        except Unbatched as error:
            return loop.run(self, op, full, arrays, attrs, error)

    def together(self, inputs):
        return of_one_batch(inputs)

    def join(self, x):
        return join(self, x)

    def settled(self, x):
        return settled(self, x)

    def once(self, name, arrays, attrs):
        """The result of an op: one for all elements of the batch if the arrays are, also where the
        op makes room for all of them. An index among the attributes may have several."""
        inputs = (*arrays, *tree_leaves(attrs)) if attrs else arrays
        given = [x for x in inputs if x.__class__ is Batched]
        return settled_room(self, getattr(self, name)(*arrays, **attrs), given)

    def room_beside(self, x, other):
        """A copy of the tensor `x` that can be overwritten by parts of `other`, a batched one."""
        x, other = of_one_batch((x, other))
        every = wrap(x.backend.xp.ones((), bool), x.backend)
        return OPS["where"].call(every, x, x)

    element_by_element = loop.element_by_element

    # -- memory ----------------------------------------------------------------------------------------------
    def asarray(self, x, dtype=None):
        return self.xp.asarray(x, dtype)

    def strided(self, array, shape, strides):
        v = lifted(self, array).value
        try:
            found = self.inner.strided(v, (v.shape[0], *shape), (v.strides[0], *strides))
        except NotImplementedError as error:
            raise NoStrides(str(error)) from error
        return batched(self, found)

    def of_memory(self, array, size, stride, offset):
        v = array.value
        start = (pointer(v) - pointer(owner(v))) // v.itemsize if v.size else 0
        steps = [s // v.itemsize for s in v.strides]
        reach = sum([(n - 1) * s for n, s in zip(array.shape, steps[1:])])
        last = offset - start + sum([(n - 1) * s for n, s in zip(size, stride)])
        if v.shape[0] > 1 and 0 not in size and (offset < start or last > reach):
            raise worded(RuntimeError("vmap: as_strided: the view reaches outside the memory of one element of the "
                                      "batch"))
        return batched(self, self.inner.of_memory(v, (v.shape[0], *size), (steps[0], *stride), offset))

    def from_host(self, array):
        return lifted(self, self.inner.from_host(array))

    def to_host(self, array):
        raise worded(RuntimeError(ITEM))

    def physical(self, array):
        return physical(array)

    def from_backend(self, array, source, non_blocking=False):
        if array.__class__ is Batched:
            raise worded(RuntimeError("vmap: a batched tensor cannot be moved to another device"))
        return lifted(self, self.inner.from_backend(array, source, non_blocking))

    def not_in_place(self):
        """The error for a write of several elements of a batch where there is memory for one."""
        return Unbatched(IN_PLACE)

    read, write, explicit, batched = read, write, explicit, batched

    # -- random numbers --------------------------------------------------------------------------------------
    def fill_random(self, array, sampler, generator, args):
        if self.randomness == "error":
            raise worded(RuntimeError(RANDOM))
        v, inner, different = array.value, self.inner, self.randomness == "different"
        if different and v.shape[0] != self.size:
            raise worded(RuntimeError(UNBATCHED))
        if not different and not all([is_shared(x) for x in args]):
            raise worded(RuntimeError(SAME))
        below = over if different else spread
        args = [below(self, x, array.ndim) if x.__class__ is Batched else x for x in args]
        if not inner.depth:
            args = [inner.to_host(x) if x.__class__ is inner.ndarray else x for x in args]
        drawn = v if different else inner.xp.empty((1, *array.shape), array.dtype)
        inner.fill_random(drawn, sampler, generator, args)
        if not different:
            inner.xp.copyto(v, drawn)


def settled_room(F, x, given):
    """A result of the batched arrays `given`, or each of several, with one element for all where
    none of them differs, in this batch and those around."""
    if x.__class__ in (tuple, list):
        return type(x)([settled_room(F, y, given) for y in x])
    if x.__class__ is not Batched:
        return x
    own = [y for y in given if y.backend is F]
    value = x.value if any([y.value.shape[0] != 1 for y in own]) else x.value[:1]
    if F.inner.depth:
        around = [y.value for y in own] + [y for y in given if y.backend is not F]
        value = settled_room(F.inner, value, around)
    return x if value is x.value else batched(F, value)


def operation(name):
    """The function of an op on batched arrays. Layers stand around the ops of the backend below, which it calls."""
    op_name = name.removeprefix("full_")
    op, full = OPS[op_name], name not in OPS
    by_hand = rule.found.get(op_name) if full or not op.keeps else None    # for what it keeps
    found = derived(op, full, by_hand)

    def call(self, *arrays, **attrs):
        return self.computed(op, full, found, arrays, attrs)
    return call
