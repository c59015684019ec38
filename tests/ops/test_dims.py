"""The column `dims` of every op, against what the op computes on drawn inputs.

`bind` says which dimensions go together. So results have the shapes that it says; parts that are
cut along dimensions not in brackets give parts of the result; a mapped dimension may be one more of
``*``, or be joined with such a dimension. And a dimension in brackets needs them.
"""

import inspect
import itertools
import random
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from minitorch.backends.cpu.backend import cpu
from minitorch.core.dtypes import as_np
from minitorch.core.registry import FUNCTIONS, OPS
from minitorch.core.tensor import wrap
from minitorch.ops.dims import column_of, is_elementwise, parse
from minitorch.ops.labels import attributes_for, bind, flops_of, is_product, shardings
from minitorch.testing.strategies import Draw

ROWS = [row for row in OPS.values() if row.dims is not None]
each_op = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


# ---- drawn calls ---------------------------------------------------------------------------------
class Call:
    """Inputs, attributes and results of an op."""

    def __init__(self, row, arrays, attrs):
        self.row, self.arrays, self.attrs = row, arrays, {**dict(row.attrs), **attrs}
        self.shapes = [None if x is None else np.shape(x) for x in arrays]
        self.results = computed(row, arrays, self.attrs)
        self.bound = bind(row, self.shapes, self.attrs)

    def __repr__(self):
        text = column_of(self.row.dims, self.attrs)
        return f"{self.row.name} does not work as dims={text!r}: {self.shapes}, {self.attrs}"


def computed(row, arrays, attrs):
    """The results of an op on raw arrays, as a list; None for one that is left out."""
    attrs = {k: as_np(v) if k == "dtype" and v is not None else v for k, v in attrs.items()}
    out = getattr(cpu, row.name)(*arrays, **attrs)
    return [y if y is None else np.asarray(y) for y in (out if isinstance(out, tuple) else [out])]


@cache
def calls(row):
    """Drawn calls that the column describes; those of a function may be without a text."""
    drawn = [Draw(random.Random(seed)).op_sample(row) for seed in range(24)]
    found = [Call(row, [x if x is None else np.asarray(x) for x in arrays], attrs)
             for arrays, attrs in drawn]
    return [call for call in found if call.bound is not None]


def same(found, wanted, where):
    assert len(found) == len(wanted), where
    for a, b in zip(found, wanted):
        if a is not None and b is not None:
            assert a.shape == b.shape, where
            np.testing.assert_allclose(a * 1, b * 1, 1e-9, 1e-9, equal_nan=True, err_msg=where)


# ---- the notation --------------------------------------------------------------------------------
def test_every_op_has_a_column_or_a_reason():
    """Results whose shape depends on values, and random numbers by position, have no notation."""
    for row in OPS.values():
        has_reason = row.by_values or "place" in dict(row.attrs)
        assert (row.dims is None) <= has_reason, f"{row.name} needs dims="


@each_op
def test_dims_are_written_in_their_notation(row):
    """A term for each input, or one for all, and for each result."""
    for call in calls(row):
        text = column_of(row.dims, call.attrs)
        column = parse(text)
        assert text.count("[") == text.count("]") and text.count("(") == text.count(")")
        described = len(column.ins)
        assert described == 1 or row.variadic or described <= len(row.inputs) and all(
            [x is None for x in call.arrays[described:]])
        if row.outputs != "list":
            wanted = len(row.outputs) if isinstance(row.outputs, tuple) else 1
            assert len(column.outs) == wanted
        assert call.bound.by in JOINED or call.bound.by == "moving"


@pytest.mark.parametrize("dims", ["n! -> n", "n ->> m", "n k, k m => n m", "x..."])
def test_what_cannot_be_read_is_refused(dims):
    with pytest.raises(ValueError, match="index notation: cannot read"):
        parse(dims)


REFUSED = {
    "mm": [((2, 3), (4, 5)), ((2, 3), (3,)), ((1, 1), (2, 3))], "dot": [((2,), (3,)), ((), ())],
    "linear": [((2, 3), (4, 5), None), ((2, 3), (4, 3), (5,))], "cholesky": [((2, 3),), ((3,),)],
    "layer_norm": [((2, 3), (2,), None)], "gather": [((2, 3), (1, 3)), ((3,), (2, 3))],
}


@pytest.mark.parametrize("name, shapes", [(k, v) for k, all in REFUSED.items() for v in all])
def test_shapes_that_do_not_fit_are_refused(name, shapes):
    with pytest.raises(ValueError, match="index notation"):
        bind(OPS[name], shapes, dict(dim=1, dims=(1,)))


@pytest.mark.parametrize("shapes", [[(), ()], []])
def test_numbers_cannot_be_joined(shapes):
    with pytest.raises(ValueError, match="index notation"):
        bind(OPS["cat"], shapes, dict(dim=0))


@pytest.mark.parametrize("name", ["sum", "softmax", "sort", "unsqueeze", "flip", "transpose"])
def test_dimensions_that_do_not_exist_are_refused(name):
    with pytest.raises(ValueError, match="no dimension"):
        bind(OPS[name], [(2, 3)], dict(dim=4, dims=(4,), dim0=0, dim1=4))


@each_op
def test_other_shapes_are_bound_or_refused(row):
    """With a dimension less or more, or of another size, and an input less: no other error."""
    for call in calls(row)[:6]:
        for i, shape in enumerate(call.shapes):
            for other in (None, (), *[(shape or ())[:d] + n for d in range(len(shape or ()))
                                      for n in [(), (5, 7), (1,), (0, 0, 0)]]):
                shapes = [*call.shapes[:i], other, *call.shapes[i + 1:]]
                try:
                    bound = bind(row, shapes, call.attrs)
                except ValueError as error:
                    assert "index notation" in str(error)
                else:
                    assert [x if x is None else len(x) for x in bound.ins] == [
                        x if x is None else len(x) for x in shapes]


# ---- shapes --------------------------------------------------------------------------------------
@each_op
def test_results_have_the_shapes_that_dims_say(row):
    assert calls(row), f"{row.name}: no drawn call has index notation"
    for call in calls(row):
        assert len(call.results) == len(call.bound.out_shapes), repr(call)
        for y, shape in zip(call.results, call.bound.out_shapes):
            assert y is None or y.shape == tuple(shape), repr(call)


# ---- cutting -------------------------------------------------------------------------------------
JOINED = {
    "sum": lambda parts, sizes: sum(parts), "product": lambda parts, sizes: np.prod(parts, 0),
    "max": lambda parts, sizes: np.max(parts, 0), "min": lambda parts, sizes: np.min(parts, 0),
    "avg": lambda parts, sizes: sum([y * n for y, n in zip(parts, sizes)]) / sum(sizes),
}


def cut(bound, x, labels, spans):
    """The part of an input or a result that has these spans of some labels."""
    index = []
    for n, label in zip(np.shape(x), labels or ()):
        start, end = spans.get(label, (0, None)) if n != 1 else (0, None)
        unit = n // max(bound.sizes.get(label, n), 1)      # of dimensions that were joined
        index.append(slice(start * unit, end if end is None else end * unit))
    return x if x is None else x[tuple(index)]


def run_on_part(call, bound, spans, adds=True):
    """The results of the op on a part; zeros for what is added, unless this part `adds` it."""
    ins = [cut(bound, x, labels, spans) for x, labels in zip(call.arrays, bound.ins)]
    if not adds:
        ins = [x * 0 if term.plus and x is not None and spans.keys().isdisjoint(labels) else x
               for x, term, labels in zip(ins, bound.terms, bound.ins)]
    shapes = [cut(bound, np.empty(shape), labels, spans).shape
              for shape, labels in zip(bound.out_shapes, bound.outs)]
    return computed(call.row, [x if x is None else np.asarray(x) for x in ins],
                    attributes_for(bound, shapes))


def check_cut(call, bound, label, outs):
    """Two parts, joined or combined, are the whole."""
    size = bound.sizes[label]
    spans = [(0, size // 2), (size // 2, size)]
    is_combined = any([kind == "P" for kind, _ in outs])
    parts = [run_on_part(call, bound, {label: span}, not is_combined or span is spans[0])
             for span in spans]
    joined = []
    for (kind, how), *ys in zip(outs, *parts):
        sizes = [end - start for start, end in spans]
        joined.append(None if ys[0] is None else np.concatenate(ys, how) if kind == "S"
                      else JOINED[how](ys, sizes))
    same(joined, call.results, f"{call}, cut along {label}")


@each_op
def test_parts_of_inputs_give_parts_of_results(row):
    """Every dimension without brackets is cut in some call; or ``*`` has one more, as below."""
    free, seen = set(), set()
    for call in calls(row):
        free |= {word.name for term in call.bound.terms for word in term.words
                 if not word.whole and not term.flat}
        for label, _, outs in shardings(call.bound):
            check_cut(call, call.bound, label, outs)
            seen.add(label[0])
        seen |= {"*"} if with_one_more_star(call) else set()
    assert free <= seen | {"1"}, f"{row.name}: no call cuts {free - seen}; give it a `sample`"


@each_op
def test_each_element_of_free_dimensions_is_computed_by_itself(row):
    for call in calls(row)[:6]:
        labels = [label for label, _, outs in shardings(call.bound)
                  if all([kind == "S" for kind, _ in outs])]
        for place in np.ndindex(*[call.bound.sizes[label] for label in labels]):
            spans = {label: (i, i + 1) for label, i in zip(labels, place)}
            wanted = [y if y is None else cut(call.bound, y, own, spans)
                      for y, own in zip(call.results, call.bound.outs)]
            same(run_on_part(call, call.bound, spans), wanted, f"{call}, cut to {spans}")


# ---- moving --------------------------------------------------------------------------------------
def varied(x, k):
    """Another input of the same kind."""
    return x if x is None or x.dtype.kind in "biu" else np.asarray(x * (1 - 0.25 * k))


def place_of_star(term):
    """The place of the first dimension of ``*`` in a term; None without."""
    names = [word.name for word in term.words]
    return names.index("*") if "*" in names else None


def deepened(x, labels, place, depth):
    """`x` with dimensions of size 1 before its ``*``, which then has `depth`."""
    own = sum([label[0] == "*" for label in labels])
    return x.reshape((*x.shape[:place], *(1,) * (depth - own), *x.shape[place:]))


def shifted(call, bound):
    """The attributes that say places, one further; None where they say all dimensions."""
    terms = bound.terms + list(bound.column.outs)
    attrs, seen = dict(call.attrs), set()
    for term, shape in zip(terms, [*bound.shapes, *bound.out_shapes]):
        for name in {word.at or word.name for word in term.words} & attrs.keys() - seen:
            given, n = attrs[name], len(shape or ())
            if given is None or given == () or given.__class__ is bool or not n:
                return None
            several = isinstance(given, (tuple, list))
            attrs[name] = tuple([d % n + 1 for d in given]) if several else given % n + 1
            seen.add(name)
    return attrs


def with_one_more_star(call):
    """Inputs and attributes with one more dimension of ``*``, and the results of a loop over it;
    None if results have not all of ``*``."""
    bound, starts = call.bound, [place_of_star(term) for term in call.bound.terms]
    terms = bound.column.outs
    ends = [place_of_star(term) for term in terms] * (len(bound.outs) if terms[0].each else 1)
    attrs, stars = shifted(call, bound), {label for label in bound.sizes if label[0] == "*"}
    is_whole = any([word.name == "*" and word.whole for term in bound.terms for word in term.words])
    if None in ends or attrs is None or is_whole or any(
            [not stars.issubset(labels) for labels in bound.outs]):
        return None
    depth = max([sum([label[0] == "*" for label in labels]) for labels in bound.outs])
    deep = [x if x is None or at is None else deepened(x, labels, at, depth)
            for x, at, labels in zip(call.arrays, starts, bound.ins)]
    mapped = [x is not None and at is not None for x, at in zip(deep, starts)]
    each = [[varied(x, k) if m else x for x, m in zip(deep, mapped)] for k in range(2)]
    given = [np.stack([each[0][i], each[1][i]], starts[i]) if m else x
             for i, (x, m) in enumerate(zip(deep, mapped))]
    shapes = [(*shape[:at], 2, *shape[at:]) for shape, at in zip(bound.out_shapes, ends)]
    loop = [computed(call.row, arrays, call.attrs) for arrays in each]
    wanted = [y if y is None else np.stack([y, z], at) for y, z, at in zip(*loop, ends)]
    return given, {**attrs, **changed(attributes_for(bound, shapes), call.attrs)}, wanted


def changed(new, old):
    return {k: v for k, v in new.items() if v is not old[k]}


@pytest.mark.parametrize("row", [row for row in ROWS if callable(row.dims) or "*" in row.dims],
                         ids=lambda row: row.name)
def test_the_star_may_have_one_more_dimension(row):
    for call in calls(row):
        case = with_one_more_star(call)
        if case is not None:
            given, attrs, wanted = case
            same(computed(row, given, attrs), wanted, f"{call}, one more of *")


# ---- joining -------------------------------------------------------------------------------------
def with_a_joined_dimension(call, label):
    """Inputs and attributes where a mapped dimension of all inputs that have `label` is joined with
    it, and the results of a loop over that dimension."""
    bound, (size, n) = call.bound, (2, call.bound.sizes[label])
    has = [labels is not None and label in labels for labels in bound.ins]
    places = [labels.index(label) if h else None for labels, h in zip(bound.ins, has)]
    full = [np.repeat(x, n, at) if h and x.shape[at] == 1 != n else x
            for x, h, at in zip(call.arrays, has, places)]
    each = [[varied(x, k) if h else x for x, h in zip(full, has)] for k in range(size)]
    given = [np.concatenate([arrays[i] for arrays in each], at) if h else full[i]
             for i, (h, at) in enumerate(zip(has, places))]
    ends = [labels.index(label) for labels in bound.outs]
    shapes = [tuple([m * size if d == at else m for d, m in enumerate(shape)])
              for shape, at in zip(bound.out_shapes, ends)]
    loop = [computed(call.row, arrays, call.attrs) for arrays in each]
    wanted = [y if y is None else np.concatenate([y, z], at) for y, z, at in zip(*loop, ends)]
    return given, attributes_for(bound, shapes), wanted


@each_op
def test_a_mapped_dimension_may_be_joined_with_a_free_one(row):
    for call in calls(row)[:6]:
        for label, _, outs in shardings(call.bound):
            if all([kind == "S" for kind, _ in outs]):
                given, attrs, wanted = with_a_joined_dimension(call, label)
                same(computed(row, given, attrs), wanted, f"{call}, joined with {label}")


# ---- brackets ------------------------------------------------------------------------------------
def is_noticed(call, label):
    """True if a dimension that is needed whole cannot be cut, in one call."""
    free = replace(call.bound, whole=call.bound.whole - {label})
    ways = [outs for x, _, outs in shardings(free) if x == label]
    try:
        for outs in ways:
            check_cut(call, free, label, outs)
    except Exception:
        return True
    return not ways                                        # twice in one input


@each_op
def test_brackets_are_needed(row):
    """A dimension in brackets, when it is cut, gives another result in some call."""
    needed, noticed = set(), set()
    for call in calls(row):
        for label in call.bound.whole & call.bound.sizes.keys():
            if call.bound.sizes[label] > 1:
                needed.add(label[0])
                if is_noticed(call, label):
                    noticed.add(label[0])
    assert needed == noticed, f"{row.name}: {needed - noticed} could be cut"


@pytest.mark.parametrize("name, shapes, flops, out", [
    ("matmul", [(3,), (3,)], 6, ()), ("matmul", [(3,), (4, 3, 2)], 48, (4, 2)),
    ("matmul", [(4, 2, 3), (3,)], 48, (4, 2)), ("linear", [(3,), (2, 3), (2,)], 12, (2,)),
    ("linear", [(4, 3), (3,), None], 24, (4,)), ("linear", [(3,), (3,), ()], 6, ())])
def test_a_vector_lacks_a_dimension(name, shapes, flops, out):
    bound = bind(OPS[name], shapes)
    arrays = [x if x is None else Draw().array(x) for x in shapes]
    (result,) = computed(OPS[name], arrays, {})
    assert bound.out_shapes == [out] == [result.shape] and flops_of(bound) == flops


# ---- FLOPs ---------------------------------------------------------------------------------------
def test_flops_are_two_for_each_product():
    """A sum of products of ones is the number of products."""
    found = set()
    for call in [call for row in ROWS for call in calls(row) if is_product(call.bound)]:
        ones = [x if x is None else np.ones_like(x) * (not term.plus)
                for x, term in zip(call.arrays, call.bound.terms)]
        attrs = {**call.attrs, **{k: 1 for k in ("alpha", "beta") if k in call.attrs}}
        (total,) = [y.sum() for y in computed(call.row, ones, attrs)]
        assert flops_of(call.bound) == 2 * total, repr(call)
        if call.row.flops:
            assert call.row.flops(call.results[0], *call.arrays) == 2 * total, repr(call)
        found.add(call.row.name)
    assert {"matmul", "linear", "addmm", "einsum", "dot"} <= found


# ---- public functions without a definition -------------------------------------------------------
FUNCTIONS_OF_ELEMENTS = {f"{namespace}.{name}".lstrip("."): public.call
                         for (namespace, name), public in FUNCTIONS.items()
                         if is_elementwise(public.call) and not hasattr(public.call, "op")}


@pytest.mark.parametrize("name", FUNCTIONS_OF_ELEMENTS)
def test_an_elementwise_function_computes_each_element_by_itself(name):
    """A composite with ``dims="*"``, called with the first arguments that it takes."""
    call = FUNCTIONS_OF_ELEMENTS[name]
    array = np.linspace(1.1, 2.3, 6).reshape(2, 3)
    choices = [array, 2, array * (2 + 1j), array > 1.5, array + 1]
    parameters = [p for p in inspect.signature(call).parameters.values()
                  if p.kind is p.POSITIONAL_OR_KEYWORD]
    least = len([p for p in parameters if p.default is p.empty])

    def result(arguments, place=slice(None)):
        given = [wrap(x[place].copy(), cpu) if isinstance(x, np.ndarray) else x for x in arguments]
        return call(*given).array

    def is_taken(arguments):
        try:
            return result(arguments).shape == array.shape
        except Exception:                                  # it refuses them, or gives no tensor
            return False

    found: list = []
    for n in range(least, len(parameters) + 1):
        found = found or [given for given in itertools.product(choices, repeat=n)
                          if any(isinstance(x, np.ndarray) for x in given) and is_taken(given)]
    assert found, f"{name} takes none of the arguments that this test has"
    for arguments in found[:3]:
        whole = result(arguments)
        for i, j in np.ndindex(array.shape):
            one = slice(i, i + 1), slice(j, j + 1)
            assert np.allclose(result(arguments, one), whole[one], 1e-9, equal_nan=True), (
                f"{name} is not elementwise: dims={call.dims!r}")
