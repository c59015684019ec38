"""Memory of captured graphs: one array takes another's place, as in CuPy's pools; what must last lies elsewhere."""

import contextlib
import gc
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch.backends.cuda.arrays import foreach
from minitorch.backends.cuda.runtime.graphs import Capture
from minitorch.backends.cuda.runtime.machine import Real
from tests.backends.cuda.kernel_checks import DEVICE

simulated = pytest.mark.skipif(not DEVICE.startswith("sim"), reason="of the simulator's memory")


def captured(work):
    g = torch.cuda.CUDAGraph(DEVICE)
    with torch.cuda.graph(g):
        out = work()
    return g, out


def host_values_between_temporaries(x):
    before = x * 2                                         # its memory is free for the values of the host
    del before
    values = torch.tensor([10.0, 20.0, 30.0, 40.0], device=DEVICE)
    y = x + values
    del values                                             # and theirs for the next
    return y, y * 0 + 5


def runs(work, x, n=3):
    g, out = captured(lambda: work(x))
    found = []
    for i in range(n):
        x.fill_(i + 3)
        g.replay()
        found.append([t.tolist() for t in out])
    return found


def test_values_of_the_host_survive_replays():
    x = torch.zeros(4, device=DEVICE)
    expected = [[[13.0 + i, 23 + i, 33 + i, 43 + i], [5.0] * 4] for i in range(3)]
    assert runs(host_values_between_temporaries, x) == expected


@simulated
def test_values_that_are_copied_only_once_are_noticed(monkeypatch):
    """As before: into memory of the graph, which its runs overwrite."""
    def once(self, target, array):
        self.F.machine.outside_capture(lambda: self.F.machine.from_host(target, array))
    monkeypatch.setattr(Capture, "bring", once)
    with pytest.raises(Exception, match="uninitialised|written"):
        runs(host_values_between_temporaries, torch.zeros(4, device=DEVICE))


@simulated
def test_arrays_take_each_others_place():
    x, places = torch.zeros(4, device=DEVICE), []

    def work():
        for _ in range(5):
            y = x + 1
            places.append(y.data_ptr())
            del y
        kept = [x + 1, x + 2]
        places.extend(t.data_ptr() for t in kept)
        return kept
    g, (a, b) = captured(work)
    assert len(set(places[:5])) == 1 and places[5] == places[0] != places[6]
    outside = torch.zeros(4, device=DEVICE)
    assert outside.data_ptr() not in places
    x.fill_(7)
    g.replay()
    assert (a.tolist(), b.tolist(), outside.tolist()) == ([8.0] * 4, [9.0] * 4, [0.0] * 4)


STEPS = {"add": lambda v, c: v + c, "times": lambda v, c: v * c,
         "shape": lambda v, c: (v.reshape(2, 2) + c[:2]).view(4), "exp": lambda v, c: (-v.abs()).exp(),
         "back": lambda v, c: c - v, "sum": lambda v, c: v - v.sum() / 8}


@settings(derandomize=True, deadline=None, max_examples=5)
@given(st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(-3, 3), st.integers(0, 3)), min_size=2,
                max_size=8))
def test_replays_agree_with_eager_runs(program):
    def work(x):
        held = [x]
        for name, value, which in program:
            constant = torch.tensor([value, value + 0.5, 1.0, -value], device=DEVICE)
            held.append(STEPS[name](held[which % len(held)], constant))
            if which == 3 and len(held) > 2:
                del held[1]                                # its memory is used again
        return held[1:]
    x = torch.zeros(4, device=DEVICE)
    found = runs(work, x)
    for i, results in enumerate(found):
        x.fill_(i + 3)
        assert results == [t.tolist() for t in work(x)]


def test_a_graph_keeps_what_caches_forget():
    p = torch.nn.Parameter(torch.ones(20000, device=DEVICE))
    p.grad = torch.ones_like(p)
    opt = torch.optim.SGD([p], lr=0.5)
    opt.step()
    g, _ = captured(opt.step)
    del opt                                                # with the addresses that the graph has
    foreach.chunks_of.cache_clear()
    gc.collect()
    hold = [torch.zeros(6, dtype=torch.int64, device=DEVICE) for _ in range(8)]      # would take its place
    g.replay()
    assert p[::4000].tolist() == [0.0] * 5 and len(hold) == 8


def test_what_is_made_for_a_cache_in_a_capture_lies_outside_of_it():
    x = torch.ones(1, 1, 5, 5, device=DEVICE)
    pool = lambda: torch.nn.functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False)

    def work():
        for _ in range(3):
            y = x * 0                                      # its memory is free for others
            del y
        return pool() + x.new_zeros(1, 1, 3, 3)
    g, out = captured(work)
    first = pool().tolist()                                # eagerly, from the cache, before any replay
    g.replay()
    assert first == out.tolist() == [[[[1.0] * 3] * 3]] and pool().tolist() == first


def test_functions_of_the_array_library_run_in_each_replay():
    x = torch.ones(1, device=DEVICE)
    eye = torch.eye(2, device=DEVICE)
    if DEVICE != "sim":
        pytest.skip("CuPy's solvers cannot be captured on all versions")
    g, inverse = captured(lambda: torch.linalg.inv(eye * (x + 1)))
    for value in (1.0, 3.0):
        x.fill_(value)
        g.replay()
        np.testing.assert_allclose(inverse.tolist(), np.eye(2) / (value + 1))


def test_work_outside_of_a_capture_has_other_memory():
    """On a GPU: with the allocator of before, not the graph's pool."""
    current = ["usual"]

    @contextlib.contextmanager
    def using(allocator):
        outer, current[0] = current[0], allocator
        yield
        current[0] = outer

    class Stream(contextlib.nullcontext):
        def __init__(self, **options):
            super().__init__()

        def begin_capture(self):
            """Nothing to begin."""

        def synchronize(self):
            """Nothing to wait for."""

        def end_capture(self):
            return "the graph"
    pool = types.SimpleNamespace(malloc="of the pool")
    machine = object.__new__(Real)
    machine.cupy = types.SimpleNamespace(cuda=types.SimpleNamespace(
        MemoryPool=lambda: pool, Stream=Stream, using_allocator=using, get_allocator=lambda: current[0]))
    machine.device = type("Device", (contextlib.nullcontext,), {"synchronize": lambda self: None})()
    machine.stream = Stream
    capture = types.SimpleNamespace(held=["kept"])
    machine.begin_capture(capture)
    assert current == ["of the pool"] and machine.outside_capture(lambda: current[0]) == "usual"
    assert machine.end_capture() == ("the graph", pool, ["kept"]) and current == ["usual"]
