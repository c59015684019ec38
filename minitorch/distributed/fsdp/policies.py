"""Options of `fully_shard`: dtypes, and the devices of shards."""

from dataclasses import dataclass

from ... import dtype

__all__ = ["CPUOffloadPolicy", "MixedPrecisionPolicy", "OffloadPolicy"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes in which `fully_shard` computes and communicates; shards and optimisers keep the parameters' own.

    param_dtype: of the parameters that a module computes with (None: their own). reduce_dtype: of the gradients that
    are reduced (None: as they come). output_dtype: of the module's floating-point outputs (None: as they come).
    cast_forward_inputs: cast floating-point inputs to `param_dtype` (True).
    """

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    output_dtype: dtype | None = None
    cast_forward_inputs: bool = True


@dataclass(frozen=True)
class OffloadPolicy:
    """Shards stay on the device of the mesh: the default."""


@dataclass(frozen=True)
class CPUOffloadPolicy(OffloadPolicy):
    """Shards lie on the CPU. That is so with a mesh of CPUs, the only one for which it is supported."""

    pin_memory: bool = True
