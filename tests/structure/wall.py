"""The wall: the packages of the kernel, the guests, and the other guests that each may use.

The kernel is the part to read to understand the library: tensors, the graph, definitions, kernels,
layers, optimisers, files. It runs alone: nothing in it imports a guest. A guest imports public
names and the door, `minitorch/extend.py`; it may also import its friends, the guests listed with
it, and no others. `test_wall.py` compares all imports with this list; `python tests/alone.py` tests
copies of the library without some of these packages.
"""

WORDS = "colours; tensors, formulas and memory in words"
FACES = "PyTorch's namespaces over the above"
RAGGED = "batches of tensors that differ in size; elements that do not count"
IMAGES = "images: transforms, data sets, torchvision's models"
SMALL = "smaller namespaces of PyTorch's"

# A folder or file at the top of minitorch/: what of the kernel it may import ("minitorch": public
# names, as users take them; with a dot: one module), and what it holds. It stands
# on those before it. Those of one kind share the words.
KERNEL = {
    "core": ("",
             "tensors, the graph, the engine, op definitions and the calls generated from them"),
    "explain": ("core", "the words of errors and warnings"),
    "random": ("core", "PyTorch's random numbers: generators, and distributions on raw arrays"),
    "host": ("core explain", "data of Python and NumPy as arrays of the host"),
    "return_types": ("", FACES),
    "ops": ("core explain random host return_types",
            "op definitions: references, derivative formulas, documentation"),
    "autograd": ("core explain ops utils._pytree",
                 "backward, grad, modes, Function, hooks, forward mode, overrides"),
    "backends": ("core explain random host return_types ops utils._pytree",
                 "kernels by op: cpu, native (C), cuda, sim; vmap's arrays; shapes without values"),
    "amp": ("core explain utils._pytree", "mixed precision"),
    "nn": ("core explain random host ops autograd amp.autocast_mode utils._pytree",
           "modules and functions of networks"),
    "func": ("minitorch core autograd backends nn.utils.stateless utils._pytree",
             "transformations of functions: vmap, grad, jvp"),
    "optim": ("core explain host ops autograd backends.cpu.tuning nn", "optimisers and schedules"),
    "settings": ("core backends", FACES),
    "cuda": ("core random ops backends amp.cuda", FACES),
    "utils": ("core explain random ops autograd backends.cpu.threads amp.autocast_mode settings "
              "cuda",
              "data loading, pytrees, checkpointing: torch.utils"),
    "serialization": ("core explain ops nn utils", "PyTorch's file formats"),
    "testing": ("core explain ops autograd backends nn optim",
                "gradient checks, strategies for property-based tests, the run doctor"),
    "theme": ("utils.png", WORDS), "printing": ("core theme", WORDS), "formula": ("core", WORDS),
    "memory": ("core explain nn.parameter", WORDS),
    "accelerator": ("minitorch core cuda", FACES),
    "cuda_graphs": ("core autograd backends nn", FACES),
    "fft": ("core", FACES), "linalg": ("core ops", FACES), "special": ("core", FACES),
    "signal": ("core", FACES), "overrides": ("minitorch core autograd", FACES),
    "_utils": ("minitorch cuda serialization utils", FACES),
    "torch_version": ("", ""),
    "compat": ("core ops autograd settings", "namespaces that exist so that programs import"),
    "extend": ("core explain ops autograd backends nn optim serialization", "the door"),
}

# Modules that go against the arrows, without a circle, and why.
AGAINST = {
    ("minitorch.random", "minitorch.ops.define"):
        "seeding is a public function, published like any",
    ("minitorch.ops.shapes.convert", "minitorch.autograd.function"):
        "a copy to another device has its own derivative",
    ("minitorch.ops.variates", "minitorch.autograd.function"):
        "drawn numbers have derivatives of their own",
    ("minitorch.ops.nn.recurrent", "minitorch.autograd.api"):
        "the second derivative of recurrent layers is that of a plain loop, taken by the engine",
}

# A guest, its friends, and its contents.
GUESTS = {
    "compiler": ("", "compile: trace, program, plan; emitted as Python, C or CUDA"),
    "distributed": ("cli futures", "several ranks: groups, collectives, DDP, FSDP, DTensor"),
    "multiprocessing": ("distributed", "starts ranks; memory that processes share"),
    "distributions": ("", "probability distributions"),
    "sparse": ("", "tensors of indices and values"),
    "nested": ("sym", RAGGED), "masked": ("", RAGGED),
    "fx": ("sym", "programs as graphs"),
    "library": ("compiler sparse", "operators of the user's own"),
    "array_api": ("", "the array API standard"),
    "profiler": ("viz", "time and memory of calls"),
    "transforms": ("", IMAGES), "datasets": ("transforms", IMAGES),
    "vision": ("datasets hub transforms", IMAGES),
    "hub": ("datasets", SMALL), "futures": ("", SMALL), "jit": ("futures", SMALL),
    "sym": ("", SMALL), "ao": ("", SMALL), "quasirandom": ("", SMALL),
    # the course
    "viz": ("compiler datasets profiler", "pictures of graphs, memory, kernels, training"),
    "check": ("distributions viz", "the exercises of the lessons"),
    "cli": ("datasets jit vision", "the command line"),
}


def friends(guest):
    """The guests that `guest` may use, and those that these use in turn."""
    found = set()
    todo = GUESTS[guest][0].split()
    for name in todo:
        if name not in found:
            found.add(name)
            todo += GUESTS[name][0].split()
    return found - {guest}


# Public namespaces beside PyTorch's; the names in their `__all__` are public.
PUBLIC = {
    "minitorch.backends.sim": "the simulator's programs of its own: settings, reports, its errors",
    "minitorch.extend": "the door",
    "minitorch.backends.cuda": "CUDA C++ kernels: sources, types, launches",
    "minitorch.backends.native": "C kernels: build a source, call it",
    "minitorch.backends.numpy_names": "NumPy's functions by what they do to dimensions: one table",
    "minitorch.formula": "the formulas of ops as text",
    "minitorch.ops.dims": "the index notation of ops, and questions about it",
    "minitorch.ops.labels": "that notation laid over a call, and what follows from it",
    "minitorch.printing": "what `repr` prints, and whether notebooks show HTML",
    "minitorch.serialization.unpickler": "a reader of pickles that runs no code, to derive from",
    "minitorch.testing": "PyTorch has it, with fewer names: `check` and `doctor` are our own",
    "minitorch.testing.strategies": "inputs for tests, with Hypothesis or without",
    "minitorch.theme": "colours of pictures, for pages that are light or dark",
    "minitorch.utils._pytree": "PyTorch's, under a name that many programs import",
    "minitorch.utils.bounds": "how much a file that may be forged may ask for",
    "minitorch.utils.png": "PNG files without another library",
}
# PyTorch's names with an underscore that its own libraries import too: (namespace, name) -> who.
UNDERSCORED = {
    ("minitorch", "_sample_dirichlet"): "torch.distributions, and torchvision's transforms",
    ("minitorch", "_standard_gamma"): "torch.distributions",
    ("minitorch.nn.modules.utils", "_pair"): "torchvision.ops",
}
