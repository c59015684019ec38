"""``out=``: results written into existing tensors."""

from .grad_mode import grad_mode
from .graph import bump_version
from .inplace import check_can_hold, check_is_no_leaf
from .layouts import empty, own_order
from .memory import extent, require_apart, require_no_overlap, shared_memory
from .registry import late
from .tensor import Tensor

__all__ = ["resize_to", "write", "write_out"]


def write_out(name, call, inputs, attrs, out, variadic=False, exact=False, overlap=True):
    """Call the function, and write the result into `out`, a tensor or a tuple of tensors.

    With `exact`, `out` must have the dtype of the result; with `overlap` it may be an input.
    """
    outs = out if isinstance(out, (tuple, list)) else (out,)
    tensors = [t for x in inputs for t in (x if isinstance(x, (tuple, list)) else (x,))
               if isinstance(t, Tensor)]
    # ops with a `dtype`, such as `sum` and `prod`, compute in the dtype of `out`
    casts = getattr(getattr(call, "op", None), "casts", False)
    if casts and attrs["dtype"] is None and isinstance(out, Tensor):
        attrs = {**attrs, "dtype": out.dtype}
    result = call(inputs, **attrs) if variadic else call(*inputs, **attrs)
    results = result if isinstance(result, tuple) else (result,)
    if any(map(is_differentiated, (*outs, *results))):
        raise RuntimeError(f"{name}(): functions with out=... arguments don't support automatic "
                           f"differentiation, but one of the arguments requires grad.")
    exact = exact or casts
    for target, value in zip(outs, results):
        if not isinstance(target, Tensor):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(target).__name__}")
        check_is_no_leaf(target, name)
        check_memory(target, tensors, overlap)
        if (len(results) > 1 or exact) and target.array.dtype != value.array.dtype:
            raise RuntimeError(f"Expected out tensor to have dtype {value.dtype.name}, but got "
                               f"{target.dtype.name} instead in {name}()")
        check_can_hold(target, value, name)
        resize_to(target, value.array.shape, value.array)
        write(target, value.array, f"{name}(out=...)")
    if isinstance(out, (tuple, list)):
        return type(result)(*outs) if hasattr(result, "_fields") else tuple(outs)
    return out


def is_differentiated(x):
    """True if a tensor takes part in backward or forward differentiation."""
    return isinstance(x, Tensor) and (x.needs_grad and grad_mode.enabled
                                      or x.backend.level is not None)


def check_memory(target, inputs, overlap=True):
    """RuntimeError if `target` overlaps itself or an input. With `overlap` it may coincide with an
    input."""
    require_no_overlap(target.array)
    for x in inputs:
        if (not overlap and (x is target or (place := extent(x.array))
                             and place == extent(target.array))):
            raise shared_memory()
        require_apart(target.array, x)


def write(target, array, writer):
    """Overwrite a tensor's elements, and count the write."""
    target.backend.xp.copyto(target.array, array, casting="unsafe")
    bump_version(target, writer)


def resize_to(target, shape, like=None):
    """Give an `out=` tensor the shape of the result. If its shape differs, it gets new memory in
    the order of `like`."""
    if target.array.shape == tuple(shape):
        return
    if target.array.size:
        late.warn(f"An output with one or more elements was resized since it had shape "
                  f"{list(target.array.shape)}, which does not match the required output shape "
                  f"{list(shape)}.")
    order = None if like is None else own_order(like)
    target.array = empty(target.backend.xp, shape, order, target.array.dtype)


