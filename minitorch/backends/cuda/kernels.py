"""All kernels: importing this enters those of every module in `arrays/` (NumPy's functions) and `ops/` (ops').

A new kernel is a function in one of these modules, or a new file: nothing else names it.
"""

from importlib import import_module
from pkgutil import iter_modules

from . import arrays, ops

for folder in (arrays, ops):
    for found in iter_modules(folder.__path__):
        import_module(f"{folder.__name__}.{found.name}")
