"""The defaults of the parameters of functions and classes, by the names that PyTorch publishes."""

import ast
import importlib
import inspect

NAMESPACES = ("", "nn", "nn.functional", "nn.init", "nn.utils", "nn.utils.rnn", "nn.utils.prune",
              "nn.utils.parametrizations", "nn.utils.parametrize", "nn.utils.stateless", "optim", "optim.lr_scheduler",
              "optim.swa_utils", "linalg", "fft", "special", "func", "autograd", "autograd.functional",
              "autograd.forward_ad", "autograd.graph", "amp", "utils.data", "utils.checkpoint",
              "distributed", "nn.parallel", "profiler", "testing", "signal.windows", "random", "Tensor")
REQUIRED = "is required"
PLAIN = (bool, int, float, str, type(None))


def namespace(T, path):
    """A module or class of a library by its path; what `import` of the library leaves out is imported."""
    for part in path.split(".") if path else ():
        if not hasattr(T, part):
            importlib.import_module(f"{T.__name__}.{part}")
        T = getattr(T, part)
    return T


def defaults(function):
    """{parameter: its default, or `REQUIRED`}; defaults that are not plain data are left out, and
    so are all of a name that takes several signatures."""
    try:
        found = [(p.name, p.default) for p in inspect.signature(function).parameters.values()
                 if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.name != "out"]
    except (ValueError, TypeError):
        found = of_text(function)
    found = [(name, REQUIRED if value is inspect.Parameter.empty else value) for name, value in found]
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found if is_plain(value)}


def of_text(function):
    """The same of the first line of a docstring, ``sum(input, dim, keepdim=False, *, dtype=None) -> Tensor``."""
    text = function.__doc__ if isinstance(function.__doc__, str) else ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    calls = [line for line in lines if line.startswith(f"{getattr(function, '__name__', None)}(")]
    if len(calls) != 1:
        return []
    try:
        made = ast.parse(f"def {calls[0].split(' -> ')[0].rstrip(':').replace(' or None', '')}: pass").body[0].args
        given = [*zip(made.args[len(made.args) - len(made.defaults):], made.defaults),
                 *zip(made.kwonlyargs, made.kw_defaults)]
        return [(name.arg, ast.literal_eval(value)) for name, value in given if value is not None]
    except (SyntaxError, ValueError):
        return []


def is_plain(value):
    return all(map(is_plain, value)) if isinstance(value, (tuple, list)) else isinstance(value, PLAIN)


def recorded(T):
    """{name with its namespace: {parameter: default}} of a library."""
    every = {}
    for path in NAMESPACES:
        place = namespace(T, path)
        for name in sorted(dir(place)):
            value = None if name.startswith("_") else getattr(place, name, None)
            if callable(value) and (mine := defaults(value)):
                every[f"{path}.{name}".lstrip(".")] = mine
    return every


def shared(theirs, ours):
    """Those of PyTorch that both libraries have."""
    found = {name: {key: value for key, value in given.items() if key in ours.get(name, {})}
             for name, given in theirs.items()}
    return {name: given for name, given in found.items() if given}
