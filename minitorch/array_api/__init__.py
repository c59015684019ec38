"""The array API standard's names and rules over tensors: the module that ``x.__array_namespace__()`` gives.

    xp = x.__array_namespace__()
    xp.sum(x, axis=(0, 2), keepdims=True)                  # the standard's arguments, the standard's dtypes

Libraries that are written for the standard (https://data-apis.org/array-api/2025.12) ask an array for this module:
scikit-learn with ``array_api_dispatch=True``, SciPy with SCIPY_ARRAY_API=1. Its functions call those of the package, so
results are in the graph, on the tensor's device, and may be in a vmap. They differ where the standard differs from
PyTorch:

- dimensions are called `axis` and `keepdims`; reductions take None, an axis, several, and none, the empty tuple;
- 0-d tensors take part in type promotion as all others do, which in PyTorch they do not;
- `max`, `min` and `sort` give values alone; `var` and `std` divide by n unless `correction` says otherwise;
- NaNs differ from each other in `unique_values` and its like.

Operators of tensors stay PyTorch's. Of the standard's dtypes uint16, uint32 and uint64 are left out: PyTorch's have no
type promotion.
"""

import sys

from .. import (  # noqa: A004
    bool,
    complex64,
    complex128,
    e,
    float32,
    float64,
    from_dlpack,
    inf,
    int8,
    int16,
    int32,
    int64,
    nan,
    newaxis,
    pi,
    uint8,
)
from . import fft, linalg
from .creation import *  # noqa: F403
from .creation import __all__ as _creation
from .elementwise import *  # noqa: F403
from .elementwise import __all__ as _elementwise
from .manipulation import *  # noqa: F403
from .manipulation import __all__ as _manipulation
from .products import matmul, matrix_transpose, tensordot, vecdot
from .promotion import Info as __array_namespace_info__  # noqa: N813  the standard's name of it
from .promotion import astype, can_cast, finfo, iinfo, isdtype, result_type
from .reductions import *  # noqa: F403
from .reductions import __all__ as _reductions
from .searching import *  # noqa: F403
from .searching import __all__ as _searching

__array_api_version__ = "2025.12"
__all__ = ["__array_api_version__", "__array_namespace_info__", "astype", "bool", "can_cast", "complex64", "complex128",
           "e", "fft", "finfo", "float32", "float64", "from_dlpack", "iinfo", "inf", "int8", "int16", "int32", "int64",
           "isdtype", "linalg", "matmul", "matrix_transpose", "nan", "newaxis", "pi", "result_type", "tensordot",
           "uint8", "vecdot", *_creation, *_elementwise, *_manipulation, *_reductions, *_searching]
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", __array_api_version__)


def __dir__():
    return sorted(__all__)


def namespace(x, api_version=None):
    """The result of ``x.__array_namespace__(api_version=None)``: this module.

    Raises:
        ValueError: `api_version` is not a version of the standard that this module implements.
    """
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(f"array API version {api_version!r} is not available: "
                         f"expected None or one of {VERSIONS}")
    return sys.modules[__name__]
