"""The rules of ops that give elements another shape or choose some of them: see `rules`."""

import math

from ...extend import checked_dim
from .placement_types import Partial, Shard, local_part
from .rules import SUM, Call, R, rule, sums

__all__: list = []


def local_shape(name):
    """The attribute `name`, the shape of the result, as that of this rank's part."""
    def localize(call, ins, outs):
        given = list(call.attrs[name])
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
