"""Sharded tensors in processes, by the launcher and by mpiexec: losses, gradients, states, checkpoints of one process.

`tests/parity/test_sharded_ranks.py` compares the same programs with PyTorch and gloo.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.distributed.test_processes import MPIEXEC, launched, needs_mpi, run, unix

pytestmark = unix
SCRIPT = str(Path(__file__).with_name("sharded_ranks.py"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where four ranks have left what they saw, each by itself ("plain") and together, and their checkpoint."""
    found = tmp_path_factory.mktemp("sharded")
    code, _, err = launched(SCRIPT, f"{found}/four", f"{found}/checkpoint", "plain", "fsdp", "hybrid", "split",
                            "both", "dtensors", options=("--nproc-per-node", "4"))
    assert code == 0, err
    return found


def seen(folder, job, name, rank):
    return json.loads((folder / f"{job}.{name}.{rank}.json").read_text())


def close(found, expected, names):
    for name in names:
        a, b = np.array(expected[name]), np.array(found[name])
        assert a.shape == b.shape and np.abs(a - b).max() <= 1e-5 * max(np.abs(a).max(), 1), name


SEEN = ("gradients", "norms", "parameters", "states")


@pytest.mark.parametrize("name, shares", [("fsdp", 4), ("hybrid", 4), ("split", 1), ("both", 2)])
def test_four_ranks_by_the_launcher(folder, name, shares):
    expected, found = seen(folder, "four", "plain", 0), [seen(folder, "four", name, rank) for rank in range(4)]
    for one in found:
        close(one, expected, SEEN)
        assert one["gradients"] == found[0]["gradients"] and one["parameters"] == found[0]["parameters"]
    close({"losses": np.mean([one["losses"] for one in found], 0)}, expected, ["losses"])
    assert len({str(one["losses"]) for one in found}) == shares


@needs_mpi
def test_two_ranks_over_mpi_load_what_four_have_saved(folder):
    code, _, err = run(MPIEXEC, "-n", "2", sys.executable, "-m", "minitorch", SCRIPT, f"{folder}/two",
                       f"{folder}/checkpoint", "resumed", "split", "dtensors", MINITORCH_TRANSPORT="mpi")
    assert code == 0, err
    expected = seen(folder, "four", "plain", 0)
    for rank in range(2):
        close(seen(folder, "two", "resumed", rank), expected["later"], SEEN)
        close(seen(folder, "two", "split", rank), expected, SEEN)
        four, two = seen(folder, "four", "dtensors", 0), seen(folder, "two", "dtensors", rank)
        close(two, four, [name for name in four if name != "sum"])      # whose terms are more
