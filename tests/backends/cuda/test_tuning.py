"""The table of sizes that were measured on a GPU: who reads it, what is refused, how the sweep chooses."""

import json
import re
import sys
from importlib import import_module

import pytest

pytest.importorskip("benchmarks", reason="only beside the sources")
pytest.importorskip("cupy", reason="arrays of devices are CuPy's")

import minitorch as torch  # noqa: E402
from benchmarks import dry, gpu_tools  # noqa: E402
from benchmarks.gpu_rows import ROWS  # noqa: E402
from benchmarks.supervised import Lines  # noqa: E402
from minitorch.backends.cuda import makers, tuning  # noqa: E402


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Writes a table and makes it the one that is read."""
    def write(values, whole=None):
        path = tmp_path / "table.json"
        path.write_text(json.dumps(whole or {"device": "made up", "values": values}))
        monkeypatch.setenv("MINITORCH_CUDA_TUNING", str(path))
        return path
    before = {name: current(name) for name in tuning.PARAMETERS}
    yield write
    tuning.apply(before)


def current(name):
    parameter = tuning.PARAMETERS[name]
    return getattr(import_module(f"minitorch.backends.cuda.{parameter.module}"), parameter.name)


def test_defaults_are_among_the_candidates_and_rows_exist():
    for name, parameter in tuning.PARAMETERS.items():
        assert current(name) in parameter.candidates and len(parameter.candidates) > 1
        assert any(re.search(parameter.rows, row.name) for row in ROWS), name


def test_a_device_reads_its_table(table, monkeypatch, tmp_path):
    monkeypatch.setattr(tuning, "FOLDER", tmp_path)
    assert tuning.adopt("NVIDIA H200 (test)") == {}
    (tmp_path / "nvidia-h200-test.json").write_text('{"values": {"reduce.segment": 8192}}')
    assert tuning.adopt("NVIDIA H200 (test)") == {"reduce.segment": 8192} and current("reduce.segment") == 8192
    table({"product.stages": 3, "optimiser.chunk": 65536})             # goes before it, on the simulator, too
    makers.make_sim(5)
    assert current("product.stages") == 3 and current("optimiser.chunk") == 65536


def test_kernels_are_launched_with_its_sizes(table):
    p = torch.nn.Parameter(torch.ones(1 << 20, device="dry"))
    p.grad = torch.ones_like(p)

    def blocks():
        with dry.launches() as found:
            torch.optim.SGD([p], lr=0.1).step()
        return [launch.blocks for launch in found if launch.entry == "optimiser_step"]
    before = import_module("minitorch.backends.cuda.arrays.foreach").chunks_of
    table({"optimiser.chunk": 65536})
    tuning.adopt()
    before.cache_clear()
    assert blocks() == [16]
    before.cache_clear()


def test_what_is_no_table_is_refused(table):
    for values, words in (({"product.stage": 3}, "there is no size 'product.stage'"),
                          ({"product.stages": 99}, "is 99")):
        table(values)
        with pytest.raises(ValueError, match=words):
            tuning.adopt()
    table(None, whole=["values"])
    with pytest.raises(ValueError, match="lacks \"values\""):
        tuning.adopt()
    assert current("product.stages") != 3


def test_the_sweep_chooses_what_is_clearly_better():
    times = {4: {"a": 1.0, "b": 2.0}, 3: {"a": 0.9, "b": 1.8}, 5: {"a": 0.5}, 6: {"a": 0.99, "b": 2.0}}
    assert gpu_tools.choice("stages", times, 4) == {"stages": 3}           # 5 failed on a row
    assert gpu_tools.choice("stages", {4: times[4], 6: times[6]}, 4) == {}
    assert gpu_tools.choice("stages", {4: {}, 3: times[3]}, 4) == {}


def test_tools_that_are_missing_or_take_too_long_are_told(tmp_path):
    lines = Lines(tmp_path / "tools.jsonl")
    gpu_tools.run(lines, "sanitize", "memcheck", ["no"], 5, tool="no-such-sanitizer")
    gpu_tools.run(lines, "profile", "slow", [sys.executable, "-c", "import time; time.sleep(9)"], 0.3)
    gpu_tools.run(lines, "profile", "good", [sys.executable, "-c", "print('43 %')"], 20)
    gpu_tools.run(lines, "profile", "good", ["not again"], 5)
    first, second, third = lines.read()
    assert "is not on this machine" in first["error"] and "stopped after" in second["error"]
    assert third["status"] == 0 and third["end"] == "43 %\n"
