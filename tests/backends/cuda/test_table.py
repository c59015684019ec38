"""Every row of the op table on the device, forward and backward, against the CPU, in float32."""

import inspect
import random

import numpy as np
import pytest

from minitorch import backends
from minitorch.autograd import api
from minitorch.backends.cpu.backend import cpu
from minitorch.backends.kernels import definition_names, parameter_names
from minitorch.core.dtypes import bfloat16
from minitorch.core.registry import OPS
from minitorch.core.tensor import Tensor, wrap
from minitorch.testing.strategies import Draw
from tests.helpers.op_calls import each, outputs_of

ROWS = [row for row in OPS.values() if row.sample or not any(x.kind == "variadic" for x in row.inputs)]


def run(row, backend, seed):
    """The outputs of one sample of a row, and the gradients of their sum where there are any, as NumPy arrays."""
    arrays, attrs = Draw(random.Random(seed)).op_sample(row)
    narrow = lambda v: v.astype("float32") if isinstance(v, np.ndarray) and v.dtype == "float64" else v
    there = lambda v: backend.from_host(narrow(v)) if isinstance(v, np.ndarray) else v
    tensors = [wrap(there(x), backend).requires_grad_(x.dtype == np.float64) if isinstance(x, np.ndarray) else x
               for x in arrays]
    attrs = {k: each(there, v) if k in ("index", "edges") else v for k, v in attrs.items()}
    outputs = outputs_of(row, tensors, attrs)
    assert all(type(t.array) is backend.ndarray and t.backend is backend for t in outputs)
    found = [t.detach() for t in outputs]
    live = [t for t in outputs if t.needs_grad]
    if live:
        wanted = [t for t in tensors if isinstance(t, Tensor) and t.needs_grad]
        seeds = [wrap(backend.from_host(np.ones(t.shape, t.array.dtype)), backend) for t in live]
        try:
            grads = api.grad(live, wanted, seeds, allow_unused=True)
        except NotImplementedError:                        # a derivative that nobody knows
            grads = []
        found += [g for g in grads if g is not None]
    return [backend.to_host(t.array) for t in found]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_row_agrees_with_the_cpu(row, device):
    expected, found = run(row, cpu, 0), run(row, backends.get(device), 0)
    assert len(found) == len(expected)
    for theirs, ours in zip(expected, found):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        scale = np.abs(np.nan_to_num(theirs, posinf=0, neginf=0)).max(initial=1)
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-5 * scale)


# ---- kernels -------------------------------------------------------------------------------------------------
def test_every_kernel_has_a_definition_and_is_compared(device):
    """Its parameters are the definition's, and the definition is among those that are compared above."""
    from minitorch.backends.cuda.backend import kernel
    assert backends.get(device).kernels is kernel.found and len(kernel.found) > 90
    for name in kernel.found:
        given = parameter_names(inspect.unwrap(kernel.found[name]))
        assert given is None or given == definition_names(OPS[name]), name
        assert OPS[name] in ROWS, name


def run_kernel(backend, name, seed, dtype):
    """Call a kernel with one sample of its op."""
    def there(v):
        v = v.astype(dtype) if getattr(v, "dtype", None) == "float64" else v
        return backend.from_host(v) if isinstance(v, np.ndarray) else v
    arrays, attrs = Draw(random.Random(seed)).op_sample(OPS[name])
    attrs = {k: each(there, v) if k == "index" else v for k, v in attrs.items()}
    backend.kernels[name](backend, *map(there, arrays), **attrs)


def test_every_kernel_takes_some_sample(device, monkeypatch):
    """Without falling back to its reference: what is compared above is the kernel."""
    from minitorch.backends.cuda.backend import kernel
    backend, fell_back = backends.get(device), []

    class Reference:
        def __getattr__(self, name):
            return lambda *arrays, **attrs: fell_back.append(name)
    monkeypatch.setattr(backend, "reference", Reference(), raising=False)

    def taken(name, seed, dtype):
        fell_back.clear()
        run_kernel(backend, name, seed, dtype)
        return not fell_back
    cases = [(seed, dtype) for dtype in ("float32", bfloat16.np) for seed in range(5)]
    never = {name for name in kernel.found if not any(taken(name, *case) for case in cases)}
    # it takes what the forward kernel keeps: test_cuda_attention
    assert never == {"scaled_dot_product_attention_backward"}
