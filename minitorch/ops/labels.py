"""`bind` lays the index notation of an op (`dims.py`) over one call: every dimension gets a label.

A label is a tuple of the word that it comes from and a number: ``("n", 0)``, ``("dim", 1)`` for the
second of the dimensions that attribute `dim` names, ``("*", -1)`` for the last one of ``*``. Those
of results that no input has are ``("k", "new", 0)``. Equal labels go together. What vmap, sharding,
masks, shapes without values and FLOPs make of an op are short functions of labels; none of them
knows an op by name.

>>> from minitorch.extend import OPS
>>> call = bind(OPS["linear"], [(8, 3), (5, 3), (5,)])
>>> call.ins, call.outs
([(('n', 0), ('k', 0)), (('m', 0), ('k', 0)), (('m', 0),)], [(('n', 0), ('m', 0))])
>>> shapes_of(call), flops_of(call), bytes_of(call, 4)
([(8, 5)], 240, 336)

It may be cut along samples, along features of its input (then results are terms of a sum, to which
one rank adds the bias), and along features of its result:

>>> for label, ins, outs in shardings(call):
...     print(label, ins, outs)
('n', 0) [('S', 0), 'R', 'R'] [('S', 0)]
('k', 0) [('S', 1), ('S', 1), ('P', 'sum')] [('P', 'sum')]
('m', 0) ['R', ('S', 0), ('S', 0)] [('S', 1)]

>>> call = bind(OPS["expand"], [(4, 1)], dict(size=(2, 4, 3)))
>>> attributes_for(call, [(2, 2, 3)])                      # of a part of 2 rows
{'size': (2, 2, 3)}
>>> mask_class(call), mask_class(bind(OPS["sum"], [(4, 1)], dict(dim=0)))
('move', 'reduce')
"""

import math
from dataclasses import dataclass, field

from .dims import Term, Word, column_of, is_attribute, parse
from .sizes import value_of

__all__ = ["Bound", "attributes_for", "bind", "bytes_of", "combined", "flops_of", "is_product",
           "mask_class", "shapes_of", "shardings"]


@dataclass(eq=False, repr=False)
class Bound:
    """The labels of one call.

    `ins` and `outs` have a tuple of labels for each input and result, None for an input that is
    None; `kept` are those of the last result before it is reduced, as what an op keeps for its
    formulas has them. `sizes` has the size of each label of the inputs, `whole` the labels that the
    op needs whole; `by` says how labels that results lack are combined; `plus` is True for each
    input that is added. `reduction` is the attribute that says how a loss is reduced.
    """

    column: tuple
    shapes: list
    attrs: dict
    by: str
    reduction: str | None = None
    ins: list = field(default_factory=list)
    outs: list = field(default_factory=list)
    kept: tuple = ()
    out_shapes: list = field(default_factory=list)
    terms: list = field(default_factory=list)              # of each input
    sizes: dict = field(default_factory=dict)
    whole: set = field(default_factory=set)
    names: dict = field(default_factory=dict)              # what a new size may be computed from
    kinds: list = field(default_factory=list)              # of inputs, as in `core.op.Input`
    variadic: bool = False                                 # one term holds for a list of inputs
    broadcasts: bool = False                               # letters too are broadcast, as in einsum
    equal: bool = False                                    # not even ``*`` is

    @property
    def plus(self):
        return [term.plus for term in self.terms]


def bind(op, shapes, attrs=None, dims=None):
    """The labels of a call of `op` (`Bound`); None if its column says nothing for these attributes.

    `shapes` has a shape for each input: () for a number, None for an input that is left out.
    `dims`: a text to take in place of the op's column. ValueError if the shapes do not fit it.
    """
    attrs, dims = {**dict(op.attrs), **(attrs or {})}, op.dims if dims is None else dims
    if shapes.count(None) and (len(shapes) == 1 or op.variadic):
        raise ValueError("index notation: an input is left out")
    call = laid(op, shapes, attrs, dims)
    if call is None:
        return None
    if call.column.ins[0].flat:
        result_in_a_row(call)
        return call
    call.names = names_of(call)
    for term in call.column.outs:
        for value in each_of(call, term):
            call.names[term.each] = value
            labels, sizes = (result_of_shape if term.of else result)(call, term)
            call.outs.append(labels)
            call.out_shapes.append(sizes)
    if op.keeps:
        call.kept = result(call, call.column.outs[-1])[0]
    return call


def laid(op, shapes, attrs, dims):
    """`bind` for inputs alone: any may be None here."""
    text = column_of(dims, attrs)
    if text is None:
        return None
    column = parse(text)
    kinds = [x.kind for x in op.inputs] * (len(shapes) if op.variadic else 1)
    call = Bound(column, list(shapes), attrs, column.by, kinds=kinds, variadic=op.variadic,
                 broadcasts=is_attribute(dims), equal=any([is_equal(term) for term in column.ins]))
    reduce_as_told(call)
    lay_inputs(call)
    return call


def reduce_as_told(call):
    """``by reduction``: the attribute says whether the result is combined, and how."""
    name = call.by.removeprefix("weighted ")
    if name not in call.attrs:
        return
    call.reduction, how = name, call.attrs[name]
    call.by = "avg" if how == "mean" else "sum"
    if how != "none":
        call.column = call.column._replace(outs=(Term(()),) * len(call.column.outs))


# ---- inputs --------------------------------------------------------------------------------------
def lay_inputs(call):
    """Label the inputs: last those that are added to the result, which fit the others."""
    terms, n = call.column.ins, len(call.shapes)
    if not n:
        raise ValueError("index notation: there are no inputs")
    call.terms = list(terms) * n if len(terms) == 1 else [*terms, *[Term(())] * (n - len(terms))]
    call.ins = [None] * n
    for i in sorted(range(n), key=lambda i: call.terms[i].plus):
        if call.shapes[i] is not None:
            call.ins[i] = lay(call, call.terms[i], call.shapes[i])
    if len({count_of_star(labels) for term, labels in zip(call.terms, call.ins)
            if labels and is_equal(term)}) > 1:
        raise ValueError("index notation: *.. has the same number of dimensions in all inputs")
    if call.column.by.startswith("weighted") and call.by == "avg":
        call.whole.update(call.sizes)                      # a mean that counts weights of all


def is_equal(term):
    """True if the term has ``*..``, which is not broadcast."""
    return any([word.name == "*" and word.group for word in term.words])


def count_of_star(labels):
    return sum([label[0] == "*" for label in labels])


def lay(call, term, shape):
    """The labels of an input of this shape; notes sizes, and what is needed whole."""
    labels = places(call, term, len(shape))
    for label, n in zip(labels, shape):
        old = call.sizes.setdefault(label, int(label[0]) if label[0].isdigit() else n)
        if label[0].isdigit():
            call.whole.add(label)
        if not go_together(call, term, label, n, old):
            raise ValueError(f"index notation: {label[0]} is {old} and {n}")
        if old == 1 and is_broadcast(call, label):
            call.sizes[label] = n
    return labels


def places(call, term, n):
    """The labels of the `n` dimensions of an input, by its term."""
    return trailing(call, term, n) if term.plus else labels_of(call, term, n)


def go_together(call, term, label, n, old):
    """True if an input with this term may be of size `n` where others are of size `old`."""
    stretched = is_broadcast(call, label)
    return (n == old or old == 1 and stretched or n == 1 and (stretched or term.plus)
            or call.variadic and label in call.whole)


def is_broadcast(call, label):
    """True if inputs of size 1 are broadcast along the dimensions of a label."""
    return label[0] == "*" and not call.equal or call.broadcasts


def trailing(call, term, n):
    """The labels of an input that is broadcast: the last `n` of those that it has in full."""
    full = sum([word.name != "*" for word in term.words])
    if full < len(term.words):
        full += count_of_star(call.sizes)
    return labels_of(call, term, max(full, n))[max(full - n, 0):]


def labels_of(call, term, n):
    """The labels of `n` dimensions: some stand where attributes say, the rest in order."""
    needed = sum([not is_several(word) for word in term.words])
    words = [word for word in term.words if not word.optional or needed <= n]
    places = [places_of(word, call, n) for word in words]
    free = [word for word, at in zip(words, places) if at is None]
    spare = n - len({d for at in places if at is not None for d in at}) - sum(
        [not is_several(word) for word in free])
    has_both = len([*filter(is_several, free)]) == 2
    group = group_size(call) if has_both else spare
    own = []
    for word, at in zip(words, places):
        if at is not None or not is_several(word):
            many = 1 if at is None else len(at)
        else:
            many = spare - group if has_both and word.name == "*" else group
        own.append((word, labels_of_word(word, many)))
    call.whole.update([label for word, labels in own if word.whole for label in labels])
    return tuple(arranged(call, own, n))


def is_several(word):
    """True for a word that takes the dimensions that others leave."""
    return word.name == "*" or word.group


def labels_of_word(word, many):
    """Those of `many` dimensions; of ``*`` they are counted from the right."""
    return [(word.name, i - many if word.name == "*" else i) for i in range(many)]


def group_size(call):
    """The number of dimensions of a group beside ``*``: that of the sizes that a group is given."""
    given = [word.size for side in call.column[:2] for term in side for word in term.words
             if word.group and word.size and word.name != "*"]
    if not given:
        raise ValueError("index notation: a group beside * needs sizes")
    return len(value_of(given[0], call.attrs))


def places_of(word, call, n):
    """The dimensions, of `n`, at which an attribute or a number puts a word; None if none does."""
    at = word.at or word.name
    if at in call.attrs:
        return dims_of(call.attrs[at], n)
    if word.at is None:
        return None
    named = call.attrs.get(word.name, 1)                   # ``dims@0``: as many as it names
    many = len(named) or n if isinstance(named, (tuple, list)) else n if named is None else 1
    first = int(at) if int(at) >= 0 else n + int(at) + 1 - many
    if not 0 <= first <= n - many:
        raise ValueError(f"index notation: no dimensions {word.name}@{at} among {n}")
    return range(first, first + many)


def dims_of(given, n):
    """The dimensions, of `n`, that a value of an attribute `dim` names."""
    dims = given if isinstance(given, (tuple, list)) else () if given is None else (given,)
    if not dims or dims[0].__class__ is bool:              # ``x.var(True)`` names no dimension
        return range(n)
    if not all([-max(n, 1) <= d < max(n, 1) for d in dims]):
        raise ValueError(f"index notation: no dimension {given} among {n}")
    return [d % n for d in dims if n]


def arranged(call, own, n):
    """The items of (word, items) pairs, each at its place among `n`, the others in order."""
    slots, free = [None] * n, []
    for word, items in own:
        places = places_of(word, call, n)
        if places is None:
            free += items
        for d, item in zip(places or (), items):
            slots[d] = item
    if len(free) != slots.count(None):
        words = " ".join([word.name for word, _ in own])
        raise ValueError(f"index notation: {n} dimensions do not fit {words!r}")
    rest = iter(free)
    return [next(rest) if item is None else item for item in slots]


# ---- results -------------------------------------------------------------------------------------
def each_of(call, term):
    """The values of the name behind "each", one for each result; one None if there is none."""
    if term.each is None:
        return (None,)
    given = call.attrs[term.each]
    if isinstance(given, (tuple, list)):
        return given
    if (term.each, 0) not in call.sizes:
        raise ValueError(f"index notation: the input has no dimension {term.each}")
    return range(call.sizes[term.each, 0])


def result(call, term):
    """The labels and the shape of a result."""
    own = [(word, labels_and_sizes(call, word)) for word in kept_words(call, term)]
    found = arranged(call, own, sum([len(items) for _, items in own]))
    return tuple([label for label, _ in found]), tuple([size for _, size in found])


def kept_words(call, term):
    """The words of a result; with `keepdim`, those of the input that it lacks are of size 1."""
    if not call.attrs.get("keepdim"):
        return term.words
    present = {word.name for word in term.words}
    return [*term.words, *[Word(word.name, size="1") for word in call.column.ins[0].words
                           if word.name in call.attrs and word.name not in present]]


def labels_and_sizes(call, word):
    """The (label, size) pairs of a word of a result."""
    if word.name.isdigit():
        many = len(call.attrs[word.at]) if word.at in call.attrs else 1
        return [(label, int(word.name)) for label in labels_of_word(word, many)]
    labels = known_labels(call, word)
    if word.size is None:
        if labels is None and word.name != "*":
            raise ValueError(f"index notation: {word.name} is in no input")
        return [(label, call.sizes[label]) for label in labels or ()]
    if call.variadic and labels == []:                     # `cat` of numbers
        raise ValueError(f"index notation: no input has a dimension {word.name}")
    sizes = value_of(word.size, call.names)
    if not isinstance(sizes, (tuple, list)):
        sizes = [sizes] * (1 if labels is None else len(labels))
    return [resized(call, label, n) for label, n in zip(labels_of_word(word, len(sizes)), sizes)]


def known_labels(call, word):
    """The labels of a word in the inputs; of a group, those of the first input that has it."""
    found = [[label for label in labels if label[0] == word.name]
             for term, labels in zip(call.terms, call.ins) if labels is not None
             and any([w.name == word.name for w in term.words])]
    if found and word.group and word.name != "*":
        return found[0]
    return sorted(set(sum(found, []))) if found else None


def resized(call, label, n, is_summed=False):
    """The label and the size of a dimension of a new size; -1: it stays as it is."""
    old = call.sizes.get(label)
    if n == -1 and old is not None:
        return label, old
    new = (label[0], "new", label[1])
    call.whole.update([new] if label[0] != "*" or is_summed else [new, label])
    return new, n


def result_of_shape(call, term):
    """The labels and the shape of a result whose shape is an attribute, -1 for "as it is"."""
    shape = call.attrs[term.of]
    found = [(label, n) if n == call.sizes.get(label) else resized(call, label, n, n == 1)
             for label, n in zip(labels_of(call, term, len(shape)), shape)]
    return tuple([label for label, _ in found]), tuple([size for _, size in found])


def result_in_a_row(call):
    """``(*) -> (shape)``: of each group of dimensions joined or split, the first goes on."""
    shape, = call.shapes
    target = list(call.attrs[call.column.outs[0].words[0].name])
    if -1 in target:
        rest = math.prod([n for n in target if n != -1])
        target[target.index(-1)] = math.prod(shape) // rest if rest else 0
    if math.prod(shape) != math.prod(target):
        raise ValueError(f"index notation: {tuple(target)} has not as many elements as {shape}")
    before, after = [("in", i) for i in range(len(shape))], [("out", i) for i in range(len(target))]
    for a, b in groups(shape, target):
        first = next((d for d in a if shape[d] != 1), a[0])
        last = next((d for d in b if target[d] != 1), b[0])
        before[first] = after[last] = ("joined", first)
    call.ins, call.outs, call.out_shapes = [tuple(before)], [tuple(after)], [tuple(target)]
    call.sizes = {}
    for label, n in [*zip(before, shape), *zip(after, target)]:
        call.sizes[label] = math.gcd(call.sizes.get(label, n), n)
    call.whole.update([label for label in call.sizes if label[0] != "joined"])


def groups(shape, target):
    """Pairs of runs of dimensions, of two shapes of one size, that have the same elements."""
    i = j = 0
    while i < len(shape) and j < len(target):
        a, b, p, q, i, j = i, j, shape[i], target[j], i + 1, j + 1
        while p != q:
            if p < q and i < len(shape):
                p, i = p * shape[i], i + 1
            elif q < p and j < len(target):
                q, j = q * target[j], j + 1
            else:
                break
        yield range(a, i), range(b, j)


def names_of(call):
    """The names in an expression behind ``=``: words with their sizes, attributes, `count`.

    A word has several sizes if it stands for several dimensions, or if it differs in a list.
    """
    listed = {"*", *[word.name for term in call.column.ins for word in term.words if word.group],
              *[name for name, value in call.attrs.items() if isinstance(value, (tuple, list))]}
    found = {"*": []}
    for (name, *_), n in call.sizes.items():
        found.setdefault(name, []).append(n)
    for name, sizes in found.items():
        found[name] = tuple(sizes) if len(sizes) > 1 or name in listed else sizes[0]
    if call.variadic:
        for label in call.whole:
            found[label[0]] = [shape[labels.index(label)]
                               for labels, shape in zip(call.ins, call.shapes) if label in labels]
    found["rest"] = found.pop("*")
    return {**call.attrs, **found, "count": len(call.shapes)}


# ---- what follows --------------------------------------------------------------------------------
def shapes_of(call):
    """The shapes of the results."""
    return call.out_shapes


def shardings(call, least=2):
    """The ways to cut a call: (label, place of each input, of each result).

    A place is ("S", d), cut along dimension d; "R", the same everywhere; or ("P", how), parts to be
    combined. The dimensions that are cut together have one size, but for those of a view that joins
    or splits dimensions: then the parts must be even, for the size of the label. A dimension of
    fewer elements than `least` is not cut.
    """
    found = []
    for label, size in call.sizes.items():
        if label in call.whole or size < least:
            continue
        ins = [place_of(label, labels, shape, size)
               for labels, shape in zip(call.ins, call.shapes)]
        outs = [("S", labels.index(label)) if label in labels else ("P", call.by)
                for labels in call.outs]
        if None in ins:                                    # twice in one input: a diagonal
            continue
        if any([place[0] == "P" for place in outs]):
            ins = [("P", "sum") if term.plus and place == "R" else place
                   for place, term in zip(ins, call.terms)]
        found.append((label, ins, outs))
    return found


def place_of(label, labels, shape, size):
    at = [d for d, x in enumerate(labels or ()) if x == label and (shape[d] != 1 or size == 1)]
    return "R" if not at else ("S", at[0]) if len(at) == 1 else None


def attributes_for(call, out_shapes):
    """The attributes of the same call with results of other shapes: those that name sizes."""
    attrs = dict(call.attrs)
    for term, shape in zip(call.column.outs, out_shapes):
        if term.flat or term.of:
            attrs[term.of or term.words[0].name] = tuple(shape)
    return attrs


def is_product(call):
    """True for a sum of products of numbers, such as `matmul`; of windows dims do not show it."""
    factors = [term for term, kind in zip(call.terms, call.kinds)
               if kind != "other" and not term.plus]
    summed = [x for x in call.sizes if x not in call.whole and x not in call.outs[0]]
    return len(factors) > 1 and call.column.by == "sum" and bool(summed) and not any(
        [word.group for term in call.terms for word in term.words])


def flops_of(call):
    """FLOPs: of a sum of products two for each combination of labels, else one for each element."""
    if is_product(call):
        return 2 * math.prod(call.sizes.values())
    return max([math.prod(s) for s in (*call.shapes, *call.out_shapes) if s is not None])


def bytes_of(call, itemsize):
    """Bytes read and written."""
    return itemsize * sum([math.prod(s) for s in (*call.shapes, *call.out_shapes) if s is not None])


def mask_class(call):
    """The way of masks through a call: "combine" (each element its own), "move" (the same op on the
    mask), "reduce" or "fill" (neutral values first, in the dimensions `combined`); None if none
    follows.

    >>> from minitorch.extend import OPS
    >>> [mask_class(bind(OPS[name], [(2, 3)], dict(dim=0)))
    ...  for name in ("exp", "sum", "softmax", "unsqueeze", "sort")]
    ['combine', 'reduce', 'fill', 'move', None]
    """
    column = call.column
    if column.by == "moving" or column.ins[0].flat:
        return "move"
    words = [word for side in column[:2] for term in side for word in term.words]
    along, kept = combined(call), set(call.outs[0])
    if kept == call.sizes.keys() and all([word.name == "*" for word in words]):
        return "combine"
    known = {x[0] for x in call.sizes} | call.attrs.keys()
    if len(call.ins) != 1 or any([x[0] not in known for x in kept]):
        return None
    if along:
        stated = column.stated or not call.whole.intersection(along)
        return None if not stated else "fill" if kept.issuperset(along) else "reduce"
    shrinks = any([n > 1 and x not in kept for x, n in call.sizes.items()])
    return None if shrinks or any([word.whole for word in words]) else "move"


def combined(call):
    """The labels of the dimensions along which elements are combined: results lack them, or an
    attribute names them and the op needs them whole."""
    kept = {x[0] for x in call.outs[0]} - call.attrs.keys()
    return [x for x in call.sizes
            if x[0] not in kept and (x in call.whole or x not in call.outs[0])]
