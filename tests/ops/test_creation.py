"""Making tensors: sizes, ranges, data out of range, memory formats, tensors in lists."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as T
from minitorch.host.data import at_steps, fused


def test_equal_steps_are_as_exact_as_their_type():
    assert T.linspace(0, 1, 4, dtype=T.float64)[1].item() == 1 / 3
    assert T.normal(0.0, 1.0, (2, 3)).shape == (2, 3)


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "rand", "randn"])
def test_sizes_by_name(name):
    assert getattr(T, name)(size=(2, 3)).shape == (2, 3)
    assert getattr(T, name)(size=()).shape == ()
    if hasattr(T.Tensor, "new_" + name):
        new = getattr(T.ones(1, dtype=T.float64), "new_" + name)(size=(2, 3))
        assert new.shape == (2, 3) and new.dtype is T.float64


def test_a_tensor_in_a_list_is_a_number():
    a, b = T.tensor([0.5]), T.tensor([[2.0]])
    for make in (T.tensor, T.as_tensor, T.asarray, T.Tensor, T.FloatTensor):
        assert make([a, b]).shape == (2,) and make([[a], [b]]).tolist() == [[0.5], [2.0]]
        assert make([a, 3.0]).tolist() == [0.5, 3.0] and make((a.requires_grad_(),)).shape == (1,)
        with pytest.raises(ValueError, match="only one element tensors can be converted"):
            make([T.ones(2), T.ones(2)])
        with pytest.raises(ValueError, match="only one element tensors can be converted"):
            make([T.ones(0)])
    assert T.tensor([a.bfloat16(), a.bfloat16()]).dtype is T.bfloat16
    assert T.tensor([np.ones(1), np.ones(1)]).shape == (2, 1)           # arrays are sequences
    assert T.tensor(b).shape == (1, 1)


def test_data_out_of_range_is_refused_by_kind():
    with pytest.raises(OverflowError):
        T.tensor([-1], dtype=T.uint64)
    for dtype in (T.float32, T.int32):
        with pytest.raises(TypeError, match="not complex"):
            T.tensor([1j], dtype=dtype)
    with pytest.raises(RuntimeError, match="Unknown Complex"):
        T.int32.to_complex()
    with pytest.raises(RuntimeError, match="bool"):
        +T.tensor(True)


@settings(max_examples=30)
@given(st.complex_numbers(max_magnitude=10), st.complex_numbers(max_magnitude=10), st.integers(0, 5))
def test_complex_numbers_at_equal_distances(start, end, steps):
    found = T.linspace(start, end, steps)
    assert found.dtype == T.complex64
    np.testing.assert_allclose(found.numpy(), np.linspace(start, end, steps), rtol=1e-5, atol=1e-5)
    powers = T.logspace(start / 10, end / 10, steps, dtype=T.complex128)
    np.testing.assert_allclose(powers.numpy(), 10.0 ** np.linspace(start / 10, end / 10, steps), rtol=1e-9)
    with pytest.raises(RuntimeError, match="safely cast"):
        T.linspace(start, end, steps, dtype=T.float32)


def test_memory_formats_of_new_memory():
    last = T.channels_last
    assert T.empty(2, 3, 4, 5, memory_format=last).is_contiguous(memory_format=last)
    assert T.empty((2, 3, 4, 5, 6), memory_format=T.channels_last_3d).stride() == (360, 1, 90, 18, 3)
    x = T.arange(120.0).resize_(2, 3, 4, 5, memory_format=last)
    assert x.stride() == (60, 1, 15, 3) and x.permute(0, 2, 3, 1).flatten().tolist() == list(range(120))
    with pytest.raises(RuntimeError, match="rank 4"):
        T.empty(2, 3, memory_format=last)
    with pytest.raises(RuntimeError, match="Preserve"):
        T.empty(2, 3, memory_format=T.preserve_format)


def test_sizes_by_keyword():
    x = T.ones(1, dtype=T.float64)
    for made in (T.zeros(size=(2, 3)), T.ones(size=[2, 3]), T.empty(size=(2, 3)), x.new_zeros(size=(2, 3)),
                 x.new_ones(size=T.Size((2, 3))), x.new_empty(size=(2, 3))):
        assert made.shape == (2, 3)
    assert x.new_ones(size=(2,)).dtype is T.float64 and T.ones(size=()).shape == ()


def test_one_step_of_logspace_is_the_power_of_the_start_itself():
    """The start is not made an integer first: 10 ** 0.7 is 5.01."""
    assert T.logspace(0.7, 3, 1, dtype=T.int64).tolist() == [5]
    assert T.logspace(-0.7, 3, 1, dtype=T.int32).tolist() == [0]
    assert T.logspace(0.7, 3, 1, dtype=T.float16).tolist() == [5.01171875]


def test_float32_steps_are_rounded_once_where_it_matters():
    """The shortcut of `at_steps` gives the bits of the fused multiply-add for all elements."""
    rng, i = np.random.default_rng(0), np.arange(3000.0)
    for start, step in rng.standard_normal((40, 2)) * 10.0 ** rng.integers(-6, 6, (40, 2)):
        found = at_steps(start, step, 3000, np.dtype("float32"))
        assert (found == fused(float(step), i, float(start)).astype("float32")).all()
