"""`record`: a decorator that PyTorch's programs put around their main function; here errors are recorded anyway."""

import functools

__all__ = ["record"]


def record(fn=None, error_handler=None):
    """`fn` itself, under a wrapper."""
    if fn is None:
        return functools.partial(record, error_handler=error_handler)

    @functools.wraps(fn)
    def call(*args, **kwargs):
        return fn(*args, **kwargs)
    return call
