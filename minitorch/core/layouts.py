"""The memory layout of results: PyTorch's rules for the order of dimensions in memory.

The column `layout` of a definition names the rule for its results. The generated call applies it:

- "contiguous": in the order of the indices, for any inputs
- "inputs": in the order that `order_of` derives from all inputs, as PyTorch's TensorIterator does
- "first": in the order of the first input
- "channels": channels_last if the first input is, else contiguous
- "channels of two": channels_last if the first or the second input is, else contiguous
- "joined": channels_last if all inputs are, else contiguous
- None: as the forward pass leaves it. The array module's elementwise functions follow "inputs",
  except that operands of different orders give a contiguous result; a check for these would cost
  each call of `add` 4 %.

Copies, casts, the ``*_like`` functions and `Tensor.grad` use the same functions. NumPy's
``order="K"`` is a different rule: it treats expanded dimensions as innermost.
"""

__all__ = ["LAID_OUT", "copied", "copy_like", "dense_order", "empty", "inverse", "is_channels_last",
           "order_of", "own_grad", "own_order"]


# ---- the rule -----------------------------------------------------------------------------------
def order_of(shape, *strides):
    """The dimensions of a result, from the outermost in memory to the innermost; None if that is
    the order of the indices.

    `strides` has a tuple for each input, with 0 for the dimensions along which it is broadcast. Two
    dimensions are compared by their strides in the first input that is broadcast along neither; if
    the strides are equal, the smaller dimension is the inner one. If no input decides, they stay in
    order.

    >>> order_of((2, 3), (1, 2)), order_of((2, 3), (0, 1)), order_of((2, 3), (3, 1), (1, 2))
    ((1, 0), None, None)
    """
    n = len(shape)
    order = list(range(n))[::-1]                           # from the fastest, as PyTorch sorts
    for i in range(1, n):
        for j in range(i - 1, -1, -1):
            faster = compare(shape, strides, order[j], order[j + 1])
            if faster > 0:
                order[j], order[j + 1] = order[j + 1], order[j]
            elif faster < 0:
                break
    order = tuple(order[::-1])
    return None if order == tuple(range(n)) else order


def compare(shape, strides, a, b):
    """1 if dimension `a` lies outside of `b` in memory, -1 if inside, 0 if no input decides."""
    for steps in strides:
        if steps[a] and steps[b]:
            if steps[a] != steps[b]:
                return 1 if steps[a] > steps[b] else -1
            if shape[a] > shape[b]:
                return 1
    return 0


def strides_in(shape, array):
    """The strides of an array that is broadcast to `shape`: 0 for the dimensions that repeat it."""
    lead = len(shape) - array.ndim
    return (0,) * lead + tuple([0 if n == 1 and shape[lead + i] != 1 else s
                                for i, (n, s) in enumerate(zip(array.shape, array.strides))])


def order_like(shape, arrays):
    """`order_of` for a result of `shape`, computed from these arrays."""
    if all([a.flags.c_contiguous and a.shape == shape for a in arrays]):
        return None
    if len(shape) in (4, 5) and all([a.shape == shape and is_channels_last(a) for a in arrays]):
        return channels_order(len(shape))
    return order_of(shape, *[strides_in(shape, a) for a in arrays])


# ---- channels_last ------------------------------------------------------------------------------
def channels_order(ndim):
    """The order of the dimensions (N, C, ...) in channels_last."""
    return (0, *range(2, ndim), 1)


def is_channels_last(array):
    """True if an array has 4 or 5 dimensions, is dense, and lies in channels_last."""
    return array.ndim in (4, 5) and array.transpose(channels_order(array.ndim)).flags.c_contiguous


def suggests_channels_last(array):
    """True if the strides are those of a channels_last array or a slice of one; False if they fit
    a contiguous array too."""
    if array.ndim not in (4, 5) or array.strides[1] == 0 or not array.size:
        return False
    least = 0
    for d in channels_order(array.ndim)[::-1]:
        step, n = array.strides[d], array.shape[d]
        if step < least or (d == 0 and least == array.strides[1]):
            return False
        least = step * n if n > 1 else step
    return True


# ---- arrays by the rule -------------------------------------------------------------------------
def inverse(dims):
    """The permutation that undoes `dims`."""
    out = [0] * len(dims)
    for i, d in enumerate(dims):
        out[d] = i
    return tuple(out)


def copied(array, order, dtype=None):
    """A copy of an array whose dimensions lie in `order`, cast to `dtype`."""
    turned = array if order is None else array.transpose(order)
    out = turned.copy("C") if dtype is None else turned.astype(dtype, "C")
    return out if order is None else out.transpose(inverse(order))


def own_order(array):
    """The order of a copy of an array: its own, with expanded dimensions left in their places."""
    return None if array.flags.c_contiguous else order_like(array.shape, (array,))


def copy_like(array, dtype=None):
    """A copy in the array's own order (PyTorch's ``preserve_format``), cast to `dtype`."""
    if array.flags.c_contiguous:
        return array.copy() if dtype is None else array.astype(dtype)
    return copied(array, own_order(array), dtype)


def empty(xp, shape, order, dtype, maker="empty"):
    """A new array whose dimensions lie in `order`."""
    if order is None:
        return getattr(xp, maker)(shape, dtype)
    return getattr(xp, maker)([shape[d] for d in order], dtype).transpose(inverse(order))


def lies_in(array, order):
    """True if an array is dense, with its dimensions in `order`."""
    return (array if order is None else array.transpose(order)).flags.c_contiguous


def dense_order(array):
    """The order of an array that has neither gaps nor repetition; None for other arrays, and for
    contiguous ones.

    With a dimension of size 1 an array may fit two formats at once; then its strides decide.
    """
    if array.flags.c_contiguous and 1 not in array.shape:
        return None
    order = order_of(array.shape, array.strides)
    return order if order is not None and lies_in(array, order) else None


def own_grad(g, leaf, is_owned):
    """A gradient as ``leaf.grad`` keeps it: in the order of the leaf (an array) if that is dense,
    else contiguous; a copy unless the engine owns `g`."""
    if g.strides is None:                                  # a sparse gradient
        return g.copy()
    order = dense_order(leaf) if leaf.strides is not None else None
    exact = order is None or 1 not in g.shape          # else its strides may be of another format
    return g if is_owned and exact and lies_in(g, order) else copied(g, order)


# ---- results ------------------------------------------------------------------------------------
def brought(y, order):
    return y if lies_in(y, order) else copied(y, order)


def like_inputs(F, y, *inputs):
    arrays = [x for x in inputs if isinstance(x, F.ndarray)]
    return each(y, lambda y: brought(y, order_like(y.shape, [x for x in arrays
                                                             if 0 < x.ndim <= y.ndim])))


def like_first(F, y, *inputs):
    return each(y, lambda y: brought(y, own_order(inputs[0]) if y.ndim == inputs[0].ndim else None))


def like_channels(F, y, *inputs):
    last = suggests_channels_last(inputs[0])
    return each(y, lambda y: brought(y, channels_order(y.ndim) if last and y.ndim == inputs[0].ndim
                                     else None))


def like_either(F, y, first, second, *others):
    last = suggests_channels_last(first) or suggests_channels_last(second)
    return brought(y, channels_order(y.ndim) if last else None)


def like_joined(F, y, *inputs):
    return brought(y, channels_order(y.ndim) if all([suggests_channels_last(x) for x in inputs])
                   else None)


def contiguous(F, y, *inputs):
    return each(y, lambda y: brought(y, None))


def each(y, f):
    """``f(y)`` for one result, a tuple or list for several. Numbers have no layout and stay as they
    are."""
    if isinstance(y, (tuple, list)):
        return getattr(y, "_make", type(y))([f(x) if hasattr(x, "strides") and x.ndim else x
                                             for x in y])
    return f(y)


LAID_OUT = {"contiguous": contiguous, "inputs": like_inputs, "first": like_first,
            "channels": like_channels, "channels of two": like_either, "joined": like_joined}
