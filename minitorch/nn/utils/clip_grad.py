"""Gradients measured and clipped. All in place, under ``no_grad``.

``parameters`` is a tensor or an iterable of tensors; those without a gradient are left out. ``foreach`` is accepted
and changes nothing.
"""

from minitorch.ops.optim import total_norm

from ...autograd.grad_mode import no_grad
from ...core.arrays import counted
from ...core.graph import calling_line, versions
from ...core.tensor import Tensor
from ...explain.callers import warn
from ...ops.creation.create import tensor
from ...ops.reductions.norms import vector_norm
from ...ops.shapes.join import stack


def _listed(tensors):
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _grads(parameters):
    return [p.grad for p in _listed(parameters) if p.grad is not None]


@no_grad()
def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all elements of all tensors together, as a 0-d tensor.

    ``error_if_nonfinite``: RuntimeError if it is nan or infinite.
    """
    tensors, norm_type = [t.coalesce().values() if t.is_sparse else t for t in _listed(tensors)], float(norm_type)
    if not tensors:
        return tensor(0.0)
    backend, dtype = tensors[0].backend, tensors[0].array.dtype
    if all([t.backend is backend and t.array.dtype == dtype for t in tensors]):
        total = total_norm(tensors, float(norm_type))
    else:
        norms = [vector_norm(t, norm_type) for t in tensors]
        device = norms[0].device
        total = vector_norm(stack([n.to(device) for n in norms]), norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it "
                           "cannot be clipped. To disable this error and scale the gradients by the non-finite norm "
                           "anyway, set `error_if_nonfinite=False`")
    return total


@no_grad()
def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scale the gradients by ``max_norm / total_norm``, where that is below 1."""
    scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    grads = [g._values() if g.is_sparse else g for g in _grads(parameters)]
    here = grads and scale.backend is grads[0].backend
    if here and scale.backend.scale_all([g.array for g in grads], scale.array):
        versions.bump([counted(g.array) for g in grads], "clip_grads_with_norm_", calling_line())
        return
    for grad in grads:
        grad.mul_(scale.to(grad.device))


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scale the gradients so that the norm of all of them together is at most ``max_norm``; return what it was."""
    parameters = _listed(parameters)
    total_norm = get_total_norm(_grads(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total_norm)
    return total_norm


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The old name of ``clip_grad_norm_``."""
    warn("`nn.utils.clip_grad_norm` is now deprecated in favor of `nn.utils.clip_grad_norm_`.",
         FutureWarning)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)


@no_grad()
def clip_grad_value_(parameters, clip_value, foreach=None):
    """Clamp every element of the gradients to [-clip_value, clip_value]."""
    for grad in _grads(parameters):
        grad.clamp_(min=-float(clip_value), max=float(clip_value))
