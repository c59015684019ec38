"""Work shared among threads: the same numbers, errors that come through, and a number of threads that can be set."""

import os
import sys
import threading

import numpy as np
import pytest

import minitorch
from minitorch.backends.cpu import threads


@pytest.fixture
def two_threads():
    before = threads.number()
    threads.set_number(2)
    yield
    threads.set_number(before)


def test_all_parts_are_done_by_both(two_threads):
    done, names, both = [], set(), threading.Barrier(2, timeout=20)

    def work(part):
        if part < 2:
            both.wait()                                    # the first two parts meet: they are in different threads
        names.add(threading.get_ident())
        done.append(part)
    threads.share(work, range(9), threads.ENOUGH)
    assert sorted(done) == list(range(9)) and len(names) == 2


def test_little_work_stays_in_this_thread(two_threads):
    names = set()
    threads.share(lambda part: names.add(threading.get_ident()), range(9), threads.ENOUGH - 1)
    assert names == {threading.get_ident()}


@pytest.mark.parametrize("wrong", [0, 1])
def test_errors_of_any_thread_are_raised(two_threads, wrong):
    def work(part):
        if part == wrong:
            raise KeyError(part)
    with pytest.raises(KeyError):
        threads.share(work, range(4), threads.ENOUGH)


FUNCTIONS = {
    "gelu": lambda x: minitorch.nn.functional.gelu(x, approximate="tanh"),
    "sigmoid": minitorch.sigmoid,
    "softmax": lambda x: minitorch.softmax(x, -1),
    "layer_norm": lambda x: minitorch.nn.functional.layer_norm(x, x.shape[-1:]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_same_numbers_with_any_number_of_threads(two_threads, name):
    x = minitorch.from_numpy(np.random.default_rng(0).standard_normal((1030, 520), dtype=np.float32)).requires_grad_()
    found = []
    for n in (1, 2, 3):
        threads.set_number(n)
        x.grad = None
        y = FUNCTIONS[name](x)
        (y * y).sum().backward()
        found.append((y.detach().numpy(), x.grad.numpy()))
    for y, g in found[1:]:
        np.testing.assert_array_equal(y, found[0][0])
        np.testing.assert_array_equal(g, found[0][1])


def test_numpy_is_left_as_it_was(two_threads):
    before = np.getbufsize()
    FUNCTIONS["softmax"](minitorch.ones(1030, 520))
    assert np.getbufsize() == before


def test_threads_that_share_a_batch_norm_count_every_batch():
    norm = minitorch.nn.BatchNorm1d(2)
    x = minitorch.from_numpy(np.random.default_rng(0).random((4, 2), np.float32))
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        workers = [threading.Thread(target=lambda: [norm(x) for _ in range(200)]) for _ in range(4)]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
    finally:
        sys.setswitchinterval(before)
    assert norm.num_batches_tracked.item() == 800
    assert norm.num_batches_tracked._version >= 1


def test_one_thread_is_enough():
    from minitorch.settings import blas
    before = minitorch.get_num_threads()
    try:
        for n in (2, 1) if (os.cpu_count() or 1) > 1 else (1,):
            minitorch.set_num_threads(n)
            assert minitorch.get_num_threads() == n and (blas() is None or blas()[1]() == n)
        with pytest.raises(RuntimeError, match="positive integer"):
            minitorch.set_num_threads(0)
    finally:
        minitorch.set_num_threads(before)
