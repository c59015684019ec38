"""What generated calls hand over: everything but the common case.

`general` takes any mixture of dtypes, numbers, NumPy values and devices, brings the inputs together and calls the
op again; it also serves ``out=``. The common case never comes here (`minitorch/core/template.py`).
"""

import numpy as np

from . import dtypes, errors, registry
from .arrays import require_no_overlap
from .device import get
from .grad_mode import grad_mode
from .graph import written
from .inplace import check_can_hold, resize_to
from .op import finish, recorded
from .registry import OPS, late
from .tensor import Tensor, mark_view, wrap

NUMBERS = (bool, int, float, complex)


def general(op, inputs, attrs, out=None):
    """Call `op` on inputs that are not all float32 or float64 tensors of one kind on one device."""
    variadic = op.inputs[0].kind == "variadic"
    if out is not None:
        return write_out(op.name, op.call, inputs, attrs, out, variadic=variadic, overlap=op.overlap)
    kinds = [op.inputs[0]] * len(inputs) if variadic else op.inputs
    inputs = [accept(op, x, kind, i) for i, (x, kind) in enumerate(zip(inputs, kinds))]
    if not any(isinstance(x, Tensor) for x in inputs):
        if not op.of_numbers:
            raise errors.not_a_tensor(op, op.inputs[0], 0, inputs[0])
        inputs = [number_tensor(x) for x in inputs]
    inputs = on_one_device(op, inputs, kinds)
    if op.check:
        op.check(*[getattr(x, "array", x) for x in inputs])
    if op.promotion:
        inputs = PROMOTIONS[op.promotion](op, inputs, kinds, attrs)
    for x in participants(inputs, kinds) if op.refuses else ():
        if hasattr(x, "dtype") and x.dtype.kind in op.refuses:
            raise errors.not_implemented(op.name, x.dtype)
    return op.bare(inputs, **attrs) if variadic else op.bare(*inputs, **attrs)


def cast_first(op, inputs, attrs):
    """Call `op` with its first input cast to the dtype that is asked for; sums of small integers also come in it."""
    first, *rest = inputs
    dtype = dtypes.from_np(attrs["dtype"])
    if first.array.dtype != attrs["dtype"]:
        first = first.to(dtype)
    out = op.call(first, *rest, **{**attrs, "dtype": None})
    return out if out.array.dtype == attrs["dtype"] else out.to(dtype)


def accept(op, x, kind, position):
    """One input as a tensor or a Python number; TypeError, in PyTorch's words, for anything else."""
    if isinstance(x, Tensor) or (x is None and kind.optional):
        return x
    if isinstance(x, np.ndarray):
        return late.from_numpy(x)
    if isinstance(x, np.generic):
        x = x.item()
    if kind.kind == "number" and isinstance(x, NUMBERS):
        return x
    raise errors.not_a_tensor(op, kind, position, x)


def number_tensor(x):
    """A Python number as a 0-d tensor of the type that it has in PyTorch."""
    return wrap(get().xp.asarray(x, dtypes.of_scalar(x).np), get())


def on_one_device(op, inputs, kinds):
    """The inputs, which must be on one device; but a 0-d tensor of the CPU may stand for a number anywhere."""
    found = dict.fromkeys(x.backend for x in inputs if isinstance(x, Tensor))
    if len(found) > 1:
        numbers = [kind.kind == "number" and isinstance(x, Tensor) and x.is_cpu and not x.array.ndim
                   for x, kind in zip(inputs, kinds)]
        others = dict.fromkeys(x.backend for x, n in zip(inputs, numbers) if isinstance(x, Tensor) and not n)
        if len(others) == 1:
            device = next(iter(others)).device
            return [x.to(device) if n else x for x, n in zip(inputs, numbers)]
        first, second = list(found)[:2]
        where = ", ".join(f"{kind.name} is on {x.device}" for x, kind in zip(inputs, kinds) if isinstance(x, Tensor))
        raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, "
                           f"{first.device} and {second.device}! In {op.name}(): {where}; move one of them, as in "
                           f"`x.to('{first.device}')`.")
    return inputs


# ------------------------------------------------------------------ bringing dtypes together
def participants(inputs, kinds):
    return [getattr(x, "array", x) for x, kind in zip(inputs, kinds) if kind.kind != "other" and x is not None]


def cast_all(inputs, kinds, dtype):
    """The inputs as `dtype`: tensors by a (differentiable) cast, numbers as they fit."""
    target = dtype.np
    return [x if kind.kind == "other" or x is None else
            cast_number(x, dtype) if not isinstance(x, Tensor) else
            x if x.array.dtype == target else recorded.to(x, dtype=target) for x, kind in zip(inputs, kinds)]


def cast_number(x, dtype):
    """A Python number as an operand of `dtype`: integers wrap around, as they do in PyTorch."""
    if dtype.category == dtypes.COMPLEX or dtype.category == dtypes.FLOATING:
        return dtype.np.type(x) if dtype is dtypes.bfloat16 else x
    if dtype.category == dtypes.BOOL:
        return bool(x)
    size = 8 * dtype.itemsize
    x = int(x) % 2**size
    return x - 2**size if dtype.is_signed and x >= 2**(size - 1) else x


def promote_common(op, inputs, kinds, attrs):
    """Everything in the type that PyTorch's promotion finds."""
    return cast_all(inputs, kinds, dtypes.common_dtype(participants(inputs, kinds)))


def promote_compared(op, inputs, kinds, attrs):
    """Tensors in the type that PyTorch's promotion finds; numbers as they are, so one
    that is out of a tensor's range equals none of its elements."""
    dtype = dtypes.common_dtype(participants(inputs, kinds))
    return [x if not isinstance(x, Tensor) or x.array.dtype == dtype.np else recorded.to(x, dtype=dtype.np)
            for x in inputs]


def promote_float(op, inputs, kinds, attrs):
    """Everything in the type that PyTorch's promotion finds; integers and bools become the default float."""
    found = dtypes.common_dtype(participants(inputs, kinds))
    return cast_all(inputs, kinds, dtypes.get_default_dtype() if found.category < dtypes.FLOATING else found)


def promote_same(op, inputs, kinds, attrs):
    """No promotion: the tensors must agree; numbers are taken as they are."""
    found = dict.fromkeys(dtypes.from_np(x.dtype) for x in participants(inputs, kinds) if hasattr(x, "dtype"))
    if len(found) > 1:
        first, second = list(found)[:2]
        which = ", ".join(f"{kind.name} is {dtypes.from_np(x.array.dtype).name}" for x, kind in zip(inputs, kinds)
                          if isinstance(x, Tensor) and kind.kind != "other")
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {first.name} != {second.name} in "
                           f"{op.name}(): {which}; cast one of them, as in `x.to({first})`")
    return inputs


def promote_numbers(op, inputs, kinds, attrs):
    """The tensors decide the type; numbers are cast to it."""
    inputs = promote_same(op, inputs, kinds, attrs)
    return cast_all(inputs, kinds, dtypes.common_dtype([x for x in participants(inputs, kinds) if hasattr(x, "dtype")]))


def promote_first(op, inputs, kinds, attrs):
    """Everything in the type of the first input; a number must fit into it."""
    dtype = dtypes.from_np(inputs[0].array.dtype)
    inputs = [dtypes.fit(x, dtype) if kind.kind == "number" and not isinstance(x, Tensor) else x
              for x, kind in zip(inputs, kinds)]
    return cast_all(inputs, kinds, dtype)


def promote_floating(op, inputs, kinds, attrs):
    """No promotion: the tensors must agree, and integers are refused."""
    inputs = promote_same(op, inputs, kinds, attrs)
    for x in participants(inputs, kinds):
        if hasattr(x, "dtype"):
            require_floating(op.name, x)
    return inputs


def require_floating(name, x):
    """NotImplementedError, as in PyTorch, if a raw array is not of a floating-point type."""
    if not dtypes.from_np(x.dtype).is_floating_point:
        raise errors.not_implemented(name, x.dtype)


def promote_any(op, inputs, kinds, attrs):
    """Any type; 16-bit floats are computed in float32 and rounded once."""
    return inputs


# The words of the column `promotion`; the docstrings stand in the reference pages.
PROMOTIONS = {"common": promote_common, "compared": promote_compared, "float": promote_float, "same": promote_same,
              "numbers": promote_numbers, "first": promote_first, "floating": promote_floating, "any": promote_any}


# ------------------------------------------------------------------ writing results
def write_out(name, call, inputs, attrs, out, variadic=False, exact=False, overlap=True):
    """Call, and write the result into `out`, a tensor or a tuple of tensors.

    With `exact` it must have the result's type; with `overlap` it may be an input.
    """
    outs = out if isinstance(out, (tuple, list)) else (out,)
    tensors = [t for x in inputs for t in (x if isinstance(x, (tuple, list)) else (x,)) if isinstance(t, Tensor)]
    if grad_mode.enabled and any(t.needs_grad for t in [*tensors, *outs]):
        raise RuntimeError(f"{name}(): functions with out=... arguments don't support automatic differentiation, but "
                           f"one of the arguments requires grad.")
    result = call(inputs, **attrs) if variadic else call(*inputs, **attrs)
    results = result if isinstance(result, tuple) else (result,)
    for target, value in zip(outs, results):
        if not isinstance(target, Tensor):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(target).__name__}")
        check_memory(target, tensors, overlap)
        if (len(results) > 1 or exact) and target.array.dtype != value.array.dtype:
            raise RuntimeError(f"Expected out tensor to have dtype {value.dtype.name}, but got {target.dtype.name} "
                               f"instead in {name}()")
        check_can_hold(target, value, name)
        resize_to(target, value.array.shape)
        write(target, value.array, f"{name}(out=...)")
    if isinstance(out, (tuple, list)):
        return type(result)(*outs) if hasattr(result, "_fields") else tuple(outs)
    return out


def check_memory(target, inputs, overlap=True):
    """RuntimeError if an `out` overlaps itself or an input; with `overlap` it may be all of an input's memory."""
    require_no_overlap(target.array)
    for x in inputs:
        same = overlap and x.data_ptr() == target.data_ptr() and x.array.strides == target.array.strides
        if not same and (x is target or np.may_share_memory(x.array, target.array)):
            raise RuntimeError("unsupported operation: some elements of the input tensor and the written-to tensor "
                               "refer to a single memory location. Please clone() the tensor before performing the "
                               "operation.")


def write(target, array, writer):
    """Overwrite a tensor's elements, and count the write."""
    target.backend.xp.copyto(target.array, array, casting="unsafe")
    written(target, writer)


def explain(op, error, inputs, attrs):
    """The error to raise instead of `error`, which `op` raised on these arguments."""
    return late.explain_failure(op, error, inputs, attrs)


def unsupported(op, error, inputs, attrs):
    """What an operator that failed returns: NotImplemented if an operand is neither tensor nor number, so that Python
    asks that operand or says that the types do not go together. Other errors are raised."""
    if all(isinstance(x, (Tensor, np.ndarray, np.generic, *NUMBERS)) for x in inputs):
        raise explain(op, error, inputs, attrs) from None
    return NotImplemented


finish(Tensor=Tensor, general=general, cast_first=cast_first, explain=explain, mark_view=mark_view,
       unsupported=unsupported, as_np=dtypes.as_np)
registry.write_out = write_out
__all__ = ["general", "write_out", "write", "OPS", "wrap"]
