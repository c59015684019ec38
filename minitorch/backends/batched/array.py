"""`Batched`: an array with a hidden axis, which has the methods and operators of NumPy's."""

import math
import operator

import numpy as np

from ...core import graph
from ...core.arrays import owner
from ...core.errors import worded
from .. import numpy_names

__all__ = ["OWN", "Batched", "NoStrides", "Unbatched", "aligned", "batched", "escaped", "hold",
           "is_shared", "lifted", "over", "physical", "shared", "spread", "values", "varying", "wrapped"]


class Unbatched(RuntimeError):
    """The error where something depends on the values of a batch: it can be done for one element of the batch only."""

    explained = True


class NoStrides(Unbatched):
    """The error where an array has no strides, as parts on several ranks have none."""


CONTROL_FLOW = ("vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't "
                "support that yet: minitorch.where chooses between values that are computed both.")
ITEM = ("vmap: It looks like you're calling .item() on a Tensor, or attempting to use a Tensor in some data-dependent "
        "control flow, as `if`. We don't support vmap over that, please try to rewrite what you're doing with other "
        "operations: minitorch.where chooses between values that are computed both.")
IN_PLACE = ("vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in "
            "extra_args that has more elements than `self`. This happened due to `other` being vmapped over but `self` "
            "not being vmapped over in a vmap. Please try to use out-of-place operators instead of inplace arithmetic, "
            "or make `self` of a tensor that is vmapped over, as in x.new_zeros(...).")
READ_ONLY = ("vmap: a tensor that is vmapped over and requires grad cannot be written to in place, its gradient would "
             "be lost outside: write to a clone()")


def varying(what):
    """PyTorch's refusal of an op, `what`, whose results may differ in size between the elements of a batch."""
    return f"vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over {what}."


def escaped():
    """The error for a batched tensor that outlived its vmap."""
    return RuntimeError("vmap: a tensor is used outside of the vmap in which it was made: it may have escaped from a "
                        "function being vmapped, which must return what is to be used afterwards")


def batched(backend, value, new=object.__new__):
    """`value`, an array of the backend below, as an array whose first axis is hidden."""
    out = new(Batched)
    shape = value.shape[1:]
    out.value, out.backend, out.shape, out.ndim, out.dtype = value, backend, shape, len(shape), value.dtype
    return out


def wrapped(backend, result):
    """A result of the backend below, or a tuple or list of some, as batched arrays."""
    if result is None:
        return None
    if result.__class__ is tuple or result.__class__ is list or isinstance(result, (tuple, list)):
        return getattr(result, "_make", type(result))([wrapped(backend, y) for y in result])
    return batched(backend, result)


def is_shared(x):
    """True if `x` is the same for all elements of the batch."""
    return x.__class__ is not Batched or x.value.shape[0] == 1


def shared(x):
    """The underlying array of an `x` that is the same for all elements; other values unchanged."""
    return x.value[0] if x.__class__ is Batched else x


def lifted(backend, x):
    """`x`, a number or an array of `backend` or of one below it, as an array of `backend`."""
    if x.__class__ is Batched and x.backend is backend:
        return x
    if backend.inner.depth:
        x = lifted(backend.inner, x)
    elif x.__class__ is Batched:
        raise escaped()
    else:
        x = backend.inner.xp.asarray(x)
    return batched(backend, x[None])


def aligned(backend, arrays):
    """The values of arrays with as many dimensions each, so that they broadcast; numbers as they are."""
    n, none = 0, True
    for x in arrays:
        if x.__class__ is Batched and x.backend is backend:
            none = False
        k = getattr(x, "ndim", 0)
        if k > n:
            n = k
    if none:                                               # of the backend below, such as a scratch array; or numbers
        numbers = not any([hasattr(x, "ndim") for x in arrays])
        arrays = [lifted(backend, x) if numbers or hasattr(x, "ndim") else x for x in arrays]
    return [spread(backend, x, n) for x in arrays]


def spread(backend, x, n):
    """The value of `x`, with dimensions of size 1 behind the hidden axis until it has `n` besides."""
    if x.__class__ is not Batched:
        return x
    if x.backend is not backend:
        return spread(backend, lifted(backend, x), n) if x.backend.depth > backend.depth else x
    v, k = x.value, x.ndim
    return v if k == n else v.reshape(v.shape[:1] + (1,) * (n - k) + v.shape[1:])


def over(backend, x, n=None):
    """The value of `x` with all elements of the batch along the hidden axis: a view. `n`: the number of dimensions."""
    x = lifted(backend, x)
    v = x.value if n is None else spread(backend, x, n)
    size = backend.size
    return v if v.shape[0] == size else backend.inner.xp.broadcast_to(v, (size, *v.shape[1:]))


def values(backend, arrays):
    """The values of arrays whose hidden axes are of one size: 1 if all are."""
    found = [lifted(backend, x) for x in arrays]
    if not all([is_shared(x) for x in found]):
        return [over(backend, x) for x in found]
    return [x.value for x in found]


def hold(target, others=(), arrays=()):
    """See to it that `target` can hold what is written to it: RuntimeError, in PyTorch's words, if it is the same for
    all elements of a batch and one of the values (batched arrays; or `arrays` of the backend below) is not."""
    F, memory = target.backend, physical(target)
    if not getattr(memory.flags, "writeable", True):
        raise worded(RuntimeError(READ_ONLY))
    if not isinstance(memory, np.ndarray):                 # which `owner` does not find behind a batched array
        graph.versions.bump([owner(memory)], "a write within vmap", graph.calling_line())
    if target.value.shape[0] != F.size and (
            any([not is_shared(x) and x.backend is F for x in others])
            or any([x.shape[0] != 1 for x in arrays])):
        raise F.not_in_place()


def physical(x):
    """The array of a backend without batches that holds all elements."""
    while x.__class__ is Batched:
        x = x.value
    return x


class Flags:
    """`flags` of one element of a batch."""

    def __init__(self, array):
        self.c_contiguous = is_contiguous(array.shape, array.strides, array.itemsize)
        self.f_contiguous = is_contiguous(array.shape[::-1], array.strides[::-1], array.itemsize)
        self.forc, self.contiguous = self.c_contiguous or self.f_contiguous, self.c_contiguous
        self.writeable, self.owndata = array.value.flags.writeable, False

    def __getitem__(self, name):
        return getattr(self, name.lower())


def is_contiguous(shape, strides, step):
    for n, stride in zip(reversed(shape), reversed(strides)):
        if n == 0:
            return True
        if n != 1 and stride != step:
            return False
        step *= n
    return True


def row_major(array):
    """The strides of an array whose elements lie in the order of the indices: of no elements NumPy's are 0."""
    steps = [array.dtype.itemsize]
    for n in array.shape[:0:-1]:
        steps.append(steps[-1] * max(n, 1))
    return tuple(steps[::-1][:array.ndim]) if array.shape else ()


def both(function):
    """An operator of two operands."""
    def method(self, other):
        if other.__class__ is Batched:
            F = self.backend
            if other.backend is not F and other.backend.depth > F.depth:
                return method(lifted(other.backend, self), other)
        elif getattr(other, "__array_priority__", 0) > 2000 or hasattr(other, "needs_grad"):
            return NotImplemented                          # a tensor, or an array with a tangent
        else:
            F = self.backend
        a, b = aligned(F, (self, other))
        return batched(F, function(a, b))
    return method


def reflected(function):
    """The operator of two operands for ``other op array``, where `other` is not batched."""
    def method(self, other):
        a, b = aligned(self.backend, (other, self))
        return batched(self.backend, function(a, b))
    return method


def in_place(function):
    """An operator such as ``+=``: into the array's own memory if that has room for all elements of the batch."""
    plain = both(function)

    def method(self, other):
        result = plain(self, other)
        if result.value.shape != self.value.shape or physical(result).size != physical(self).size:
            return result
        self.backend.xp.copyto(self, result, casting="unsafe")
        return self
    return method


class Memory:
    """The address of an array, as `core.arrays.pointer` asks for it of arrays that are not NumPy's."""

    def __init__(self, ptr):
        self.ptr = ptr


class Batched:
    """An array of the shape of one element of a batch; `value` holds all of them along its first axis, or one for all.
    """

    __slots__ = ("value", "backend", "shape", "dtype", "ndim", "__weakref__")
    __array_priority__ = 2000
    __hash__ = object.__hash__

    # -- its shape and its memory, as they appear ------------------------------------------------------------
    size = property(lambda self: math.prod(self.shape))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: math.prod(self.shape) * self.dtype.itemsize)
    strides = property(lambda self: self.value.strides[1:] if self.value.shape[0] else row_major(self))
    base = property(lambda self: owner(self.value), doc="The array below that owns the memory.")

    @property
    def flags(self):
        found = self.value.flags
        return found if found.c_contiguous else Flags(self)

    @property
    def data(self):
        value = physical(self)
        return Memory(value.ctypes.data if hasattr(value, "ctypes") else value.data.ptr)

    def __len__(self):
        return self.shape[0]

    def __iter__(self):
        return iter([self[i] for i in range(self.shape[0])])

    def __repr__(self):
        return f"Batched({self.value!r})"

    # -- values, which must be the same for all elements of the batch ----------------------------------------
    def same(self, error):
        """The value that all elements of the batch have; `Unbatched` if they may have others."""
        found = physical(self)
        if not self.shape and found.size > 1 and found.min() == found.max():
            return found.reshape(-1)[0]
        value = self.value
        if value.__class__ is Batched:
            value = value.same(error)
        if value.shape[0] == 1:
            return value[0]
        raise Unbatched(error)

    def __bool__(self):
        found = physical(self)
        if self.size != 1:
            return bool(self.same(CONTROL_FLOW))
        found = found.astype(bool)
        if not found.size or found.min() == found.max():
            return bool(found.reshape(-1)[:1].any())
        raise Unbatched(CONTROL_FLOW)

    def __array__(self, dtype=None, copy=None):
        raise Unbatched("vmap: Cannot access data pointer of Tensor that doesn't have storage")

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **options):
        """NumPy's arrays leave their operators to these."""
        if any([x.__class__ is not Batched for x in out]):
            raise self.backend.not_in_place()
        F = max([x.backend for x in inputs if x.__class__ is Batched], key=lambda backend: backend.depth)
        found = getattr(F.xp, ufunc.__name__)
        found = found if method == "__call__" else getattr(found, method)
        return found(*inputs, **options, **({"out": out} if out else {}))

    def __array_function__(self, function, types, args, kwargs):
        if function.__name__ in ("copyto", "may_share_memory"):            # a write from the batch to outside, or out=
            raise self.backend.not_in_place()
        raise Unbatched(f"vmap: numpy.{function.__name__} of a batched tensor")

    def item(self, *args):
        return self.same(ITEM).item(*args)

    def __int__(self):
        return int(self.same(ITEM))

    def __float__(self):
        return float(self.same(ITEM))

    def __index__(self):
        return operator.index(self.same(ITEM))

    def tolist(self):
        return self.same(ITEM).tolist()

    # -- elements and memory ---------------------------------------------------------------------------------
    def __getitem__(self, index):
        return self.backend.read(self, index)

    def __setitem__(self, index, value):
        self.backend.write(self, index, value)

    def astype(self, dtype, order="K", **options):
        return batched(self.backend, self.value.astype(dtype, order=order, **options))

    def copy(self, order="C"):
        """Memory for all elements of the batch, which references write to."""
        return batched(self.backend, self.backend.inner.xp.array(over(self.backend, self), order=order))

    def view(self, dtype):
        return batched(self.backend, self.value.view(dtype))

    def fill(self, value):
        self.value.fill(value)

    def reshape(self, *shape, order="C"):
        shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        n, v = math.prod(self.shape), self.value
        if -1 in shape:
            known = -math.prod(shape)
            if known <= 0 or n % known or list(shape).count(-1) > 1:
                raise ValueError(f"cannot reshape array of size {n} into shape {tuple(shape)}")
            shape = [n // known if k == -1 else k for k in shape]
        elif math.prod(shape) != n or min(shape, default=0) < 0:
            raise ValueError(f"cannot reshape array of size {n} into shape {tuple(shape)}")
        if order != "C":                                   # "A": of contiguous memory
            if order == "A" and not self.flags.c_contiguous or order == "F":
                raise Unbatched("vmap: reshape in the order of memory")
        return batched(self.backend, v.reshape((v.shape[0], *shape)))

    def ravel(self, order="C"):
        return self.reshape((-1,), order="C" if order == "K" else order)

    def flatten(self, order="C"):
        return self.ravel().copy()

    def transpose(self, *dims):
        dims = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list, type(None))) else dims or None
        n = self.ndim
        if dims is None:
            dims = range(n)[::-1]
        if sorted([d % n if -n <= d < n else d for d in dims]) != [*range(n)]:
            raise ValueError(f"{tuple(dims)} is not a permutation of the {n} dimensions")
        return batched(self.backend, self.value.transpose((0, *[d % n + 1 for d in dims])))

    T = property(lambda self: self.transpose())
    mT = property(lambda self: self.swapaxes(-1, -2))
    real = property(lambda self: batched(self.backend, self.value.real))
    imag = property(lambda self: batched(self.backend, self.value.imag))

    def conjugate(self):
        return self.backend.xp.conj(self)

    def __matmul__(self, other):
        return NotImplemented if hasattr(other, "needs_grad") else self.backend.xp.matmul(self, other)

    def __rmatmul__(self, other):
        return self.backend.xp.matmul(other, self)

    def __copy__(self):
        return self.copy("K")


def named(name):
    """A method that the array module has as a function."""
    def method(self, *args, **options):
        return getattr(self.backend.xp, name)(self, *args, **options)
    return method


OWN = frozenset(vars(Batched))                             # all others are those of the array module
for _name in numpy_names.methods():
    if _name not in OWN:
        setattr(Batched, _name, named(_name))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift"):
    _function, _word = getattr(operator, _name), _name.strip("_")
    setattr(Batched, f"__{_word}__", both(_function))
    setattr(Batched, f"__r{_word}__", reflected(_function))
    setattr(Batched, f"__i{_word}__", in_place(_function))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Batched, f"__{_name}__", both(getattr(operator, _name)))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Batched, f"__{_name}__", lambda self, f=getattr(operator, _name): batched(self.backend, f(self.value)))
