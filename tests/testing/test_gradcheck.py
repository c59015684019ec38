"""`gradcheck` and the check of forward mode: the mistakes they find, and the inputs for which they warn."""

import numpy as np
import pytest

import minitorch as T


def test_gradients_that_count_ties_twice_are_told():
    from minitorch.testing.diagnose import diagnose
    x = np.array([2.0, 2.0, 1.0, 0.5, 0.25])
    share = np.array([[0.5, 0.5, 0.0, 0.0, 0.0]])
    words = diagnose(np.array([1.0, 1.0, 0.0, 0.0, 0.0]), share, np.ones(1), x, ())
    assert any("ties counted twice" in text for text in words)
    assert not any("ties" in text for text in diagnose(np.array([0.5, 0.5, 1.0, 0, 0]), share, np.ones(1), x, ()))


def test_forward_derivatives_that_are_no_number_on_both_sides():
    from minitorch.testing.forward_check import forward_error
    x = T.tensor([1.0, 2.0], dtype=T.float64, requires_grad=True)
    assert forward_error(lambda x: x * T.tensor([T.nan, 1.0], dtype=T.float64), [x], [0], 1e-6, 1e-5, 1e-3) is None


def test_gradcheck_of_single_precision_warns_and_compares():
    x = T.tensor([0.5, 1.0], requires_grad=True)
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision") as noted:
        assert T.autograd.gradcheck(T.sin, x, eps=1e-2, atol=1e-2, rtol=1e-2)
    assert noted[0].filename == __file__
    with pytest.warns(UserWarning, match="not a double precision"):
        with pytest.raises(RuntimeError, match="The input is torch.float32"):
            T.autograd.gradcheck(T.sin, x, eps=1e-6, atol=1e-9, rtol=1e-9)


def leaf(data):
    return T.tensor(data, dtype=T.float64, requires_grad=True)


def test_2_4_Cornell_gradients_are_checked_everywhere():
    class Wrong(T.autograd.Function):                  # right but for one element
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            g = g * 2
            g.reshape(-1)[-1] += 0.1
            return g
    with pytest.raises(RuntimeError):
        T.autograd.gradcheck(Wrong.apply, leaf([1.0, 2.0, 3.0]))
