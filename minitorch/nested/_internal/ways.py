"""`apply`: the three ways in which an op on a batch of ragged elements is computed.

- Once on the packed values, which are one row that holds all elements: where the batch and the
  ragged dimension go through the op, or are combined together.
- Once on a padded tensor, filled with what does not count: where the notation says what that is.
- Once for all elements of one size: where the op needs the ragged dimension whole, or another input
  has something else for each element.
"""

import math

from ... import Tensor, get_default_dtype, iinfo, jagged, stack
from ...extend import is_inexact
from ...ops.dims import column_of, is_elementwise, parse
from ...ops.labels import attributes_for
from ...utils._pytree import tree_map
from .batch import Batch
from .nested_int import LARGE
from .ragged import Call, refused

__all__ = ["apply", "each_result"]


def apply(op, inputs, attrs):
    """The result of ``op(*inputs, **attrs)``. Inputs may be nested or dense; `attrs` have stand-ins
    for ragged sizes."""
    nested = [x for x in inputs if isinstance(x, Batch)]
    if not nested:
        return run(op, inputs, attrs)
    if len({x.layout for x in nested}) > 1:
        raise refused(op, "nested tensors of two layouts")
    if is_elementwise(op) and is_of_one_structure(nested, inputs):
        found = run(op, [getattr(x, "_inner", x) for x in inputs], attrs)
        return each_result(found, lambda y, k: nested[0].like(y))
    if is_of_each(op, attrs):
        return [run(op, [x.unsqueeze(0)], attrs)[0] for x in nested[0].elements()]
    call = Call(op, inputs, attrs)
    if nested[0].layout is not jagged:
        return of_buffers(call)
    if (rows := rows_of(call)) is not None:
        return of_rows(call, rows)
    if is_padded(call):
        return of_padded(call)
    return of_groups(call)


def is_of_each(op, attrs):
    """True for a list of results, one for each element of the batch."""
    text = column_of(op.dims, {**dict(op.attrs), **attrs})
    return text is not None and any([attrs.get(term.each) == 0 for term in parse(text).outs
                                     if term.each is not None])


def run(op, inputs, attrs):
    """The op itself."""
    return op.call(list(inputs), **attrs) if op.variadic else op.call(*inputs, **attrs)


def each_result(found, function):
    """``function(result, place)`` of one result, or of each of several."""
    if not isinstance(found, (tuple, list)):
        return function(found, 0)
    return getattr(found, "_make", type(found))([function(y, k) for k, y in enumerate(found)])


def is_of_one_structure(nested, inputs):
    """True if all tensors are nested in the same way, or single numbers."""
    return all([x.is_like(nested[0]) for x in nested]) and all(
        [not isinstance(x, Tensor) or not x.dim() for x in inputs])


def labels_of(call, k):
    """The labels of result `k`; a column may have one term for a list of results."""
    return call.bound.outs[min(k, len(call.bound.outs) - 1)]


def attributes(call, sizes):
    """The attributes of the call with other sizes behind some labels."""
    shapes = [[sizes.get(label, n) for label, n in zip(*found)]
              for found in zip(call.bound.outs, call.bound.out_shapes)]
    attrs = attributes_for(call.bound, shapes)
    known = {call.bound.sizes[label]: n for label, n in sizes.items() if label != call.batch}

    def known_size(n):
        n = known.get(n, n) if n.__class__ is int else n
        if n.__class__ is int and abs(n) > LARGE:
            raise refused(call.op, "an attribute that was computed from a ragged size")
        return n
    return {k: tree_map(known_size, attrs[k]) for k in call.attrs}


# ---- one row -------------------------------------------------------------------------------------
def rows_of(call):
    """The inputs with all elements in one row; None if the op cannot take them so."""
    if not call.jagged or len(call.ragged) > 1:
        return None
    b, (r,) = call.batch, call.ragged
    passes = call.passes(b) and call.passes(r)
    if not passes and not call.are_reduced_together([b, r]):
        return None
    found = []
    for x, labels in zip(call.inputs, call.bound.ins):
        if isinstance(x, Batch):
            x = (x if passes else x.packed())._inner.unsqueeze(0)
        elif isinstance(x, Tensor) and any([n > 1 and label in (b, r)
                                            for n, label in zip(x.shape, labels)]):
            x = call.first.row_of(x) if is_elementwise(call.op) else None
            if x is None:
                return None
        found.append(x)
    return found


def of_rows(call, rows):
    total = rows[call.nested[0]].shape[call.first._ragged_idx]
    found = run(call.op, rows, attributes(call, {call.batch: 1, call.ragged[0]: total}))

    def nested(y, k):
        labels = labels_of(call, k)
        if call.batch not in labels:
            return y
        return call.first.like(y.squeeze(0), labels.index(call.ragged[0]))
    return each_result(found, nested)


def of_buffers(call):
    """In the layout ``torch.strided``: elements in another shape lie in the same buffer, and all
    numbers are reduced there."""
    first, others = call.first, [x for x in call.inputs if isinstance(x, (Batch, Tensor))]
    if call.bound.column.ins[0].flat:
        sizes = [attributes(call, sizes_of(call, [x.array.shape]))["shape"][1:]
                 for x in first.elements()]
        return type(first)(first._inner, sizes)
    if not call.is_gone(call.batch):
        return of_groups(call)
    labels = [label for i in call.nested for label in call.bound.ins[i]]
    nested = [call.inputs[i] for i in call.nested]
    if not call.are_reduced_together(labels) or not is_of_one_structure(nested, others):
        raise refused(call.op, "over the batch dimension (dim=0) and not all others")
    rows = [x._inner.view(*[1] * (x.dim() - 1), -1) if isinstance(x, Batch) else x
            for x in call.inputs]
    return run(call.op, rows, call.attrs)


# ---- a padded tensor -----------------------------------------------------------------------------
def is_padded(call):
    """True if the notation says what does not count along the only ragged dimension.

    An empty element has none for a maximum, and an index none at all.
    """
    if not call.jagged or len(call.ragged) > 1 or not call.passes(call.batch) or any(
            [call.op.inputs[i].kind == "other" for i in call.nested if not call.op.variadic]):
        return False
    (r,), by = call.ragged, call.bound.by
    if by in ("max", "min") and not call.first._get_min_seqlen():
        return False
    stays = [labels for labels in call.bound.outs if r in labels]
    says = f" by {by}" in call.text and by in NEUTRAL
    return call.is_combined(r) or says and all(
        [labels.index(r) == call.first._ragged_idx for labels in stays])


def of_padded(call):
    nt, by, (r,) = call.first, call.bound.by, call.ragged
    length = max(nt._get_max_seqlen(), 1)
    nested = {i: call.inputs[i] for i in call.nested}
    if by == "avg" and not is_inexact(nt.dtype.np):        # as PyTorch: a sum, by counts
        nested = {i: x.like(x._inner.to(get_default_dtype())) for i, x in nested.items()}
    inputs = [nested[i].padded(neutral(by, nested[i].dtype), length) if i in nested else x
              for i, x in enumerate(call.inputs)]
    found = run(call.op, inputs, attributes(call, {r: length}))

    def result(y, k):
        if r in labels_of(call, k):
            return nt.packed().like(nt.unpadded(y))
        if by != "avg":
            return y
        counts = y.new_tensor(nt.sizes()).view(-1, *[1] * (y.dim() - 1))
        return y * (length / counts)
    return each_result(found, result)


NEUTRAL = {"sum": 0, "avg": 0, "product": 1, "max": -math.inf, "min": math.inf}


def neutral(by, dtype):
    """The value that does not count where elements are combined `by` this word."""
    fill = NEUTRAL[by]
    if dtype.is_floating_point or not math.isinf(fill):
        return fill
    if dtype.np.kind == "b":
        return by == "min"
    return iinfo(dtype).min if by == "max" else iinfo(dtype).max


# ---- a call for all elements of one size ---------------------------------------------------------
def of_groups(call):
    if not call.passes(call.batch):
        raise refused(call.op, "over the batch dimension (dim=0)")
    parts, groups = {i: call.inputs[i].elements() for i in call.nested}, {}
    for k, row in enumerate(zip(*parts.values())):
        groups.setdefault(tuple([x.array.shape for x in row]), []).append(k)
    found = {members[0]: of_group(call, parts, shapes, members)
             for shapes, members in groups.items()}
    some, rows = found[0], {}
    for members in groups.values():
        results = found[members[0]]
        columns = [y.unbind(0) for y in (results if isinstance(some, (tuple, list)) else [results])]
        rows.update(zip(members, zip(*columns)))
    return each_result(some, lambda _, k: together(
        call, k, [rows[i][k] for i in range(len(call.first))]))


def of_group(call, parts, shapes, members):
    """The op on the elements at the places `members`, all of these `shapes`."""
    sizes = {call.batch: len(members), **sizes_of(call, shapes)}
    inputs = [stack([parts[i][k] for k in members]) if i in parts else chosen(call, x, i, members)
              for i, x in enumerate(call.inputs)]
    return run(call.op, inputs, attributes(call, sizes))


def sizes_of(call, shapes):
    """The sizes of ragged dimensions in elements of these `shapes`, one for each nested input."""
    return {label: n for i, shape in zip(call.nested, shapes)
            for label, n in zip(call.bound.ins[i][1:], shape) if label in call.ragged}


def chosen(call, x, i, members):
    """The part of a dense input that belongs to these elements."""
    labels = call.bound.ins[i]
    if not isinstance(x, Tensor) or call.batch not in labels:
        return x
    d = labels.index(call.batch)
    return x if x.shape[d] == 1 else x.index_select(d, x.new_tensor(members).long())


def together(call, k, elements):
    """Elements of result `k` as a batch."""
    if not call.jagged:
        return call.first.of_elements(elements)
    shape = call.bound.out_shapes[min(k, len(call.bound.out_shapes) - 1)]
    r = next((d for d, n in enumerate(shape) if n > LARGE), None)
    if r is None:
        return stack(elements)
    source = next(call.inputs[i] for i in call.nested if shape[r] in call.shapes[i])
    return source.of_elements(elements, r)
