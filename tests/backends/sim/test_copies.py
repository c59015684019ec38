"""Copies beside the host: they are made late, and who touches pinned memory before the end is told so."""

import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.backends.sim.harness import compile_module, empty, launch, sim, to_device, values

DOUBLE = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }'


@pytest.fixture(autouse=True)
def a_quiet_stream():
    yield
    while sim.copies.under_way:
        try:
            sim.wait()
        except sim.Race:
            pass


def floats(*numbers):
    array = sim.pinned(4 * len(numbers)).view("f4")
    array[:] = numbers
    return array


def test_pinned_memory_written_again_before_the_event_is_a_race():
    device, host = empty(3), floats(1, 2, 3)
    sim.copy_in(device.pointer, host)
    event = sim.record()
    assert not sim.is_over(event) and np.isnan(values(device)).all()       # not there before somebody waits
    host[1] = 7
    with pytest.raises(sim.Race, match="12 bytes was written before the copy from it was over: wait for an event"):
        sim.wait(event)
    assert sim.is_over(event)


def test_after_the_event_it_may_be_written():
    device, host = empty(3), floats(1, 2, 3)
    sim.copy_in(device.pointer, host)
    sim.wait(sim.record())
    host[:] = 9
    sim.wait()
    np.testing.assert_array_equal(values(device), [1, 2, 3])


def test_a_launch_sees_the_copy_and_ends_nothing_for_the_host():
    module, device, host = compile_module(DOUBLE, "twice.cu"), empty(3), floats(1, 2, 3)
    sim.copy_in(device.pointer, host)
    launch(module, "twice", 1, 3, device)
    np.testing.assert_array_equal(values(device), [2, 4, 6])
    host[0] = 5
    with pytest.raises(sim.Race, match="was written"):
        sim.wait()


def test_freed_memory_goes_to_the_next_who_asks():
    device, host = empty(3), floats(1, 2, 3)
    sim.copy_in(device.pointer, host)
    where = host.ctypes.data
    del host
    gc.collect()
    assert floats(4, 5, 6).ctypes.data == where
    with pytest.raises(sim.Race, match="was freed, and may be given to somebody else"):
        sim.wait()


def test_results_come_with_the_wait():
    host, device = floats(0, 0, 0), to_device(np.array([1, 2, 3], "f4"))
    sim.copy_out(host, device.pointer)
    assert np.isnan(host).all()
    sim.reach()
    values(device)[:] = 0                                  # a later launch: the copy was before it
    assert np.isnan(host).all()
    sim.wait()
    np.testing.assert_array_equal(host, [1, 2, 3])
    sim.copy_out(host, device.pointer)
    host[0] = 1
    with pytest.raises(sim.Race, match="the copy into it"):
        sim.wait()


def test_memory_that_is_not_pinned_is_read_at_once():
    device, host = empty(3), np.array([1, 2, 3], "f4")
    assert sim.is_pinned(floats(1)[:0]) and not sim.is_pinned(host)
    sim.copy_in(device.pointer, host)
    host[:] = 0
    out = np.empty(3, "f4")
    sim.copy_out(out, device.pointer)
    np.testing.assert_array_equal(out, [1, 2, 3])
    with pytest.raises(ValueError, match="contiguous"):
        sim.copy_in(device.pointer, np.zeros((4, 4))[:, 1])


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9), st.booleans()), max_size=12))
def test_loaders_with_events_have_no_races(steps):
    """Three buffers in turns: each is filled, copied, and filled again only after its event, or the race is found."""
    buffers, devices, events = [floats(0) for _ in range(3)], [empty(1) for _ in range(3)], {}
    for i, value, careless in steps:
        try:
            if careless and i in events and not sim.is_over(events[i]) and buffers[i][0] != value:
                buffers[i][:] = value
                with pytest.raises(sim.Race):
                    sim.wait(events[i])
                sim.wait()
            elif i in events:
                sim.wait(events[i])
            buffers[i][:] = value
            sim.copy_in(devices[i].pointer, buffers[i])
            events[i] = sim.record()
            if not careless:
                sim.wait(events[i])
                assert values(devices[i])[0] == value
        finally:
            if careless and not sim.is_over(events[i]) and len(sim.copies.under_way) > 6:
                sim.wait()
    sim.wait()
