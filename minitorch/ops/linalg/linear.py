"""Op definitions: affine maps (``input @ weight.T + bias``) and the bilinear form.

Other products are in `matmul.py`.
"""

from ...core.errors import worded
from ...core.recording import recorded as R
from ..define import composite, op, publish
from ..shapes.shape import count
from .products import linear_mismatch


def name_of_layer(node):
    """PyTorch's name for the last step of a layer with a bias that is trained, or of one without."""
    matrix, other = ("AddmmBackward0", "ViewBackward0") if node.parents[2] is not None else ("MmBackward0",
                                                                                             "UnsafeViewBackward0")
    return matrix if len(node.shape) == 2 else other


@op(promotion="same", refuses="b", namespace="nn.functional", node_name=name_of_layer, complex="holomorphic",
    input=lambda F, g, weight: linear_input(F, g, weight),
    weight=lambda F, g, input, weight_shape: linear_weight(F, g, input, weight_shape),
    bias=lambda F, g: g,
    together=lambda F, g, input, weight: layer_gradients(F, g, input, weight),
    dims="* n? k, m? k, + m? -> * n? m?", autocast="lower", inline=True,
    mismatch=linear_mismatch)
def linear(F, input, weight, bias=None):
    """``input @ weight.T + bias``: (..., in), (out, in), (out,) -> (..., out).

    A weight of shape (in,) gives a result without the last dimension.
    """
    require_matrix(weight)
    out = F.xp.matmul(input, weight.T)
    return out if bias is None else out + bias


def require_matrix(weight):
    """RuntimeError for a weight that is a batch of matrices, whose transpose would reverse all of its dimensions."""
    if weight.ndim > 2:
        raise worded(RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D: linear() "
                                  f"takes one matrix (out, in); of a batch of them write input @ weight.mT"))


def linear_input(F, g, weight):
    if weight.ndim == 1:
        return F.unsqueeze(g, dim=-1) * weight
    return F.linear(g, F.transpose(weight, dim0=0, dim1=1), None)


def linear_weight(F, g, input, shape):
    """``g.T @ input`` over all leading dimensions."""
    if input.ndim != 2 or len(shape) != 2:
        rows = count(input.shape[:-1])
        input = F.reshape(input, shape=(rows, shape[-1]))
        g = F.reshape(g, shape=(rows, shape[0] if len(shape) == 2 else 1))
    out = F.gemm(F.transpose(g, dim0=0, dim1=1), input)
    return out if len(shape) == 2 else F.reshape(out, shape=shape)


def layer_gradients(F, g, input, weight):
    """All three, the sums of `g` in passing where the device has a product for that."""
    if input.ndim > 1 and weight.ndim == 2 and F.has_kernel("weight_and_bias"):
        return linear_input(F, g, weight), *F.weight_and_bias(g, input)
    return linear_input(F, g, weight), linear_weight(F, g, input, weight.shape), g


def sample_layer(d):
    lead, n, m = d.shape(1, 2), d.int(1, 3), d.int(1, 3)
    return [d.array((*lead, m)), d.array((*lead, n))], {}


@op(dims="x.. m, x.. [n] -> m [n], m",                      # the sums are the same for any part of n
    promotion="same", refuses="bc", namespace=None, outputs=(True, True), sample=sample_layer)
def weight_and_bias(F, grad, input):
    """The gradients of a layer's weight and bias, ``grad.T @ input`` and the sums of `grad`.

    Without formulas: recorded passes take the two apart, as all do without a kernel for both.
    """
    shape = grad.shape[-1], input.shape[-1]
    return linear_weight(F, grad, input, shape), F.sum(grad, dim=tuple(range(grad.ndim - 1)))


@composite(method=False, autocast="off on cpu, promote on cuda")
def bilinear(input1, input2, weight, bias=None):
    """``input1 . weight[o] . input2 + bias[o]``: (..., I), (..., J), (O, I, J), (O,) -> (..., O)."""
    if input1.array.shape[:-1] != input2.array.shape[:-1]:
        raise RuntimeError(f"bilinear(): input batch dimensions do not match: got {list(input1.shape)} and "
                           f"{list(input2.shape)}")
    if weight.ndim != 3 or weight.array.shape[1:] != (input1.array.shape[-1], input2.array.shape[-1]):
        raise RuntimeError(f"bilinear(): weight must be (out, in1, in2) = (*, {input1.array.shape[-1]}, "
                           f"{input2.array.shape[-1]}), got {list(weight.shape)}")
    if bias is not None and bias.array.shape[0] != weight.array.shape[0]:
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {bias.array.shape[0]} but expected "
                           f"{weight.array.shape[0]}")
    o, i, j = weight.array.shape
    left = R.matmul(input1, weight.permute(1, 0, 2).reshape(i, o * j)).reshape(*input1.array.shape[:-1], o, j)
    out = R.matmul(left, input2.unsqueeze(-1)).squeeze(-1)
    return out if bias is None else out + bias


publish(bilinear, "bilinear", namespace="nn.functional")
