"""Rewrite `tests/data/pytorch_names.txt` with the PyTorch that is installed: all its public names.

    python -m tests.structure.record_names

A line for each module whose path has no underscore at a beginning, and for each public class of the most used modules:
its path, then its names: those of ``__all__``, or, where there is none, what is defined there; of a class those that
its public bases do not have. PyTorch's tests and what only its build needs are left out.
"""

import importlib
import inspect
import pkgutil
import sys
import types
import warnings

from tests import DATA

OUT = DATA / "pytorch_names.txt"
LEFT_OUT = {"testing", "csrc", "contrib", "lib", "include", "bin", "share", "test"}
TYPES = {"Tensor", "Generator", "Size", "device", "dtype", "finfo", "iinfo", "layout", "memory_format", "TypedStorage",
         "UntypedStorage"}                                 # of ``torch``, which has TorchScript's beside them
COLLECTIONS = ("torch.nn", "torch.nn.functional", "torch.linalg", "torch.distributed")     # of others' functions
CLASSES = ("torch", "torch.nn", "torch.optim", "torch.optim.lr_scheduler", "torch.optim.swa_utils", "torch.utils.data",
           "torch.autograd", "torch.autograd.graph", "torch.amp", "torch.cuda", "torch.profiler", "torch.futures",
           "torch.utils.tensorboard", "torch.nn.utils.rnn", "torch.utils.benchmark")


def modules(name):
    """The module of that name, and all inside it that can be imported."""
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        print(f"left out: {name} ({type(error).__name__}: {error})", file=sys.stderr)
        return
    yield module
    for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if not found.name.startswith("_") and not (name == "torch" and found.name in LEFT_OUT):
            yield from modules(f"{name}.{found.name}")


def names_of(module):
    """The public names of a module."""
    names = getattr(module, "__all__", None)
    if names is None:
        whole = module.__name__ in COLLECTIONS
        names = [name for name, value in vars(module).items() if not isinstance(value, types.ModuleType)
                 and (getattr(value, "__module__", None) == module.__name__ or whole and callable(value)
                      and (getattr(value, "__module__", None) or "torch").startswith("torch"))]
    return sorted({name for name in names if not name.startswith("_")})


def is_public(base):
    """True if a class has a public name of its own, under which its names are listed."""
    return not base.__name__.startswith("_") and not base.__module__.startswith("torch._")


def classes(name):
    """(path, names) of the public classes of a module."""
    module = importlib.import_module(name)
    for path in names_of(module):
        found = getattr(module, path)
        if inspect.isclass(found) and (name != "torch" or path in TYPES) and (name != "torch.cuda" or path[-6:] not in
                                                                              ("Tensor", "torage")):
            known = {n for base in found.__mro__[1:] if is_public(base) for n in dir(base)}
            own = sorted(n for n in dir(found) if not n.startswith("_") and n not in known)
            if own and found.__module__.partition(".")[0] in ("torch", "builtins"):
                yield f"{name}.{path}", own


def main():
    warnings.simplefilter("ignore")
    found = {module.__name__: names_of(module) for module in modules("torch")}
    found |= {path: names for name in CLASSES for path, names in classes(name)}
    OUT.write_text("".join(f"{path}: {' '.join(names)}\n" for path, names in sorted(found.items())))
    print(f"{len(found)} modules and classes, {sum(map(len, found.values()))} names")


if __name__ == "__main__":
    main()
