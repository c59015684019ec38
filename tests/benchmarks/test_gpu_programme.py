"""The GPU programme, tried on the simulator: its processes, what it notes down, and the page of results."""

import re
import sys
import time

import pytest

pytest.importorskip("benchmarks", reason="only beside the sources")

from benchmarks import gpu, gpu_page, supervised  # noqa: E402
from tests import ROOT as root  # noqa: E402

CHILD = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from benchmarks.supervised import Lines, Unfit, work_through

def unfit():
    raise Unfit("a fault of the device")

def wrong():
    raise ValueError("no such size")

items = {"a": lambda: {"value": 1}, "wrong": wrong, "unfit": unfit, "b": lambda: {"value": os.getpid()},
         "hangs": lambda: time.sleep(60), "dies": os.abort, "leaves": lambda: os._exit(3), "c": lambda: {"value": 3}}
work_through(Lines(Path(sys.argv[2])), "group", items, sys.argv[3:])
"""
NAMES = ["a", "wrong", "unfit", "b", "hangs", "dies", "leaves", "c"]


def supervise(path, names, **options):
    program = path.with_name("child.py")
    program.write_text(CHILD)
    lines = supervised.Lines(path)
    left = supervised.supervise(lines, "group", names, lambda names: [sys.executable, program, root, path, *names],
                                limit=2.0, **options)
    return {line["item"]: line for line in lines.read()}, left


def test_an_item_costs_only_its_own_result(tmp_path):
    found, left = supervise(tmp_path / "results.jsonl", NAMES)
    assert left == [] and list(found) == NAMES
    assert found["a"]["value"] == 1 and found["c"]["value"] == 3
    assert found["wrong"]["error"] == "ValueError: no such size" and found["unfit"]["error"] == "a fault of the device"
    assert re.search(r"stopped after \d+ s", found["hangs"]["error"]) and "SIGABRT" in found["dies"]["error"]
    assert "status 3" in found["leaves"]["error"]
    again, _ = supervise(tmp_path / "results.jsonl", [*NAMES, "a"])       # nothing is done twice
    assert again == found


def test_the_time_is_kept_and_broken_starts_are_told(tmp_path):
    found, left = supervise(tmp_path / "one.jsonl", ["a", "hangs", "c"], until=time.monotonic() + 0.6)
    assert list(found) in (["a"], []) and left == ["a", "hangs", "c"][len(found):]      # a may come too late, too
    lines = supervised.Lines(tmp_path / "two.jsonl")
    command = lambda names: [sys.executable, "-c", "raise SystemExit('no device')"]
    assert supervised.supervise(lines, "group", ["a", "b"], command, limit=1) == []
    assert all("did not start" in line["error"] and "no device" in line["error"] for line in lines.read())
    lines.path.write_text(lines.path.read_text() + '{"cut of')
    assert lines.done("group") == {"a", "b"}


def test_the_page_tells_what_is_there_and_what_is_not():
    rate = dict(group="rates", ceiling="copy", gate=0.8, target=0.9, seconds=1e-4, rate=3e12, correct="1e-7")
    lines = [dict(group="about", item="about", device="A GPU", when="today", versions="1", simulated=True),
             dict(rate, item="x + y", of_ceiling=0.85, to_pytorch=0.5), dict(rate, item="slow", of_ceiling=0.3),
             dict(group="rates", item="broken", error="RuntimeError: a | b"),
             dict(group="rates", item="product", ceiling="not measured: none", gate=1, target=1, seconds=1, rate=1),
             dict(group="training", item="MLP", seconds={"eager": 1e-3, "graph": 5e-4}),
             dict(group="conformance", item="floats 0-63", cases=64, wrong=["add: 1 of 192 wrong"], refused=[])]
    text = gpu_page.page(lines)
    assert "# A GPU" in text and "no figure here is a measurement" in text and "5 of 6 items have a result" in text
    assert "- rates, broken: RuntimeError: a / b" in text
    assert "| x + y | 100.0 | 3.000 | copy | 0.85 | 0.8 / 0.9 | gate |" in text
    assert "**missed**" in text and "| not measured: none |  | 1 / 1 |  |" in text
    assert "| MLP | 1000.0 | 500.0 |" in text and "63 of 64 micro-kernels agree" in text


def compile_failing_kernels(device):
    """So that the limit of the items is spent on running them."""
    from benchmarks import gpu_groups
    from minitorch.backends import sim
    options = gpu.options(["--device", device, "--quick"])
    items = gpu_groups.trial(gpu_groups.Setting(options))
    with sim.settings(time_limit=0.05):
        for name in ("a kernel that faults", "a kernel that hangs"):
            with pytest.raises(sim.SimulatorError):
                items[name]()


def test_a_rehearsal_on_the_simulator_with_kernels_that_fault_and_hang(tmp_path, device, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gpu", "--device", "sim", "--quick", "--groups", "trial", "--limit", "3",
                                      "--only", "faults|hangs", "--out", str(tmp_path)])
    compile_failing_kernels(device)
    gpu.main()
    found = {line["item"]: line for line in supervised.Lines(tmp_path / "results.jsonl").read()}
    assert found["about"]["simulated"]
    assert "which is not memory of the device" in found["a kernel that faults"]["error"]
    assert "stopped after 3 s" in found["a kernel that hangs"]["error"]
    with pytest.raises(SystemExit, match="--resume"):
        gpu.main()
    assert "0 of 2 items have a result" in (tmp_path / "results.md").read_text()
