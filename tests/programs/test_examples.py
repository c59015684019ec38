"""The programs of examples/ run as PyTorch scripts on minitorch and learn something in a few steps."""

import os
import re
import subprocess
import sys

import pytest

from tests import ROOT

# Program: its options here, and whether the loss must fall in so few steps (games have no such loss).
PROGRAMS = {
    "digits_cnn": ("--epochs 2", True),
    "vae": ("--epochs 2", True),
    "gan": ("--epochs 2", False),
    "char_rnn": ("--steps 10 --batch 8 --length 16", True),
    "gpt": ("--steps 10 --batch 4", True),
    "diffusion": ("--steps 60 --batch 64 --noise-steps 50", True),
    "seq2seq_attention": ("--steps 10 --batch 16", True),
    "reinforce": ("--steps 5 --carts 4", False),
    "maml": ("--steps 10 --tasks 2", False),
    "resnet": ("--epochs 2 --blocks 1", True),
    "unet": ("--steps 10 --batch 4", True),
    "time_sequence": ("--steps 2 --length 20", True),
}


def test_every_program_is_tried():
    others = {"article", "common", "bytepairs", "gpt2", "language", "llama"}   # no programs, or of test_language.py
    assert {path.stem for path in (ROOT / "examples").glob("*.py")} - others == set(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, tmp_path):
    options, must_fall = PROGRAMS[name]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "minitorch", str(ROOT / "examples" / f"{name}.py"), "--out", str(tmp_path / "out")]
    done = subprocess.run([*command, *options.split()], cwd=tmp_path, env=env, capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr
    first, last = (float(x) for x in re.search(r"loss: (\S+) at first, (\S+) at last", done.stdout).groups())
    assert abs(last) < 1e4 and (last < first or not must_fall), done.stdout
    pytest.importorskip("matplotlib")
    assert (tmp_path / "out" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_without_progress_bar_and_pictures(tmp_path):
    code = ("import sys, runpy; sys.modules['tqdm'] = sys.modules['matplotlib'] = None\n"
            "from minitorch.cli.alias import run\n"
            f"run([{str(ROOT / 'examples' / 'time_sequence.py')!r}, '--steps', '1', '--length', '10'])")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True,
                          timeout=100)
    assert done.returncode == 0, done.stderr
    assert "pip install tqdm" in done.stdout and "pip install matplotlib" in done.stdout
