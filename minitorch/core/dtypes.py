"""Data types: PyTorch's names over NumPy's dtypes, and PyTorch's promotion rules.

Outside (on tensors, in public calls) a data type is a `dtype` of this module; inside (raw arrays,
references, formulas) it is a NumPy dtype. `as_np` and `from_np` convert between the two. The
promotion rules are those of
https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc: every operand takes part
in choosing the category (bool < integer < floating < complex); tensors with dimensions choose the
size alone if one of them is of that category.
"""

import builtins
from functools import cache

import numpy as np

__all__ = ["can_cast", "dtype", "get_default_dtype", "promote_types", "set_default_dtype"]

BOOL, INTEGER, FLOATING, COMPLEX = range(4)


class dtype:
    """The type of a tensor's elements, such as ``minitorch.float32``.

    Attributes: `name`, `itemsize` (bytes), `is_floating_point`, `is_complex`, `is_signed`, and
    `np`, the NumPy dtype. It prints as in PyTorch (``torch.float32``), so that printed values can
    be pasted into a program.
    """

    __slots__ = ("name", "category", "itemsize", "is_signed", "_np")

    def __init__(self, name, category, itemsize, is_signed=True):
        self.name, self.category = name, category
        self.itemsize, self.is_signed = itemsize, is_signed
        self._np = (None if name in ("bfloat16", "complex32") or name[:6] == "float8"
                    else np.dtype(name))

    @property
    def np(self):
        if self._np is None:
            load(self)
        return self._np

    is_floating_point = property(lambda self: self.category == FLOATING)
    is_complex = property(lambda self: self.category == COMPLEX)

    def to_complex(self):
        """The complex type whose parts have this precision."""
        if self.category < FLOATING:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.name}")
        if self.category == COMPLEX:
            return self
        return complex128 if self is float64 else complex64

    def to_real(self):
        """The floating-point type of a complex type's parts; other types are returned as they are.
        """
        return {"complex32": float16, "complex64": float32, "complex128": float64}.get(self.name,
                                                                                       self)

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        return self.name                               # pickled as the module's global of that name

    def __copy__(self, memo=None):
        return self

    __deepcopy__ = __copy__


bool = dtype("bool", BOOL, 1, False)
uint8 = dtype("uint8", INTEGER, 1, False)
int8 = dtype("int8", INTEGER, 1)
int16 = short = dtype("int16", INTEGER, 2)
int32 = int = dtype("int32", INTEGER, 4)
int64 = long = dtype("int64", INTEGER, 8)
uint16 = dtype("uint16", INTEGER, 2, False)
uint32 = dtype("uint32", INTEGER, 4, False)
uint64 = dtype("uint64", INTEGER, 8, False)
FLOAT8 = [dtype("float8_" + name, FLOATING, 1, name != "e8m0fnu")  # kept, not computed with
          for name in "e4m3fn e5m2 e4m3fnuz e5m2fnuz e8m0fnu".split()]
float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu = FLOAT8
# only a name, for programs that list dtypes: there are no complex32 tensors
complex32 = chalf = dtype("complex32", COMPLEX, 4)
float16 = half = dtype("float16", FLOATING, 2)
bfloat16 = dtype("bfloat16", FLOATING, 2)
float32 = float = dtype("float32", FLOATING, 4)
float64 = double = dtype("float64", FLOATING, 8)
complex64 = cfloat = dtype("complex64", COMPLEX, 8)
complex128 = cdouble = dtype("complex128", COMPLEX, 16)

ALL = (bool, uint8, int8, int16, int32, int64, uint16, uint32, uint64, float16, bfloat16, float32,
       float64, complex64, complex128)
LIMITED = (uint16, uint32, uint64)                   # PyTorch promotes these to floats only
NAMES = ("bool uint8 int8 int16 short int32 int int64 long uint16 uint32 uint64 float16 half "
         "bfloat16 float32 float float64 double complex32 chalf complex64 cfloat complex128 "
         "cdouble").split() + [d.name for d in FLOAT8]

# One dictionary from either spelling to the NumPy dtype, and one back. The types of ml_dtypes are
# added when first used.
_np_of = {key: d._np for d in ALL if d._np is not None for key in (d, d._np)}
_dtype_of = {d._np: d for d in ALL if d._np is not None}
_PYTHON = {builtins.bool: bool, builtins.int: int64, builtins.float: float64, complex: complex128}
_default = float32
EXTENDED = {d.name: d for d in (bfloat16, *FLOAT8)}        # ml_dtypes adds these to NumPy


def load(d):
    """Register the type of that name from ml_dtypes; RuntimeError if the package is missing."""
    if d is complex32:
        raise NotImplementedError("there are no complex32 tensors: use complex64")
    try:
        import ml_dtypes
    except ImportError:
        raise RuntimeError(f"{d.name} needs the package ml_dtypes: `pip install "
                           f"ml_dtypes`") from None
    d._np = found = np.dtype(getattr(ml_dtypes, d.name))
    _np_of[d] = _np_of[found] = found
    _dtype_of[found] = d


def as_np(d):
    """The NumPy dtype of a `dtype` or a NumPy dtype; TypeError for anything else."""
    try:
        return _np_of[d]
    except (KeyError, TypeError):
        pass
    if isinstance(d, dtype):
        return d.np
    if d in _PYTHON:
        return _np_of[_PYTHON[d]]
    raise TypeError(f"expected a dtype such as minitorch.float32, got {d!r} (of type "
                    f"{type(d).__name__})")


def from_np(d):
    """The `dtype` of a NumPy dtype; TypeError if tensors cannot hold it."""
    try:
        return _dtype_of[d]
    except KeyError:
        pass
    d = np.dtype(d)
    if d.name in EXTENDED:
        load(EXTENDED[d.name])
    native = d.newbyteorder("=")
    if native in _dtype_of:
        return _dtype_of[native]
    raise TypeError(f"can't convert np.ndarray of type {d}. The only supported types are: "
                    f"{', '.join(t.name for t in ALL)}")


def get_default_dtype():
    """The dtype of tensors made from Python floats; float32 unless changed."""
    return _default


def set_default_dtype(d):
    """Set the dtype of tensors made from Python floats to a floating-point type."""
    global _default
    if not (isinstance(d, dtype) and d.is_floating_point):
        raise TypeError(f"only floating-point types are supported as the default type, got {d!r}")
    _default = d
    _result_category.cache_clear()


def of_scalar(x):
    """The dtype of the Python number `x` in PyTorch: bool, int64, the default dtype or its complex
    counterpart."""
    x = x.item() if isinstance(x, np.generic) else x
    kind = _PYTHON.get(type(x)) or next((d for t, d in _PYTHON.items() if isinstance(x, t)), None)
    if kind is None:
        raise TypeError(f"expected a number, got {x!r} (of type {type(x).__name__})")
    if kind is float64:
        return _default
    return _default.to_complex() if kind is complex128 else kind


@cache
def promote_types(type1, type2):
    """The result type of two dtypes by PyTorch's rules (int64 with float32 is float32)."""
    a, b = sorted((type1, type2), key=lambda d: d.category)
    if a is b:
        return b
    if a in FLOAT8 or b in FLOAT8:
        raise RuntimeError(f"Promotion for Float8 Types is not supported, attempted to promote "
                           f"{type1.name} and {type2.name}: convert one of them, as in x.float()")
    if b.category != FLOATING and (a in LIMITED or b in LIMITED):
        raise RuntimeError(f"Promotion for uint16, uint32, uint64 types is not supported, "
                           f"attempted to promote {a.name} and {b.name}")
    if a.category == BOOL:
        return b
    if a.category < b.category < COMPLEX:
        return b
    if b.category == COMPLEX:
        return complex128 if complex128 in (a, b) or float64 in (a, b) else complex64
    if a.category == FLOATING and bfloat16 in (a, b):
        other = a if b is bfloat16 else b
        return float32 if other is float16 else other
    return _dtype_of[np.promote_types(a.np, b.np)]


@cache
def _result_category(dimensioned, zero_dim, number):
    """The result type of operands in PyTorch's three groups: tensors with dimensions, 0-d tensors,
    numbers. Each argument is the type of one group, or None if the group is empty."""
    def combine(strong, weak):
        if strong is None or weak is None:
            return strong or weak
        if strong.category == COMPLEX:
            return strong
        if strong.category == FLOATING:
            return strong.to_complex() if weak.category == COMPLEX else strong
        if weak.category >= FLOATING:
            return weak
        return promote_types(strong, weak) if strong.category == BOOL else strong
    return combine(dimensioned, combine(zero_dim, number))


def common_dtype(operands):
    """The type that an op computes in, for raw arrays and Python numbers."""
    groups = [None, None, None]
    for x in operands:
        is_number = not hasattr(x, "ndim")
        d = of_scalar(x) if is_number else from_np(x.dtype)
        place = 2 if is_number else x.ndim == 0
        groups[place] = d if groups[place] is None else promote_types(groups[place], d)
    return _result_category(*groups)


def can_cast(from_, to):
    """True if PyTorch's promotion rules allow the cast: not to a lower category, such as from float
    to integer."""
    return from_.category <= to.category
