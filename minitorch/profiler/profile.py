"""`profile` and `record_function`: when to record, and what comes of it."""

import contextlib
import enum
import functools
import gzip
import json
import os
from pathlib import Path

from .. import cuda
from ..extend import observed
from .averages import EventList
from .recording import Recording
from .schedule import ProfilerAction

__all__ = ["ProfilerActivity", "emit_nvtx", "kineto_available", "profile", "record_function", "supported_activities"]


class ProfilerActivity(enum.Enum):
    """The kinds of activity that may be profiled; ranges that a device runs are timed by waiting for them."""

    CPU = 0
    CUDA = 2


def supported_activities():
    """The activities that can be profiled here."""
    return {ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda.is_available() else [])}


def kineto_available():
    """True: profiles have traces."""
    return True


def _default_schedule_fn(step):
    """Record in every step."""
    return ProfilerAction.RECORD


class profile:
    """Profiles what runs in its block, or between `start` and `stop`.

    Args:
        activities: a list of `ProfilerActivity`, the CPU by default. With CUDA each op on a GPU is waited for, so that
            its time is known; the program as a whole then takes longer.
        schedule: a function from step to `ProfilerAction`, as `minitorch.profiler.schedule` makes; `step` is then to be
            called after each step. By default everything is recorded.
        on_trace_ready: called with the profile at the end of each round of the schedule, or at the end.
        record_shapes: note the shapes of the inputs of each op.
        profile_memory: note the bytes of new arrays that each op returns.
        with_stack: note the lines that led to each op.
        with_flops, with_modules, experimental_config, execution_trace_observer, acc_events, use_cuda: accepted.

    Only one profile can record at a time: RuntimeError for another. A compiled function (`minitorch.compile`) is one
    event, its backward pass another.
    """

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False,
                 profile_memory=False, with_stack=False, with_flops=False, with_modules=False,
                 experimental_config=None, execution_trace_observer=None, acc_events=False, use_cuda=None,
                 custom_trace_id_callback=None):
        activities = set(activities) if activities else {ProfilerActivity.CPU}
        self.options = dict(shapes=record_shapes, memory=profile_memory, stacks=with_stack,
                            wait_for_device=ProfilerActivity.CUDA in activities)
        self.schedule = schedule or _default_schedule_fn
        self.on_trace_ready, self.has_schedule = on_trace_ready, schedule is not None
        self.step_num, self.action = 0, ProfilerAction.NONE
        self.recording, self.step_event = None, None
        self._events, self.metadata, self.began = EventList(), {}, 0

    # -- on and off ----------------------------------------------------------------------------------------------
    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.stop()

    def start(self):
        """Begin with step 0 of the schedule."""
        self.enter(self.schedule(self.step_num))

    def stop(self):
        """End; what was recorded is there."""
        if self.recording is not None:
            recorded = self.action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
            self.end_recording(keep=recorded)
            if recorded and self.on_trace_ready is not None:
                self.on_trace_ready(self)
        self.action = ProfilerAction.NONE

    def step(self):
        """Tell the profile that a step of the program has ended."""
        if self.recording is not None and self.step_event is not None:
            self.recording.end(self.step_event)
            self.step_event = None
        self.step_num += 1                                 # `on_trace_ready` sees the number of the step that begins
        if self.action is ProfilerAction.RECORD_AND_SAVE:
            self.end_recording(keep=True)
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
        self.enter(self.schedule(self.step_num))

    def enter(self, action):
        """Go over to `action` for the step that begins."""
        if action is ProfilerAction.NONE and self.recording is not None:
            self.end_recording(keep=False)
        elif action is ProfilerAction.RECORD and self.action is ProfilerAction.WARMUP and self.recording is not None:
            self.end_recording(keep=False)                 # what warmed up is dropped
        if action is ProfilerAction.RECORD_AND_SAVE and self.action is ProfilerAction.WARMUP and self.recording:
            self.end_recording(keep=False)
        if action is not ProfilerAction.NONE and self.recording is None:
            self.recording = Recording(**self.options)
            self.recording.start()
        self.action = action
        if self.recording is not None and self.has_schedule:
            self.step_event = self.recording.begin(f"ProfilerStep#{self.step_num}", "step")

    def end_recording(self, keep):
        recording, self.recording = self.recording, None
        if self.step_event is not None:
            recording.end(self.step_event)
            self.step_event = None
        recording.stop()
        if keep:
            self._events, self.began = EventList(sorted(recording.events, key=lambda e: (e.start, e.depth))), \
                recording.began
            self._events.has_memory = self.options["memory"]
            self._events.has_device = any(e.device != "cpu" for e in self._events)

    # -- what was recorded ---------------------------------------------------------------------------------------
    def events(self):
        """The recorded events in the order of their beginnings: an EventList of `Event`."""
        return self._events

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0):
        """The events by name (and shapes of the inputs, and innermost lines)."""
        return self._events.key_averages(group_by_input_shape, group_by_stack_n)

    def add_metadata(self, key, value):
        """Add a word to the Chrome trace."""
        self.metadata[key] = value

    def add_metadata_json(self, key, value):
        """Add a piece of JSON to the Chrome trace."""
        self.metadata[key] = json.loads(value)

    def export_chrome_trace(self, path):
        """Write the events for ``chrome://tracing`` or Perfetto; compressed, if `path` ends in ``.gz``."""
        made = [{"ph": "X", "name": e.name, "cat": CATEGORIES[e.kind], "pid": os.getpid(), "tid": e.thread,
                 "ts": (e.start - self.began) / 1000, "dur": e.duration,
                 "args": {"Input Dims": [list(s) for s in e.shapes], "Bytes": e.memory, "Call stack": list(e.stack)}}
                for e in self._events]
        text = json.dumps({"schemaVersion": 1, "traceEvents": made, **self.metadata})
        path = Path(path)
        path.write_bytes(gzip.compress(text.encode())) if path.suffix == ".gz" else path.write_text(text)

    def timeline(self):
        """The events over time, as a picture."""
        from .timeline import Timeline
        return Timeline(self._events)

    def __repr__(self):
        return str(self.key_averages().table("self_cpu_time_total", 20)) if self._events else "<profile: no events>"

    def _repr_html_(self):
        return self.timeline()._repr_html_() + self.key_averages()._repr_html_()


CATEGORIES = {"op": "cpu_op", "backward": "cpu_op", "optimizer": "user_annotation", "range": "user_annotation",
              "step": "user_annotation"}


class record_function(contextlib.ContextDecorator):
    """Gives what runs in the block, or in the decorated function, a name in the profile; costs little without one.

    `args` is a string to be kept with it.
    """

    def __init__(self, name, args=None):
        self.name, self.args, self.open = name, args, []

    def __enter__(self):
        running = Recording.running
        self.open.append((running, running.begin(self.name, "range") if running is not None else None))
        return self

    def __exit__(self, *exc):
        running, event = self.open.pop()
        if running is not None and running is Recording.running:
            running.end(event)

    def __call__(self, function):
        @functools.wraps(function)
        def named(*args, **kwargs):
            with record_function(self.name, self.args):
                return function(*args, **kwargs)
        return named


class emit_nvtx:
    """``with emit_nvtx():`` each op is a range that NVIDIA's profilers show; RuntimeError without a GPU, as in PyTorch.

    enabled: False for a block that does nothing. record_shapes: name the shapes of the inputs, too.
    """

    def __init__(self, enabled=True, record_shapes=False):
        self.enabled, self.record_shapes = enabled, record_shapes

    def __enter__(self):
        if self.enabled:
            cuda.nvtx.mark("emit_nvtx")                    # raises where there is no GPU
            self.layer = observed(self.begin, lambda token, result: cuda.nvtx.range_pop())
            self.layer.__enter__()
        return self

    def __exit__(self, *exc):
        if self.enabled:
            self.layer.__exit__(*exc)

    def begin(self, name, arrays, attrs, backend):
        shapes = [list(getattr(x, "shape", ())) for x in arrays] if self.record_shapes else ""
        cuda.nvtx.range_push(f"{name}{f', sizes = {shapes}' if self.record_shapes else ''}")
