"""The wall: which packages are the kernel, which are guests, and whom a guest may use.

The kernel is what one reads to understand the library: tensors, the graph, definitions, kernels,
layers, optimisers, files. It runs alone: nothing in it imports a guest. A guest stands on public
names and on the door, `minitorch/extend.py`; it may also use its friends, the guests listed with
it, and no others. `test_wall.py` holds the imports against this list; `python tests/alone.py`
takes the library apart along it.
"""

# A folder or file at the top of minitorch/, and what it holds; each stands on those before it.
KERNEL = {
    "core": "tensors, the graph, the engine, op definitions and the calls generated from them",
    "explain": "the words of errors and warnings",
    "random": "PyTorch's random numbers: generators, and distributions on raw arrays",
    "host": "data of Python and NumPy as arrays of the host",
    "ops": "op definitions: references, derivative formulas, documentation",
    "autograd": "backward, grad, modes, Function, hooks, forward mode, overrides",
    "backends": "kernels by op: cpu, native (C), cuda, sim; arrays of vmap; shapes without values",
    "func": "transformations of functions: vmap, grad, jvp",
    "amp": "mixed precision",
    "nn": "modules and functions of networks",
    "optim": "optimisers and schedules",
    "utils": "data loading, pytrees, checkpointing: torch.utils",
    "serialization": "PyTorch's file formats",
    "testing": "gradient checks, strategies for property-based tests, the run doctor",
    # words and pictures of tensors in plain text
    "theme": "colours", "printing": "repr", "formula": "what an op computes, as text",
    "memory": "what stays alive",
    # PyTorch's namespaces over the above
    "accelerator": "", "cuda": "", "cuda_graphs": "", "fft": "", "linalg": "", "overrides": "",
    "return_types": "", "settings": "", "signal": "", "special": "", "_utils": "",
    "compat": "namespaces that exist so that programs import",
    "extend": "the door",
}

# A guest, its friends, and what it holds.
GUESTS = {
    "compiler": ("", "compile: trace, program, plan; emitted as Python, C or CUDA"),
    "distributed": ("futures", "several ranks: groups, collectives, DDP, FSDP, DTensor"),
    "multiprocessing": ("distributed", "starts ranks; memory that processes share"),
    "distributions": ("", "probability distributions"),
    "sparse": ("", "tensors of indices and values"),
    "answering": ("", "how nested and masked tensors answer calls"),
    "nested": ("answering sym", "batches of tensors that differ in size"),
    "masked": ("answering", "tensors with elements that do not count"),
    "fx": ("", "programs as graphs"),
    "library": ("compiler sparse", "operators of the user's own"),
    "array_api": ("", "the array API standard"),
    "quasirandom": ("", "Sobol' sequences"),
    "profiler": ("viz", "time and memory of calls"),
    "transforms": ("", "torchvision's transforms of images"),
    "datasets": ("transforms", "data sets, and their readers"),
    "vision": ("datasets hub transforms", "torchvision's models and ops"),
    "hub": ("datasets", "published models"),
    "futures": ("", "results that come later"),
    "jit": ("futures", "torch.jit's annotations; scripts are not compiled"),
    "sym": ("", "symbolic sizes"),
    "ao": ("", "torch.ao's names of quantisation"),
    "torch_version": ("", "the version of PyTorch whose names these are"),
    # the course
    "viz": ("datasets profiler", "pictures of graphs, memory, kernels, training"),
    "check": ("", "the exercises of the lessons"),
    "cli": ("datasets", "the command line"),
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


# Public namespaces of our own, beside those that PyTorch has: all that stands in their `__all__`.
PUBLIC = {
    "minitorch.backends.sim": "the simulator's programs of its own: settings, reports, its errors",
    "minitorch.extend": "the door",
    "minitorch.backends.cuda": "CUDA C++ of one's own: texts, types, launches",
    "minitorch.backends.native": "C of one's own: build a text, call it",
    "minitorch.formula": "the formulas of ops as text",
    "minitorch.printing": "what `repr` prints, and whether notebooks show HTML",
    "minitorch.serialization.unpickler": "a reader of pickles that runs no code, to derive from",
    "minitorch.testing": "PyTorch has it, with fewer names: `check` and `doctor` are our own",
    "minitorch.testing.strategies": "inputs for tests, with Hypothesis or without",
    "minitorch.theme": "colours of pictures, for pages that are light or dark",
    "minitorch.utils._pytree": "PyTorch's, under a name that many programs import",
    "minitorch.utils.bounds": "how much a file that may be forged may ask for, for readers of files",
    "minitorch.utils.png": "PNG files without another library",
}
# PyTorch's names with an underscore that its own libraries import too: (namespace, name) -> who.
UNDERSCORED = {
    ("minitorch", "_sample_dirichlet"): "torch.distributions, and torchvision's transforms",
    ("minitorch", "_standard_gamma"): "torch.distributions",
    ("minitorch.nn.modules.utils", "_pair"): "torchvision.ops",
}
