"""Fourier transforms: inverses of each other, sums by definition, frequencies."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as t

few = settings(max_examples=30, deadline=None)
norms = st.sampled_from([None, "backward", "forward", "ortho"])


@given(n=st.integers(1, 12), norm=norms)
@few
def test_by_definition(n, norm):
    x = np.random.default_rng(n).normal(size=(2, n))
    k = np.arange(n)
    scale = {"forward": 1 / n, "ortho": n ** -0.5}.get(norm, 1.0)
    wanted = scale * x @ np.exp(-2j * np.pi * np.outer(k, k) / n)
    np.testing.assert_allclose(t.fft.fft(t.from_numpy(x), norm=norm).numpy(), wanted, atol=1e-12)
    np.testing.assert_allclose(t.fft.rfft(t.from_numpy(x), norm=norm).numpy(), wanted[:, :n // 2 + 1], atol=1e-12)


@given(seed=st.integers(0, 10**6), norm=norms, name=st.sampled_from(["fft", "rfft", "ihfft"]),
       end=st.sampled_from(["", "2", "n"]))
@few
def test_inverses(seed, norm, name, end):
    r = np.random.default_rng(seed)
    x = t.from_numpy(r.normal(size=r.integers(2, 6, 2)))
    inverse = name[1:] if name[0] == "i" else "i" + name
    size = {"n": x.shape[-1]} if not end else {"s": tuple(x.shape)}
    there = getattr(t.fft, name + end)(x, norm=norm)
    back = getattr(t.fft, inverse + end)(there, norm=norm, **size)
    np.testing.assert_allclose(back.numpy(), x.numpy(), atol=1e-12)
    assert there.dtype is t.complex128 and back.dtype is (t.complex128 if name == "fft" else t.float64)


@given(n=st.integers(1, 9))
@few
def test_frequencies_and_shifts(n):
    f = t.fft.fftfreq(n, 0.5)
    assert (t.fft.fftshift(f).diff() > 0).all()
    assert t.fft.ifftshift(t.fft.fftshift(f)).tolist() == f.tolist()
    np.testing.assert_allclose(t.fft.rfftfreq(n, 0.5).numpy(), f.abs().numpy()[:n // 2 + 1])


def test_what_is_refused():
    with pytest.raises(RuntimeError, match="Invalid number of data points"):
        t.fft.fft(t.ones(3), n=0)
    with pytest.raises(RuntimeError, match="expects a real input"):
        t.fft.rfft(t.fft.fft(t.ones(3)))
    assert t.fft.fft(t.tensor([1, 2])).dtype is t.complex64


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "fft2", "rfft2", "irfft2"])
def test_fourier_transforms_can_be_viewed(name):
    x = t.arange(24.0).view(2, 4, 3).transpose(1, 2)
    x = t.complex(x, x) if name.startswith("ir") else x
    assert getattr(t.fft, name)(x).is_contiguous()
    assert t.equal(getattr(t.fft, name)(x).view(-1), getattr(t.fft, name)(x.contiguous()).view(-1))


def test_frequencies_of_no_samples_and_no_distance():
    assert t.fft.fftfreq(0).shape == (0,) and math.isnan(t.fft.rfftfreq(0).item())
    found = t.fft.fftfreq(4, 0.0).tolist()
    assert math.isnan(found[0]) and found[1:] == [math.inf, -math.inf, -math.inf]
    with pytest.raises(RuntimeError, match="floating point"):
        t.fft.fftfreq(4, dtype=t.int64)
