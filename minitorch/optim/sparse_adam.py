"""`SparseAdam`: Adam for tables with sparse gradients, which moves the rows that were looked up and no others."""

from math import sqrt

from ..core.graph import bump_version
from ..core.tensor import wrap
from .optimizer import OneByOne, check_betas, check_lr, require

__all__ = ["SparseAdam"]


class SparseAdam(OneByOne):
    """Adam on the entries of sparse gradients: running means, and parameters, of all other elements stay as they are.

    Args:
        params: dense tensors, (name, tensor) pairs or dicts that define parameter groups.
        lr: learning rate, a number or a tensor of one element.
        betas: decay rates of the two running means, in [0, 1).
        eps: added to the denominator.
        maximize: go uphill.

    RuntimeError in `step` for a dense gradient. State of a parameter: ``step``, ``exp_avg``, ``exp_avg_sq``. The
    formula is `adam`'s, Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015, in the form of
    PyTorch's. """

    takes_sparse = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        check_lr(lr)
        require(0.0 < lr, f"Invalid learning rate: {lr}")
        require(0.0 < eps, f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, maximize=maximize))
        for i, p in enumerate(p for group in self.param_groups for p in group["params"]):
            require(not p.is_sparse, f"Sparse params at indices [{i}]: SparseAdam requires dense parameter tensors")

    def _update(self, group, p):
        if not p.grad.is_sparse:
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        state, xp = self.state[p], p.backend.xp
        if not state:
            state.update(step=0, exp_avg=wrap(xp.zeros_like(p.array), p.backend),
                         exp_avg_sq=wrap(xp.zeros_like(p.array), p.backend))
        state["step"] += 1
        grad = p.grad.detach().coalesce()
        if not grad._nnz():
            return
        at, g = tuple(grad.array.pattern.indices), grad.array.values
        g = -g if group["maximize"] else g
        beta1, beta2 = map(float, group["betas"])
        mean, square = state["exp_avg"].array, state["exp_avg_sq"].array
        m = mean[at] + (g - mean[at]) * (1 - beta1)
        v = square[at] + (g * g - square[at]) * (1 - beta2)
        mean[at], square[at] = m, v
        size = float(group["lr"]) * sqrt(1 - beta2**state["step"]) / (1 - beta1**state["step"])
        p.array[at] -= (size * (m / (xp.sqrt(v) + group["eps"]))).astype(p.array.dtype)
        for written in (p, state["exp_avg"], state["exp_avg_sq"]):
            bump_version(written, "SparseAdam.step")
