"""PyTorch's first FSDP, a wrapper of modules, which is not here: `fully_shard` does the same.

Libraries ask whether a module is one, and name its settings; so these are classes. Making one is refused.
"""

from dataclasses import dataclass
from enum import Enum, auto

from ... import dtype
from ...nn import Module

__all__ = ["BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig",
           "FullyShardedDataParallel", "MixedPrecision", "OptimStateKeyType",
           "ShardedOptimStateDictConfig", "ShardedStateDictConfig", "ShardingStrategy",
           "StateDictType"]


class FullyShardedDataParallel(Module):
    """Refused: NotImplementedError says how to shard a module here."""

    def __init__(self, module, *args, **kwargs):
        raise NotImplementedError("FullyShardedDataParallel, the first FSDP, is not supported: call "
                                  "minitorch.distributed.fsdp.fully_shard(module), which shards the module in place")


class ShardingStrategy(Enum):
    """The state that the first FSDP shards: parameters, gradients, states of optimisers."""

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """The moment at which the first FSDP gathers the next parameters of a backward pass."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """The kinds of state_dict of the first FSDP."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class MixedPrecision:
    """The dtypes of the first FSDP; see `MixedPrecisionPolicy`."""

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    buffer_dtype: dtype | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True


@dataclass
class CPUOffload:
    """True if shards of the first FSDP lie on the CPU."""

    offload_params: bool = False


@dataclass
class FullStateDictConfig:
    """Where a whole state_dict of the first FSDP lies."""

    offload_to_cpu: bool = False
    rank0_only: bool = False


@dataclass
class ShardedStateDictConfig:
    """Where a sharded state_dict of the first FSDP lies."""

    offload_to_cpu: bool = False
    _use_dtensor: bool = False


@dataclass
class FullOptimStateDictConfig(FullStateDictConfig):
    """The same for a whole state of an optimiser."""

    offload_to_cpu: bool = True


@dataclass
class ShardedOptimStateDictConfig(ShardedStateDictConfig):
    """The same for a sharded state of an optimiser."""

    offload_to_cpu: bool = True


class OptimStateKeyType(Enum):
    """The keys of parameters in the states of an optimiser of the first FSDP."""

    PARAM_NAME = auto()
    PARAM_ID = auto()
