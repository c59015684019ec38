"""Devices: unknown ones, where tensors are made, and contexts that say where."""

import threading

import numpy as np
import pytest

import minitorch as T
from minitorch.backends import register
from minitorch.core import device as devices
from minitorch.core.backend import Backend


def test_numbers_of_the_processor_go_to_any_device():
    x = T.ones(2, device="meta")
    assert (x + T.tensor(1.0)).device.type == (T.tensor(1.0) * x).device.type == "meta"
    for other in (T.ones(2), T.ones(1)):
        with pytest.raises(RuntimeError, match="device"):
            x + other


def test_devices_of_other_hardware_have_names_only():
    assert T.device("mps") != T.device("cpu") and str(T.device("xpu", 1)) == "xpu:1"
    with pytest.raises(RuntimeError, match="no backend registered"):
        T.ones(1, device="mps")


def test_N_11_an_unknown_device_is_an_error():
    with pytest.raises(RuntimeError, match="device"):
        T.ones(1).to("nonsense")
    try:
        moved = T.ones(1).to("cuda")
    except Exception as error:
        assert "cuda" in str(error).lower()
    else:
        assert moved.device.type == "cuda" and moved.is_cuda


def test_D_13_devices_are_the_tensors_own():
    x = T.rand(3, device="cpu")
    assert x.device.type == "cpu" and T.rand_like(x).device == x.device
    with T.device("cpu"):
        assert T.zeros(1).device.type == "cpu"


@pytest.fixture(scope="module")
def two():
    """Two devices of our own, "left" and "right"."""
    types = list(devices.TYPES)
    for name in ("left", "right"):
        register(name, lambda index, name=name: Backend(T.device(name), np))
    yield T.device("left"), T.device("right")
    devices.TYPES[:] = types
    for name in ("left", "right"):
        devices.MAKERS.pop(name), devices.MADE.pop((name, None), None)


def where():
    """The device of new tensors."""
    assert str(T.empty(1).device) == str(T.get_default_device())
    return T.empty(1).device.type


@pytest.fixture(autouse=True)
def the_default_stays():
    yield
    assert where() == "cpu" and devices.outer.get() == ()


def in_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_a_device_can_be_entered_inside_itself(two):
    left, _ = two
    with left:
        with left, left:
            assert where() == "left"
        assert where() == "left"
    assert where() == "cpu"


def test_devices_nest(two):
    left, right = two
    with left:
        with right:
            with left:
                assert where() == "left"
            assert where() == "right"
        assert where() == "left"


def test_an_exception_leaves_the_device(two):
    left, right = two
    with left:
        with pytest.raises(KeyError), right, left:
            raise KeyError
        assert where() == "left"
    assert where() == "cpu"


def test_a_device_without_backend_is_not_entered(two):
    devices.TYPES.append("nowhere")                        # `two` takes it away again
    with pytest.raises(RuntimeError, match="no backend"), T.device("nowhere"):
        pass
    assert where() == "cpu"


def test_other_threads_do_not_see_it(two):
    left, right = two

    def inside():
        with right:
            return where()
    with left:
        assert in_thread(where) == "cpu" and in_thread(inside) == "right" and where() == "left"


def test_two_threads_share_one_device_object(two):
    """Each leaves to where it was, in whatever order they enter and leave."""
    left, right = two
    entered, leave = threading.Event(), threading.Event()

    def other():
        with right:
            with left:
                entered.set()
                leave.wait(5)
            found.append(where())
        found.append(where())
    found, thread = [], threading.Thread(target=other)
    with left:
        thread.start()
        entered.wait(5)
    assert where() == "cpu"
    leave.set()
    thread.join()
    assert found == ["right", "cpu"]


def test_the_default_device_is_set_for_one_thread(two):
    try:
        T.set_default_device("left")
        assert where() == "left" and in_thread(where) == "cpu"
        with two[1]:
            assert where() == "right"
        assert where() == "left"
    finally:
        T.set_default_device(None)


def test_the_default_device_set_inside_a_block_ends_with_it(two):
    """As in PyTorch, where it takes effect at once and the end of the block brings back what was before."""
    left, right = two
    with left:
        T.set_default_device(right)
        assert where() == "right"
    assert where() == "cpu"


def test_a_generator_keeps_its_block_open(two):
    """As in PyTorch: a block is of the thread, not of the function, and ends when the generator does."""
    def blocks():
        with two[0]:
            yield where()
            yield where()
    generator = blocks()
    assert next(generator) == "left" == where()
    assert list(generator) == ["left"]
    assert where() == "cpu"


def test_it_is_like_pytorch(two):
    """The same program in both libraries; PyTorch's second device is "meta"."""
    theirs = pytest.importorskip("torch")

    def program(library, device):
        now = lambda: library.empty(1).device.type
        with device:
            with device:
                yield now()
            yield now()
            with library.device("cpu"):
                yield now()
                with device:
                    yield now()
            yield now()
            yield in_thread(now)
        yield now()
    ours = [x.replace("left", "meta") for x in program(T, two[0])]
    assert ours == list(program(theirs, theirs.device("meta")))
