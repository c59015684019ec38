"""Writes in place with tangents.

The values go into memory, and the tangents of the base and of all its views are new arrays. A plain
tensor that a dual one is written to becomes dual, until the level is closed.
"""

import weakref

from ...core import inplace
from ...core.arrays import is_inexact
from ...core.errors import worded
from ...core.grad_mode import grad_mode
from ...core.tensor import wrap
from ...core.views import in_parts
from ..standing import join, on
from . import levels
from .array import dual_array
from .crossing import without_level


@inplace.write_tangents.fill
def write_tangents(target, result):
    """Write `result` into `target`, where one of them is dual; None: what was just written there
    has no derivative."""
    if result is None:
        result = target.detach()
    base = target if target._base is None else target._base
    kind = getattr(result.backend, "kind", None)
    if kind is not getattr(target.backend, "kind", None) and kind is not None:
        raise worded(TypeError(f"a {kind.__name__} cannot be written into a Tensor"))
    views = [view for ref in base._views or () if (view := ref()) is not None]
    F = backend_after(target, result)
    for x in (base, target, *views):
        enter(x, F)
    for level in set(result.backend.levels).difference(F.levels):
        result = without_level(result, level)
    new, layout = join(F, wrap(result.array, result.backend)), in_parts(base.array)
    base.array = written(F, base.array, target.array, new.array, base is target, layout)
    for view in {id(x): x for x in (*views, target) if x is not base}.values():
        view.array = taken(F, base.array, view.array, layout)


def backend_after(target, result):
    """The backend of `target` once `result` is written to it: with the open levels of that."""
    have, found = target.backend, set(target.backend.levels)
    if is_inexact(target.array.dtype) and not grad_mode.inference:
        found |= {level for level in result.backend.levels if level in grad_mode.levels}
    found.update(have.marks)
    return on(max(have.below, result.backend.below, key=lambda F: F.depth), found)


def enter(x, F):
    """Make `x` a tensor of `F`."""
    if x.backend is not F:
        for level in set(F.levels).difference(x.backend.levels):
            level.entered.append(weakref.ref(x))
        become(x, join(F, x))


def become(x, found):
    """Put the tensor `found`, made of `x`, into its place."""
    x.array, x.backend = found.array, found.backend
    if x.node is not None:
        x.node = found.node


@levels.leave.fill
def leave(level):
    """Take the level's tangents away from the tensors that were written to."""
    for ref in level.entered:
        if (x := ref()) is not None:
            become(x, without_level(x, level))


# ---- arrays --------------------------------------------------------------------------------------
def written(F, base, target, new, whole, layout):
    """The array `base` after `new` was written into the part of it where `target` lies (`whole`:
    into all of it)."""
    if F.level is None:
        F.xp.copyto(target, new, casting="unsafe")
        return base
    G, t = F.inner, new.tangent
    value = written(G, base.value, target.value, new.value, whole, layout)
    if t is None and base.tangent is None:
        return dual_array(F, value)
    t = G.xp.zeros(target.shape, target.dtype) if t is None else t.astype(target.dtype)
    if not whole:
        old = G.xp.zeros(base.shape, base.dtype) if base.tangent is None else base.tangent
        t = G.as_strided_scatter(parts(G, old), parts(G, t), **named(target), layout=layout)
        t = G.view_as_complex(t) if base.dtype.kind == "c" else t
    return dual_array(F, value, t)


def taken(F, base, view, layout):
    """The array `view` with the tangents of the part of `base` where it lies."""
    if F.level is None:
        return view
    G, value = F.inner, taken(F.inner, base.value, view.value, layout)
    if base.tangent is None:
        return dual_array(F, value)
    t = G.as_strided_take(parts(G, base.tangent), **named(view), layout=layout)
    return dual_array(F, value, G.view_as_complex(t) if view.dtype.kind == "c" else t)


def parts(G, x):
    """A complex array viewed as real numbers; a real one unchanged."""
    return G.view_as_real(G.copy_contiguous(x)) if x.dtype.kind == "c" else x


def named(view):
    """The attributes of `as_strided` and similar ops that describe a view, counted in real numbers.
    """
    return dict(zip(("size", "stride", "storage_offset"), in_parts(view)))
