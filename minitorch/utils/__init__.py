"""Helpers beside the library proper, spelt as in ``torch.utils``: ``data`` and whatever else lies in this folder.

Submodules are imported when first asked for (``minitorch.utils.data``), so ``import minitorch`` does not pay for them.
"""

import importlib
import importlib.util


def __getattr__(name: str):
    if name.startswith("__") or importlib.util.find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
