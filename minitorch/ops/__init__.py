"""The op table, split by kind, and the methods that Tensor gets from it."""

from types import FunctionType

from ..inplace import inplace
from ..op import FUNCTIONS, METHODS, as_method, publish
from ..tensor import Tensor
from . import (
    activation,
    arithmetic,
    attention,
    compare,
    conv,
    convert,
    create,
    cross_entropy,
    ctc,
    cumulative,
    decompositions,
    distance,
    dropout,
    einsum,
    embedding,
    extreme,
    fft,
    fold,
    fused,
    grid,
    histogram,
    index,
    join,
    linalg,
    linear,
    loss,
    lu,
    margin,
    mask,
    matmul,
    norm,
    norms,
    operators,
    pad,
    pointwise,
    pool,
    query,
    random,
    recurrent,
    reduce,
    resize,
    rounding,
    scatter,
    search,
    shape,
    shuffle,
    softmax,
    sort,
    special,
    statistics,
    unpool,
    view,
)


def bind_methods():
    """Give Tensor its methods: those of the table, their in-place twins, and the explicit ones, which come first."""
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
