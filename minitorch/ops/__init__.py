"""The op table, split by kind, and the methods that Tensor gets from it."""

from ..inplace import inplace
from ..op import FUNCTIONS, METHODS
from ..tensor import Tensor
from . import (
    activation,
    arithmetic,
    conv,
    convert,
    create,
    cross_entropy,
    dropout,
    embedding,
    index,
    join,
    linear,
    loss,
    matmul,
    norm,
    operators,
    pad,
    pointwise,
    pool,
    random,
    reduce,
    resize,
    shape,
    softmax,
    view,
)

__all__ = ["activation", "arithmetic", "conv", "convert", "create", "cross_entropy", "dropout", "embedding", "index",
           "join", "linear", "loss", "matmul", "norm", "operators", "pad", "pointwise", "pool", "random", "reduce",
           "resize", "shape", "softmax", "view"]


def bind_methods():
    """Give Tensor its methods: those of the table, their in-place twins, and the explicit ones, which come first."""
    for (_, name), public in FUNCTIONS.items():
        if public.method:
            setattr(Tensor, name, public.call)
        if public.inplace:
            setattr(Tensor, name + "_", inplace(name, public.call, getattr(public.call, "op", None)))
    for name, function in METHODS.items():
        setattr(Tensor, name, function)
    operators.bind()


bind_methods()
