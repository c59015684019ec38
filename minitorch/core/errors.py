"""Errors that several packages raise, with PyTorch's classes and messages.

Calls do not repeat the checks that NumPy makes: when a call fails, `minitorch/explain/failures.py`
examines the arguments again, slowly, and words the message.
"""

import numpy as np

__all__ = ["ArrayLinAlgError", "OutOfMemoryError", "checked_dim", "not_a_tensor", "not_implemented",
           "out_of_range", "worded"]

# raised by array modules for singular matrices and the like
ArrayLinAlgError = np.linalg.LinAlgError


class OutOfMemoryError(RuntimeError):
    """The GPU is out of memory. The process can go on: free unused tensors and try again."""


OutOfMemoryError.__module__ = "torch"


def worded(error):
    """`error`, marked so that its class and message stay as they are when a call fails with it:
    ``raise worded(ValueError(...))``."""
    error.explained = True
    return error


def checked_dim(dim, ndim):
    """`dim` counted from the front; IndexError, with the valid range, if there is no such
    dimension.

    A 0-d tensor counts as having one dimension, as in PyTorch.
    """
    n = ndim or 1
    if not -n <= dim < n:
        raise out_of_range(dim, n)
    return dim % n


def out_of_range(dim, n):
    """IndexError for a dimension that `n` dimensions do not have."""
    return worded(IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], "
                             f"but got {dim})"))


def not_a_tensor(op, kind, position, x):
    """TypeError for an argument that should have been a tensor."""
    wanted = {"number": "Tensor or a number", "variadic": "tuple of Tensors"}.get(kind.kind,
                                                                                  "Tensor")
    return worded(TypeError(f"{op.name}(): argument '{kind.name}' (position {position + 1}) must "
                            f"be {wanted}, not {type(x).__name__}"))


TYPE_NAMES = {"int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte",
              "bool": "Bool", "float32": "Float", "float64": "Double", "float16": "Half",
              "bfloat16": "BFloat16", "complex64": "ComplexFloat", "complex128": "ComplexDouble"}


def not_implemented(name, dtype):
    """NotImplementedError, in PyTorch's words, for an op that does not support a (NumPy) dtype."""
    way = ({"f": "long", "V": "long", "c": "abs"}.get(dtype.kind, "float") if dtype.itemsize > 1
           else "float")
    kind = TYPE_NAMES.get(dtype.name, dtype.name.capitalize())
    return NotImplementedError(f"\"{name}\" not implemented for '{kind}': convert "
                               f"the {dtype.name} tensor first, as in x.{way}()")
