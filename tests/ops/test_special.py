"""Special functions against Python's `math`, known values, identities and each other."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch
from minitorch import special
from minitorch.ops.elementwise import bessel, gamma
from minitorch.ops.elementwise import erf as error_function

EPS = 2.0**-52
finite = st.floats(-1e6, 1e6)
lists = lambda element: st.lists(element, min_size=1, max_size=8)


def double(values):
    return minitorch.tensor(values, dtype=minitorch.float64)


def close(found, wanted, ulps=8, floor=0.0):
    """Equal to a few units in the last place of `wanted`, or of `floor` where that is larger."""
    found, wanted = np.asarray(found, float), np.asarray(wanted, float)
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    with np.errstate(invalid="ignore"):
        near = np.abs(found - wanted) <= ulps * EPS * np.maximum(np.abs(wanted), floor)
    assert (same | near).all(), (found, wanted)


@pytest.fixture(autouse=True)
def silent():
    with np.errstate(all="ignore"):
        yield


# ---- against Python's own ----------------------------------------------------------------------------------
@given(lists(st.floats(-10, 30)))
def test_erf_and_erfc(values):
    x = np.array(values)
    close(error_function.erf(np, x), [math.erf(v) for v in values])
    close(error_function.erfc(np, x), [math.erfc(v) for v in values], 16, 1e-300)
    single = x.astype(np.float32)
    found = error_function.erf(np, single)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [math.erf(v) for v in single], 3e-7, 1e-44)


@given(lists(st.floats(1e-300, 1e6)))
def test_lgamma(values):
    close(gamma.lgamma(np, np.array(values)), [math.lgamma(v) for v in values], 32, 0.1)


@given(lists(st.floats(-50, -0.01).filter(lambda x: abs(x - round(x)) > 1e-6)))
def test_lgamma_of_negative_numbers(values):
    close(gamma.lgamma(np, np.array(values)), [math.lgamma(v) for v in values], 256, 1.0)


def test_lgamma_near_its_zeros_keeps_its_digits():
    t = 1e-9
    slopes = -0.5772156649015329 * ((1 + t) - 1), 0.42278433509846713 * ((2 + t) - 2)
    np.testing.assert_allclose(gamma.lgamma(np, np.array([1 + t, 2 + t])), slopes, 2 * t)


# ---- identities --------------------------------------------------------------------------------------------
@given(lists(st.floats(-1, 1, exclude_min=True, exclude_max=True)))
def test_erfinv_inverts_erf(values):
    y = double(values)
    x = y.erfinv()
    slack = 4 * EPS * (x.abs() * minitorch.exp(-x * x) + y.abs())      # what a rounded x makes of erf(x)
    assert bool(((x.erf() - y).abs() <= slack + 1e-323).all())


@given(lists(st.floats(1e-300, 1, exclude_max=True)))
def test_ndtri_inverts_ndtr(values):
    p = double(values)
    x = special.ndtri(p)
    slack = 8 * EPS * (1 + x * x) * p
    assert bool(((special.ndtr(x) - p).abs() <= slack).all())


@given(lists(st.floats(-26, 200)))
def test_erfcx_is_erfc_scaled(values):
    x = np.array(values)
    scaled, plain = error_function.erfcx(np, x), error_function.erfc(np, x)
    here = np.abs(x) < 20
    np.testing.assert_allclose((scaled * np.exp(-x * x))[here], plain[here], 1e-12)
    assert (scaled > 0).all()


@given(lists(st.floats(-30, 8)))
def test_log_ndtr(values):
    x = double(values)
    np.testing.assert_allclose(special.log_ndtr(x).numpy(), np.log(special.ndtr(x).numpy()), 1e-11, 4 * EPS)
    assert float(special.log_ndtr(double([-1e10]))) == pytest.approx(-5e19, rel=1e-15)


@given(lists(st.floats(0.01, 100)))
def test_digamma_and_polygamma_recurrences(values):
    x = double(values)
    close((x + 1).digamma(), x.digamma() + 1 / x, 64, np.maximum(1.0, 1 / x.numpy() / 8))      # 8 ulps of what cancels
    for n in (1, 2, 3):
        step = (-1) ** n * math.factorial(n) / x ** (n + 1)
        np.testing.assert_allclose((x + 1).polygamma(n).numpy(), (x.polygamma(n) + step).numpy(), 1e-9,
                                   1e-12 * float(step.abs().max()))


def test_known_values_of_the_gamma_family():
    one = double([1.0])
    close(one.digamma(), [-0.5772156649015329])
    close(special.zeta(double([2.0, 4.0, 6.0]), one), [math.pi**2 / 6, math.pi**4 / 90, math.pi**6 / 945])
    close(minitorch.polygamma(1, double([0.5, 1.0])), [math.pi**2 / 2, math.pi**2 / 6])
    close(minitorch.mvlgamma(double([3.0]), 2), [math.log(math.pi) / 2 + math.lgamma(3) + math.lgamma(2.5)])
    assert double([0.0, -0.0]).digamma().tolist() == [-math.inf, math.inf]
    assert double([0.0, -1.0, -2.0, math.inf]).lgamma().tolist() == [math.inf] * 4
    assert math.isnan(float(double([-1.0]).digamma()))


@given(lists(st.floats(1.1, 30)), st.floats(-30.5, -0.1).filter(lambda x: abs(x - round(x)) > 1e-3))
def test_zeta_of_negative_places(s, q):
    s = np.floor(np.array(s)) + 1.0
    term = np.sign(q) ** s * np.abs(q) ** -s
    found, step = (gamma.zeta(np, s, np.full(s.shape, x)) for x in (q, q + 1))
    largest = np.abs(q - round(q)) ** -s                   # the terms nearest to 0 may cancel
    np.testing.assert_allclose(found, term + step, 1e-10, 1e-14 * largest.max())


@given(lists(st.floats(0.01, 500)), lists(st.floats(0, 1000)))
def test_incomplete_gamma_functions(a, x):
    n = min(len(a), len(x))
    a, x = double(a[:n]), double(x[:n])
    lower, upper = minitorch.igamma(a, x), minitorch.igammac(a, x)
    np.testing.assert_allclose((lower + upper).numpy(), 1.0, 1e-12)
    step = minitorch.exp(a * x.log() - x - (a + 1).lgamma())           # DLMF 8.8.5
    np.testing.assert_allclose(minitorch.igamma(a + 1, x).numpy(), (lower - step).numpy(), 1e-9, 1e-10)


@given(lists(st.floats(0, 50)))
def test_incomplete_gamma_functions_that_have_other_names(values):
    x = double(values)
    np.testing.assert_allclose(minitorch.igamma(minitorch.ones_like(x), x).numpy(), -np.expm1(-x.numpy()), 1e-12)
    np.testing.assert_allclose(minitorch.igammac(x * 0 + 0.5, x).numpy(), x.sqrt().erfc().numpy(), 1e-11)


def test_incomplete_gamma_functions_of_large_numbers():
    a = double([1e5, 1.0001e5, 1e8, 1e12])
    np.testing.assert_allclose(minitorch.igamma(a, a).numpy(), 0.5 + 1 / (3 * np.sqrt(2 * np.pi * a.numpy())), 1e-7)
    assert minitorch.igamma(a, a * 2).tolist() == [1.0] * 4 and minitorch.igammac(a, a * 2).tolist() == [0.0] * 4


@given(lists(st.floats(-60, 60)))
def test_bessel_functions(values):
    x = np.array(values)
    t = (np.arange(400) + 0.5) * (np.pi / 400)             # the integral 10.32.1 of the DLMF, by the midpoint rule
    weight = np.exp(np.abs(x)[:, None] * (np.cos(t) - 1))
    np.testing.assert_allclose(bessel.i0e(np, x), weight.mean(1), 1e-13)
    np.testing.assert_allclose(bessel.i1e(np, x), np.sign(x) * (weight * np.cos(t)).mean(1), 1e-11, 1e-15)
    np.testing.assert_allclose(bessel.i0(np, x), bessel.i0e(np, x) * np.exp(np.abs(x)), 1e-13)
    assert np.isfinite(bessel.i0(np, np.array([712.0]))).all()         # exp(712) alone is infinite


# ---- values, types, names ----------------------------------------------------------------------------------
def test_entropy():
    assert special.entr(double([0.0, 1.0, -1.0])).tolist() == [0.0, 0.0, -math.inf]
    assert special.entr(minitorch.tensor([2])).dtype == minitorch.float32


def test_integers_become_the_default_float():
    for f in (special.erfcx, special.ndtr, special.i1, minitorch.lgamma, minitorch.erfinv, special.expit):
        assert f(minitorch.tensor([1])).dtype == minitorch.float32


def test_other_names():
    assert special.expit is minitorch.sigmoid and special.psi is minitorch.digamma
    assert special.gammaln is minitorch.lgamma and special.multigammaln is minitorch.mvlgamma
    assert set(special.__all__) <= set(dir(special))


def test_derivatives_that_are_missing_say_so():
    a = double([2.0]).requires_grad_()
    with pytest.raises(NotImplementedError, match="igamma: input"):
        minitorch.igamma(a, double([1.0])).sum().backward()
    with pytest.raises(RuntimeError, match="negative n"):
        minitorch.polygamma(-1, a)


def test_a_million_numbers_and_any_layout():
    x = minitorch.linspace(-3, 3, 100_000, dtype=minitorch.float64).reshape(250, 400)
    for f in (minitorch.erf, minitorch.erfc, special.i0e):
        assert minitorch.equal(f(x.t()), f(x).t())
        minitorch.testing.assert_close(f(x[:3, :5]), f(x)[:3, :5], rtol=1e-15, atol=0.0)


def test_functions_of_float32_are_as_exact_as_float32():
    x = minitorch.linspace(0.1, 9, 200, dtype=minitorch.float64)
    for name in ("erf", "erfc", "special.erfcx", "lgamma", "digamma", "special.i0e", "special.i1e", "special.log_ndtr",
                 "expm1", "log1p", "special.ndtr"):
        call = minitorch.special.__dict__[name.split(".")[1]] if "." in name else getattr(minitorch, name)
        np.testing.assert_allclose(call(x.float()).numpy(), call(x.float().double()).numpy(), rtol=1e-5, atol=2e-38,
                                   err_msg=name)


@given(a=st.floats(0.05, 60), away=st.floats(-3, 3), scale=st.floats(0.1, 3))
@settings(max_examples=60, deadline=None, database=None, derandomize=True)
def test_incomplete_gamma_functions_step_from_a_to_the_next(a, away, scale):
    """``P(a + 1, x) = P(a, x) - x^a e^-x / Gamma(a + 1)`` and ``P + Q = 1``, on both sides of x = a,
    where the way of computing changes."""
    for at in (max(a + away, 0.01), a * scale):
        x = double(at)
        shapes = double([a, a + 1])
        here, after = special.gammainc(shapes, x).tolist()
        step = math.exp(a * math.log(at) - at - math.lgamma(a + 1))
        assert after == pytest.approx(here - step, rel=1e-9, abs=1e-13)
        for p, q in zip((here, after), special.gammaincc(shapes, x).tolist()):
            assert p + q == pytest.approx(1, abs=1e-12)
