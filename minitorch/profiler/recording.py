"""The events of a profile: an event for each op, each step of a backward pass, each step of an optimiser, each range.

Events nest by time within their thread. A recording is a layer at the backend interface, which sees the ops, a node
hook, which sees the steps of backward passes, and a hook on the steps of optimisers; all only while it runs.
"""

import threading
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

from .. import cuda
from ..extend import NodeHook, OutputNode, add_node_hook, observed, owner, remove_node_hook
from ..optim import optimizer

__all__ = ["Event", "Recording"]


@dataclass
class Event:
    """One thing that happened. Times in nanoseconds of `time.perf_counter_ns`, memory in bytes.

    `kind` is "op", "backward", "optimizer", "range" or "step"; `memory` what the result's new arrays hold; `inner` the
    time, `inner_memory` the memory, of the events directly within this one.
    """

    name: str
    kind: str
    start: int
    thread: int
    depth: int
    shapes: tuple = ()
    device: str = "cpu"
    end: int = 0
    memory: int = 0
    inner: int = 0
    inner_memory: int = 0
    stack: tuple = field(default=(), repr=False)

    @property
    def duration(self):
        """Total time in microseconds (children included)."""
        return (self.end - self.start) / 1000

    cpu_time_total = duration

    @property
    def self_cpu_time_total(self):
        """Self time in microseconds (children excluded)."""
        return (self.end - self.start - self.inner) / 1000

    @property
    def self_memory(self):
        """The memory that it made itself."""
        return self.memory - self.inner_memory

    key = property(lambda self: self.name)


class Recording(NodeHook):
    """Records events between `start` and `stop`; only one recording runs at a time."""

    running = None

    def __init__(self, shapes=False, memory=False, stacks=False, wait_for_device=False):
        self.shapes, self.memory, self.stacks, self.wait = shapes, memory, stacks, wait_for_device
        self.events, self.open = [], threading.local()
        self.began = 0

    # -- on and off ----------------------------------------------------------------------------------------------
    def start(self):
        if Recording.running is not None:
            raise RuntimeError("ops are being watched already: end the other profile first")
        Recording.running = self
        self.layer = observed(self.begin_op, self.end_op).__enter__()
        self.began = time.perf_counter_ns()
        add_node_hook(self)
        self.handles = [optimizer.register_optimizer_step_pre_hook(self.begin_step),
                        optimizer.register_optimizer_step_post_hook(self.end_step)]

    def stop(self):
        for handle in self.handles:
            handle.remove()
        remove_node_hook(self)
        self.layer.__exit__(None, None, None)
        Recording.running = None

    # -- events --------------------------------------------------------------------------------------------------
    def begin(self, name, kind, shapes=(), device="cpu"):
        """Open an event in this thread."""
        stack = self.open.__dict__.setdefault("stack", [])
        event = Event(name, kind, 0, threading.get_ident(), len(stack), shapes, device)
        if self.stacks:
            event.stack = calling_lines()
        stack.append(event)
        event.start = time.perf_counter_ns()
        return event

    def end(self, event, memory=0):
        """Close an event, and what is still open within it."""
        event.end, event.memory = time.perf_counter_ns(), event.memory + memory
        stack = self.open.stack
        while stack and stack.pop() is not event:
            pass
        if stack:
            stack[-1].inner += event.end - event.start
            stack[-1].memory += event.memory
            stack[-1].inner_memory += event.memory
        self.events.append(event)

    def begin_op(self, name, arrays, attrs, backend):
        shapes = tuple(tuple(getattr(x, "shape", ())) for x in arrays) if self.shapes else ()
        return self.begin(name, "op", shapes, backend.device.type)

    def end_op(self, event, result):
        if self.wait and event.device == "cuda":
            cuda.synchronize()
        self.end(event, new_bytes(result, event) if self.memory else 0)

    def run(self, node, pull):
        """A step of a backward pass; one that only passes a gradient on is not an event."""
        if node.__class__ is OutputNode:
            return pull()
        event = self.begin(node.name(), "backward")
        try:
            return pull()
        finally:
            self.end(event)

    def begin_step(self, optimizer, args, kwargs):
        self.open.step = self.begin(f"Optimizer.step#{type(optimizer).__name__}.step", "optimizer")

    def end_step(self, optimizer, args, kwargs):
        self.end(self.open.step)


def new_bytes(result, event):
    """The bytes of the arrays in a result that own their memory; what the ops within have made is counted there."""
    total = 0
    for x in result if isinstance(result, (tuple, list)) else (result,):
        if hasattr(x, "nbytes") and hasattr(x, "base") and owner(x) is x:
            total += int(x.nbytes)
    return max(total - event.memory, 0)


HERE = str(Path(__file__).resolve().parents[1])           # the package's own files


def calling_lines():
    """The lines of the program that led here, outermost first, those of this package left out."""
    return tuple(f"{f.filename}({f.lineno}): {f.name}" for f in traceback.extract_stack()
                 if not f.filename.startswith((HERE, "<minitorch")))
