"""Rules of placements: where the results of an op lie, given where its inputs lie.

A rule lists choices, each for one dimension of a mesh: a placement for each input (anything for
what is not an array), and one for the results, or a list of one for each. What is cut in a result
comes with its size, ``(Shard(0), 12)``. The first choice is always that everything is on every
rank.

Rules are derived. The labels of a call (`minitorch.ops.labels`) say which dimensions go together:
each that the op does not need whole may be cut, in all inputs that have it; a result that lacks it
is `Partial`. Sums over ranks may go through an op that is linear: which inputs it is linear in, its
derivative formulas say, as in forward mode: a formula that reads neither its own input nor the
result is that of a linear input, and what it reads are factors.

A few ops are computed by hand (`@by_hand`), because their result depends on values or on ranks;
each says why.
"""

from functools import cached_property, partial

from ...extend import is_inexact
from ...ops.labels import attributes_for, bind, shardings
from .placement_types import Partial, Replicate, Shard, _StridedShard, bounds, local_part
from .sharded import Sharded

__all__ = ["BY_HAND", "Call", "by_hand", "cuts", "derived", "localized"]

R, SUM = Replicate(), Partial()


class Call:
    """One call on sharded arrays; `arrays` may have numbers and None among them. `full`: all that
    the op keeps is wanted, too.

    `kept`: what an op has kept, for inputs that are there to save work, by their number; None in
    `arrays`. A kernel arranges it in its own way, so that it is never moved.
    """

    def __init__(self, F, op, arrays, attrs, full=False):
        self.kept = {i: x for i, x in enumerate(arrays) if x.__class__ is Sharded
                     and x.kept is not None and saves_work(op, i)}
        if self.kept:
            arrays = [None if i in self.kept else x for i, x in enumerate(arrays)]
        self.F, self.op, self.arrays, self.attrs, self.full = F, op, arrays, attrs, full
        self.shapes = [None if x is None else x.shape if x.__class__ is Sharded else ()
                       for x in arrays]
        if "index" in attrs:
            shape = attrs.get("shape") or self.shapes[0]
            self.attrs = {**attrs, "index": opened(attrs["index"], shape)}

    def key(self):
        """All that placements depend on; TypeError if an attribute has no hash, or is an array."""
        arrays = tuple([(x.shape, x.dtype, x.placements) if x.__class__ is Sharded else x is None
                        for x in self.arrays])
        return self.op, self.full, arrays, frozen(self.attrs) if self.attrs else ()

    def where(self, ins):
        """The placements of the inputs by name, for the choices `ins` of each mesh dimension."""
        return {x.name: tuple([p[i] for p in ins]) for i, x in enumerate(self.op.inputs)
                if self.arrays[i].__class__ is Sharded}

    def everywhere(self):
        return (R,) * len(self.arrays), R

    @cached_property
    def bound(self):
        """The labels of the call; None if its dimensions are unknown."""
        try:
            return bind(self.op, self.shapes, self.attrs)
        except ValueError:                                 # shapes that do not fit
            return None

    def is_even(self, size):
        """True if all parts of a dimension have one size, however it is cut."""
        return size % self.F.mesh.size() == 0

    def is_filled(self, size):
        """True if no part of a dimension is empty, however it is cut."""
        n = self.F.mesh.size()
        last = bounds(size, n, n - 1)[0]
        return size > 0 and (self.is_even(size) or self.F.mesh.ndim == 1 and last < size)

    def is_complex(self):
        return any([x.dtype.kind == "c" for x in self.arrays if x.__class__ is Sharded])

    def is_smooth(self):
        """True if the parts of all arrays, and of the result, may be summed."""
        dtype = self.attrs.get("dtype")
        return all([is_inexact(x.dtype) for x in self.arrays if x.__class__ is Sharded]) and (
            dtype is None or is_inexact(self.F.inner.xp.dtype(dtype)))


def saves_work(op, i):
    """True for an input that is an intermediate value, or None: then it is computed again."""
    return i < len(op.inputs) and op.inputs[i].optional and op.inputs[i].kind == "other"


BY_HAND: dict = {}                                         # name of an op -> what computes it


def by_hand(*names):
    """The decorator of a function that computes these ops: ``function(call)`` returns the results,
    with what is kept if the call is `full`; or NotImplemented, and the op is computed as others."""
    def enter(function):
        BY_HAND.update(dict.fromkeys(names, function))
        return function
    return enter


def frozen(x):
    """Attributes, or a part of them, as a key."""
    if x.__class__ is dict:
        return tuple([(name, frozen(part)) for name, part in x.items()])
    if x.__class__ in (tuple, list):
        return x.__class__, tuple([frozen(part) for part in x])
    if x.__class__ is slice:
        return slice, x.start, x.stop, x.step
    if hasattr(x, "shape"):
        raise TypeError
    return x.__class__, x                                  # `dim=True` differs from `dim=1`


def opened(index, shape):
    """An index with ``:`` wherever a slice takes all of a dimension of `shape`: it does so for any
    part, too."""
    if any([hasattr(p, "shape") for p in index]):
        return index
    spare = len(shape) - sum([p is not None and p is not Ellipsis for p in index])
    parts, d = [], 0
    for p in index:
        takes_all = p.__class__ is slice and d < len(shape) and (
            p.indices(shape[d]) == (0, shape[d], 1))
        parts.append(slice(None) if takes_all else p)
        d += spare if p is Ellipsis else p is not None
    return tuple(parts)


# ---- cuts ----------------------------------------------------------------------------------------
def cuts(call):
    """The choices that follow from the labels."""
    if call.bound is None:
        return []
    factors = {p.split_factor for x in call.arrays if x.__class__ is Sharded
               for p in x.placements if p.__class__ is _StridedShard}
    ways = [Shard, *[partial(_StridedShard, split_factor=n) for n in factors]]
    return [choice(call, shard, *found) for found in shardings(call.bound, least=0)
            if is_possible(call, *found) for shard in ways]


def is_possible(call, label, ins, outs):
    """True if parts along a label make up the whole, with the places that `shardings` says."""
    size, shapes = call.bound.sizes[label], [*call.shapes, *call.bound.out_shapes]
    cut = {shape[p[1]] for p, shape in zip([*ins, *outs], shapes) if p[0] == "S"}
    how = {p[1] for p in outs if p[0] == "P"}
    if "avg" in how or cut != {size}:                      # a mean; a view that joins or splits
        if not size or not call.is_even(size):
            return False
    if how & {"max", "min"} and not call.is_filled(size):
        return False
    if how & {"max", "min", "product"} and call.is_complex():
        return False                                       # collectives refuse it
    if call.full and call.op.keeps and label not in call.bound.kept:
        return False
    return all([p[0] != "P" or x is None or x.__class__ is Sharded
                for x, p in zip(call.arrays, ins)])


def choice(call, shard, label, ins, outs):
    """The placements of inputs and results for a cut along a label, by `shard`."""
    op, bound = call.op, call.bound

    def lies(place):
        return shard(place[1]) if place[0] == "S" else Partial(place[1]) if place[0] == "P" else R
    results = [(lies(p), shape[p[1]]) if p[0] == "S" else lies(p)
               for p, shape in zip(outs, bound.out_shapes)]
    results = results[0] if op.outputs == 1 else results
    if call.full and op.keeps:
        kept = shard(bound.kept.index(label)), bound.sizes[label]
        results = [results, *[kept] * len(op.keeps)]
    return tuple([lies(p) for p in ins]), results


def derived(call):
    """Everywhere, the cuts, and sums that go through."""
    return [call.everywhere(), *cuts(call), *sums(call)]


def localized(call, outs):
    """The attributes of this rank's part of a call that differ: those that say sizes of results."""
    bound, F = call.bound, call.F
    if bound is None or not any([term.flat or term.of for term in bound.column.outs]):
        return {}
    if call.full and call.op.keeps:
        outs = [out[0] if out.__class__ is list else out for out in outs]
    shapes = []
    for i, shape in enumerate(bound.out_shapes):
        own = [out[i] if out.__class__ is list else out for out in outs]
        places = [out[0] if out.__class__ is tuple else out for out in own]
        shapes.append(local_part(shape, F.mesh, places)[0])
    found = attributes_for(bound, shapes)
    return {name: x for name, x in found.items() if call.attrs.get(name) is not x}


# ---- sums over ranks -----------------------------------------------------------------------------
_groups: dict = {}
LINEAR = {"div": [{0}]}                                    # in its first input only


def linear_groups(op, many):
    """Sets of inputs, of `many`, that may be sums together while the others are whole: the op is
    linear in them."""
    if op.joint and op.tangent_kind == "linear":
        return [set(range(many))]
    if (op.joint or op.tangent or op.outputs != 1
            or op.tangent_kind not in ("linear", "multilinear")):
        return LINEAR.get(op.name, [])
    if any([getattr(formula, "missing", False) for formula in op.vjps.values()]):
        return []                                          # formulas that only refuse
    if op not in _groups:
        _groups[op] = groups_by_formulas(op)
    return _groups[op]


def groups_by_formulas(op):
    """`linear_groups` by what the derivative formulas read."""
    live = [i for i, x in enumerate(op.inputs)
            if x.kind not in ("other", "variadic") and op.vjps[x.name]]
    names = [x.name for x in op.inputs]
    read = {i: {names.index(f) for f in op.reads[names[i]] if f in names} for i in live}

    def is_apart(j, others):
        return all([j not in read[k] and k not in read[j] for k in others])
    linear = [i for i in live if i not in read[i]
              and not {"out", *op.keeps}.intersection(op.reads[names[i]])]
    groups: list = []
    for i in linear:
        near = [i, *[j for j in linear if j != i and is_apart(j, [i])]]
        group = {j for n, j in enumerate(near) if is_apart(j, near[:n])}
        factors = set().union(*[read[k] for k in group])
        if group | factors >= set(live) and group not in groups:
            groups.append(group)
    return groups


def sums(call):
    """Choices by which sums and means over ranks go through the op."""
    if not call.is_smooth():
        return []
    found = []
    for group in linear_groups(call.op, len(call.arrays)):
        if all([call.arrays[i] is None or call.arrays[i].__class__ is Sharded for i in group]):
            for p in (SUM, Partial("avg")):
                ins = tuple([p if i in group else R for i in range(len(call.arrays))])
                found.append((ins, p))
    return found
