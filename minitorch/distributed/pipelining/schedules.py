"""The order in which a rank runs its stage on microbatches.

GPipe: all forward passes, then all backward passes (Huang et al., "GPipe: Efficient Training of Giant Neural Networks
using Pipeline Parallelism", 2019). 1F1B: a backward pass as soon as it can be, so that no more microbatches are held
than there are stages behind (Narayanan et al., "PipeDream", 2019; "Memory-Efficient Pipeline-Parallel DNN Training",
2021).
"""

from ... import no_grad
from ...extend import grad_mode
from .microbatch import merge_chunks, split_args_kwargs_into_chunks, split_tree

__all__ = ["Schedule1F1B", "ScheduleGPipe"]


class PipelineScheduleSingle:
    """The base of schedules of one stage on each rank; `order` gives the passes.

    n_microbatches: how many parts a batch is divided into. loss_fn: of an output and a target; without it `step` runs
    forward passes only. All ranks give it. args_chunk_spec, kwargs_chunk_spec, output_merge_spec: `TensorChunkSpec` of
    arguments and outputs (dimension 0). scale_grads: divide gradients by `n_microbatches`, as the mean of means wants.
    """

    def __init__(self, stage, n_microbatches, loss_fn=None, args_chunk_spec=None, kwargs_chunk_spec=None,
                 output_merge_spec=None, scale_grads=True):
        if n_microbatches < 1:
            raise ValueError(f"n_microbatches must be at least 1, got {n_microbatches}")
        self._stage, self._n_microbatches, self._loss_fn = stage, n_microbatches, loss_fn
        self._specs, self._merge_spec, self.scale_grads = (args_chunk_spec, kwargs_chunk_spec), output_merge_spec, (
            scale_grads)

    def order(self):
        """Pairs of a microbatch and whether its pass is a forward pass."""
        raise NotImplementedError

    def step(self, *args, target=None, losses=None, return_outputs=True, loss_kwargs=None, **kwargs):
        """Train on one batch; returns the outputs on the last stage (unless `return_outputs` is False), None elsewhere.

        args: the batch, on the first stage only. kwargs: of this stage. target: on the last stage. losses: a list that
        is filled with those of the microbatches there. All ranks of the group call it, and
        gradients are added to ``.grad``.
        """
        if self._loss_fn is not None and not grad_mode.enabled:
            raise RuntimeError("step() requires gradients to be enabled for backward computation; it should not be "
                               "used under torch.no_grad() context. Please call eval() instead.")
        found = self._run(self.order(), self._loss_fn is not None, args, kwargs, target, losses, loss_kwargs)
        if self._loss_fn is not None and self.scale_grads:
            self._stage.scale_grads(self._n_microbatches)
        return found if return_outputs else None

    def eval(self, *args, target=None, losses=None, return_outputs=True, loss_kwargs=None, **kwargs):
        """The same without gradients: forward passes only."""
        with no_grad():
            found = self._run(forwards(range(self._n_microbatches)), False, args, kwargs, target, losses, loss_kwargs)
        return found if return_outputs else None

    def _run(self, order, differentiable, args, kwargs, target, losses, loss_kwargs):
        stage, n = self._stage, self._n_microbatches
        if args and not stage.is_first:
            raise ValueError(f"stage {stage.stage_index} takes its arguments from the stage before, got {len(args)}: "
                             f"call step() with the batch on the first stage only")
        if stage.is_last and differentiable and target is None:
            raise ValueError("the last stage of a pipeline computes the loss: call step(target=...)")
        args, kwargs = split_args_kwargs_into_chunks(args, kwargs, n, *self._specs)
        targets = split_tree(target, None, n) if target is not None else None
        stage.clear_runtime_states()
        found, last = [], n - 1
        for i, is_forward in order:
            if is_forward:
                out = stage.forward(i, args[i], kwargs[i], differentiable)
                if stage.is_last and targets is not None and self._loss_fn is not None:
                    found.append(self._loss_fn(out, targets[i], **(loss_kwargs or {})))
            elif differentiable:
                stage.backward(i, found[i] if found else None, i == last)
        stage.finish()
        if losses is not None:
            losses[:] = found
        return merge_chunks(stage.output_chunks, self._merge_spec) if stage.is_last else None


def forwards(numbers):
    return [(i, True) for i in numbers]


class ScheduleGPipe(PipelineScheduleSingle):
    """GPipe: all forward passes, then all backward passes; arguments as `PipelineScheduleSingle` has them."""

    def order(self):
        """All forward passes, then all backward passes."""
        numbers = range(self._n_microbatches)
        return forwards(numbers) + [(i, False) for i in numbers]


class Schedule1F1B(PipelineScheduleSingle):
    """1F1B: forward and backward passes in turns; arguments as `PipelineScheduleSingle` has them."""

    def order(self):
        """As many forward passes as there are stages from here, then backward and forward passes in turns."""
        n, stage = self._n_microbatches, self._stage
        ahead = min(n, stage.num_stages - stage.stage_index)
        turns = [turn for i in range(n) for turn in ((i, False), (i + ahead, True))]
        return forwards(range(ahead)) + [(i, is_forward) for i, is_forward in turns if i < n]
