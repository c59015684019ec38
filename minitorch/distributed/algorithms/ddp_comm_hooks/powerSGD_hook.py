"""PowerSGD: gradients are sent as products of two thin matrices, Vogels, Karimireddy & Jaggi (2019), arXiv:1905.13727.

A gradient, as a matrix M of n x m, becomes P Qᵀ with r columns: P = mean(M Q), orthogonalised, Q = mean(Mᵀ P). The
rest is added to the gradient of the next step (error feedback). Gradients for which this would not be smaller go whole.
"""

import numpy as np

from ....extend import wrap
from ...collectives import all_reduce
from ...reducing import ReduceOp
from ...work import Future

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


class PowerSGDState:
    """The options of the hook, and its memory between steps.

    matrix_approximation_rank: r (1). start_powerSGD_iter: the first steps send whole gradients (1,000).
    min_compression_rate: a gradient goes as a product if that is so many times smaller (2). use_error_feedback,
    warm_start: as in the paper (True). orthogonalization_epsilon: added to the diagonal of R (0). random_seed: of Q.
    """

    def __init__(self, process_group=None, matrix_approximation_rank=1, start_powerSGD_iter=1_000,
                 min_compression_rate=2, use_error_feedback=True, warm_start=True, orthogonalization_epsilon=0,
                 random_seed=0, compression_stats_logging_frequency=10_000, batch_tensors_with_same_shape=False):
        if start_powerSGD_iter <= 1 and (use_error_feedback or warm_start):
            raise ValueError("Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, "
                             "because PowerSGD can only be applied after the first two iterations in DDP.")
        self.process_group, self.rank = process_group, matrix_approximation_rank
        self.start_powerSGD_iter, self.min_compression_rate = start_powerSGD_iter, min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.epsilon, self.rng, self.iter = orthogonalization_epsilon, np.random.default_rng(random_seed), 0
        self.errors: dict = {}
        self.factors: dict = {}
        self.total_numel_before_compression = self.total_numel_after_compression = 0

    matrix_approximation_rank = property(lambda self: self.rank, doc="The number of columns.")

    def compression_stats(self):
        """(rate, numbers before, numbers sent)."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after else 0.0), before, after


def mean_of(array, state, tensor):
    found = wrap(array, tensor.backend)
    all_reduce(found, ReduceOp.AVG, state.process_group)
    return found.array


def orthogonal(matrix, epsilon):
    """The columns made orthonormal."""
    if epsilon:
        matrix = matrix + epsilon * np.eye(*matrix.shape, dtype=matrix.dtype)
    return np.linalg.qr(matrix)[0].astype(matrix.dtype)


def approximated(matrix, key, state, tensor):
    """The mean of a matrix over the ranks, as a product of two thin ones."""
    n, m = matrix.shape
    r = min(n, m, state.rank)
    q = state.factors.get(key) if state.warm_start else None
    q = orthogonal(state.rng.standard_normal((m, r)).astype(matrix.dtype) if q is None else q, state.epsilon)
    p = orthogonal(mean_of(matrix @ q, state, tensor), state.epsilon)
    q = state.factors[key] = mean_of(np.ascontiguousarray(matrix.T @ p), state, tensor)
    return p @ q.T


def as_matrix(gradient):
    return gradient.reshape(gradient.shape[0], -1) if gradient.ndim > 1 else None


def is_smaller(matrix, state):
    """True if two thin matrices are enough smaller than the whole one."""
    n, m = matrix.shape
    return (n + m) * state.rank * state.min_compression_rate < n * m


def compressed(state, bucket, gradients):
    """The means of `gradients`, arrays that are views of the bucket, written in their place."""
    tensor, index, whole = bucket.buffer(), bucket.index(), []
    for i, gradient in enumerate(gradients):
        state.total_numel_before_compression += gradient.size
        matrix = as_matrix(gradient)
        if matrix is None or not is_smaller(matrix, state):
            whole.append(gradient)
            state.total_numel_after_compression += gradient.size
            continue
        state.total_numel_after_compression += sum(matrix.shape) * state.rank
        key = index, i
        if state.use_error_feedback:
            error = state.errors.get(key)
            if error is not None:
                matrix += error
        mean = approximated(matrix, key, state, tensor)
        if state.use_error_feedback:
            state.errors[key] = matrix - mean
        matrix[...] = mean
    if whole:
        flat = mean_of(np.concatenate([g.reshape(-1) for g in whole]), state, tensor)
        for gradient, part in zip(whole, np.split(flat, np.cumsum([g.size for g in whole])[:-1])):
            gradient[...] = part.reshape(gradient.shape)


def applied(state, bucket, gradients):
    """The bucket's mean: whole in the first steps, then compressed."""
    future, buffer = Future(), bucket.buffer()
    if state.iter < state.start_powerSGD_iter:
        all_reduce(buffer, ReduceOp.AVG, state.process_group)
    else:
        compressed(state, bucket, gradients(buffer))
    if bucket.is_last():
        state.iter += 1
    future.set_result(buffer)
    return future


def powerSGD_hook(state, bucket):
    """Each gradient of at least two dimensions as a product of two thin matrices; the others whole."""
    return applied(state, bucket, lambda buffer: [g.array for g in bucket.gradients()])


def batched_powerSGD_hook(state, bucket):
    """The whole bucket as one square matrix: faster, and coarser."""
    def square(buffer):
        side = int(np.sqrt(buffer.numel()))
        array = buffer.array
        return [array[:side * side].reshape(side, side), array[side * side:]]
    return applied(state, bucket, square)
