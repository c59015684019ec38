"""`ExponentialFamily`: distributions whose entropy follows from their log normaliser by differentiation."""

from .. import enable_grad
from ..autograd import grad
from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Base of distributions with a density ``exp(<t(x), theta> - F(theta) + k(x))``.

    A subclass has the natural parameters `_natural_params` theta, a tuple of tensors, the function `_log_normalizer` F
    of these, and the number `_mean_carrier_measure`, the mean of k. Sources of both formulas, here and in `kl`:
    F. Nielsen and R. Nock, "Entropies and cross-entropies of exponential families", 2010.
    """

    @property
    def _natural_params(self):
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError

    def _expectations(self):
        """The natural parameters, F there, and its gradients, which are the means of t(x)."""
        with enable_grad():
            params = [p if p.requires_grad else p.detach().requires_grad_() for p in self._natural_params]
            normalizer = self._log_normalizer(*params)
            return params, normalizer, grad(normalizer.sum(), params, create_graph=True)

    def entropy(self):
        """``F(theta) - <theta, gradient of F> - mean of k(x)``."""
        params, normalizer, means = self._expectations()
        result = normalizer - self._mean_carrier_measure
        for p, mean in zip(params, means):
            result = result - (p * mean).reshape(self._batch_shape + (-1,)).sum(-1)
        return result
