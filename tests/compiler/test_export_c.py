"""`export_c`: the C files are C99 without warnings, need no Python, and give what the eager function gives."""

import shutil
import subprocess

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn as nn
import minitorch.nn.functional as F
from minitorch.backends import native

pytestmark = pytest.mark.skipif(native.reason() is not None, reason=f"{native.reason()}")
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]


def net(*layers):
    torch.manual_seed(0)
    return nn.Sequential(*[layer() for layer in layers]).eval()


def attention():
    return nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)


NETS = dict(
    mlp=lambda: (net(lambda: nn.Linear(20, 16), nn.ReLU, lambda: nn.Linear(16, 5), lambda: nn.Softmax(-1)),
                 torch.randn(3, 20)),
    norms=lambda: (net(lambda: nn.Linear(6, 8), lambda: nn.BatchNorm1d(8), nn.GELU, lambda: nn.LayerNorm(8)),
                   torch.randn(5, 6)),
    words=lambda: (net(lambda: nn.Embedding(20, 8), lambda: nn.Linear(8, 4), lambda: nn.LogSoftmax(-1)),
                   torch.randint(0, 20, (3, 7))),
    images=lambda: (net(lambda: nn.Conv2d(1, 4, 3), nn.ReLU, lambda: nn.MaxPool2d(2), nn.Flatten,
                        lambda: nn.Linear(36, 10)), torch.randn(2, 1, 8, 8)),
    attention=lambda: (net(attention), torch.randn(2, 5, 8)),
    several=lambda: (lambda x, y: (x * 2 + y.t(), (x @ y).sum(0), x > 0, x.reshape(2, 6).t(),
                                   y.sum().sin()), (torch.randn(4, 3), torch.randn(3, 4))),
    doubles=lambda: (lambda x: (x.double().exp() @ x.double().t()).log(), torch.randn(3, 5)))


def compiled(folder, name):
    command = [shutil.which("cc") or "gcc", "-O1", *STRICT, f"{folder}/{name}.c", f"{folder}/{name}_example.c", "-lm",
               "-o", f"{folder}/{name}"]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("name", NETS)
def test_a_file_compiles_and_agrees(name, tmp_path):
    torch.manual_seed(1)
    model, example = NETS[name]()
    path = torch.export_c(model, example, tmp_path / f"{name}.c")
    done = compiled(tmp_path, name)
    assert done.returncode == 0, done.stderr
    run = subprocess.run([str(tmp_path / name)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    assert "Python" not in path.read_text() and "malloc" not in path.read_text()
    assert sorted(f.name for f in tmp_path.iterdir()) == sorted([f"{name}.c", f"{name}.h", f"{name}_example.c", name])


def test_other_inputs_in_the_same_process(tmp_path):
    """Called from here twice, with what the file has not seen."""
    model, example = NETS["mlp"]()
    library = native.build(torch.export_c(torch.compile(model), example, tmp_path / "mlp.c").read_text())
    run = library.function("mlp", "pp", "i")
    for seed in (5, 6):
        x = np.random.default_rng(seed).standard_normal((3, 20)).astype(np.float32)
        out = np.empty((3, 5), np.float32)
        assert run(native.address(x), native.address(out)) == 0
        np.testing.assert_allclose(out, model(torch.tensor(x)).detach().numpy(), 1e-6, 1e-7)


def test_a_wrong_index_is_a_code(tmp_path):
    model, example = NETS["words"]()
    library = native.build(torch.export_c(model, example, tmp_path / "words.c").read_text())
    x, out = np.full((3, 7), 20), np.empty((3, 7, 4), np.float32)
    assert library.function("words", "pp", "i")(native.address(x), native.address(out)) == 1


def test_a_network_for_digits_is_small(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1),
                          nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 10))
    path = torch.export_c(model, torch.randn(1, 1, 8, 8), tmp_path / "digits.c")
    assert compiled(tmp_path, "digits").returncode == 0
    assert path.stat().st_size < 200_000 and (tmp_path / "digits").stat().st_size < 200_000


@pytest.mark.parametrize("function, error, words", [
    (lambda x: x.sort().values, ValueError, "no C for"),
    (lambda x: x.add_(1), ValueError, "writes to an argument"),
    (lambda x: x, ValueError, "other than new tensors"),
    (lambda x: x * 2 if x.sum() > 0 else x, RuntimeError, "cannot trace"),
    (lambda x: x + torch.rand(3), ValueError, "no C for"),
    (3, TypeError, "takes a function or a module")])
def test_what_cannot_be_written(function, error, words, tmp_path):
    with pytest.raises(error, match=words):
        torch.export_c(function, torch.ones(2, 3), tmp_path / "f.c")
    assert not [*tmp_path.iterdir()]


def test_names(tmp_path):
    for name in ("double", "two words", "9"):
        with pytest.raises(ValueError, match="name of a C function"):
            torch.export_c(F.relu, torch.ones(2), tmp_path / f"{name}.c")
    with pytest.raises(ValueError, match="ends in .c"):
        torch.export_c(F.relu, torch.ones(2), tmp_path / "f.py")
    assert "int act(const float *" in torch.export_c(F.relu, torch.ones(2), tmp_path / "9.c", name="act").read_text()
