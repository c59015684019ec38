"""NumPy's functions by what they do to dimensions: the one table of NumPy's names.

Arrays of other kinds (of a batch, a device, a mesh, a trace) have NumPy's functions too, and treat
all of one class alike. The class of a name, and which dimensions go together, stand here only:

>>> from minitorch.backends import numpy_names
>>> numpy_names.class_of("cumsum"), numpy_names.notation("cumsum")
('along', '* [axis] -> * [axis]')
>>> numpy_names.class_of("exp"), numpy_names.notation("matmul")     # ufuncs: NumPy says it itself
('elementwise', '* n? k, * k m? -> * n? m?')
>>> numpy_names.REDUCES["sum"], numpy_names.is_truth("equal"), numpy_names.OPERATORS["sub"]
('add', True, 'subtract')

A class has rows of index notation (`ops/dims.py`), each with the names that it holds for; None:
there is no notation for them. The names of attributes are those of NumPy's parameters. "by" is
followed by a ufunc: in the class "reduction" by the one whose `reduce` the function is.
`tests/backends/test_numpy_names.py` compares each row with NumPy.
"""

import re
from functools import cache

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..ops.dims import parse

__all__ = ["IN_PLACE", "OPERATORS", "REDUCES", "axes_of", "canonical", "class_of", "is_truth",
           "methods", "names", "notation", "ufunc"]

TABLE: dict = {
    # element by element, besides ufuncs
    "elementwise": {
        "*": "angle around clip fix i0 imag isclose iscomplex isneginf isposinf isreal nan_to_num "
             "real round sinc where"},
    # along `axis`: one, several, or all for None
    "reduction": {
        "* axis -> * by add": "sum",
        "* axis -> * by multiply": "prod",
        "* axis -> * by maximum": "max amax",
        "* axis -> * by minimum": "min amin",
        "* axis -> * by logical_and": "all",
        "* axis -> * by logical_or": "any",
        "* [axis] -> *": "count_nonzero mean median nanmax nanmean nanmedian nanmin nanprod nanstd "
                         "nansum nanvar ptp std var",
        "* [axis1 axis2] -> *": "trace"},
    # along one `axis`; where that is None, along all elements in a row
    "along": {
        "* [axis] -> *": "argmax argmin nanargmax nanargmin",
        "* [axis] -> * [axis]": "argpartition argsort cumprod cumsum nancumprod nancumsum "
                                "partition sort",
        "* [axis] -> * axis=windows(axis, n + 1, 1)": "diff"},
    # of the matrices in the last two dimensions
    "matrix": {
        "* [n n] -> *": "linalg.det",
        "* [n n] -> *, *": "linalg.slogdet",
        "* [n n] -> * [n]": "linalg.eigvals linalg.eigvalsh",
        "* [m m] -> * [m m]": "linalg.cholesky linalg.inv linalg.matrix_power",
        "* [n n] -> * [n], * [n n]": "linalg.eig linalg.eigh",
        "* [n n], * [n] m -> * [n] m": "linalg.solve",
        "* [n m] -> *": "linalg.cond linalg.matrix_norm linalg.matrix_rank",
        "* [n m] -> * [n m]": "tril triu",
        "* [n m] -> * [m n]": "linalg.pinv",
        "* [n m] -> * k=min(n, m)": "linalg.svdvals",
        "* [n m] -> * [n] k=min(n, m), * k=min(n, m) [m]": "linalg.qr",
        "* [n m] -> * [n n], * k=min(n, m), * [m m]": "linalg.svd"},
    # Fourier transforms along `axis`, or `axes`, with `n` (or `s`) elements
    "transform": {
        "* [axis] -> * axis=n": "fft.fft fft.hfft fft.ifft fft.irfft",
        "* [axis] -> * axis=windows(n, 0, 2)": "fft.ihfft fft.rfft",
        "* [axes] -> * axes=s": "fft.fft2 fft.fftn fft.ifft2 fft.ifftn fft.irfft2 fft.irfftn",
        None: "fft.rfft2 fft.rfftn"},                      # about half of the last of `axes`
    # sums of products, besides generalised ufuncs
    "contraction": {
        "n, n ->": "vdot",
        "n, m -> n m": "outer",
        "{subscripts}": "einsum",
        None: "dot inner kron tensordot"},
    # the same memory, read otherwise, where that is possible
    "view": {
        "axes -> axes@0": "transpose",
        "(*) -> (shape)": "reshape",
        "* -> *=shape": "broadcast_to",
        "* -> * axis=1": "expand_dims",
        "* [axis] -> *": "squeeze",
        "* [axis] -> * [axis]": "flip",
        "* n m -> * m n": "matrix_transpose",
        "* source -> * source@destination": "moveaxis",
        "* axis1 axis2 -> * axis1@axis2 axis2@axis1": "swapaxes",
        "* [axis1 axis2] -> * d@-1=diagonal(axis1, axis2, offset)": "diagonal",
        None: "array_split atleast_1d atleast_2d atleast_3d broadcast_arrays dsplit fliplr flipud "
              "hsplit ravel rollaxis rot90 split unstack vsplit"},
    # copies of elements at other places
    "move": {
        "* -> * axis=count": "stack",
        "* [axis] -> * axis=sum(axis)": "concatenate",
        "* [axis] -> * [axis]": "roll",
        "* [axes] -> * [axes]": "fft.fftshift fft.ifftshift",
        "* [axis], i -> * i@axis": "take",
        "* [axis], * j@axis -> * j@axis": "take_along_axis",
        None: "append block column_stack dstack hstack insert pad repeat resize tile vstack"},
    # new arrays, of a shape, like another, or of numbers that follow from numbers
    "creation": {
        "-> x..=shape": "empty full ones zeros",
        "* -> *": "empty_like full_like ones_like zeros_like",
        "-> n=N m=M": "eye tri",
        "-> i=n j=n": "identity",
        "-> n=num": "geomspace linspace logspace",
        None: "arange"},
    # the same elements, perhaps as another type or in other memory
    "conversion": {
        "*": "array asanyarray asarray ascontiguousarray asfortranarray astype copy require"},
    # places in a row in order, which add up over its parts; whether elements are in another array
    "search": {
        "n, * -> *": "searchsorted",
        "*, n -> *": "digitize",
        "*, n -> * by logical_or": "isin"},
    # results whose shape, or dtype, depends on values
    "values": {
        None: "argwhere bincount compress delete extract flatnonzero intersect1d nonzero "
              "real_if_close setdiff1d setxor1d trim_zeros union1d unique unique_all unique_counts "
              "unique_inverse unique_values"},
    # writes to the first argument
    "write": {None: "copyto fill_diagonal place put put_along_axis putmask"},
    # of dtypes, shapes and numbers: they read no elements
    "metadata": {
        None: "broadcast_shapes can_cast isdtype isscalar issubdtype min_scalar_type ndim "
              "promote_types result_type shape size"},
}
# Methods of arrays that write to the array, as the functions of these names do not.
IN_PLACE = frozenset("fill partition resize sort".split())

# Functions that are the `reduce` of a ufunc: ``{"sum": "add", ...}``.
REDUCES = {name: text.partition(" by ")[2] for text, words in TABLE["reduction"].items()
           for name in words.split() if " by " in text}
FOUND = {name: (cls, text) for cls, rows in TABLE.items() for text, words in rows.items()
         for name in words.split()}


def canonical(name):
    """The name that a function has itself: of ``"abs"`` it is ``"absolute"``."""
    return getattr(getattr(np, name, None), "__name__", name)


def ufunc(name):
    """NumPy's ufunc of that name; None if it is another function, or none."""
    found = getattr(np, name, None)
    return found if isinstance(found, np.ufunc) else None


@cache
def look_up(name):
    found = ufunc(name)
    if found is None:
        return FOUND.get(name) or FOUND.get(canonical(name), (None, None))
    if found.signature is None:
        return "elementwise", "*"
    return "contraction", of_signature(found.signature)


def of_signature(signature):
    """The notation of a generalised ufunc: ``* n? k, * k -> * n?`` of ``"(n?,k),(k)->(n?)"``."""
    text = re.sub(r"\(([^)]*)\)", lambda m: " ".join(["*", *m[1].split(",")]).strip(), signature)
    return text.replace(",", ", ").replace("->", " -> ")


def class_of(name):
    """The class of a function of NumPy, a key of `TABLE`; None for one that is not there.

    Functions of a submodule have their path, as ``"linalg.det"``.
    """
    return look_up(name)[0]


def notation(name):
    """The index notation of a function of NumPy; None if it has none."""
    return look_up(name)[1]


def names(cls):
    """The names in a class, a tuple in the order of the table; without ufuncs."""
    return tuple([name for words in TABLE[cls].values() for name in words.split()])


def axes_of(name):
    """The parameters of a function that name dimensions: of `swapaxes` they are axis1 and axis2."""
    text = notation(name) or "*"
    terms = [] if text.startswith("{") else [term for side in parse(text)[:2] for term in side]
    words = [part for term in terms if not term.flat for word in term.words
             for part in (word.name, word.at) if part]
    return tuple([word for word in dict.fromkeys(words) if len(word) > 1 and word.isidentifier()])


def is_truth(name):
    """True for a ufunc whose results are bools, such as `equal`."""
    found = ufunc(name)
    return found is not None and f"{'d' * found.nin}->?" in found.types


@cache
def methods():
    """The names of functions in the table, or of ufuncs, that arrays have as methods too."""
    return tuple([name for name, method in vars(np.ndarray).items()
                  if name not in IN_PLACE and class_of(name) and callable(method)])


class Asked(NDArrayOperatorsMixin):
    """An operand that answers with the name of the ufunc that an operator calls."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return ufunc.__name__


def operators():
    """Python's operators, without underscores, by the ufunc: ``{"sub": "subtract", ...}``."""
    found = [name for name, method in vars(NDArrayOperatorsMixin).items() if callable(method)]
    return {name.strip("_"): asked(getattr(Asked(), name)) for name in found}


def asked(method):
    """The answer of a method of one operand or two."""
    try:
        return method(1)
    except TypeError:                                      # of one operand
        return method()


OPERATORS = operators()
