"""Write the map and the reading order in docs/architecture.md.

    python docs/build_map.py            write them
    python docs/build_map.py --check    exit with 1 if they are not what would be written

The map comes from the list of the wall (tests/structure/wall.py), the reading order from READING:
line counts and what a file teaches, the first sentence of its docstring, from the source.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
sys.path.insert(0, str(ROOT))

from tests.structure import source, wall  # noqa: E402

# The core, in an order in which every file rests on earlier ones.
READING = ("registry", "arrays", "dtypes", "device", "errors", "storage", "grad_mode", "graph", "engine",
           "tensor", "layers", "backend", "template", "op", "call", "inplace")
COURSE = ("viz", "check", "cli")


def lines_of(package):
    """The Python lines of a package or a file at the top."""
    return sum(source.lines(module) for module in source.MODULES
               if source.package_of(module) == package)


def map_of_packages():
    """The map as lines of a code block."""
    kernel = {name: about for name, about in wall.KERNEL.items() if about}
    faces = [name for name, about in wall.KERNEL.items() if not about]
    guests = {name: about for name, (_, about) in wall.GUESTS.items()}
    total = {part: sum(map(lines_of, names)) for part, names in
             (("kernel", wall.KERNEL), ("guests", guests))}
    yield f"the kernel, {total['kernel']:,} lines"
    for name, about in kernel.items():
        yield entry(name, about)
    yield entry(", ".join(faces), "PyTorch's namespaces over the above")
    yield f"guests, {total['guests']:,} lines"
    for name, about in guests.items():
        if name not in COURSE:
            yield entry(name, about)
    yield "the course, three of the guests"
    for name in COURSE:
        yield entry(name, guests[name])


def entry(name, about):
    """One line of the map; a long name has a line of its own."""
    if len(name) <= 15:
        return f"  {name:<16}{about}"
    return f"  {name}\n{' ' * 18}{about}"


def reading_order():
    """The reading order as lines of a table."""
    yield "| file | lines | teaches |"
    yield "|---|---:|---|"
    total = 0
    for name in READING:
        module = f"minitorch.core.{name}"
        total += source.lines(module)
        yield f"| `core/{name}.py` | {source.lines(module)} | {taught(module)} |"
    yield f"| together | {total:,} | |"


def taught(module):
    """The first sentence of a module's docstring, without its full stop."""
    text = source.ast.get_docstring(source.tree_of(module)).split("\n\n")[0]
    sentence = re.split(r"(?<=[^.]\.)\s", " ".join(text.split()))[0]
    return sentence.removesuffix(".")


def page():
    """docs/architecture.md as it should be."""
    text = PAGE.read_text(encoding="utf-8")
    made = {"map": ["```", *map_of_packages(), "```"], "reading": list(reading_order())}
    for name, lines in made.items():
        head, tail = f"<!-- {name}: written by docs/build_map.py -->", f"<!-- end of {name} -->"
        before, rest = text.split(head)
        text = "\n".join([before + head, *lines, tail + rest.split(tail)[1]])
    return text


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(page() != PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(page(), encoding="utf-8")
