"""The rule of an op, derived from its index notation (`ops/labels.py`).

The labels of a call for one element of the batch, and which of its inputs are mapped over, say
which ways are open:

- `lead`: the hidden axis is one more of ``*``, the first.
- `fold`: it is joined with a dimension that all inputs mapped over and all results have, and that
  the op does not need whole.
- `contract`: a sum of products has one more letter.
- `combine`: the terms of a loss, which are then summed or averaged.
- `add`: what is added to the result (``+ m``) is added afterwards.
- `once`: no input is mapped over.

Where none is open, the reference runs on batched arrays, or a rule written by hand. The choice is
made once for the shapes and attributes of a call, and kept.
"""

from math import prod
from operator import attrgetter
from typing import NamedTuple

from ...core.errors import checked_dim
from ...ops.labels import bind
from ...ops.linalg.einsum import contract_two, plan_of_two
from ...utils._pytree import tree_map
from .array import Batched, Unbatched, batched, lifted, shared, wrapped

__all__ = ["by_labels"]

LIMIT = 4096                   # of the ways of an op that are kept


def by_labels(op, full, general):
    """The rule of an op: a function of the backend and what the op takes. `general` is the rule
    where no way is open."""
    ways, name = {}, f"full_{op.name}" if full else op.name

    def call(F, *arrays, **attrs):
        key = [x.value.shape if x.__class__ is Batched and x.backend is F
               else None if x is None else () for x in arrays]
        if () in key:                                      # numbers, or arrays from outside
            arrays = [lifted(F, x) if hasattr(x, "ndim") else x for x in arrays]
            key = [x.value.shape if x.__class__ is Batched else x if x is None else ()
                   for x in arrays]
        shapes, key = key, (*key, *attrs.items())
        try:
            found = ways.get(key)
        except TypeError:                                  # a list among the attributes
            return general(F, *arrays, **attrs)
        if found is None and has_arrays(attrs):            # an index, another one each time
            return general(F, *arrays, **attrs)
        try:
            if found is not None:
                return found(F, arrays, attrs)
            found = way_of(op, name, shapes, attrs)
            result = found and found(F, arrays, attrs)
            if result is None:
                found = lambda F, arrays, attrs: general(F, *arrays, **attrs)      # noqa: E731
                result = found(F, arrays, attrs)
        except Unbatched:
            raise
        except Exception:
            refuse(F, name, arrays, attrs)
            raise
        if len(ways) == LIMIT:
            ways.clear()
        ways[key] = found
        return result
    return call


def has_arrays(attrs):
    """True if an attribute is a tuple in which a batched array is."""
    return any([part.__class__ is Batched for value in attrs.values() if value.__class__ is tuple
                for part in value])


def refuse(F, name, arrays, attrs):
    """Raise the error that one element of the batch gets, which is about its own shapes."""
    if F.size:
        one = [x.value[0] if x.__class__ is Batched else x for x in arrays]
        getattr(F.inner, name)(*one, **attrs)


class Case(NamedTuple):
    """All that a way depends on."""

    op: object
    name: str                   # of the function of the backend below
    call: object                # the labels, `Bound`, of the call for one element
    mapped: list                # True for each input mapped over
    numbers: list               # True for each input that is a number
    size: int                   # of the batch

    @property
    def keeps(self):
        """True if the function returns what the op keeps, too, after the result."""
        return bool(self.op.keeps) and self.name != self.op.name


def way_of(op, name, shapes, attrs):
    """The way of a call whose inputs have values of these shapes, () for a number; None if none is
    open. It is a function of the backend, a list of arrays and a dict of attributes."""
    mapped = [bool(shape) and shape[0] != 1 for shape in shapes]
    try:
        call = bind(op, [shape and shape[1:] for shape in shapes], {**dict(op.attrs), **attrs})
    except ValueError:                                     # the reference finds the words
        return None
    if call is None:
        return None
    size = shapes[mapped.index(True)][0] if any(mapped) else 1
    return way(Case(op, name, call, mapped, [shape == () for shape in shapes], size))


def way(case):
    """The first way that is open: those come first that copy nothing and call one kernel."""
    call = case.call
    if not any(case.mapped):
        return lead(case) or once(case.name)
    if call.reduction is not None and call.attrs[call.reduction] != "none":
        return combine(case)
    if case.keeps:
        return fold(case, first=True) or lead(case) or fold(case)
    return (contract(case, plain=True) or fold(case, first=True) or lead(case) or contract(case)
            or add(case, contract) or fold(case, apart=True) or add(case, way) or fold(case))


def once(name):
    """No input is mapped over: the op for one element."""
    def run(F, arrays, attrs):
        found = getattr(F.inner, name)(*[shared(x) for x in arrays], **attrs)
        return tree_map(lambda y: None if y is None else batched(F, y[None]), found)
    return run


# ---- one more of * -------------------------------------------------------------------------------
def lead(case):
    """The hidden axis is one more of ``*``, the first."""
    call, size, name = case.call, case.size, case.name
    needed = [*call.column.outs, *[term for term, m in zip(call.terms, case.mapped) if m]]
    if not all([has_star(term) for term in needed]):
        return None
    moved, hows = shifted_places(call), led(case)
    if moved is None or hows is None:
        return None
    dropped = depth_of(call.ins) - depth_of(call.outs)     # dimensions that are summed
    for term, shape in zip(call.column.outs, call.out_shapes):
        if term.of:
            moved[term.of] = (size, *(1,) * dropped, *shape)
    shape, keeps = (size, *call.out_shapes[0]), case.keeps

    def run(F, arrays, attrs):
        below = [how(x) for how, x in zip(hows, arrays)]
        found = getattr(F.inner, name)(*below, **({**attrs, **moved} if moved else attrs))
        if keeps and not are_cut(found[1:], 0, size):
            return None
        if dropped > 0:
            found = found.reshape(shape)
        return batched(F, found) if hasattr(found, "shape") else wrapped(F, found)
    return run


def has_star(term):
    """True if a term begins with ``*`` that the op does not need whole."""
    return bool(term.words) and not term.flat and term.words[0][:1] == ("*",) and (
        not term.words[0].whole)


def depth_of(side):
    """How many dimensions ``*`` stands for."""
    return max([sum([x[0] == "*" for x in labels or ()]) for labels in side])


def led(case):
    """For each input a function that makes the array below, with as many dimensions of ``*`` as any
    has. None if an input lacks dimensions that the notation names."""
    call, hows = case.call, []
    added = any([m and plus for m, plus in zip(case.mapped, call.plus)])   # to the whole result
    all_sizes = added or needs_all(call)
    depth = max(depth_of(call.ins), depth_of(call.outs))
    if depth_of(call.ins) != depth_of(call.outs) and not call.column.outs[0].of:
        return None
    for shape, labels, term, m, number in zip(call.shapes, call.ins, call.terms, case.mapped,
                                              case.numbers):
        if shape is None or number or not has_star(term):
            hows.append(shared)
            continue
        own = depth_of([labels])
        named = sum([word.name != "*" and not word.group for word in term.words])
        if len(labels) - own < named or own < depth and labels and labels[0][0] != "*":
            return None
        hows.append(widened((1,) * (depth - own) + shape, own == depth, m,
                            case.size if m or all_sizes else 1))
    return hows


def widened(shape, unchanged, mapped, size):
    """A function that makes an array of this shape, and of this size along the hidden axis."""
    if mapped or size == 1:
        return attrgetter("value") if unchanged else lambda x: x.value.reshape((size, *shape))
    return lambda x: x.backend.inner.xp.broadcast_to(x.value.reshape((1, *shape)), (size, *shape))


def needs_all(call):
    """True for ops whose inputs do not broadcast to each other."""
    return len(call.column.ins) == 1 or any([
        word.whole or word.at or word.group or word.name in call.attrs
        for term in call.column.ins for word in term.words])


def shifted_places(call):
    """The attributes that name dimensions, these counted one further; None if one stands for all
    dimensions, or counts from the end of arrays of several dimensions."""
    ndims = {}
    for terms, shapes in ((call.terms, call.shapes), (call.column.outs, call.out_shapes)):
        for term, shape in zip(terms, shapes):
            for word in () if shape is None else term.words:
                ndims.setdefault(word.at or word.name, set()).add(len(shape))
    found = {}
    for name in [name for name in ndims if name in call.attrs]:
        given, several = call.attrs[name], isinstance(call.attrs[name], (tuple, list))
        dims = given if several else (given,)
        if not dims or any([d.__class__ is not int for d in dims]) or (
                len(ndims[name]) > 1 and min(dims) < 0):
            return None
        dims = tuple([checked_dim(d, max(ndims[name])) + 1 for d in dims])
        found[name] = dims if several else dims[0]
    return found


# ---- joined with a dimension ---------------------------------------------------------------------
def fold(case, first=False, apart=False):
    """The hidden axis is joined with a dimension that inputs not mapped over lack (`apart`), and
    that is the first, so that nothing is copied (`first`)."""
    for label in case.call.sizes:
        if can_fold(case, label, first, first or apart):
            return joined_with(case, label)
    return None


def can_fold(case, label, first, apart):
    call, mapped = case.call, case.mapped
    others = [labels for labels, m in zip(call.ins, mapped) if labels and not m]
    arrays = [*[labels for labels, m in zip(call.ins, mapped) if m], *call.outs]
    if label in call.whole or label[0] == "*" or stretched(call, [label]) or not all(
            [labels.count(label) == 1 for labels in arrays]):
        return False
    return not (apart and any([label in labels for labels in others])
                or first and any([labels[0] != label for labels in arrays]))


def stretched(call, labels):
    """True if an input has size 1 where others have more."""
    return any([n != call.sizes[x] for own, shape in zip(call.ins, call.shapes) if shape is not None
                for x, n in zip(own, shape) if x in labels])


def joined_with(case, label):
    call, name, size = case.call, case.name, case.size
    n = call.sizes[label]
    hows = [joined(shape, labels.index(label), m, size) if labels and label in labels else shared
            for shape, labels, m in zip(call.shapes, call.ins, case.mapped)]
    outs = [labels.index(label) for labels in call.outs]
    sizes = {term.of: (*shape[:d], size * n, *shape[d + 1:])
             for term, shape, d in zip(call.column.outs, call.out_shapes, outs) if term.of}
    backs = [parted(shape, d, size) for shape, d in zip(call.out_shapes, outs)]

    def result(F, found):
        if isinstance(found, (tuple, list)):
            return tuple([y if y is None else batched(F, back(y)) for y, back in zip(found, backs)])
        return batched(F, backs[0](found))

    def run(F, arrays, attrs):
        below = [how(x) for how, x in zip(hows, arrays)]
        return finish(F, getattr(F.inner, name)(*below, **({**attrs, **sizes} if sizes else attrs)))
    finish = with_kept(call, label, size, result) if case.keeps else result
    return run


def with_kept(call, label, size, result):
    """`result`, of a call that returns what the op keeps as well; then None if a kernel arranges
    that in its own way."""
    n, d = call.sizes[label], call.kept.index(label) if label in call.kept else None

    def part(F, y):
        return batched(F, parted((*y.shape[:d], n, *y.shape[d + 1:]), d, size)(y))

    def finish(F, found):
        found, *kept = found
        if d is None or not are_cut(kept, d, size * n):
            return None
        return result(F, found), *[y if y is None else part(F, y) for y in kept]
    return finish


def are_cut(kept, d, n):
    """True if what an op has kept has `n` elements along dimension `d`: kernels may arrange it in a
    way of their own."""
    return all([y is None or y.ndim > d and y.shape[d] == n for y in kept])


def joined(shape, d, mapped, size):
    """A function that makes the array below: dimension `d` of all elements of the batch."""
    whole = (*shape[:d], size * shape[d], *shape[d + 1:])
    if mapped and not d:
        return lambda x: x.value.reshape(whole)

    def join(x):
        v, xp = x.value, x.backend.inner.xp
        v = v if mapped else xp.broadcast_to(v, (size, *shape))
        return xp.moveaxis(v, 0, d).reshape(whole)
    return join


def parted(shape, d, size):
    """A function that makes the value of a result of the array below."""
    apart = (*shape[:d], size, *shape[d:])
    if not d:
        return lambda y: y.reshape(apart)
    order = (d, *[i for i in range(len(apart)) if i != d])
    return lambda y: y.reshape(apart).transpose(order)


# ---- sums of products ----------------------------------------------------------------------------
def contract(case, plain=False):
    """A sum of products has one more letter; with `plain`, only where that is one of matrices as
    they lie."""
    call, mapped = case.call, case.mapped
    if not is_product(case) or not any(mapped):
        return None
    i, j = [k for k, labels in enumerate(call.ins) if labels is not None]
    letters = {label: chr(97 + i) for i, label in enumerate(call.sizes)}
    terms = ["Z" * m + "".join([letters[x] for x in labels]) for m, labels in zip(mapped, call.ins)
             if labels is not None]
    equation = ",".join(terms) + "->Z" + "".join([letters[x] for x in call.outs[0]])
    below = [(case.size,) * mapped[k] + call.shapes[k] for k in (i, j)]
    found = plan_of_two(equation, *below)
    if mapped[i] and mapped[j] and is_plain(found, below):
        return lambda F, arrays, attrs: batched(F, F.inner.gemm(arrays[i].value, arrays[j].value))
    if plain:
        return None
    first, second = [attrgetter("value") if mapped[k] else shared for k in (i, j)]

    def run(F, arrays, attrs):
        return batched(F, contract_two(F.inner, F.inner.gemm, first(arrays[i]), second(arrays[j]),
                                       found))
    return run


def is_plain(found, shapes):
    """True for the plan of one product of two batches of matrices, which lie in order."""
    swapped, *forms, is_summed, _, order = found
    return is_summed and not swapped and order is None and all([
        len(shape) > 2 and form.sizes == shape and not form.order and not form.dropped
        for form, shape in zip(forms, shapes)])


def is_product(case):
    """True for a sum of products of two inputs over a dimension, without attributes but factors of
    1, such as `addmm` has."""
    call = case.call
    factors = [not plus for labels, plus in zip(call.ins, call.plus) if labels is not None]
    if case.op.complex != "holomorphic" or call.by != "sum" or call.whole or factors != [True] * 2:
        return False
    named = [x for x in call.sizes if x[0] != "*"]
    if not call.broadcasts and (                           # but for `einsum`
            any([x != 1 for x in call.attrs.values()]) or stretched(call, named)):
        return False
    return any([x not in call.outs[0] for x in call.sizes])


# ---- results that are made of others -------------------------------------------------------------
def add(case, way):
    """A way without an input that is added to the result, and may be left out; it is added then."""
    call, op = case.call, case.op
    if op.complex != "holomorphic":                        # it is not linear
        return None
    for i, labels in enumerate(call.ins):
        if call.plus[i] and labels and not call.whole & {*labels} and (
                way is contract or op.inputs[i].optional):           # it calls another op
            break
    else:
        return None
    shapes = [None if k == i else shape for k, shape in enumerate(call.shapes)]
    rest = way(case._replace(call=bind(op, shapes, call.attrs),
                             mapped=[m and k != i for k, m in enumerate(case.mapped)]))
    shape = [call.shapes[i][labels.index(x)] if x in labels else 1 for x in call.outs[0]]
    shape = (case.size if case.mapped[i] else 1, *shape)
    has_room = any([m and k != i for k, m in enumerate(case.mapped)])

    def run(F, arrays, attrs):
        out, v = rest(F, [*arrays[:i], None, *arrays[i + 1:]], attrs).value, arrays[i].value
        if v.shape != shape:
            v = v.reshape(shape)
        if not has_room:
            return batched(F, out + v)
        out += v
        return batched(F, out)
    return None if rest is None else run


def combine(case):
    """The terms of a loss, and their sum or mean."""
    call, how = case.call, {case.call.reduction: "none"}
    if call.column.by.startswith("weighted") and call.by == "avg":
        return None
    rest = way(case._replace(call=bind(case.op, call.shapes, {**call.attrs, **how})))
    reduction = "mean" if call.by == "avg" else "sum"

    def run(F, arrays, attrs):
        found = rest(F, arrays, {**attrs, **how})
        if found is None:
            return None
        v = (found[0] if case.keeps else found).value
        rows = v.reshape((v.shape[0], prod(v.shape[1:])))
        out = batched(F, getattr(F.inner, reduction)(rows, dim=1, keepdim=False, dtype=None))
        return (out, *found[1:]) if case.keeps else out
    return None if rest is None else run
