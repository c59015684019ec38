"""An import of the library: it needs NumPy only, and starts nothing."""

import subprocess
import sys


def test_N_24_D_3_importing_needs_numpy_only():
    code = ("import sys, importlib.abc\n"
            "class Refuse(importlib.abc.MetaPathFinder):\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            "        if name.partition('.')[0] in ('cupy', 'torch', 'mpi4py', 'scipy', 'matplotlib', 'tqdm'):\n"
            "            raise ImportError('not at import: ' + name)\n"
            "sys.meta_path.insert(0, Refuse())\n"
            "import minitorch as t, threading\n"
            "x = t.ones(2, requires_grad=True); t.nn.Linear(2, 1)(x * 2).sum().backward()\n"
            "assert threading.active_count() == 1 and x.grad is not None\n")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
