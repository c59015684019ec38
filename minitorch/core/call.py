"""The general call, which handles all calls but the common case.

`general` takes any mixture of dtypes, numbers, NumPy values and devices, converts the inputs to one
dtype and device and calls the op again; it also handles ``out=``. Generated calls
(`minitorch/core/template.py`) handle the common case themselves and pass all others on to here.
"""

import numpy as np

from . import dtypes, errors
from .device import get
from .out import write_out
from .promotion import PROMOTIONS
from .registry import Hook, late
from .tensor import Tensor, from_numpy, wrap

NUMBERS = (bool, int, float, complex)


def general(op, inputs, attrs, out=None):
    """Call `op` on inputs that are not all float32 or all float64 tensors on one device."""
    variadic = op.variadic
    if out is not None:
        return write_out(op.name, op.call, inputs, attrs, out, variadic=variadic,
                         overlap=op.overlap)
    kinds = [op.inputs[0]] * len(inputs) if variadic else op.inputs
    inputs = [accept(op, x, kind, i) for i, (x, kind) in enumerate(zip(inputs, kinds))]
    if not any(isinstance(x, Tensor) for x in inputs):
        if not op.of_numbers:
            raise errors.not_a_tensor(op, op.inputs[0], 0, inputs[0])
        inputs = [wrap(get().xp.asarray(x, dtypes.of_scalar(x).np), get()) for x in inputs]
    inputs = on_one_device(op, inputs, kinds)
    if op.check:
        op.check(*[getattr(x, "array", x) for x in inputs])
    if op.promotion:
        inputs = PROMOTIONS[op.promotion](op, inputs, kinds, attrs)
    for x, kind in zip(inputs, kinds) if op.refuses else ():
        if kind.kind != "other" and isinstance(x, Tensor) and x.array.dtype.kind in op.refuses:
            raise errors.not_implemented(op.name, x.array.dtype)
    return op.bare(inputs, **attrs) if variadic else op.bare(*inputs, **attrs)


def cast_first(op, inputs, attrs):
    """Call `op` with its first input cast to the attribute `dtype`, and its result too: sums of
    small integers would come as int64."""
    first, *rest = inputs
    dtype = dtypes.from_np(attrs["dtype"])
    if first.array.dtype != attrs["dtype"]:
        first = first.to(dtype)
    out = op.call(first, *rest, **{**attrs, "dtype": None})
    return out if out.array.dtype == attrs["dtype"] else out.to(dtype)


@Hook
def cast_call(function, how, args, kwargs):
    """Call `function` with inputs cast as `how`, a text of the column `autocast`, says. Filled by
    `amp`, and not called before `amp` sets `mixed_precision.enabled`."""


def autocast_call(op, inputs, attrs, out):
    """Call `op` with its inputs cast as its column `autocast` says; with `out`, they are not cast.
    """
    if out is not None:
        return cast_call(op.call, "off", inputs, {**attrs, "out": out})
    return cast_call(op.call, op.autocast, inputs, attrs)


def accept(op, x, kind, position):
    """One input as a tensor or a Python number; TypeError, in PyTorch's words, for anything
    else."""
    if isinstance(x, Tensor) or (x is None and kind.optional):
        return x
    if isinstance(x, np.ndarray):
        return from_numpy(x)
    if isinstance(x, np.generic):
        x = x.item()
    if kind.kind == "number" and isinstance(x, NUMBERS):
        return x
    raise errors.not_a_tensor(op, kind, position, x)


def on_one_device(op, inputs, kinds):
    """The inputs on one device. RuntimeError if they are on several, except that a 0-d tensor on
    the CPU may take the place of a number on any device."""
    found = dict.fromkeys(x.backend for x in inputs if isinstance(x, Tensor))
    if len(found) > 1:
        if together := next((F.together for F in found if F.together), None):
            return together(inputs)
        numbers = [k.kind == "number" and getattr(x, "is_cpu", 0) and not x.array.ndim
                   for x, k in zip(inputs, kinds)]
        others = dict.fromkeys(x.backend for x, n in zip(inputs, numbers) if isinstance(x, Tensor)
                               and not n)
        if len(others) == 1:
            return [x.to(next(iter(others)).device) if n else x for x, n in zip(inputs, numbers)]
        raise late.on_two_devices(op, inputs, kinds)
    return inputs


@Hook
def overridden(function, given):
    """The answer of an argument's ``__torch_function__`` to the call of a function, as (answer,);
    None if no argument has one. `given`: the arguments by name. Filled by `autograd.dispatch`."""


def failed(op, error, inputs, attrs):
    """Handle `error`, which `op` raised on these arguments: return the answer of an argument with
    ``__torch_function__``, else raise an error that explains it."""
    found = overridden(op.call, {**dict(zip([x.name for x in op.inputs], inputs)), **attrs})
    if found is None:
        raise late.explain_failure(op, error, inputs, attrs) from None
    return found[0]


def unsupported(op, error, inputs, attrs):
    """Handle `error` of an operator: return NotImplemented for operands that are neither tensors
    nor numbers, so that Python tries their reflected method or raises TypeError; else `failed`."""
    ours = Tensor, np.ndarray, np.generic, *NUMBERS
    if all(isinstance(x, ours) or hasattr(x, "__torch_function__") for x in inputs):
        return failed(op, error, inputs, attrs)
    return NotImplemented
