"""The array API standard's namespace, `minitorch.array_api`, NumPy's functions on tensors, and DLPack.

The standard's own test suite (data-apis/array-api-tests) is run by hand: docs/programs.md has its results. Here NumPy,
whose own namespace follows the standard, says what is right.
"""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
import minitorch.array_api as xp

NAMES = """abs acos acosh add all any arange argmax argmin argsort asarray asin asinh astype atan atan2 atanh
bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor bool broadcast_arrays
broadcast_shapes broadcast_to can_cast ceil clip complex128 complex64 concat conj copysign cos cosh count_nonzero
cumulative_prod cumulative_sum diff divide e empty empty_like equal exp expand_dims expm1 eye finfo flip float32 float64
floor floor_divide from_dlpack full full_like greater greater_equal hypot iinfo imag inf int16 int32 int64 int8 isdtype
isfinite isin isinf isnan less less_equal linspace log log10 log1p log2 logaddexp logical_and logical_not logical_or
logical_xor matmul matrix_transpose max maximum mean meshgrid min minimum moveaxis multiply nan negative newaxis
nextafter nonzero not_equal ones ones_like permute_dims pi positive pow prod real reciprocal remainder repeat reshape
result_type roll round searchsorted sign signbit sin sinh sort sqrt square squeeze stack std subtract sum take
take_along_axis tan tanh tensordot tile tril triu trunc uint8 unique_all unique_counts unique_inverse unique_values
unstack var vecdot where zeros zeros_like __array_api_version__ __array_namespace_info__
linalg.cholesky linalg.cross linalg.det linalg.diagonal linalg.eigh linalg.eigvalsh linalg.inv linalg.matmul
linalg.matrix_norm linalg.matrix_power linalg.matrix_rank linalg.matrix_transpose linalg.outer linalg.pinv linalg.qr
linalg.slogdet linalg.solve linalg.svd linalg.svdvals linalg.tensordot linalg.trace linalg.vecdot linalg.vector_norm
fft.fft fft.fftfreq fft.fftn fft.fftshift fft.hfft fft.ifft fft.ifftn fft.ifftshift fft.ihfft fft.irfft fft.irfftn
fft.rfft fft.rfftfreq fft.rfftn""".split()

derandomized = settings(derandomize=True, deadline=None, max_examples=40)
x = torch.arange(24.0).reshape(2, 3, 4) + 1


# ---- the namespace -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("where", [xp, xp.linalg, xp.fft])
def test_all_names_are_there(where):
    prefix = "" if where is xp else where.__name__.rpartition(".")[2] + "."
    wanted = {name[len(prefix):] for name in NAMES if name.startswith(prefix) and ("." in name) == (where is not xp)}
    assert wanted <= set(dir(where)) and all(hasattr(where, name) for name in dir(where))


def test_a_tensor_gives_its_namespace():
    assert x.__array_namespace__() is xp is x.__array_namespace__(api_version="2024.12")
    with pytest.raises(ValueError, match="2099.12"):
        x.__array_namespace__(api_version="2099.12")


@st.composite
def reductions(draw):
    shape = draw(st.lists(st.integers(1, 3), min_size=0, max_size=3))
    array = np.random.default_rng(draw(st.integers(0, 99))).integers(0, 4, shape)
    array = array.astype(draw(st.sampled_from(["int64", "float64", "uint8", "float32"])))
    axes = st.sets(st.integers(0, len(shape) - 1)) if shape else st.just(set())
    axis = draw(st.none() | axes.map(lambda s: tuple(a - draw(st.sampled_from([0, len(shape)])) for a in s)))
    return array, axis, draw(st.booleans())


@derandomized
@given(reductions(), st.sampled_from("sum prod max min mean var std all any count_nonzero".split()))
def test_reductions_take_all_kinds_of_axes(case, name):
    array, axis, keepdims = case
    if name in ("mean", "var", "std") and array.dtype.kind in "iu":
        array = array.astype("float64")
    found = getattr(xp, name)(torch.from_numpy(array), axis=axis, keepdims=keepdims)
    expected = np.asarray(getattr(np, name)(array, axis=axis, keepdims=keepdims))
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)
    if name in ("max", "min", "mean", "all") or array.dtype.kind == "f":
        assert found.numpy().dtype == expected.dtype


@derandomized
@given(st.lists(st.sampled_from([0.0, -0.0, 1.0, 2.5, np.nan, np.inf]), max_size=8))
def test_unique_values_and_where_they_are(values):
    array = np.array(values)
    found = xp.unique_all(torch.from_numpy(array))
    expected = np.unique(array, return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
    for ours, theirs in zip(found, expected):
        np.testing.assert_array_equal(ours.numpy(), theirs)
    assert xp.unique_values(torch.from_numpy(array)).shape == found.values.shape
    pairs = xp.unique_all(torch.tensor([1 + 1j, 1 - 1j, 0j, 1 + 1j]))
    assert pairs.values.tolist() == [0j, 1 - 1j, 1 + 1j] and pairs.counts.tolist() == [1, 1, 2]


def test_types_are_promoted_whatever_the_shapes():
    small, number = torch.ones(3, dtype=torch.float32), torch.tensor(1.0, dtype=torch.float64)
    assert (small + number).dtype == torch.float32 and xp.add(small, number).dtype == torch.float64
    assert xp.add(small, 1.0).dtype == torch.float32 and xp.maximum(2, small).tolist() == [2, 2, 2]
    assert xp.result_type(torch.int8, torch.uint8) == torch.int16 and xp.result_type(small, 1j) == torch.complex64
    assert xp.where(small > 0, number, 0).dtype == torch.float64
    assert xp.concat([small, number[None]]).dtype == torch.float64
    assert xp.isdtype(torch.int8, ("real floating", "signed integer")) and not xp.isdtype(torch.bool, "numeric")
    assert set(xp.__array_namespace_info__().dtypes(kind="unsigned integer")) == {"uint8"}
    assert xp.finfo(small).dtype == torch.float32 == xp.finfo(torch.complex64).dtype
    with pytest.raises(ValueError, match="kind"):
        xp.isdtype(torch.int8, "floating")


def test_where_the_standard_differs_from_pytorch():
    assert xp.sort(torch.tensor([2, 1])).tolist() == [1, 2] and xp.max(x, axis=2).shape == (2, 3)
    assert xp.sign(torch.tensor([-2.0, float("nan")])).isnan().tolist() == [False, True]
    assert xp.clip(torch.tensor([1, 200], dtype=torch.uint8), -5, 300).tolist() == [1, 200]
    assert xp.clip(x, float("nan")).isnan().all() and xp.arange(3, 0).shape == (0,)
    assert xp.take(torch.arange(3), torch.tensor([-1, 0])).tolist() == [2, 0]
    assert xp.concat([x, x], axis=None).shape == (48,) and xp.expand_dims(x, (0, -1)).shape == (1, 2, 3, 4, 1)
    assert xp.cumulative_sum(torch.arange(3), include_initial=True).tolist() == [0, 0, 1, 3]
    assert xp.linspace(0, 1, 4, endpoint=False).tolist() == [0, 0.25, 0.5, 0.75]
    assert xp.eye(2, 3, k=1).tolist() == [[0, 1, 0], [0, 0, 1]] and xp.eye(2, k=5).sum() == 0
    same = xp.reshape(x, (6, 4), copy=True)
    same[0] = 0
    assert x[0, 0, 0] == 1 and xp.linalg.vector_norm(x, axis=()).equal(x)
    a, b = torch.rand(3, 3, 3) + 3 * torch.eye(3), torch.rand(3, 3)
    assert torch.allclose(a @ xp.linalg.solve(a, b), b.expand(3, 3, 3), atol=1e-5)
    for bad in (lambda: xp.squeeze(x, 0), lambda: xp.nonzero(torch.tensor(1)),
                lambda: xp.reshape(x.mT, (24,), copy=False), lambda: xp.take(x, torch.tensor([0])),
                lambda: xp.broadcast_shapes((2,), (3,))):
        with pytest.raises(ValueError):
            bad()
    for bad in (3, (0, 0), (0, -3)):
        with pytest.raises(IndexError):
            xp.sum(x, axis=bad)


def test_gradients_and_batches_pass_through():
    def f(v):
        return xp.sum(xp.std(v, axis=0) * xp.linalg.vector_norm(v, axis=1)[:3]) + xp.unstack(v)[0].prod()
    v = torch.rand(4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(f, v)
    batch = torch.rand(5, 4, 3)
    assert torch.allclose(torch.vmap(f)(batch), torch.stack([f(one) for one in batch]))


@pytest.mark.parametrize("call, same", [
    (lambda v: torch.softmax(v, axis=1), lambda v: torch.softmax(v, 1)),
    (lambda v: v.softmax(axis=1, dtype=torch.float64), lambda v: v.softmax(1, torch.float64)),
    (lambda v: v.chunk(2, axis=2)[1], lambda v: v.chunk(2, 2)[1]),
    (lambda v: torch.unbind(v, axis=1)[0], lambda v: v[:, 0]),
    (lambda v: torch.select(v, axis=1, index=2), lambda v: v[:, 2]),
    (lambda v: v[:1].squeeze(axis=0), lambda v: v[0]),
    (lambda v: torch.narrow(v, axis=2, start=1, length=2), lambda v: v[:, :, 1:3]),
    (lambda v: torch.quantile(v, 0.5, axis=1, keepdims=True), lambda v: torch.quantile(v, 0.5, 1, True)),
    (lambda v: torch.argmax(v, axis=1, keepdims=True), lambda v: v.argmax(1, True))])
def test_functions_of_the_package_take_the_names_of_numpy(call, same):
    assert call(x).equal(same(x))
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        torch.softmax(x)


# ---- NumPy's functions -------------------------------------------------------------------------------------
@pytest.mark.parametrize("call", [
    lambda v: np.max(v, axis=1), lambda v: np.min(v, axis=0, keepdims=True), lambda v: np.std(v),
    lambda v: np.var(v, 1), lambda v: np.std(v, axis=0, ddof=1), lambda v: np.mean(v, axis=(0, 1)),
    lambda v: np.flip(v), lambda v: np.moveaxis(v, 0, 1), lambda v: np.imag(v), lambda v: np.sum(v, dtype=np.float64),
    lambda v: np.prod(v, 0)])
def test_functions_of_numpy_that_ask_for_a_method(call):
    found, expected = call(x[0]), call(x[0].numpy())
    assert type(found) is torch.Tensor and found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)


def test_results_of_numpy_that_are_no_tensors():
    assert np.size(x) == 24 and np.shape(x) == (2, 3, 4) and np.result_type(x) == np.float32
    assert isinstance(np.concatenate([x, x]), np.ndarray)                        # as with PyTorch
    assert isinstance(np.transpose(x), torch.Tensor) and np.transpose(x).shape == (4, 3, 2)


def test_functions_of_numpy_do_not_write_past_the_graph():
    y = x.clone()
    for write in (lambda: np.copyto(y, 0), lambda: np.fill_diagonal(y[0], 0), lambda: np.put(y, [0], 9.0)):
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            write()
    flipped = np.flip(y)
    flipped[0] = 0
    assert y.equal(x)


def test_numpy_does_not_see_tensors_that_require_gradients():
    with pytest.raises(RuntimeError, match="detach"):
        np.std(torch.ones(2, requires_grad=True))
    mean = np.mean(torch.ones(2, requires_grad=True))                           # the method answers, in the graph
    assert mean.grad_fn is not None


def test_other_libraries_answer_before():
    class Other:
        def __array_function__(self, function, types, args, kwargs):
            return "other"
    assert np.concatenate([x, Other()]) == "other"


# ---- DLPack ------------------------------------------------------------------------------------------------
def test_dlpack_takes_the_arguments_of_the_standard():
    array = np.from_dlpack(x, copy=True)
    array[0] = 9
    assert x[0, 0, 0] == 1 and "versioned" in repr(x.__dlpack__(max_version=(1, 0)))
    x.__dlpack__(stream=None, dl_device=(1, 0), copy=False)
    for error, options in ((BufferError, dict(dl_device=(2, 0))), (TypeError, dict(stream="1")),
                           (AssertionError, dict(stream=1))):
        with pytest.raises(error):
            x.__dlpack__(**options)


def test_dlpack_by_capsules():
    y = torch.arange(3.0)
    capsule = torch.utils.dlpack.to_dlpack(y)
    twin = torch.from_dlpack(capsule)
    twin[0] = 7
    assert y[0] == 7
    for bad in (capsule, 3):                               # taken already, and none at all
        with pytest.raises(RuntimeError, match="capsule"):
            torch.from_dlpack(bad)
    assert torch.from_dlpack(y.__dlpack__(max_version=(1, 0))).equal(y)
    assert not np.shares_memory(torch.from_dlpack(y, copy=True).numpy(), y.numpy())


# ---- libraries ---------------------------------------------------------------------------------------------
LIBRARIES = """
import numpy as np, sklearn, minitorch as torch, scipy.special, scipy.stats
from sklearn.decomposition import PCA
x = torch.rand(40, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
with sklearn.config_context(array_api_dispatch=True):
    for solver in ("full", "covariance_eigh"):
        pca = PCA(3, svd_solver=solver).fit(x)
        found = pca.transform(x)
        assert type(found) is torch.Tensor is type(pca.components_)
        assert np.allclose(found, PCA(3, svd_solver=solver).fit(x.numpy()).transform(x.numpy()))
for f in (scipy.special.expit, scipy.special.softmax, scipy.stats.zscore, scipy.special.gammaln):
    found = f(x)
    assert type(found) is torch.Tensor and np.allclose(found, f(x.numpy())), f
"""


def test_scikit_learn_and_scipy():
    pytest.importorskip("sklearn")
    pytest.importorskip("scipy")
    done = subprocess.run([sys.executable, "-c", LIBRARIES], capture_output=True, text=True,
                          env={**os.environ, "SCIPY_ARRAY_API": "1", "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
