"""`record`: a decorator that PyTorch's programs put around their main function; here errors are recorded anyway."""

import functools

__all__ = ["ChildFailedError", "record"]


class ChildFailedError(Exception):
    """Ranks that a launcher has started have failed: `name` of the program, `failures` by rank."""

    def __init__(self, name, failures):
        super().__init__(f"{name} FAILED: ranks {sorted(failures)}")
        self.name, self.failures = name, failures


def record(fn=None, error_handler=None):
    """`fn` itself, under a wrapper."""
    if fn is None:
        return functools.partial(record, error_handler=error_handler)

    @functools.wraps(fn)
    def call(*args, **kwargs):
        return fn(*args, **kwargs)
    return call
