"""The place where a tensor lost its graph, as far as the source of the function that asks for gradients tells."""

import linecache
import re
import sys

from .callers import is_ours

__all__ = ["cut_in_words"]

# Calls after which nothing leads back; a name, a bracket and a dot before them keep words in comments and strings out.
CUTS = (r"[\w)\]]\.(detach_?|item|tolist|numpy|data|argmax|argmin|argsort)\b|\b(no_grad|inference_mode)\("
        r"|\btorch\.(tensor|argmax|argmin)\(|\bset_grad_enabled\(False|[\w)\]] (?:[<>]=?|[=!]=) ")


def cut_in_words(tensor):
    """The name of a tensor in the caller's function, and the lines above that may have cut its graph; "" if unknown."""
    frame = sys._getframe(1)
    while is_ours(frame) and frame.f_back is not None:
        frame = frame.f_back
    scope = {**frame.f_globals, **frame.f_locals}
    name = next((name for name, value in scope.items() if value is tensor and not name.startswith("_")), None)
    suspects = lines_above(frame, name)
    words = f" Here it is `{name}`." if name else ""
    if suspects:
        words += " Look at " + " and ".join(f"line {number}, `{line}`" for number, line in suspects) + "."
    return words


def lines_above(frame, name):
    """Up to two lines (number, text) of the frame's function, from the current one upwards, that may cut a graph."""
    code, found = frame.f_code, []
    first = 1 if code.co_name == "<module>" else code.co_firstlineno
    for number in range(frame.f_lineno, max(first, frame.f_lineno - 100) - 1, -1):
        line = linecache.getline(code.co_filename, number, frame.f_globals).strip()
        match = re.search(CUTS, line.split("#")[0])
        if match and not line.startswith(("if ", "while ", "assert ", "print(", "for ")):
            found.append((number, line if len(line) < 90 else line[:90].rsplit(" ", 1)[0] + " ..."))
    if name:                                               # those that make this very tensor come first
        found.sort(key=lambda one: not re.match(rf"{name}\s*=[^=]", one[1]))
    return found[:2]
