"""Checkpoints that a thread writes while training goes on."""

import threading

import numpy as np
import pytest

import minitorch as torch
import minitorch.distributed as dist
from minitorch.distributed import checkpoint, init_device_mesh
from minitorch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType
from minitorch.distributed.tensor import Shard, distribute_tensor
from tests.distributed.sharded_cases import numbers, run


@pytest.mark.parametrize("ranks", [0, 1, 3])
def test_what_was_there_at_the_call_is_saved(tmp_path, ranks, monkeypatch):
    path, go_on, really = tmp_path / "saved", threading.Event(), checkpoint.save_file

    def slowly(*args):
        assert go_on.wait(90)
        really(*args)
    monkeypatch.setattr(checkpoint, "save_file", slowly)

    def save(rank):
        x = torch.arange(12.0).reshape(4, 3)
        if ranks:
            x = distribute_tensor(x, init_device_mesh("cpu", (ranks,)), [Shard(0)])
        state = {"x": x, "y": torch.ones(5), "numbers": {"steps": [1, 2]}}
        first = checkpoint.async_save(state, checkpoint_id=path)
        x.add_(1)
        state["y"].zero_()
        state["numbers"]["steps"].append(3)
        if ranks:                                          # other calls of the ranks go on meanwhile
            dist.all_reduce(torch.ones(3))
            dist.barrier()
        assert not first.done() and not path.exists()
        second = checkpoint.async_save({"x": x}, storage_writer=checkpoint.FileSystemWriter(f"{path}2"),
                                       async_checkpointer_type=AsyncCheckpointerType.THREAD)
        if ranks:
            dist.barrier()                                 # all have seen that nothing is there
        go_on.set()
        assert first.result(90) is None and second.result(90) is None and first.done()

    def load(rank):
        state = {"x": torch.zeros(4, 3), "y": torch.zeros(5), "numbers": {"steps": [0, 0]}}
        checkpoint.load(state, checkpoint_id=path)
        later = {"x": torch.zeros(4, 3)}
        checkpoint.load(later, checkpoint_id=f"{path}2")
        return state, later
    if ranks:
        run(save, ranks)
    else:
        save(0)
    state, later = load(0)
    np.testing.assert_array_equal(numbers(state["x"]), np.arange(12.0).reshape(4, 3))
    np.testing.assert_array_equal(numbers(later["x"]), np.arange(12.0).reshape(4, 3) + 1)
    assert state["y"].tolist() == [1] * 5 and state["numbers"] == {"steps": [1, 2]}


def test_what_goes_wrong_is_raised_by_the_result(tmp_path):
    (tmp_path / "file").write_text("no folder")

    def save(rank):
        return checkpoint.async_save({"x": torch.ones(2)}, checkpoint_id=tmp_path / "file" / "saved")
    with pytest.raises((FileExistsError, NotADirectoryError)):
        save(0).result(90)
    with pytest.raises(NotImplementedError, match="process of its own"):
        checkpoint.async_save({}, checkpoint_id=tmp_path, async_checkpointer_type=AsyncCheckpointerType.PROCESS)
    with pytest.raises(NotImplementedError, match="async_stager"):
        checkpoint.async_save({}, checkpoint_id=tmp_path, async_stager=object())
    with pytest.raises(ValueError, match="needs a place"):
        checkpoint.async_save({})
