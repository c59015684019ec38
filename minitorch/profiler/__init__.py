"""The profiler, in PyTorch's spelling: which ops run, how long they take, what memory they make.

    with profile(record_shapes=True) as prof:
        with record_function("training step"):
            loss = model(x).sum()
            loss.backward()
    print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))
    prof.export_chrome_trace("trace.json")
    prof                                                   # in a notebook: a table and a picture over time

While no profile runs, nothing is checked anywhere: see `minitorch/core/layers.py`.
"""

from .averages import EventAverage, EventList
from .profile import (
    ProfilerActivity,
    _default_schedule_fn,  # noqa: F401
    kineto_available,
    profile,
    record_function,
    supported_activities,
)
from .recording import Event
from .schedule import ProfilerAction, schedule, tensorboard_trace_handler

__all__ = ["Event", "EventAverage", "EventList", "ProfilerAction", "ProfilerActivity", "kineto_available", "profile",
           "record_function", "schedule", "supported_activities", "tensorboard_trace_handler"]
