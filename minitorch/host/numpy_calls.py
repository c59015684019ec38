"""NumPy's functions on tensors, such as ``np.mean(x, axis=0)``.

Most of them ask a tensor for its array (`__array__`) or for its method of the function's name. Universal functions
(``np.sin(x)``) do the first and wrap the result as a tensor again; they never come here.
"""

import inspect

import numpy as np

from ..core.tensor import Tensor

__all__ = ["answer"]


def answer(tensor, function, types, args, kwargs):
    """The result of ``function(*args, **kwargs)``, a function of NumPy that has `tensor` among its arguments.

    NumPy's own code runs on the tensors first, with PyTorch's results: their method answers, in the
    graph, or their arrays do. Where a method does not take what NumPy hands it, or gives PyTorch's
    result where NumPy's is another, the function runs on arrays and its results become tensors: as
    NumPy itself does for some functions. These arrays cannot be written to, so that no function
    writes past the graph; tensors that require gradients have none (RuntimeError).
    """
    if not all([issubclass(t, (Tensor, np.ndarray)) for t in types]):
        return NotImplemented                              # of another library, which may know better
    compute = function._implementation
    try:
        found = compute(*args, **kwargs)
    except (TypeError, ValueError, AttributeError, RuntimeError, NotImplementedError):
        return shown(tensor, compute(*hidden(args), **{name: hidden(value) for name, value in kwargs.items()}))
    if inspect.ismethod(found):                            # of `np.size`: an attribute for NumPy, a method for PyTorch
        return compute(*hidden(args), **kwargs)
    if isinstance(found, tuple) and hasattr(found, "indices") and hasattr(found, "values"):
        return found.values                                # of `np.max` along an axis: PyTorch's has indices beside
    return found


def hidden(value):
    """Tensors as arrays that cannot be written to, in lists and tuples too."""
    if isinstance(value, Tensor):
        array = np.asarray(value).view()
        array.flags.writeable = False
        return array
    return type(value)([hidden(x) for x in value]) if type(value) in (list, tuple) else value


def shown(tensor, value):
    """Arrays and NumPy's numbers as tensors of the class of `tensor`, in lists and tuples too."""
    if isinstance(value, (np.ndarray, np.generic)):
        return tensor.__array_wrap__(np.array(value))
    return type(value)([shown(tensor, x) for x in value]) if type(value) in (list, tuple) else value
