"""Events by name: how often, how long, how much memory; and the table of it."""

__all__ = ["EventList", "EventAverage"]


class EventAverage:
    """All events of one name (and shapes, and stack, where they were grouped by these). Times in microseconds."""

    def __init__(self, key, kind, input_shapes=()):
        self.key, self.kind, self.input_shapes, self.count = key, kind, input_shapes, 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.device_time_total = self.self_device_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.stack = ()

    def add(self, event):
        self.count += 1
        self.cpu_time_total += event.duration
        self.self_cpu_time_total += event.self_cpu_time_total
        if event.device != "cpu":
            self.device_time_total += event.duration
            self.self_device_time_total += event.self_cpu_time_total
        self.cpu_memory_usage += event.memory
        self.self_cpu_memory_usage += event.self_memory

    @property
    def cpu_time(self):
        """The mean time of one call."""
        return self.cpu_time_total / max(self.count, 1)

    @property
    def device_time(self):
        """The mean time of one call on the device."""
        return self.device_time_total / max(self.count, 1)

    cuda_time_total = property(lambda self: self.device_time_total)
    self_cuda_time_total = property(lambda self: self.self_device_time_total)
    cuda_time = property(lambda self: self.device_time)

    def __repr__(self):
        return f"<EventAverage {self.key}: {self.count} calls, {time_text(self.cpu_time_total)}>"


class EventList(list):
    """A list of `EventAverage` or `Event`."""

    has_memory = has_device = has_shapes = False

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0):
        """The events by name: an EventList of `EventAverage`."""
        found = {}
        for event in self:
            key = (event.name, event.shapes if group_by_input_shape else (), event.stack[-group_by_stack_n:]
                   if group_by_stack_n else ())
            if key not in found:
                found[key] = EventAverage(event.name, event.kind, [list(s) for s in key[1]])
                found[key].stack = key[2]
            found[key].add(event)
        return self.like_this(found.values(), group_by_input_shape)

    def like_this(self, averages, has_shapes):
        """A list of averages that has the columns of this one."""
        made = EventList(averages)
        made.has_memory, made.has_device, made.has_shapes = self.has_memory, self.has_device, has_shapes
        return made

    def averages(self):
        """Each event as an `EventAverage` of its own; a list of averages is returned as it is."""
        if not self or isinstance(self[0], EventAverage):
            return self
        alone = [EventAverage(e.name, e.kind, [list(shape) for shape in e.shapes]) for e in self]
        made = self.like_this(alone, self.has_shapes)
        for average, event in zip(made, self, strict=True):
            average.add(event)
        return made

    def total_average(self):
        """Everything as one `EventAverage`."""
        total = EventAverage("Total", "total")
        for e in self.averages():
            total.count += e.count
            total.self_cpu_time_total += e.self_cpu_time_total
            total.cpu_time_total += e.cpu_time_total
            total.self_cpu_memory_usage += e.self_cpu_memory_usage
        return total

    @property
    def self_cpu_time_total(self):
        """The time of all events, each less what is within it."""
        return sum(e.self_cpu_time_total for e in self)

    def columns(self):
        """Heading -> function of an average and the total, for the table."""
        total = self.self_cpu_time_total or 1.0
        made = {"Name": lambda e: e.key,
                "Self CPU %": lambda e: f"{100 * e.self_cpu_time_total / total:.2f}%",
                "Self CPU": lambda e: time_text(e.self_cpu_time_total),
                "CPU total %": lambda e: f"{100 * e.cpu_time_total / total:.2f}%",
                "CPU total": lambda e: time_text(e.cpu_time_total),
                "CPU time avg": lambda e: time_text(e.cpu_time)}
        if self.has_device:
            made |= {"Self CUDA": lambda e: time_text(e.self_device_time_total),
                     "CUDA total": lambda e: time_text(e.device_time_total)}
        if self.has_memory:
            made |= {"CPU Mem": lambda e: bytes_text(e.cpu_memory_usage),
                     "Self CPU Mem": lambda e: bytes_text(e.self_cpu_memory_usage)}
        made["# of Calls"] = lambda e: str(e.count)
        if self.has_shapes:
            made["Input Shapes"] = lambda e: str(e.input_shapes)
        return made

    def sorted_by(self, key):
        """The averages with the largest of attribute `key` first; as they came for None."""
        if key is None:
            return list(self)
        key = key.replace("cuda", "device")
        if self and not hasattr(self[0], key):
            raise AttributeError(f"sort_by={key!r}: averages have count, cpu_time, cpu_time_total, "
                                 f"self_cpu_time_total, cpu_memory_usage, self_cpu_memory_usage, device_time_total")
        return sorted(self, key=lambda e: getattr(e, key), reverse=True)

    def table(self, sort_by=None, row_limit=100, max_src_column_width=75, max_name_column_width=55,
              max_shapes_column_width=80, header=None, top_level_events_only=False):
        """The averages as a table in text, sorted by an attribute such as "self_cpu_time_total", at most `row_limit`.

        Events have a row each. A name or list of shapes that is longer than its column may be is cut.
        """
        columns, found = self.columns(), self.averages()
        widths = {"Name": max_name_column_width, "Input Shapes": max_shapes_column_width}
        chosen = found.sorted_by(sort_by)[:row_limit if row_limit >= 0 else None]
        rows = [[cut(write(e), widths.get(name)) for name, write in columns.items()] for e in chosen]
        rows = [list(columns), *rows]
        sizes = [max(len(row[i]) for row in rows) for i in range(len(columns))]
        line = "  ".join("-" * n for n in sizes)
        body = ["  ".join(x.rjust(n) for x, n in zip(row, sizes)) for row in rows]
        head = ["=" * len(line), header] if header else []
        return "\n".join([*head, line, body[0], line, *body[1:], line,
                          f"Self CPU time total: {time_text(self.self_cpu_time_total)}", ""])

    def __str__(self):
        return self.table() if self and isinstance(self[0], EventAverage) else list.__repr__(self)

    def _repr_html_(self):
        from ..viz import drawing
        if not self or not isinstance(self[0], EventAverage):
            return drawing.frame(drawing.new_id(), f"{len(self)} events")
        columns = self.columns()
        rows = [[write(e) for write in columns.values()] for e in self.sorted_by("self_cpu_time_total")[:30]]
        left = f", {len(self) - 30} more are not shown" if len(self) > 30 else ""
        words = f"Self CPU time total: {time_text(self.self_cpu_time_total)}{left}"
        return drawing.frame(drawing.new_id(), drawing.table(rows, list(columns), "By name, the longest first"),
                             drawing.element("p", words))


def cut(words, width):
    return words if width is None or len(words) <= width else words[:width - 3] + "..."


def time_text(us):
    """Microseconds in the unit that PyTorch's table would take.

    >>> time_text(12.3456), time_text(12345.6), time_text(2.5e6)
    ('12.346us', '12.346ms', '2.500s')
    """
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def bytes_text(n):
    """Bytes in the unit that PyTorch's table would take.

    >>> bytes_text(500), bytes_text(-2048), bytes_text(3 << 20)
    ('500 b', '-2.00 Kb', '3.00 Mb')
    """
    for unit, size in (("Gb", 1 << 30), ("Mb", 1 << 20), ("Kb", 1 << 10)):
        if abs(n) >= size:
            return f"{n / size:.2f} {unit}"
    return f"{n} b"
