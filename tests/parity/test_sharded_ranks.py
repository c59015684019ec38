"""The programs of `sharded_ranks.py` under PyTorch with gloo and here: losses, gradients, states, checkpoints."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tests import ROOT

pytest.importorskip("torch")
SCRIPT = str(ROOT / "tests" / "distributed" / "sharded_ranks.py")
JOBS = {4: ["fsdp", "hybrid", "split", "both"],
        2: ["fsdp", "resumed", "hybrid", "split", "pipelined", "dtensors"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the ranks of both libraries have left what they saw."""
    found = tmp_path_factory.mktemp("ranks")
    for library, start in ("torch", []), ("minitorch", ["-m", "minitorch"]):
        for ranks, names in JOBS.items():
            ended = subprocess.run([sys.executable, *start, "-m", "torch.distributed.run", "--nproc-per-node",
                                    str(ranks), SCRIPT, f"{found}/{library}{ranks}", f"{found}/{library}", *names],
                                   text=True, capture_output=True, timeout=300,
                                   env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1",
                                        "OPENBLAS_NUM_THREADS": "1"})
            assert ended.returncode == 0, ended.stderr
    return found


@pytest.mark.parametrize("ranks, name", [(ranks, name) for ranks, names in JOBS.items() for name in names])
def test_as_pytorch(folder, ranks, name):
    for rank in range(ranks):
        expected, found = [json.loads((folder / f"{library}{ranks}.{name}.{rank}.json").read_text())
                           for library in ("torch", "minitorch")]
        assert list(found) == list(expected)
        for what in expected:
            a, b = np.array(expected[what]), np.array(found[what])
            assert a.shape == b.shape and np.abs(a - b).max() <= 1e-5 * max(np.abs(a).max(), 1), what
