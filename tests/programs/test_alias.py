"""Programs find the library under the names ``torch`` and ``torchvision``."""

import os
import subprocess
import sys
from pathlib import Path

import minitorch as t
from tests.cli.test_command_line import python

PROGRAM = """
import importlib.metadata, torch
from torch.cuda.amp import autocast, GradScaler
from torch.optim.adamw import AdamW
from torch.optim import adamw
from torch.nn.parallel.distributed import DistributedDataParallel
from torch.utils.data._utils.collate import default_collate
from torch.utils.data import _utils
import torch.utils.tensorboard.writer, torch.signal.windows.windows, torch.cuda.random, torch.cuda.nvtx as nvtx
import torch.backends.cuda, torch.autograd.variable, torch.utils.cpp_extension
assert AdamW is torch.optim.AdamW is adamw.AdamW and torch.backends.cuda.math_sdp_enabled()
assert default_collate is torch.utils.data.default_collate and torch.utils.cpp_extension.CUDA_HOME is None
assert torch.__version__ >= (2, 13) and importlib.metadata.version("torch") == torch.__version__, torch.__version__
assert torch.version.cuda is None and torch.__version__.endswith("+minitorch")
import minitorch
assert minitorch.__spec__.name == "minitorch" and minitorch is torch
print("fine")
"""


def test_files_and_versions_under_the_alias(tmp_path, capsys):
    (tmp_path / "program.py").write_text(PROGRAM)
    assert python("-m", "minitorch", "program.py", cwd=Path(tmp_path)).strip() == "fine"


TORCHVISION = """
import torch, torchvision
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F
from torchvision import tv_tensors
from torchvision.transforms.functional import adjust_hue
from torchvision.tv_tensors import BoundingBoxes
print(type(v2.ToImage()(torch.rand(3, 2, 2))) is tv_tensors.Image is torchvision.tv_tensors.Image)
"""


def test_programs_that_import_torchvision(tmp_path):
    (tmp_path / "program.py").write_text(TORCHVISION)
    run = subprocess.run([sys.executable, "-m", "minitorch", str(tmp_path / "program.py")], text=True,
                         capture_output=True)
    assert run.stdout == "True\n", run.stderr


DISTRIBUTIONS = """
import sys
import torch
assert not any(name.startswith("minitorch.distributions") for name in sys.modules)      # imported when asked for
import torch.distributions as D
from torch.distributions import Normal, constraints, kl
from torch.distributions.normal import Normal as Same
from torch.distributions.transforms import ExpTransform
from torch.distributions.studentT import StudentT
from torch.distributions.utils import broadcast_all
assert Normal is Same is torch.distributions.Normal and D.ExpTransform is ExpTransform
print(Normal(0.0, 1.0).log_prob(torch.tensor(0.0)).item())
"""


def test_distributions_under_the_alias(tmp_path):
    (tmp_path / "script.py").write_text(DISTRIBUTIONS)
    env = {**os.environ, "PYTHONPATH": str(Path(t.__file__).parents[1])}
    command = [sys.executable, "-m", "minitorch", str(tmp_path / "script.py")]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.stdout.startswith("-0.918938"), done.stderr


def test_under_the_names_of_torchvision(tmp_path):
    script = tmp_path / "names.py"
    script.write_text("import torchvision, torch\nfrom torchvision.models.resnet import BasicBlock, ResNet\n"
                      "from torchvision.ops import nms, StochasticDepth\nimport torchvision.transforms as T\n"
                      "from torchvision.ops.misc import FrozenBatchNorm2d\n"
                      "from torchvision.models import resnet18, ResNet18_Weights\n"
                      "assert isinstance(resnet18(num_classes=2), torchvision.models.ResNet)\n"
                      "print(torchvision.__version__, torchvision.utils.make_grid(torch.zeros(2, 3, 4, 4)).shape)\n")
    found = subprocess.run([sys.executable, "-m", "minitorch", str(script)], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("0.28.0")
