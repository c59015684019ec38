"""`torch.futures`: results that come later, on other threads."""

import threading

import pytest

import minitorch as torch


def test_a_future_is_waited_for_on_other_threads():
    future, found, later = torch.futures.Future(), [], []
    after = future.then(lambda done: done.value() + 1)
    future.add_done_callback(lambda done: found.append(done.value()))
    thread = threading.Thread(target=lambda: later.append(after.wait()))
    thread.start()
    with pytest.raises(RuntimeError, match="not complete"):
        future.value()
    future.set_result(3)
    thread.join(60)
    assert found == [3] and later == [4] and future.done()
    with pytest.raises(RuntimeError, match="once"):
        future.set_result(4)
