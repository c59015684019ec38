"""The profiler at its old place, ``torch.autograd.profiler``: what it has is `minitorch.profiler`'s."""

from ..profiler import profile
from ..profiler.profile import record_function

__all__ = ["profile", "record_function"]
