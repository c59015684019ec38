"""Distributions and transforms that tests make here and, where it is installed, in PyTorch: one text for both.

Each case is an expression of `d`, the package of distributions, and `x`, which makes a tensor of float64 numbers.
"""

COVARIANCES = "x([[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.5]])"
FACTOR = "x([[1.0, 0.0, 0.0], [0.3, 0.8, 0.0], [-0.2, 0.1, 0.6]])"

DISTRIBUTIONS = {
    "Bernoulli": "d.Bernoulli(x([0.2, 0.5, 0.9]))",
    "Bernoulli logits": "d.Bernoulli(logits=x([-1.0, 0.4, 2.0]))",
    "Beta": "d.Beta(x([0.5, 2.0, 7.0]), x([0.7, 3.0, 1.5]))",
    "Binomial": "d.Binomial(x([6, 6, 6]), x([0.2, 0.5, 0.9]))",
    "Binomial logits": "d.Binomial(30, logits=x([-1.0, 0.4, 2.0]))",
    "Categorical": "d.Categorical(x([[0.2, 0.5, 0.3], [1.0, 2.0, 5.0]]))",
    "Categorical logits": "d.Categorical(logits=x([[0.2, -0.5, 0.3], [1.0, 2.0, 0.0]]))",
    "Cauchy": "d.Cauchy(x([0.0, 1.0]), x([1.0, 0.3]))",
    "Chi2": "d.Chi2(x([1.0, 3.5, 9.0]))",
    "ContinuousBernoulli": "d.ContinuousBernoulli(x([0.2, 0.4999, 0.9]))",
    "ContinuousBernoulli logits": "d.ContinuousBernoulli(logits=x([-1.0, 0.0001, 2.0]))",
    "Dirichlet": "d.Dirichlet(x([[0.5, 2.0, 7.0], [3.0, 1.5, 1.2]]))",
    "Exponential": "d.Exponential(x([0.5, 3.0]))",
    "FisherSnedecor": "d.FisherSnedecor(x([3.0, 5.0, 1.0]), x([5.0, 9.0, 3.0]))",
    "Gamma": "d.Gamma(x([0.5, 2.0, 12.0]), x([0.7, 3.0, 1.5]))",
    "GeneralizedPareto": "d.GeneralizedPareto(x([0.0, 1.0, -1.0]), x([1.0, 0.5, 2.0]), x([0.2, -0.5, 0.3]))",
    "Geometric": "d.Geometric(x([0.2, 0.5, 0.9]))",
    "Geometric logits": "d.Geometric(logits=x([-1.0, 0.4, 2.0]))",
    "Gumbel": "d.Gumbel(x([0.0, 1.0]), x([1.0, 0.3]))",
    "HalfCauchy": "d.HalfCauchy(x([1.0, 0.3]))",
    "HalfNormal": "d.HalfNormal(x([1.0, 0.3]))",
    "Independent": "d.Independent(d.Normal(x([[0.0, 1.0], [2.0, 3.0]]), x([1.0, 0.5])), 1)",
    "InverseGamma": "d.InverseGamma(x([1.5, 2.5, 12.0]), x([0.7, 3.0, 1.5]))",
    "Kumaraswamy": "d.Kumaraswamy(x([0.5, 2.0, 3.0]), x([1.7, 3.0, 1.5]))",
    "LKJCholesky": "d.LKJCholesky(3, x([0.7, 2.0]))",
    "Laplace": "d.Laplace(x([0.0, 1.0]), x([1.0, 0.3]))",
    "LogNormal": "d.LogNormal(x([0.0, 1.0]), x([1.0, 0.3]))",
    "LogisticNormal": "d.LogisticNormal(x([0.0, 1.0, -0.5]), x([1.0, 0.3, 0.6]))",
    "LowRankMultivariateNormal": "d.LowRankMultivariateNormal(x([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0]]), "
                                 "x([[1.0, 0.2], [0.5, -1.0], [0.3, 0.3]]), x([0.5, 1.0, 0.7]))",
    "MixtureSameFamily": "d.MixtureSameFamily(d.Categorical(x([0.2, 0.5, 0.3])), "
                         "d.Normal(x([-2.0, 0.0, 3.0]), x([0.5, 1.0, 0.7])))",
    "MixtureSameFamily of vectors": "d.MixtureSameFamily(d.Categorical(x([[0.2, 0.8], [0.6, 0.4]])), d.Independent("
                                    "d.Normal(x([[[0.0, 1.0], [2.0, 3.0]], [[4.0, 1.0], [2.0, 0.0]]]), x(1.0)), 1))",
    "Multinomial": "d.Multinomial(7, x([[0.2, 0.5, 0.3], [1.0, 2.0, 5.0]]))",
    "Multinomial logits": "d.Multinomial(7, logits=x([0.2, -0.5, 0.3]))",
    "MultivariateNormal": f"d.MultivariateNormal(x([0.0, 1.0, 2.0]), {COVARIANCES})",
    "MultivariateNormal of factors": f"d.MultivariateNormal(x([[0.0, 1.0, 2.0], [3.0, 1.0, 0.0]]), "
                                     f"scale_tril={FACTOR})",
    "MultivariateNormal of precisions": f"d.MultivariateNormal(x([0.0, 1.0, 2.0]), precision_matrix={COVARIANCES})",
    "NegativeBinomial": "d.NegativeBinomial(x([3.0, 5.5]), x([0.3, 0.6]))",
    "NegativeBinomial logits": "d.NegativeBinomial(4, logits=x([-1.0, 0.4]))",
    "Normal": "d.Normal(x([0.0, 1.0]), x([1.0, 0.3]))",
    "Normal of numbers": "d.Normal(0.5, 2)",
    "OneHotCategorical": "d.OneHotCategorical(x([[0.2, 0.5, 0.3], [1.0, 2.0, 5.0]]))",
    "OneHotCategoricalStraightThrough": "d.OneHotCategoricalStraightThrough(logits=x([0.2, -0.5, 0.3]))",
    "Pareto": "d.Pareto(x([1.0, 0.3]), x([1.5, 3.0]))",
    "Poisson": "d.Poisson(x([0.3, 4.0, 25.0]))",
    "RelaxedBernoulli": "d.RelaxedBernoulli(x(0.7), x([0.2, 0.5, 0.9]))",
    "RelaxedOneHotCategorical": "d.RelaxedOneHotCategorical(x(0.7), x([[0.2, 0.5, 0.3], [1.0, 2.0, 5.0]]))",
    "StudentT": "d.StudentT(x([0.8, 1.5, 4.0]), x([0.0, 1.0, -1.0]), x([1.0, 0.3, 2.0]))",
    "TransformedDistribution": "d.TransformedDistribution(d.Normal(x([0.0, 1.0]), x([1.0, 0.3])), "
                               "[d.AffineTransform(x(1.0), x(-2.0)), d.SigmoidTransform()])",
    "Uniform": "d.Uniform(x([0.0, -1.0]), x([1.0, 3.0]))",
    "VonMises": "d.VonMises(x([0.0, 1.0, -2.0]), x([0.5, 3.0, 20.0]))",
    "Weibull": "d.Weibull(x([1.0, 0.3]), x([1.5, 3.0]))",
    "Wishart": f"d.Wishart(x([4.0, 7.5]), {COVARIANCES})",
    "Wishart of precisions": f"d.Wishart(x(5.0), precision_matrix={COVARIANCES})",
}

# Transforms, each with a shape of inputs from all real numbers, or of positive ones where the domain is that.
TRANSFORMS = {
    "AbsTransform": ("d.AbsTransform()", (2, 3)),
    "AffineTransform": ("d.AffineTransform(x([1.0, 2.0, 3.0]), -0.5)", (2, 3)),
    "AffineTransform of vectors": ("d.AffineTransform(0.5, x([1.0, -2.0, 3.0]), event_dim=1)", (2, 3)),
    "CatTransform": ("d.CatTransform([d.ExpTransform(), d.AffineTransform(1.0, 3.0)], dim=1, lengths=[1, 2])", (2, 3)),
    "ComposeTransform": ("d.ComposeTransform([d.AffineTransform(1.0, 2.0), d.TanhTransform()])", (2, 3)),
    "ComposeTransform of vectors": ("d.ComposeTransform([d.AffineTransform(x(1.0), x(2.0)), "
                                    "d.StickBreakingTransform()])", (2, 3)),
    "CorrCholeskyTransform": ("d.CorrCholeskyTransform()", (2, 6)),
    "CumulativeDistributionTransform": ("d.CumulativeDistributionTransform(d.Normal(x(0.5), x(2.0)))", (2, 3)),
    "ExpTransform": ("d.ExpTransform()", (2, 3)),
    "IndependentTransform": ("d.IndependentTransform(d.ExpTransform(), 1)", (2, 3)),
    "inverse": ("d.SigmoidTransform().inv.inv", (2, 3)),
    "identity_transform": ("d.identity_transform", (2, 3)),
    "LowerCholeskyTransform": ("d.LowerCholeskyTransform()", (2, 3, 3)),
    "PositiveDefiniteTransform": ("d.PositiveDefiniteTransform()", (2, 3, 3)),
    "PowerTransform": ("d.PowerTransform(x([2.0, -0.5, 3.0]))", (2, 3)),
    "ReshapeTransform": ("d.ReshapeTransform((6,), (2, 3))", (4, 6)),
    "SigmoidTransform": ("d.SigmoidTransform()", (2, 3)),
    "SoftmaxTransform": ("d.SoftmaxTransform()", (2, 3)),
    "SoftplusTransform": ("d.SoftplusTransform()", (2, 3)),
    "StackTransform": ("d.StackTransform([d.ExpTransform(), d.AffineTransform(1.0, 3.0), d.identity_transform], dim=1)",
                       (2, 3)),
    "StickBreakingTransform": ("d.StickBreakingTransform()", (2, 3)),
    "TanhTransform": ("d.TanhTransform()", (2, 3)),
}


def made(text, d, tensor):
    """A case in one library: the object, and the tensors that it was made of, which require gradients."""
    given = []

    def x(values):
        given.append(tensor(values).requires_grad_())
        return given[-1]
    return eval(text, {"d": d, "x": x}), given
