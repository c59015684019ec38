"""Tensors from nothing, with the array API standard's arguments."""

import minitorch as torch

__all__ = ["arange", "asarray", "empty", "empty_like", "eye", "full", "full_like", "linspace", "meshgrid", "ones",
           "ones_like", "tril", "triu", "zeros", "zeros_like"]


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """`obj` as a tensor, on its own device if it is one; `copy`: True always, False never, None where needed."""
    if device is None and isinstance(obj, torch.Tensor):
        device = obj.device
    return torch.asarray(obj, dtype=dtype, device=device, copy=copy)


def filled(name, maker):
    def call(shape, *, dtype=None, device=None):
        return maker((shape,) if isinstance(shape, int) else shape, dtype=dtype, device=device)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`minitorch.{name}`, whose `shape` may be an int."
    return call


def like(name, maker):
    def call(x, /, *, dtype=None, device=None):
        return maker(x, dtype=dtype, device=device)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`minitorch.{name}`."
    return call


empty, ones, zeros = [filled(name, getattr(torch, name)) for name in ("empty", "ones", "zeros")]
empty_like, ones_like, zeros_like = [like(name, getattr(torch, name))
                                     for name in ("empty_like", "ones_like", "zeros_like")]


def full(shape, fill_value, *, dtype=None, device=None):
    """A tensor of one number; `shape` may be an int."""
    return torch.full((shape,) if isinstance(shape, int) else shape, fill_value, dtype=dtype, device=device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """A tensor of one number in the shape of `x`."""
    return torch.full_like(x, fill_value, dtype=dtype, device=device)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """Numbers from `start` (0) up to, but without, `stop`; none where the step leads away from it."""
    if stop is None:
        start, stop = 0, start
    if (stop - start) * step <= 0 != step:
        whole = all([isinstance(n, int) for n in (start, stop, step)])
        return torch.empty(0, dtype=dtype or (torch.int64 if whole else None), device=device)
    return torch.arange(start, stop, step, dtype=dtype, device=device)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """`num` numbers at equal distances from `start` to `stop`, or without `endpoint` up to the one before."""
    found = torch.linspace(start, stop, num + (not endpoint), dtype=dtype, device=device)
    return found if endpoint else found[:-1]


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """Ones on the `k`-th diagonal of a matrix of zeros."""
    found = torch.zeros(n_rows, n_rows if n_cols is None else n_cols, dtype=dtype, device=device)
    if -n_rows <= k <= found.shape[1]:
        found.diagonal(k).fill_(1)
    return found


def tril(x, /, *, k=0):
    """`x` with zeros above the `k`-th diagonal."""
    return torch.tril(x, k)


def triu(x, /, *, k=0):
    """`x` with zeros below the `k`-th diagonal."""
    return torch.triu(x, k)


def meshgrid(*arrays, indexing="xy"):
    """Coordinates of a grid, one tensor for each axis."""
    return tuple(torch.meshgrid(*arrays, indexing=indexing)) if arrays else ()
