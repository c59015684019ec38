"""Elementwise ops for which the CPU has a faster way than the reference's NumPy call."""

import math

import numpy as np

from ...core.arrays import is_floating
from ...ops.elementwise.arithmetic import is_float
from .backend import kernel
from .blocks import in_blocks, numbers


@kernel("where")
def where(F, condition, input, other):
    """Bits instead of branches: for a million float32 and a random mask a quarter of the time of `np.where`.

    `np.where` branches on each element, and a random mask makes the processor guess wrongly half of the time. Here the
    numbers are taken as integers: ``other ^ ((input ^ other) & mask)`` with a mask of all ones or all zeros.
    """
    found = {x.dtype for x in (input, other) if hasattr(x, "dtype")}
    if condition.size < 8192 or condition.dtype != bool or len(found) != 1 or not is_floating(min(found)):
        return np.where(condition, input, other)
    dtype = found.pop()
    bits = np.dtype(f"i{dtype.itemsize}")
    first, second = [np.asarray(x, dtype).view(bits) for x in (input, other)]
    mask = np.negative(condition.view(np.int8)).astype(bits)
    out = (first ^ second) & mask
    out ^= second
    return out.view(dtype)


# ---- functions of one and two numbers ----------------------------------------------------------------------
def sigmoid_block(xp, out, x):
    one, = numbers(xp, x.dtype, 1)
    xp.negative(x, out=out)
    xp.exp(out, out=out)
    xp.add(out, one, out=out)
    xp.reciprocal(out, out=out)


@kernel("sigmoid")
def sigmoid(F, input):
    if input.size <= 1024:
        one, = numbers(np, input.dtype, 1)
        out = np.asarray(np.negative(input))               # as an array where it is a number
        np.exp(out, out=out)
        np.add(out, one, out=out)
        return np.reciprocal(out, out=out)
    return in_blocks(F, sigmoid_block, input)


def minus_distance(F, x, y):
    """``-|x - y|``, and 0 for equal infinities."""
    return F.masked(-np.abs(x - y), x != y)


@kernel("logaddexp")
def logaddexp(F, input, other):
    if input.dtype.kind == "c":
        return F.reference.logaddexp(input, other)
    if input.size < 512:
        return np.logaddexp(input, other)                  # fewer steps, but slower ones
    return np.maximum(input, other) + np.log1p(np.exp(minus_distance(F, input, other)))


@kernel("logaddexp2")
def logaddexp2(F, input, other):
    if input.size < 512:
        return np.logaddexp2(input, other)
    return np.maximum(input, other) + np.log1p(np.exp2(minus_distance(F, input, other))) * (1 / math.log(2))


@kernel("nan_to_num")
def nan_to_num(F, input, *, nan=None, posinf=None, neginf=None):
    """A plain copy where all numbers are finite, which costs one pass instead of four."""
    if not is_floating(input.dtype) or np.isfinite(input).all():
        return input.copy()
    return F.reference.nan_to_num(input, nan=nan, posinf=posinf, neginf=neginf)


# ---- division of integers ----------------------------------------------------------------------------------
def check_elements(other):
    """RuntimeError where integers are divided by zero; only the CPU looks at the elements of a tensor."""
    if not (np.all(other) if hasattr(other, "dtype") else other):
        raise RuntimeError("ZeroDivisionError")


def divided(function):
    def divide(F, input, other):
        if not is_float(input, other):
            check_elements(other)
        return function(input, other)
    return divide


for name in ("floor_divide", "remainder", "fmod"):
    kernel(name)(divided(getattr(np, name)))


@kernel("trunc_divide")
def trunc_divide(F, input, other):
    if is_float(input, other):
        return np.trunc(np.true_divide(input, other))
    check_elements(other)
    return F.reference.trunc_divide(input, other)
