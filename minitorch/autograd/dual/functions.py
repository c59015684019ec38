"""Functions of the user's own in forward mode: tangents come from their `jvp`."""

from ...core.arrays import is_inexact
from ...core.grad_mode import grad_mode
from ...core.inplace import overwrite
from ...core.recording import recorded
from ...core.tensor import Tensor
from .. import function
from .array import Dual
from .crossing import check_size, dual, tangent_of, without_level, zeros_like
from .levels import within


def innermost(values):
    """The innermost open level at which one of the values has a tangent; None without one."""
    found = [level for x in values if isinstance(x, Tensor) for level in levels_of(x.array)]
    if not found or grad_mode.inference:
        return None
    return next((level for level in reversed(grad_mode.levels) if level in found), None)


def levels_of(array):
    """The levels at which an array has a tangent."""
    while array.__class__ is Dual:
        if array.tangent is not None:
            yield array.backend.level
        array = array.value


@function.function_with_tangents.fill
def function_with_tangents(cls, args):
    """The context and the result of a call of `cls`, a `Function`, while levels are open.

    `forward` and `jvp` run outside of the innermost level that concerns the arguments. What the
    context keeps of arguments and results has tangents afterwards, for `backward` and for the
    `jvp` of a level further in.
    """
    level = innermost(args)
    if level is None:
        with within(()):                       # tensors that are not arguments are constants
            return cls._recorded(args)
    values = [without_level(x, level) if isinstance(x, Tensor) else x for x in args]
    with within(grad_mode.levels[:grad_mode.levels.index(level)]):
        ctx, result = cls._called(values)
        several = isinstance(result, tuple)
        plain = result if several else (result,)
        tangents = tangents_by_jvp(cls, ctx, args, level, len(plain))
    outputs = tuple([with_users_tangent(cls, ctx, args, values, out, i, level, t)
                     if isinstance(out, Tensor) else out
                     for i, (out, t) in enumerate(zip(plain, tangents))])
    keep_tangents(ctx, dict(zip(map(id, (*values, *plain)), (*args, *outputs))), outputs)
    return ctx, outputs if several else outputs[0]


def tangents_by_jvp(cls, ctx, args, level, count):
    """The tangents of the outputs, or None, from the user's `jvp` and the tangents of `args`."""
    given = [tangent_of(x, level) if isinstance(x, Tensor) else None for x in args]
    if ctx._materialize:
        given = [zeros_like(without_level(x, level)) if t is None and isinstance(x, Tensor)
                 and is_inexact(x.array.dtype) else t for t, x in zip(given, args)]
    found = cls.jvp(ctx, *given)
    found = found if isinstance(found, (tuple, list)) else (found,)
    if len(found) != count:
        raise RuntimeError(f"Function's jvp returned an invalid number of forward gradients "
                           f"(expected {count} but got {len(found)})")
    return found


def with_users_tangent(cls, ctx, args, values, out, i, level, tangent):
    """Output `i` of a Function, with the tangent that its `jvp` returned."""
    if tangent is not None:
        if not isinstance(tangent, Tensor):
            raise TypeError(f"{cls.__name__}: expected Tensor or None (got "
                            f"{type(tangent).__name__}) as tangent {i}")
        check_size(out, tangent)
    source = next((x for x, value in zip(args, values) if value is out), None)
    is_written = any([out is x for x in ctx._dirty])
    if source is not None and not is_written:
        out = recorded.alias(out)                          # an input returned unchanged
    found = out if tangent is None or not is_inexact(out.array.dtype) else dual(out, tangent, level)
    if is_written and source is not None and source is not out:
        return overwrite(source, found, cls.__name__)
    return found


def keep_tangents(ctx, now, outputs):
    """Have a context keep the tensors that `now` has by the ids of those that it keeps."""
    if ctx._for_forward is not None:
        ctx._for_forward = tuple([now.get(id(x), x) for x in ctx._for_forward])
    for kept in ctx._saved:
        if isinstance(kept, function.Saved) and kept.output is None:
            kept.value = now.get(id(kept.value), kept.value)
        elif isinstance(kept, function.Saved):
            kept.value, kept.backend = outputs[kept.output].array, outputs[kept.output].backend
    ctx._saved = tuple([now.get(id(x), x) for x in ctx._saved])
