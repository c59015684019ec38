"""`ShardedGradScaler`: a `GradScaler` whose ranks skip a step together."""

from ...amp import GradScaler
from ..collectives import all_reduce
from ..reducing import ReduceOp
from ..world import is_initialized

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """A `GradScaler` for sharded gradients: infinities on one rank count on all of `process_group`.
    """

    def __init__(self, device="cuda", init_scale=2.0**16, backoff_factor=0.5, growth_factor=2.0,
                 growth_interval=2000, enabled=True, process_group=None):
        super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval,
                         enabled)
        self.process_group = process_group

    def unscale_(self, optimizer):
        """Divide the optimizer's gradients by the scale; all ranks call it together."""
        super().unscale_(optimizer)
        if not self._enabled or not is_initialized():
            return
        found = self._found[id(optimizer)]
        like = next(p for group in optimizer.param_groups for p in group["params"])
        flag = like.new_tensor(float(bool(found)))
        all_reduce(flag, ReduceOp.MAX, self.process_group)
        self._found[id(optimizer)] = flag.item() > 0
