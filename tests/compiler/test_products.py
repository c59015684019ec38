"""Products in C whose right matrix lies turned: copied first where that gains, at sizes around the limits of that."""

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch.backends import native
from minitorch.compiler import unit
from tests.compiler.test_lowering import whole
from tests.compiler.test_native import agree

pytestmark = pytest.mark.skipif(native.reason() is not None, reason=f"{native.reason()}")


@pytest.mark.parametrize("lead,m,n,k", [((), 16, 16, 33), ((3,), 40, 33, 24), ((2, 3), 17, 20, 5), ((), 15, 16, 40)])
def test_turned_right_matrices(lead, m, n, k):
    rng = np.random.default_rng(0)
    a, b, w = (rng.standard_normal(s).astype("f") for s in ((*lead, m, k), (*lead, n, k), (n, k)))
    turned = m >= unit.TURNED_ROWS
    compiled = whole_of(lambda a, b, w: (a @ b.mT, F.linear(a, w), a @ w.t() * 2), a, b, w)
    assert ("turn(" in compiled.c_source) == turned
    whole_of(lambda a, b: (a @ b.mT, (b @ a.mT).mT), a.astype("d"), b.astype("d"))


def whole_of(*given):
    found = agree(*given, rtol=1e-4, atol=1e-5)
    whole(found)
    return found


def test_attention_in_c_and_sizes_as_parameters():
    attend = lambda q, k, v: (q @ k.transpose(-1, -2) * 0.25).softmax(-1) @ v
    rng = np.random.default_rng(1)
    whole_of(attend, *(rng.standard_normal((2, 3, 20, 16)).astype("f") for _ in range(3)))
    f = torch.compile(attend, backend="c")
    for n in range(18, 25):                                # more than a handful of shapes
        q, k, v = (torch.tensor(rng.standard_normal((2, n, 16)).astype("f")) for _ in range(3))
        for _ in range(2):
            np.testing.assert_allclose(f(q, k, v).numpy(), attend(q, k, v).numpy(), 1e-4, 1e-6)
    assert "sizes are parameters" in str(f.notes)
