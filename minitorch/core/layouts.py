"""The memory layout of results: PyTorch's rules of which dimension varies fastest, in one place.

The column `layout` of a definition names the rule of its results, which the generated call applies
("contiguous" means in the order of the indices):

- "contiguous": whatever the inputs are
- "inputs": as the inputs lie, by `order_of` of all of them: what PyTorch's TensorIterator does
- "first": as the first input lies
- "channels": with the channels last if those of the first input are, else contiguous
- "channels of two": with the channels last if those of the first or the second input are, else
  contiguous
- "joined": with the channels last if those of all inputs are, else contiguous
- None: as the forward pass leaves it. That of the array module's elementwise functions is "inputs",
  but where operands lie in different orders the result is contiguous: a check would cost each call
  of `add` 4 %.

Copies, casts, the ``*_like`` functions and `Tensor.grad` use the same functions. NumPy's
``order="K"`` is another rule: it takes a dimension that is repeated for the fastest one.
"""

__all__ = ["LAID_OUT", "copied", "copy_like", "dense_order", "empty", "inverse", "is_channels_last",
           "order_of", "own_grad", "own_order"]


# ---- the rule -----------------------------------------------------------------------------------
def order_of(shape, *strides):
    """The dimensions of a result, from the slowest in memory to the fastest; None for the order of
    the indices.

    `strides` are those of the inputs, 0 where an input is repeated. Two dimensions are compared in
    the first input that repeats neither; of equal steps the smaller dimension is the faster one.
    Where no input decides, they stay in order.

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
    """1 if dimension `a` is slower than `b`, -1 if it is faster, 0 if no input decides."""
    for steps in strides:
        if steps[a] and steps[b]:
            if steps[a] != steps[b]:
                return 1 if steps[a] > steps[b] else -1
            if shape[a] > shape[b]:
                return 1
    return 0


def strides_in(shape, array):
    """The strides of an array as one of `shape`: 0 where it is repeated."""
    lead = len(shape) - array.ndim
    return (0,) * lead + tuple([0 if n == 1 and shape[lead + i] != 1 else s
                                for i, (n, s) in enumerate(zip(array.shape, array.strides))])


def order_like(shape, arrays):
    """`order_of` a result of these arrays."""
    if all([a.flags.c_contiguous and a.shape == shape for a in arrays]):
        return None
    if len(shape) in (4, 5) and all([a.shape == shape and is_channels_last(a) for a in arrays]):
        return channels_order(len(shape))
    return order_of(shape, *[strides_in(shape, a) for a in arrays])


# ---- channels_last ------------------------------------------------------------------------------
def channels_order(ndim):
    """The dimensions of (N, C, ...) with the channels last."""
    return (0, *range(2, ndim), 1)


def is_channels_last(array):
    """Whether an array of 4 or 5 dimensions is dense with the channels last."""
    return array.ndim in (4, 5) and array.transpose(channels_order(array.ndim)).flags.c_contiguous


def suggests_channels_last(array):
    """Whether the strides are those of a channels_last array or a piece of one; False where they
    could be both's."""
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
    """The order that undoes `dims`."""
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
    """The order of a copy of an array: as it lies, repeated dimensions in their places."""
    return None if array.flags.c_contiguous else order_like(array.shape, (array,))


def copy_like(array, dtype=None):
    """A copy that lies as the array does (PyTorch's ``preserve_format``), cast to `dtype`."""
    if array.flags.c_contiguous:
        return array.copy() if dtype is None else array.astype(dtype)
    return copied(array, own_order(array), dtype)


def empty(xp, shape, order, dtype, maker="empty"):
    """A new array whose dimensions lie in `order`."""
    if order is None:
        return getattr(xp, maker)(shape, dtype)
    return getattr(xp, maker)([shape[d] for d in order], dtype).transpose(inverse(order))


def lies_in(array, order):
    """Whether an array is dense, with its dimensions in `order`."""
    return (array if order is None else array.transpose(order)).flags.c_contiguous


def dense_order(array):
    """The order of an array that has neither gaps nor repetition; None for any other.

    Where a dimension of size 1 lets it lie in two formats at once, its strides say which one it was
    made for.
    """
    if array.flags.c_contiguous and 1 not in array.shape:
        return None
    order = order_of(array.shape, array.strides)
    return order if order is not None and lies_in(array, order) else None


def own_grad(g, leaf, is_owned):
    """A gradient as ``leaf.grad`` keeps it: as the leaf lies if that is dense, else contiguous; a
    copy unless owned."""
    if g.strides is None:                                  # a sparse one
        return g.copy()
    order = dense_order(leaf) if leaf.strides is not None else None
    exact = order is None or 1 not in g.shape      # else its strides may be those of another format
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
    """`f` of one result, or of each of several; numbers have no layout."""
    if isinstance(y, (tuple, list)):
        return getattr(y, "_make", type(y))([f(x) if hasattr(x, "strides") and x.ndim else x
                                             for x in y])
    return f(y)


LAID_OUT = {"contiguous": contiguous, "inputs": like_inputs, "first": like_first,
            "channels": like_channels, "channels of two": like_either, "joined": like_joined}
