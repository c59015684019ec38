"""Ops without a batching rule: element by element, and a list of them."""

from ...core.errors import worded
from ...explain.callers import warn
from ...utils._pytree import tree_map
from .array import Batched, batched, lifted, varying

__all__ = ["element_by_element", "fell_back", "run", "vmap_fallbacks"]

fell_back: dict = {}                                       # name of an op -> why it was run element by element
quiet = [False]                                            # for tests


def vmap_fallbacks():
    """The ops that `vmap` has run element by element in this process, by name, each with the reason.

    Each is reported once, by a warning. Results are right all the same, but take the time of a
    loop.
    """
    return dict(fell_back)


def note(name, why):
    """Enter an op in the list; warn of it the first time."""
    if name not in fell_back:
        fell_back[name] = why
        if not quiet[0]:
            warn(f"There is a performance drop because we have not yet implemented the batching rule for {name} "
                 f"({why}): it runs once for each element of the batch.")


def element(F, x, i):
    """Element `i` of a batched array; anything else as it is."""
    if x.__class__ is not Batched or x.backend is not F and x.backend.depth < F.depth:
        return x
    v = lifted(F, x).value
    return v[i if v.shape[0] != 1 else 0]


def run(F, op, full, arrays, attrs, error):
    """The op for each element of the batch, and the results stacked; `error` if their shapes differ."""
    if op.by_values:
        raise worded(RuntimeError(varying(op.name))) from None
    inner = getattr(F.inner, f"full_{op.name}" if full else op.name)

    def row(i):
        arrays_here, attrs_here = tree_map(lambda x: element(F, x, i), (arrays, attrs))
        return inner(*arrays_here, **attrs_here)
    found = tree_map(lambda *rows: stacked(F, rows, error), *[row(i) for i in range(F.size)])
    note(op.name, str(error))
    return found


def element_by_element(F, function, arrays):
    """The results, a sequence of arrays, of a function that knows nothing of batches: it is called
    with the arrays of each element, and its results are stacked."""
    def row(arrays):
        return element_by_element(F.inner, function, arrays) if F.inner.depth else function(arrays)
    found = [row([element(F, x, i) for x in arrays]) for i in range(F.size)]
    return [stacked(F, rows, None) for rows in zip(*found)]


def stacked(F, rows, error):
    """The batch of these arrays, one for each element; the first of anything else."""
    if not hasattr(rows[0], "dtype"):
        return rows[0]
    rows = [F.inner.asarray(row) for row in rows]
    if any([row.shape != rows[0].shape for row in rows]):
        raise error
    return batched(F, F.inner.xp.stack(rows))
