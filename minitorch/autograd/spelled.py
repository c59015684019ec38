"""The spelling of calls that ``__torch_function__`` sees.

PyTorch's functions that are written in Python do not pass a call on as it came: the first
arguments go by position, all others by name, with their defaults. Those written in C++ do.
"""

import functools
import inspect

from ..core.registry import FUNCTIONS
from ..core.tensor import Tensor

__all__ = ["spelled"]

# namespace -> how many arguments go by position -> functions
BY_PLACE = {
    "": {1: "norm unravel_index", 2: "cdist split stft tensordot"},
    "Tensor": {1: "__array__ unique unique_consecutive", 2: "istft split stft"},
    "nn.functional": {
        1: "alpha_dropout celu dropout dropout1d dropout2d dropout3d elu feature_alpha_dropout glu "
           "gumbel_softmax hardsigmoid hardswish hardtanh instance_norm interpolate leaky_relu "
           "log_softmax mish normalize relu relu6 rrelu selu silu softmax softmin",
        2: "affine_grid binary_cross_entropy binary_cross_entropy_with_logits cross_entropy "
           "embedding embedding_bag grid_sample group_norm hinge_embedding_loss huber_loss kl_div "
           "l1_loss layer_norm local_response_norm mse_loss multi_margin_loss "
           "multilabel_margin_loss multilabel_soft_margin_loss nll_loss pad poisson_nll_loss "
           "rms_norm smooth_l1_loss soft_margin_loss unfold",
        3: "batch_norm cosine_embedding_loss fold gaussian_nll_loss lp_pool1d lp_pool2d lp_pool3d "
           "margin_ranking_loss max_unpool1d max_unpool2d max_unpool3d triplet_margin_loss "
           "triplet_margin_with_distance_loss",
        4: "ctc_loss"}}
BY_SIGNATURE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@functools.cache
def places():
    """How many arguments go by position, by function. One object that is also PyTorch's function
    of C++, as `torch.layer_norm` is `F.layer_norm`, stays as it is."""
    found: dict = {}
    for namespace, counts in BY_PLACE.items():
        for count, names in counts.items():
            for name in names.split():
                function = (getattr(Tensor, name, None) if namespace == "Tensor" else
                            getattr(FUNCTIONS.get((namespace, name)), "call", None))
                plain = getattr(FUNCTIONS.get(("", name)), "call", None)
                if function is not None and (namespace != "nn.functional" or plain is not function):
                    found[function] = count
    return found


@functools.cache
def parameters(function):
    """The signature of a function; None if it takes any number of arguments."""
    signature = inspect.signature(function)
    any_number = any([p.kind in BY_SIGNATURE for p in signature.parameters.values()])
    return None if any_number else signature


def spelled(function, args, kwargs):
    """The arguments of a call as PyTorch would pass them on; as they are if they do not fit."""
    if getattr(function, "__name__", "") == "einsum" and not kwargs:
        return equation(args), kwargs
    count = places().get(function)
    signature = count and parameters(function)
    if not signature:
        return args, kwargs
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:                                      # the function says what is wrong
        return args, kwargs
    bound.apply_defaults()
    given = list(bound.arguments.items())
    return tuple([x for _, x in given[:count]]), dict(given[count:])


def equation(args):
    """The arguments of `einsum`: an equation and the operands, one after the other."""
    first, *others = args
    if isinstance(first, str):
        several = len(others) == 1 and isinstance(others[0], (list, tuple))
        return (first, *others[0]) if several else args
    operands, lists = args[:len(args) - len(args) % 2:2], [*args[1::2], *args[len(args) & ~1:]]
    if len(args) < 2 or not all([isinstance(numbers, (list, tuple)) for numbers in lists]):
        return args                                        # the function says what is wrong
    terms = ["".join(map(letter, numbers)) for numbers in lists]
    result = f"->{terms[-1]}" if len(args) % 2 else ""
    return (",".join(terms[:len(operands)]) + result, *operands)


def letter(number):
    """The letter that stands for a dimension's number, as PyTorch numbers them."""
    if number is Ellipsis:
        return "..."
    return chr(ord("A") + number) if number < 26 else chr(ord("a") + number - 26)
