"""Several processes, or threads, that compute together: ``torch.distributed``.

>>> from minitorch.distributed import threads
>>> import minitorch, minitorch.distributed as dist
>>> def program(rank):
...     x = minitorch.tensor([float(rank)])
...     dist.all_reduce(x)
...     return x.item()
>>> threads.run(program, 3)
[3.0, 3.0, 3.0]

`world` has groups and how ranks find each other (`store`), `collectives`, `objects` and `p2p` the calls, `shared` what
carries them out in memory that ranks share, `mpi` over MPI, `record` what is said when something goes wrong, `run` the
launcher, `threads` ranks within one process. `docs/distributed.md` has recipes.
"""

# ruff: noqa: F401, F403
from . import reducing
from .collectives import *
from .collectives import _all_gather_base, _reduce_scatter_base
from .device_mesh import DeviceMesh, init_device_mesh
from .errors import *
from .groups import GroupMember, ProcessGroup, group
from .objects import *
from .p2p import *
from .planning import LINKS, Link, Plan, plan
from .reducing import ReduceOp, _make_nccl_premul_sum
from .store import *
from .work import Work
from .world import *

reduce_op = ReduceOp
