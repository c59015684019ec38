"""`gradcheck` and `gradgradcheck`: gradients against central finite differences, with PyTorch's signatures.

Formula: ``(f(x + eps) - f(x - eps)) / (2 eps)``, for each element of each input, in float64. When a gradient is
wrong the error shows both Jacobians and names the mistake that it looks like (`minitorch/testing/diagnose.py`).

A complex number counts as two real ones: the Jacobians have two columns for each element of a complex input, its real
and its imaginary part, and two rows for each element of a complex output.
"""

import numpy as np

from ..autograd import api
from ..autograd.dual.crossing import detached
from ..autograd.grad_mode import enable_grad, no_grad
from ..core.arrays import is_inexact
from ..core.registry import guests
from ..core.tensor import Tensor, wrap
from ..explain.callers import warn
from .diagnose import diagnose
from .forward_check import batched_forward_error, batched_grad_error, forward_error

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck", "numerical_jacobian"]


class GradcheckError(RuntimeError):
    """A gradient that does not agree with finite differences."""


DOUBLE = (np.float64, np.complex128)


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=0.001, raise_exception=True, nondet_tol=0.0,
              check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False,
              check_batched_forward_grad=False, check_forward_ad=False, check_backward_ad=True, fast_mode=False,
              masked=None):
    """True if the gradients of ``func(*inputs)`` agree with finite differences; otherwise GradcheckError.

    Inputs that require grad should be float64 or complex128; there is a warning where they are not. With
    `raise_exception` False a failure returns False. Of the further arguments of PyTorch's, `nondet_tol`,
    `check_undefined_grad` and `check_grad_dtypes` have their meaning;
    `check_forward_ad` compares forward mode with differences, `check_backward_ad` False leaves backward mode out, and
    `check_batched_grad` and `check_batched_forward_grad` compare passes over a batch with single ones. `fast_mode` is
    accepted and ignored, the slow mode always runs. Of sparse inputs the entries are moved, or with `masked` False all
    elements.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    inputs = as_inputs(inputs)
    if any(isinstance(x, Tensor) and x.array.strides is None for x in inputs):         # sparse ones
        func, inputs = guests.sparse_by_values(func, inputs, masked is not False)
    live = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.needs_grad]
    try:
        if check_backward_ad or not live:
            _gradcheck(func, inputs, eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes)
        for wanted, error in ((check_forward_ad, lambda: forward_error(func, inputs, live, eps, atol, rtol)),
                              (check_batched_forward_grad, lambda: batched_forward_error(func, inputs, live)),
                              (check_batched_grad, lambda: batched_grad_error(func, inputs, live))):
            found = error() if wanted else None
            if found is not None:
                raise GradcheckError(found)
        return True
    except GradcheckError:
        if raise_exception:
            raise
        return False


def _gradcheck(func, inputs, eps, atol, rtol, nondet_tol, check_undefined, check_dtypes):
    live = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.needs_grad]
    if not live:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the them have "
                         "requires_grad=True.")
    for i in live:
        if inputs[i].array.dtype not in DOUBLE:
            warn(f"Input #{i} requires gradient and is not a double precision floating point or complex. This check "
                 f"will likely fail if all the inputs are not of double precision floating point or complex.")
        if inputs[i].retains_grad is False and inputs[i].node is not None:
            inputs[i].retain_grad()
    outputs = as_outputs(func(*inputs))
    found_one = False
    for k, out in enumerate(outputs):
        if not out.needs_grad:
            check_is_constant(func, inputs, live, k, eps)
            continue
        found_one = True
        check_output(func, inputs, live, k, out, eps, atol, rtol, nondet_tol, check_dtypes)
    if found_one and check_undefined:
        check_undefined_grads(func, inputs, live)
    return True


def check_output(func, inputs, live, k, out, eps, atol, rtol, nondet_tol, check_dtypes):
    """Compare the whole Jacobian of output `k` with respect to every live input."""
    analytic = analytic_jacobians(func, inputs, live, k, check_dtypes)
    if nondet_tol is not None:
        again = analytic_jacobians(func, inputs, live, k, False)
        for a, b in zip(analytic, again):
            if np.abs(a - b).max(initial=0.0) > nondet_tol:
                raise GradcheckError("Backward is not reentrant, i.e., running backward with same input and "
                                     "grad_output multiple times gives different values, although analytical "
                                     "gradient matches numerical gradient.")
    for i, found in zip(live, analytic):
        true = numerical_jacobian(func, inputs, i, k, eps)
        if not np.allclose(found, true, rtol=rtol, atol=atol, equal_nan=True):
            raise GradcheckError(mismatch(k, i, true, found, inputs[i], out))


def mismatch(k, i, true, found, x, out):
    """The text of an error: PyTorch's, and what the mistake looks like."""
    text = (f"Jacobian mismatch for output {k} with respect to input {i},\nnumerical:{true.T}\n"
            f"analytical:{found.T}\n")
    if x.array.dtype not in DOUBLE:
        return text + (f"The input is {x.dtype}: finite differences need float64 or complex128, as of x.double(), or "
                       f"larger eps, atol and rtol.\n")
    if x.is_complex() or out.is_complex():
        return text + "A complex number counts as two real ones, its real and its imaginary part.\n"
    weights = np.linspace(1.0, 2.0, out.array.size).reshape(out.array.shape)
    wrong = (weights.ravel() @ found).reshape(x.array.shape)
    likely = diagnose(wrong, true, weights, x.array, out.array.shape)
    return text + "".join(f"This looks like: {words}.\n" for words in likely)


def analytic_jacobians(func, inputs, live, k, check_dtypes):
    """One row for each element, or part of one, of output `k`: its gradient with respect to each live input."""
    with enable_grad():
        out = as_outputs(func(*inputs))[k]
    seeds = np.zeros(out.array.shape, out.array.dtype)
    n = count(seeds)
    rows = [np.zeros((n, count(inputs[i].array))) for i in live]
    for r in range(n):
        seed = seeds.copy()
        parts(seed)[r] = 1.0
        seed = wrap(out.backend.from_host(seed), out.backend)
        grads = api.grad(out, [inputs[i] for i in live], seed, retain_graph=True, allow_unused=True)
        for row, g, i in zip(rows, grads, live):
            if g is None:
                continue
            g = g.to_dense()
            if g.array.shape != inputs[i].array.shape:
                raise GradcheckError(f"Analytical gradient has incorrect size: {list(g.shape)} for an input of size "
                                     f"{list(inputs[i].shape)}")
            if check_dtypes and g.array.dtype != inputs[i].array.dtype:
                raise GradcheckError(f"Analytical gradient has incorrect type: {g.dtype} for {inputs[i].dtype}")
            g = g.backend.to_host(g.array)
            row[r] = parts(g if g.dtype.kind == inputs[i].array.dtype.kind else g.astype(inputs[i].array.dtype))
    return rows


def numerical_jacobian(func, inputs, i, k, eps=1e-6):
    """Central differences of output `k` with respect to input `i`: an array (elements of out, elements of input)."""
    backend = inputs[i].backend
    base, columns = backend.to_host(inputs[i].array), []
    with no_grad():
        for place in range(parts(base).size):
            ends = []
            for step in (eps, -eps):
                moved = np.array(base, order="C")
                parts(moved)[place] += step
                trial = list(inputs)
                trial[i] = wrap(backend.from_host(moved), backend)
                out = as_outputs(func(*trial))[k]
                ends.append(parts(wide(out.backend.to_host(out.array))))
            columns.append((ends[0] - ends[1]) / (2 * eps))
        out = as_outputs(func(*inputs))[k].array
    return np.stack(columns, 1) if columns else np.zeros((count(out), 0))


def wide(array):
    """An array in double precision."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def count(array):
    """The number of real numbers in an array: two for each complex element."""
    return array.size * (2 if array.dtype.kind == "c" else 1)


def parts(array):
    """The elements in a row, of complex ones the parts; of a contiguous array a view."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def check_is_constant(func, inputs, live, k, eps):
    """An output that does not require grad must not depend on the inputs."""
    if not is_inexact(as_outputs(func(*inputs))[k].array.dtype):
        return
    for i in live:
        if np.abs(numerical_jacobian(func, inputs, i, k, eps)).max(initial=0.0) > 1e-6:
            raise GradcheckError(f"output {k} does not require grad, but finite differences say that it depends on "
                                 f"input {i}: was the graph cut (detach, data, numpy)?")


def check_undefined_grads(func, inputs, live):
    """Outputs without a gradient must be taken as zeros."""
    with enable_grad():
        outputs = [o for o in as_outputs(func(*inputs)) if o.needs_grad]
    if len(outputs) < 2:
        return
    for out in outputs:
        seed = wrap(out.backend.from_host(np.ones(out.array.shape, out.array.dtype)), out.backend)
        api.grad(out, [inputs[i] for i in live], seed, retain_graph=True, allow_unused=True)


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=0.001,
                  gen_non_contig_grad_outputs=False, raise_exception=True, nondet_tol=0.0,
                  check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False,
                  check_fwd_over_rev=False, check_rev_over_rev=True, fast_mode=False, masked=False):
    """`gradcheck` of the gradients of ``func(*inputs)``: the second derivatives.

    `grad_outputs` weight the outputs; random ones are made if none are given, transposed in memory with
    `gen_non_contig_grad_outputs`. `check_rev_over_rev` checks the backward pass of the backward pass,
    `check_fwd_over_rev` its forward derivative.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    inputs = as_inputs(inputs)
    outputs = [o for o in as_outputs(func(*inputs)) if o.needs_grad]
    if grad_outputs is None:
        grad_outputs = random_weights(outputs, gen_non_contig_grad_outputs)
    grad_outputs = list(as_inputs(grad_outputs))
    live = [x for x in inputs if isinstance(x, Tensor) and x.needs_grad]
    n = len(grad_outputs)

    def gradient(*args):
        values, weights = args[:-n], args[-n:]
        places = [v if v.needs_grad else detached(v).requires_grad_() for v in values
                  if isinstance(v, Tensor) and is_inexact(v.array.dtype)]
        it = iter(places)
        values = [next(it) if isinstance(v, Tensor) and is_inexact(v.array.dtype) else v for v in values]
        with enable_grad():
            outs = [o for o in as_outputs(func(*values)) if o.needs_grad]
            wanted = [v for v, x in zip(values, inputs) if isinstance(x, Tensor) and x.needs_grad]
            grads = api.grad(outs, wanted, list(weights), create_graph=True, allow_unused=True)
        return tuple(g for g in grads if g is not None)

    if not live:
        raise ValueError("gradgradcheck expects at least one input tensor to require gradient")
    return gradcheck(gradient, (*inputs, *grad_outputs), eps=eps, atol=atol, rtol=rtol,
                     raise_exception=raise_exception, nondet_tol=nondet_tol, check_backward_ad=check_rev_over_rev,
                     check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
                     check_forward_ad=check_fwd_over_rev, check_batched_grad=check_batched_grad)


def random_weights(outputs, transposed):
    """Random gradients of the outputs, which require gradients themselves; transposed in memory if that is wanted."""
    rng = np.random.default_rng(0)
    weights = [rng.uniform(0.5, 1.5, o.array.shape) for o in outputs]
    weights = [w + 1j * rng.uniform(0.5, 1.5, w.shape) if o.is_complex() else w for w, o in zip(weights, outputs)]
    if transposed:
        weights = [np.ascontiguousarray(w.T).T for w in weights]
    return [wrap(w, o.backend).requires_grad_() for w, o in zip(weights, outputs)]


def as_inputs(inputs):
    return (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)


def as_outputs(outputs):
    found = outputs if isinstance(outputs, (tuple, list)) else [outputs]
    return [o if o.array.strides is not None else o.to_dense() for o in found if isinstance(o, Tensor)]
