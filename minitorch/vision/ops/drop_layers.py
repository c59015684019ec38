"""Whole layers skipped in training: G. Huang et al., "Deep Networks with Stochastic Depth" (2016)."""

from ...nn import Module

__all__ = ["StochasticDepth", "stochastic_depth"]


def stochastic_depth(input, p, mode, training=True):
    """`input` with whole examples ("row"), or all of it ("batch"), set to zero with probability `p` in training; the
    rest is divided by ``1 - p``. ValueError for a `p` outside of 0 ... 1 and for other modes."""
    if not 0 <= p <= 1:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}")
    if mode not in ("batch", "row"):
        raise ValueError(f"mode has to be either 'batch' or 'row', but got {mode}")
    if not training or p == 0:
        return input
    size = [input.shape[0] if mode == "row" else 1] + [1] * (input.ndim - 1)
    kept = input.new_empty(size).bernoulli_(1 - p)
    return input * (kept.div_(1 - p) if p < 1 else kept)


class StochasticDepth(Module):
    """`stochastic_depth` as a layer, which does nothing in evaluation."""

    def __init__(self, p, mode):
        super().__init__()
        self.p, self.mode = p, mode

    def forward(self, input):
        """The input, some of it set to zero."""
        return stochastic_depth(input, self.p, self.mode, self.training)

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p}, mode={self.mode})"
