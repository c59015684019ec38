"""The errors of calls, in PyTorch's classes: what was expected, what came and what to write instead.

`explain` looks at the arguments of a call that failed; an error that it cannot explain is passed on as it is.
"""

import numpy as np

from ..core.errors import not_a_tensor, not_implemented, out_of_range
from ..core.registry import FUNCTIONS, Hook

__all__ = ["different_sizes", "draw", "explain", "mismatch", "on_two_devices", "public_name",
           "retold", "wrong_index"]


def explain(op, error, inputs, attrs):
    """The error to raise instead of `error`, which `op` raised on these arguments."""
    if getattr(error, "explained", False):
        return error
    found = (_wrong_type(op, error, inputs) or _wrong_attribute(op, error, attrs) or _wrong_dim(error, inputs)
             or _wrong_shape(op, error, inputs, attrs) or wrong_index(error) or _wrong_dtype(op, error, inputs))
    if found is None:
        return error
    found.explained = True
    return found


def arrays_of(inputs):
    flat = [t for x in inputs for t in (x if isinstance(x, (list, tuple)) else [x])]
    return [t.array for t in flat if hasattr(t, "array")]


PARTS = ("_backward", "_double_backward", "_derivative", "_inference", "_weights")     # of a public function's work


def public_name(op):
    """The name by which users know an op: that of the public function that an internal op is a part of."""
    public = {name for _, name in FUNCTIONS}
    return next((whole for whole in map(op.name.removesuffix, PARTS) if whole in public), op.name)


def _wrong_type(op, error, inputs):
    """An argument without the attributes of a tensor."""
    if not isinstance(error, (AttributeError, TypeError)):
        return None
    for i, (kind, x) in enumerate(zip(op.inputs, inputs)):
        if kind.kind == "variadic":
            if not isinstance(x, (list, tuple)):
                return not_a_tensor(op, kind, i, x)
            for j, t in enumerate(x):
                if not hasattr(t, "array"):
                    return TypeError(f"expected Tensor as element {j} in argument 0, but got {type(t).__name__}")
        elif not hasattr(x, "array") and not (x is None and kind.optional):
            number = kind.kind == "number" and isinstance(x, (bool, int, float, complex, np.generic))
            if not number or not arrays_of(inputs):
                return not_a_tensor(op, kind, i, x)
    return None


def _wrong_attribute(op, error, attrs):
    """The error for an attribute that is not a number, or an integer, where the op needs one."""
    whole = isinstance(error, AttributeError) and error.name == "__index__"
    for k, default in op.attrs:
        x = attrs.get(k)
        number = type(default) in (int, float) or f"operand type(s) for -: '{type(x).__name__}'" in str(error)
        if whole and (x is error.obj or isinstance(x, (list, tuple)) and any(y is error.obj for y in x)):
            return TypeError(f"{public_name(op)}(): argument '{k}' must be int or tuple of ints, not "
                             f"{type(error.obj).__name__}")
        if type(x) is str and (number or k == "dim") or x is None and (number or k == "dim" and default is not None):
            return TypeError(f"{public_name(op)}(): argument '{k}' must be {'int' if k == 'dim' else 'Number'}, not "
                             f"{type(x).__name__}")
    return None


def _wrong_dim(error, inputs):
    """A dimension that is not there."""
    if not isinstance(error, np.exceptions.AxisError):
        return None
    if error.axis is None:
        return RuntimeError(f"dim appears more than once: {error}")
    return out_of_range(error.axis, error.ndim or 1)


def wrong_index(error):
    """An index that is not there, in PyTorch's words; None for any other error."""
    if type(error) is not IndexError:
        return None
    text = str(error)
    if "array is 0-dimensional" in text:
        text = "invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a Python number"
    elif "too many indices" in text:
        text = text.replace("array: array is", "tensor: it is")
    elif "boolean index" in text:
        text = "The shape of the mask does not match the shape of the indexed tensor: " + text
    text = text.replace("indexing arrays could not", "indexing tensors could not")
    return IndexError(text.replace("for axis", "for dimension").replace("along axis", "along dimension"))


# NumPy's words for shapes that do not go together, about arrays that the caller never wrote.
DO_NOT_FIT = ("broadcast", "axis remapping", "core dimension", "must match", "mismatch", "aligned",
              "cannot reshape", "index notation", "to unpack")


def _wrong_shape(op, error, inputs, attrs):
    """Shapes that do not fit together."""
    if not isinstance(error, (ValueError, IndexError)) or isinstance(error, np.exceptions.AxisError):
        return None
    arrays, text = arrays_of(inputs), str(error)
    if len(arrays) >= 2 and (found := misfit_of(op, inputs, attrs)):
        return found
    if not isinstance(error, ValueError):
        return None
    if len(arrays) >= 2 and any(word in text for word in DO_NOT_FIT):
        text = "the shapes of its inputs do not go together"
    return RuntimeError(f"{public_name(op)}(): {text} ({listed(op, inputs)})")


@Hook
def misfit(op, shapes, attrs, caller=None, names=()):
    """The error text for shapes of inputs that do not fit the definition of `op`; None if they do.
    Filled by `ops.misfits`, when it is first asked for."""


def misfit_of(op, inputs, attrs):
    """The error for shapes that do not go together by the definition; None if it lets them."""
    flat = inputs[0] if op.variadic and len(inputs) == 1 else inputs
    shapes = [x if x is None else getattr(getattr(x, "array", x), "shape", ()) for x in flat]
    words = misfit(op, shapes, attrs)
    if words:
        return with_call(RuntimeError(words), op, flat, shapes, attrs)
    words = op.mismatch and op.mismatch(*[x for x in shapes if x is not None][:2])
    return RuntimeError(words) if words else None


def with_call(error, op, inputs, shapes, attrs):
    """`error` with the call that `retold` words again."""
    error.misfit = op, inputs, shapes, attrs
    return error


def retold(error, name, given):
    """`error` of a call in the function `name`, with the function's names of what it was given."""
    if not hasattr(error, "misfit"):
        return error
    op, inputs, shapes, attrs = error.misfit
    names = {i: k for i, x in enumerate(inputs) for k, y in given.items()
             if x is y and x is not None}
    if not names:
        return error
    found = RuntimeError(misfit(op, shapes, attrs, name, names))
    found.explained = True
    return with_call(found, op, inputs, shapes, attrs)


def listed(op, inputs):
    """The shapes of inputs, with their names: ``input [2, 3], other [4]``."""
    found = []
    for kind, x in zip(op.inputs, inputs):
        many = isinstance(x, (list, tuple))
        arrays = arrays_of(x if many else [x])
        found += [f"{kind.name}[{i}]" * many + kind.name * (not many) + f" {list(a.shape)}"
                  for i, a in enumerate(arrays)]
    return ", ".join(found)


def different_sizes(a, b):
    """PyTorch's words for two shapes that are not broadcast together, with a drawing."""
    i, j, d = mismatch(a, b)
    return (f"The size of tensor a ({a[i]}) must match the size of tensor b ({b[j]}) at "
            f"non-singleton dimension {d}\n{draw(a, b)}")


def mismatch(a, b):
    """The last dimension at which two shapes do not broadcast: (place in a, place in b, dimension of the result)."""
    n = max(len(a), len(b))
    for k in range(1, min(len(a), len(b)) + 1):
        if a[-k] != b[-k] and 1 not in (a[-k], b[-k]):
            return -k, -k, n - k
    return None


def draw(a, b):
    """Two shapes, aligned at their last dimension, with a mark under those that do not fit."""
    n = max(len(a), len(b))
    rows = [[""] * (n - len(s)) + [str(x) for x in s] for s in (a, b)]
    bad = [bool(x and y and x != y and "1" not in (x, y)) for x, y in zip(*rows)]
    widths = [max(len(x), len(y)) for x, y in zip(*rows)]
    lines = ["  ".join(x.rjust(w) for x, w in zip(row, widths)) for row in rows]
    marks = "  ".join(("^" * w if m else " " * w) for w, m in zip(widths, bad))
    return f"  a: {lines[0]}\n  b: {lines[1]}\n     {marks}".rstrip()


def on_two_devices(op, inputs, kinds):
    """The error of a call whose tensors are on different devices."""
    places = [(kind.name, x.device) for x, kind in zip(inputs, kinds) if hasattr(x, "array")]
    first, second = list(dict.fromkeys(device for _, device in places))[:2]
    where = ", ".join(f"{name} is on {device}" for name, device in places)
    return RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {first} and "
                        f"{second}! In {op.name}(): {where}; move one of them, as in "
                        f"`{places[0][0]}.to('{second}')`.")


def _wrong_dtype(op, error, inputs):
    """A dtype that the op does not take."""
    if not isinstance(error, TypeError):
        return None
    arrays = arrays_of(inputs)
    if "boolean subtract" in str(error):
        return RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                            "`logical_xor()` operator instead.")
    if "boolean negative" in str(error):
        return RuntimeError("Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
                            "invert a mask, use the `~` or `logical_not()` operator instead.")
    if arrays and (isinstance(error, np._core._exceptions.UFuncTypeError)
                   or "not supported for the input types" in str(error)):
        return not_implemented(public_name(op), arrays[0].dtype)
    return None
