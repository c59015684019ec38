"""Checks of lesson 3, "A tensor is a buffer and a story about it": strides, views, broadcasting, writes."""

import math
import random

import minitorch as torch

from ..testing.strategies import Draw
from .exercise import Exercise, show

strides = Exercise(
    "nb03.strides", "The strides, in elements, of a fresh tensor of this shape.",
    ("How many elements do you pass by going one step along the last axis? And along the one before?",
     "The stride of an axis is the number of elements in everything to its right.",
     "From the right: step = 1; for length in reversed(shape): found.append(____); step ____ length"))
strides.cases(lambda: [((3,),), ((2, 3),), ((3, 2),), ((2, 3, 4),), ((4, 3, 2),)])
strides.draw(lambda d: (d.shape(1, 4, 2, 5),))
strides.truth(lambda shape: tuple(math.prod(shape[i + 1:]) for i in range(len(shape))))
strides.slips(
    columns_first=("that is column-major order (Fortran, MATLAB): here the *last* axis is the one with stride 1",
                   lambda shape: tuple(math.prod(shape[:i]) for i in range(len(shape)))),
    in_bytes=("these are bytes: NumPy counts so, PyTorch counts elements",
              lambda shape: tuple(4 * math.prod(shape[i + 1:]) for i in range(len(shape)))),
    in_bytes_of_double=("these are bytes of float64: NumPy counts so, PyTorch counts elements",
                        lambda shape: tuple(8 * math.prod(shape[i + 1:]) for i in range(len(shape)))),
    itself_too=("the axis' own length is in the product: one step along an axis passes only what lies to its right",
                lambda shape: tuple(math.prod(shape[i:]) for i in range(len(shape)))),
    neighbour=("only the next axis is counted: the stride is the product of *all* axes to the right",
               lambda shape: (*shape[1:], 1)),
    shape_itself=("that is the shape: the stride says how far apart neighbours are in memory",
                  lambda shape: tuple(shape)),
    added=("lengths were added up: they multiply, each step of an axis passes a whole block",
           lambda shape: tuple(sum(shape[i + 1:]) or 1 for i in range(len(shape)))),
    reversed_result=("right numbers, wrong order: the first stride belongs to the first axis",
                     lambda shape: tuple(math.prod(shape[i + 1:]) for i in range(len(shape)))[::-1]))


def made(x, how):
    """`x` itself, or a view of it, so that strides and offset are not the plain ones."""
    return {"plain": lambda: x, "transposed": lambda: x.T, "from row 1": lambda: x[1:],
            "every second column": lambda: x[:, ::2]}[how]()


diagonal = Exercise(
    "nb03.diagonal", "The diagonal of a matrix as a view, made by x.as_strided(size, stride, offset).",
    ("Going one step along the diagonal means one row down *and* one column to the right.",
     "One step changes both indices, so it passes what both axes' strides say together. A transposed or sliced x has"
     " strides and a storage_offset() of its own.",
     "x.as_strided((____,), (____,), x.storage_offset())"), parts=("values", "a view of x's memory?"))


@diagonal.draw
def _(d):
    shape = (d.int(2, 5), d.int(2, 5))
    how = d.choice(["plain", "transposed", "from row 1", "every second column"])
    return d.integers(shape, 1, 9).astype(float), how


@diagonal.run
def _(solution, x, how):
    """The values, and whether they lie in x's memory."""
    out = solution(made(x, how))
    return [out, out.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()]


@diagonal.describe
def _(x, how):
    return f"x = {show(x)}, {how}. First the values, then whether they are a view of x's memory"


@diagonal.truth
def _(x):
    return x.as_strided((min(x.shape),), (x.stride(0) + x.stride(1),), x.storage_offset())


diagonal.slips(
    contiguous_only=("columns + 1 is the step only in a fresh matrix: ask x.stride(), x may be a view",
                     lambda x: x.as_strided((min(x.shape),), (x.shape[1] + 1,), x.storage_offset())),
    no_offset=("the offset is forgotten: a slice does not begin where its memory begins, pass x.storage_offset()",
               lambda x: x.as_strided((min(x.shape),), (x.stride(0) + x.stride(1),), 0)),
    rows_long=("as long as there are rows: a diagonal ends at the shorter side, and beyond it lies other memory",
               lambda x: x.as_strided((x.shape[0],), (x.stride(0) + x.stride(1),), x.storage_offset())),
    copied=("right values, but a copy: writing to it would not write to x",
            lambda x: x.diagonal().clone()),
    first_row=("that walks along a row: a step on the diagonal also goes one row down",
               lambda x: x.as_strided((min(x.shape),), (x.stride(1),), x.storage_offset())),
    first_column=("that walks down a column: a step on the diagonal also goes one column to the right",
                  lambda x: x.as_strided((min(x.shape),), (x.stride(0),), x.storage_offset())),
    anti=("that is the other diagonal, from the top right",
          lambda x: x.as_strided((min(x.shape),), (x.stride(0) - x.stride(1),),
                                 x.storage_offset() + (x.shape[1] - 1) * x.stride(1))))

windows = Exercise(
    "nb03.windows", "All windows of k neighbours of a 1-D tensor, as a view of shape (windows, k).",
    ("How many windows of 3 fit into 5 elements? How far apart do two windows begin?",
     "Both strides are the same: the next window begins one element later, and so does the next element.",
     "x.as_strided((len(x) - ____, k), (____, ____), x.storage_offset())"), parts=("values", "a view of x's memory?"))


@windows.draw
def _(d):
    n = d.int(2, 8)
    return d.integers((n,), 1, 9).astype(float), d.int(1, (n + 1) // 2), d.choice([1, 1, 2])


@windows.run
def _(solution, x, k, step):
    out = solution(x[::step], k)
    return [out, out.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()]


@windows.describe
def _(x, k, step):
    return (f"windows(x{f'[::{step}]' if step > 1 else ''}, {k}) with x = {show(x)}. First the values, then whether "
            "they are a view of x's memory")


@windows.truth
def _(x, k):
    return x.as_strided((len(x) - k + 1, k), (x.stride(0), x.stride(0)), x.storage_offset())


windows.slips(
    one_short=("one window too few: the last begins at n - k, and 0 counts as well, so there are n - k + 1",
               lambda x, k: x.as_strided((len(x) - k, k), (x.stride(0), x.stride(0)))),
    apart=("these windows do not overlap: the next begins one element later, not k",
           lambda x, k: x.as_strided((len(x) // k, k), (k * x.stride(0), x.stride(0)))),
    stride_one=("stride 1 is right for a fresh tensor only: x may be every second element of another, ask x.stride(0)",
                lambda x, k: x.as_strided((len(x) - k + 1, k), (1, 1))),
    lying=("transposed: windows are rows, (windows, k)",
           lambda x, k: x.as_strided((k, len(x) - k + 1), (x.stride(0), x.stride(0)))),
    copied=("right values, but a copy: with strides it costs no memory at all",
            lambda x, k: torch.stack([x[i:i + k] for i in range(len(x) - k + 1)])),
    too_many=("as many windows as elements: the last ones hang over the end and read memory that is not x's",
              lambda x, k: x.as_strided((len(x), k), (x.stride(0), x.stride(0)))),
    repeated=("a window of k equal elements: with stride 0 you stand still, the second stride must move on",
              lambda x, k: x.as_strided((len(x) - k + 1, k), (x.stride(0), 0))))

SHARES = {"x.T": True, "x[1:]": True, "x[::2]": True, "x[[0, 2]]": False, "x[x > 5]": False, "x.reshape(4, 3)": True,
          "x.T.reshape(12)": False, "x.flip(0)": False, "x[0].expand(5, 4)": True, "x.contiguous()": True,
          "x.T.contiguous()": False, "x + 0": False}
views = Exercise(
    "nb03.views", "Which of these twelve share memory with x? Write True or False for each.",
    ("Can the result be described by a start and one step per axis, over the memory that is there?",
     "Lists and masks pick places without a regular step; `flip` would need a negative step, and PyTorch has none.",
     "x.reshape(4, 3): x lies in order, so ____; x.T.reshape(12): the order has changed, so ____. contiguous() does "
     "____ if x is in order already."))
views.cases(lambda: [(key,) for key in SHARES])
views.run(lambda solution, key: _answer(solution[key]) if isinstance(solution, dict) else solution(key))
views.describe(lambda key: f"does {key} share memory with x, a fresh tensor of shape (3, 4)?")
views.truth(lambda key: SHARES[key])


def _answer(value):
    if value is ... or value is None:
        raise NotImplementedError
    return bool(value)


def _but(**changed):
    return lambda key: {**SHARES, **changed}[key]


views.slips(
    all_views=("everything is called a view: some results cannot be described by a start and steps",
               lambda key: True),
    all_copies=("everything is called a copy, as with Python's lists: slices of tensors share memory",
                lambda key: False),
    slices_copy=("slices are called copies: that is how Python's lists do it, tensors share",
                 _but(**{"x[1:]": False, "x[::2]": False})),
    lists_share=("a list of indices is called a view: places 0 and 2 could be described by a step of 2, but nobody "
                 "looks; an index list always copies", _but(**{"x[[0, 2]]": True})),
    masks_share=("a mask is called a view: which elements it picks depends on their values, no step describes that",
                 _but(**{"x[x > 5]": True})),
    reshape_copies=("`x.reshape` is called a copy: x is contiguous, so another shape is only another story",
                    _but(**{"x.reshape(4, 3)": False})),
    reshape_shares=("`x.T.reshape(12)` is called a view: reading the transpose row by row jumps about in memory, no "
                    "single step does that", _but(**{"x.T.reshape(12)": True})),
    flip_shares=("`flip` is called a view: in NumPy it is one (negative stride), PyTorch has none and copies",
                 _but(**{"x.flip(0)": True})),
    expand_copies=("`expand` is called a copy: a stride of 0 repeats an element without storing it again",
                   _but(**{"x[0].expand(5, 4)": False})),
    contiguous_copies=("`contiguous` is called a copy always: it returns x itself if x is contiguous already",
                       _but(**{"x.contiguous()": False})),
    contiguous_shares=("`x.T.contiguous()` is called a view: new order in memory needs new memory",
                       _but(**{"x.T.contiguous()": True})),
    sum_shares=("`x + 0` is called a view: arithmetic always makes new memory, even if nothing changes",
                _but(**{"x + 0": True})))

unbroadcast = Exercise(
    "nb03.unbroadcast", "Bring a gradient of the broadcast shape back to `shape`, the shape of the input.",
    ("Broadcasting repeats an element. Used several times means: its gradients are added.",
     "Two kinds of axes were repeated: those that were not there at all (on the left), and those of length 1.",
     "while grad.ndim > len(shape): grad = grad.sum(____); then for each axis with ____ == 1: grad = grad.sum(axis, "
     "____)"))


@unbroadcast.cases
def _():
    d = _draw()
    for full, shape in (((2,), ()), ((2,), (1,)), ((2, 3), (3,)), ((2, 3), (2, 1)), ((2, 2), (1, 2)), ((3, 3), (3, 1)),
                        ((2, 3), (2, 3)), ((2, 3, 2), (3, 1)), ((2, 1, 2), (1, 1, 2))):
        yield d.integers(full, 1, 9).astype(float), shape


def _draw():
    return Draw(random.Random(1))


@unbroadcast.draw
def _(d):
    full = d.shape(1, 3)
    shape = tuple(1 if d.int(0, 2) == 0 else s for s in full[d.int(0, len(full)):])
    return d.integers(full, 1, 9).astype(float), shape


@unbroadcast.truth
def _(grad, shape):
    return grad.sum_to_size(shape)


@unbroadcast.mistake("not summed over a broadcast axis: the gradient still has the shape of the result")
def not_summed(grad, shape):
    return grad


@unbroadcast.mistake("wrong axes: the axes that `shape` lacks are on the *left* (shapes line up at the right), you "
                     "summed from the right")
def from_the_right(grad, shape):
    while grad.ndim > len(shape):
        grad = grad.sum(-1)
    for axis, length in enumerate(shape):
        if length == 1:
            grad = grad.sum(axis, keepdim=True)
    return grad


@unbroadcast.mistake("shapes are lined up at the left: axis 0 of `shape` belongs to the axis of `grad` that is as far "
                     "from the *right*")
def from_the_left(grad, shape):
    for axis, (long, short) in enumerate(zip(grad.shape, shape)):
        if long != short:
            grad = grad.sum(axis, keepdim=True)
    return grad


@unbroadcast.mistake("shapes are lined up at the left, and the summed axes are gone: line them up at the right, sum "
                     "axes of length 1 with keepdim=True")
def from_the_left_gone(grad, shape):
    for axis, (long, short) in enumerate(zip(grad.shape, shape)):
        if long != short:
            grad = grad.sum(axis)
    return grad


@unbroadcast.mistake("axes of length 1 are forgotten: they were repeated too, sum them with keepdim=True")
def left_only(grad, shape):
    while grad.ndim > len(shape):
        grad = grad.sum(0)
    return grad


@unbroadcast.mistake("missing axes are forgotten: what `shape` does not have on the left was repeated too")
def ones_only(grad, shape):
    for axis in range(len(shape)):
        if shape[axis] == 1:
            grad = grad.sum(axis, keepdim=True)
    return grad


@unbroadcast.mistake("the summed axis is gone: an input of shape (2, 1) needs a gradient of shape (2, 1), keepdim=True")
def no_keepdim(grad, shape):
    while grad.ndim > len(shape):
        grad = grad.sum(0)
    for axis in reversed(range(len(shape))):
        if shape[axis] == 1:
            grad = grad.sum(axis)
    return grad


@unbroadcast.mistake("mean in place of sum: every use counts in full")
def averaged(grad, shape):
    return grad.sum_to_size(shape) * math.prod(shape) / grad.numel()


@unbroadcast.mistake("one slice is taken, the others are dropped: all uses of an element must be added")
def first_slice(grad, shape):
    while grad.ndim > len(shape):
        grad = grad[0]
    for axis, length in enumerate(shape):
        if length == 1:
            grad = grad.narrow(axis, 0, 1)
    return grad


@unbroadcast.mistake("everything is summed: only the axes that were repeated are, the others keep their places")
def summed_all(grad, shape):
    return grad.sum().expand(shape)


@unbroadcast.mistake("reshaped: the numbers must be added up, a reshape cannot make them fewer")
def reshaped(grad, shape):
    return grad.reshape(shape)


repair = Exercise(
    "nb03.repair", "sum((exp(x) + 1) * exp(x)), without the in-place write that broke backward.",
    ("Which value did `exp` keep for the backward pass, and who wrote over it?",
     "`y += 1` writes into the memory that `y` has; `y + 1` makes new memory.",
     "y = x.exp(); return (____ * y).sum(), with nothing written into y"), parts=("value", "x.grad"))
repair.draw(lambda d: (d.integers((d.int(1, 3),), -2, 2).astype(float),))


@repair.run
def _(solution, x):
    x.requires_grad_()
    out = solution(x)
    if not out.requires_grad:
        return "a result without a graph"
    if out.numel() != 1:
        return "a result that is not one number"
    out.backward()
    return [out, x.grad]


@repair.describe
def _(x):
    return f"x = {show(x)}. First the value, then x.grad"


repair.truth(lambda x: ((x.exp() + 1) * x.exp()).sum())


@repair.mistake("still written in place: exp needs its result for the backward pass, `y += 1` destroys it")
def in_place(x):
    y = x.exp()
    old = y.clone()
    y += 1
    return (y * old).sum()


@repair.mistake("both factors have the 1: after `y += 1` the old exp(x) is gone, keep it under a name of its own")
def both(x):
    y = x.exp() + 1
    return (y * y).sum()


@repair.mistake("`detach` silences the error by cutting the graph: one path to x is lost, and with it its gradient")
def detached(x):
    y = x.exp()
    return ((y.detach() + 1) * y).sum()


@repair.mistake("`detach` on the second factor cuts one of the two paths to x: its gradient is lost")
def detached_second(x):
    y = x.exp()
    return ((y + 1) * y.detach()).sum()


@repair.mistake("the graph is cut altogether: `item`, `numpy`, `detach` and `no_grad` leave nothing to go back through")
def no_graph(x):
    with torch.no_grad():
        y = x.exp()
        return ((y + 1) * y).sum()


@repair.mistake("the sum is missing: backward needs one number to start from")
def no_sum(x):
    y = x.exp()
    return (y + 1) * y if y.numel() > 1 else ((y + 1) * y).reshape(1, 1).expand(1, 2)


@repair.mistake("the + 1 is missing from the formula")
def without_one(x):
    y = x.exp()
    return (y * y).sum()
