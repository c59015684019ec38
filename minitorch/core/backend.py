"""The backend interface: everything that tensors and autograd know about an array library and its
hardware.

A new backend must have a device, and an array module `xp` with NumPy's names and an array type
`ndarray`. Optional: `kernels`, hand-written functions by op name (`minitorch/backends/kernels.py`).
It then has every op as ``backend.<op name>``.
"""

from types import MethodType

import numpy as np

from . import layers
from .arrays import is_half
from .device import get
from .registry import OPS


class Reference:
    """The references of all op definitions on one backend's arrays:
    ``F.reference.softmax(x, dim=0)``.

    They receive 16-bit floats as float32, and their results are rounded once. An op that keeps
    values for the backward pass returns these too.
    """

    def __init__(self, backend):
        self.backend = backend

    def __getattr__(self, name):
        if name not in OPS:
            raise AttributeError(f"there is no op definition {name!r}")
        found = OPS[name].bind(self.backend)
        if OPS[name].promotion and not OPS[name].native:
            found = widened(self.backend, found, OPS[name].keeps)
        setattr(self, name, found)
        return found


class Backend:
    """One array library on one device.

    ``backend.mul`` is the first that exists of: a hand-written kernel for the op `mul`, the op's
    reference forward pass, the array module's own function. The choice is made on first use and
    kept as an instance attribute, together with the `layers` that are on the stack at that time.
    """

    on_host = False            # True if Python can read values without waiting for a device
    # the number of elements for which a chain of elementwise steps stays in the cache; None: all
    block: int | None = None
    depth = 0                                      # the number of nested `vmap`s; 0 outside of them
    # that of forward mode, for arrays with a tangent; and with those that it stands on
    level: object = None
    levels: tuple = ()
    marks: tuple = ()                              # of what stands above `below`, the highest last
    # a function that moves the inputs of a call from several backends to one, or refuses
    together: object = None
    # a method (node, create_graph) that returns what computes a node's gradients in place of
    # ``op.pull``; None: nothing does
    pull_of: object = None

    def __init__(self, device, xp, kernels=None):
        self.kernels = {} if kernels is None else kernels
        self.device, self.xp, self.ndarray = device, xp, xp.ndarray
        self.ops = set()                                 # names of ops that are instance attributes
        layers.backends.add(self)

    @property
    def backend(self):
        """This backend. A `Float32Compute` has here the backend that it widens."""
        return self

    @property
    def below(self):
        """The backend of a device, or of a batch, below all interpretations (`autograd.standing`).
        """
        return self

    def __repr__(self):
        return f"<backend {self.device}>"

    def __reduce__(self):
        return get, (self.device,)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "fp32":                     # this backend, computing on 16-bit floats in float32
            found = Float32Compute(self)
        elif name == "reference":                    # the definitions' references, past the kernels
            found = Reference(self)
        elif name.removeprefix("full_") in OPS:
            return self.look_up(name)
        else:
            found = getattr(self.xp, name)
        setattr(self, name, found)
        return found

    def has_kernel(self, name):
        """True if the op `name` has a hand-written kernel here."""
        return name in self.kernels

    def look_up(self, name):
        """Find an op with the layers around it, and keep it."""
        stack = layers.stack
        found = self.layered(name, self.find(name))
        setattr(self, name, found)
        self.ops.add(name)
        # Another thread may have changed the stack, and made backends forget, before that.
        if layers.stack is not stack:
            self.forget()
        return found

    def layered(self, name, function):
        """A function, which is seen as an op, with the layers of the stack around it."""
        for layer in layers.stack:
            function = layer.wrap(name, function, self)
        return function

    def find(self, name, kernels=None):
        """The function of an op without layers; ``full_x`` is op `x` with the values that it keeps
        for the backward pass.

        `kernels` replaces the backend's own table; {} gives the definitions' references.
        """
        kernels, op_name = self.kernels if kernels is None else kernels, name.removeprefix("full_")
        found = (MethodType(kernels[op_name], self) if op_name in kernels
                 else OPS[op_name].bind(self))
        if name in OPS and OPS[name].keeps:
            lean = getattr(kernels.get(name), "lean", None)
            found = result_only(found) if lean is None else MethodType(lean, self)
        return found

    def forget(self):
        """Look all ops up again when they are next called."""
        forget(self)
        if "fp32" in vars(self):
            forget(self.fp32)

    # -- what differs between array modules -------------------------------------------------------
    def strided(self, array, shape, strides):
        """A view that begins where `array` does, with another shape and strides (in bytes)."""
        return self.xp.lib.stride_tricks.as_strided(array, shape, strides)

    def of_memory(self, array, size, stride, offset):
        """A view of the memory that `array` lies in, by size, stride and offset in elements.

        RuntimeError if it would reach outside that memory.
        """
        raise NotImplementedError

    def from_host(self, array):
        """A NumPy array as an array of this backend; the same memory where that is possible."""
        return self.xp.asarray(array)

    def to_host(self, array):
        """An array of this backend as a NumPy array; the same memory where that is possible."""
        return array

    def physical(self, array):
        """The array of all elements of the batches of the vmaps around; without any, `array`."""
        return array

    def detached(self, array):
        """`array` outside of all graphs, and the backend that it is then an array of."""
        return array, self

    def from_backend(self, array, source, non_blocking=False):
        """An array of another backend, `source`, as one of this backend; a copy.

        `non_blocking`: a copy from page-locked memory of the host may still be running on return.
        """
        return self.from_host(source.to_host(array))

    def pinned_copy(self, array):
        """A copy of a NumPy array in page-locked memory, which this device can read by itself; by
        default the array."""
        return array

    def is_pinned(self, array):
        """True if a NumPy array lies in memory that `pinned_copy` made."""
        return False

    def fill_random(self, array, sampler, generator, args):
        """Fill an array by ``sampler(generator, array, *args)``, a function of
        `minitorch.random.sampling`.

        By default the numbers are drawn on the host, into an array of the same strides, and copied.
        """
        if array.size:
            reach = sum((n - 1) * s for n, s in zip(array.shape, array.strides)) + array.itemsize
            host = np.ndarray(array.shape, array.dtype, np.empty(reach, np.uint8),
                              strides=array.strides)
            array[...] = self.from_host(sampler(generator, host, *args))

    def join(self, x):
        """The tensor `x`, of a backend below this one or a number of another device, as one of this
        backend."""
        if x.backend is self:
            return x
        if not x.array.ndim and x.is_cpu:
            return x.to(self.device)
        raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two "
                           f"devices, {self.device} and {x.device}!")

    def settled(self, x):
        """`x`, a tensor of this backend, or one of a backend below that serves as well."""
        return x

    # -- optional: many arrays at once ------------------------------------------------------------
    def scale_all(self, arrays, factor, check=False):
        """Multiply arrays in place by a number or a 0-d array, all at once; False if the backend
        cannot do so.

        With `check` it returns an array of one element instead of True: nonzero if a product is
        infinite or NaN.
        """
        return False

    def move_all(self, arrays, values, share, factors):
        """``array = (1 - share) * array + share * (factor * value)`` for all, in place; False if
        the backend cannot do so at once."""
        return False

    def step_at_once(self, rule, params, states):
        """A function that steps all parameters by an optimiser's rule ("adam", "sgd"); None if the
        backend has none, and the optimiser works in chunks.

        `states` are lists of arrays, like `params`. The function is called as
        ``step(grads, c, shrink, decay, maximize, of_rule=None)``, see `minitorch/optim/flat.py`.
        """
        return None


def result_only(function):
    """The forward pass of an op, returning the result without the values kept for the backward
    pass."""
    def call(*arrays, **attrs):
        return function(*arrays, **attrs)[0]
    call.takes_halves = getattr(function, "takes_halves", False)
    return call


class Float32Compute:
    """A backend whose ops take 16-bit floats, compute in float32 and round once at the end, as in
    PyTorch.

    Everything else is that of the backend itself. Operators on raw arrays (``x * y``) still compute
    in 16 bits.
    """

    def __init__(self, backend):
        self.backend, self.ops = backend, set()

    def __getattr__(self, name):
        stack = layers.stack
        found = getattr(self.backend, name)
        is_op = name.removeprefix("full_") in OPS
        if (is_op and not (getattr(found, "takes_halves", False)
                           or OPS[name.removeprefix("full_")].view)):
            found = widened(self.backend, found, name not in OPS)
        setattr(self, name, found)
        if is_op:
            self.ops.add(name)
        if layers.stack is not stack:                      # as in `Backend.look_up`
            forget(self)
        return found


def forget(namespace):
    """Delete the ops that a `Backend` or a `Float32Compute` has looked up."""
    for name in list(namespace.ops):
        namespace.ops.discard(name)
        vars(namespace).pop(name, None)


def widened(backend, function, keeps):
    """`function` on raw arrays, with 16-bit floats converted to float32 before the call and results
    rounded back to the 16-bit type.

    Values that it `keeps` for the backward pass are not rounded. Arrays with a stride of 0 are
    converted in C order, because order="K" would treat their expanded dimensions as innermost.
    """
    ndarray, float32 = backend.ndarray, backend.xp.dtype("float32")

    def widen(x):
        return (x.astype(float32, "C" if 0 in x.strides else "K") if isinstance(x, ndarray)
                and is_half(x.dtype) else x)

    def call(*arrays, **attrs):
        halves = [x.dtype for x in arrays if isinstance(x, ndarray) and is_half(x.dtype)]
        if not halves:
            return function(*arrays, **attrs)
        out = function(*map(widen, arrays), **attrs)
        if attrs.get("dtype") is not None:
            return out

        def narrow(y):
            if isinstance(y, (tuple, list)):           # several results; a named tuple stays one
                return getattr(y, "_make", type(y))(map(narrow, y))
            return y.astype(halves[0]) if getattr(y, "dtype", None) == float32 else y
        return (narrow(out[0]), *out[1:]) if keeps else narrow(out)
    return call
