"""Rules of placements: where the results of an op lie, given where its inputs lie.

A rule names choices, each for one dimension of a mesh: a placement for each input (anything for
what is not an array), and one for the results, or a list of one for each. What is cut in a result
comes with its size, ``(Shard(0), 12)``. The first choice is always that everything is on every
rank.

Most rules are derived. Elementwise ops may be cut along any dimension that is not broadcast; ops along a `dim`, along
the others. Sums over ranks (`Partial`) may go through an op that is linear: which inputs it is linear in, its
derivative formulas say, as in forward mode: a formula that reads neither its own input nor the result is that of a
linear input, and what it reads are factors. The others are entered by hand (`@rule`), as kernels are.
"""

from ...extend import checked_dim, is_inexact
from ...ops.dims import is_along, is_elementwise, terms
from .placement_types import Partial, Replicate, Shard, _StridedShard
from .sharded import Sharded

__all__ = ["Call", "elementwise", "of", "rule"]

R, SUM = Replicate(), Partial()


class Call:
    """One call on sharded arrays; `arrays` may have numbers and None among them."""

    def __init__(self, F, op, arrays, attrs):
        self.F, self.op, self.arrays, self.attrs = F, op, arrays, attrs
        self.shapes = [x.shape if x.__class__ is Sharded else () for x in arrays]

    def everywhere(self):
        return (R,) * len(self.arrays), R

    def dim(self, name="dim"):
        """The attribute `dim`, counted from the front."""
        return checked_dim(self.attrs[name], len(self.shapes[0]))

    def dims(self):
        """The dimensions that the op goes along: all for None."""
        n = len(self.shapes[0])
        given = self.attrs.get("dim", dict(self.op.attrs).get("dim"))
        if given is None or given.__class__ in (tuple, list) and not given:
            return set(range(n))
        return {checked_dim(d, n) for d in (given if given.__class__ in (tuple, list) else (given,))}

    def even(self, size):
        """True if all parts of a dimension have one size, however it is cut."""
        return size % self.F.mesh.size() == 0

    def is_smooth(self):
        return all([is_inexact(x.dtype) for x in self.arrays if x.__class__ is Sharded])

    def is_smooth_in(self, *places):
        """True if the arrays at these places have parts that are summed."""
        return all([self.arrays[i].__class__ is Sharded and is_inexact(self.arrays[i].dtype) for i in places])


class Rule:
    """`choices(call)` lists the choices; ``localize(call, ins, outs)`` are the attributes for this rank's part."""

    def __init__(self, choices, localize=None):
        self.choices = choices
        if localize is not None:
            self.localize = localize

    @staticmethod
    def localize(call, ins, outs):
        return call.attrs


class Computed:
    """A rule that computes the result itself: ``compute(call, full)``; with `full`, all that is kept, too."""

    def __init__(self, compute):
        self.compute = compute


class ByDefinition(Rule):
    """A rule that computes the definition on sharded arrays, op by op, where ``when(call)``; else it has choices."""

    def __init__(self, choices, when):
        super().__init__(choices)
        self.when = when

    def compute(self, call, full):
        """All that is kept, too, with `full`."""
        if not self.when(call):
            return NotImplemented
        result = call.op.forward(call.F, *call.arrays, **call.attrs)
        return result[0] if call.op.keeps and not full else result


found: dict = {}
derived: dict = {}


def rule(*names, localize=None, computed=False):
    """The decorator of the rules of these ops."""
    def enter(function):
        for name in names:
            found[name] = Computed(function) if computed else Rule(function, localize)
        return function
    return enter


def of(op):
    """The rule of an op."""
    own = found.get(op.name) or derived.get(op.name)
    if own is None:
        own = derived[op.name] = Rule(derived_choices(op))
    return own


def derived_choices(op):
    """The choices of an op without a rule of its own."""
    if is_elementwise(op):
        return elementwise
    if is_along(op):
        return along
    return nowhere if op.inputs[0].kind == "variadic" else everywhere


def everywhere(call):
    """Every rank computes all of it; or nothing but a sum that goes through."""
    return [call.everywhere(), *sums(call)]


def nowhere(call):
    return [call.everywhere()]


# ------------------------------------------------------------------ sums over ranks
_groups: dict = {}
LINEAR = {"div": [{0}]}                                    # in the first input, but not in the second


def linear_groups(op):
    """Sets of inputs that may be sums together while the others are whole: the op is linear in them."""
    if (op is None or op.joint or op.tangent or op.outputs != 1
        or op.tangent_kind not in ("linear", "multilinear")):
        return LINEAR.get(op and op.name, [])
    if any([getattr(formula, "missing", False) for formula in op.vjps.values()]):
        return []                                          # formulas that only refuse, which say nothing
    if op not in _groups:
        _groups[op] = groups_by_formulas(op)
    return _groups[op]


def groups_by_formulas(op):
    """`linear_groups` by what the derivative formulas read."""
    live = [i for i, x in enumerate(op.inputs) if x.kind not in ("other", "variadic") and op.vjps[x.name]]
    names = [x.name for x in op.inputs]
    read = {i: {names.index(f) for f in op.reads[names[i]] if f in names} for i in live}

    def is_apart(j, others):
        return all([j not in read[k] and k not in read[j] for k in others])
    linear = [i for i in live if i not in read[i] and not {"out", *op.keeps}.intersection(op.reads[names[i]])]
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
    for group in linear_groups(call.op):
        if all([call.arrays[i] is None or call.arrays[i].__class__ is Sharded for i in group]):
            for p in (SUM, Partial("avg")):
                found.append((tuple([p if i in group else R for i in range(len(call.arrays))]), p))
    return found


# ------------------------------------------------------------------ derived rules
def cut_at(shape, ndim, d, size):
    """The placement of an array of `shape`, broadcast to `ndim` dimensions, if dimension `d` is cut."""
    k = d - (ndim - len(shape))
    return Shard(k) if k >= 0 and shape[k] == size else R


def elementwise(call):
    """Any dimension may be cut: in all inputs that have it."""
    n = max(map(len, call.shapes), default=0)
    choices = [call.everywhere()]
    for d in range(n):
        size = max([s[d - n] for s in call.shapes if len(s) >= n - d], default=1)
        if 0 in [s[d - n] for s in call.shapes if len(s) >= n - d]:
            size = 0
        choices.append((tuple([cut_at(s, n, d, size) for s in call.shapes]), (Shard(d), size)))
    if len({s for s in call.shapes if s}) == 1:            # arrays of one shape, and numbers
        for p in {p for x in call.arrays if x.__class__ is Sharded for p in x.placements}:
            if isinstance(p, _StridedShard):
                choices.append((tuple([p if s else R for s in call.shapes]), (p, max(call.shapes, key=len)[p.dim])))
    return choices + sums(call)


def along(call):
    """Any dimension may be cut that the op does not go along."""
    shape, dims = call.shapes[0], call.dims()
    lacks_dim = call.op.dims is not None and "dim" not in terms(call.op.dims)[1][0]
    reduces = lacks_dim and not call.attrs.get("keepdim")
    choices = [call.everywhere()]
    for d, size in enumerate(shape):
        if d not in dims:
            k = d - len([x for x in dims if x < d]) if reduces else d
            choices.append(((Shard(d),) * len(call.arrays), (Shard(k), size)))
    return choices + sums(call)


def over_ranks(reduce_op, even=False):
    """The rule of a reduction that ranks can finish together."""
    def choices(call):
        return along(call) + [((Shard(d),), Partial(reduce_op)) for d in sorted(call.dims())
                              if not even or call.even(call.shapes[0][d]) and call.shapes[0][d]]
    return choices


rule("sum", "nansum", "count_nonzero")(over_ranks("sum"))
rule("mean")(over_ranks("avg", even=True))
rule("amax")(over_ranks("max", even=True))
rule("amin")(over_ranks("min", even=True))
rule("prod")(over_ranks("product"))


@rule("softmax_backward", "log_softmax_backward")
def of_one_shape(call):
    """Arrays of one shape, cut along anything but `dim`."""
    return along(call)


# Ops of one array, or of several of one shape, that are elementwise as to placements.
rule("alias", "clone", "copy_contiguous", "copy", "zero", "masked_fill", "kl_div")(elementwise)


def complex_view(hidden):
    """The numbers of an array as pairs of real ones, or the other way round: all dimensions but `hidden` ones stay."""
    def choices(call):
        shape = call.shapes[0]
        return [call.everywhere(), *[((Shard(d),), (Shard(d), n)) for d, n in enumerate(shape[:len(shape) - hidden])],
                *sums(call)]
    return choices


rule("view_as_real")(complex_view(0))
rule("view_as_complex")(complex_view(1))


@rule("to")
def cast(call):
    """As elementwise, but a sum of floats is none of integers."""
    choices = elementwise(call)
    if is_inexact(call.F.inner.xp.dtype(call.attrs["dtype"])):
        return choices
    return [choice for choice in choices if not isinstance(choice[1], Partial)]
