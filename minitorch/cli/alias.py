"""Run a PyTorch script unmodified: ``torch`` and ``torchvision`` in its imports mean minitorch.

`install` puts a finder in front of Python's own that answers ``import torch.nn.functional`` with
`minitorch.nn.functional`, the very same module object. What minitorch lacks fails with an ImportError or
AttributeError that says so.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import runpy
import sys

__all__ = ["install", "run"]

# torch.x -> minitorch.x, with the places that differ.
ELSEWHERE = {"torchvision": "minitorch.vision", "torchvision.datasets": "minitorch.datasets",
             "torchvision.transforms": "minitorch.transforms", "torchvision.utils": "minitorch.vision"}


def twin(name):
    """The name of the module that stands for `name`; None for modules that are none of PyTorch's."""
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    head, _, rest = name.partition(".")
    if rest.startswith(("datasets.", "transforms.")) and head == "torchvision":
        return "minitorch." + rest
    return ("minitorch." + rest if rest else "minitorch") if head == "torch" else None


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers imports of ``torch`` with modules of minitorch."""

    def find_spec(self, name, path=None, target=None):
        real = twin(name)
        if real is None:
            if name.partition(".")[0] == "torchvision":
                raise ModuleNotFoundError(f"{name} has no counterpart in minitorch: there are torchvision.datasets, "
                                          f".transforms and .utils", name=name)
            return None
        if importlib.util.find_spec(real) is None:
            raise ModuleNotFoundError(f"minitorch has no module {real!r}, which stands for {name!r}: see "
                                      f"docs/differences_from_pytorch.md", name=name)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = importlib.import_module(twin(spec.name))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        # The machinery has written the alias's spec into the module; give it back its own.
        module.__spec__ = module.__spec__.loader_state


def install():
    """Let ``import torch`` mean minitorch from now on in this process."""
    if not any(isinstance(f, Finder) for f in sys.meta_path):
        loaded = [name for name in sys.modules if name == "torch" or name.startswith("torch.")]
        if loaded:
            raise RuntimeError("PyTorch is already imported in this process; minitorch cannot take its name any more")
        sys.meta_path.insert(0, Finder())


def run(argv):
    """Run ``script.py args...`` or ``-m module args...`` as the main program."""
    install()
    if argv[0] == "-m":
        sys.argv = argv[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(twin(argv[1]) or argv[1], run_name="__main__", alter_sys=True)
    else:
        if not os.path.exists(argv[0]):
            print(f"minitorch: there is no file {argv[0]}", file=sys.stderr)
            return 2
        sys.argv = argv
        sys.path.insert(0, os.path.dirname(os.path.abspath(argv[0])))
        runpy.run_path(argv[0], run_name="__main__")
    return 0
