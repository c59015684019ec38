"""Names of PyTorch's tracer of calls below autograd, `make_fx`, which is not there: no trace of it ever runs."""

__all__ = ["get_proxy_mode"]


def get_proxy_mode():
    """Return None: no tensor represents a node of a graph. `symbolic_trace` traces modules,
    `compile` calls."""
    return None
