"""Programs as functions: source is printed, and executed.

There are three forms: NumPy's calls, C with a little Python around it, launches of a device's
kernels.
"""

from __future__ import annotations

import linecache
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from .emit import Source, identifier, set_gradients
from .launched import Launched
from .native import Native

__all__ = ["Code", "in_c", "printed"]

numbers = count(1)  # of programs, for their file names in tracebacks


@dataclass(frozen=True)
class Code:
    """A function for each part of some programs, its buffers in its globals; the source; notes.

    `pieces`: (name, program, its `Piece`s) for each lowered program.
    """

    forward: Any
    backward: Any
    source: str
    c_source: str = ""
    pieces: tuple = ()
    notes: tuple = ()


def printed(programs):
    """Programs as NumPy's calls, or as launches for a device."""
    on_device = programs.base.xp is not np
    printer = Launched if on_device else Source
    made = [printer(*arguments(part, programs.base)) for part in programs.parts]
    forward, backward = functions([defined(m, m.scope) for m in made])
    source = "\n\n".join([m.text for m in made])
    if not on_device:
        return Code(forward, backward, source)
    return Code(forward, backward, source, pieces=pieces_of(made), notes=notes_of(made))


def in_c(programs, code, wanted=lambda made: True, sized=False):
    """Programs as C, in the place of `code`, if one of them is `wanted`; `sized`: with sizes as
    parameters."""
    made = [Native(*arguments(part, programs.base), plain, sized)
            for part, plain in zip(programs.parts, (code.forward, code.backward))]
    if not any(wanted(m) for m in made):
        why = "NumPy, not C: no loop would do more than one array call does"
        return replace(code, notes=(why,))
    forward, backward = functions([defined(m, m.load()) for m in made])
    c_source = "".join([m.c_source for m in made])
    return replace(code, forward=forward, backward=backward, c_source=c_source,
                   pieces=pieces_of(made), notes=notes_of(made))


def arguments(part, base):
    """The arguments that all printers take for a part."""
    name = identifier(part.name, "run")
    calls = len(part.program.instructions)
    summary = f"{name}, as minitorch.compile has traced it: {calls} array calls."
    return part.program, part.inputs, part.captured, base, name, summary, part.tensor_names


def functions(made):
    """Two functions, the second None if there is only one."""
    return (*made, None)[:2]


def pieces_of(made):
    return tuple([(m.name, m.program, m.pieces()) for m in made])


def notes_of(made):
    return tuple([note for m in made for note in m.notes])


def defined(source, scope):
    """The function that a source defines."""
    filename = f"<compiled {source.name} {next(numbers)}>"
    # whose warnings are filtered as the package's
    scope = {**scope, "__name__": "minitorch.generated"}
    scope.setdefault("set_gradients", set_gradients)
    exec(compile(source.text, filename, "exec"), scope)
    lines = [line + "\n" for line in source.text.splitlines()]
    linecache.cache[filename] = (len(source.text), None, lines, filename)
    return scope[source.name]
