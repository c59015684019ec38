"""The precision of float32 matrix products: the setting of `minitorch.set_float32_matmul_precision`."""

__all__ = ["float32_matmul", "set_float32_matmul"]

_state = {"float32_matmul": "highest"}


def float32_matmul():
    """"highest", "high" or "medium"."""
    return _state["float32_matmul"]


def set_float32_matmul(precision):
    """Let backends round the operands of float32 products, unless `precision` is "highest"."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"{precision} is not one of 'highest', 'high' or 'medium'")
    _state["float32_matmul"] = precision
