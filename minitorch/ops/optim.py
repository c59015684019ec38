"""Op definitions: reductions over many tensors at once, for optimisers and gradient clipping. They have no gradients.

Functions that write in place are not ops: see `Backend.scale_all` and `Backend.step_at_once`.
"""

from .define import op


def sample_total_norm(d):
    return [d.array(shape) for shape in d.choice([[(2, 3)], [(2, 3), (4,)], [(), (1, 2), (3,)]])], dict(
        norm_type=d.choice([2.0, 1.0, float("inf"), 3.0]))


@op(dims="[x..] ->", promotion=None, namespace=None, sample=sample_total_norm)
def total_norm(F, *tensors, norm_type):
    """The norm of all elements of all tensors together: the norm of their norms, each in the tensors' dtype."""
    norms = [F.fp32.vector_norm(x, ord=norm_type) for x in tensors]
    return F.fp32.vector_norm(F.xp.stack(norms), ord=norm_type)
