"""``torch._VF``: functions of ``torch`` under the name by which PyTorch's own layers call them."""

from ..core.registry import FUNCTIONS


def __getattr__(name):
    """The public function of that name."""
    if ("", name) not in FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return FUNCTIONS["", name].call
