"""`bind` lays the index notation of an op (`dims.py`) over one call: every dimension gets a label.

A label is a tuple that begins with the word that it comes from: ``("n",)``, ``("dim", 0)`` for the
first of the dimensions that attribute `dim` names, ``("*", -1)`` for the last one of ``*``. Equal
labels go together. What vmap, sharding, masks, shapes without values and FLOPs make of an op are
short functions of labels; none of them knows an op by name.
"""

import math
from dataclasses import dataclass, field

from .dims import Term, Word, broadcast, column_of, parse

__all__ = ["Bound", "bind", "bytes_of", "flops_of", "mask_class", "shapes_of", "shardings"]


@dataclass
class Bound:
    """The labels of one call.

    `ins` and `outs` have a tuple of labels for each input and result, None for an input that is
    None. `sizes` has the size of each label of the inputs, `whole` the labels that the op needs
    whole; `by` says how labels that results lack are combined; `plus` is True for each input that
    is added. `reduction` is the attribute that says how a loss is reduced.
    """

    column: tuple
    shapes: list
    attrs: dict
    by: str
    reduction: str | None = None
    ins: list = field(default_factory=list)
    outs: list = field(default_factory=list)
    out_shapes: list = field(default_factory=list)
    terms: list = field(default_factory=list)              # of each input
    sizes: dict = field(default_factory=dict)
    whole: set = field(default_factory=set)
    joined: dict = field(default_factory=dict)  # word -> its sizes in the inputs, where they differ
    names: dict = field(default_factory=dict)              # what a new size may be computed from

    @property
    def plus(self):
        return [term.plus for term in self.terms]


def bind(op, shapes, attrs=None, dims=None):
    """The labels of a call of `op` (`Bound`); None if its column says nothing for these attributes.

    `shapes` has a shape for each input: () for a number, None for an input that is left out.
    `dims`: a text to take in place of the op's column. ValueError if the shapes do not fit.
    """
    attrs = {**dict(op.attrs), **(attrs or {})}
    text = column_of(op.dims if dims is None else dims, attrs)
    if text is None:
        return None
    column = parse(text)
    call = Bound(column, list(shapes), attrs, column.by)
    reduce_as_told(call)
    if any([term.flat for term in column.ins]):
        return in_a_row(call)
    several = len(column.ins) == 1 and len(shapes) != 1    # one term holds for all inputs
    call.terms = list(column.ins) * len(shapes) if several else list(column.ins)
    call.terms += [Term(())] * (len(shapes) - len(call.terms))
    call.ins = [None] * len(shapes)
    for i in sorted(range(len(shapes)), key=lambda i: call.terms[i].plus):   # these fit the others
        if shapes[i] is not None:
            call.ins[i] = lay(call, call.terms[i], shapes[i])
    if len(column.ins) == 1:
        note_joined(call)
    if reduces_by_weight(call):
        call.whole.update(call.sizes)
    call.names = names_of(call)
    for term in call.column.outs:
        for value in each_of(call, term):
            call.names[term.each] = value
            labels, sizes = (result_of_shape if term.of else result)(call, term)
            call.outs.append(labels)
            call.out_shapes.append(sizes)
    return call


# ---- reductions of losses ------------------------------------------------------------------------
def reduce_as_told(call):
    """``by reduction``: the attribute says whether the result is combined, and how."""
    name = call.by.removeprefix("weighted ")
    if name not in call.attrs:
        return
    call.reduction, how = name, call.attrs[name]
    if how != "none":
        call.column = call.column._replace(outs=(Term(()),) * len(call.column.outs))
    call.by = "avg" if how == "mean" else "sum"


def reduces_by_weight(call):
    """True for a mean that counts weights: no dimension of it can be cut."""
    return (call.reduction is not None and call.column.by.startswith("weighted ")
            and call.attrs[call.reduction] == "mean")


# ---- inputs --------------------------------------------------------------------------------------
def lay(call, term, shape):
    """The labels of an input of this shape; notes sizes, and what is needed whole."""
    labels = trailing(call, term, len(shape)) if term.plus else labels_of(call, term, len(shape))
    stretches = term.plus or "equation" in call.attrs
    for label, n in zip(labels, shape):
        old = call.sizes.setdefault(label, int(label[0]) if label[0].isdigit() else n)
        if old == n or n == 1 and (label[0] == "*" or stretches):
            continue
        if old == 1 and (label[0] == "*" or stretches or any([t.plus for t in call.column.ins])):
            call.sizes[label] = n
        elif label not in call.whole or len(call.column.ins) > 1:
            raise ValueError(f"index notation: {label[0]} is {old} and {n}")
    return labels


def trailing(call, term, n):
    """The labels of an input that is broadcast: the last `n` of those of an input of full size."""
    many = sum([label[0] == "*" for label in call.sizes]) if any(
        [word.name == "*" for word in term.words]) else 0
    full = max(sum([word.name != "*" for word in term.words]) + many, n)
    return labels_of(call, term, full if many else max(len(term.words), n))[full - n:]


def labels_of(call, term, n):
    """The labels of `n` dimensions: first those that attributes place, then the rest in order."""
    labels, free = [None] * n, []
    for word in term.words:
        places = places_of(word, call, n)
        if places is None:
            free.append(word)
        for i, d in enumerate(places or ()):
            labels[d] = (word.name, i)
            if word.whole:
                call.whole.add(labels[d])
    rest = [d for d in range(n) if labels[d] is None]
    spare = len(rest) - sum([word.name != "*" and not word.group for word in free])
    if spare < 0 or spare and not any([word.name == "*" or word.group for word in free]):
        raise ValueError(f"index notation: {n} dimensions do not fit {text_of(term)!r}")
    for word in free:
        own = labels_of_word(call, word, free, spare)
        if word.whole:
            call.whole.update(own)
        for label in own:
            labels[rest.pop(0)] = label
    return tuple(labels)


def labels_of_word(call, word, free, spare):
    """The labels of a word without a place, where ``*`` and a group together have `spare`."""
    grouped = any([w.group for w in free])
    if word.name == "*":
        many = spare - (group_size(call) if grouped else 0)
        return [("*", i - many) for i in range(many)]
    if word.group:
        starred = any([w.name == "*" for w in free])
        return [(word.name, "..", i) for i in range(group_size(call) if starred else spare)]
    return [(word.name,)]


def text_of(term):
    return " ".join([word.name for word in term.words])


def group_size(call):
    """The number of dimensions of a group beside ``*``: that of the sizes that a group is given."""
    return next(len(value_of(word.size, call)) for side in call.column[:2] for term in side
                for word in term.words if word.group and word.size)


def places_of(word, call, n):
    """The dimensions, of `n`, at which an attribute or a number puts a word; None if none does."""
    at = word.at or (word.name if word.name in call.attrs else None)
    if at is None:
        return None
    if at in call.attrs:
        given = call.attrs[at]
        if given is None or isinstance(given, (tuple, list)):
            return [d % n for d in given] if given else list(range(n))
        return [given % n] if n else []
    named = call.attrs.get(word.name)                      # ``dims@0``: all that the attribute names
    many = len(named) if isinstance(named, (tuple, list)) and named else (
        n if named in (None, ()) and word.name in call.attrs else 1)
    start = int(at) if int(at) >= 0 else n + int(at) + 1 - many
    return list(range(start, start + many))


def note_joined(call):
    """Note the sizes of a dimension in which inputs of one term differ, as those of `cat` do."""
    for label in call.whole:
        sizes = [shape[labels.index(label)] for labels, shape in zip(call.ins, call.shapes)
                 if labels is not None and label in labels]
        if len(call.shapes) > 1:
            call.joined[label[0]] = sizes


# ---- results -------------------------------------------------------------------------------------
def each_of(call, term):
    """The values of the name behind "each", one for each result; one None if there is none."""
    if term.each in call.attrs and isinstance(call.attrs[term.each], (tuple, list)):
        return call.attrs[term.each]
    return range(call.sizes[term.each, 0]) if term.each else (None,)


def result_of_shape(call, term):
    """The labels and the shape of a result whose shape is an attribute, -1 for "as it is"."""
    shape = list(call.attrs[term.of])
    labels = list(labels_of(call, term, len(shape)))
    for d, (label, n) in enumerate(zip(labels, shape)):
        old = call.sizes.get(label)
        shape[d] = old if n == -1 else n
        if shape[d] != old:
            labels[d] = (label[0], "new", d)
            call.whole.update([labels[d]] if n == 1 else [labels[d], label])
    return tuple(labels), tuple(shape)


def result(call, term):
    """The labels and the shape of a result."""
    own = [(word, labels_and_sizes(call, word)) for word in kept_words(call, term)]
    n = sum([len(found) for _, found in own])
    slots, free = [None] * n, []
    for word, found in own:
        places = places_of(word, call, n)
        if places is None:
            free += found
        for d, x in zip(places or (), found):
            slots[d] = x
    slots = [free.pop(0) if x is None else x for x in slots]
    return tuple([label for label, _ in slots]), tuple([size for _, size in slots])


def kept_words(call, term):
    """The words of a result; with `keepdim`, those of the input that it lacks are of size 1."""
    words = list(term.words)
    if call.attrs.get("keepdim"):
        present = {word.name for word in words}
        words += [Word(word.name, size="1", whole=True) for word in call.column.ins[0].words
                  if word.name in call.attrs and word.name not in present]
    return words


def labels_and_sizes(call, word):
    """The (label, size) pairs of a word of a result."""
    labels = known_labels(call, word)
    if word.size is None:
        if word.name.isdigit():
            at = call.attrs.get(word.at)
            many = len(at) if isinstance(at, (tuple, list)) else 1
            return [((word.name, i), int(word.name)) for i in range(many)]
        return [(x, call.sizes[x]) for x in labels]
    sizes = value_of(word.size, call)
    if word.name == "*":
        return stretched(call, word, sizes)
    sizes = list(sizes) if isinstance(sizes, (tuple, list)) else [sizes] * max(len(labels), 1)
    found = [((word.name, "new", i), n) for i, n in enumerate(sizes)]
    call.whole.update([label for label, _ in found])
    return found


def known_labels(call, word):
    """The labels of a word in the inputs; of a group, those of the first input that has it."""
    found = [[x for x in labels if x[0] == word.name]
             for term, labels in zip(call.terms, call.ins) if labels is not None
             and any([w.name == word.name for w in term.words])]
    return found[0] if found and word.group else sorted(set(sum(found, [])))


def stretched(call, word, sizes):
    """``*=size``: the dimensions of ``*`` with new sizes, -1 where they stay as they are."""
    found = []
    for i, n in enumerate(sizes):
        label = ("*", i - len(sizes))
        old = call.sizes.get(label)
        stays = old is not None and n == -1
        if not stays:
            call.whole.update([("new", i), label])
        found.append((label if stays else ("new", i), old if n == -1 else n))
    return found


def in_a_row(call):
    """``(*) -> (shape)``: of each group of dimensions that are joined or split, the first goes on."""
    shape, = call.shapes
    word, = call.column.outs[0].words
    call.terms, call.names = list(call.column.ins), dict(call.attrs)
    target = list(value_of(word.name, call))
    if -1 in target:
        rest = math.prod([n for n in target if n != -1])
        target[target.index(-1)] = math.prod(shape) // rest if rest else 0
    before, after = [("in", i) for i in range(len(shape))], [("out", i) for i in range(len(target))]
    for a, b in groups(shape, target):
        first = next((d for d in a if shape[d] != 1), a[0])
        last = next((d for d in b if target[d] != 1), b[0])
        before[first] = after[last] = ("joined", first)
    call.ins, call.outs, call.out_shapes = [tuple(before)], [tuple(after)], [tuple(target)]
    call.sizes = dict(zip(before, shape)) | dict(zip(after, target))
    for labels, other in ((before, after), (after, before)):
        call.whole.update([x for x in labels if x not in other])
    for a, x in enumerate(before):
        if x in after and shape[a] != target[after.index(x)]:
            call.sizes[x] = math.gcd(shape[a], target[after.index(x)])
    return call


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


# ---- new sizes -----------------------------------------------------------------------------------
def names_of(call):
    """The names in an expression behind ``=``: words with their sizes, attributes, `count`."""
    found = {}
    for (name, *_), n in call.sizes.items():
        found.setdefault(name, []).append(n)
    groups = {word.name for term in call.column.ins for word in term.words if word.group}
    groups |= {name for name, value in call.attrs.items() if isinstance(value, (tuple, list))}
    found = {name: tuple(sizes) if len(sizes) > 1 or name in groups or name == "*" else sizes[0]
             for name, sizes in found.items()}
    found["rest"] = found.pop("*", ())
    return {**call.attrs, **found, **call.joined, "count": len(call.shapes)}


def value_of(text, call):
    """The value of an expression behind ``=``."""
    names = {**FUNCTIONS, **(call.names or call.attrs)}
    return eval(text.replace("*", "rest"), {"__builtins__": {}}, names)


def diagonal(n, m, offset):
    """The length of a diagonal of an n by m matrix."""
    return max(min(n + min(offset, 0), m - max(offset, 0)), 0)


def windows(n, size, step):
    """The number of windows of `size` in n elements, `step` apart."""
    return (n - size) // step + 1


def padded(sizes, pad):
    """The sizes behind a padding, -1 where a dimension is not touched."""
    pairs = [(0, 0)] * (len(sizes) - len(pad) // 2) + list(zip(pad[::2], pad[1::2]))[::-1]
    return tuple([n + a + b if a or b else -1 for n, (a, b) in zip(sizes, pairs)])


def sliced(n, start, stop, step):
    """The number of elements that a slice takes of `n`."""
    return len(range(*slice(start, stop, step).indices(n)))


def with_last(sizes, n):
    """`sizes` with `n` in place of the last."""
    return (*sizes[:-1], n)


def halved(sizes):
    """The sizes of the Fourier transform of real numbers."""
    return with_last(sizes, sizes[-1] // 2 + 1)


def times(n, by):
    """A size times another, or times all of several."""
    return n * (by if by.__class__ is int else math.prod(by))


def over(n, by):
    """The size before `times`."""
    return n // times(1, by)


FUNCTIONS = {f.__name__: f for f in (
    sum, min, max, diagonal, windows, padded, sliced, with_last, halved, times, over, broadcast)}


# ---- what follows --------------------------------------------------------------------------------
def shapes_of(call):
    """The shapes of the results."""
    return call.out_shapes


def shardings(call):
    """The ways to cut a call: (label, place of each input, of each result).

    A place is ("S", d), cut along dimension d; "R", the same everywhere; or ("P", how), parts to be
    combined.
    """
    found = []
    for label, size in call.sizes.items():
        if label in call.whole or size < 2:
            continue
        ins = [place_of(label, labels, shape) for labels, shape in zip(call.ins, call.shapes)]
        outs = [("S", labels.index(label)) if label in labels else ("P", call.by)
                for labels in call.outs]
        if None in ins:                                    # twice in one input: a diagonal
            continue
        if any([place[0] == "P" for place in outs]):
            ins = [("P", "sum") if term.plus and place == "R" else place
                   for place, term in zip(ins, call.terms)]
        found.append((label, ins, outs))
    return found


def place_of(label, labels, shape):
    at = [d for d, x in enumerate(labels or ()) if x == label and shape[d] != 1]
    return "R" if not at else ("S", at[0]) if len(at) == 1 else None


def attributes_for(call, out_shapes):
    """The attributes of the same call with results of other shapes: those that name sizes."""
    attrs = dict(call.attrs)
    for term, shape in zip(call.column.outs, out_shapes):
        if term.flat or term.of:
            attrs[term.of or term.words[0].name] = tuple(shape)
    return attrs


def flops_of(call):
    """FLOPs: of a sum of products two for each combination of labels, else one for each element.

    A window's label stands for the elements that it reads.
    """
    factors = [term for term in call.terms if not term.plus]
    if len(factors) > 1 and any([x not in call.whole and x not in call.outs[0] for x in call.sizes]):
        read = {word.size.split("(")[1].split(",")[0] for word in call.column.outs[0].words
                if "(" in (word.size or "")}
        sizes = {x: n for x, n in call.sizes.items() if x[0] not in read}
        return 2 * math.prod({**sizes, **dict(zip(call.outs[0], call.out_shapes[0]))}.values())
    return max([math.prod(s) for s in (*call.shapes, *call.out_shapes) if s is not None])


def bytes_of(call, itemsize):
    """Bytes read and written."""
    return itemsize * sum([math.prod(s) for s in (*call.shapes, *call.out_shapes) if s is not None])


def mask_class(call):
    """The way of masks through a call: "combine" (each element its own), "reduce", "move" (the same
    op on the mask) or "fill" (neutral values first)."""
    if call.column.by == "moving" or call.column.ins[0].flat:
        return "move"
    kept = {x for labels in call.outs for x in labels}
    gone = {x for x in call.sizes if x not in kept and call.sizes[x] != 1}
    if len(call.ins) == 1 and gone and all([x[0] in call.attrs for x in gone]):
        return "reduce"
    if any([x in call.whole for x in call.sizes if call.sizes[x] != 1]):
        return "fill"
    if gone:
        return "reduce"
    words = [word for side in call.column[:2] for term in side for word in term.words]
    return "combine" if all([word.name == "*" and not word.size for word in words]) else "move"
