"""einops on minitorch's tensors: its backend, defined when einops is imported and not before.

einops finds the backends that it is to use among the subclasses of its own base class, so one subclass is all it needs.
`watch`, which ``import minitorch`` calls, sees to it, whichever of the two is imported first. ``einops.layers.torch``
imports torch by name: it is there under ``python -m minitorch script.py`` or after `minitorch.cli.alias.install`.
"""

import importlib.util
import sys

__all__ = ["watch"]

NAME = "einops._backends"


def define(backends, package):
    """Give the module `backends` of einops a backend for `package`, minitorch."""

    class MinitorchBackend(backends.TorchBackend):
        framework_name = "minitorch"

        def __init__(self):
            self.torch = package

    backends.MinitorchBackend = MinitorchBackend  # the base class knows its subclasses by weak references


class Watch:
    """Stands in front of Python's finders until einops is imported, and goes away then."""

    def __init__(self, package):
        self.package = package

    def find_spec(self, name, path=None, target=None):
        if name != NAME:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None:
            run = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (run(module), define(module, self.package))
        return spec


def watch(package):
    """Define the backend for `package` now if einops is imported already, otherwise when it will be."""
    if NAME in sys.modules:
        define(sys.modules[NAME], package)
    elif not any(type(finder).__name__ == "Watch" and type(finder).__module__ == __name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, Watch(package))
