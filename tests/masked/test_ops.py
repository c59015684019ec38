"""Masked-out elements change nothing, in values and gradients: of every op for masked tensors."""

import random

import numpy as np
import pytest

from minitorch import autograd, tensor, where
from minitorch.core.registry import OPS
from minitorch.core.tensor import wrap
from minitorch.host.data import host
from minitorch.masked import MaskedTensor, as_masked_tensor
from minitorch.ops.dims import is_elementwise
from minitorch.testing.strategies import Draw
from tests.helpers.op_calls import outputs_of

REFUSED = "for MaskedTensors|masks must match|identity of|in MaskedTensor"
each_op = pytest.mark.parametrize("row", OPS.values(), ids=lambda row: row.name)


class Refused(Exception):
    """The op says that it does not take these."""


def drawn(row, seed):
    """The inputs of a call, each with a mask of its shape; None for those that get none."""
    arrays, attrs = Draw(random.Random(seed)).op_sample(row)
    rng = np.random.default_rng(seed)
    kinds = [row.inputs[0]] * len(arrays) if row.variadic else row.inputs
    full = max([np.shape(x) for x in arrays if x is not None], key=len, default=())
    mask, masks = rng.random(full) < 0.6, []
    for x, kind in zip(arrays, kinds, strict=False):
        can = isinstance(x, np.ndarray) and kind.kind != "other" and x.ndim and x.dtype.kind != "c"
        masks.append(None if not can else mask if x.shape == full else rng.random(x.shape) < 0.6)
    if is_elementwise(row):                                # which wants one mask
        masks = [m if m is mask else None for m in masks]
    return arrays, masks, attrs


def results(row, arrays, masks, attrs):
    """The results of a call, and the gradients of its masked inputs."""
    leaves = [tensor(x) if isinstance(x, np.ndarray) else x for x in arrays]
    for x, m in zip(leaves, masks, strict=True):
        if m is not None and x.is_floating_point() and not any(
                [getattr(formula, "missing", False) for formula in row.vjps.values()]):
            x.requires_grad_()
    given = [x if m is None else as_masked_tensor(x, wrap(m, host()))
             for x, m in zip(leaves, masks, strict=True)]
    try:
        outs = outputs_of(row, given, attrs)
    except (TypeError, ValueError, NotImplementedError) as error:
        if any([words in str(error) for words in REFUSED.split("|")]):
            raise Refused from error
        raise
    live = [y.to_tensor(0).sum() for y in outs if isinstance(y, MaskedTensor) and y.requires_grad]
    wanted = [x for x, m in zip(leaves, masks, strict=True) if m is not None and x.requires_grad]
    return outs, autograd.grad(live, wanted, allow_unused=True) if live and wanted else ()


def without(arrays, masks):
    """The inputs with other values where they do not count."""
    return [x if m is None else np.where(m, x, np.roll(x, 1)).astype(x.dtype)
            for x, m in zip(arrays, masks, strict=True)]


@each_op
def test_what_does_not_count_changes_nothing(row):
    refused = 0
    for seed in range(8):
        arrays, masks, attrs = drawn(row, seed)
        if all([m is None for m in masks]):
            continue
        try:
            outs, grads = results(row, arrays, masks, attrs)
        except Refused as error:
            refused += "in MaskedTensor" not in str(error.__cause__)
            continue
        others, other_grads = results(row, without(arrays, masks), masks, attrs)
        for y, z in zip(outs, others, strict=True):
            assert isinstance(y, MaskedTensor)
            np.testing.assert_array_equal(y.get_mask().numpy(), z.get_mask().numpy())
            np.testing.assert_allclose(counted(y), counted(z), 1e-9, 1e-9, equal_nan=True)
        for g, h in zip(grads, other_grads, strict=True):
            if g is not None:
                np.testing.assert_allclose(g.numpy(), h.numpy(), 1e-9, 1e-9, equal_nan=True)
    assert not (is_elementwise(row) and refused), "elementwise ops take masked tensors"


def counted(y):
    return where(y.get_mask(), y.get_data().detach(), 0).numpy()
