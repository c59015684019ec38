"""First calls in several threads: syntax trees are made by one at a time, which Python 3.11 needs."""

import threading
import time

import minitorch as torch
from minitorch.ops import guarded


def test_one_tree_at_a_time(monkeypatch):
    really, running, most = guarded.in_try_block, [], []

    def slowly(*args):
        running.append(args)
        most.append(len(running))
        time.sleep(1e-3)
        try:
            return really(*args)
        finally:
            running.pop()
    monkeypatch.setattr(guarded, "in_try_block", slowly)

    def double(x):
        return torch.mul(x, 2)
    functions = [guarded.guarded(double) for _ in range(6)]
    found = []
    threads = [threading.Thread(target=lambda f=f: found.append(f(torch.ones(1)).item())) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [2.0] * 6 and max(most) == 1
