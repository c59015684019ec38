"""C for the processor: find a compiler, build a text to a library once, load it, hand it arrays.

    from minitorch.backends import native

    if native.reason() is None:                            # else why there is no native code here, in words
        library = native.build('#include "prelude.h"\\n' + text)
        run = library.function("run", "pp l d")            # two pointers, an int64_t, a double
        run(native.address(x), native.address(y), x.size, 0.5)

For code that writes C there is more. The headers lie in the folder `HEADERS`. `count_parts` says
into how many parts loops over so many elements are cut; `shared` makes a function of Python of one
in C that has phases of several parts, which threads share. `called()` is the CPU's backend as a
compiled program sees it, with the native kernels that such a program calls.

No compiled part ships with the package: without a compiler everything runs as NumPy code. `compile` uses what is here,
and so do calls outside of it after `enable`, or with ``MINITORCH_NATIVE=1`` (`eager.py`). Nothing is looked for, and
nothing is compiled, at import. ``MINITORCH_NATIVE=0`` switches it all off.
"""

from importlib import import_module
from typing import Any

__all__ = ["Building", "HEADERS", "Library", "Unavailable", "address", "addresses", "build",        # noqa: F822
           "called", "count_parts", "enable", "enable_or_warn", "enabled", "in_parts",
           "is_enabled", "reason", "shared"]
PLACES = {**dict.fromkeys(("Building", "HEADERS", "Library", "address", "addresses", "build"), "library"),
          **dict.fromkeys(("count_parts", "in_parts", "shared"), "parts"),
          **dict.fromkeys(("called", "enable", "enable_or_warn", "enabled", "is_enabled"), "eager"),
          **dict.fromkeys(("Unavailable", "reason"), "toolchain")}


def __getattr__(name) -> Any:
    """Modules are imported when they are asked for: running compilers takes the import of half a dozen others."""
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"{__name__}.{PLACES[name]}"), name)
    return found
