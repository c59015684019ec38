"""Cross entropy with class indices and the negative log likelihood, forward and backward: `src/cross_entropy.cu`.

The forward pass reads the logits once and keeps each sample's largest logit and the logarithm of the sum of the
exponentials of all less that one, so that the backward pass needs no sums. The reference keeps `powers`, of the shape
of the logits, and `totals`; here `powers` is the total weight (0-d) and `totals` (2, *) those two numbers.

Targets are not looked at by the host, which would have to wait for the GPU: one that is not a class
makes the loss NaN. In the simulator it raises the IndexError that the CPU raises.
"""

from ....ops.nn.cross_entropy import check_classes, class_dim
from ..arrays.dtypes import compute_dtype, is_float
from ..backend import kernel
from ..runtime.kernel import Kernel
from .rows import check_indices, dense, longest_vector, looped, split_at
from .supported import TARGETS, class_targets

ROWS = Kernel("cross_entropy.cu", "entropy_rows",
              "V* losses, V* counts, V* normalisers, const T* input, const U* targets, const T* weight?, i64 rows, "
              "i64 classes, i64 ignored")
PLANES = Kernel("cross_entropy.cu", "entropy_planes",
                "V* losses, V* counts, V* normalisers, const T* input, const U* targets, const T* weight?, "
                "i64 samples, i64 classes, i64 inner, i64 ignored")
LIKELIHOOD = Kernel("cross_entropy.cu", "likelihood",
                    "V* losses, V* counts, const T* input?, const U* targets, const T* weight?, i64 samples, "
                    "i64 classes, i64 inner, i64 ignored")
ADD_UP = Kernel("cross_entropy.cu", "add_up", "V* sums, V* totals, const V* losses, const V* counts, i64 samples")
CONCLUDE = Kernel("cross_entropy.cu", "conclude",
                  "T* out, V* total, const V* losses, const V* counts, i64 samples, bool mean")
ROWS_BACK = Kernel("cross_entropy.cu", "entropy_rows_backward",
                   "T* out, const T* grad, const T* input, const U* targets, const T* weight?, const V* normalisers, "
                   "const V* total?, i64 rows, i64 classes, i64 ignored, bool each")
PLANES_BACK = Kernel("cross_entropy.cu", "entropy_planes_backward",
                     "T* out, const T* grad, const T* input, const U* targets, const T* weight?, "
                     "const V* normalisers, const V* total?, i64 samples, i64 classes, i64 inner, i64 ignored, "
                     "bool each")
LIKELIHOOD_BACK = Kernel("cross_entropy.cu", "likelihood_backward",
                         "T* out, const T* grad, const U* targets, const T* weight?, const V* total?, i64 size, "
                         "i64 classes, i64 inner, i64 ignored, bool each")
SUMMED_AT_ONCE = 16384     # samples whose losses one block adds up
MOST_PARTS = 256


@kernel("cross_entropy", when=class_targets, halves=True)
def cross_entropy(F, input, target, weight=None, *, ignore_index=-100, reduction="mean"):
    check_classes("cross_entropy", input, target, weight)
    sizes = checked_sizes(F, input, target, ignore_index)
    input, target, weight = (x if x is None else dense(F, x) for x in (input, target, weight))
    wide = compute_dtype(input.dtype)
    losses, counts, normalisers = (F.empty((*lead, *target.shape), wide) for lead in ((), (), (2,)))
    _, classes, inner = sizes
    arrays = losses, counts, normalisers, input, target, weight
    if inner > 1:
        PLANES(F.machine, -(-target.size // 256), 256, *arrays, target.size, classes, inner, ignore_index)
    else:
        how = looped(classes, longest_vector(classes, [input]))
        ROWS(F.machine, how.grid(target.size), how.block, *arrays, target.size, classes, ignore_index, **how.constants)
    out, total = reduced(F, input.dtype, target.dtype, losses, counts, reduction)
    return out, total, normalisers


@kernel("cross_entropy_backward", when=lambda F, grad, *rest, **attrs: class_targets(F, *rest), halves=True)
def cross_entropy_backward(F, grad, input, target, weight=None, powers=None, totals=None, *, ignore_index=-100,
                           reduction="mean"):
    if powers is None or powers.shape:                     # the forward pass was another one
        _, powers, totals = cross_entropy(F, input, target, weight, ignore_index=ignore_index, reduction=reduction)
    out = F.empty(input.shape, input.dtype)
    grad, input, target, weight = (x if x is None else dense(F, x) for x in (grad, input, target, weight))
    _, classes, inner = split_at(input.shape, class_dim(input.shape))
    arrays = out, grad, input, target, weight, totals, powers if reduction == "mean" else None
    each = reduction == "none"
    if inner > 1:
        PLANES_BACK(F.machine, -(-target.size // 256), 256, *arrays, target.size, classes, inner, ignore_index, each)
    else:
        how = looped(classes, longest_vector(classes, (input, out)))
        ROWS_BACK(F.machine, how.grid(target.size), how.block, *arrays, target.size, classes, ignore_index, each,
                  **how.constants)
    return out


@kernel("nll_loss", when=class_targets, halves=True)
def nll_loss(F, input, target, weight=None, *, ignore_index=-100, reduction="mean"):
    check_classes("nll_loss", input, target, weight)
    _, classes, inner = checked_sizes(F, input, target, ignore_index)
    input, target, weight = (x if x is None else dense(F, x) for x in (input, target, weight))
    losses, counts = (F.empty(target.shape, compute_dtype(input.dtype)) for _ in range(2))
    LIKELIHOOD(F.machine, -(-target.size // 256), 256, losses, counts, input, target, weight, target.size, classes,
               inner, ignore_index)
    return reduced(F, input.dtype, target.dtype, losses, counts, reduction)[0]


@kernel("nll_loss_backward", when=lambda F, grad, target, *rest, **attrs:
        is_float(grad.dtype) and target.size > 0 and target.dtype.name in TARGETS, halves=True)
def nll_loss_backward(F, grad, target, weight=None, *, ignore_index=-100, reduction="mean", shape=()):
    out, total = F.empty(shape, grad.dtype), None
    grad, target, weight = (x if x is None else dense(F, x) for x in (grad, target, weight))
    _, classes, inner = split_at(shape, class_dim(shape))
    if reduction == "mean":                                # the total weight from the forward pass
        losses, counts = (F.empty(target.shape, compute_dtype(grad.dtype)) for _ in range(2))
        LIKELIHOOD(F.machine, -(-target.size // 256), 256, losses, counts, None, target, weight, target.size, classes,
                   inner, ignore_index, T=grad.dtype)
        _, total = reduced(F, grad.dtype, target.dtype, losses, counts, reduction)
    LIKELIHOOD_BACK(F.machine, -(-out.size // 256), 256, out, grad, target, weight, total, out.size, classes, inner,
                    ignore_index, reduction == "none", V=compute_dtype(grad.dtype))
    return out


def checked_sizes(F, input, target, ignored):
    """(outer, classes, inner) of the logits."""
    outer, classes, inner = split_at(input.shape, class_dim(input.shape))
    check_indices(F, target, classes, lambda wrong: IndexError(
        f"Target {wrong} is out of bounds: class indices go from 0 to {classes - 1}"), but=ignored)
    return outer, classes, inner


def reduced(F, dtype, index_dtype, losses, counts, reduction):
    """The loss in its own dtype, and the weight of all samples together (0-d; unused for
    "none")."""
    total = F.empty((), losses.dtype)
    if reduction == "none":
        return losses if losses.dtype == dtype else losses.astype(dtype), total
    out, n, types = F.empty((), dtype), losses.size, dict(T=dtype, U=index_dtype)
    if n > SUMMED_AT_ONCE:
        parts = min(MOST_PARTS, -(-n // 4096))
        sums, totals = (F.empty((parts,), losses.dtype) for _ in range(2))
        ADD_UP(F.machine, parts, 1024, sums, totals, losses, counts, n, **types)
        losses, counts, n = sums, totals, parts
    CONCLUDE(F.machine, 1, 1024, out, total, losses, counts, n, reduction == "mean", U=index_dtype)
    return out, total
