"""All batching rules that are written by hand: importing this enters those of every module in `rules`."""

import sys
from importlib import import_module
from pkgutil import walk_packages

from . import rules  # noqa: F401

for found in walk_packages(sys.modules[f"{__package__}.rules"].__path__, f"{__package__}.rules."):
    import_module(found.name)
