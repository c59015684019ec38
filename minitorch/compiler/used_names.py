"""The names that Python code uses: globals, attributes and modules, for each line.

A name that is computed (``getattr(x, "a" + "b")``) is not known: then `computed` is True.
"""

import dis
import functools
import sys
import types
from typing import NamedTuple

__all__ = ["BY_NAME", "OF_ALL", "Executed", "Used", "used_by"]

OF_GLOBALS = {"LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME", "STORE_NAME"}
BY_NAME = {"getattr", "setattr", "delattr", "hasattr"}     # functions that take an attribute's name
CAUGHT = {"AttributeError", "Exception", "BaseException"}  # so that an absent attribute goes unseen
OF_ALL = {"vars", "dir", "__dict__", "__getattribute__"}   # ways to all attributes of an object


class Used(NamedTuple):
    """The names in a piece of code and in the functions inside it. `lines`: those of a line of the
    code itself, names of its closure among them. `catches`: it may handle an AttributeError."""

    globals: frozenset
    attributes: frozenset
    texts: frozenset                                       # attributes that are written as strings
    modules: frozenset
    computed: bool
    catches: bool
    lines: dict


@functools.lru_cache(maxsize=4096)
def used_by(code):
    """The names that a code object uses (`Used`)."""
    kinds: dict = {"globals": set(), "attributes": set(), "texts": set(), "modules": set()}
    lines: dict = {}
    line, looked_up, computed, catches = code.co_firstlineno, False, False, False
    before = None
    starts = dict(dis.findlinestarts(code))
    for i in dis.get_instructions(code):
        line = starts.get(i.offset) or line
        name, kind = i.argval, kind_of(i)
        if kind in kinds:
            kinds[kind].add(name)
        if kind is not None:
            lines.setdefault(line, set()).add(name)
        if kind == "globals" and name in BY_NAME:
            looked_up = True                               # an attribute's name is to come
        elif kind == "texts":
            looked_up = False
        elif looked_up and i.opname.startswith("CALL"):
            looked_up, computed = False, True
        computed = computed or name in OF_ALL and kind is not None
        catches = (catches or kind == "globals" and name in CAUGHT
                   or before == "PUSH_EXC_INFO" and i.opname == "POP_TOP")   # a bare "except:"
        before = i.opname
    kinds["attributes"] |= kinds["texts"]
    inner = [used_by(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    found = [frozenset(names).union(*[u[n] for u in inner])
             for n, names in enumerate(kinds.values())]
    return Used(*found, computed or any([u.computed for u in inner]),
                catches or any([u.catches for u in inner]), lines)


def kind_of(i):
    """The kind of name in an instruction, a word; None if it names nothing outside the code."""
    if i.opname in OF_GLOBALS:
        return "globals"
    if i.opname == "IMPORT_NAME":
        return "modules"
    if i.opcode in dis.hasname:
        return "attributes"
    if i.opname == "LOAD_CONST" and isinstance(i.argval, str) and i.argval.isidentifier():
        return "texts"
    return "closure" if i.opname.endswith("DEREF") else None


class Executed:
    """A block that notes the lines which it executes, of functions for which ``wanted(code)``.

    Where a debugger or a coverage tool traces already, every line counts as executed.
    """

    def __init__(self, wanted):
        self.wanted, self.lines, self.all = wanted, set(), False

    def __enter__(self):
        self.all = sys.gettrace() is not None
        if not self.all:
            sys.settrace(self.call)
        return self

    def __exit__(self, *exc):
        if not self.all:
            sys.settrace(None)

    def call(self, frame, event, arg):
        return self.line if self.wanted(frame) else None

    def line(self, frame, event, arg):
        self.lines.add((frame.f_code, frame.f_lineno))
        return self.line

    def place_of(self, name, only=None):
        """(file, line) of an executed line that uses a name, and one of the names `only` if they
        are given; None if there is none."""
        found = [(code.co_filename, line, used_by(code).lines.get(line, ()))
                 for code, line in self.lines]
        return min([(file, line) for file, line, names in found
                    if name in names and (only is None or not only.isdisjoint(names))],
                   default=None)
