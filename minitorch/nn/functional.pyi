"""The functions of neural networks, as ``torch.nn.functional``: what the op table publishes under that name.

Each is defined, with its derivative, in one file of `minitorch/ops`: activation, softmax, loss, norm, conv, pool ...
"""
# Generated from the op registry by `python docs/build_stubs.py`: edit docs/stub_types.py, or the definition, instead.
import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, SupportsIndex, TypeAlias, overload

import numpy as _np
from .. import return_types
from ..core.device import device as _device
from ..core.dtypes import dtype as _dtype
from ..ops.shapes.memory import TypedStorage as _TypedStorage
from ..ops.shapes.memory import UntypedStorage as _UntypedStorage
from ..core.storage import layout as _layout
from ..core.storage import memory_format as _memory_format
from ..random.generator import Generator as _Generator
from ..core.tensor import Size, Tensor

_bool: TypeAlias = builtins.bool                           # the plain names are dtypes, and methods of Tensor
_int: TypeAlias = builtins.int
_Int: TypeAlias = builtins.int | _np.integer[Any]
_float: TypeAlias = builtins.float
_complex: TypeAlias = builtins.complex
_str: TypeAlias = builtins.str
_Number: TypeAlias = _complex | _np.generic
_Operand: TypeAlias = Tensor | _complex | _np.generic | _np.ndarray[Any, Any]

def hardshrink(input: Tensor, lambd: _Number = 0.5, *, out: Tensor | None = None) -> Tensor:
    """`input` where ``|input| > lambd``, elsewhere 0."""
def softshrink(input: Tensor, lambd: _Number = 0.5, *, out: Tensor | None = None) -> Tensor:
    """`input` moved towards 0 by `lambd`, and 0 where that would change its sign."""
def softplus(input: Tensor, beta: _Number = 1.0, threshold: _Number = 20.0, *, out: Tensor | None = None) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``, and just `input` where ``beta * input > threshold``."""
def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``log(sigmoid(input))``, without overflow."""
def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-input))``."""
def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``."""
def softsign(input: Tensor) -> Tensor:
    """``input / (1 + |input|)``."""
def glu(input: Tensor, dim: _Int = -1) -> Tensor:
    """``a * sigmoid(b)``, a and b the two halves of `input` along `dim`. Source: Y. Dauphin et al., 2016."""
def gelu(input: Tensor, approximate: _str = 'none', *, out: Tensor | None = None) -> Tensor:
    """``input * Phi(input)``, Phi the distribution function of the normal distribution.

    With `approximate` "tanh": ``input / 2 * (1 + tanh(sqrt(2 / pi) (input + 0.044715 input^3)))``. Source: D.
    Hendrycks and K. Gimpel, "Gaussian Error Linear Units", 2016.
    """
def relu_(input: Tensor) -> Tensor:
    """In-place twin of `relu`: writes the result into this tensor and returns it."""
def relu(input: Tensor, inplace: _bool = False) -> Tensor:
    """``max(input, 0)``; the gradient at 0 is 0, at NaN 1.

    With `inplace` the result is written into `input`.
    """
def leaky_relu_(input: Tensor, negative_slope: _Number = 0.01) -> Tensor:
    """In-place twin of `leaky_relu`: writes the result into this tensor and returns it."""
def leaky_relu(input: Tensor, negative_slope: _Number = 0.01, inplace: _bool = False) -> Tensor:
    """`input` where positive, elsewhere ``negative_slope * input``.

    With `inplace` the result is written into `input`.
    """
def elu_(input: Tensor, alpha: _Number = 1.0) -> Tensor:
    """In-place twin of `elu`: writes the result into this tensor and returns it."""
def elu(input: Tensor, alpha: _Number = 1.0, inplace: _bool = False) -> Tensor:
    """`input` where positive, elsewhere ``alpha * (exp(input) - 1)``. Source: D. Clevert et al., 2015.

    With `inplace` the result is written into `input`.
    """
def celu_(input: Tensor, alpha: _Number = 1.0) -> Tensor:
    """In-place twin of `celu`: writes the result into this tensor and returns it."""
def celu(input: Tensor, alpha: _Number = 1.0, inplace: _bool = False) -> Tensor:
    """`input` where positive, elsewhere ``alpha * (exp(input / alpha) - 1)``. Source: J. Barron, 2017.

    With `inplace` the result is written into `input`.
    """
def selu_(input: Tensor) -> Tensor:
    """In-place twin of `selu`: writes the result into this tensor and returns it."""
def selu(input: Tensor, inplace: _bool = False) -> Tensor:
    """`elu` with the scale and the alpha that keep mean 0 and variance 1. Source: G. Klambauer et al., 2017.

    With `inplace` the result is written into `input`.
    """
def hardtanh_(input: Tensor, min_val: _Number = -1.0, max_val: _Number = 1.0) -> Tensor:
    """In-place twin of `hardtanh`: writes the result into this tensor and returns it."""
def hardtanh(input: Tensor, min_val: _Number = -1.0, max_val: _Number = 1.0, inplace: _bool = False) -> Tensor:
    """`input` clamped to [min_val, max_val]; the gradient at the ends is 0.

    With `inplace` the result is written into `input`.
    """
def threshold_(input: Tensor, threshold: _Number, value: _Number) -> Tensor:
    """In-place twin of `threshold`: writes the result into this tensor and returns it."""
def threshold(input: Tensor, threshold: _Number, value: _Number, inplace: _bool = False) -> Tensor:
    """`input` where it is greater than `threshold`, elsewhere `value`.

    With `inplace` the result is written into `input`.
    """
def rrelu_(input: Tensor, lower: _Number = 0.125, upper: _Number = 0.3333333333333333, training: _bool = False) -> Tensor:
    """In-place twin of `rrelu`: writes the result into this tensor and returns it."""
def rrelu(input: Tensor, lower: _Number = 0.125, upper: _Number = 0.3333333333333333, training: _bool = False, inplace: _bool = False) -> Tensor:
    """`input` where positive, elsewhere ``a * input``: in training `a` is drawn from [lower, upper), else their mean.

    The numbers are PyTorch's on the CPU for the same seed. Source: B. Xu et al., "Empirical Evaluation of Rectified
    Activations in Convolution Network", 2015.


    With `inplace` the result is written into `input`.
    """
def relu6(input: Tensor, inplace: _bool = False) -> Tensor:
    """``min(max(input, 0), 6)``.

    With `inplace` the result is written into `input`.
    """
def silu(input: Tensor, inplace: _bool = False) -> Tensor:
    """``input * sigmoid(input)``, also called swish.

    With `inplace` the result is written into `input`.
    """
def mish(input: Tensor, inplace: _bool = False) -> Tensor:
    """``input * tanh(softplus(input))``. Source: D. Misra, "Mish", 2019.

    With `inplace` the result is written into `input`.
    """
def hardswish(input: Tensor, inplace: _bool = False) -> Tensor:
    """``input * min(max(input + 3, 0), 6) / 6``. Source: A. Howard et al., "Searching for MobileNetV3", 2019.

    With `inplace` the result is written into `input`.
    """
def hardsigmoid(input: Tensor, inplace: _bool = False) -> Tensor:
    """``min(max(input + 3, 0), 6) / 6``.

    With `inplace` the result is written into `input`.
    """
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`input` where positive, elsewhere ``weight * input``, with one learnt weight or one per channel (dimension 1).

    Source: K. He et al., "Delving Deep into Rectifiers", 2015.
    """
def pad(input: Tensor, pad: Sequence[_Int], mode: _str = 'constant', value: _Number | None = None) -> Tensor:
    """`input` padded around its last dimensions: ``pad`` is (left, right, top, bottom, ...), the last dimension first.

    `mode`: "constant" puts `value` there (0 by default); "reflect" mirrors without repeating the edge, "replicate"
    repeats the edge, "circular" goes on at the other end; these three pad the last 1, 2 or 3 dimensions of an input
    with one or two more. Negative numbers crop.

    >>> import minitorch
    >>> pad(minitorch.tensor([[1., 2., 3.]]), (2, 1), "reflect")
    tensor([[3., 2., 1., 2., 3., 2.]])
    """
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``: (..., in), (out, in), (out,) -> (..., out).

    A weight of shape (in,) gives a result without the last dimension.
    """
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 . weight[o] . input2 + bias[o]``: (..., I), (..., J), (O, I, J), (O,) -> (..., O)."""
def dropout(input: Tensor, p: _Number = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """In training, each element is 0 with probability `p` and the others are divided by ``1 - p``.

    Source: G. Hinton et al., "Improving neural networks by preventing co-adaptation of feature detectors", 2012.
    """
def alpha_dropout(input: Tensor, p: _Number = 0.5, training: _bool = False, inplace: _bool = False) -> Tensor:
    """Dropout for `selu`: dropped elements take its lowest value, then all are scaled and shifted to keep mean and
    variance. Source: G. Klambauer et al., "Self-Normalizing Neural Networks", 2017.
    """
def feature_alpha_dropout(input: Tensor, p: _Number = 0.5, training: _bool = False, inplace: _bool = False) -> Tensor:
    """`alpha_dropout` of whole channels of (N, C, *)."""
def dropout1d(input: Tensor, p: _Number = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """In training, whole channels of (N, C, L) or (C, L) are 0 with probability `p`, the others scaled."""
def dropout2d(input: Tensor, p: _Number = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """In training, whole channels of (N, C, H, W) are 0 with probability `p`, the others divided by ``1 - p``.

    A 3-D input is taken as (N, C, L), with a warning; PyTorch announces that it will be (C, H, W).
    """
def dropout3d(input: Tensor, p: _Number = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """In training, whole channels of (N, C, D, H, W) or (C, D, H, W) are 0 with probability `p`, the others scaled."""
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: _Number = 0.0, is_causal: _bool = False, scale: _Number | None = None, enable_gqa: _bool = False) -> Tensor:
    """``softmax(query @ key.T * scale + mask) @ value``: (..., L, E), (..., S, E), (..., S, Ev) give (..., L, Ev).

    `attn_mask` broadcasts to (..., L, S): bools, True for what takes part, or floats to add. `is_causal` lets query l
    see keys 0 to l. `scale` is by default ``1 / sqrt(E)``. With `enable_gqa` there may be fewer heads (dimension -3)
    of keys and values, and each head serves several of the query. A query that may see no key gives zeros. Weights are
    0 with probability `dropout_p`, and the others divided by ``1 - dropout_p``, in evaluation, too.
    """
def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: _Int, num_heads: _Int, in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: _bool, dropout_p: _Number, out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: _bool = True, key_padding_mask: Tensor | None = None, need_weights: _bool = True, attn_mask: Tensor | None = None, use_separate_proj_weight: _bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: _bool = True, is_causal: _bool = False) -> tuple[Tensor, Tensor | None]:
    """Attention of `num_heads` heads with projections of inputs and output, for `nn.MultiheadAttention`.

    `query` (L, N, E), `key` and `value` (S, N, E), or all without N, give (L, N, E) and, if `need_weights`, the
    weights (N, L, S), or (N, H, L, S) if not `average_attn_weights`, else None. Masks are True for keys that do **not**
    take part, or are added: `attn_mask` (L, S) or (N H, L, S), `key_padding_mask` (N, S). `bias_k` and `bias_v` are one
    more key and value, `add_zero_attn` adds zeros as such, `static_k` and `static_v` (N H, S, E / H) replace the
    projected ones.
    """
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Int | Sequence[_Int] = 1, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, groups: _Int = 1) -> Tensor:
    """Convolution: each output is the sum of a window of `input` times `weight`, plus `bias`.

    Shapes: `input` (N, C, L), N being optional, `weight` (O, C / groups, *kernel), `bias` (O); the result has
    ``(size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1`` positions in each dimension. `stride`,
    `padding` and `dilation` are ints or tuples; `padding` may also be "valid" (none) or "same" (the result has the
    size of the input, for stride 1). `groups` divides the channels into parts that are convolved apart.

    As in PyTorch, this is what mathematics calls cross-correlation. RuntimeError for shapes that do not fit.
    """
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Int | Sequence[_Int] = 1, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, groups: _Int = 1) -> Tensor:
    """Convolution: each output is the sum of a window of `input` times `weight`, plus `bias`.

    Shapes: `input` (N, C, H, W), N being optional, `weight` (O, C / groups, *kernel), `bias` (O); the result has
    ``(size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1`` positions in each dimension. `stride`,
    `padding` and `dilation` are ints or tuples; `padding` may also be "valid" (none) or "same" (the result has the
    size of the input, for stride 1). `groups` divides the channels into parts that are convolved apart.

    As in PyTorch, this is what mathematics calls cross-correlation. RuntimeError for shapes that do not fit.
    """
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Int | Sequence[_Int] = 1, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, groups: _Int = 1) -> Tensor:
    """Convolution: each output is the sum of a window of `input` times `weight`, plus `bias`.

    Shapes: `input` (N, C, D, H, W), N being optional, `weight` (O, C / groups, *kernel), `bias` (O); the result has
    ``(size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1`` positions in each dimension. `stride`,
    `padding` and `dilation` are ints or tuples; `padding` may also be "valid" (none) or "same" (the result has the
    size of the input, for stride 1). `groups` divides the channels into parts that are convolved apart.

    As in PyTorch, this is what mathematics calls cross-correlation. RuntimeError for shapes that do not fit.
    """
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Int | Sequence[_Int] = 1, padding: _Int | Sequence[_Int] | _str = 0, output_padding: _Int | Sequence[_Int] = 0, groups: _Int = 1, dilation: _Int | Sequence[_Int] = 1) -> Tensor:
    """Transposed convolution: each element of `input` times `weight`, added up in a window of the result.

    It is the gradient of a convolution with the same numbers. Shapes: `input` (N, C, L), N being optional, `weight`
    (C, O / groups, *kernel), `bias` (O); the result has ``(size - 1) * stride - 2 * padding + dilation *
    (kernel - 1) + output_padding + 1`` positions in each dimension. `output_padding` chooses between the sizes that
    a strided convolution maps to the same one; it must be smaller than the stride or the dilation.
    """
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Int | Sequence[_Int] = 1, padding: _Int | Sequence[_Int] | _str = 0, output_padding: _Int | Sequence[_Int] = 0, groups: _Int = 1, dilation: _Int | Sequence[_Int] = 1) -> Tensor:
    """Transposed convolution: each element of `input` times `weight`, added up in a window of the result.

    It is the gradient of a convolution with the same numbers. Shapes: `input` (N, C, H, W), N being optional, `weight`
    (C, O / groups, *kernel), `bias` (O); the result has ``(size - 1) * stride - 2 * padding + dilation *
    (kernel - 1) + output_padding + 1`` positions in each dimension. `output_padding` chooses between the sizes that
    a strided convolution maps to the same one; it must be smaller than the stride or the dilation.
    """
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Int | Sequence[_Int] = 1, padding: _Int | Sequence[_Int] | _str = 0, output_padding: _Int | Sequence[_Int] = 0, groups: _Int = 1, dilation: _Int | Sequence[_Int] = 1) -> Tensor:
    """Transposed convolution: each element of `input` times `weight`, added up in a window of the result.

    It is the gradient of a convolution with the same numbers. Shapes: `input` (N, C, D, H, W), N being optional, `weight`
    (C, O / groups, *kernel), `bias` (O); the result has ``(size - 1) * stride - 2 * padding + dilation *
    (kernel - 1) + output_padding + 1`` positions in each dimension. `output_padding` chooses between the sizes that
    a strided convolution maps to the same one; it must be smaller than the stride or the dilation.
    """
def mse_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', weight: Tensor | None = None) -> Tensor:
    """``weight * (input - target) ** 2``, reduced; a weighted mean divides by the sum of the weights.

    `input` and `target` have one shape. A target that merely broadcasts gives a warning, as in PyTorch. Shapes such
    as (N, 1) against (N,), which make every pair of elements, raise ValueError: deliberately stricter than PyTorch.
    """
def l1_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', weight: Tensor | None = None) -> Tensor:
    """``weight * |input - target|``, reduced; shapes and weights as in `mse_loss`."""
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', beta: _Number = 1.0) -> Tensor:
    """``d^2 / (2 beta)`` where ``|d| < beta``, elsewhere ``|d| - beta / 2``, reduced; ``d = input - target``.

    Shapes as in `mse_loss`. With `beta` 0 it is `l1_loss`. Source: R. Girshick, "Fast R-CNN", 2015.
    """
def huber_loss(input: Tensor, target: Tensor, reduction: _str = 'mean', delta: _Number = 1.0, weight: Tensor | None = None) -> Tensor:
    """``d^2 / 2`` where ``|d| < delta``, elsewhere ``delta (|d| - delta / 2)``, times `weight`, reduced.

    ``d = input - target``; shapes as in `mse_loss`; the mean is over all elements, weighted or not. Source: P. Huber,
    "Robust Estimation of a Location Parameter", 1964.
    """
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', pos_weight: Tensor | None = None) -> Tensor:
    """The binary cross entropy of ``sigmoid(input)`` and `target`, without overflow.

    `weight` multiplies each element's loss, `pos_weight` the term of the positive class; both broadcast.
    """
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean') -> Tensor:
    """``-weight * (target * log(input) + (1 - target) * log(1 - input))`` for probabilities, reduced.

    `input` and `target` have one shape, `weight` broadcasts to it. Logarithms are at least -100.
    """
def kl_div(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', log_target: _bool = False) -> Tensor:
    """The Kullback-Leibler divergence ``target * (log(target) - input)``, `input` being log-probabilities.

    With `log_target`, `target` are log-probabilities too. Reductions: also "batchmean", the sum over the number of
    rows, which is the divergence's definition; "mean" divides by the number of elements, and warns.
    """
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: _bool = True, full: _bool = False, size_average: _bool | None = None, eps: _Number = 1e-08, reduce: _bool | None = None, reduction: _str = 'mean') -> Tensor:
    """Negative log likelihood of a Poisson distribution: ``exp(input) - target * input``, reduced.

    If not `log_input`: ``input - target * log(input + eps)``. `full` adds Stirling's approximation of
    ``log(target!)``, ``target log(target) - target + log(2 pi target) / 2``, where the target is greater than 1.
    """
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | _float, full: _bool = False, eps: _Number = 1e-06, reduction: _str = 'mean') -> Tensor:
    """Negative log likelihood of normal distributions: ``(log(var) + (input - target)^2 / var) / 2``, reduced.

    The variance, a number or a tensor in the shape of `input`, of it without the last dimension or with one of size
    1, is raised to `eps` where it is smaller; its gradient is not affected by that. `full` adds ``log(2 pi) / 2``.
    Source: D. Nix and A. Weigend, "Estimating the mean and variance of the target probability distribution", 1994.
    """
def softmax(input: Tensor, dim: _Int | None = None, _stacklevel: _Int = 3, dtype: _dtype | builtins.type[Any] | None = None) -> Tensor:
    """The softmax over `dim`: ``exp(x) / sum(exp(x))``; with `dtype`, `input` is cast to it first."""
def log_softmax(input: Tensor, dim: _Int | None = None, _stacklevel: _Int = 3, dtype: _dtype | builtins.type[Any] | None = None) -> Tensor:
    """The logarithm of the softmax over `dim`, without overflow; with `dtype`, `input` is cast to it first."""
def softmin(input: Tensor, dim: _Int | None = None, _stacklevel: _Int = 3, dtype: _dtype | builtins.type[Any] | None = None) -> Tensor:
    """The softmax of ``-input`` over `dim`."""
def gumbel_softmax(logits: Tensor, tau: _Number = 1, hard: _bool = False, eps: _Number = 1e-10, dim: _Int = -1) -> Tensor:
    """Samples of the softmax relaxed by `tau`: ``softmax((logits + gumbel noise) / tau)`` over `dim`.

    With `hard`, one-hot samples that have the gradient of the soft ones. `eps` is deprecated and has no effect.
    Sources: E. Jang et al. and C. Maddison et al., 2016.
    """
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, ignore_index: _Int = -100, reduce: _bool | None = None, reduction: _str = 'mean') -> Tensor:
    """``-weight[target] * input[target]``, reduced: the negative log likelihood.

    `input` are log-probabilities (N, C), (C,) or (N, C, d1, ...), `target` class indices (N,), () or (N, d1, ...).
    Targets equal to `ignore_index` do not count; the mean divides by the sum of the weights of those that do.
    """
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, ignore_index: _Int = -100, reduce: _bool | None = None, reduction: _str = 'mean', label_smoothing: _Number = 0.0) -> Tensor:
    """The negative log likelihood of `target` under the softmax of the logits `input`, reduced.

    `input` is (N, C), (C,) or (N, C, d1, ...). `target` holds class indices (N,), () or (N, d1, ...), or class
    probabilities in the shape of `input`. Index targets equal to `ignore_index` do not count, `weight` (C,) weighs
    classes, and `label_smoothing` mixes that share of the uniform distribution into the target. The mean is over
    the weights of the targets that count; for probabilities over N, d1, ...

    >>> import minitorch
    >>> minitorch.nn.functional.cross_entropy(minitorch.zeros(1, 4), minitorch.tensor([2]))
    tensor(1.3863)
    """
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor | Sequence[_Int], target_lengths: Tensor | Sequence[_Int], blank: _Int = 0, reduction: _str = 'mean', zero_infinity: _bool = False) -> Tensor:
    """Minus the log-probability of label sequences, summed over all their alignments.

    `log_probs` are (T, N, C), or (T, C) for one sample, as from log_softmax; `targets` (N, S), or the sequences one
    after the other (sum of lengths,); the lengths tensors, or tuples, of N integers. "mean" divides each loss by its
    target length first. `zero_infinity` turns the infinite losses of targets too long to be aligned, and their
    gradients, into zeros. As in PyTorch the gradient is that of ``log_softmax(log_probs)``.
    """
def pairwise_distance(x1: Tensor, x2: Tensor, p: _Number = 2.0, eps: _Number = 1e-06, keepdim: _bool = False) -> Tensor:
    """``||x1 - x2 + eps||_p`` over the last dimension: (N, D) and (N, D) give (N,), or (N, 1) with `keepdim`."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _Int = 1, eps: _Number = 1e-08) -> Tensor:
    """``x1 . x2 / (max(||x1||, eps) max(||x2||, eps))`` over `dim`, after broadcasting."""
def pdist(input: Tensor, p: _Number = 2.0) -> Tensor:
    """The p-norm distances between all rows of (N, D): (0, 1), (0, 2), ..., (N-2, N-1), N (N-1) / 2 of them."""
def normalize(input: Tensor, p: _Number = 2.0, dim: _Int = 1, eps: _Number = 1e-12, out: Tensor | None = None) -> Tensor:
    """``input / max(||input||_p, eps)``, the norm over `dim` (an int or a tuple)."""
def one_hot(tensor: Tensor, num_classes: _Int = -1) -> Tensor:
    """Class indices (*) as int64 vectors (*, num_classes) with a 1 at the class, 0 elsewhere.

    By default `num_classes` is the largest index plus 1.

    >>> import minitorch
    >>> minitorch.nn.functional.one_hot(minitorch.tensor([2, 0]))
    tensor([[0, 0, 1],
            [1, 0, 0]])
    """
def embedding(input: Tensor, weight: Tensor, padding_idx: _Int | None = None, max_norm: _Number | None = None, norm_type: _Number = 2.0, scale_grad_by_freq: _bool = False, sparse: _bool = False) -> Tensor:
    """The rows ``weight[input]``: indices (*) into a table (V, D) give (*, D).

    The row `padding_idx` gets no gradient. Rows whose `norm_type` norm exceeds `max_norm` are scaled down in place
    first. `scale_grad_by_freq` divides a row's gradient by how often it occurs in `input`. With `sparse` the gradient
    of the table is a sparse COO tensor of the rows looked up. IndexError for an index outside the table.
    """
def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: _Number | None = None, norm_type: _Number = 2.0, scale_grad_by_freq: _bool = False, mode: _str = 'mean', sparse: _bool = False, per_sample_weights: Tensor | None = None, include_last_offset: _bool = False, padding_idx: _Int | None = None) -> Tensor:
    """Sums, means or maxima of the rows of each bag of indices: (B, N), or (N,) with `offsets` (B,), gives (B, D).

    `offsets` says where each bag begins; with `include_last_offset` its last element is where the last bag ends.
    `per_sample_weights`, shaped as the indices, weigh the rows of a sum. Indices equal to `padding_idx` do not
    count. An empty bag gives zeros. The other arguments are `embedding`'s.
    """
def unfold(input: Tensor, kernel_size: _Int | Sequence[_Int], dilation: _Int | Sequence[_Int] = 1, padding: _Int | Sequence[_Int] | _str = 0, stride: _Int | Sequence[_Int] = 1) -> Tensor:
    """The windows of images (N, C, H, W) as columns (N, C * kH * kW, L); N is optional.

    >>> import minitorch
    >>> unfold(minitorch.arange(9.).reshape(1, 3, 3), 2)[:, 0]
    tensor([0., 1., 3., 4.])
    """
def fold(input: Tensor, output_size: _Int | Sequence[_Int], kernel_size: _Int | Sequence[_Int], dilation: _Int | Sequence[_Int] = 1, padding: _Int | Sequence[_Int] | _str = 0, stride: _Int | Sequence[_Int] = 1) -> Tensor:
    """Columns (N, C * kH * kW, L) added up to images (N, C, *output_size): the transpose of `unfold`; N is optional."""
def layer_norm(input: Tensor, normalized_shape: _Int | Sequence[_Int], weight: Tensor | None = None, bias: Tensor | None = None, eps: _Number = 1e-05) -> Tensor:
    """``(x - mean) / sqrt(var + eps) * weight + bias``, mean and variance over the last dimensions.

    `normalized_shape` is the size of these dimensions, and the shape of `weight` and `bias`. Source: J. Ba et al.,
    "Layer Normalization", 2016.
    """
def rms_norm(input: Tensor, normalized_shape: _Int | Sequence[_Int], weight: Tensor | None = None, eps: _Number | None = None) -> Tensor:
    """``x / sqrt(mean(x^2) + eps) * weight``, the mean over the last dimensions, whose sizes `normalized_shape` are.

    `eps` is by default the machine epsilon of the dtype, of float32 for 16-bit floats. Source: B. Zhang and R.
    Sennrich, "Root Mean Square Layer Normalization", 2019.
    """
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None, training: _bool = False, momentum: _Number = 0.1, eps: _Number = 1e-05) -> Tensor:
    """``(x - mean) / sqrt(var + eps) * weight + bias`` by channel, for (N, C) or (N, C, *).

    In training, mean and variance are those of the batch, and `running_mean` and `running_var` (if given) move
    towards them by the share `momentum` (the variance with n - 1); otherwise these two are used. Source: S. Ioffe
    and C. Szegedy, "Batch Normalization", 2015.
    """
def group_norm(input: Tensor, num_groups: _Int, weight: Tensor | None = None, bias: Tensor | None = None, eps: _Number = 1e-05) -> Tensor:
    """``(x - mean) / sqrt(var + eps) * weight + bias``, mean and variance over each of `num_groups` groups of channels.

    `input` is (N, C, *); `weight` and `bias` are (C,). Source: Y. Wu and K. He, "Group Normalization", 2018.
    """
def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: _bool = True, momentum: _Number = 0.1, eps: _Number = 1e-05) -> Tensor:
    """``(x - mean) / sqrt(var + eps) * weight + bias``, mean and variance of each channel of each sample (N, C, *).

    Not `use_input_stats`: those of `running_mean` and `running_var`, which otherwise move towards the batch's means
    of them by the share `momentum`. Source: D. Ulyanov et al., "Instance Normalization", 2016.
    """
def local_response_norm(input: Tensor, size: _Int, alpha: _Number = 0.0001, beta: _Number = 0.75, k: _Number = 1.0) -> Tensor:
    """``x / (k + alpha * mean of x^2 over `size` neighbouring channels) ** beta``, zeros beyond the ends; (N, C, *).

    Source: A. Krizhevsky et al., "ImageNet Classification with Deep Convolutional Neural Networks", 2012.
    """
def rope(input: Tensor, cos: Tensor, sin: Tensor, interleaved: _bool = False, *, out: Tensor | None = None) -> Tensor:
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
def add_layer_norm(input: Tensor, residual: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, eps: _Number = 1e-05) -> Any:
    """``(layer_norm(s), s)`` for ``s = input + residual``, the step between two blocks of a transformer.

    `input` and `residual` are (..., D), the norm is over the last dimension, `weight` and `bias` are (D,); the results
    are (..., D). On a GPU it is one kernel, which reads both and writes both once. PyTorch has no such function.
    Source of the formula: J. Ba et al., "Layer Normalization", 2016.

    >>> import minitorch as torch
    >>> normalised, total = torch.nn.functional.add_layer_norm(torch.tensor([[1., 2.]]), torch.tensor([[0., 1.]]))
    >>> normalised, total
    (tensor([[-1.0000,  1.0000]]), tensor([[1., 3.]]))
    """
def add_rms_norm(input: Tensor, residual: Tensor, weight: Tensor | None = None, eps: _Number | None = None) -> Any:
    """``(rms_norm(s), s)`` for ``s = input + residual``, which is `add_layer_norm` without mean and bias.

    `input` and `residual` are (..., D), `weight` is (D,), and so ``rms_norm(s) = s / sqrt(mean(s^2) + eps) * weight``
    over the last dimension; `eps` is by default the machine epsilon of the dtype, as in `rms_norm`. PyTorch has no such
    function. Source of the formula: B. Zhang and R. Sennrich, "Root Mean Square Layer Normalization", 2019.

    >>> import minitorch as torch
    >>> torch.nn.functional.add_rms_norm(torch.tensor([[1., 6.]]), torch.tensor([[0., 1.]]))
    (tensor([[0.2000, 1.4000]]), tensor([[1., 7.]]))
    """
def interpolate(input: Tensor, size: _Int | Sequence[_Int] | None = None, scale_factor: _float | Sequence[_float] | None = None, mode: _str = 'nearest', align_corners: _bool | None = None, recompute_scale_factor: _bool | None = None, antialias: _bool = False) -> Tensor:
    """Resize (N, C, L), (N, C, H, W) or (N, C, D, H, W) to `size`, or by `scale_factor`: give one of them.

    `mode`: "nearest" (as OpenCV and PyTorch before 1.11 round), "nearest-exact" (as Pillow does), "linear",
    "bilinear", "trilinear", "bicubic" (for 1, 2, 3 and 2 dimensions) or "area" (the mean of what an output covers).
    With `align_corners` the centers of the corner pixels stay where they are, else the corners of the image. The
    step between outputs is ``1 / scale_factor``, or, with `recompute_scale_factor` or `size`, the ratio of the sizes.
    `antialias` lets "bilinear" and "bicubic" take in all pixels when shrinking.
    """
def upsample(input: Tensor, size: _Int | Sequence[_Int] | None = None, scale_factor: _float | Sequence[_float] | None = None, mode: _str = 'nearest', align_corners: _bool | None = None) -> Tensor:
    """`interpolate` under its old name."""
def upsample_nearest(input: Tensor, size: _Int | Sequence[_Int] | None = None, scale_factor: _float | Sequence[_float] | None = None) -> Tensor:
    """``interpolate(mode="nearest")`` under its old name."""
def upsample_bilinear(input: Tensor, size: _Int | Sequence[_Int] | None = None, scale_factor: _float | Sequence[_float] | None = None) -> Tensor:
    """``interpolate(mode="bilinear", align_corners=True)`` under its old name."""
@overload
def max_pool1d(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The maximum of each window of (N, C, L), N being optional; nothing is larger than padding.

    `stride` is the kernel size by default, `padding` at most half of it. `ceil_mode` allows a last window that
    reaches over the end. With `return_indices` also where the maxima stand, for `max_unpool`.
    """
@overload
def max_pool1d(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool1d(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any: ...
@overload
def max_pool2d(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The maximum of each window of (N, C, H, W), N being optional; nothing is larger than padding.

    `stride` is the kernel size by default, `padding` at most half of it. `ceil_mode` allows a last window that
    reaches over the end. With `return_indices` also where the maxima stand, for `max_unpool`.
    """
@overload
def max_pool2d(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool2d(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any: ...
@overload
def max_pool3d(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The maximum of each window of (N, C, D, H, W), N being optional; nothing is larger than padding.

    `stride` is the kernel size by default, `padding` at most half of it. `ceil_mode` allows a last window that
    reaches over the end. With `return_indices` also where the maxima stand, for `max_unpool`.
    """
@overload
def max_pool3d(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool3d(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any: ...
def max_pool1d_with_indices(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """The maximum of each window of (N, C, L), and where it stands: `max_pool` with ``return_indices=True``."""
def max_pool2d_with_indices(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """The maximum of each window of (N, C, H, W), and where it stands: `max_pool` with ``return_indices=True``."""
def max_pool3d_with_indices(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """The maximum of each window of (N, C, D, H, W), and where it stands: `max_pool` with ``return_indices=True``."""
def avg_pool1d(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, ceil_mode: _bool = False, count_include_pad: _bool = True) -> Tensor:
    """The mean of each window of (N, C, L), as `avg_pool2d`."""
def avg_pool2d(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _Int | None = None) -> Tensor:
    """The mean of each window of (N, C, H, W), N being optional.

    `stride` is the kernel size by default, `padding` (zeros) at most half of it. `ceil_mode` allows a last window
    that reaches over the end. Padding counts as elements unless `count_include_pad` is false;
    `divisor_override` divides the sums by another number.
    """
def avg_pool3d(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _Int | None = None) -> Tensor:
    """The mean of each window of (N, C, D, H, W), N being optional.

    `stride` is the kernel size by default, `padding` (zeros) at most half of it. `ceil_mode` allows a last window
    that reaches over the end. Padding counts as elements unless `count_include_pad` is false;
    `divisor_override` divides the sums by another number.
    """
def lp_pool1d(input: Tensor, norm_type: _Number, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, ceil_mode: _bool = False) -> Tensor:
    """``(sum of x ** p) ** (1 / p)`` over each window of (N, C, L), p being `norm_type`; the maximum if that is inf.

    The gradient of a sum of 0 is 0.
    """
def lp_pool2d(input: Tensor, norm_type: _Number, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, ceil_mode: _bool = False) -> Tensor:
    """``(sum of x ** p) ** (1 / p)`` over each window of (N, C, H, W), p being `norm_type`; the maximum if that is inf.

    The gradient of a sum of 0 is 0.
    """
def lp_pool3d(input: Tensor, norm_type: _Number, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, ceil_mode: _bool = False) -> Tensor:
    """``(sum of x ** p) ** (1 / p)`` over each window of (N, C, D, H, W), p being `norm_type`; the maximum if that is inf.

    The gradient of a sum of 0 is 0.
    """
def adaptive_avg_pool2d(input: Tensor, output_size: _Int | Sequence[_Int | None]) -> Tensor:
    """The means of windows that divide (N, C, H, W) into `output_size` parts; None keeps a dimension's size.

    Window i of `out` in a dimension of size n covers ``floor(i n / out)`` to ``ceil((i+1) n / out)``.
    """
def adaptive_avg_pool3d(input: Tensor, output_size: _Int | Sequence[_Int | None]) -> Tensor:
    """The means of windows that divide (N, C, D, H, W) into `output_size` parts; None keeps a dimension's size.

    Window i of `out` in a dimension of size n covers ``floor(i n / out)`` to ``ceil((i+1) n / out)``.
    """
def adaptive_avg_pool1d(input: Tensor, output_size: _Int | Sequence[_Int]) -> Tensor:
    """The means of windows that divide (N, C, L) into `output_size` parts; None keeps a dimension's size.

    Window i of `out` in a dimension of size n covers ``floor(i n / out)`` to ``ceil((i+1) n / out)``.
    """
@overload
def adaptive_max_pool2d(input: Tensor, output_size: _Int | Sequence[_Int | None], return_indices: Literal[False] = False) -> Tensor:
    """The maxima of windows that divide (N, C, H, W) into `output_size` parts; None keeps a dimension's size.

    The windows are those of `adaptive_avg_pool`. With `return_indices` also where the maxima stand.
    """
@overload
def adaptive_max_pool2d(input: Tensor, output_size: _Int | Sequence[_Int | None], *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool2d(input: Tensor, output_size: _Int | Sequence[_Int | None], return_indices: _bool = False) -> Any: ...
@overload
def adaptive_max_pool3d(input: Tensor, output_size: _Int | Sequence[_Int | None], return_indices: Literal[False] = False) -> Tensor:
    """The maxima of windows that divide (N, C, D, H, W) into `output_size` parts; None keeps a dimension's size.

    The windows are those of `adaptive_avg_pool`. With `return_indices` also where the maxima stand.
    """
@overload
def adaptive_max_pool3d(input: Tensor, output_size: _Int | Sequence[_Int | None], *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool3d(input: Tensor, output_size: _Int | Sequence[_Int | None], return_indices: _bool = False) -> Any: ...
@overload
def adaptive_max_pool1d(input: Tensor, output_size: _Int | Sequence[_Int], return_indices: Literal[False] = False) -> Tensor:
    """The maxima of windows that divide (N, C, L) into `output_size` parts; None keeps a dimension's size.

    The windows are those of `adaptive_avg_pool`. With `return_indices` also where the maxima stand.
    """
@overload
def adaptive_max_pool1d(input: Tensor, output_size: _Int | Sequence[_Int], *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool1d(input: Tensor, output_size: _Int | Sequence[_Int], return_indices: _bool = False) -> Any: ...
def adaptive_max_pool1d_with_indices(input: Tensor, output_size: _Int | Sequence[_Int], return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """The maxima of adaptive windows of (N, C, L), and where they stand."""
def adaptive_max_pool2d_with_indices(input: Tensor, output_size: _Int | Sequence[_Int | None], return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """The maxima of adaptive windows of (N, C, H, W), and where they stand."""
def adaptive_max_pool3d_with_indices(input: Tensor, output_size: _Int | Sequence[_Int | None], return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """The maxima of adaptive windows of (N, C, D, H, W), and where they stand."""
def grid_sample(input: Tensor, grid: Tensor, mode: _str = 'bilinear', padding_mode: _str = 'zeros', align_corners: _bool | None = None) -> Tensor:
    """The values of `input` (N, C, H, W) or (N, C, D, H, W) at the positions `grid` (N, *out, 2 or 3): (N, C, *out).

    `mode`: "bilinear" (trilinear for volumes), "nearest" or "bicubic" (images only). Pixels outside are 0 for
    `padding_mode` "zeros", the edge for "border", the mirrored image for "reflection" (mirrored at pixel centers with
    `align_corners`, else at the edge). Spatial transformer networks, Jaderberg et al. (2015).
    """
def affine_grid(theta: Tensor, size: Sequence[_Int], align_corners: _bool | None = None) -> Tensor:
    """The grid that maps an image of `size` (N, C, H, W) by the matrices `theta` (N, 2, 3): (N, H, W, 2).

    For volumes, size (N, C, D, H, W) and `theta` (N, 3, 4): (N, D, H, W, 3).
    """
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _Number = 0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean') -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``, reduced: `target` is 1 if the first ranks higher, else -1."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: _Number = 1.0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean') -> Tensor:
    """`input` where `target` is 1, ``max(0, margin - input)`` where it is -1, reduced."""
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _Number = 0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean') -> Tensor:
    """``1 - cos(x1, x2)`` where `target` is 1, ``max(0, cos(x1, x2) - margin)`` where it is -1, reduced.

    Shapes: (N, D), (N, D) and (N,), or (D,), (D,) and ().
    """
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: _Number = 1.0, p: _Number = 2, eps: _Number = 1e-06, swap: _bool = False, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean') -> Tensor:
    """``max(0, d(a, p) - d(a, n) + margin)`` with the p-norm distance of (N, D), reduced.

    With `swap`, the distance of positive and negative takes the place of d(a, n) where it is smaller. Source: V.
    Balntas et al., "Learning shallow convolutional feature descriptors with triplet losses", 2016.
    """
def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: _Number = 1.0, swap: _bool = False, reduction: _str = 'mean') -> Tensor:
    """`triplet_margin_loss` with any ``distance_function(x, y)``; by default `pairwise_distance`."""
def multi_margin_loss(input: Tensor, target: Tensor, p: _Number = 1, margin: _Number = 1.0, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean') -> Tensor:
    """``sum over i != y of weight[y] * max(0, margin - x[y] + x[i])^p / C``, reduced; p is 1 or 2.

    Shapes: (N, C) and class indices (N,), or (C,) and ().
    """
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean') -> Tensor:
    """``sum over targets j and other classes i of max(0, 1 - (x[j] - x[i])) / C``, reduced.

    Shapes: (N, C) and (N, C), or (C,) and (C,); a row of `target` lists class indices up to the first -1.
    """
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean') -> Tensor:
    """The mean over classes of ``-weight * (t * log(sigmoid(x)) + (1 - t) * log(sigmoid(-x)))``, reduced over (N,)."""
def soft_margin_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean') -> Tensor:
    """``log(1 + exp(-target * input))``, reduced; `target` is 1 or -1."""
def pixel_shuffle(input: Tensor, upscale_factor: _Int) -> Tensor:
    """(*, C r^2, H, W) as (*, C, H r, W r), r the `upscale_factor`: the sub-pixel convolution of Shi et al. (2016)."""
def pixel_unshuffle(input: Tensor, downscale_factor: _Int) -> Tensor:
    """(*, C, H r, W r) as (*, C r^2, H, W), r the `downscale_factor`: the inverse of `pixel_shuffle`."""
def channel_shuffle(input: Tensor, groups: _Int) -> Tensor:
    """(N, C, *) with the channels of `groups` groups interleaved: (g, C / g) is read as (C / g, g)."""
def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, output_size: _Int | Sequence[_Int] | None = None) -> Tensor:
    """The maxima `input` back at their `indices` (as `max_pool` returns them) in zeros of shape (N, C, L).

    The size is that of the smallest input which such a pooling could have come from, unless `output_size` names
    another; if two maxima share a position, one of them is kept.
    """
def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, output_size: _Int | Sequence[_Int] | None = None) -> Tensor:
    """The maxima `input` back at their `indices` (as `max_pool` returns them) in zeros of shape (N, C, H, W).

    The size is that of the smallest input which such a pooling could have come from, unless `output_size` names
    another; if two maxima share a position, one of them is kept.
    """
def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, output_size: _Int | Sequence[_Int] | None = None) -> Tensor:
    """The maxima `input` back at their `indices` (as `max_pool` returns them) in zeros of shape (N, C, D, H, W).

    The size is that of the smallest input which such a pooling could have come from, unless `output_size` names
    another; if two maxima share a position, one of them is kept.
    """
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: _Int | Sequence[_Int], output_size: _Int | Sequence[_Int] | None = None, output_ratio: _float | Sequence[_float] | None = None, return_indices: Literal[False] = False, _random_samples: Tensor | None = None) -> Tensor:
    """The maxima of windows of (N, C, H, W) placed at random: `output_size` of them, or `output_ratio` times the size.

    `_random_samples` (N, C, spatial dimensions) in [0, 1) decides the positions; it is drawn if not given.
    """
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: _Int | Sequence[_Int], output_size: _Int | Sequence[_Int] | None = None, output_ratio: _float | Sequence[_float] | None = None, _random_samples: Tensor | None = None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: _Int | Sequence[_Int], output_size: _Int | Sequence[_Int] | None = None, output_ratio: _float | Sequence[_float] | None = None, return_indices: _bool = False, _random_samples: Tensor | None = None) -> Any: ...
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: _Int | Sequence[_Int], output_size: _Int | Sequence[_Int] | None = None, output_ratio: _float | Sequence[_float] | None = None, return_indices: Literal[False] = False, _random_samples: Tensor | None = None) -> Tensor:
    """The maxima of windows of (N, C, D, H, W) placed at random: `output_size` of them, or `output_ratio` times the size.

    `_random_samples` (N, C, spatial dimensions) in [0, 1) decides the positions; it is drawn if not given.
    """
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: _Int | Sequence[_Int], output_size: _Int | Sequence[_Int] | None = None, output_ratio: _float | Sequence[_float] | None = None, _random_samples: Tensor | None = None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: _Int | Sequence[_Int], output_size: _Int | Sequence[_Int] | None = None, output_ratio: _float | Sequence[_float] | None = None, return_indices: _bool = False, _random_samples: Tensor | None = None) -> Any: ...
def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: _Int | Sequence[_Int], output_size: _Int | Sequence[_Int] | None = None, output_ratio: _float | Sequence[_float] | None = None, return_indices: _bool = False, _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The maxima of windows of (N, C, H, W) placed at random, and where they stand: see `fractional_max_pool2d`."""
def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: _Int | Sequence[_Int], output_size: _Int | Sequence[_Int] | None = None, output_ratio: _float | Sequence[_float] | None = None, return_indices: _bool = False, _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The maxima of windows of (N, C, D, H, W) placed at random, and where they stand: see `fractional_max_pool2d`."""
