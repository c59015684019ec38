"""Reductions, running sums, order, sets and counts beside PyTorch's: values, dtypes, shapes, errors, derivatives."""

import warnings

import numpy as np
import pytest

import minitorch

torch = pytest.importorskip("torch", reason="PyTorch is the yardstick")

nan, inf = float("nan"), float("inf")
rng = np.random.default_rng(0)
with_zeros = rng.normal(size=(3, 4))
with_zeros[0, 1] = with_zeros[1, 1] = with_zeros[1, 3] = 0
with_zeros[2] = 0

ARRAYS = {"vector": rng.normal(size=5), "matrix": rng.normal(size=(3, 4)), "3-d": rng.normal(size=(2, 3, 4)),
          "number": np.array(1.5), "empty": np.zeros(0), "no rows": np.zeros((0, 3)), "zeros": with_zeros,
          "ties": np.array([[1, 2, 2, 1, 3.], [0, 0, 0, 0, 0]])}
ODD = {"nan": np.array([[1, nan, 2, nan], [nan] * 4, [3, 2, 2, 1.]]),
       "inf": np.array([[inf, -inf, 1, 2], [inf, inf, 0, 0.], [-inf] * 4])}
DTYPES = ["float64", "float32", "float16", "bfloat16", "int64", "uint8", "bool"]

ONE = [{}, {"dim": 0}, {"dim": -1}, {"dim": 1, "keepdim": True}, {"dim": 5}]
SOME = [*ONE, {"dim": (0, 1)}, {"dim": ()}, {"dim": None, "keepdim": True}, {"dim": (0, 0)}]
ALONG = [{"dim": 0}, {"dim": -1}, {"dim": 5}]
CALLS = {
    "sum": [*SOME, {"dtype": "int32"}, {"dtype": "bool"}], "nansum": SOME, "mean": [*SOME, {"dtype": "float32"}],
    "nanmean": SOME, "prod": [*ONE, {"dim": 0, "dtype": "int32"}], "amax": SOME, "amin": SOME, "all": SOME, "any": SOME,
    "count_nonzero": [{}, {"dim": 0}, {"dim": (0, 1)}], "argmax": ONE, "argmin": ONE, "max": ONE, "min": ONE,
    "aminmax": ONE[:4], "logsumexp": [{"dim": 0}, {"dim": (0, 1)}, {"dim": -1, "keepdim": True}],
    "var": [*SOME, {"unbiased": False}, {"dim": 0, "unbiased": False}, {"correction": 2},
            {"dim": 0, "correction": 0.5}],
    "std": [*SOME, {"unbiased": False}, {"correction": 10}], "var_mean": ONE, "std_mean": [{"unbiased": False}],
    "norm": [*SOME, {"p": 1}, {"p": inf}, {"p": -inf, "dim": 0}, {"p": 0}, {"p": 3, "dim": -1}, {"p": 0.5},
             {"p": -1.5}],
    "cumsum": [*ALONG, {"dim": 0, "dtype": "int32"}], "cumprod": ALONG, "logcumsumexp": ALONG[:2],
    "cummax": ALONG[:2], "cummin": ALONG[:2],
    "diff": [{}, {"n": 2}, {"dim": 0}, {"n": 0}, {"n": 9}], "trapezoid": [{}, {"dx": 2.0}],
    "cumulative_trapezoid": [{}, {"dim": 0}], "gradient": [{}, {"spacing": 2.0, "dim": 0}, {"edge_order": 2}],
    "sort": [{}, {"dim": 0, "descending": True}, {"dim": 5}], "msort": [{}],
    "argsort": [{"stable": True}, {"dim": 0, "descending": True, "stable": True}],
    "topk": [{"k": 1}, {"k": 2, "dim": 0}, {"k": 2, "largest": False}, {"k": 9}], "median": ONE[:4],
    "nanmedian": ONE[:4], "mode": ONE, "kthvalue": [{"k": 1}, {"k": 2, "dim": 0}, {"k": 9}],
    "quantile": [{"q": 0.3}, {"q": 0.5, "dim": 0}, {"q": 0.9, "dim": -1, "keepdim": True}, {"q": 2.0},
                 *({"q": 0.6, "interpolation": i} for i in ("lower", "higher", "midpoint", "nearest", "other"))],
    "nanquantile": [{"q": 0.3}, {"q": 0.5, "dim": 0, "keepdim": True}], "renorm": [{"p": 2, "dim": 0, "maxnorm": 1.0}],
    "unique": [{}, {"return_inverse": True, "return_counts": True}, {"dim": -1, "return_inverse": True}],
    "unique_consecutive": [{}, {"return_inverse": True, "return_counts": True}, {"dim": 1, "return_counts": True}],
    "bincount": [{}, {"minlength": 5}], "histc": [{}, {"bins": 4}, {"bins": 3, "min": 0, "max": 2}],
    "histogram": [{"bins": 3}, {"bins": 4, "range": (0.0, 2.0)}, {"bins": 2, "density": True}],
    "cov": [{}, {"correction": 0}], "corrcoef": [{}],
}
# Where we differ, and why: PyTorch refuses what has a meaning, or what it returns depends on its algorithm.
DIFFERENT = {
    ("topk", "bool"): "topk of bools is refused on CPU", ("median", "bool"): "not the same error for every shape",
    ("nanmedian", "bool"): "not the same error for every shape", ("kthvalue", "bool"): "the same",
    ("trapezoid", "bool"): "refused, except where it is empty",
    ("histogram", "float16"): "refused by PyTorch", ("histogram", "bfloat16"): "refused by PyTorch",
    ("histc", "bfloat16"): "elements at an edge, which PyTorch rounds otherwise", ("histc", "float16"): "the same",
    ("mode", "nan"): "each NaN is one of a kind here, whatever the order of comparisons",
    ("unique", "number"): "PyTorch refuses dim=-1 of a number", ("unique_consecutive", "number"): "the same",
    ("unique", "nan"): "PyTorch does not sort rows with NaN", ("trapezoid", "inf"): "PyTorch adds before it subtracts",
    ("gradient", "inf"): "the same", ("var_mean", "inf"): "the mean of infinities is infinite",
    ("std_mean", "inf"): "the same", ("trapezoid", "empty"): "its dtype", ("trapezoid", "no rows"): "its dtype",
    ("renorm", "nan"): "the gradient where a norm is NaN",
}
FREE = ("topk", "kthvalue", "median", "nanmedian", "mode")     # which of several equal elements is left open
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-9}


def outcome(lib, name, array, dtype, attrs):
    """The result of a call, as a list of (dtype, NumPy array), or the error it raises."""
    attrs = {k: getattr(lib, v) if k == "dtype" else v for k, v in attrs.items()}
    x = lib.from_numpy(array.copy()).to(getattr(lib, dtype))
    try:
        out = getattr(lib, name)(x, **attrs)
    except Exception as error:
        return error
    return [(str(t.dtype), (t.float() if t.dtype in (lib.float16, lib.bfloat16) else t).numpy())
            for t in (out if isinstance(out, (tuple, list)) else [out])]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_results(name, dtype):
    if (name, dtype) in DIFFERENT:
        return
    scale = 1 if dtype.startswith(("float", "bfloat")) else 3
    for label, array in (ARRAYS | (ODD if scale == 1 else {})).items():
        if (name, label) in DIFFERENT:
            continue
        array = np.asarray((np.abs(array) if dtype == "uint8" else array) * scale)
        for attrs in CALLS[name]:
            case = f"{name} of {label} as {dtype}, {attrs}"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wanted, found = (outcome(lib, name, array, dtype, attrs) for lib in (torch, minitorch))
            if isinstance(wanted, Exception):
                assert isinstance(found, type(wanted)), f"{case}: {wanted!r}, not {found!r}"
                continue
            assert not isinstance(found, Exception), f"{case}: {found!r}"
            assert [(d, a.shape) for d, a in found] == [(d, a.shape) for d, a in wanted], case
            for i, ((d, a), (_, b)) in enumerate(zip(found, wanted)):
                if not (i == 1 and name in FREE and "int" in d):
                    tol = TOLERANCE.get(d.removeprefix("torch."), 0)
                    np.testing.assert_allclose(a, b, tol, tol, equal_nan=True, err_msg=case)


def derivatives(lib, name, array, attrs):
    """The gradient of a weighted sum of all outputs, and those of a weighted sum of that."""
    x = lib.from_numpy(array.copy()).requires_grad_()
    outs = getattr(lib, name)(x, **attrs)
    outs = [t for t in (outs if isinstance(outs, (tuple, list)) else [outs]) if t.requires_grad]
    weights = [lib.from_numpy(np.asarray(np.linspace(1, 2, t.numel()).reshape(tuple(t.shape)))) for t in outs]
    weights = [w.requires_grad_() for w in weights]
    (g,) = lib.autograd.grad(outs, x, weights, create_graph=True)
    again = lib.from_numpy(np.asarray(np.linspace(-1, 2, g.numel()).reshape(tuple(g.shape))))
    second = lib.autograd.grad((g * again).sum(), [x, *weights], allow_unused=True) if g.requires_grad else ()
    return g.detach().numpy(), [None if t is None else t.numpy() for t in second]


@pytest.mark.parametrize("name", [n for n in CALLS if n not in (
    "all", "any", "argmax", "argmin", "argsort", "count_nonzero", "unique", "unique_consecutive", "bincount", "histc",
    "histogram", *FREE)])
def test_derivatives(name):
    for label, array in ARRAYS.items():
        for attrs in CALLS[name]:
            if "dtype" in attrs or (name in ("var", "std") and attrs.get("dim") == ()):
                continue                                   # PyTorch's gradient of var(dim=()) is infinite
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    wanted, wanted_second = derivatives(torch, name, array, attrs)
                except (RuntimeError, IndexError, ValueError):
                    continue
                found, found_second = derivatives(minitorch, name, array, attrs)
            case = f"{name} of {label}, {attrs}"
            np.testing.assert_allclose(found, wanted, 1e-7, 1e-9, equal_nan=True, err_msg=case)
            if any(b is not None and not np.isfinite(b).all() for b in wanted_second):
                continue
            for a, b in zip(found_second, wanted_second):
                if a is None and b is None:
                    continue
                a, b = np.zeros_like(b) if a is None else a, np.zeros_like(a) if b is None else b
                np.testing.assert_allclose(a, b, 1e-6, 1e-8, err_msg=case)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("shape, wanted", [
    ((6,), (3, 4)), ((6,), ()), ((2, 6), (2, 3)), ((0,), (2,)), ((2, 0), (2, 3))])
def test_searchsorted(shape, wanted, right):
    sequence, values = rng.integers(0, 5, shape), np.asarray(rng.integers(-1, 6, wanted))
    sorter = np.argsort(sequence, -1)
    for order, s in ((None, np.sort(sequence)), (sorter, sequence)):
        a, b = (lib.searchsorted(lib.from_numpy(s), lib.from_numpy(values), right=right, out_int32=right,
                                 sorter=None if order is None else lib.from_numpy(order)) for lib in (minitorch, torch))
        assert str(a.dtype) == str(b.dtype)
        assert np.array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize("attrs", [{}, {"weight": True}, {"density": True}, {"range": (0.0, 1.0, -1.0, 1.0)}])
def test_histogramdd(attrs):
    points, weights = rng.normal(size=(20, 2)), rng.uniform(size=20)
    for bins in (3, (2, 4), [np.array([-1.0, 0.0, 0.5, 2.0]), np.array([0.0, 1.0])]):
        results = []
        for lib in (minitorch, torch):
            how = {k: lib.from_numpy(weights) if k == "weight" else v for k, v in attrs.items()}
            if isinstance(bins, list):
                how.pop("range", None)
            edges = [lib.from_numpy(e) for e in bins] if isinstance(bins, list) else bins
            out = lib.histogramdd(lib.from_numpy(points), edges, **how)
            results.append([out.hist, *out.bin_edges])
        for a, b in zip(*results):
            np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-12, 1e-12)


@pytest.mark.parametrize("elements, tests", [([1, 2, 3], [2, 5]), ([1.0, nan], [nan, 1.0]), ([1, 2], 2), (2, [1, 2])])
@pytest.mark.parametrize("invert", [False, True])
def test_isin(elements, tests, invert):
    a, b = (lib.isin(*(lib.tensor(x) if isinstance(x, list) else x for x in (elements, tests)), invert=invert)
            for lib in (minitorch, torch))
    assert a.tolist() == b.tolist()


@pytest.mark.parametrize("lib", [torch, minitorch], ids=["torch", "minitorch"])
def test_named_tuples_and_out(lib):
    x = lib.tensor([[3.0, 1.0, 2.0]])
    for name in ("sort", "max", "min", "median", "nanmedian", "mode", "cummax", "cummin"):
        out = getattr(x, name)(dim=1)
        assert type(out).__name__ == name
        assert out.values.tolist() == out[0].tolist() and out.indices.tolist() == out[1].tolist()
    values, indices = lib.empty(0), lib.empty(0, dtype=lib.int64)
    out = lib.topk(x, 2, out=(values, indices))
    assert values.tolist() == [[3.0, 2.0]] and indices.tolist() == [[0, 2]] and out.values.tolist() == [[3.0, 2.0]]
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
        lib.aminmax(x, dim=0, out=(lib.empty(3), lib.empty(3, dtype=lib.float64)))


@pytest.mark.parametrize("weights", [(None, None), ("f", None), (None, "a"), ("f", "a")])
def test_covariance_with_weights(weights):
    x, f, a = rng.normal(size=(3, 5)), rng.integers(1, 4, 5), rng.uniform(0.5, 1, 5)
    for correction in (0, 1):
        found = [lib.cov(lib.from_numpy(x), correction=correction,
                         fweights=lib.from_numpy(f) if weights[0] else None,
                         aweights=lib.from_numpy(a) if weights[1] else None).numpy() for lib in (minitorch, torch)]
        np.testing.assert_allclose(*found, 1e-10)
