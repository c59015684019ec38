"""Steps of the threads of a launch, for teaching."""

from typing import NamedTuple

import numpy as np

from .device import locate
from .report import Site, site_of

KINDS = ("load", "store", "atomic", "barrier")
SPACES = ("global", "shared", "")
RAW = np.dtype([("site", "u4"), ("kind", "u4"), ("space", "u4"), ("bytes", "u4"), ("block", "u4", 3),
                ("thread", "u4", 3), ("address", "u8")])


class Event(NamedTuple):
    """One access to memory by one thread, or its arrival at a barrier of the block. `minitorch.viz.kernel` draws it."""

    kernel: str
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    line: int                      # of the kernel's own file; 0 where the PTX has no lines
    kind: str                      # "load", "store", "atomic", "barrier"
    space: str                     # "global", "shared"; "" for a barrier
    address: int                   # of the first byte; in shared memory from its beginning
    bytes: int
    array: str                     # the label of the allocation; "shared" for shared memory
    offset: int                    # of the first byte from the beginning of `array`
    site: Site                     # .file, .line, .text (the source line), .instruction (the PTX)


class Trace:
    """The events of the launches inside ``with sim.trace() as t``, in the order in which they happened.

    The simulator runs one thread at a time until it meets a barrier or warp operation, so the order across threads is
    the simulator's; the order within a thread is the program's. `limit` events are kept at most.
    """

    def __init__(self, limit, block):
        self.limit, self.block = limit, block
        self.events: list[Event] = []

    def add(self, library, program, entry):
        """Take the events of a launch over from the runtime."""
        raw = np.zeros(library.sim_trace_events(None, 0), RAW)
        library.sim_trace_events(raw.ctypes.data, len(raw))
        sites: dict[int, Site] = {}
        for row in raw:
            site, kind, space, nbytes, block, thread, address = row.tolist()
            if site not in sites:
                sites[site] = site_of(program, site)
            array, offset = "", 0
            if SPACES[space] == "shared":
                array, offset = "shared", address
            elif SPACES[space] == "global":
                array, offset = locate(address) or ("", 0)
            place = tuple(block.tolist()), tuple(thread.tolist())          # Python's numbers: these can be negated
            self.events.append(Event(entry, *place, sites[site].own_line, KINDS[kind], SPACES[space], address, nbytes,
                                     array, offset, sites[site]))

    def of(self, thread, block=(0, 0, 0)):
        """The events of one thread: `thread` and `block` are (x, y, z), or an int for x."""
        thread, block = [(t, 0, 0) if isinstance(t, int) else tuple(t) for t in (thread, block)]
        return [e for e in self.events if e.thread == thread and e.block == block]

    def __len__(self):
        return len(self.events)

    def __iter__(self):
        return iter(self.events)
