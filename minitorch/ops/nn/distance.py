"""Distances and similarities of vectors, and one-hot vectors: plain functions of other ops, no op definitions."""

from ...core.dtypes import promote_types
from ...core.out import write_out
from ...core.promotion import require_tensors
from ...core.tensor import wrap
from ..define import composite, publish
from ..shapes.view import broadcast_shapes


@composite(method=False)
def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """``||x1 - x2 + eps||_p`` over the last dimension: (N, D) and (N, D) give (N,), or (N, 1) with `keepdim`."""
    require_tensors(x1, x2)
    return (x1 - x2 + eps).norm(p, -1, keepdim)


@composite(method=False, autocast="float32 on cuda")
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """``x1 . x2 / (max(||x1||, eps) max(||x2||, eps))`` over `dim`, after broadcasting."""
    if not x1.is_floating_point() or not x2.is_floating_point():
        dtype = promote_types(x1.dtype, x2.dtype)
        if not dtype.is_floating_point:
            raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {dtype.name}")
        x1, x2 = x1.to(dtype), x2.to(dtype)
    shape = broadcast_shapes(x1.array.shape, x2.array.shape)
    x1, x2 = (x if x.array.shape == shape else x.expand(shape) for x in (x1, x2))
    return (direction(x1, dim, eps) * direction(x2, dim, eps)).sum(dim)


def direction(x, dim, eps):
    """``x / max(||x||, eps)``; the gradient is that of ``x / ||x||`` with the larger norm put in."""
    norm = x.norm(2, dim, True)
    return x / (norm + (norm.detach().clamp_min(eps) - norm.detach()))


@composite(method=False, autocast="float32 on cuda")
def pdist(input, p=2.0):
    """The p-norm distances between all rows of (N, D): (0, 1), (0, 2), ..., (N-2, N-1), N (N-1) / 2 of them."""
    if input.array.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.array.ndim}D")
    if input.is_complex():
        raise RuntimeError(f"pdist only supports floating-point dtypes, got: {input.dtype}")
    if p < 0:
        raise RuntimeError(f"pdist only supports non-negative p values: got {p}")
    i, j = [wrap(x, input.backend) for x in input.backend.xp.triu_indices(len(input.array), 1)]
    return (input[i] - input[j]).norm(p, -1)


for call in (pairwise_distance, cosine_similarity, pdist):
    publish(call, call.__name__, namespace="nn.functional")


@composite(namespace="nn.functional")
def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """``input / max(||input||_p, eps)``, the norm over `dim` (an int or a tuple)."""
    result = input / input.norm(p, dim, True).clamp_min(eps)
    return result if out is None else write_out("normalize", lambda x: x, (result,), {}, out)


@composite(namespace="nn.functional")
def one_hot(tensor, num_classes=-1):
    """Class indices (*) as int64 vectors (*, num_classes) with a 1 at the class, 0 elsewhere.

    By default `num_classes` is the largest index plus 1.

    >>> import minitorch
    >>> minitorch.nn.functional.one_hot(minitorch.tensor([2, 0]))
    tensor([[0, 0, 1],
            [1, 0, 0]])
    """
    xp, index = tensor.backend.xp, tensor.array
    if index.dtype != "int64":
        raise RuntimeError(f"one_hot is only applicable to index tensor of type LongTensor (int64), got {tensor.dtype}")
    if not index.size and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor: pass num_classes")
    if index.size and index.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(index.max()) + 1
    if num_classes < 1:
        raise RuntimeError(f"num_classes should be positive, got {num_classes}")
    if index.size and index.max() >= num_classes:
        raise RuntimeError(f"Class values must be smaller than num_classes: got {int(index.max())} of {num_classes}")
    classes = wrap(xp.arange(num_classes), tensor.backend)
    return (tensor.contiguous().unsqueeze(-1) == classes).long()
