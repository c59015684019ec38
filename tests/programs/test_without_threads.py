"""The package imports and trains where threads, processes and sockets are forbidden."""

import os
import subprocess
import sys
from pathlib import Path

from tests import ROOT

PROGRAM = Path(__file__).with_name("without_threads.py")


def test_training_in_a_python_of_one_thread():
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MINITORCH_NATIVE": "0"}
    done = subprocess.run([sys.executable, str(PROGRAM)], env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout == "all of it runs\n", done.stdout + done.stderr
