"""Jupyter kernels that a process with the imports behind it forks: each its own process, a second sooner than usual.

`Forker` starts that process and writes a kernel specification, whose command is this file: it asks for a fork and
lives as long as the kernel does. Nothing of minitorch is imported before but what every lesson imports in its first
cell, so that one that forgot an import of its own fails here, too.
"""

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

NAME = "forked"


class Forker:
    """Serves kernels of the name "forked" to who looks for kernels in `folder`, with `environment`, until `close`."""

    def __init__(self, folder, environment):
        address = str(Path(folder) / "socket")
        kernel = Path(folder) / "kernels" / NAME
        kernel.mkdir(parents=True)
        command = [sys.executable, "-I", "-S", __file__, "ask", address, "{connection_file}"]
        kernel.joinpath("kernel.json").write_text(json.dumps(
            {"argv": command, "display_name": NAME, "language": "python"}), encoding="utf-8")
        self.process = subprocess.Popen([sys.executable, __file__, "serve", address], env=environment,
                                        stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError(f"the process that forks kernels ended with status {self.process.wait()}")

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


def serve(address):
    """Import what all kernels need, then fork one for each connection, which is told when it ends."""
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"       # as a kernel sets it before any import
    for name in ("ipykernel.ipkernel", "ipykernel.kernelapp", "matplotlib.pyplot", "matplotlib.backends.backend_agg",
                 "matplotlib_inline.backend_inline", "minitorch", "minitorch.check", "minitorch.viz.pictures"):
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)          # children that end leave nothing behind
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen()
        print("ready", flush=True)
        while True:
            line, _ = door.accept()
            if not os.fork():
                door.close()
                run(line)
            line.close()


def run(line):
    """Be the kernel that `line` asks for, until it is shut down or nobody waits for it any more."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    asked = json.loads(line.makefile().readline())
    os.setsid()
    os.dup2(2, 1)                                          # nobody reads the pipe of the process that forks
    os.chdir(asked["folder"])
    os.environ.update(asked["environment"])
    sys.argv = ["ipykernel_launcher", "-f", asked["file"], "--HistoryManager.hist_file=:memory:"]
    threading.Thread(target=lambda: line.recv(1) or os._exit(1), daemon=True).start()
    from ipykernel.kernelapp import launch_new_instance
    try:
        launch_new_instance()
    finally:
        os._exit(0)


def ask(address, file):
    """Have a kernel forked, and wait for its end."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        environment = {name: os.environ[name] for name in os.environ if name not in ("PYTHONPATH", "MPLBACKEND")}
        line.sendall(json.dumps({"file": file, "folder": os.getcwd(), "environment": environment}).encode() + b"\n")
        line.recv(1)


if __name__ == "__main__":
    {"serve": serve, "ask": ask}[sys.argv[1]](*sys.argv[2:])
