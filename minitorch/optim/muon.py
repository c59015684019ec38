"""`Muon`: momentum whose matrices are made nearly orthogonal before the step."""

from math import sqrt

import numpy as np

from ..core.graph import bump_version
from ..core.tensor import Tensor, wrap
from .optimizer import OneByOne, number, require

__all__ = ["Muon"]


class Muon(OneByOne):
    """Muon, for the matrices inside a network; biases, embeddings and the like want another optimiser::

        b <- momentum b + (1 - momentum) g
        u = momentum b + (1 - momentum) g           nesterov; else u = b
        p <- (1 - lr weight_decay) p - lr ratio orthogonalized(u)

    Args:
        params: matrices, (name, matrix) pairs or dicts that define parameter groups.
        lr: learning rate. weight_decay: see the formula. momentum: how much of the old mean is kept.
        nesterov: look ahead along the momentum.
        ns_coefficients, ns_steps, eps: of the iteration in `orthogonalized`.
        adjust_lr_fn: the ratio for a matrix of A rows and B columns: ``"original"`` (also None) is
            ``sqrt(max(1, A / B))``, ``"match_rms_adamw"`` is ``0.2 sqrt(max(A, B))``, for learning rates of AdamW.

    Jordan, "Muon: an optimizer for hidden layers in neural networks", 2024; Liu et al., "Muon is scalable for LLM
    training", 2025. ValueError for a parameter that is not a matrix. State: ``momentum_buffer``.
    """

    def __init__(self, params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True,
                 ns_coefficients=(3.4445, -4.7750, 2.0315), eps=1e-7, ns_steps=5, adjust_lr_fn=None):
        require(not isinstance(lr, Tensor) or lr.numel() == 1, "Tensor lr must be 1-element")
        require(0.0 <= lr, f"Learning rate should be >= 0 but is: {lr}")
        require(0.0 <= momentum, f"momentum should be >= 0 but is: {momentum}")
        require(0.0 <= weight_decay, f"weight decay should be >= 0 but is: {weight_decay}")
        require(adjust_lr_fn in (None, "original", "match_rms_adamw"),
                f"Adjust learning rate function {adjust_lr_fn} is not supported: expected "
                f"'original' or 'match_rms_adamw'")
        require(len(ns_coefficients) == 3, "Coefficients must be a tuple of exactly 3 values")
        require(ns_steps < 100, "Number of steps must be less than 100 for computational efficiency")
        super().__init__(params, dict(lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov,
                                      ns_coefficients=ns_coefficients, eps=eps, ns_steps=ns_steps,
                                      adjust_lr_fn=adjust_lr_fn))

    def add_param_group(self, param_group):
        super().add_param_group(param_group)
        for p in param_group["params"]:
            require(p.ndim == 2, f"Muon only supports 2D parameters whereas we found a parameter with size: {p.shape}")

    def _update(self, group, p):
        """One step of one matrix."""
        if p.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        state, xp, g = self.state[p], p.backend.xp, p.grad.array
        if state.get("momentum_buffer") is None:
            state["momentum_buffer"] = wrap(xp.zeros_like(g), p.backend)
        b, lr, keep = state["momentum_buffer"].array, number(group["lr"]), group["momentum"]
        b += ((1 - keep) * (g - b)).astype(b.dtype, copy=False)
        u = b - (b - g) * (1 - keep) if group["nesterov"] else b
        rows, columns = p.array.shape
        ratio = 0.2 * sqrt(max(rows, columns)) if group["adjust_lr_fn"] == "match_rms_adamw" else sqrt(
            max(1, rows / columns))
        u = orthogonalized(xp, u, group["ns_coefficients"], group["ns_steps"], group["eps"])
        p.array[...] = p.array * (1 - lr * group["weight_decay"]) - (lr * ratio) * u
        bump_version(p, "Muon.step")


def orthogonalized(xp, matrix, coefficients, steps, eps):
    """About ``U V^T`` where ``U S V^T`` is the singular value decomposition of the matrix, as float32.

    The Newton-Schulz iteration ``X <- a X + (b A + c A^2) X, A = X X^T`` moves all singular values towards 1; with
    the usual coefficients they end between 0.7 and 1.2, fast rather than exact. Every result is rounded to
    bfloat16, which is what PyTorch computes in here, so that both give the same steps.
    """
    a, b, c = coefficients
    x = rounded(xp, matrix.astype(np.float32))
    wide = x.shape[0] <= x.shape[1]
    x = x if wide else x.T
    norm = rounded(xp, xp.linalg.norm(x).reshape(1))
    x = rounded(xp, x / xp.maximum(norm, rounded(xp, xp.full(1, eps, np.float32))))
    for _ in range(steps):
        gram = rounded(xp, x @ x.T)
        mix = rounded(xp, multiply_add(b, gram, c * (gram @ gram)))
        x = rounded(xp, multiply_add(a, x, mix @ x))
    return x if wide else x.T


def multiply_add(factor, x, y):
    """``factor x + y`` of float32 arrays, rounded once, as the processor's fused instruction does."""
    return (float(np.float32(factor)) * x.astype(np.float64) + y).astype(np.float32)


def rounded(xp, x):
    """float32 numbers rounded to bfloat16, half to even: the upper 16 bits."""
    bits = xp.ascontiguousarray(x, np.float32).view(np.uint32)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return bits.view(np.float32)
