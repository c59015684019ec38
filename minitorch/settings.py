"""Settings that programs make at their start: threads, default device, determinism.

What PyTorch can be asked and this library has no choice in is accepted if it is true already, and answers truthfully.
"""

import functools
import os

from .backends.cpu import threads
from .backends.native.blas import libraries
from .backends.precision import float32_matmul, set_float32_matmul
from .core.device import default, device, get

__all__ = ["are_deterministic_algorithms_enabled", "get_default_device", "get_float32_matmul_precision",
           "get_num_interop_threads", "get_num_threads", "set_default_device", "set_float32_matmul_precision",
           "is_warn_always_enabled", "set_flush_denormal", "set_num_interop_threads", "set_num_threads",
           "set_warn_always", "use_deterministic_algorithms", "get_deterministic_debug_mode",
           "is_deterministic_algorithms_warn_only_enabled", "set_deterministic_debug_mode"]

_state = {"threads": None, "deterministic": False, "warn_only": False, "warn_always": False}


@functools.lru_cache(maxsize=1)
def blas():
    """The OpenBLAS that NumPy brings with it, as (set threads, get threads); None where it cannot be found."""
    import ctypes
    for path in libraries():
        try:
            library = ctypes.CDLL(str(path))
        except OSError:
            continue
        for prefix, suffix in (("scipy_", "64_"), ("scipy_", ""), ("", "64_"), ("", "")):
            names = [f"{prefix}openblas_{verb}_num_threads{suffix}" for verb in ("set", "get")]
            if all(hasattr(library, name) for name in names):
                return tuple(getattr(library, name) for name in names)
    return None


def set_num_threads(n):
    """Let matrix products (where NumPy comes with OpenBLAS) and elementwise work on large arrays use `n` threads."""
    if not isinstance(n, int) or n <= 0:
        raise RuntimeError(f"set_num_threads expects a positive integer, got {n}")
    found = blas()
    if found is not None:
        found[0](n)
    threads.set_number(n)
    _state["threads"] = n


def get_num_threads():
    """How many threads matrix products, and elementwise work on large arrays, use."""
    found = blas()
    return _state["threads"] or (found[1]() if found is not None else os.cpu_count() or 1)


def set_num_interop_threads(n):
    """Accepted: calls run one after the other here."""


def get_num_interop_threads():
    """How many calls run at a time: 1."""
    return 1


def set_default_device(where):
    """Let new tensors live on that device."""
    default.set(None if where is None else get(where))


def get_default_device():
    """The device of new tensors."""
    return device(get().device)


def set_float32_matmul_precision(precision):
    """Accepted: "highest", "high" or "medium"; products on the CPU are always in full float32."""
    set_float32_matmul(precision)


def get_float32_matmul_precision():
    """The precision that `set_float32_matmul_precision` was given."""
    return float32_matmul()


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Accepted: on the CPU every op is deterministic anyway."""
    _state.update(deterministic=bool(mode), warn_only=bool(warn_only))


def are_deterministic_algorithms_enabled():
    """The mode that `use_deterministic_algorithms` was given."""
    return _state["deterministic"]


def is_deterministic_algorithms_warn_only_enabled():
    """True if `use_deterministic_algorithms` was told to warn only."""
    return _state["warn_only"]


def set_deterministic_debug_mode(debug_mode):
    """`use_deterministic_algorithms` as a number or a word: 0 "default", 1 "warn", 2 "error"."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    words = ("default", "warn", "error")
    if debug_mode not in (*words, 0, 1, 2):
        raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                           f"{debug_mode}")
    level = words.index(debug_mode) if isinstance(debug_mode, str) else debug_mode
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def get_deterministic_debug_mode():
    """The mode that `set_deterministic_debug_mode` was given, as a number."""
    return (1 if _state["warn_only"] else 2) if _state["deterministic"] else 0


def set_flush_denormal(mode):
    """False: NumPy cannot round numbers below the smallest normal one to zero, so nothing was changed."""
    return False


def set_warn_always(b):
    """Accepted: how often a warning is shown is the business of Python's `warnings`."""
    if not isinstance(b, bool):
        raise TypeError(f"set_warn_always expects a bool, but got {type(b).__name__}")
    _state["warn_always"] = b


def is_warn_always_enabled():
    """The flag that `set_warn_always` was given."""
    return _state["warn_always"]


has_lapack = has_spectral = True                           # NumPy brings them
has_mkl = has_openmp = False
