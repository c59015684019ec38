"""The op definitions, grouped by kind, and the methods that Tensor gets from them."""

from types import FunctionType

from ..core.inplace import inplace
from ..core.registry import FUNCTIONS, METHODS
from ..core.tensor import Tensor
from . import fft, operators, optim, out, promotion
from .creation import create, interop, query, random, type_info
from .define import publish
from .elementwise import activation, arithmetic, compare, pointwise, rounding, special
from .indexing import index, mask, scatter, search, sort
from .linalg import decompositions, einsum, linear, lu, matmul, matrices
from .methods import as_method
from .nn import (
    attention,
    conv,
    cross_entropy,
    ctc,
    distance,
    dropout,
    embedding,
    fold,
    fused,
    grid,
    loss,
    margin,
    norm,
    pad,
    pool,
    recurrent,
    resize,
    shuffle,
    softmax,
    unpool,
)
from .reductions import cumulative, extreme, histogram, norms, reduce, statistics
from .shapes import convert, join, memory, shape, view


def bind_methods():
    """Give Tensor its methods: those of the registry, their in-place twins, and the explicit ones, which come first."""
    for (namespace, name), public in list(FUNCTIONS.items()):
        if public.method:
            setattr(Tensor, name, as_method(public.call))
        if public.inplace:
            twin = inplace(name, public.call, getattr(public.call, "op", None))
            twin.__wrapped__ = as_method(public.call)      # whose signature `inspect` shows
            setattr(Tensor, name + "_", twin)
            if not namespace:                              # torch.exp_(x) is x.exp_()
                function = FunctionType(twin.__code__, twin.__globals__, name + "_", None, twin.__closure__)
                function.__wrapped__, function.__doc__ = public.call, twin.__doc__
                publish(function, name + "_", method=False)
    for name, function in METHODS.items():
        setattr(Tensor, name, function)
    for name in ("zero_", "fill_", "resize_as_", "detach_"):
        publish(getattr(Tensor, name), name, method=False)
    operators.bind()


special.publish_special()
bind_methods()
