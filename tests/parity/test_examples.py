"""The programs of examples/ are PyTorch programs: run by PyTorch they print the same losses."""

import os
import re
import subprocess
import sys

import pytest

from tests import ROOT

torch = pytest.importorskip("torch", reason="PyTorch is the yardstick")



@pytest.mark.parametrize("name, options", [
    ("digits_cnn", "--epochs 2"), ("seq2seq_attention", "--steps 10 --batch 16"), ("maml", "--steps 10 --tasks 2"),
    ("gpt", "--steps 10 --batch 4")])
def test_program(name, options, tmp_path):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    losses = []
    for how in (["-m", "minitorch"], []):
        command = [sys.executable, *how, str(ROOT / "examples" / f"{name}.py"), "--out", str(tmp_path)]
        done = subprocess.run([*command, *options.split()], cwd=tmp_path, env=env, capture_output=True, text=True,
                              timeout=300)
        assert done.returncode == 0, done.stderr
        losses.append([float(x) for x in re.search(r"loss: (\S+) at first, (\S+) at last", done.stdout).groups()])
    assert losses[0] == pytest.approx(losses[1], abs=2e-3)
