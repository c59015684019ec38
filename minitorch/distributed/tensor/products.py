"""The rules of products, layers, losses and norms: see `rules`."""

import math

from ...extend import checked_dim
from .placement_types import Partial, Shard
from .rules import SUM, R, cut_at, rule, sums
from .sharded import Sharded, redistributed, sharded

__all__: list = []


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
    if not arrow or any([len(t) != len(s) or len(set(t)) != len(t) for t, s in zip(terms, call.shapes)]):
        return choices                                     # with "...", or a letter twice
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
    """The dimensions that a norm leaves alone: each may be cut."""
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


@rule("standardize", "standardize_backward", "rstd")
def standardize(call):
    return [call.everywhere(), *[((Shard(d),) * len(call.arrays), (Shard(d), size)) for d, size in normalised(call)]]


@rule("scaled_dot_product_attention", "scaled_dot_product_attention_backward")
def attention(call):
    """Cut along the batch and the heads; a draw is of the whole."""
    names = [x.name for x in call.op.inputs]
    query, choices = call.shapes[names.index("query")], [call.everywhere()]
    for d in range(0 if call.attrs.get("p") else len(query) - 2):
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
    if len(set(call.shapes[:2])) > 1:                       # one of them is broadcast
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
