"""Modules of kernels: loading PTX, launching, and the contexts that record what a launch does."""

import ctypes
import math
import sys
from contextlib import contextmanager

import numpy as np

from . import copies
from . import report as reports
from .build import kernel_library
from .device import RawFinding, RawLaunch, runtime, settings
from .errors import BadLaunch, Uninitialised
from .traces import Trace

MAX_THREADS, MAX_SHARED = 1024, 227 << 10     # of a block; shared memory of sm_90
REGISTERS = 64 << 10                          # of a multiprocessor
MAX_CLUSTER = 8                               # blocks, of every device that has clusters
MAX_GRID, MAX_BLOCK = (2 ** 31 - 1, 65535, 65535), (1024, 1024, 64)


class Module:
    """The kernels of one PTX text. `entries` describes them by name."""

    def __init__(self, text, name):
        self.name = name
        path, self.program = kernel_library(text)
        runtime()
        self._library = ctypes.PyDLL(str(path))
        self.entries = self.program.entries
        self._register_globals()

    def _register_globals(self):
        pointers = (ctypes.c_void_p * (len(self.program.globals) + 1)).in_dll(self._library, "sim_globals")
        self.globals = {}
        for pointer, (name, _, nbytes, constant) in zip(pointers, self.program.globals):
            self.globals[name] = pointer, nbytes
            runtime().sim_register(pointer, nbytes, f"variable {name}".encode(), False, constant)

    def symbol(self, name):
        """(pointer, bytes) of a `__device__` or `__constant__` variable. KeyError if there is none of that name."""
        return self.globals[name]

    def launch(self, entry, grid, block, arguments=(), shared=0, *, max_shared=None):
        """Run a kernel to its end.

        grid, block: sizes, an int or up to three. arguments: the bytes of each parameter, one bytes-like object each (a
        pointer is 8 bytes). shared: bytes of dynamic shared memory; max_shared: how much of it the launcher has opted
        in to (None: all that the device has). Raises a `SimulatorError` of the class of the first finding.
        """
        grid, block = [(*((size,) if isinstance(size, int) else size), 1, 1)[:3] for size in (grid, block)]
        described = self._check(entry, grid, block, shared, max_shared)
        if copies.under_way:
            copies.reach()
        raw = RawLaunch()
        kept = self._pass(described, arguments, raw)
        raw.run = ctypes.cast(getattr(self._library, described.symbol), ctypes.c_void_p)
        raw.grid[:], raw.block[:] = grid, block
        raw.static_shared, raw.dynamic_shared = described.static_shared, shared
        bounds = np.array([(begin, end) for _, begin, end in described.variables], np.uint32)
        raw.variable_count, raw.variables = len(bounds), bounds.ctypes.data
        raw.granule, raw.partial_sync, raw.flush = described.granule, described.partial_sync, described.flush
        raw.registers = registers_of_a_thread(described, math.prod(block))
        raw.order, raw.seed = settings.order_number(), settings.seed & 0xFFFFFFFF
        raw.checks, raw.time_limit = settings.check_bits(), settings.time_limit
        raw.cluster[:] = described.cluster
        found = (RawFinding * 12)()
        library = runtime()
        recorder = recording()
        recorder.begin(library)
        count = library.sim_launch(ctypes.byref(raw), found, len(found))
        del kept
        self._print()
        recorder.end(library, self.program, entry)
        if count:
            findings = [reports.finding_of(self.program, found[i], entry) for i in range(count)]
            self._raise(entry, grid, block, shared, findings)

    def _check(self, entry, grid, block, shared, max_shared):
        if entry not in self.entries:
            known = ", ".join(self.entries) or "none"
            raise BadLaunch(f'{self.name} has no kernel {entry!r}, it has {known} (is it extern "C"?)')
        described = self.entries[entry]
        threads = math.prod(block)
        limit = MAX_SHARED if max_shared is None else max_shared

        def need(condition, what):
            if not condition:
                raise BadLaunch(f"{entry}<<<{grid}, {block}, {shared}>>>: {what}")
        need(all(1 <= n <= most for n, most in zip(block, MAX_BLOCK)) and threads <= MAX_THREADS,
             f"a block has 1 to {MAX_THREADS} threads, at most {MAX_BLOCK} along each axis; this one has {threads}")
        need(all(1 <= n <= most for n, most in zip(grid, MAX_GRID)),
             f"a grid has 1 to {MAX_GRID} blocks along its axes")
        need(math.prod(described.cluster) <= MAX_CLUSTER,
             f"a cluster has at most {MAX_CLUSTER} blocks, __cluster_dims__ says {tuple(described.cluster)}")
        need(all(n % max(1, c) == 0 for n, c in zip(grid, described.cluster)),
             f"the grid is not a multiple of __cluster_dims__, "
             f"{tuple(described.cluster)}, along each axis")
        need(not described.max_threads or threads <= described.max_threads,
             f"{threads} threads, but __launch_bounds__ allows {described.max_threads}")
        need(0 <= shared <= limit, f"{shared} bytes of dynamic shared memory, the limit is {limit}")
        need(described.static_shared + shared <= MAX_SHARED,
             f"{described.static_shared} static and {shared} dynamic bytes of shared memory, a block may have "
             f"{MAX_SHARED}")
        return described

    def _pass(self, described, arguments, raw):
        """Lay the arguments out one behind the other, as in the device's parameter memory."""
        sizes = described.parameters
        if len(arguments) != len(sizes):
            raise BadLaunch(f"{described.name} takes {len(sizes)} arguments, got {len(arguments)}")
        offsets, end = [], 0
        for size, align in sizes:
            offsets.append(end + -end % max(align, 1))
            end = offsets[-1] + size
        memory = np.zeros(end + 256, np.uint8)
        base = -memory.ctypes.data % 128
        pointers = (ctypes.c_void_p * (len(sizes) + 1))()
        for i, (argument, offset, (size, _)) in enumerate(zip(arguments, offsets, sizes)):
            data = argument if isinstance(argument, bytes) else memoryview(argument).tobytes()
            if len(data) != size:
                raise BadLaunch(f"{described.name}: argument {i} has {len(data)} bytes, the parameter has {size}")
            memory[base + offset:base + offset + size] = np.frombuffer(data, np.uint8)
            pointers[i] = memory.ctypes.data + base + offset
        raw.parameters = ctypes.addressof(pointers)
        raw.parameters_begin, raw.parameters_end = memory.ctypes.data + base, memory.ctypes.data + base + end
        return memory, pointers

    @staticmethod
    def _print():
        text = runtime().sim_printed()
        if text:
            sys.stdout.write(text.decode("utf-8", "replace"))
            runtime().sim_forget_printed()

    @staticmethod
    def _raise(entry, grid, block, shared, findings):
        findings.sort(key=lambda finding: finding.error is Uninitialised)      # often what a race leads to
        head = f"{entry}<<<{grid}, {block}{f', {shared}' if shared else ''}>>>: "
        error = findings[0].error(head + "\n".join(map(str, findings)))
        error.reports = findings
        raise error


def registers_of_a_thread(entry, threads):
    """The registers that a thread of a kernel with setmaxnreg begins with: as many as its limits let a block have."""
    if not entry.sets_registers:
        return 0
    fair = REGISTERS // (max(threads, entry.max_threads) * entry.min_blocks) // 8 * 8
    return entry.registers or min(255, fair)


def load(ptx, name="kernel", sources=None):
    """The `Module` of a PTX text (compile it with -lineinfo, so that messages can name lines).

    name: for messages. sources: {file name: text} of source files that are not on this machine's disk, to be quoted.
    The C++ compiler runs once for each text; libraries are kept in `cache_folder("sim")`.
    """
    reports.SOURCES.update(sources or {})
    return Module(ptx, name)


# ---- recording ------------------------------------------------------------------------------------------------------

class Recording:
    """Records of the launches inside `report()` and `trace()`."""

    report = None
    trace = None

    def begin(self, library):
        library.sim_statistics(self.report is not None)
        if self.trace is not None:
            block = (ctypes.c_int32 * 3)(*(self.trace.block or (-1, -1, -1)))
            library.sim_trace(True, max(0, self.trace.limit - len(self.trace.events)), block)
        else:
            library.sim_trace(False, 0, None)

    def end(self, library, program, entry):
        if self.report is not None:
            add_rows(library, program, entry, self.report)
        if self.trace is not None:
            self.trace.add(library, program, entry)
            library.sim_trace(False, 0, None)


_recording = Recording()


def recording():
    return _recording


ROW = np.dtype([("site", "u4"), ("kind", "u4"), ("requests", "u8"), ("cost", "u8"), ("ideal", "u8"), ("bytes", "u8")])


def add_rows(library, program, entry, report):
    rows = np.zeros(library.sim_statistics_rows(None, 0), ROW)
    library.sim_statistics_rows(rows.ctypes.data, len(rows))
    for row in rows:
        site, kind, *counts = row.tolist()
        report.add(reports.Row(entry, reports.site_of(program, site), "shared" if kind & 1 else "global",
                               "store" if kind & 2 else "load", *counts))


@contextmanager
def report():
    """Record what memory accesses cost: ``with sim.report() as r: launch(...)``, then ``print(r)`` or ``r.rows``."""
    outer, _recording.report = _recording.report, reports.Report()
    try:
        yield _recording.report
    finally:
        _recording.report = outer


@contextmanager
def trace(limit=10000, block=None):
    """Record each access and barrier of the launches inside, one `Event` each, up to `limit`: see `Trace`.

    block: only that block, (x, y, z); None for all.
    """
    outer, _recording.trace = _recording.trace, Trace(limit, block)
    try:
        yield _recording.trace
    finally:
        _recording.trace = outer
