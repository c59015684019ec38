"""Op definitions: steps of transformers in one pass over memory (rotary positions, norm of a residual sum).

PyTorch has no functions for these: there they are written out, or come from libraries of kernels.
"""

from ...core.dtypes import float32, promote_types
from ...host.type_info import finfo
from ..define import composite, op
from .norm import affine_grads, last_dims


# ---- rotary position embedding -----------------------------------------------------------------------------
def pair_shape(shape, interleaved):
    """The last dimension D split into pairs: (D / 2, 2) of neighbours, or (2, D / 2), the two halves."""
    half = shape[-1] // 2
    return (*shape[:-1], *((half, 2) if interleaved else (2, half)))


def over_pairs(F, x, interleaved):
    """The sum of the two elements of each pair: (..., D) to (..., D / 2)."""
    return F.sum(F.reshape(x, shape=pair_shape(x.shape, interleaved)), dim=-1 if interleaved else -2)


def check_rope(input, cos, sin):
    """RuntimeError unless D is even, and the shape of the tables broadcasts to (..., T, D / 2)."""
    if not input.ndim or input.shape[-1] % 2:
        raise RuntimeError(f"rope turns pairs of elements: expected input with an even last dimension, but got input "
                           f"of size {list(input.shape)}")
    wanted = (*input.shape[:-1], input.shape[-1] // 2)
    for name, table in (("cos", cos), ("sin", sin)):
        own = table.shape
        fits = 0 < len(own) <= len(wanted) and own[-1] == wanted[-1] and all(
            [n in (1, m) for n, m in zip(own[::-1], wanted[::-1])])
        if not fits:
            raise RuntimeError(f"rope expected {name} of a size that broadcasts to {list(wanted)}, one number for each "
                               f"pair, such as {list(wanted[-2:])}, but got {list(own)}")


@op(dims="* [d], * [h], * [h] -> * [d]",
    promotion="float", namespace="nn.functional",
    sample=lambda d: ([d.array((2, 2, 4)), d.array((2, 2)), d.array(d.choice([(2, 2), (2, 1, 2)]))],
                      dict(interleaved=d.bool())),
    input=lambda F, g, cos, sin, interleaved: F.rope(g, cos, -sin, interleaved=interleaved),
    cos=lambda F, g, input, interleaved: over_pairs(F, g * input, interleaved),
    sin=lambda F, g, input, cos, sin, interleaved: over_pairs(
        F, g * F.rope(input, cos * 0.0, sin * 0.0 + 1.0, interleaved=interleaved), interleaved))
def rope(F, input, cos, sin, *, interleaved=False):
    """Rotary position embedding: each pair (x, y) of elements becomes ``(x cos - y sin, x sin + y cos)``.

    `input` is (..., T, D), such as the queries (N, H, T, D) of attention; `cos` and `sin` are those of the angles
    ``t / 10000^(2 i / D)``, (T, D / 2), or of any shape that broadcasts to (..., T, D / 2). Element i makes a pair with
    element ``i + D / 2``, as in Llama and GPT-NeoX, or, `interleaved`, element 2 i with 2 i + 1, as in the paper.

    PyTorch has no such function. Source: J. Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding",
    2021. The gradient of `input` is turned back: the rotation by the negative angle.

    >>> import minitorch as torch
    >>> x = torch.tensor([[1., 2., 0., 0.]])
    >>> torch.nn.functional.rope(x, torch.zeros(1, 2), torch.ones(1, 2))
    tensor([[0., 0., 1., 2.]])
    """
    check_rope(input, cos, sin)
    pairs = input.reshape(pair_shape(input.shape, interleaved))
    x, y = (pairs[..., 0], pairs[..., 1]) if interleaved else (pairs[..., 0, :], pairs[..., 1, :])
    turned = F.xp.stack([x * cos - y * sin, x * sin + y * cos], axis=-1 if interleaved else -2)
    return turned.reshape(input.shape)


# ---- a residual sum and its norm ---------------------------------------------------------------------------
def add_grads(F, g, needs, weight, out, y, r, eps, centred):
    """The derivatives of `add_layer_norm`: those of the norm, plus the gradient that reaches the sum by itself."""
    by_out, by_sum = g
    if by_out is None:
        return by_sum, by_sum, None, None
    total = out[1]
    dx, dw, db = affine_grads(F, by_out, needs[1:], total, weight, y, r, (total.ndim - 1,), eps, centred)
    dx = dx if by_sum is None else dx + by_sum
    return dx, dx, dw, db


@op(dims="* [d], * [d], [d], [d] -> * [d], * [d]",
    name="add_layer_norm", node_name="AddNormaliseBackward0", promotion="float", namespace=None,
    autocast="float32 on cuda", outputs=(True, True), keeps=("y", "r"), joint=add_grads,
    sample=lambda d: ([d.array((2, 3)), d.array((2, 3)), d.choice([None, d.array((3,))]),
                       d.choice([None, d.array((3,))])], dict(eps=0.1, centred=d.bool())))
def _add_layer_norm(F, input, residual, weight=None, bias=None, *, eps=1e-5, centred=True):
    """The sum of two tensors of one shape, normalised over the last dimension as `layer_norm` does it; the sum."""
    total = input + residual
    out, y, r = F.full_layer_norm(total, weight, bias, dims=(total.ndim - 1,), eps=eps, centred=centred)
    return (out, total), y, r


def add_and_normalise(input, residual, weight, bias, eps, centred):
    if input.shape != residual.shape:
        raise RuntimeError(f"expected residual to have the size of input, {list(input.shape)}, but got "
                           f"{list(residual.shape)}: broadcast it by residual.expand_as(input)")
    last_dims(input, input.shape[-1:], weight, bias)
    return _add_layer_norm(input, residual, weight, bias, eps, centred)


@composite(namespace="nn.functional")
def add_layer_norm(input, residual, weight=None, bias=None, eps=1e-5):
    """``(layer_norm(s), s)`` for ``s = input + residual``, the step between two blocks of a transformer.

    `input` and `residual` are (..., D), the norm is over the last dimension, `weight` and `bias` are (D,); the results
    are (..., D). On a GPU it is one kernel, which reads both and writes both once. PyTorch has no such function.
    Source of the formula: J. Ba et al., "Layer Normalization", 2016.

    >>> import minitorch as torch
    >>> normalised, total = torch.nn.functional.add_layer_norm(torch.tensor([[1., 2.]]), torch.tensor([[0., 1.]]))
    >>> normalised, total
    (tensor([[-1.0000,  1.0000]]), tensor([[1., 3.]]))
    """
    return add_and_normalise(input, residual, weight, bias, eps, True)


@composite(namespace="nn.functional")
def add_rms_norm(input, residual, weight=None, eps=None):
    """``(rms_norm(s), s)`` for ``s = input + residual``, which is `add_layer_norm` without mean and bias.

    `input` and `residual` are (..., D), `weight` is (D,), and so ``rms_norm(s) = s / sqrt(mean(s^2) + eps) * weight``
    over the last dimension; `eps` is by default the machine epsilon of the dtype, as in `rms_norm`. PyTorch has no such
    function. Source of the formula: B. Zhang and R. Sennrich, "Root Mean Square Layer Normalization", 2019.

    >>> import minitorch as torch
    >>> torch.nn.functional.add_rms_norm(torch.tensor([[1., 6.]]), torch.tensor([[0., 1.]]))
    (tensor([[0.2000, 1.4000]]), tensor([[1., 7.]]))
    """
    found = promote_types(input.dtype, residual.dtype)
    eps = finfo(found if found.itemsize > 2 else float32).eps if eps is None else eps
    return add_and_normalise(input, residual, weight, None, eps, False)
