"""Tensor: an array with a node in the graph.

A tensor is a raw array (`array`) on a backend (`backend`). `node` is the call that made it, None
for a leaf; `needs_grad` is the plain attribute behind `requires_grad`. Most methods are generated
from op definitions; this file has the others. Views share memory as NumPy's do, and refer to the
tensor that they are a view of (`_base`), so that a write to either changes both, in the numbers and
in the graph.
"""

import warnings
import weakref

import numpy as np

from . import dtypes, graph
from .arrays import owner
from .attributes import Kept, OwnAttributes
from .device import host
from .errors import checked_dim
from .grad_mode import grad_mode
from .registry import Hook, guests, late
from .storage import TensorLayout

__all__ = ["Tensor", "Size", "from_numpy", "mark_view", "wrap"]


class Size(tuple):
    """The shape of a tensor: a tuple of sizes, printed as PyTorch prints it."""

    __slots__ = ()

    def __new__(cls, sizes=()):
        sizes = tuple(sizes)
        for i, n in enumerate(sizes):
            if not hasattr(n, "__index__"):
                raise TypeError(f"torch.Size() takes an iterable of 'int' (item {i} is "
                                f"'{type(n).__name__}')")
        return tuple.__new__(cls, [n if n.__class__ is int else n.__index__() for n in sizes])

    def numel(self):
        """The number of elements of a tensor of this shape."""
        return int(np.prod(self, dtype=np.int64)) if self else 1

    def __repr__(self):
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index):
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other):
        return Size(tuple(other) + tuple(self))

    def __mul__(self, n):
        return Size(tuple.__mul__(self, n))

    __rmul__ = __mul__

    def __reduce__(self):
        return Size, (tuple(self),)


new_size = tuple.__new__                          # without the checks: NumPy's shapes are all ints


class Tensor(Kept):
    """An n-dimensional array of one dtype that can be differentiated. `minitorch.tensor` and other
    functions make one.

    ``Tensor(data)`` makes one of the default dtype from a (nested) list, ``Tensor(2, 3)`` an
    uninitialised one of that shape, as PyTorch's constructor does; `device` and `requires_grad` may
    be given by name.
    """

    node = hooks = _grad = _base = _views = None
    needs_grad = False
    parents = ()                                           # in the graph, a tensor is a leaf
    __array_priority__ = 1000                              # so that ndarray + tensor calls __radd__

    def __init__(self, *args, **kwargs):
        pass         # `host.data.new` has made the tensor; subclasses may take other arguments

    def __hash__(self):
        return id(self)

    # -- properties -------------------------------------------------------------------------------
    @property
    def shape(self):
        """The size of each dimension."""
        return new_size(Size, self.array.shape)

    dtype = property(lambda self: dtypes.from_np(self.array.dtype), doc="The type of the elements.")
    device = property(lambda self: self.backend.device, doc="Where the memory is.")
    __dict__ = property(lambda self: OwnAttributes(self), doc="The attributes that users have set.")
    ndim = property(lambda self: self.array.ndim, doc="The number of dimensions.")
    itemsize = property(lambda self: self.array.itemsize, doc="The size of one element in bytes.")
    nbytes = property(lambda self: self.array.nbytes, doc="The size of all elements in bytes.")
    is_cuda = property(lambda self: self.device.type == "cuda",
                       doc="True if the memory is on a CUDA device.")
    is_cpu = property(lambda self: self.device.type == "cpu",
                      doc="True if the memory is the host's.")
    is_leaf = property(lambda self: self.node is None, doc="True if no recorded call made it.")
    is_sparse = is_sparse_csr = is_quantized = is_mkldnn = is_nested = False
    is_xpu = is_mps = is_xla = is_mtia = is_vulkan = is_ipu = is_maia = volatile = False
    layout = property(lambda self: TensorLayout(self), doc="Equal to `strided`; called, "
                      "``x.layout()``, a picture.")

    def size(self, dim=None):
        """The shape, or the size of dimension `dim`."""
        if dim is None:
            return self.shape
        return self.array.shape[self.checked_dim(dim)]

    def dim(self):
        """The number of dimensions."""
        return self.array.ndim

    ndimension = dim

    def numel(self):
        """The number of elements."""
        return int(self.array.size)

    nelement = numel

    def checked_dim(self, dim):
        """`dim` counted from the front; IndexError, with the valid range, if there is no such
        dimension."""
        return checked_dim(dim, self.array.ndim)

    def element_size(self):
        """The size of one element in bytes."""
        return self.array.itemsize

    def is_inference(self):
        """True if its memory was allocated in `inference_mode`."""
        return bool(graph.inference) and id(owner(self.array)) in graph.inference

    def __len__(self):
        if not self.array.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self.array.shape[0]

    def __iter__(self):
        if not self.array.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __bool__(self):
        if self.array.size != 1:
            count = "more than one value" if self.array.size else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {count} is ambiguous: use any() or "
                               f"all()")
        return bool(self.item())

    # -- Python and NumPy -------------------------------------------------------------------------
    def item(self):
        """The one element as a Python number; RuntimeError if there is not exactly one."""
        if self.array.size != 1:
            raise RuntimeError(f"a Tensor with {self.array.size} elements cannot be converted to "
                               f"Scalar")
        if self.array.dtype.kind == "V":                   # bfloat16, whose item() is not a float
            return float(self.array.reshape(()))
        return self.backend.to_host(self.array).item()

    def tolist(self):
        """The elements as nested lists of Python numbers (a number for a 0-d tensor)."""
        array = self.backend.to_host(self.array)
        return (array.astype(np.float32) if array.dtype.kind == "V" else array).tolist()

    @property
    def _version(self):
        """The number of writes in place to its memory."""
        if self.is_inference():
            raise RuntimeError("Inference tensors do not track version counter.")
        return graph.versions.count(self.array)

    # -- the graph --------------------------------------------------------------------------------
    @property
    def requires_grad(self):
        """True if gradients flow to this tensor."""
        return self.needs_grad

    @requires_grad.setter
    def requires_grad(self, value):
        if value.__class__ is not bool:
            raise RuntimeError(f"requires_grad must be a bool, not {type(value).__name__}")
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad=True):
        """Switch gradients for this tensor on or off. It must be a leaf; to require gradients, its
        dtype must be floating-point or complex."""
        if requires_grad.__class__ is not bool:
            raise TypeError(f"requires_grad_(): argument 'requires_grad' (position 1) must be "
                            f"bool, not {type(requires_grad).__name__}")
        if self.node is not None and not requires_grad:
            raise RuntimeError("you can only change requires_grad flags of leaf variables. If you "
                               "want to use a computed variable in a subgraph that doesn't require "
                               "differentiation use var_no_grad = var.detach().")
        if requires_grad and self.array.dtype.kind not in "fcV":
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if requires_grad and self.is_inference() and not grad_mode.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside "
                               "InferenceMode is not allowed.")
        self.needs_grad = requires_grad
        return self

    @property
    def retains_grad(self):
        """True if `retain_grad` was called on this computed tensor."""
        hooks = self.node.hooks if self.node is not None else None
        return hooks is not None and any([ref() is self for ref in hooks.retain])

    @property
    def grad(self):
        """The sum of the gradients of all backward passes for this leaf; None before the first."""
        if self._grad is None and self.node is not None and not self.retains_grad:
            warnings.warn("The .grad attribute of a Tensor that is not a leaf Tensor is being "
                          "accessed. Its .grad attribute won't be populated during "
                          "autograd.backward(). If you indeed want the .grad field to be populated "
                          "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor.",
                          stacklevel=2)
        return self._grad

    @grad.setter
    def grad(self, g):
        if g is not None:
            check_grad(self, g)
        self._grad = g

    @grad.deleter
    def grad(self):
        self._grad = None

    def detach(self):
        """A new tensor over the same memory, outside of the graph: it does not require grad."""
        return wrap(*self.backend.detached(self.array))

    def detach_(self):
        """Forget the call that made this tensor; it becomes a leaf that does not require grad."""
        if self._base is not None:
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        self.node, self.needs_grad, self.hooks = None, False, None
        return self

    def graph(self, model=None, params=None):
        """A picture of the graph behind this tensor: see `minitorch.viz.graph`."""
        return guests.draw_graph(self, model, params)

    # -- text -------------------------------------------------------------------------------------
    def __repr__(self, *, tensor_contents=None):
        return late.tensor_repr(self, contents=tensor_contents)

    def _repr_html_(self):
        return late.tensor_html(self)

    # -- copies -----------------------------------------------------------------------------------
    def __deepcopy__(self, memo):
        return deepcopy_tensor(self, memo)

    def __reduce_ex__(self, protocol):
        return reduce_tensor(self)


@Hook
def deepcopy_tensor(tensor, memo):
    """``copy.deepcopy(tensor)``. Filled by `serialization.tensors`."""
    raise NotImplementedError("copies of tensors are made by minitorch.serialization")


@Hook
def reduce_tensor(tensor):
    """``tensor.__reduce_ex__(protocol)``. Filled by `serialization.tensors`."""
    raise NotImplementedError("tensors are pickled by minitorch.serialization")


def check_grad(x, g):
    """Raise an error if `g` cannot be the `grad` of the tensor `x`."""
    if not isinstance(g, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type "
                        f"{type(g).__name__}")
    if g is x:
        raise RuntimeError("can't assign Variable as its own grad")
    if g.array.shape != x.array.shape:
        raise RuntimeError(f"attempting to assign a gradient of size '{list(g.array.shape)}' to a "
                           f"tensor of size '{list(x.array.shape)}'. Please ensure that the "
                           f"gradient and the tensor are the same size")
    if g.array.dtype != x.array.dtype or g.backend is not x.backend:
        raise RuntimeError(f"attempting to assign a gradient of type {g.dtype} on {g.device} to a "
                           f"tensor of type {x.dtype} on {x.device}: convert it, as in g.to(x)")


def wrap(array, backend, new=object.__new__):
    """A leaf tensor around a raw array, without a copy."""
    if array.__class__ is not backend.ndarray:             # such as a NumPy scalar from a reduction
        if hasattr(array, "as_tensor"):                    # one that makes its own tensor
            return array.as_tensor(backend)
        array = backend.asarray(array)
    out = new(Tensor)
    out.array, out.backend = array, backend
    return out


def from_numpy(ndarray):
    """A tensor over the memory of a NumPy array; an error for byte orders, strides and dtypes that
    tensors cannot have."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if not ndarray.dtype.isnative:
        raise ValueError("given numpy array has byte order different from the native byte order: "
                         "convert it first, as in array.astype(array.dtype.newbyteorder('='))")
    dtypes.from_np(ndarray.dtype)
    if any([s < 0 for s in ndarray.strides]):
        raise ValueError("At least one of the strides in the given numpy array is negative, and "
                         "tensors with negative strides are not currently supported. (You can "
                         "probably work around this by making a copy of your array with "
                         "array.copy().)")
    return wrap(ndarray if type(ndarray) is np.ndarray else np.asarray(ndarray), host())


def mark_view(view, source, ref=weakref.ref):
    """Note that `view` shares the memory of `source`, unless the op had to copy."""
    base, array = view.array.base, source.array
    if base is not array and (base is None or base is not array.base):
        return
    root = source._base
    if root is None:
        root = source
    view._base = root
    views = root._views
    if views is None:
        root._views = [ref(view)]
    else:
        views.append(ref(view))
        n = len(views)
        if n >= 16 and n & (n - 1) == 0:               # at each power of two, drop dead references
            views[:] = [ref for ref in views if ref() is not None]
