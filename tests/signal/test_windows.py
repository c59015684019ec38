"""Windows of `signal` against PyTorch's values, and made of each other."""

import numpy as np
import pytest

import minitorch as torch

W = torch.signal.windows


@pytest.mark.parametrize("window, wanted", [            # from PyTorch, five points, periodic
    (W.bartlett, [0.0, 0.4, 0.8, 0.8, 0.4]), (W.hann, [0.0, 0.3454915, 0.9045085, 0.9045085, 0.3454915]),
    (W.hamming, [0.08, 0.3978522, 0.9121478, 0.9121478, 0.3978522]),
    (W.blackman, [0.0, 0.2007701, 0.8492299, 0.8492299, 0.2007701]),
    (W.cosine, [0.258819, 0.7071068, 0.9659258, 0.9659258, 0.7071068]),
    (W.exponential, [0.082085, 0.2231302, 0.6065307, 0.6065307, 0.2231302]),
    (W.gaussian, [0.0439369, 0.3246525, 0.8824969, 0.8824969, 0.3246525])])
def test_windows(window, wanted):
    np.testing.assert_allclose(window(5, sym=False).numpy(), wanted, atol=1e-6)
    symmetric = window(6, dtype=torch.float64)
    torch.testing.assert_close(symmetric, symmetric.flip(0))
    assert symmetric.dtype is torch.float64 and window(0).shape == (0,) and not window(3).requires_grad
    with pytest.raises(ValueError, match="non-negative"):
        window(-1)
    with pytest.raises(ValueError, match="float32 or float64"):
        window(3, dtype=torch.int64)


def test_windows_made_of_others():
    torch.testing.assert_close(W.general_cosine(7, a=[0.42, 0.5, 0.08]), W.blackman(7))
    torch.testing.assert_close(W.general_hamming(7, alpha=0.5), W.hann(7))
    torch.testing.assert_close(W.kaiser(7, beta=12.0), torch.kaiser_window(7, False))
    assert W.nuttall(1).tolist() == [1.0]
