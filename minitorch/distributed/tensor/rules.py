"""Where the results of an op lie, if its inputs lie so: the rules of placements.

A rule names choices, each for one dimension of a mesh: a placement for each input (anything for what is no array), and
one for the results, or a list of one for each. What is cut in a result comes with its size, ``(Shard(0), 12)``. The
first choice is always that everything is on every rank.

Most rules are derived. Elementwise ops may be cut along any dimension that is not broadcast; ops along a `dim`, along
the others. Sums over ranks (`Partial`) may go through an op that is linear: which inputs it is linear in, its
derivative formulas say, as in forward mode: a formula that reads neither its own input nor the result is that of a
linear input, and what it reads are factors. The others are entered by hand (`@rule`), as kernels are.
"""

import math

from ...autograd.tangents import kind_of
from ...backends.batched.classes import class_of
from ...core.arrays import is_inexact
from ...core.errors import checked_dim
from .placement_types import Partial, Replicate, Shard, local_part
from .sharded import Sharded, redistributed, sharded

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
        """Whether all parts of a dimension have one size, however it is cut."""
        return size % self.F.mesh.size() == 0

    def is_smooth(self):
        return all([is_inexact(x.dtype) for x in self.arrays if x.__class__ is Sharded])


class Rule:
    """`choices(call)` lists the choices; ``localize(call, ins, outs)`` are the attributes for this rank's part."""

    contiguous = False                                     # whether the parts must be

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


found: dict = {}
derived: dict = {}


def rule(*names, localize=None, computed=False, contiguous=False):
    """The decorator of the rules of these ops."""
    def enter(function):
        for name in names:
            found[name] = Computed(function) if computed else Rule(function, localize)
            found[name].contiguous = contiguous
        return function
    return enter


def of(op):
    """The rule of an op."""
    own = found.get(op.name) or derived.get(op.name)
    if own is None:
        kind = class_of(op)
        own = derived[op.name] = Rule({"elementwise": elementwise, "along": along}.get(
            kind, nowhere if op.inputs[0].kind == "variadic" else everywhere))
    return own


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
    if op is None or op.joint or op.tangent or op.outputs != 1 or kind_of(op) not in ("linear", "multilinear"):
        return LINEAR.get(op and op.name, [])
    if op not in _groups:
        live = [i for i, x in enumerate(op.inputs) if x.kind not in ("other", "variadic") and op.vjps[x.name]]
        names = [x.name for x in op.inputs]
        read = {i: {names.index(f) for f in op.reads[names[i]] if f in names} for i in live}
        linear = [i for i in live if i not in read[i] and not {"out", *op.keeps}.intersection(op.reads[names[i]])]
        groups = []
        for i in linear:
            group = [i]
            group += [j for j in linear if j != i and all([j not in read[k] and k not in read[j] for k in (i, *group)])]
            group = [j for n, j in enumerate(group) if all([j not in read[k] and k not in read[j]
                                                            for k in group[:n]])]
            factors = set().union(*[read[k] for k in group])
            if all([j in group or j in factors for j in live]) and set(group) not in groups:
                groups.append(set(group))
        _groups[op] = groups
    return _groups[op]


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
    return choices + sums(call)


def along(call):
    """Any dimension may be cut that the op does not go along."""
    shape, dims = call.shapes[0], call.dims()
    reduces = "keepdim" in dict(call.op.attrs) and not call.attrs.get("keepdim")
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
for _name in ("alias", "clone", "copy_contiguous", "copy", "zero", "masked_fill", "kl_div"):
    rule(_name)(elementwise)


@rule("view_as_real", "view_as_complex", contiguous=True)
def complex_view(call):
    n = len(call.shapes[0]) - (call.op.name == "view_as_complex")
    return [call.everywhere(), *[((Shard(d),), (Shard(d), call.shapes[0][d])) for d in range(n)], *sums(call)]


@rule("to")
def cast(call):
    """As elementwise, but a sum of floats is none of integers."""
    choices = elementwise(call)
    if is_inexact(call.F.inner.xp.dtype(call.attrs["dtype"])):
        return choices
    return [choice for choice in choices if not isinstance(choice[1], Partial)]


# ------------------------------------------------------------------ shapes
def local_shape(name):
    """The attribute `name`, the shape of the result, as that of this rank's part."""
    def localize(call, ins, outs):
        given = [n for n in call.attrs[name]]
        for m, out in enumerate(outs):
            if out.__class__ is tuple:
                p = (R,) * m + (out[0],) + (R,) * (call.F.mesh.ndim - m - 1)
                if given[out[0].dim] != -1:
                    given[out[0].dim] = local_part(given, call.F.mesh, p)[0][out[0].dim]
        return {**call.attrs, name: tuple(given)}
    return localize


def known(shape, size):
    """`shape` with its -1 replaced, for an array of `size` elements."""
    shape = list(shape)
    if shape.count(-1) == 1:
        rest = math.prod([n for n in shape if n != -1])
        shape[shape.index(-1)] = size // rest if rest else 0
    return tuple(shape)


def local_reshape(call, ins, outs):
    shape = known(call.attrs["shape"], math.prod(call.shapes[0]))
    call = Call(call.F, call.op, call.arrays, {**call.attrs, "shape": shape})
    return local_shape("shape")(call, ins, outs)


def factored(a, b):
    """Groups of dimensions of the shapes `a` and `b` of equally many elements each, as small as can be."""
    i = j = 0
    while i < len(a) or j < len(b):
        first, p, q = (i, j), 1, 1
        if i < len(a) and j < len(b):
            p, q, i, j = a[i], b[j], i + 1, j + 1
            while p != q:
                if p < q and i < len(a):
                    p, i = p * a[i], i + 1
                elif q < p and j < len(b):
                    q, j = q * b[j], j + 1
                else:
                    return
        else:
            i, j = len(a), len(b)                          # what is left has size 1
        yield range(first[0], i), range(first[1], j)


@rule("reshape", "squeeze", localize=local_reshape)
def reshape(call):
    """The first dimension of each group of dimensions that are joined or split may be cut, where parts are even."""
    choices, shape = [call.everywhere()], call.shapes[0]
    target = known(call.attrs["shape"], math.prod(shape))
    if 0 not in shape:
        for before, after in factored(shape, target):
            a, b = [next((d for d in dims if s[d] != 1), None) for dims, s in ((before, shape), (after, target))]
            if a is not None and b is not None and (shape[a] == target[b] or call.even(shape[a]) and
                                                    call.even(target[b])):
                choices.append(((Shard(a),), (Shard(b), target[b])))
    return choices + sums(call)


@rule("expand", localize=local_shape("size"))
def expand(call):
    shape, size, choices = call.shapes[0], call.attrs["size"], [call.everywhere()]
    for d, n in enumerate(shape):
        k = d + len(size) - len(shape)
        if size[k] in (n, -1):
            choices.append(((Shard(d),), (Shard(k), n)))
    return choices + sums(call)


@rule("sum_to", localize=local_shape("shape"))
def sum_to(call):
    shape, target, choices = call.shapes[0], call.attrs["shape"], [call.everywhere()]
    for d, n in enumerate(shape):
        k = d + len(target) - len(shape)
        stays = k >= 0 and target[k] == n
        choices.append(((Shard(d),), (Shard(k), n) if stays else SUM))
    return choices + sums(call)


def reordered(order):
    def choices(call):
        shape = call.shapes[0]
        places = order(call, list(range(len(shape))))
        return [call.everywhere(), *[((Shard(d),), (Shard(places.index(d)), n)) for d, n in enumerate(shape)],
                *sums(call)]
    return choices


@rule("transpose")
@reordered
def transpose(call, dims):
    if dims:
        a, b = call.dim("dim0"), call.dim("dim1")
        dims[a], dims[b] = dims[b], dims[a]
    return dims


@rule("permute")
@reordered
def permute(call, dims):
    return [checked_dim(d, len(dims)) for d in call.attrs["dims"]]


@rule("unsqueeze")
@reordered
def unsqueeze(call, dims):
    dims.insert(checked_dim(call.attrs["dim"], len(dims) + 1), None)
    return dims


@rule("unbind")
def unbind(call):
    dim = call.dim()
    return [call.everywhere(), *[((Shard(d),), (Shard(d - (d > dim)), n)) for d, n in enumerate(call.shapes[0])
                                 if d != dim], *[((p,), p) for p in (SUM, Partial("avg")) if call.is_smooth()]]


@rule("split")
def split(call):
    dim = call.dim()
    return [call.everywhere(), *[((Shard(d),), (Shard(d), n)) for d, n in enumerate(call.shapes[0]) if d != dim],
            *[((p,), p) for p in (SUM, Partial("avg")) if call.is_smooth()]]


def of_many(shift):
    """Arrays that are joined along `dim`: cut along any other dimension, or all of them sums."""
    def choices(call):
        count, n = len(call.arrays), len(call.shapes[0])
        dim = checked_dim(call.attrs["dim"], n + shift)
        found = [call.everywhere()]
        if all([len(s) == n for s in call.shapes]):
            for d, size in enumerate(call.shapes[0]):
                if shift or d != dim:
                    found.append(((Shard(d),) * count, (Shard(d + (shift and d >= dim)), size)))
        if call.is_smooth():
            found += [((p,) * count, p) for p in (SUM, Partial("avg"))]
        return found
    return choices


rule("cat")(of_many(0))
rule("stack")(of_many(1))


def spelled(index, ndim):
    """An index of integers, slices, None and Ellipsis with all dimensions named."""
    named = len([p for p in index if p is not None and p is not Ellipsis])
    place = index.index(Ellipsis) if Ellipsis in index else len(index)
    return [*index[:place], *[slice(None)] * (ndim - named), *index[place + 1:]]


def kept_dims(index, shape):
    """(dimension, dimension of the result) where an index takes all of a dimension."""
    d = k = 0
    for p in spelled(index, len(shape)):
        if p is None:
            k += 1
            continue
        if p.__class__ is slice:
            if p.indices(shape[d]) == (0, shape[d], 1):
                yield d, k
            k += 1
        d += 1


def local_index(call, ins, outs):
    """An index with ``:`` wherever it takes all of a dimension, whose size is another one here."""
    index, d, shape = [], 0, call.attrs.get("shape") or call.shapes[0]
    for p in spelled(call.attrs["index"], len(shape)):
        if p.__class__ is slice and p.indices(shape[d]) == (0, shape[d], 1):
            p = slice(None)
        index.append(p)
        d += p is not None
    attrs = {**call.attrs, "index": tuple(index)}
    if "shape" in attrs:
        call = Call(call.F, call.op, call.arrays, attrs)
        return local_shape("shape")(call, ins, outs)
    return attrs


@rule("slice", localize=local_index)
def slice_(call):
    shape = call.shapes[0]
    return [call.everywhere(), *[((Shard(d),), (Shard(k), shape[d])) for d, k in kept_dims(call.attrs["index"], shape)],
            *sums(call)]


@rule("slice_backward", localize=local_index)
def slice_backward(call):
    shape = call.attrs["shape"]
    return [call.everywhere(), *[((Shard(k),), (Shard(d), shape[d])) for d, k in kept_dims(call.attrs["index"], shape)],
            *sums(call)]


@rule("tril", "triu")
def triangles(call):
    return [call.everywhere(), *[((Shard(d),), (Shard(d), n)) for d, n in enumerate(call.shapes[0][:-2])], *sums(call)]


@rule("new_zeros", localize=local_shape("shape"))
def new_zeros(call):
    return [call.everywhere()]


# ------------------------------------------------------------------ products
@rule("matmul", "gemm", "mm", "bmm", "mv", "dot")
def product(call):
    """Cut along a batch, the rows of the first, the columns of the second, or what is summed over: then it is a sum."""
    a, b = call.shapes
    rows, columns = len(a) > 1, len(b) > 1
    lead = max(len(a), len(b)) - 2
    choices = [call.everywhere()]
    for d in range(lead):
        size = max([s[d - lead - 2] for s in (a, b) if len(s) >= lead + 2 - d])
        choices.append((tuple([cut_at(s, lead + 2, d, size) if len(s) >= lead + 2 - d else R for s in (a, b)]),
                        (Shard(d), size)))
    batch = max(lead, 0)
    if rows:
        choices.append(((Shard(len(a) - 2), R), (Shard(batch), a[-2])))
    if columns:
        choices.append(((R, Shard(len(b) - 1)), (Shard(batch + rows), b[-1])))
    choices.append(((Shard(len(a) - 1), Shard(len(b) - 2 if columns else 0)), SUM))
    return choices + sums(call)


@rule("linear")
def linear(call):
    x, w = call.shapes[:2]
    n = len(x)
    return [call.everywhere(), *[((Shard(d), R, R), (Shard(d), x[d])) for d in range(n - 1)],
            ((R, Shard(0), Shard(0)), (Shard(n - 1), w[0])), ((Shard(n - 1), Shard(1), SUM), SUM), *sums(call)]


@rule("addmm")
def addmm(call):
    c, a, b = call.shapes
    choices = [call.everywhere()]
    for d, size, rest in ((0, a[0], (Shard(0), R)), (1, b[1], (R, Shard(1)))):
        choices.append(((cut_at(c, 2, d, size), *rest), (Shard(d), size)))
    return [*choices, ((SUM, Shard(1), Shard(0)), SUM), *sums(call)]


@rule("einsum")
def einsum(call):
    """Cut along a label wherever it stands; one that is summed over gives a sum."""
    terms, arrow, result = call.attrs["equation"].replace(" ", "").partition("->")
    terms, choices = terms.split(","), [call.everywhere()]
    if not arrow or "." in terms or any([len(t) != len(s) or len(set(t)) != len(t) for t, s in zip(terms, call.shapes)]):
        return choices
    for label in sorted(set("".join(terms))):
        size = max([s[t.index(label)] for t, s in zip(terms, call.shapes) if label in t])
        ins = tuple([Shard(t.index(label)) if label in t and s[t.index(label)] == size else R
                     for t, s in zip(terms, call.shapes)])
        if not all([label not in t or isinstance(p, Shard) for t, p in zip(terms, ins)]):
            continue                                       # it is broadcast
        choices.append((ins, (Shard(result.index(label)), size) if label in result else SUM))
    return choices


@rule("embedding")
def embedding(call):
    index, weight = call.shapes
    return [call.everywhere(), *[((Shard(d), R), (Shard(d), n)) for d, n in enumerate(index)],
            ((R, Shard(1)), (Shard(len(index)), weight[1])), *sums(call)]


@rule("embedding_backward")
def embedding_backward(call):
    g, index = call.shapes
    choices = [call.everywhere(), ((Shard(len(g) - 1), R), (Shard(1), g[-1]))]
    if not call.attrs["scale_grad_by_freq"]:
        choices += [((Shard(d), Shard(d)), SUM) for d in range(len(index))]
    return choices


# ------------------------------------------------------------------ layers and losses
def normalised(call):
    """The dimensions that a norm leaves alone, of which each may be cut."""
    n = len(call.shapes[0])
    dims = call.attrs.get("dims")
    dims = {n - 1} if dims is None else {checked_dim(d, n) for d in dims}
    return [(d, size) for d, size in enumerate(call.shapes[0]) if d not in dims]


@rule("layer_norm", "add_layer_norm")
def layer_norm(call):
    n, choices = len(call.shapes[0]), [call.everywhere()]
    for d, size in normalised(call):
        choices.append((tuple([Shard(d) if len(s) == n else R for s in call.shapes]), (Shard(d), size)))
    return choices


@rule("affine_norm_backward")
def affine_norm_backward(call):
    n, choices = len(call.shapes[0]), [call.everywhere()]
    for d, size in normalised(call):
        if {x % n for x in call.attrs["dims"]} == {*range(n - len(call.attrs["dims"]), n)}:      # not of batch norm
            ins = tuple([Shard(d) if len(s) == n else R for s in call.shapes])
            choices.append((ins, [(Shard(d), size), SUM, SUM]))
    return choices


@rule("standardize", "standardize_backward", "rstd")
def standardize(call):
    return [call.everywhere(), *[((Shard(d),) * len(call.arrays), (Shard(d), size)) for d, size in normalised(call)]]


@rule("scaled_dot_product_attention", "scaled_dot_product_attention_backward")
def attention(call):
    """Cut along the batch and the heads."""
    names = [x.name for x in call.op.inputs]
    query, choices = call.shapes[names.index("query")], [call.everywhere()]
    for d in range(len(query) - 2):
        ins = tuple([cut_at(s, len(query), d, query[d]) if name == "mask" else Shard(d)
                     for name, s in zip(names, call.shapes)])
        if all([x.__class__ is not Sharded or p == R or s[p.dim] == query[d]
                for x, p, s in zip(call.arrays, ins, call.shapes)]):
            choices.append((ins, (Shard(d), query[d])))
    return choices


def loss(call, result, *kept):
    """The choices of a loss whose inputs are cut along the first dimension, by its reduction."""
    size, choices = call.shapes[0][0] if call.shapes[0] else 0, [call.everywhere()]
    how = call.attrs["reduction"]
    out = {"none": (Shard(0), size), "sum": SUM, "mean": result}[how]
    n = len(call.shapes[0])
    if out is not None and size:
        ins = tuple([R if name.endswith("weight") and len(s) != n else cut_at(s, len(s), 0, size)
                     for name, s in zip([x.name for x in call.op.inputs], call.shapes)])
        choices.append((ins, [out, *[(Shard(0), size)] * len(call.op.keeps)] if call.op.keeps else out))
    return choices


@rule("mse_loss", "l1_loss", "smooth_l1_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits")
def elementwise_loss(call):
    if len({s for s in call.shapes[:2]}) > 1:              # one of them is broadcast
        return [call.everywhere()]
    return loss(call, Partial("avg") if call.shapes[0] and call.even(call.shapes[0][0]) else None)


@rule("total_norm", computed=True)
def total_norm(call, full):
    """The norm of the parts of each rank, what several ranks have counted once; then that of the ranks' norms."""
    F, p = call.F, float(call.attrs["norm_type"])
    inner, xp, parts = F.inner.fp32, F.inner.xp, []
    for x in call.arrays:
        x = redistributed(x, F.settled(x.placements))
        norm = inner.vector_norm(x.value, ord=p) if x.value.size else xp.zeros((), x.dtype)
        counts = all([q != R or i == 0 for q, i in zip(x.placements, F.coordinate)])
        parts.append(norm if counts else norm * 0)
    total = xp.asarray(inner.vector_norm(xp.stack(parts), ord=p))
    if math.isinf(p):
        total = sharded(F, total, (), (Partial("max" if p > 0 else "min"),) * F.mesh.ndim)
        return redistributed(total, F.everywhere)
    total = redistributed(sharded(F, total ** p, (), (SUM,) * F.mesh.ndim), F.everywhere)
    return total.like(xp.asarray(total.value ** (1 / p)))
