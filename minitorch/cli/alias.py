"""Run a PyTorch script unmodified: ``torch`` and ``torchvision`` in its imports mean minitorch.

`install` puts a finder in front of Python's own that answers ``import torch.nn.functional`` with
`minitorch.nn.functional`, the very same module object. What minitorch lacks fails with an ImportError or
AttributeError that says so.

``torch.__version__`` is then PyTorch's version whose names these are, as `minitorch.version` has it, and installed
packages that ask for the version of the distribution ``torch`` are told the same.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import runpy
import sys

import minitorch as torch

__all__ = ["install", "run"]

# torch.x -> minitorch.x, with the places that differ.
ELSEWHERE = {"torchvision": "minitorch.vision", "torchvision.datasets": "minitorch.datasets",
             "torchvision.transforms": "minitorch.transforms",
             "torchvision.tv_tensors": "minitorch.transforms.tv_tensors",
             "torchvision.transforms._presets": "minitorch.vision.presets",
             "torch.distributed._composable": "minitorch.distributed",
             "torch.distributed._composable.fsdp": "minitorch.distributed.fsdp",
             "torch.distributed._tensor": "minitorch.distributed.tensor",
             "torch.distributed._tensor.placement_types":
                 "minitorch.distributed.tensor.placement_types",
             "torch.distributed._tensor.api": "minitorch.distributed.tensor.api",
             "torch.distributed._tensor.device_mesh": "minitorch.distributed.device_mesh",
             "torch.distributed._tensor.experimental":
                 "minitorch.distributed.tensor.experimental",
             "torch.distributed.fsdp.api":
                 "minitorch.distributed.fsdp.fully_sharded_data_parallel",
             "torch._dynamo.eval_frame": "minitorch._dynamo", "torch._higher_order_ops": "minitorch.func",
             "torch._tensor_str": "minitorch.printing",
             "torch._higher_order_ops.associative_scan": "minitorch.func.scans",
             "torchvision.utils": "minitorch.vision.utils", "torch.utils.flop_counter": "minitorch.nn.flops",
             "torchvision.ops.stochastic_depth": "minitorch.vision.ops.drop_layers",
             "torchvision.ops.focal_loss": "minitorch.vision.ops.losses"}
# Files of PyTorch whose contents lie in another file here: package -> file here -> files there.
FILES = {
    "accelerator": {"": "memory"},
    "amp": {"": "grad_scaler"},
    "autograd": {".anomaly": "anomaly_mode"},
    "cpu.amp": {"amp.cpu": "/ autocast_mode grad_scaler"},
    "cuda": {"": "graphs memory random streams", "backends.cuda.nvtx": "nvtx"},
    "cuda.amp": {"amp.cuda": "/ autocast_mode common grad_scaler"},
    "nn.parallel": {"": "distributed scatter_gather"},
    "optim": {".adam": "adamax adamw nadam radam", ".adaptive": "adadelta adagrad rmsprop rprop", ".sgd": "asgd"},
    "profiler": {"": "profiler"},
    "signal.windows": {"": "windows"},
    "utils.data": {"": "_utils"},
    "utils.data._utils": {"utils.data.collate": "collate pin_memory",
                          "utils.data.fetch": "fetch", "utils.data.worker": "worker"},
    "utils.tensorboard": {"": "summary writer"},
}
for _package, _files in FILES.items():
    for _here, _there in _files.items():
        _real = f"minitorch.{_package}{_here}" if not _here or _here[0] == "." else f"minitorch.{_here}"
        for _file in _there.split():
            ELSEWHERE[f"torch.{_package}" + ("" if _file == "/" else f".{_file}")] = _real
# ``from torch.optim import adamw`` asks for "minitorch.optim.adamw".
BESIDE = {"mini" + name: real for name, real in ELSEWHERE.items() if name.startswith("torch.")}


def twin(name):
    """The name of the module that stands for `name`; None for modules that are none of PyTorch's."""
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    head, _, rest = name.partition(".")
    if rest.startswith(("datasets.", "transforms.")) and head == "torchvision":
        return "minitorch." + rest
    if rest.partition(".")[0] in ("io", "models", "ops") and head == "torchvision":
        return "minitorch.vision." + rest
    return ("minitorch." + rest if rest else "minitorch") if head == "torch" else None


def is_there(name):
    """True if there is a module of that name, whether it is a file or a row of `minitorch.compat`."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:                            # the name before the last dot is not a package
        return False


class Installed(importlib.metadata.Distribution):
    """The distribution ``torch`` as `importlib.metadata` sees it: the version, and no files."""

    def read_text(self, filename):
        version = torch.version.__version__
        return f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n" if filename == "METADATA" else None

    def locate_file(self, path):
        return path


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers imports of ``torch`` with modules of minitorch."""

    def find_distributions(self, context=importlib.metadata.DistributionFinder.Context()):
        if context.name is None or context.name.lower() == "torch":
            yield Installed()

    def find_spec(self, name, path=None, target=None):
        real = twin(name) if name not in BESIDE else BESIDE[name]
        if real is None:
            if name.partition(".")[0] == "torchvision":
                raise ModuleNotFoundError(f"{name} has no counterpart in minitorch: there are torchvision.datasets, "
                                          f".io, .models, .ops, .transforms and .utils", name=name)
            return None
        if not is_there(real):
            raise ModuleNotFoundError(f"minitorch has no module {real!r}, which stands for {name!r}: see "
                                      f"docs/differences_from_pytorch.md", name=name)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = importlib.import_module(BESIDE.get(spec.name) or twin(spec.name))
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
        torch.__version__, torch.__name__ = torch.version.__version__, "torch"
        torch.torch = torch                                # PyTorch's has this name too
        torch.Tensor.__module__ = "torch"                  # by which some libraries know tensors


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
