"""Batch norm over the batches of all ranks, for ``nn.SyncBatchNorm``.

Mean and variance come from two sums over the ranks: of the elements with their number, then of the squares of what is
left, which keeps a variance exact beside a large mean. Both sums have derivatives, so that the backward pass calls
collectives, too.
"""

from .. import cat
from ..extend import get_backend, wrap
from .groups import current_world, resolved
from .nn.functional import all_reduce as summed

__all__: list = []


def sync_batch_norm(input, running_mean, running_var, weight, bias, momentum, eps, group):
    """Batch norm with mean and variance over the batches of all ranks: see ``nn.SyncBatchNorm``."""
    group = resolved(group)
    dims = [d for d in range(input.dim()) if d != 1]
    wide = input.float() if input.dtype.itemsize == 2 else input
    shape = [1, -1] + [1] * (input.dim() - 2)
    own = wide.sum(dims)
    host = get_backend("cpu")
    number = input.numel() // max(input.shape[1], 1)
    count = wrap(host.xp.full(1, number, own.array.dtype), host).to(own.device)
    total = summed(cat([own, count]), group=group)
    n = total[-1].detach()
    mean = total[:-1] / n
    centred = wide - mean.view(shape)
    variance = summed((centred * centred).sum(dims), group=group) / n
    if running_mean is not None:
        update(running_mean, mean, momentum)
        update(running_var, variance * (n / (n - 1).clamp(min=1)), momentum)
    out = centred * (variance + eps).rsqrt().view(shape)
    if weight is not None:
        out = out * weight.view(shape)
    if bias is not None:
        out = out + bias.view(shape)
    return out.to(input.dtype)


def update(running, found, momentum):
    """Move a running statistic towards what was found."""
    running.data.mul_(1 - momentum).add_(found.detach().to(running.dtype) * momentum)


def has_peers(group):
    """True if there are other ranks to share statistics with."""
    return current_world().size > 1 and resolved(group) is not None and resolved(group).size() > 1
