"""`BatchedBackend`: the ops on arrays with a hidden axis, on top of another backend."""

from collections import OrderedDict
from types import MethodType

from ...core.arrays import owner, pointer
from ...core.backend import Backend, result_only
from ...core.errors import worded
from ...core.registry import OPS
from ..kernels import Kernels
from . import loop
from .array import IN_PLACE, ITEM, Batched, Unbatched, batched, lifted, over, spread
from .classes import derived
from .functions import Functions
from .indices import explicit, read, write

__all__ = ["BatchedBackend", "make", "rule"]

rule = Kernels("batched")                                  # the decorator of the rules that are written by hand

RANDOM = ("vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
          "randomness flags on vmap or perform the randomness operation out of vmap")


class BatchedBackend(Backend):
    """Arrays with a hidden axis of `size`, whose elements lie on the backend `inner`.

    `depth` is the number of vmaps around, `randomness` what random numbers are: an "error", the "same" for all elements
    of the batch, or "different".
    """

    fused_attention = False

    def __init__(self, inner, size, randomness):
        self.inner, self.size, self.randomness = inner, size, randomness
        self.depth, self.on_host = inner.depth + 1, inner.on_host
        super().__init__(inner.device, Functions(self), rule.found)

    def __repr__(self):
        return f"<backend {self.device}, {self.size} elements at a time>"

    def __reduce__(self):
        raise RuntimeError("vmap: a batched tensor cannot be pickled")

    # -- ops -------------------------------------------------------------------------------------------------
    def look_up(self, name):
        """The rule of an op. Layers stand around the ops of the backend below, which rules call."""
        found = self.find(name)
        setattr(self, name, found)
        self.ops.add(name)
        return found

    def find(self, name, kernels=None):
        op_name = name.removeprefix("full_")
        op, full = OPS[op_name], name not in OPS
        kernels = self.kernels if kernels is None else kernels
        found = MethodType(kernels[op_name], self) if op_name in kernels else derived(self, op, full)
        if op.keeps and not full and (op_name in kernels or not getattr(found, "lean", False)):
            found = result_only(found)

        def call(*arrays, **attrs):
            try:
                return found(*arrays, **attrs)
            except Unbatched as error:
                return loop.run(self, op, full, arrays, attrs, error)
        return call

    # -- memory ----------------------------------------------------------------------------------------------
    def asarray(self, x, dtype=None):
        return self.xp.asarray(x, dtype)

    def strided(self, array, shape, strides):
        v = lifted(self, array).value
        return batched(self, self.inner.strided(v, (v.shape[0], *shape), (v.strides[0], *strides)))

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

    def from_backend(self, array, source, non_blocking=False):
        if array.__class__ is Batched:
            raise worded(RuntimeError("vmap: a batched tensor cannot be moved to another device"))
        return lifted(self, self.inner.from_backend(array, source, non_blocking))

    def not_in_place(self):
        """The error for a write of several elements of a batch where there is memory for one."""
        return worded(RuntimeError(IN_PLACE))

    read, write, explicit = read, write, explicit

    # -- random numbers --------------------------------------------------------------------------------------
    def fill_random(self, array, sampler, generator, args):
        if self.randomness == "error":
            raise worded(RuntimeError(RANDOM))
        v = array.value
        if self.randomness == "different" and v.shape[0] != self.size:
            raise worded(RuntimeError("vmap: Cannot ask for different inplace randomness on an unbatched tensor. This "
                                      "will appear like same randomness. Make the tensor of one that is vmapped over."))
        if self.randomness == "different":
            args = [over(self, x, array.ndim) if x.__class__ is Batched else x for x in args]
            self.inner.fill_random(v, sampler, generator, args)
            return
        if any([x.__class__ is Batched and x.value.shape[0] != 1 for x in args]):
            raise worded(RuntimeError("Vmap does not currently support same randomness with a batched tensor input."))
        args = [spread(self, x, array.ndim) if x.__class__ is Batched else x for x in args]
        drawn = self.inner.xp.empty((1, *array.shape), array.dtype)
        self.inner.fill_random(drawn, sampler, generator, args)
        self.inner.xp.copyto(v, drawn)


# ---- one for each kind -------------------------------------------------------------------------------------
made: OrderedDict = OrderedDict()                          # (backend below, size, randomness) -> backend, the last used
KEPT = 64


def make(inner, size, randomness="error"):
    """The backend of a batch of `size` on the backend `inner`: one for all vmaps of the same kind, to find ops once."""
    key = id(inner), size, randomness
    found = made.pop(key, None)
    if found is None or found.inner is not inner:
        found = BatchedBackend(inner, size, randomness)
    made[key] = found
    while len(made) > KEPT:
        made.popitem(last=False)
    return found
