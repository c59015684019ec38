"""C for the processor: find a compiler, build a text to a library once, load it, hand it arrays.

    from minitorch.backends import native

    if native.reason() is None:                            # else why there is no native code here, in words
        library = native.build('#include "prelude.h"\\n' + text)
        run = library.function("run", "pp l d")            # two pointers, an int64_t, a double
        run(native.address(x), native.address(y), x.size, 0.5)

No compiled part ships with the package: without a compiler everything runs as NumPy code. `compile` uses what is here,
and so do calls outside of it after `enable`, or with ``MINITORCH_NATIVE=1`` (`eager.py`). Nothing is looked for, and
nothing is compiled, at import. ``MINITORCH_NATIVE=0`` switches it all off.
"""

from importlib import import_module
from typing import Any

__all__ = ["Library", "Unavailable", "address", "addresses", "build", "called", "enable", "enable_or_warn",     # noqa: F822
           "enabled", "in_parts", "is_enabled", "reason"]
PLACES = {"Library": "library", "address": "library", "addresses": "library", "build": "library",
          "in_parts": "parts", "called": "eager", "enable": "eager", "enabled": "eager", "enable_or_warn": "eager",
          "is_enabled": "eager", "Unavailable": "toolchain", "reason": "toolchain"}


def __getattr__(name) -> Any:
    """Modules are imported when they are asked for: running compilers takes the import of half a dozen others."""
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"{__name__}.{PLACES[name]}"), name)
    return found
