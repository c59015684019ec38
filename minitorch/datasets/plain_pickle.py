"""Pickles of arrays of numbers and built-in containers, as published data sets are; no code is run."""

import os
import pickle
import re
from typing import Any

import numpy as np

from ..serialization.unpickler import Unpickler, encode, shown
from ..utils.bounds import size_of


def load_plain_pickle(path: str | os.PathLike) -> Any:
    """The object in a pickle of arrays and built-in containers. Whatever else the file asks for is refused, not run."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        return _PlainUnpickler(data, _refuse).load()
    except pickle.UnpicklingError as error:
        raise RuntimeError(f"{path} cannot be read: {error}") from error


def _refuse(saved_id: Any) -> None:
    raise pickle.UnpicklingError("it refers to something outside")


class _NdArray:
    """The place of ``numpy.ndarray`` in a file: a name, not to be called."""


def _make_array(kind: Any, shape: Any, code: Any) -> np.ndarray:
    """``_reconstruct``: an empty array, which `_restore_array` fills."""
    if kind is not _NdArray or shape not in ((0,), [0]):
        raise pickle.UnpicklingError(f"it asks for an array of {shown(kind)}, not of numpy.ndarray")
    return np.empty(0, np.uint8)


def _make_dtype(code: Any, align: Any = False, copy: Any = True) -> np.dtype:
    if type(code) is not str or not re.fullmatch("b1|[iu][1248]|f[248]|c8|c16", code):
        raise pickle.UnpicklingError(f"it has an array of type {shown(code)}, which is not numeric")
    return np.dtype(code, copy=True)


def _restore_dtype(dtype: np.dtype, state: Any) -> None:
    """Set the byte order, all that the state of a plain dtype says."""
    right = type(state) is tuple and all(type(part) in (int, str, type(None)) for part in state)
    if not right or state not in [(3, order, None, None, None, -1, -1, 0) for order in "<>|="]:
        raise pickle.UnpicklingError("it has an array of a type that is not a plain number")
    dtype.__setstate__(state)  # type: ignore[attr-defined]


def _restore_array(array: np.ndarray, state: Any) -> None:
    if type(state) is not tuple or len(state) != 5 or type(state[0]) is not int or state[0] != 1:
        raise pickle.UnpicklingError("it has an array in a form that is not known")
    _, shape, dtype, fortran, data = state
    data = data.encode("latin1") if type(data) is str else data
    if type(shape) is not tuple or not isinstance(dtype, np.dtype) or type(data) is not bytes \
            or type(fortran) not in (bool, int):
        raise pickle.UnpicklingError("it has an array without shape, type, order or bytes")
    if size_of(shape, dtype.itemsize) != len(data):
        raise pickle.UnpicklingError(f"it has an array of shape {shown(shape)} in {len(data)} bytes")
    array.__setstate__((1, shape, dtype, bool(fortran), data))  # type: ignore[arg-type]


class _PlainUnpickler(Unpickler):
    encoding = "latin1", "strict"
    known = {
        "numpy.core.multiarray._reconstruct": _make_array,
        "numpy._core.multiarray._reconstruct": _make_array,
        "numpy.ndarray": _NdArray,
        "numpy.dtype": _make_dtype,
        "_codecs.encode": encode,
    }

    def find(self, module: str, name: str) -> Any:
        try:
            return self.known[f"{module}.{name}"]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module[:60]}.{name[:60]}, which is not data") from None

    def apply(self, function: Any, args: tuple) -> Any:
        if not any(function is known for known in (_make_array, _make_dtype, encode)):
            raise pickle.UnpicklingError(f"it calls {shown(function)}")
        return function(*args)

    def restore(self, target: Any, state: Any) -> None:
        if type(state) is tuple and state and isinstance(state[-1], (str, bytes)):
            self.spend(len(state[-1]))
        if type(target) is np.ndarray:
            _restore_array(target, state)
        elif isinstance(target, np.dtype):
            _restore_dtype(target, state)
        else:
            raise pickle.UnpicklingError(f"it changes an object of type {shown(type(target))}")

    def is_allowed(self, value: Any) -> bool:
        return False
