"""One rank's part of a model: it takes activations of the stage before, and gives gradients back to it."""

import numpy as np

from ... import Tensor, empty, zeros_like
from ...autograd import backward
from ...nn import Module
from ..ddp import DistributedDataParallel
from ..fsdp.module import FSDPModule
from ..groups import resolved
from ..objects import pickled, recv_object_list
from ..p2p import isend, recv, send_array

__all__ = ["PipelineStage"]


class PipelineStage:
    """Stage `stage_index` of `num_stages`: rank `stage_index` of `group` (all ranks by default) makes it.

    submodule: takes the tensors that the stage before returns, and returns a tensor or a tuple of tensors. device: of
    what is received. input_args, output_args: accepted; shapes and dtypes are sent along with each microbatch.
    """

    def __init__(self, submodule, stage_index, num_stages, device, input_args=None, output_args=None,
                 output_grads=None, input_grads=None, group=None, dw_builder=None, get_mesh=None):
        if not isinstance(submodule, Module):
            raise TypeError(f"a stage is made of a module, got {type(submodule).__name__}")
        if isinstance(submodule, DistributedDataParallel):
            raise NotImplementedError("PipelineStage: DistributedDataParallel averages in each backward pass: average "
                                      "the gradients after schedule.step() by all_reduce, or use fully_shard")
        if dw_builder is not None:
            raise NotImplementedError("PipelineStage: dw_builder is for unsupported schedules")
        if not 0 <= stage_index < num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        self.submod, self.stage_index, self.num_stages, self.device = submodule, stage_index, num_stages, device
        self.group = resolved(group)
        if self.group.size() != num_stages or self.group.rank() != stage_index:
            raise RuntimeError(f"Pipeline group size {self.group.size()} and number of stages {num_stages} must be "
                               f"equal, with stage {stage_index} on rank {stage_index} of the group, not on "
                               f"{self.group.rank()}: a rank has one stage")
        self.clear_runtime_states()

    is_first = property(lambda self: self.stage_index == 0, doc="True if it takes the batch.")
    is_last = property(lambda self: self.stage_index == self.num_stages - 1,
                       doc="True if it computes the loss.")

    def clear_runtime_states(self):
        """Forget the microbatches of the last step."""
        self.kept, self.output_chunks, self.sends = {}, [], []

    def finish(self):
        """Wait until all that was sent has gone."""
        for work in self.sends:
            work.wait()
        self.sends = []

    def scale_grads(self, factor):
        """Divide the gradients of the stage's parameters, in place."""
        for p in self.submod.parameters():
            if p.grad is not None:
                p.grad.div_(factor)

    # -- one microbatch ------------------------------------------------------------------------------------
    def forward(self, i, args, kwargs, differentiable):
        """The outputs of microbatch `i`, a tuple; sends them on."""
        inputs = args if self.is_first else self.taken()
        found = self.submod(*inputs, **kwargs)
        outputs = found if isinstance(found, tuple) else tuple(found) if isinstance(found, list) else (found,)
        if self.is_last:
            self.output_chunks.append(found)
        else:
            self.give(outputs, differentiable)
        if differentiable:
            self.kept[i] = inputs, outputs
        return found

    def give(self, outputs, differentiable):
        """Send activations to the next stage: what they are, then their values."""
        if not all([isinstance(x, Tensor) for x in outputs]):
            raise TypeError(f"stage {self.stage_index} of a pipeline returns tensors, got "
                            f"{[type(x).__name__ for x in outputs]}")
        following = self.stage_index + 1
        about = pickled([(tuple(x.shape), x.dtype, differentiable and x.requires_grad) for x in outputs])
        for data in (np.array([about.size], np.int64), about):
            self.sends.append(send_array(data, None, self.group, 0, following, async_op=True))
        self.sends += [isend(x.detach().contiguous(), group=self.group, group_dst=following) for x in outputs]

    def taken(self):
        """Activations of the stage before."""
        about: list = []
        recv_object_list(about, group=self.group, group_src=self.stage_index - 1)
        found = [empty(shape, dtype=dtype, device=self.device) for shape, dtype, _ in about]
        for x, (_, _, differentiable) in zip(found, about):
            recv(x, group=self.group, group_src=self.stage_index - 1)
            x.requires_grad_(differentiable)
        return tuple(found)

    def backward(self, i, loss, is_last_one):
        """The backward pass of microbatch `i`, from `loss` or from the gradients that the next stage sends."""
        inputs, outputs = self.kept.pop(i)
        if isinstance(self.submod, FSDPModule):
            self.submod.set_requires_gradient_sync(is_last_one)
        if self.is_last:
            backward(loss)
        else:
            roots = [x for x in outputs if x.requires_grad]
            grads = [zeros_like(x) for x in roots]
            for g in grads:
                recv(g, group=self.group, group_src=self.stage_index + 1)
            if roots:
                backward(roots, grads)
        if not self.is_first:
            for x in inputs:
                if x.requires_grad:
                    g = zeros_like(x) if x.grad is None else x.grad
                    self.sends.append(isend(g.contiguous(), group=self.group, group_dst=self.stage_index - 1))
