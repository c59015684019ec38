"""``python -m minitorch``: the demo, PyTorch scripts, and what an import costs."""

import os
import subprocess
import sys

import pytest

from tests import ROOT


def python(*args, cwd):
    """Run Python on this checkout; its output, after checking that it ended well."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *args], cwd=cwd, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


SCRIPT = """
import sys
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.utils.data import DataLoader, TensorDataset
from torch.optim.lr_scheduler import StepLR
import torch.autograd.functional

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)
    def forward(self, x):
        return F.relu(self.fc(x))

torch.manual_seed(int(sys.argv[1]))
net = Net()
opt = optim.SGD(net.parameters(), lr=0.1)
schedule = StepLR(opt, 1)
for x, y in DataLoader(TensorDataset(torch.randn(8, 2), torch.ones(8, 1)), batch_size=4):
    opt.zero_grad()
    F.mse_loss(net(x), y).backward()
    opt.step()
schedule.step()
torch.save(net.state_dict(), "net.pt")
weight = torch.load("net.pt")["fc.weight"]
print(type(weight) is torch.Tensor, type(weight).__module__, type(net.fc).__module__.split(".")[0], nn.functional is F,
      __name__, sys.argv)
"""


def test_a_pytorch_script_runs_unmodified(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    out = python("-m", "minitorch", "script.py", "3", "--flag", cwd=tmp_path)
    assert out.strip() == "True torch minitorch True __main__ ['script.py', '3', '--flag']"


@pytest.mark.parametrize("line, word", [("import torch.package", "minitorch.package"),
                                        ("import torch; torch.nonsense", "nonsense"),
                                        ("from torch import sparse_bsr_tensor", "sparse_bsr_tensor")])
def test_what_is_missing_says_so(tmp_path, line, word):
    (tmp_path / "script.py").write_text(line)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-m", "minitorch", "script.py"], cwd=tmp_path, env=env, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode != 0 and word in done.stderr and "minitorch" in done.stderr


def test_demo_trains_and_leaves_its_results(tmp_path):
    out = python("-m", "minitorch", "demo", "--epochs", "2", "--batch-size", "128", "--out", "results", cwd=tmp_path)
    assert "test accuracy" in out.splitlines()[1]
    accuracy = float(out.splitlines()[2].split()[-1].rstrip("%"))
    assert accuracy > 80
    assert (tmp_path / "results" / "model.pt").stat().st_size > 100_000
    assert (tmp_path / "results" / "digits.png").read_bytes().startswith(b"\x89PNG")


def test_info(tmp_path):
    assert "numpy" in python("-m", "minitorch", "info", cwd=tmp_path)


def test_import_brings_in_only_what_it_needs(tmp_path):
    code = ("import sys, threading, minitorch; print(threading.active_count(), [m for m in sys.modules if m in "
            "('cupy', 'torch', 'multiprocessing', 'urllib.request', 'PIL', 'hypothesis', 'matplotlib', 'tqdm', "
            "'ml_dtypes', 'minitorch.nn', 'minitorch.optim', 'minitorch.datasets')])")
    assert python("-c", code, cwd=tmp_path).strip() == "1 []"


def test_the_articles_losses(tmp_path):
    out = python(str(ROOT / "examples" / "article.py"), cwd=tmp_path)
    losses = [line.split()[-1] for line in out.splitlines()]
    assert losses == "1.7035 0.7193 0.3068 0.1742 0.1342 0.1232 0.1220 0.1241 0.1270 0.1297".split()


def test_aliases_leave_modules_as_they_are(tmp_path):
    code = ("from minitorch.cli.alias import install; install()\n"
            "import torch, torch.backends.cudnn as cudnn, torch.nn.functional as F, torch.nn.parallel\n"
            "import torchvision.utils as tv, minitorch\n"
            "cudnn.benchmark = True; tv.save_image(torch.rand(2, 1, 3, 3), 'grid.png')\n"
            "print(minitorch.__spec__.name, F.__spec__.name, tv.__package__, torch.backends.cudnn.benchmark)")
    assert python("-c", code, cwd=tmp_path).strip() == "minitorch minitorch.nn.functional minitorch.vision True"


def test_data_parallel_on_one_device(tmp_path):
    import minitorch as torch
    linear = torch.nn.Linear(2, 3)
    parallel = torch.nn.DataParallel(linear)
    x = torch.randn(4, 2)
    assert parallel(x).equal(linear(x)) and list(parallel.state_dict()) == ["module.weight", "module.bias"]
    assert torch.nn.parallel.data_parallel(linear, x, range(1)).equal(linear(x))
    with pytest.raises(ValueError, match="device_ids"):
        torch.nn.DataParallel(linear, device_ids=[0, 1])


def test_onnx_can_be_imported_and_says_what_it_lacks():
    import minitorch as torch
    with pytest.raises(NotImplementedError, match="state_dict"):
        torch.onnx.export(torch.nn.Linear(1, 1), torch.ones(1), "x.onnx")
