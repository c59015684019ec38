"""`loss_parallel`: cross entropy of logits whose classes are split over ranks."""

import contextlib

__all__ = ["loss_parallel"]


@contextlib.contextmanager
def loss_parallel():
    """Within the block `cross_entropy` of a DTensor whose classes are split, as `ColwiseParallel` leaves the last
    layer, sends no logits.

    PyTorch needs to be told; here it is the rule of `cross_entropy`, within the block or not (`tensor/losses.py`): the
    ranks exchange the maximum, the sum and the target's logit of each sample. The backward pass must be in the block,
    too, in PyTorch.
    """
    yield
