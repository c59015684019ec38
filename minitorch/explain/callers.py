"""Warnings at the line of the user's that they are about, however many functions of this package lie in between.

Composites, casts of mixed precision, ``__torch_function__`` handlers and ``out=`` each add a frame to some calls and
not to others, so that no `stacklevel` is right; `skip_file_prefixes` came with Python 3.12.
"""

import os
import sys
import warnings

__all__ = ["warn"]

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
BETWEEN = ("contextlib", "functools")                      # their wrappers stand between functions of this package


def is_ours(frame):
    """True if a frame runs this package's code, written or generated, or a wrapper around it."""
    file = frame.f_code.co_filename
    return file.startswith((PACKAGE, "<minitorch ")) or frame.f_globals.get("__name__") in BETWEEN


def warn(message, category=UserWarning):
    """``warnings.warn`` at the innermost line that is not this package's."""
    frame = sys._getframe(1)
    while is_ours(frame) and frame.f_back is not None:
        frame = frame.f_back
    names = frame.f_globals
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno, names.get("__name__"),
                           names.setdefault("__warningregistry__", {}))
