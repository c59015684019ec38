"""The benchmarks run: contestants answer, ratios are made, floors learn, tables come out."""

import subprocess
import sys

import pytest

pytest.importorskip("benchmarks", reason="only beside the sources")

from benchmarks import footprint, measure, report  # noqa: E402
from benchmarks.floors import FLOORS  # noqa: E402
from benchmarks.rows import load_rows  # noqa: E402
from tests import ROOT as root


@pytest.fixture(autouse=True)
def in_root(monkeypatch):
    monkeypatch.chdir(root)


def test_every_floor_has_its_row():
    assert set(FLOORS) < set(load_rows())


@pytest.mark.parametrize("name, steps", [("article", 300), ("mlp", 20), ("gpt", 10)])
def test_floors_learn(name, steps):
    step = FLOORS[name]()
    losses = [abs(float(x if x.ndim == 0 else x[0])) for x in (step() for _ in range(steps))]
    assert losses[-1] < 0.95 * losses[0]


def test_contestants_take_turns_and_errors_are_told():
    players = [measure.Contestant("minitorch", "one"), measure.Contestant("minitorch without blocks", "one")]
    try:
        took = measure.duel(players, "op/a + b", 0.1, turn=0.005, other="minitorch without blocks")
        assert 0.2 < took["minitorch"]["cpu_ratio"] < 5 and took["minitorch"]["cpu"] > 1e-6
        assert measure.duel(players, "no such row", 0.1) == {}
        assert "KeyError" in players[0].ask(do="prepare", row="no such row")["error"]
        assert players[0].ask(do="turn", calls=1).keys() >= {"error"}
    finally:
        for player in players:
            player.close()


def test_the_switches_of_the_table_exist():
    from minitorch.testing.switches import SWITCHES
    assert set(measure.SWITCH_ROWS) - {"allocator settings"} == set(SWITCHES)
    assert all(name in load_rows() for names in measure.SWITCH_ROWS.values() for name in names)


def test_report_says_what_is_met():
    def took(ratio):
        return {"minitorch": {"cpu": ratio, "wall": 1, "cpu_ratio": ratio, "wall_ratio": ratio},
                "torch": {"cpu": 1, "wall": 1, "cpu_ratio": 1, "wall_ratio": 1}}
    found = {"machine": dict(cpu="a processor", cores=2, torch="2", numpy="2", python="3", date="today"),
             "one": {"gpt": took(0.5), "mlp": took(0.6), "wide_mlp": took(3.0)},
             "memory": {"gpt": {"minitorch": {"growth": 1, "total": 2}, "torch": {"growth": 2, "total": 4}}},
             "import": {"minitorch": {"cpu": 0.1, "cpu_ratio": 0.2}, "torch": {"cpu": 0.5}}}
    text = report.markdown(found, load_rows())
    lines = {line.split(" | ")[0]: line for line in text.splitlines() if "/" in line}
    assert "| target |" in lines["| GPT, 4 layers, d=128, context 64, AdamW, batch 16"]
    assert "| gate |" in lines["| MLP 784-128-10, Adam, batch 64"]
    assert "**missed**" in lines["| MLP 784-1024-1024-10, Adam, batch 256"]
    assert "| 0.20 | 0.15 | **missed** |" in text and "Of 3 rows with a gate, 2 meet it and 1 reach" in text


def test_markdown_goes_between_the_markers(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.put_between_markers(page, "new\n")
    assert page.read_text() == f"before\n{report.BEGIN}\nnew\n{report.END}\nafter\n"


def test_import_and_size():
    found = footprint.import_times(["minitorch"], 1, {})["minitorch"]["cpu"]
    assert 0.01 < found < 20
    assert 5 < footprint.sizes(["minitorch"])["minitorch"] < 500


def test_the_command_lists_its_rows():
    out = subprocess.run([sys.executable, "-m", "benchmarks", "--list", "--only", "^gpt$|memory"], check=True,
                         text=True, capture_output=True).stdout
    assert out.split() == ["gpt", "memory"]
