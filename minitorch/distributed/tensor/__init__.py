"""Tensors that lie on several ranks: ``torch.distributed.tensor``.

>>> import minitorch
>>> from minitorch.distributed import init_device_mesh, threads
>>> from minitorch.distributed.tensor import Shard, distribute_tensor
>>> def program(rank):
...     mesh = init_device_mesh("cpu", (2,))
...     x = distribute_tensor(minitorch.arange(6.).reshape(3, 2), mesh, [Shard(0)])
...     y = (x * 2).sum(0)
...     return tuple(x.to_local().shape), y.placements, y.full_tensor().tolist()
>>> threads.run(program, 2)
[((2, 2), (Partial(sum),), [12.0, 18.0]), ((1, 2), (Partial(sum),), [12.0, 18.0])]

A DTensor is a tensor on a backend of its own (`backend`), whose arrays show the shape of the whole and hold this rank's
part (`sharded`); so autograd and everything above it work as with any device. `rules` say where results lie.
"""

from . import losses, norms, stepping  # noqa: F401  entered: rules by hand, steps of optimisers
from .api import (
    DTensor,
    DTensorSpec,
    distribute_module,
    distribute_tensor,
    empty,
    full,
    ones,
    rand,
    randn,
    zeros,
)
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["DTensor", "DTensorSpec", "Partial", "Placement", "Replicate", "Shard", "distribute_module",
           "distribute_tensor", "empty", "full", "ones", "rand", "randn", "zeros"]
