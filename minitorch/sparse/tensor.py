"""`SparseTensor`: a tensor whose array is a `SparseArray`, and who answers the calls on it.

Calls come by `autograd.dispatch` to the table `ANSWERS`, by the name of the function or method,
which other modules of this package fill. An op that is not there is refused. All other functions
run as they are written, on others; what reads elements that are not there is refused by the array.
"""

from .. import Tensor
from ..extend import FUNCTIONS, OPS, disabled_torch_function, enter_layout, wrap
from ..nn import Parameter
from .arrays import NoElements, SparseArray
from .layouts import LAYOUTS
from .printing import text_of

__all__ = ["ANSWERS", "SparseTensor", "answers", "made", "no_out", "refused"]

ANSWERS: dict = {}         # name of a function or method -> what it does with sparse tensors

# Methods that are refused although they read no elements.
OF_MEMORY = {"storage", "untyped_storage", "dim_order", "new", "new_empty", "new_full", "new_ones"}
FAMILY = {"sparse_coo": "Sparse", "sparse_csr": "SparseCsr", "sparse_csc": "SparseCsc"}


def answers(*names):
    """Decorator of a function that answers calls of these names, by default of its own."""
    def enter(function):
        ANSWERS.update(dict.fromkeys(names or (function.__name__,), function))
        return function
    return enter


def refused(name, tensor):
    """NotImplementedError in PyTorch's words, with what can be done."""
    family = FAMILY[tensor.array.pattern.layout].replace("Csc", "Csr")
    return NotImplementedError(f"Could not run 'aten::{name}' with arguments from the '{family}"
                               f"{'CUDA' if tensor.is_cuda else 'CPU'}' backend: sparse tensors have no {name}. "
                               "`x.to_dense()` has the same elements, `x.coalesce().values()` (of CSR `x.values()`) "
                               "those of its entries")


class SparseTensor(Tensor):
    """A tensor that keeps its entries alone: indices and values. Made by `minitorch.sparse_coo_tensor` and the like."""

    __torch_function__ = disabled_torch_function           # overrides stand above; `answer` is asked below them

    def __new__(cls, *args, **kwargs):
        raise TypeError("sparse tensors are made by sparse_coo_tensor, sparse_csr_tensor or x.to_sparse()")

    def answer(self, func, inner, args, kwargs):
        """The result of the call ``func(*args, **kwargs)``, in which this tensor is an argument."""
        name = named(func)
        found = ANSWERS.get(name)
        if found is not None:
            no_out(name, kwargs.pop("out", None))
        elif is_op(func, name) or name in OF_MEMORY:
            raise refused(name, self)
        try:
            return (found or inner)(*args, **kwargs)
        except NoElements:
            raise refused(name, self) from None
        except AttributeError as error:                    # of an argument that is not a tensor
            if found is None:
                raise
            given = ", ".join([type(x).__name__ for x in (*args, *kwargs.values())])
            raise TypeError(f"{name}() of sparse tensors does not take ({given})") from error

    # -- what it is ------------------------------------------------------------------------------------------
    layout = property(lambda self: LAYOUTS[self.array.pattern.layout], doc="How the entries are kept.")
    is_sparse = property(lambda self: self.array.pattern.layout == "sparse_coo",
                         doc="True if the layout is COO.")
    is_sparse_csr = property(lambda self: self.array.pattern.layout == "sparse_csr",
                             doc="True if the layout is CSR.")
    _version = 0

    @property
    def nbytes(self):
        """The size of the values of a compressed tensor in bytes; of a COO tensor it is not defined."""
        if self.is_sparse:
            raise RuntimeError("nbytes is not defined for sparse tensors.  If you want the size of the constituent "
                               "tensors, add the nbytes of the indices and values.  If you want the size of the "
                               "equivalent dense tensor, multiply numel() by element_size()")
        return self.numel() * self.itemsize

    @property
    def data(self):
        """The same entries without the graph."""
        return made(self.array, self.backend)

    @data.setter
    def data(self, other):
        if not isinstance(other, SparseTensor):
            raise RuntimeError("data of a sparse tensor has to be a sparse tensor")
        self.array, self.backend = other.array, other.backend

    def __repr__(self, *, tensor_contents=None):
        return text_of(self)

    def _repr_html_(self):
        return None

    def __iter__(self):
        return iter(ANSWERS["unbind"](self, 0))

    # -- its parts -------------------------------------------------------------------------------------------
    def sparse_dim(self):
        """The number of dimensions that are kept by indices."""
        return len(self.array.pattern.sizes)

    def dense_dim(self):
        """The number of dimensions of one value."""
        return self.array.values.ndim - 1

    def _nnz(self):
        """The number of entries, those at the same place counted one by one."""
        return self.array.pattern.nnz

    def is_coalesced(self):
        """True if a COO tensor is known to have each place once, in order."""
        self.need("is_coalesced", "sparse_coo")
        return self.array.pattern.coalesced

    def _indices(self):
        """(sparse_dim, nnz): the places of the entries, as they are kept."""
        self.need("_indices", "sparse_coo")
        return self.part(self.array.pattern.indices)

    def indices(self):
        """(sparse_dim, nnz): the places of the entries of a coalesced tensor."""
        self.need("indices", "sparse_coo")
        self.need_coalesced("indices")
        return self._indices()

    def _values(self):
        """(nnz, *dense sizes): the values as they are kept, without gradient."""
        self.need("_values", "sparse_coo")
        return self.part(self.array.values)

    def values(self):
        """(nnz, *dense sizes): the values, with gradient; a COO tensor must be coalesced."""
        if self.is_sparse:
            self.need_coalesced("values")
        return ANSWERS["values"](self)

    def crow_indices(self):
        """Where each row of a CSR tensor begins among its entries, and the number of entries."""
        self.need("crow_indices", "sparse_csr")
        return self.part(self.array.pattern.compressed)

    def col_indices(self):
        """The column of each entry of a CSR tensor."""
        self.need("col_indices", "sparse_csr")
        return self.part(self.array.pattern.plain)

    def ccol_indices(self):
        """Where each column of a CSC tensor begins among its entries, and the number of entries."""
        self.need("ccol_indices", "sparse_csc")
        return self.part(self.array.pattern.compressed)

    def row_indices(self):
        """The row of each entry of a CSC tensor."""
        self.need("row_indices", "sparse_csc")
        return self.part(self.array.pattern.plain)

    def part(self, array):
        """One of its arrays, as a tensor."""
        return wrap(array, self.backend)

    def sent_to(self, parent):
        """This tensor, a gradient, as a graph node takes it: see `SparseArray.sent_to`."""
        return self if self.array.sent_to(parent) is self.array else ANSWERS["to_dense"](self)

    def need(self, name, layout):
        """RuntimeError unless the tensor has this layout."""
        if self.array.pattern.layout == layout:
            return
        family = FAMILY[self.array.pattern.layout]
        if layout == "sparse_coo":
            wanted = "sparse coordinate tensor layout"
        else:
            wanted = f"sparse {'row' if layout == 'sparse_csr' else 'column'} compressed tensor layout"
        raise RuntimeError(f"{name} expected {wanted} but got {family}")

    def need_coalesced(self, name):
        if not self.array.pattern.coalesced:
            raise RuntimeError(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")


class SparseParameter(SparseTensor, Parameter):
    """An `nn.Parameter` of a sparse tensor."""

    def __new__(cls, data=None, requires_grad=True):
        self = object.__new__(cls)
        self.array, self.backend = data.array, data.backend
        self.needs_grad = requires_grad
        return self

    def __repr__(self, *, tensor_contents=None):
        return "Parameter containing:\n" + text_of(self)


def no_out(name, out):
    """NotImplementedError unless the argument `out` of a call is None."""
    if out is not None:
        raise NotImplementedError(f"{name}: out= is not supported for sparse tensors: write "
                                  "out.copy_(result)")


def named(func):
    """The name of a function, a method or the property behind a getter."""
    if isinstance(stored := getattr(func, "__self__", None), property):
        return next((name for name, found in vars(Tensor).items() if found is stored), "property")
    name = func.__name__
    plain, of_linalg = [getattr(FUNCTIONS.get((space, name)), "call", None) for space in ("", "linalg")]
    return f"linalg_{name}" if func is of_linalg is not plain else name


def is_op(func, name):
    """True for an op, for a method of its name, and for one that writes its result in place."""
    return hasattr(func, "op") or name.removesuffix("_") in OPS


def made(array, backend, new=object.__new__):
    """A leaf around a `SparseArray`."""
    out = new(SparseTensor)
    out.array, out.backend = array, backend
    return out


SparseArray.as_tensor = lambda self, backend: made(self, backend.backend)


def of_all_layouts(name, found):
    """A property of Tensor that is refused where it reads elements."""
    def get(self):
        try:
            return found.fget(self)
        except NoElements:
            raise refused(name, self) from None
    return property(get, found.fset, found.fdel, found.__doc__)


for _name, _found in list(vars(Tensor).items()):
    if isinstance(_found, property) and _name not in {*vars(SparseTensor), "__dict__"}:
        setattr(SparseTensor, _name, of_all_layouts(_name, _found))
enter_layout(SparseTensor)
enter_layout(SparseParameter)
