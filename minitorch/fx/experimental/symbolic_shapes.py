"""Questions about sizes that libraries ask PyTorch's tracer; here a size is a number."""

__all__ = ["GuardOnDataDependentSymNode", "free_symbols", "free_unbacked_symbols", "guard_or_false",
           "guard_or_true", "has_free_symbols", "statically_known_true"]


class GuardOnDataDependentSymNode(RuntimeError):
    """PyTorch raises this where a size depends on values; no call here does."""


def guard_or_false(a):
    """The truth of `a`, which is known."""
    return bool(a)


guard_or_true = statically_known_true = guard_or_false


def free_symbols(val):
    """The symbols in a size: none."""
    return set()


free_unbacked_symbols = free_symbols


def has_free_symbols(val):
    """False: sizes have no symbols."""
    return False
