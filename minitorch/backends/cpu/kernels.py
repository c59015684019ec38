"""All kernels of the CPU: importing this enters the kernels of every module under this folder (see `backend.kernel`).

The package's root does so once the op definitions are there. A new kernel is a function in one of these modules, or a
new file: nothing else names it.
"""

import sys
from importlib import import_module
from pkgutil import walk_packages

for found in walk_packages(sys.modules[__package__].__path__, f"{__package__}."):
    import_module(found.name)
