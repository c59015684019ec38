"""All kernels of the CPU: importing a module below enters its kernels (see `backend.kernel`).

Imported by the package's root once the op definitions are there.
"""

from . import elementwise  # noqa: F401
