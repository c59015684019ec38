"""Memory that processes share."""

import copy
import os
import pickle

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn


def add(x, queue):
    """In another process."""
    x.add_(5)
    queue.put(x)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_processes_see_each_others_writes():
    context = torch.multiprocessing.get_context("fork")
    model = nn.Linear(2, 1)
    twin, before = model.weight.data, model.weight.tolist()
    model.share_memory()
    assert model.weight.is_shared() and twin.is_shared() and model.weight.tolist() == before
    x, queue = torch.zeros(2, 4)[:, 1:], context.Queue()
    assert not x.is_shared() and x.share_memory_() is x and x.is_shared() and x.stride() == (4, 1)
    process = context.Process(target=add, args=(x, queue))
    process.start()
    back = queue.get(timeout=60)
    process.join(60)
    assert x.tolist() == [[5.0] * 3] * 2 and back.is_shared()
    back[0, 0] = 7.0
    assert x[0, 0].item() == 7.0
    assert not pickle.loads(pickle.dumps(x)).is_shared() and not copy.deepcopy(x).is_shared()
    half = torch.ones(3, dtype=torch.bfloat16).share_memory_()
    assert half.is_shared() and half.tolist() == [1, 1, 1] and torch.empty(0).share_memory_().shape == (0,)
    assert np.asarray(x).shape == (2, 3)
