"""Softmax and its logarithm over the last dimension, a row at a time: each row is read from memory once."""

import numpy as np

from ..eager import kernel, plain, shared


def many_rows(d):
    return [d.array((90, 100))], dict(dim=-1)


def many_gradients(d):
    return [d.array((90, 100)), d.array((90, 100))], dict(dim=1)


def is_last(F, input, *, dim):
    return plain(input) and dim in (-1, input.ndim - 1)


def are_last(F, grad, out_, *, dim):
    return plain(grad, out_) and grad.shape == out_.shape and dim in (-1, grad.ndim - 1)


def of_rows(name, x, *others):
    """A new array like `x`, which the function `name` fills from the rows of the given ones."""
    out, d = np.empty(x.shape, x.dtype), x.shape[-1]
    shared("rows", name, x, "p" * (2 + len(others)) + "ll", x, *others, out, x.size // d, d)
    return out


@kernel("softmax", when=is_last, sample=many_rows)
def softmax(F, input, *, dim):
    return of_rows("softmax", input)


@kernel("log_softmax", when=is_last, sample=many_rows)
def log_softmax(F, input, *, dim):
    return of_rows("log_softmax", input)


@kernel("softmax_backward", when=are_last, sample=many_gradients)
def softmax_backward(F, grad, out_, *, dim):
    return of_rows("softmax_backward", grad, out_)


@kernel("log_softmax_backward", when=are_last, sample=many_gradients)
def log_softmax_backward(F, grad, out_, *, dim):
    return of_rows("log_softmax_backward", grad, out_)
