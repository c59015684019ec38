"""All native kernels: importing this enters them. Their C is in ``src``; nothing is compiled before it is called."""

from . import (
    activation,
    convolution,
    loss,
    normalise,
    pool,
    quantised,
    recurrent,
    softmax,
    stepping,
    sums,
    tables,
    winograd,
)

__all__ = ["activation", "convolution", "loss", "normalise", "pool", "quantised", "recurrent", "softmax", "stepping",
           "sums", "tables", "winograd"]
