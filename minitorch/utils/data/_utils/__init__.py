"""``torch.utils.data._utils``: a private place of PyTorch's that programs import collate functions from."""

from .. import fetch, worker
from . import collate

__all__ = ["collate", "fetch", "worker"]
