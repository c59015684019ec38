"""Names of `distributed` that are there to say what is not."""

import pytest

import minitorch as torch
from minitorch import nn


def test_names_that_say_no():
    from minitorch.distributed import fsdp, rpc
    from minitorch.distributed.tensor._utils import compute_local_shape_and_global_offset  # noqa: F401
    assert not rpc.is_available() and not isinstance(nn.Linear(1, 1), fsdp.FullyShardedDataParallel)
    with pytest.raises(NotImplementedError, match="fully_shard"):
        fsdp.FullyShardedDataParallel(nn.Linear(1, 1))
    with torch.backends.cudnn.flags(enabled=True):
        assert torch.backends.cudnn.enabled
    assert not torch.backends.cudnn.enabled
