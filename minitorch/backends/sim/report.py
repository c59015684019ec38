"""Findings in words, and reports of what memory accesses cost: coalescing and bank conflicts by source line."""

import os
import re
from dataclasses import dataclass

from .errors import KINDS

SOURCES: dict[str, str] = {}       # file name -> text, for sources that are not files on this machine


def source_text(file):
    """The text of a source file, or "" where it cannot be found."""
    text = SOURCES.get(file) or SOURCES.get(os.path.basename(file))
    if text is None:
        here = os.path.join(os.path.dirname(os.path.dirname(__file__)), "kernels", os.path.basename(file))
        for candidate in (file, here):
            if os.path.isfile(candidate):
                with open(candidate, encoding="utf-8", errors="replace") as opened:
                    text = opened.read()
                break
    return text or ""


def source_line(file, line):
    """The text of a line of a source file, or "" where the file cannot be found."""
    lines = source_text(file).splitlines()
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


@dataclass(frozen=True)
class Site:
    """Where an instruction comes from: source file and line, the call it was inlined at, the PTX instruction."""

    file: str
    line: int
    inlined_file: str
    inlined_line: int
    instruction: str

    def __str__(self):
        if not self.line:
            where = f"the PTX instruction `{self.instruction}` (compile with -lineinfo to see lines)"
            return where if self.instruction else "an unknown place"
        inlined = f" (called at {os.path.basename(self.inlined_file)}:{self.inlined_line})" if self.inlined_line else ""
        return f"{os.path.basename(self.file)}:{self.line}{inlined}"

    @property
    def text(self):
        """The source line."""
        return source_line(self.file, self.line)

    @property
    def own_line(self):
        """The line of the kernel's own file: that of the call where the instruction comes from another file."""
        return self.inlined_line if self.inlined_line and self.inlined_file != self.file else self.line

    def quote(self):
        """The source line and that of the call it was inlined at, as "12 | text"; "" where the text is not known."""
        places = [(self.line, self.text), (self.inlined_line, source_line(self.inlined_file, self.inlined_line))]
        return "".join(f"\n    {line} | {text}" for line, text in places if text)


def site_of(program, number):
    file, line, inlined_file, inlined_line, instruction = program.sites[number]
    name = program.files.get
    return Site(name(file, "?"), line if file else 0, name(inlined_file, ""), inlined_line, instruction)


@dataclass(frozen=True)
class Finding:
    """One thing that the simulator found: error class, words, place, block and thread."""

    error: type
    message: str
    site: Site
    block: tuple[int, int, int]
    thread: tuple[int, int, int]

    def __str__(self):
        return f"{self.message}\n  at {self.site}, block {self.block}, thread {self.thread}{self.site.quote()}"


def finding_of(program, raw, entry):
    """The `Finding` of a record of the runtime, in which "{12}" stands for site 12, "{p2}" for parameter 2."""
    message = re.sub(r"\{(\d+)\}", lambda m: str(site_of(program, int(m[1]))), raw.text.decode("utf-8", "replace"))
    message = re.sub(r"\{p(\d+)\}", lambda m: f" ({parameter_name(program, entry, int(m[1]))})", message)
    return Finding(KINDS[raw.kind], message, site_of(program, raw.site), tuple(raw.block), tuple(raw.thread))


def parameter_name(program, entry, number):
    """A parameter's name in the source of a kernel: "`input`"; its number where the source cannot be read."""
    for file in program.files.values():
        head = re.search(rf"__global__[^;{{}}]*?\b{entry}\s*\(([^)]*)\)", source_text(file))
        names = [re.findall(r"\w+", parameter) for parameter in head[1].split(",")] if head else []
        if number < len(names) and names[number]:
            return f"`{names[number][-1]}`"
    return f"parameter {number}"


@dataclass
class Row:
    """Costs of the accesses of one source line in one launch, or in several.

    A request is one instruction of one warp. `cost` counts 32-byte sectors (global memory) or cycles (shared memory),
    `ideal` the fewest that could serve as many bytes; `ratio` is 1 for the best that can be.
    """

    kernel: str
    site: Site
    space: str                     # "global" or "shared"
    kind: str                      # "load" or "store"
    requests: int
    cost: int
    ideal: int
    bytes: int

    @property
    def ratio(self):
        """Cost over ideal."""
        return self.cost / max(1, self.ideal)

    @property
    def per_request(self):
        """Sectors per request, or cycles per request (1 is free of bank conflicts for accesses of up to 4 bytes)."""
        return self.cost / max(1, self.requests)


class Report:
    """The cost of memory accesses, by kernel and source line: `rows` as data, `str()` as a table."""

    def __init__(self):
        self.rows: list[Row] = []

    def add(self, row):
        """Add a row, or its counts to one of the same place."""
        for known in self.rows:
            if (known.kernel, known.space, known.kind) == (row.kernel, row.space, row.kind) and \
                    (known.site.file, known.site.line) == (row.site.file, row.site.line):
                for name in ("requests", "cost", "ideal", "bytes"):
                    setattr(known, name, getattr(known, name) + getattr(row, name))
                return
        self.rows.append(row)

    def worst(self, space=None):
        """The highest ratio of all rows (of one space)."""
        return max((row.ratio for row in self.rows if space in (None, row.space)), default=1.0)

    def __str__(self):
        out = [f"{'kernel':20} {'line':>24} {'access':13} {'requests':>8} {'per request':>12} {'x ideal':>8}  source"]
        for row in sorted(self.rows, key=lambda row: (row.kernel, row.site.file, row.site.line)):
            unit = "sectors" if row.space == "global" else "cycles"
            access = f"{row.space} {row.kind}"
            out.append(f"{row.kernel[:20]:20} {str(row.site)[-24:]:>24} {access:13} {row.requests:8} "
                       f"{row.per_request:4.1f} {unit:7} {row.ratio:7.2f}x  {row.site.text[:60]}")
        return "\n".join(out)
