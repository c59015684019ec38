"""The precision of float32 matrix products: the setting of `minitorch.set_float32_matmul_precision`."""

__all__ = ["float32_matmul", "set_float32_matmul", "set_library"]

state = ("highest", "own")                                 # this precision, and the library of products on GPUs


def float32_matmul():
    """"highest", "high" or "medium"."""
    return state[0]


def set_float32_matmul(precision):
    """Let backends round the operands of float32 products, unless `precision` is "highest"."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"{precision} is not one of 'highest', 'high' or 'medium'")
    global state
    state = precision, state[1]


def set_library(name):
    """Let a library multiply matrices on GPUs: see `backends.cuda.matmul`."""
    global state
    state = state[0], name
