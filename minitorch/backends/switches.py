"""``torch.backends.cudnn`` and its like: switches that programs set, and questions they ask, about other libraries.

None of these libraries is used here: `is_available` says so, and settings are kept but change nothing, with one
exception: convolutions of float32 on CUDA round their operands to TF32 while `cudnn.allow_tf32` is True, as it is by
default (in PyTorch too). They are modules, so that programs can say ``import torch.backends.cudnn as cudnn``.
"""

import sys
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType


class Switches(ModuleType):
    """A library that is not used: not available, with settings that can be set and read."""

    def __init__(self, name, library, **settings):
        super().__init__(f"minitorch.backends.{name}", f"{library}, which is not used.")
        self.__spec__ = ModuleSpec(self.__name__, None)
        self.__dict__.update(settings, library=library)
        sys.modules[self.__name__] = self

    def is_available(self):
        """False: the library is not used."""
        return False

    is_built = is_available

    def version(self):
        """Return None: the library is not used."""
        return None

    @contextmanager
    def flags(self, **settings):
        """A context in which these settings are set, as ``flags(allow_tf32=False)``."""
        before = {name: self.__dict__[name] for name in settings if name in self.__dict__}
        self.__dict__.update(settings)
        try:
            yield
        finally:
            for name in settings:
                del self.__dict__[name]
            self.__dict__.update(before)

    def __repr__(self):
        return f"<switches of {self.library}, which is not used>"


cudnn = Switches("cudnn", "cuDNN", enabled=False, benchmark=False, deterministic=True, allow_tf32=True)
mps = Switches("mps", "Metal")
mkl = Switches("mkl", "MKL")
mkldnn = Switches("mkldnn", "oneDNN", enabled=False)
openmp = Switches("openmp", "OpenMP")
