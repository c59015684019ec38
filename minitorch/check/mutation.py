"""Mutants: copies of the library with one planted bug each, for students' tests to notice.

A test is a function of the library, ``def test(torch): ...``, that asserts. It should pass for minitorch and fail for
each mutant; `survivors` says which mutants it does not notice.
"""

import minitorch

from ..autograd import Function

__all__ = ["MUTANTS", "mutant", "survivors"]


class Library:
    """minitorch with some functions replaced; everything else is looked up there."""

    def __init__(self, **replaced):
        self.__dict__.update(replaced)

    def __getattr__(self, name):
        return getattr(minitorch, name)


def with_backward(forward, backward):
    """A function with the right values and a gradient of its own: ``backward(g, x, *others)``."""
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x, *others):
            ctx.save_for_backward(x)
            ctx.others = others
            return forward(x.detach(), *others)

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return (backward(g, x, *ctx.others), *(None for _ in ctx.others))
    return lambda x, *others: Wrong.apply(x, *others)


def softmax_diagonal(g, x, dim):
    y = minitorch.softmax(x, dim)
    return g * y * (1 - y)


def assigned(g, x, dim, index):
    found = minitorch.zeros_like(x)
    found[index] = g
    return found


def mean_of(x, dim=None):
    return minitorch.mean(x) if dim is None else minitorch.mean(x, dim)


def unscaled(g, x, dim=None):
    return g.expand(x.shape) if dim is None else g.unsqueeze(dim).expand(x.shape)


def overflowing(x, dim):
    e = x.exp()
    return e / e.sum(dim, keepdim=True)


MUTANTS = {
    "relu lets a hundredth of negative values through":
        {"relu": lambda x: minitorch.nn.functional.leaky_relu(x, 0.01)},
    "the gradient of relu is 1 for negative values too":
        {"relu": with_backward(minitorch.relu, lambda g, x: g)},
    "the gradient of mean lacks 1/N":
        {"mean": with_backward(mean_of, unscaled)},
    "mean over dim 1 is taken over dim 0":
        {"mean": lambda x, dim=None: minitorch.mean(x) if dim is None else minitorch.mean(x, 0)},
    "softmax overflows for large numbers":
        {"softmax": overflowing},
    "the gradient of softmax sees the diagonal only":
        {"softmax": with_backward(minitorch.softmax, softmax_diagonal)},
    "the gradient of index_select is assigned, not added":
        {"index_select": with_backward(minitorch.index_select, assigned)},
    "clone shares memory with its source":
        {"clone": lambda x: x.view(x.shape)}}


def mutant(name):
    """The library with this bug."""
    return Library(**MUTANTS[name])


def notices(test, library):
    """True if the test fails for this library; NotImplementedError is passed on."""
    try:
        test(library)
    except NotImplementedError:
        raise
    except Exception:
        return True
    return False


def survivors(test):
    """The names of the mutants that the test does not notice; ValueError if it fails for the library itself.

    >>> len(survivors(lambda torch: None)) == len(MUTANTS)
    True
    """
    if notices(test, minitorch):
        raise ValueError("the test fails for the library without any bug: it asks for something that does not hold")
    return [name for name in MUTANTS if not notices(test, mutant(name))]
