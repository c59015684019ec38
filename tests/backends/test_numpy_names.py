"""The table of NumPy's names against NumPy: shapes, parts that are computed alone, and classes."""

import inspect
from operator import attrgetter
from types import SimpleNamespace

import numpy as np
import pytest

from minitorch.backends import numpy_names
from minitorch.core.registry import OPS
from minitorch.ops.dims import column_of, parse
from minitorch.ops.labels import attributes_for, bind, shardings
from tests import rules

NAMES = [name for name in numpy_names.FOUND if numpy_names.notation(name)]
GENERAL = ("matmul", "matvec", "vecdot", "vecmat")
ARRAYS = {"where": 3, "clip": 3, "isclose": 2, "concatenate": 2, "stack": 2}
LISTED = ("concatenate", "stack")                          # their arrays are one argument
# values of parameters that say no dimension
GIVEN = {"kth": 1, "s": (3, 5), "num": 5, "N": 4, "M": 3, "start": 1,
         "stop": 2, "fill_value": 7, "repeats": 2, "subscripts": "...ij,...jk->...ik", "offset": 1,
         "dtype": float}
SIZES = {"n": 4, "m": 5, "k": 3, "i": 6, "j": 2}
NEWER = {"astype": "2.1", "unstack": "2.1", "matvec": "2.2", "vecmat": "2.2"}


def function(name):
    """A function of NumPy; skips the test where this NumPy is older."""
    try:
        return attrgetter(name)(np)
    except AttributeError:
        assert name in NEWER
        pytest.skip(f"{name} is there from NumPy {NEWER[name]} on")


def parameters_of(name):
    try:
        return inspect.signature(function(name)).parameters
    except ValueError:                                     # one in C
        return {}


def attributes(name, text, rng):
    """Values of the parameters that the notation names, and of those that have to be given."""
    found = {key: GIVEN[key] for key, p in parameters_of(name).items() if key in GIVEN
             and (p.default is p.empty or key in text)}
    if "n" in parameters_of(name) and (name.startswith("fft.") or name == "diff"):
        found["n"] = 3 if name.startswith("fft.") else 2
    if name in ("linalg.matrix_power", "identity"):
        found["n"] = 3
    if "{" in text:
        found["subscripts"] = GIVEN["subscripts"]
    if "shape" in text:
        found["shape"] = {"reshape": (4, 2, 3), "broadcast_to": (5, 2, 3, 4)}.get(name, (2, 5, 3))
    ndim = 3
    for key, d in zip(numpy_names.axes_of(name), rng.permutation(ndim).tolist()):
        found[key] = d - ndim * int(rng.integers(2))
    if "axes" in numpy_names.axes_of(name):
        found["axes"] = tuple(rng.permutation(ndim).tolist()[:ndim if name == "transpose" else 2])
    if name == "roll":
        found["shift"] = 1
    return found


def shape_of(term, attrs):
    """A shape for an input: all in all three dimensions where an attribute names some of them."""
    words = [word for word in term.words if word.name != "*"]
    placed = [word for word in words if word.name in attrs or word.at in attrs]
    if term.flat or placed or not words:
        return (2, 3, 4)
    lead = (2, 3) if any([word.name == "*" for word in term.words]) else ()
    return (*lead, *[SIZES[word.name] for word in words])


def inputs(name, text, attrs, rng):
    """Arrays that fit the notation."""
    terms = [term for term in parse(text).ins if term.words or term.flat]
    terms = terms * ARRAYS.get(name, 1) if len(terms) == 1 else terms
    found = []
    for term in terms:
        shape = shape_of(term, attrs)
        if name == "squeeze":
            shape = tuple([1 if d == attrs["axis"] % 3 else n for d, n in enumerate(shape)])
        x = rng.uniform(0.5, 1.5, shape)
        if len(term.words) > len({word.name for word in term.words}):
            x = x @ x.swapaxes(-1, -2) + 4 * np.eye(shape[-1])
        found.append(x)
    if name in ("take", "take_along_axis"):
        d = attrs["axis"]
        found[1] = rng.integers(0, found[0].shape[d], found[1].shape)
    if name in ("searchsorted", "digitize"):
        table = 0 if name == "searchsorted" else 1
        found[table] = np.sort(found[table])
    if name == "isin":
        found[0][0, 0] = found[1]
    if name == "where":
        found[0] = found[0] > 1
    return found


def called(name, arrays, attrs):
    """The results, a list."""
    attrs, f = dict(attrs), function(name)
    first = [attrs.pop("subscripts")] if "subscripts" in attrs else []
    if name == "linspace" or "start" in attrs:
        first = [attrs.pop("start"), attrs.pop("stop")]
    if name == "astype":
        return [f(*arrays, attrs["dtype"])]
    first += [arrays] if name in LISTED else arrays
    if "shape" in attrs:                                   # which had another name in NumPy 2.0
        first.append(attrs.pop("shape"))
    found = f(*first, **attrs)
    return list(found) if isinstance(found, (tuple, list)) else [found]


def check(name, seed, text=None):
    """One call: the shapes of the results, and each way to compute it in two parts."""
    rng = np.random.default_rng(seed)
    text = text or numpy_names.notation(name)
    attrs = attributes(name, text, rng)
    text = column_of(text, attrs)
    arrays = inputs(name, text, attrs, rng)
    kinds = [SimpleNamespace(kind="tensor")] * len(parse(text).ins)
    op = SimpleNamespace(dims=text, attrs=(), inputs=kinds, variadic=name in LISTED, keeps=())
    wanted = called(name, arrays, attrs)
    call = bind(op, [x.shape for x in arrays] or [()], attrs)
    assert [tuple(shape) for shape in call.out_shapes] == [np.shape(y) for y in wanted]
    if name.startswith("empty"):                           # whose elements may be anything
        return
    for label, ins, outs in shardings(call) if arrays else ():
        parts = []
        for half in range(2):
            cut = [part(x, place, half) for x, place in zip(arrays, ins)]
            shapes = [list(shape) for shape in call.out_shapes]
            for shape, place in zip(shapes, outs):
                if place[0] == "S":
                    ends = halves(shape[place[1]])[half]
                    shape[place[1]] = ends[1] - ends[0]
            parts.append(called(name, cut, attributes_for(call, shapes)))
        for place, *found in zip(outs, wanted, *parts):
            whole, a, b = found
            if place[0] == "P":
                made = getattr(np, {"sum": "add"}.get(place[1], place[1]))(a, b)
            else:
                made = np.concatenate([np.asarray(a), np.asarray(b)], place[1])
            np.testing.assert_allclose(made, whole, 1e-10, 1e-12, err_msg=f"{name} by {label}")


def halves(n):
    return (0, n // 2), (n // 2, n)


def part(x, place, half):
    """This half of an input that is cut; all of another."""
    if place[0] != "S":
        return x
    start, stop = halves(x.shape[place[1]])[half]
    return x[(slice(None),) * place[1] + (slice(start, stop),)]


@pytest.mark.parametrize("name", [*NAMES, *GENERAL])
def test_notation_holds(name):
    for seed in range(4):
        check(name, seed)


@pytest.mark.parametrize("name", sorted(
    name for name, found in vars(np).items() if isinstance(found, np.ufunc)
    and found.signature is None and "d" * found.nin in [t.split("->")[0] for t in found.types]))
def test_ufuncs_are_elementwise(name):
    assert numpy_names.class_of(name) == "elementwise"
    rng, f = np.random.default_rng(0), getattr(np, name)
    x = [rng.uniform(1, 2, (4, 3)) for _ in range(f.nin)]
    with np.errstate(all="ignore"):
        whole, halved = f(*x), [f(*[v[:, i:] if i else v[:, :1] for v in x]) for i in (0, 1)]
    if f.nout == 1:
        np.testing.assert_array_equal(np.concatenate(halved, 1), whole)


@pytest.mark.parametrize("name, wrong", [
    ("argsort", "*"), ("cumsum", "* axis -> * axis"), ("median", "* axis -> * by add"),
    ("sum", "* axis -> * by multiply"), ("max", "* axis -> * by minimum"), ("sort", "* axis -> *"),
    ("linalg.inv", "*"), ("fft.fft", "*"), ("flip", "* axis -> * axis"), ("vecdot", "*, *"),
    ("isin", "*, n -> * by logical_and"), ("matmul", "* n? k, * k m? -> * m? n?")])
def test_a_wrong_row_is_noticed(name, wrong):
    def noticed(seed):
        try:
            check(name, seed, wrong)
        except (AssertionError, ValueError, IndexError):
            return True
        return False
    assert any(map(noticed, range(4)))


@pytest.mark.parametrize("name, ufunc", numpy_names.REDUCES.items())
def test_reductions_of_ufuncs(name, ufunc):
    x = np.random.default_rng(0).uniform(-1, 1, (3, 4, 5)) > -0.9 if name in ("all", "any") else (
        np.random.default_rng(0).uniform(-1, 1, (3, 4, 5)))
    for axis in (None, 1, (0, 2), -1):
        np.testing.assert_array_equal(
            getattr(np, name)(x, axis), getattr(np, ufunc).reduce(x, axis))


def test_definitions_agree():
    """Ops that are a function of NumPy have its notation."""
    found = [op for op in OPS.values() if op.xp_name and op.dims]
    assert len(found) > 40
    for op in found:
        assert numpy_names.notation(op.xp_name) == op.dims, op.name


def test_each_name_stands_once():
    words = [name for cls in numpy_names.TABLE for name in numpy_names.names(cls)]
    assert len(words) == len(set(words)) > 150
    assert not [name for name in words if numpy_names.ufunc(name) and name != "clip"]
    missing = [name for name in words if "." not in name and not hasattr(np, name)]
    assert {*missing} <= {*NEWER}


X = np.arange(24.0).reshape(2, 3, 4)
MORE = {"transpose": (), "reshape": ((4, 6),), "broadcast_to": ((5, 2, 3, 4),), "expand_dims": (0,),
        "moveaxis": (0, 1), "swapaxes": (0, 1), "array_split": (2,), "split": (2,), "dsplit": (2,),
        "hsplit": (3,), "vsplit": (2,), "rollaxis": (1,)}


@pytest.mark.parametrize("name", numpy_names.names("view"))
def test_views_share_memory(name):
    found = function(name)(X, *MORE.get(name, ()))
    for y in found if isinstance(found, (list, tuple)) else [found]:
        assert np.shares_memory(X, y)


def by_values(name, x):
    """A call on a row of numbers, in which zeros and equal ones count."""
    ints, f = x.astype(int), function(name)
    if name in ("compress", "extract"):
        return f(x > 0, x)
    if name == "delete":
        return f(x, ints)
    if name == "real_if_close":
        return f(x + 1j * x)
    pair = name in ("intersect1d", "setdiff1d", "setxor1d", "union1d")
    return f(ints, np.arange(3)) if pair else f(ints)


@pytest.mark.parametrize("name", numpy_names.names("values"))
def test_results_depend_on_values(name):
    def kinds(found):
        parts = found if isinstance(found, tuple) else (found,)
        return [(np.shape(y), np.asarray(y).dtype) for y in parts]
    rows = [np.array(row, float) for row in ([0, 0, 0, 0], [0, 1, 2, 3], [3, 1, 0, 0])]
    assert any([kinds(by_values(name, x)) != kinds(by_values(name, rows[0])) for x in rows[1:]])


def test_writes():
    more = {"copyto": (5,), "fill_diagonal": (5,), "place": (X[0, :3, :3] > 2, [5]),
            "put": ([1], [5]), "put_along_axis": (np.zeros((1, 3), int), 5, 0),
            "putmask": (X[0, :3, :3] > 2, [5])}
    assert {*more} == {*numpy_names.names("write")}
    for name, args in more.items():
        x = X[0, :3, :3].copy()
        assert getattr(np, name)(x, *args) is None and (x == 5).any(), name
    more = {"fill": (5,), "partition": (1,), "resize": ((3,),), "sort": ()}
    assert {*more} == numpy_names.IN_PLACE
    for name, args in more.items():
        x = np.array([3.0, 2.0, 1.0, 0.0])
        assert getattr(x, name)(*args) is None and x.tolist() != [3, 2, 1, 0], name


def test_metadata_needs_no_elements():
    class Described:
        shape, ndim, size, dtype = (2, 3), 2, 6, np.dtype("f4")

        def __array__(self, *args, **kwargs):
            raise AssertionError("reads elements")
    types = {"can_cast", "issubdtype", "promote_types", "result_type"}
    asked = {"broadcast_shapes": [(2, 3), (3,)], "isdtype": [np.dtype("f4"), "integral"],
             **dict.fromkeys(types, ["f4", "f8"])}
    for name in numpy_names.names("metadata"):
        args = asked.get(name, [Described()])
        if name == "min_scalar_type":
            args = [np.dtype("f4").type(1)]
        if hasattr(np, name):
            assert not isinstance(getattr(np, name)(*args), np.ndarray)


def test_methods_and_operators():
    assert {"sum", "conj", "take", "put"} <= {*numpy_names.methods()}
    assert not {"fill", "sort", "tolist"} & {*numpy_names.methods()}
    x, y = np.array([7.0, 8.0]), np.array([2.0, 3.0])
    for word in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "eq"):
        found = getattr(np, numpy_names.OPERATORS[word])(x, y)
        np.testing.assert_array_equal(getattr(x, f"__{word}__")(y), found)
    assert numpy_names.OPERATORS["neg"] == "negative"
    assert numpy_names.OPERATORS["ior"] == "bitwise_or"


# Other collections of NumPy's names that put them into classes, and why.
CLASSES = {
    "backends/cuda/arrays/library.py": "what CuPy lacks in some versions: no fact about NumPy",
    "ops/indexing/scatter.py": "PyTorch's words for `reduce=`, among which some are NumPy's too",
    "ops/indexing/segments.py": "PyTorch's words for `reduce=`",
}
# Those that give each name something of its own.
SPELLINGS = {
    "backends/cuda/arrays/functors.py": "the functor of each ufunc in C++",
    "backends/cuda/arrays/reduce.py": "the accumulation of each ufunc in C++",
    "compiler/c_words.py": "the text of each scalar function and reduction in C",
    "compiler/cuda_words.py": "the text of each reduction in CUDA C++",
    "compiler/printer.py": "the operator of each ufunc",
}


def test_there_is_no_other_table():
    classes, spellings = {}, {}
    for path, line, names, spelled in rules.tables(rules.ROOT):
        (spellings if spelled else classes).setdefault(path, []).append((line, names))
    assert "backends/numpy_names.py" in classes
    del classes["backends/numpy_names.py"]
    assert {path: classes[path] for path in classes.keys() - CLASSES.keys()} == {}
    assert {path: spellings[path] for path in spellings.keys() - SPELLINGS.keys()} == {}
    stale = CLASSES.keys() - classes.keys() | SPELLINGS.keys() - spellings.keys()
    assert not stale, f"these have no table any more: {stale}"


def test_tables_are_found(tmp_path):
    """The definition of `tests/rules.py`, on a source with a table, a spelling and neither."""
    folder = tmp_path / "minitorch" / "compiler"
    folder.mkdir(parents=True)
    (folder / "some.py").write_text(
        '__all__ = ["sum", "prod", "max", "min"]\n'
        'KINDS = {"sum", "prod", "max", "min"}\n'
        'for name in ("zeros ones empty full").split():\n    f(name)\n'
        'SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}\n'
        'for name, default in (("sort", -1), ("argsort", -1), ("cumsum", 0), ("cumprod", 0)):\n'
        '    f(name)\n'
        'WORDS = ("sum", "of", "all", "numbers", "that", "were", "read", "any", "max")\n')
    found = [(line, len(names), spelled) for _, line, names, spelled in rules.tables(tmp_path)]
    assert found == [(2, 4, False), (3, 4, False), (5, 4, True), (6, 4, False)]
