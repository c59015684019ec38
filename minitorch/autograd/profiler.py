"""The profiler at its old place, ``torch.autograd.profiler``: what it has is `minitorch.profiler`'s."""

from ..profiler import profile
from ..profiler.averages import EventList
from ..profiler.profile import emit_nvtx, record_function

__all__ = ["EventList", "emit_nvtx", "profile", "record_function"]
