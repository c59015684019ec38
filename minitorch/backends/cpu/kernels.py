"""All kernels of the CPU: importing this enters the kernels of every module in this folder (see `backend.kernel`).

The package's root does so once the op definitions are there. A new kernel is a function in one of these modules, or a
new file: nothing else names it.
"""

import sys
from importlib import import_module
from pkgutil import iter_modules

for found in iter_modules(sys.modules[__package__].__path__):
    import_module(f"{__package__}.{found.name}")
