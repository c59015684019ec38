"""Writes in place: the ops with a trailing underscore, assignment to a slice, ``out=``.

An in-place op computes its out-of-place counterpart and then calls `overwrite`, which writes the
result into the tensor's memory and gives the tensor the result's node. If the tensor is a view, its
base has changed too: the base's new node is "the old base with this part replaced"
(`as_strided_scatter`), and every view of the base gets a new node that reads from it.
"""

import numpy as np

from . import dtypes, graph
from .arrays import fits_into
from .grad_mode import grad_mode
from .graph import bump_version
from .hooks import hooks_of
from .memory import consistent, require_apart
from .registry import OPS, Hook, late
from .template import WHOLE
from .tensor import wrap
from .views import check_view, node_of_view, views_to_remake

__all__ = ["inplace", "overwrite"]


@Hook
def write_tangents(target, result):
    """Write `result` into `target`, where one of them has a tangent. Filled by `autograd.dual`."""


def inplace(name, call, op=None, repeated=False):
    """The in-place version, ``x.name_(...)``, of the function `call` (of the definition `op`, if it
    has one).

    `repeated`: it may write to expanded tensors, since elements that share memory get the same
    value.
    """
    ufunc = (getattr(np, op.xp_name, None) if op is not None and op.forward is None
             and op.differentiable else None)
    whole = op is not None and op.promotion in WHOLE and "i" not in op.refuses
    writer, kinds = name + "_", "fVi" if whole else "fV"

    def method(self, *args, **kwargs):
        try:
            if ufunc is not None and not kwargs and is_plain(self, args, kinds):
                getattr(self.backend, name)(self.array, *[getattr(x, "array", x) for x in args],
                                            out=self.array)
                bump_version(self, writer)
                return self
            require_apart(self.array, *args, *kwargs.values())
            return overwrite(self, call(before(self, op, args), *args, **kwargs), writer, repeated)
        except AttributeError as error:
            raise late.explain_call(error, call, (self, *args), kwargs, writer) from None

    method.__name__ = writer
    method.__doc__ = (f"In-place twin of `{name}`: writes the result into this tensor and returns "
                      f"it.")
    method.__wrapped__ = call
    return method


def before(target, op, others):
    """`target` as an input of the op: if derivative formulas will read its value, a copy with its
    node, because the write replaces the value."""
    reads_it = op is None or op.inputs[0].name in op.saved_fields
    recorded = target.needs_grad or any([getattr(x, "needs_grad", False) for x in others])
    is_leaf = target.needs_grad and target.node is None    # `overwrite` will refuse it: no copy
    if is_leaf or not (reads_it and recorded and grad_mode.enabled):
        return target
    copy = wrap(target.array.astype(target.array.dtype, order="C"), target.backend)
    copy.node, copy.needs_grad = target.node, target.needs_grad
    return copy


def is_plain(target, args, kinds):
    """True if the op can write straight into the target: nothing is recorded, and the operands are
    Python numbers or tensors of the target's dtype, which is of one of these `kinds`."""
    own, records, base = target.array, grad_mode.enabled, target._base
    d = own.dtype
    if (d.itemsize <= 2 or d.kind not in kinds or graph.inference
        or target.backend.level is not None or not own.flags.forc):
        return False
    if records and (target.needs_grad or base is not None and base.needs_grad):
        return False
    for x in args:
        if not hasattr(x, "array"):
            if not (x.__class__ is int and -2**31 <= x < 2**31 or d.kind != "i"
                    and x.__class__ in (int, float)):
                return False
        elif not is_alike(x, target, records):
            return False
        elif x.array.base is not None or own.base is not None:
            require_apart(own, x)
    return True


def is_alike(x, target, records):
    """True if the tensor `x` needs no gradient, has the dtype and backend of `target`, and
    broadcasts to its shape."""
    array, own = x.array, target.array
    if array.dtype is not own.dtype or x.backend is not target.backend or records and x.needs_grad:
        return False
    return array.shape == own.shape or fits_into(array.shape, own.shape)


def overwrite(target, result, writer, repeated=False):
    """Write the values of `result` into `target`, and give it the node of `result`. `repeated`:
    also if `target` is expanded."""
    check_is_no_leaf(target, writer, result)
    check_can_hold(target, result, writer)
    if result.array.shape != target.array.shape:
        raise RuntimeError(f"output with shape {list(target.array.shape)} doesn't match the "
                           f"broadcast shape {list(result.array.shape)}: {writer}() cannot change "
                           f"the shape of its tensor")
    if not target.array.flags.forc:
        result = consistent(target.array, result, repeated)
    if result.array.dtype != target.array.dtype and result.needs_grad:
        result = result.to(target.dtype)
    if target.backend.level is None and result.backend.level is None:
        target.backend.xp.copyto(target.array, result.array, casting="unsafe")
    else:
        write_tangents(target, result)
    bump_version(target, writer)
    if grad_mode.enabled and target.array.dtype.kind not in "biu":
        if result.needs_grad or target.needs_grad:         # no gradient flows to a constant
            adopt(target, result if result.needs_grad else OPS["zero"].call(target))
    return target


def check_is_no_leaf(target, writer, result=None):
    """RuntimeError if `target` may not be written to because it is an inference tensor, a leaf that
    requires grad, or a view that cannot get a new node."""
    if graph.inference and target.is_inference() and not grad_mode.inference:
        raise RuntimeError("Inplace update to inference tensor outside InferenceMode is not "
                           "allowed. You can make a clone to get a normal tensor before doing "
                           "inplace update.")
    if not grad_mode.enabled:
        return
    if target.needs_grad and target.node is None:
        raise RuntimeError(f"a leaf Variable that requires grad is being used in an in-place "
                           f"operation. {writer}() would lose the value that gradients are for: "
                           f"wrap it in `with no_grad():` to change a parameter, or write to a "
                           f"clone().")
    base = target._base
    if base is not None and base.node is None and (base.needs_grad or target.needs_grad):
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an "
                           "in-place operation.")
    if base is not None and base.needs_grad:
        check_view(target, writer)
    if (base is not None and base.backend is not target.backend
        and (target if result is None else result).needs_grad):
        raise RuntimeError("vmap: a tensor that is vmapped over cannot be given a gradient in "
                           "place; clone() it first")


def check_can_hold(target, result, writer):
    """RuntimeError if the result's dtype cannot be cast to the target's."""
    have, want = dtypes.from_np(result.array.dtype), dtypes.from_np(target.array.dtype)
    if have is not want and not dtypes.can_cast(have, want):
        raise RuntimeError(f"result type {have.name} can't be cast to the desired output type "
                           f"{want.name} ({writer})")


def adopt(target, result):
    """Give `target` the node of `result`, and new nodes to its base and to the base's other views.
    """
    base = target if target._base is None else target._base
    views = views_to_remake(base) if base._views else ()
    if base is target:
        put(base, result.node)
    else:
        before = base.node or (base if base.needs_grad else None)
        put(base, node_of_view("as_strided_scatter", (before, result.node), base, base,
                               target.array))
    for view in views:
        put(view, node_of_view("as_strided", (base.node,), view, base, view.array))


def put(tensor, node):
    """Give a tensor another node; a `retain_grad` on the tensor moves to it."""
    hooks = tensor.node.hooks if tensor.node is not None else None
    if hooks is not None and hooks.retain:
        hooks_of(node).retain += [ref for ref in hooks.retain if ref() is tensor]
        hooks.retain = [ref for ref in hooks.retain if ref() is not tensor]
    tensor.node, tensor.needs_grad = node, True
