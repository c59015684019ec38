"""``device("meta")``: tensors that have a shape and a dtype, but no memory and no values.

Calls, backward passes and modules work as on any device: their results have the shape and the dtype that they would
have, and count as contiguous. So a model can be built, counted and summarised that would not fit into memory;
``module.to_empty(device=...)`` gives its parameters memory elsewhere.

It is the backend of `vmap` for a batch of no elements: the definitions and the batching rules say
what each op makes of an element, and there is none to compute. Where a rule needs an element, as
for convolutions with weights of their own, the shapes of the results follow from index notation,
and their dtypes from a call on zeros, one along each dimension that may be cut. Ops that depend on
values (`nonzero`, a mask as an index) raise an error.
"""

from ..core.device import device
from ..core.errors import worded
from ..ops.labels import attributes_for, bind
from ..utils._pytree import tree_any, tree_map
from .batched import draws as _draws  # noqa: F401  methods of `BatchedBackend`
from .batched import kernels as _rules  # noqa: F401  which need the definitions
from .batched.array import Batched, batched
from .batched.backend import BatchedBackend
from .cpu.backend import cpu

__all__ = ["Meta", "make_meta"]


class Meta(BatchedBackend):
    """Arrays without elements in memory: batches of none."""

    def __init__(self):
        super().__init__(cpu, 0, "different")
        self.device, self.depth, self.on_host, self.together = device("meta"), 0, False, None

    def __repr__(self):
        return "<backend meta>"

    def __reduce__(self):
        return make_meta, (None,)

    def blank(self, array):
        """An array of the shape and dtype of another one; an expanded dimension or another order is not kept."""
        return batched(self, cpu.xp.empty((0, *array.shape), array.dtype))

    def from_host(self, array):
        return self.blank(array)

    def from_backend(self, array, source, non_blocking=False):
        return self.blank(array)

    def to_host(self, array):
        raise worded(NotImplementedError("Cannot copy out of meta tensor; no data!"))

    def fill_random(self, array, sampler, generator, args):
        pass

    # -- ops -------------------------------------------------------------------------------------------------
    def computed(self, op, full, found, arrays, attrs):
        """The results of an op without values; layers are notified, as on other backends."""
        def call(*arrays, **attrs):
            return self.blank_results(op, full, found, arrays, attrs)
        name = f"full_{op.name}" if full else op.name
        return self.layered(name, call)(*arrays, **attrs)

    def blank_results(self, op, full, found, arrays, attrs):
        """The results of an op: by its batching rule `found`, or by its labels where that needs an
        element; from zeros where it has none."""
        if op.by_values or tree_any(is_mask, attrs):
            raise unknown(op)
        try:
            return found(self, *arrays, **attrs)
        except Exception as error:
            try:
                call = None if full and op.keeps else labels_of(op, arrays, attrs)
                return (self.from_zeros(op, full, arrays, attrs) if call is None
                        else self.of_shapes(op, call, arrays))
            except Exception:
                raise error from None                      # of what is wrong with the arguments

    def of_shapes(self, op, call, arrays):
        """The results of an op whose labels are known."""
        def cut(labels, shape):
            return tuple([n if x in call.whole else 1 for x, n in zip(labels, shape)])
        arrays = [cpu.xp.zeros(cut(labels, x.shape), x.dtype) if x.__class__ is Batched else x
                  for x, labels in zip(arrays, call.ins)]
        attrs = attributes_for(call, [cut(*pair) for pair in zip(call.outs, call.out_shapes)])
        found = cpu.find(op.name)(*arrays, **tree_map(zeros, attrs))
        several = isinstance(found, (tuple, list))
        blank = [batched(self, cpu.xp.empty((0, *shape), y.dtype))
                 for y, shape in zip(found if several else [found], call.out_shapes)]
        return tuple(blank) if several else blank[0]

    def from_zeros(self, op, full, arrays, attrs):
        """The results of an op, computed from zeros and thrown away."""
        call = cpu.find(f"full_{op.name}" if full else op.name)      # without layers
        arrays, attrs = tree_map(zeros, (arrays, attrs))
        return tree_map(lambda y: self.blank(cpu.asarray(y)) if hasattr(y, "dtype") else y, call(*arrays, **attrs))


def zeros(x):
    """Zeros in the shape and dtype of an array without elements; anything else as it is."""
    return cpu.xp.zeros(x.shape, x.dtype) if x.__class__ is Batched else x


def labels_of(op, arrays, attrs):
    """The labels of a call; None if the notation does not have its number of dimensions."""
    try:
        return bind(op, [shape_of(x) for x in arrays], attrs)
    except ValueError:
        return None


def shape_of(x):
    return None if x is None else getattr(x, "shape", ())


def is_mask(x):
    """True if `x` is an array of bools."""
    return x.__class__ is Batched and x.dtype.kind == "b"


def unknown(op):
    """The error for an op that would have to look at values."""
    return worded(NotImplementedError(f"{op.name}: the shape of its result depends on values, and tensors of device "
                                      f"'meta' have none"))


def make_meta(index):
    """The backend of device "meta": there is one."""
    return meta


meta = Meta()
