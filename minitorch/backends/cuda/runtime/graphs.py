"""Captured graphs: a sequence of launches that is recorded once and replayed at next to no cost on the host.

While a `Capture` is the `capture` of a machine, kernels are recorded and not run. On a GPU that is CUDA's stream
capture; the simulator keeps a list. Computations of the host are not in the graph: a number that changes from run to
run (the offset of random numbers, the corrections of Adam) lies in memory of the device, and `Capture.numbers` says
how it is found; each run begins by sending these.

Memory: arrays made during the capture lie in a pool of the graph, in which one takes the place of another that is gone,
so each run overwrites all of it. What must keep its value is made outside (`Machine.lasting`) and kept for the graph;
values of the host are kept so and copied again in each run (`Capture.bring`).
"""

import numpy as np

from ....random.generator import default_of
from .kernel import Kernel

__all__ = ["Capture", "no_reading"]

STORE = Kernel("graph.cu", "store_numbers", "u64* out, Words numbers, i32 n")
WORDS = np.dtype([("at", "u8", 12)])


class Capture:
    """The launches recorded on one backend: ``begin()``, the calls, ``end()``, then ``run()`` as often as wanted."""

    def __init__(self, F):
        self.F, self.updates, self.generators, self.moved, self.held = F, [], {}, [], []
        self.recorded = None

    def begin(self, **options):
        """Start recording; RuntimeError if a capture is in progress."""
        machine = self.F.machine
        if machine.capture is not None:
            raise RuntimeError(f"a graph is already being captured on {self.F.device}: end that capture first")
        self.follow(default_of(self.F.device))             # before the capture: its state is an array
        machine.begin_capture(self, **options)

    def end(self):
        """Stop recording."""
        self.recorded = self.F.machine.end_capture()
        for generator in self.generators:
            self.moved.append((generator, generator.end_capture()))

    def abandon(self):
        """Stop after an error; nothing is kept."""
        try:
            self.end()
        except Exception:                                  # of CUDA, about the same thing: the first error says more
            self.F.machine.capture = None
        self.recorded = None

    def run(self):
        """Run the recorded launches, on the current stream."""
        for (generator, moved), state in zip(self.moved, self.generators.values()):
            self.send(state, generator.next_run(moved))
        for array, function in self.updates:
            self.send(array, np.asarray(function(), np.float64))
        self.F.machine.run_captured(self.recorded)

    # -- values that stay ------------------------------------------------------------------------------------
    def keep(self, made):
        """Keep what the recorded launches read, as long as the graph; returns it."""
        self.held.append(made)
        return made

    def bring(self, target, array):
        """Copy values of the host, as they are now, into `target` in each run."""
        source = self.F.machine.lasting(self.F.from_host, array)
        self.F.machine.from_device(target, source)

    # -- values that change from run to run ------------------------------------------------------------------
    def follow(self, generator):
        """Let a generator read its offset from memory of the device, so that each run draws other numbers."""
        if generator not in self.generators and hasattr(generator, "begin_capture"):
            state = self.generators[generator] = self.F.machine.outside_capture(lambda: self.F.empty((2,), np.uint64))
            generator.begin_capture(state)

    def numbers(self, n, function):
        """An array of the device for the `n` float64 numbers that ``function()`` returns before each run."""
        array = self.F.machine.outside_capture(lambda: self.F.empty((n,), np.float64))
        self.updates.append((array, function))
        return array

    def send(self, array, values):
        """Store up to twelve values of 64 bits in an array, in the order of the stream."""
        record = np.zeros((), WORDS)
        record["at"][:array.size] = values.view(np.uint64)
        STORE(self.F.machine, 1, 32, array.view(np.uint64), record, array.size)


def no_reading(machine):
    """RuntimeError if a graph is being captured, in which the host cannot wait for values."""
    if machine.capture is not None:
        raise RuntimeError("operation not permitted when stream is capturing: the host reads a value of a tensor, "
                           "which no run of a captured graph could give it; do that before or after the graph")
