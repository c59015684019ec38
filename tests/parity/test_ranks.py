"""The same programs of two ranks under PyTorch with gloo and here: losses and averaged gradients, to rounding."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests import ROOT

pytest.importorskip("torch")
SCRIPT = str(Path(__file__).with_name("ranks.py"))
LAUNCHER = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where all programs have left what their ranks saw."""
    found = tmp_path_factory.mktemp("ranks")
    for library, start in ("torch", []), ("minitorch", ["-m", "minitorch"]):
        for arguments in [SCRIPT, "tutorial", f"{found}/{library}.tutorial"], [*LAUNCHER, SCRIPT, "all",
                                                                                f"{found}/{library}"]:
            ended = subprocess.run([sys.executable, *start, *arguments], text=True, capture_output=True, timeout=120,
                                   env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1",
                                        "OPENBLAS_NUM_THREADS": "1"})
            assert ended.returncode == 0, ended.stderr
    return found


def seen(folder, library, name, rank):
    return json.loads((folder / f"{library}.{name}.{rank}.json").read_text())


@pytest.mark.parametrize("name, steps", [("tutorial", 4), ("example", 1), ("mnist", 8), ("gpt", 3)])
def test_losses_and_averaged_gradients(folder, name, steps):
    theirs, ours = [[seen(folder, library, name, rank) for rank in (0, 1)] for library in ("torch", "minitorch")]
    for expected, found in zip(theirs, ours):
        assert len(found["gradients"]) == steps and found["samples"] == expected["samples"]
        for what, tolerance in ("losses", 1e-5), ("gradients", 2e-5), ("parameters", 2e-5):
            a, b = np.array(expected[what]), np.array(found[what])
            assert a.shape == b.shape and np.abs(a - b).max() <= tolerance * max(np.abs(a).max(), 1), what
    assert ours[0]["gradients"] == ours[1]["gradients"]    # the means: the same bits on both ranks
    assert ours[0]["losses"] != ours[1]["losses"]
