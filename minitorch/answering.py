"""How classes of tensors around another one answer calls: nested tensors, in both layouts.

Such a class is asked about every call on its tensors. It enters rules by name, and for all other
calls asks here what kind of call it is: element by element, along a dimension, a question.
"""

from . import Tensor
from .autograd import grad
from .autograd.graph import GradientEdge
from .extend import FUNCTIONS, WrappingTensor, inner_of
from .ops.dims import is_along as is_op_along
from .utils._pytree import tree_map

__all__ = ["differentiate", "implementation_of", "is_along", "is_question", "name_of",
           "ruling", "written_by"]

# Questions about the kind of a tensor that come as calls: the same of the inner tensor.
OF_KIND = frozenset(
    "is_coalesced is_complex is_conj is_contiguous is_cpu is_cuda is_distributed is_floating_point "
    "is_inference is_ipu is_leaf is_maia is_meta is_mkldnn is_mps is_mtia is_neg is_nested "
    "is_nonzero is_pinned is_quantized is_shared is_signed is_sparse is_sparse_csr is_storage "
    "is_tensor is_vulkan is_xla is_xpu".split())


def differentiate(func, args, kwargs):
    """`autograd.backward` and `autograd.grad` of wrapping tensors.

    Gradients of inputs are in the structures of these.
    """
    found = func(*tree_map(inner_of, args), **tree_map(inner_of, kwargs))
    if func is not grad:
        return found
    inputs = args[1] if len(args) > 1 else kwargs["inputs"]
    if isinstance(inputs, (Tensor, GradientEdge)):
        inputs = (inputs,)
    return tuple([x.like(g) if isinstance(x, WrappingTensor) and g is not None else g
                  for x, g in zip(inputs, found, strict=True)])


def name_of(func):
    """The name under which rules are entered for a public function, a method or a property."""
    stored = getattr(func, "__self__", None)
    if isinstance(stored, property):
        return next((name for name, found in vars(Tensor).items() if found is stored), "a property")
    return func.__name__


def implementation_of(func):
    """The body of a function that is made of others, to be run on wrapping tensors; None for an op."""
    found = (getattr(func, "__kwdefaults__", None) or {}).get("_inner")
    return None if found is None or hasattr(func, "op") else found


def is_along(func):
    """True if a public function is an op of one tensor along the dimensions that `dim` names."""
    return hasattr(func, "op") and is_op_along(func.op)


def is_question(name, args, kwargs):
    """True if a call asks only what kind of tensor it is: the inner tensor answers."""
    return name in OF_KIND and len(args) == 1 and not kwargs and isinstance(args[0], WrappingTensor)


def written_by(name):
    """The public function behind a method that writes in place, such as ``add_``; None if there is none."""
    found = FUNCTIONS.get(("", name[:-1])) if name.endswith("_") and not name.endswith("__") else None
    return None if found is None else found.call


def ruling(rules):
    """A decorator ``rule(names)`` that enters a function under each of the names in `rules`.

    The function is called as ``rule(func, *args, **kwargs)``.
    """
    def rule(names):
        def enter(function):
            rules.update(dict.fromkeys(names.split(), function))
            return function
        return enter
    return rule
