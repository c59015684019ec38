"""Programs of many shapes share their C: numbers are parameters once a function has met a handful of shapes."""

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch.backends import native
from minitorch.backends.native import library
from minitorch.compiler.sized import HANDFUL, Numbers

pytestmark = pytest.mark.skipif(native.reason() is not None, reason=f"{native.reason()}")


def test_the_compiler_runs_for_a_handful_of_shapes_and_hardly_more(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    library.built.cache_clear()
    runs, plain = [], library.run
    monkeypatch.setattr(library, "run", lambda *given: (runs.append(1), plain(*given))[1])

    def function(x, w):
        return F.layer_norm(x @ w, (7,)).tanh().mean() * 2, x.sum(0)
    compiled, w = torch.compile(function, backend="c"), torch.randn(13, 7)
    for n in range(20, 20 + HANDFUL + 6):
        x = torch.randn(n, 13)
        for _ in range(2):
            for a, b in zip(function(x, w), compiled(x, w)):
                np.testing.assert_allclose(b.numpy(), a.numpy(), 1e-5, 1e-5)
    assert HANDFUL < len(runs) <= HANDFUL + 2 and "const i64 *N" in compiled.c_source
    assert any("parameters" in note for note in compiled.notes)


def test_gradients_are_those_of_eager_runs_in_every_shape():
    compiled = torch.compile(lambda x: (F.gelu(x).softmax(-1) * 0.3).square().mean(), backend="c")
    for n in range(2, 2 + HANDFUL + 3):
        x = torch.randn(n, 2 * n, requires_grad=True)
        y = (F.gelu(x).softmax(-1) * 0.3).square().mean()
        expected, = torch.autograd.grad(y, x)
        for _ in range(2):
            found, = torch.autograd.grad(compiled(x), x)
            np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-4, 1e-7)


def test_numbers_of_a_text():
    numbers = Numbers()
    text = numbers.of_function("static void f(char *scratch) {\n  x2[i0 * 12 + 1] = 2.5f + -1e-05 + t3 * 12;\n}")
    assert "i0 * n0_ + 1" in text and "const float n1_ = (float)as_double(N[1]);" in text and "t3 * n" in text
    assert numbers.values[0] == 12 and np.array(numbers.values[1:3]).view(float).tolist() == [2.5, 1e-05]
    assert Numbers().of_statement("  k0((float *)P[3] + 7, A + 0);", 5) == "  k0((float *)P[3] + N[5], A + N[6]);"
