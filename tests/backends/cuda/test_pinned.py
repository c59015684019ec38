"""Pinned memory while copies read it; machines whose device is not the current one; launches that are repeated."""

import contextlib
import gc
import threading
import types
from collections import deque

import numpy as np
import pytest

import minitorch as torch
from minitorch.backends.cuda.runtime.machine import Machine, Real
from tests.backends.cuda.kernel_checks import DEVICE, device

simulated = pytest.mark.skipif(not DEVICE.startswith("sim"), reason="races are noticed by the simulator")


@pytest.fixture(autouse=True)
def a_quiet_stream():
    yield
    with contextlib.suppress(Exception):
        device.machine.synchronize()


def batches(n=6):
    """Batches that are copied without waiting, and whose pinned tensors are gone at once."""
    sums = []
    for i in range(n):
        x = torch.full((300,), float(i)).pin_memory(DEVICE)
        assert x.is_pinned() and x.pin_memory(DEVICE) is x
        there = x.to(DEVICE, non_blocking=True)
        del x
        sums.append((there * 2).sum())
    return [s.item() for s in sums]


def test_a_loader_that_does_not_wait():
    assert batches() == [600.0 * i for i in range(6)]
    device.machine.synchronize()
    torch.ones(2).pin_memory(DEVICE).to(DEVICE, non_blocking=True)
    assert len(device.machine.held) == 1                   # what is over is not kept


@simulated
def test_memory_that_is_not_kept_is_noticed(monkeypatch):
    """As before: neither a reference nor an event."""
    from minitorch.backends.sim import Race
    monkeypatch.setattr(Machine, "hold", lambda self, array, is_over: None)
    with pytest.raises(Race, match="was freed"):
        batches()
        gc.collect()
        device.machine.synchronize()


@simulated
def test_writing_before_the_copy_is_over_is_noticed():
    from minitorch.backends.sim import Race
    x = torch.ones(5).pin_memory(DEVICE)
    there = x.to(DEVICE, non_blocking=True)
    x.fill_(2)
    with pytest.raises(Race, match="was written"):
        there.tolist()
    x = torch.ones(5).pin_memory(DEVICE)
    waited = x.to(DEVICE)                                  # this copy is over when the call returns
    x.fill_(2)
    assert waited.tolist() == [1.0] * 5


def test_what_lies_in_pinned_memory():
    for x in (torch.arange(6).reshape(2, 3), torch.ones(3, dtype=torch.bfloat16), torch.tensor(2.5), torch.ones(0, 3)):
        y = x.t().pin_memory(DEVICE) if x.ndim == 2 else x.pin_memory(DEVICE)
        assert torch.equal(y, x.t() if x.ndim == 2 else x) and y.is_pinned() is (x.numel() > 0)
        assert torch.equal(y.to(DEVICE, non_blocking=True).cpu(), y)
    assert not torch.ones(3).is_pinned()


class Nearby:
    """A GPU of two, as CuPy has it; `current` is the one whose context is."""

    current = 0

    def __init__(self, index):
        self.index = index

    def __enter__(self):
        self.before, Nearby.current = Nearby.current, self.index

    def __exit__(self, *exc):
        Nearby.current = self.before


class Function:
    """A loaded kernel that knows on which device it is asked for something."""

    def __init__(self):
        self.asked = []

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        if name == "max_dynamic_shared_size_bytes":
            self.asked.append(("opt in", Nearby.current, value))

    def __call__(self, grid, block, values, shared_mem):
        self.asked.append(("launch", Nearby.current, shared_mem))


def test_the_second_gpu_is_asked_for_its_shared_memory_itself():
    machine, function = object.__new__(Real), Function()
    machine.index, machine.device, machine.opted_in = 1, Nearby(1), {}
    machine.current = lambda: Nearby.current
    for shared in (1000, 100 << 10, 100 << 10):
        machine.launch(function, (1,), (32,), (), shared)
    assert function.asked == [("launch", 1, 1000), ("opt in", 1, 100 << 10), ("launch", 1, 100 << 10),
                              ("launch", 1, 100 << 10)] and Nearby.current == 0


def test_a_copy_keeps_its_array_until_its_event_has_come():
    done = []

    class Event:
        def __init__(self, **options):
            self.done = False
            done.append(self)

        def record(self, stream):
            """Behind the copy."""
    machine = object.__new__(Real)
    machine.device, machine.held, machine.holding = Nearby(0), deque(), threading.Lock()
    machine.cupy = types.SimpleNamespace(cuda=types.SimpleNamespace(Event=Event))
    machine.stream, machine.is_pinned = lambda: "stream", lambda array: True
    target = types.SimpleNamespace(data=types.SimpleNamespace(copy_from_host_async=lambda *args: None))
    first, second = np.ones(3), np.ones(4)
    machine.from_host(target, first, non_blocking=True)
    machine.from_host(target, second, non_blocking=True)
    assert [array is kept for array, (kept, _) in zip((first, second), machine.held)] == [True, True]
    done[0].done = True
    machine.from_host(target, second, non_blocking=True)
    assert len(machine.held) == 2 and all(kept is second for kept, _ in machine.held)


@simulated
def test_two_devices_compute_apart():
    x, y = [torch.arange(6.0, device=f"sim:{i}").reshape(2, 3) for i in (1, 2)]
    assert (x @ x.T).device == x.device and (y @ y.T).tolist() == (x @ x.T).tolist()
    with pytest.raises(RuntimeError, match="same device"):
        x + y
    assert (x.to("sim:2") + y).tolist() == (2 * y).tolist()


@pytest.mark.parametrize("level", [0.0, -0.0, 0, 0.5])
def test_launches_that_are_repeated_have_their_numbers(level):
    """The second one is made from a plan, in which no numbers and zeros are not the same."""
    x, gate = [device.from_host(np.float32([1, 2, 3, 4])), device.from_host(np.float32([-1, 0, 0.25, 1]))]
    for _ in range(4):
        got = device.to_host(device.threshold_backward(x, gate, level=level))
        np.testing.assert_array_equal(got, np.where(device.to_host(gate) > level, device.to_host(x), 0))
