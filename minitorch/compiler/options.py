"""The arguments of `compile` that choose among PyTorch's compilers: they have no effect here but for
`mode`, and names that do not exist are refused as PyTorch refuses them.
"""

import difflib

from .inductor import KNOWN, SWITCHES

__all__ = ["BACKENDS", "InvalidBackend", "check_backend", "check_mode", "check_options"]

BACKENDS = ("auto", "c", "numpy")
# Names of PyTorch's, which mean "auto".
THEIRS = """
    aot_eager aot_eager_decomp_partition aot_eager_default_partitioner aot_ts cudagraphs eager
    eager_debug eager_noexcept inductor invoke_subgraph onnxrt openxla openxla_eval
    pre_dispatch_eager ts tvm""".split()
MODES = "default lite reduce-overhead max-autotune-no-cudagraphs max-autotune".split()


class InvalidBackend(RuntimeError):
    """The error for the name of a backend that does not exist."""

    __module__ = "minitorch._dynamo.exc"


def check_backend(backend):
    """InvalidBackend for a name that is neither ours nor one of PyTorch's."""
    if callable(backend) or backend in (*BACKENDS, *THEIRS):
        return
    raise InvalidBackend(f"Invalid backend: {backend!r}, see `torch.compiler.list_backends()` for "
                         f"available backends: {', '.join(BACKENDS)}, or PyTorch's "
                         f"{', '.join(THEIRS)}, which all mean auto")


def check_mode(mode, options):
    """RuntimeError for a mode that does not exist, or one beside options."""
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified "
                           "at the same time.")
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")


def check_options(options):
    """RuntimeError for an option that PyTorch does not have, or that must be a bool."""
    if options is None:
        return
    if not isinstance(options, dict):
        raise TypeError(f"options is a dict of names and values, not a {type(options).__name__}")
    for name, value in options.items():
        name = str(name).replace("-", "_")
        if name not in KNOWN:
            close = difflib.get_close_matches(name, KNOWN, 3)
            raise RuntimeError(f"Unexpected optimization option {name}, known options are "
                               f"{close or sorted(KNOWN)}")
        if name in SWITCHES and type(value) is not bool:
            raise RuntimeError(f"Unexpected type of attr {name}, got {type(value).__name__} should "
                               f"be bool")
