"""A program in a Python without threads, processes and sockets, as in a browser: run by test_without_threads.py."""

import _thread
import io
import os
import socket
import subprocess
import sys
import threading


def refuse(words):
    """A callable that says that something is not there, as Pyodide's does."""
    def refused(*args, **kwargs):
        raise (RuntimeError if "thread" in words else OSError)(words)
    return refused


def forbid():
    """Take threads, processes and sockets away from this Python."""
    _thread.start_new_thread = threading._start_new_thread = refuse("can't start new thread")
    threading._start_joinable_thread = refuse("can't start new thread")
    subprocess.Popen = refuse("emscripten does not support processes.")
    socket.socket = refuse("no sockets")
    os.fork = refuse("no processes")
    os.sched_getaffinity = lambda process: {0, 1, 2, 3}
    sys.modules.update(dict.fromkeys(["_multiprocessing", "_posixshmem", "_ssl"]))


def main():
    """Train, share work, compile, save, load, draw; ask for workers in vain."""
    import minitorch as torch
    from minitorch import nn, optim, viz
    from minitorch.datasets import Digits
    from minitorch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    data = TensorDataset(*Digits(train=True).tensors())
    model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10))
    optimizer = optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for x, y in DataLoader(data, batch_size=64, shuffle=True):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0], losses

    large = torch.randn(1500, 1500)                        # which threads share elsewhere
    assert abs(torch.softmax(large, 1).sum().item() - 1500) < 1e-2
    step = torch.compile(lambda x: (x * 2).relu().sum())
    assert step(large).item() == step(large).item() > 0
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    model.load_state_dict(torch.load(file))
    assert "<svg" in viz.graph(nn.functional.cross_entropy(model(x), y), model=model)._repr_html_()
    try:
        next(iter(DataLoader(data, batch_size=4, num_workers=2)))
    except RuntimeError as error:
        assert "num_workers=0" in str(error), error
    else:
        raise AssertionError("workers without processes")
    print("all of it runs")


if __name__ == "__main__":
    forbid()
    main()
