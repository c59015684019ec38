"""Types that annotations of scripted code use, ``torch.jit.annotations``: to Python they are ordinary types."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: F401, UP035  (programs import them from here)

__all__ = [f"BroadcastingList{n}" for n in range(1, 7)]


class BroadcastingList:
    """A list that may be given as one number: ``BroadcastingList2[int]`` is ``list[int]``."""

    def __getitem__(self, types):
        return list[types]


globals().update({name: BroadcastingList() for name in __all__})
