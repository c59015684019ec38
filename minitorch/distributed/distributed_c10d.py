"""PyTorch's module of groups and collectives, by its name: what `minitorch.distributed` has, and what programs take
from here by names with an underscore."""

# ruff: noqa: F401, F403
from .collectives import *
from .collectives import _all_gather_base, _reduce_scatter_base
from .errors import *
from .groups import GroupMember, ProcessGroup, current_world, group
from .objects import *
from .p2p import *
from .reducing import ReduceOp
from .store import *
from .work import Work
from .world import *


def _get_default_group():
    """The group of all ranks."""
    return current_world().default


def _get_default_store():
    """The store of the job."""
    return current_world().store


def _rank_not_in_group(which):
    """True if this rank is not in the group."""
    return which is GroupMember.NON_GROUP_MEMBER or which is not None and which.rank() < 0
