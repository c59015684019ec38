"""Write the map and the reading order in docs/architecture.md.

    python docs/build_map.py            write them
    python docs/build_map.py --check    exit with 1 if they are not what would be written

The map comes from the list of the wall (tests/structure/wall.py), the reading order and what each
file teaches from the docstring of `minitorch.core`, the line counts from the source.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
sys.path.insert(0, str(ROOT))

from tests.structure import source, wall  # noqa: E402

COURSE = ("viz", "check", "cli")
WIDTH = 100


def lines_of(package):
    """The Python lines of a package or a file at the top."""
    return sum(source.lines(module) for module in source.MODULES
               if source.package_of(module) == package)


def map_of_packages():
    """The map as lines of a code block."""
    total = {part: round(sum(map(lines_of, names)), -3) for part, names in
             (("kernel", wall.KERNEL), ("guests", wall.GUESTS))}
    guests = {name: row for name, row in wall.GUESTS.items() if name not in COURSE}
    yield f"the kernel, about {total['kernel']:,} lines"
    yield from entries(wall.KERNEL)
    yield f"guests, about {total['guests']:,} lines"
    yield from entries(guests)
    yield "the course, three of the guests"
    yield from entries({name: wall.GUESTS[name] for name in COURSE})


def entries(table):
    """A line for each package, and then one for those that share their words."""
    names = {}
    for name, (_, about) in table.items():
        names.setdefault(about, []).append(name)
    for about, group in sorted(names.items(), key=lambda item: len(item[1]) > 1):
        yield from entry(", ".join(group), about)


def entry(name, about):
    """The line of a name, or its lines if they are too long for one."""
    if len(name) <= 15:
        yield f"  {name:<16}{about}"
    elif len(name) + len(about) + 4 <= WIDTH:
        yield f"  {name}: {about}"
    else:
        yield f"  {name}:"
        yield f"{' ' * 18}{about}"


def reading_order():
    """[(names of files, what they teach)], from the docstring of the core."""
    text = source.ast.get_docstring(source.tree_of("minitorch.core"))
    return [(re.findall(r"`(\w+)`", files), teaches.strip()) for files, teaches in
            re.findall(r"^- ([^:]*):([^\n]*)$", text, re.M)]


def reading_table():
    """The reading order as lines of a table."""
    yield "| files of `core/` | lines | teach |"
    yield "|---|---:|---|"
    total = 0
    for names, teaches in reading_order():
        count = sum(source.lines(f"minitorch.core.{name}") for name in names)
        total += count
        yield f"| {', '.join(f'`{name}`' for name in names)} | {count} | {teaches} |"
    yield f"| together | {total:,} | |"


def page():
    """docs/architecture.md as it should be."""
    text = PAGE.read_text(encoding="utf-8")
    made = {"map": ["```", *map_of_packages(), "```"], "reading": list(reading_table())}
    for name, lines in made.items():
        head, tail = f"<!-- {name}: written by docs/build_map.py -->", f"<!-- end of {name} -->"
        before, rest = text.split(head)
        text = "\n".join([before + head, *lines, tail + rest.split(tail)[1]])
    return text


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(page() != PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(page(), encoding="utf-8")
