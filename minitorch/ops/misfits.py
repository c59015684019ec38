"""Sizes that do not go together in a call that has failed, named after the definition's inputs.

The index notation of an op (its column `dims`) says which dimensions go together. An input is to
blame if the call would fit with another shape of this input alone: `mended` finds that shape.

>>> from minitorch.extend import OPS
>>> print(misfit(OPS["linear"], [(2, 3), (4, 3), (5,)], {}))
linear(): The size of weight (4) at dimension 0 must match the size of bias (5) at dimension 0.
  It fits with weight of shape [5, 3], or bias of shape [4].
>>> print(misfit(OPS["addcmul"], [(2, 3), (2, 3), (2, 4)], {}))
The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1
  a: 2  3
  b: 2  4
        ^
  In addcmul() a is input, b is tensor2. It fits with tensor2 of shape [2, 3].
"""

from ..explain.failures import different_sizes, mismatch, public_name
from .labels import bind, go_together, laid, places

__all__ = ["misfit"]


def misfit(op, shapes, attrs, caller=None, names=()):
    """The error text for shapes of inputs that do not fit the definition of `op`; None if they do,
    or if the definition does not tell. `shapes` is as for `bind`.

    `caller` is the function that the user called, `names` those that it has for some inputs, by
    their positions.
    """
    attrs = {**dict(op.attrs), **attrs}
    try:
        bind(op, shapes, attrs)
    except ValueError:
        ways = {i: mended(op, shapes, attrs, i) for i, shape in enumerate(shapes) if shape}
        ways = {i: shape for i, shape in ways.items() if shape is not None}
        pair = next((p for i in ways or range(len(shapes)) for p in clashes(op, shapes, attrs, i)),
                    None)
        if pair is None:
            return None
        shown = len(shapes) > 2 or {i for i, _ in pair}.issubset(names)
        names = {i: name_of(op, i) for i in range(len(shapes))} | dict(names)
        return in_words(op, caller or public_name(op), names, shapes, sorted(pair), ways, shown)
    return None


def without(shapes, i):
    return [*shapes[:i], None, *shapes[i + 1:]]


def mended(op, shapes, attrs, i):
    """The shape of input `i` with which the call fits the definition; None if there is none."""
    try:
        call = laid(op, without(shapes, i), attrs, op.dims)
        term = call.terms[i]
        sizes = [(label, n, call.sizes.get(label, n))
                 for label, n in zip(places(call, term, len(shapes[i])), shapes[i])]
        shape = tuple([n if go_together(call, term, label, n, old) else old
                       for label, n, old in sizes])
        bind(op, [*shapes[:i], shape, *shapes[i + 1:]], attrs)
    except ValueError:
        return None
    return shape


def clashes(op, shapes, attrs, i):
    """The pairs ((input i, a dimension), (another input, its dimension)) whose sizes differ, from
    the last dimension on."""
    for j, other in enumerate(shapes):
        try:
            call = laid(op, [x if k == j else None for k, x in enumerate(shapes)], attrs, op.dims)
            own = places(call, call.terms[i], len(shapes[i]))
        except (TypeError, ValueError):                    # a shape that no term fits, or None
            continue
        for d, label in reversed([*enumerate(own)] if i != j else []):
            for e, its in enumerate(call.ins[j] or ()):
                if its == label and not go_together(call, call.terms[i], label, shapes[i][d],
                                                    other[e]):
                    yield (i, d), (j, e)


def in_words(op, caller, names, shapes, pair, ways, shown):
    """The error text for a pair of sizes that differ, and for the shapes that would fit. Where a
    drawing says it all, names are added if they are to be `shown`."""
    (i, d), (j, e) = pair
    a, b = shapes[i], shapes[j]
    mends = [f"{names[k]} of shape {list(shape)}" for k, shape in ways.items()]
    fits = f"It fits with {', or '.join(mends)}." if mends else ""
    if op.mismatch and (i, j) == (0, 1) and (words := op.mismatch(a, b)):
        return words
    if mismatch(a, b) == (d - len(a), e - len(b), max(d, e)):
        text = different_sizes(a, b)
        if not shown:
            return text
        fits = f"In {caller}() a is {names[i]}, b is {names[j]}. {fits}".strip()
    else:
        text = (f"{caller}(): The size of {names[i]} ({a[d]}) at dimension {d} must match the size "
                f"of {names[j]} ({b[e]}) at dimension {e}.")
    return f"{text}\n  {fits}" if fits else text


def name_of(op, i):
    """The name of an input, as the definition has it."""
    return f"{op.inputs[0].name}[{i}]" if op.variadic else op.inputs[i].name
