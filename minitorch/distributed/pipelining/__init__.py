"""Stages of a model on several ranks, which work on microbatches at the same time: ``torch.distributed.pipelining``.

>>> import minitorch
>>> from minitorch import nn
>>> from minitorch.distributed import threads
>>> from minitorch.distributed.pipelining import PipelineStage, ScheduleGPipe
>>> def program(rank):
...     minitorch.manual_seed(0)
...     part = [nn.Linear(4, 8), nn.Linear(8, 2)][rank]
...     schedule = ScheduleGPipe(PipelineStage(part, rank, 2, "cpu"), 3, loss_fn=lambda y, target: (y - target).mean())
...     out = schedule.step(minitorch.ones(6, 4)) if rank == 0 else schedule.step(target=minitorch.zeros(6, 2))
...     return None if out is None else tuple(out.shape)
>>> threads.run(program, 2)
[None, (6, 2)]

`stage` has the part of a model that a rank runs, `schedules` the order of passes, `microbatch` how batches are divided.
"""

from ..errors import absent
from .microbatch import TensorChunkSpec
from .schedules import Schedule1F1B, ScheduleGPipe
from .stage import PipelineStage

__all__ = ["Pipe", "PipelineStage", "Schedule1F1B", "ScheduleDualPipeV", "ScheduleGPipe", "ScheduleInterleaved1F1B",
           "ScheduleInterleavedZeroBubble", "ScheduleLoopedBFS", "ScheduleZBVZeroBubble", "SplitPoint",
           "TensorChunkSpec", "build_stage", "pipe_split", "pipeline"]

for _name in ("Pipe", "SplitPoint", "build_stage", "pipe_split", "pipeline"):
    globals()[_name] = absent(f"pipelining.{_name}", "models are not divided by a trace: make each rank's part a "
                                                     "module, and a PipelineStage of it")
for _name in ("ScheduleDualPipeV", "ScheduleInterleaved1F1B", "ScheduleInterleavedZeroBubble", "ScheduleLoopedBFS",
              "ScheduleZBVZeroBubble"):
    globals()[_name] = absent(f"pipelining.{_name}", "a rank has one stage: use ScheduleGPipe or Schedule1F1B")
