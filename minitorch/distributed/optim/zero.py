"""`ZeroRedundancyOptimizer`: each rank keeps the optimiser's state of a part of the parameters only.

Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models" (2020), stage 1.
"""

from ...optim import Optimizer
from ..algorithms.join import Join, Joinable, JoinHook
from ..ddp import broadcast_all
from ..groups import resolved
from ..objects import gather_object

__all__ = ["ZeroRedundancyOptimizer"]


class StepHook(JoinHook):
    """A rank that has no batches left makes the steps of its share."""

    def __init__(self, optimizer):
        self.optimizer = optimizer

    def main_hook(self):
        """One step."""
        self.optimizer.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """`optimizer_class` on this rank's share of the parameters; after a step, all ranks get each other's.

    params: the same on all ranks, with gradients that are the same (as `DistributedDataParallel` makes them).
    process_group: the ranks (all). The further arguments are those of `optimizer_class`. Before ``state_dict()`` call
    ``consolidate_state_dict(to)`` on all ranks; afterwards it may be called on rank `to`. `load_state_dict` takes such
    a state, or one of a plain optimiser, on every rank, whatever the number of ranks was.
    """

    def __init__(self, params, optimizer_class, process_group=None, parameters_as_bucket_view=False,
                 overlap_with_ddp=False, **defaults):
        if overlap_with_ddp:
            raise NotImplementedError("overlap_with_ddp=True is not supported: leave it out")
        self.process_group, self._whole = resolved(process_group), None
        self._optim_cls = optimizer_class
        super().__init__(params, {})
        self.defaults = defaults
        self._share_out()
        groups = [{**group, "params": [p for p in group["params"] if self._owner[id(p)] == self.process_group.rank()]}
                  for group in self.param_groups]
        self._places = [i for i, group in enumerate(groups) if group["params"]]
        self.optim = optimizer_class([groups[i] for i in self._places], **defaults) if self._places else None
        self.state = self.optim.state if self.optim is not None else self.state
        example = self.optim or optimizer_class([p for group in self.param_groups for p in group["params"]], **defaults)
        for group in self.param_groups:
            for name, value in example.defaults.items():
                group.setdefault(name, value)

    def join_hook(self, **kwargs):
        """The work of a rank that has no batches left: its part of each step."""
        return StepHook(self)

    @property
    def join_device(self):
        """The device of the parameters."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self):
        """The ranks."""
        return self.process_group

    def _share_out(self):
        """Give each parameter, the largest first, to the rank that has the fewest elements so far."""
        loads, self._owner = [0] * self.process_group.size(), {}
        params = [p for group in self.param_groups for p in group["params"]]
        for p in sorted(params, key=lambda p: -p.numel()):
            rank = loads.index(min(loads))
            self._owner[id(p)] = rank
            loads[rank] += p.numel()
        self._parts = [[p for p in params if self._owner[id(p)] == rank] for rank in range(len(loads))]

    def add_param_group(self, param_group):
        if hasattr(self, "optim"):
            raise NotImplementedError("ZeroRedundancyOptimizer.add_param_group: give all groups to the constructor")
        super().add_param_group(param_group)

    def step(self, closure=None, **kwargs):
        """A step of this rank's share, then exchange; returns what `closure` does."""
        Join.notify_join_context(self)
        loss = None
        if self.optim is not None:
            self._copy_options()
            loss = self.optim.step(closure, **kwargs) if closure is not None else self.optim.step(**kwargs)
        elif closure is not None:
            loss = closure()
        self._whole = None
        for rank, part in enumerate(self._parts):
            broadcast_all(self.process_group, part, rank, "broadcast_parameters")
        return loss

    def _copy_options(self):
        """Copy what schedules have changed in the groups to the optimiser's own."""
        for i, own in zip(self._places, self.optim.param_groups):
            own.update({name: value for name, value in self.param_groups[i].items() if name != "params"})

    def consolidate_state_dict(self, to=0):
        """Bring the state of all ranks to rank `to`; all ranks call it."""
        group = self.process_group
        here = group.ranks[group.rank()] == to
        parts = [None] * group.size() if here else None
        gather_object(super().state_dict()["state"], parts, to, group)
        self._whole = {i: state for part in parts for i, state in part.items()} if here else None

    def state_dict(self):
        """The state of all parameters, as a plain optimiser gives it; on the rank it was brought to."""
        if self._whole is None:
            raise RuntimeError(f"Optimizer state has not been consolidated on this rank. Please call "
                               f"`consolidate_state_dict(to={self.process_group.ranks[self.process_group.rank()]})` on "
                               f"all ranks beforehand if you meant to save the global state.")
        return {"state": dict(sorted(self._whole.items())), "param_groups": super().state_dict()["param_groups"]}

    def load_state_dict(self, state_dict):
        """Take this rank's share of a state."""
        saved = [list(group["params"]) for group in state_dict["param_groups"]]
        super().load_state_dict({"state": {}, "param_groups": state_dict["param_groups"]})
        if self.optim is None:
            return
        number = {id(p): i for group, indices in zip(self.param_groups, saved)
                  for p, i in zip(group["params"], indices)}
        self._copy_options()
        own = [p for group in self.optim.param_groups for p in group["params"]]
        state = {i: state_dict["state"][number[id(p)]] for i, p in enumerate(own)
                 if number[id(p)] in state_dict["state"]}
        self.optim.load_state_dict({"state": state, "param_groups": self.optim.state_dict()["param_groups"]})
        self.state = self.optim.state
