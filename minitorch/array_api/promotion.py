"""dtypes by the array API standard: those that there are, the kind of each, and the type that several lead to."""

import functools

import minitorch as torch

__all__ = ["Info", "astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type", "together"]

KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8",),
    "integral": ("signed integer", "unsigned integer"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
    "numeric": ("integral", "real floating", "complex floating"),
}


def dtypes_of(kind):
    """{name: dtype} of the standard's types of a kind: one of `KINDS`, a tuple of these, or None for all."""
    if kind is None:
        kind = ("bool", "numeric")
    if not isinstance(kind, tuple):
        if kind not in KINDS:
            raise ValueError(f"Unrecognized data type kind: {kind!r}: expected one of {list(KINDS)}")
        if kind != "bool" and KINDS[kind][0] not in KINDS:
            return {name: getattr(torch, name) for name in KINDS[kind]}
        kind = KINDS[kind] if kind != "bool" else ()
        return {"bool": torch.bool} if not kind else dtypes_of(kind)
    return {name: dtype for one in kind for name, dtype in dtypes_of(one).items()}


def isdtype(dtype, kind):
    """True if a dtype is `kind`, another dtype, or of that kind ("integral" ...), or is one of a
    tuple of such."""
    if isinstance(kind, tuple):
        return any([isdtype(dtype, one) for one in kind])
    return dtype == kind if isinstance(kind, torch.dtype) else dtype in dtypes_of(kind).values()


def type_of(x):
    return x if isinstance(x, torch.dtype) else x.dtype


def result_type(*arrays_and_dtypes):
    """The dtype of a result of tensors, dtypes and Python numbers; shapes do not matter, and numbers give way."""
    numbers = [x for x in arrays_and_dtypes if isinstance(x, (bool, int, float, complex))]
    others = [type_of(x) for x in arrays_and_dtypes if not isinstance(x, (bool, int, float, complex))]
    if not others:
        raise ValueError("At least one array or dtype must be provided")
    found = functools.reduce(torch.promote_types, others)
    for number in numbers:
        found = torch.result_type(torch.empty(1, dtype=found), number)
    return found


def together(*values):
    """Tensors, and numbers among them, as tensors of the one dtype that the standard's promotion gives."""
    dtype = result_type(*values)
    device = next(x.device for x in values if isinstance(x, torch.Tensor))
    return [x.to(dtype) if isinstance(x, torch.Tensor) else torch.tensor(x, dtype=dtype, device=device)
            for x in values]


def can_cast(from_, to, /):
    """True if values of a dtype, or of a tensor's, may become `to` by type promotion."""
    return torch.can_cast(type_of(from_), to)


def astype(x, dtype, /, *, copy=True, device=None):
    """`x` with another dtype: a copy, or with ``copy=False`` the tensor itself where nothing changes."""
    return x.to(device=x.device if device is None else device, dtype=dtype, copy=copy)


class Limits:
    """The limits of a dtype, as the standard wants them: `dtype` is one, not its name."""

    def __init__(self, found, dtype):
        vars(self).update(vars(found))
        self.dtype = dtype


def finfo(type, /):
    """Limits of the floats of a dtype or of a tensor: `bits eps max min smallest_normal dtype`."""
    return Limits(torch.finfo(type_of(type)), type_of(type).to_real())


def iinfo(type, /):
    """Limits of the integers of a dtype or of a tensor: `bits max min dtype`."""
    return Limits(torch.iinfo(type_of(type)), type_of(type))


class Info:
    """``xp.__array_namespace_info__()``: what may be asked about the namespace."""

    def capabilities(self):
        """Indexing by masks, shapes that depend on data, and 64 dimensions, as NumPy has them."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self):
        """The device of new tensors."""
        return torch.get_default_device()

    def devices(self):
        """The processor, and each GPU that is there."""
        return (torch.device("cpu"), *[torch.device("cuda", i) for i in range(torch.cuda.device_count())])

    def default_dtypes(self, *, device=None):
        """The dtypes of numbers, by kind, and of indices."""
        real = torch.get_default_dtype()
        return {"real floating": real, "complex floating": real.to_complex(), "integral": torch.int64,
                "indexing": torch.int64}

    def dtypes(self, *, device=None, kind=None):
        """{name: dtype} of a kind, a tuple of kinds, or all."""
        return dtypes_of(kind)
