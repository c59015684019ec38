"""Index notation: which dimensions of an op's inputs and results go together (the column `dims`).

| written | read |
|---|---|
| ``*`` | all other dimensions, aligned from the right, broadcast; a column ``"*"``: elementwise |
| ``*..`` | the same, but not broadcast: of one shape in all inputs |
| ``n k, k m -> n m`` | a letter is one dimension, which is summed where the result lacks it |
| ``* 2`` | a number is a dimension of that size |
| ``n -> by max`` | it is combined otherwise: "max", "min", "avg" or "product" |
| ``[n] -> [n] by max`` | elements that must not count are left out as for a maximum: minus infinity |
| ``[n]`` | the op needs this dimension whole: it may be neither cut nor joined with another |
| ``* dim -> *`` | an attribute's name stands where it says: an int, several, or None for all |
| ``j@dim``, ``size@-1`` | dimension `j`, at the place that attribute `dim` says; last |
| ``dims@0`` | the dimensions that attribute `dims` names, in its order, from the first place on |
| ``dim=k``, ``d=f(n, offset)`` | a new size: an attribute, or a function of sizes and attributes |
| ``* dim of shape`` | attribute `shape` is the result's; a dimension of size 1 there is summed |
| ``* each dim`` | a list of results: one for each index of `dim`, or element of an attribute |
| ``* n? k`` | an input of one dimension lacks `n` |
| ``x..`` | several dimensions, such as the spatial ones |
| ``+ m`` | this input is added to the result, and broadcast to it |
| ``(*) -> (shape)`` | the same elements in a row, given another shape |
| ``by moving`` | the elements of the result are elements of the inputs |
| ``by reduction`` | elementwise, then combined as attribute `reduction` says |
| ``{equation}`` | the attribute has the notation, as in `einsum` |
| ``lambda causal: ...`` | a function of attributes that returns one of these, or None |

One term for several inputs holds for each of them: ``* [dim] -> * dim=sum(dim)`` is `cat`. A size
behind an input's word, ``y..=pooling.out``, is the size that it has.

An op without this column (None) has a result whose shape depends on values (its column
`by_values` is True), or it draws random numbers by position (its attribute `place`). It is treated
by the general ways: `vmap` runs its reference, a DTensor is computed whole on each rank, nested and
masked tensors refuse it. A function returns None where some attributes have that effect.

`bind` (`ops/labels.py`) lays a column over a call; what follows from it is derived there.
`tests/ops/test_dims.py` compares each op with what its column says.
"""

import re
from functools import lru_cache
from typing import NamedTuple

__all__ = ["broadcast", "column_of", "combination", "is_along", "is_attribute", "is_elementwise",
           "is_leading", "parse", "terms"]


class Word(NamedTuple):
    """One dimension of a term, or several: ``*``, a group ``x..``, an attribute that names some."""

    name: str
    group: bool = False
    at: str | None = None       # the attribute, or the number, that says where it stands
    size: str | None = None     # its new size
    whole: bool = False         # the op needs it whole
    optional: bool = False      # an input of fewer dimensions lacks it


class Term(NamedTuple):
    """The dimensions of one input or result."""

    words: tuple
    plus: bool = False          # it is added to the result
    flat: bool = False          # in parentheses: its elements in a row
    of: str | None = None       # the attribute that has its shape
    each: str | None = None     # the word or attribute with one result for each


class Column(NamedTuple):
    """A column as read: the terms of inputs and results, and the word behind "by", if `stated`."""

    ins: tuple
    outs: tuple
    by: str = "sum"
    stated: bool = False


WORD = re.compile(r"\s*(?:(?P<mark>[\[\]()+])|(?P<name>\*|\w+)(?P<group>\.\.)?(?P<optional>\?)?"
                  r"(?:@(?P<at>-?\w+))?(?:=(?P<size>[\w.]+(?:\[\d+\]|\([^)]*\))?))?)")
SUFFIX = re.compile(r"(?P<words>.*?)(?:\bof (?P<of>\w+))?\s*(?:\beach (?P<each>\w+))?")
COMMA = re.compile(r",(?![^()]*\))")                       # between terms, not between arguments


def column_of(dims, attrs):
    """The text of a column for these attributes, a dict; None if it has none."""
    if callable(dims):
        code = dims.__code__
        dims = dims(**{name: attrs[name] for name in code.co_varnames[:code.co_argcount]})
    return spaced(attrs[dims.strip("{}")]) if is_attribute(dims) else dims


def is_attribute(dims):
    """True if an attribute has the notation: ``{equation}``."""
    return isinstance(dims, str) and dims.startswith("{")


def spaced(equation):
    """An equation of `einsum` in this notation: "...ij,jk->...ik" is ``* i j, j k -> * i k``."""
    return " -> ".join([", ".join([" ".join(term.replace("...", "*")) for term in side.split(",")])
                        for side in equation.replace(" ", "").split("->")])


@lru_cache(maxsize=4096)                # a column that is a function can make any number of texts
def parse(text):
    """A text in index notation as a `Column`; ValueError for one that cannot be read."""
    body, _, by = text.partition(" by ")
    left, arrow, right = body.partition("->")
    return Column(read(left), read(right if arrow else "*"), by.strip() or "sum", bool(by))


def read(side):
    return tuple([term_of(text.strip()) for text in COMMA.split(side)])


def term_of(text):
    end = SUFFIX.fullmatch(text)
    text, words, whole, plus, flat, place = end["words"].strip(), [], False, False, False, 0
    while place < len(text):
        m = WORD.match(text, place)
        if m is None or m.end() == place:
            raise ValueError(f"index notation: cannot read {text[place:]!r} of {text!r}")
        place, mark = m.end(), m["mark"]
        if mark is None:
            words.append(Word(m["name"], bool(m["group"]), m["at"], m["size"], whole,
                              bool(m["optional"])))
        whole = mark == "[" or whole and mark != "]"
        plus, flat = plus or mark == "+", flat or mark == "("
    return Term(tuple(words), plus, flat, end["of"], end["each"])


def broadcast(a, b):
    """The shape to which two shapes are broadcast."""
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + tuple(a), (1,) * (rank - len(b)) + tuple(b)
    return tuple([m if n == 1 else n for n, m in zip(a, b)])


# ---- questions about a column --------------------------------------------------------------------
def terms(dims):
    """The words of each input and result: ``"* [dim] -> *"`` is ``[["*", "dim"]], [["*"]]``."""
    column = parse(dims)
    return tuple([[[word.name for word in term.words] for term in side]
                  for side in (column.ins, column.outs)])


def combination(dims):
    """How the elements of a dimension that the result lacks are combined: "sum", "max", ..."""
    return parse(dims).by


def is_elementwise(op):
    """True if an op or a public function says that it works element by element."""
    return has_index_words_alone(getattr(op, "dims", None))    # what is not published has none


@lru_cache(maxsize=4096)
def has_index_words_alone(dims):
    """`is_elementwise` of a column."""
    if dims is None or dims == "*":
        return dims == "*"
    if callable(dims) or is_attribute(dims):
        return False
    column = parse(dims)
    return column.by == "sum" and all(
        term == Term((Word("*"),)) for side in column[:2] for term in side)


def is_along(op):
    """True for an op of one array along the dimensions that its attribute `dim` names."""
    if op.dims is None or callable(op.dims) or len(op.inputs) != 1 or (
            op.inputs[0].kind == "variadic" or "dim" not in dict(op.attrs)):
        return False
    inputs, results = terms(op.dims)
    if any([term.each for term in parse(op.dims).outs]):
        return False
    return inputs == [["*", "dim"]] and all(term in (["*"], ["*", "dim"]) for term in results)


def is_leading(op):
    """True if one more leading dimension is one more of ``*`` in the only input and all results."""
    if op.dims is None or callable(op.dims) or len(op.inputs) != 1 or op.attrs:
        return False
    return all(term[:1] == ["*"] for side in terms(op.dims) for term in side)
