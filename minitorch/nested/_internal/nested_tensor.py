"""Nested tensors: `NestedTensor` of the layout ``torch.jagged``, `StridedNestedTensor` of the other.

A nested tensor is a tensor on a `NestedBackend`. Its class answers calls (`calls.py`), and has what
the structure has that its array holds (`batch.py`).
"""

import copy

from ... import Tensor
from ...extend import disabled_torch_function, enter_layout
from . import calls
from .crossing import asked_of, tensor_of
from .jagged import Jagged
from .strided import Strided

__all__ = ["Nested", "NestedTensor", "StridedNestedTensor"]


class Nested(Tensor):
    """A batch of tensors of one dtype that differ in size; it has what its structure has."""

    is_nested = True

    __torch_function__ = disabled_torch_function           # overrides stand above; `answer` is asked below them

    def answer(self, func, inner, args, kwargs):
        """The result of the call ``func(*args, **kwargs)``, in which this tensor is an argument."""
        return calls.answer(func, inner, args, kwargs)

    def __getattr__(self, name):
        if name.startswith("__") or not hasattr(self.array.held, name):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'",
                                 name=name, obj=self)
        return asked_of(self, name)

    def __iter__(self):
        return iter(self.elements())

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            held = self.array.held
            inner = held._inner if self.is_leaf else self._inner   # which refuses to be copied
            made = tensor_of(held.like(copy.deepcopy(inner, memo)))
            memo[id(self)] = made.requires_grad_(self.requires_grad)
        return memo[id(self)]

    def _repr_html_(self):
        return None


class NestedTensor(Nested):
    """A batch of tensors of one dtype whose sizes differ in one dimension. Made by the functions of `nested`.

    `values` has the shape of an element, with all elements behind each other along the ragged dimension, which is
    dimension `_ragged_idx` of this tensor. `offsets` has B + 1 whole numbers, `lengths` none or B.
    """

    def __new__(cls, values, offsets, *, lengths=None, requires_grad=False, _ragged_idx=1, _metadata_cache=None):
        check(values, offsets, lengths, _ragged_idx)
        made = tensor_of(Jagged(values, offsets, lengths, _ragged_idx))
        return made.requires_grad_() if requires_grad else made

    def __tensor_flatten__(self):
        names = ["_inner", "_offsets", *(["_lengths"] if self._lengths is not None else [])]
        return names, dict(requires_grad=self.requires_grad, ragged_idx=self._ragged_idx)


class StridedNestedTensor(Nested):
    """A batch of tensors of one dtype and number of dimensions. Made by the functions of `nested`."""

    def __new__(cls, buffer, sizes):
        return tensor_of(Strided(buffer, sizes))


def check(values, offsets, lengths, ragged):
    """Errors of the classes that PyTorch raises, unless the parts of a nested tensor fit together."""
    if not isinstance(offsets, Tensor) or offsets.ndim != 1 or not len(offsets):
        raise AssertionError(f"offsets must be 1D with B + 1 whole numbers, but got "
                             f"{getattr(offsets, 'shape', offsets)}")
    if not isinstance(values, Tensor) or values.is_nested:
        raise AssertionError(f"values must be a Tensor that is not nested, got {type(values).__name__}")
    if values.device != offsets.device:
        raise AssertionError(f"values and offsets must be on the same device, but got values.device={values.device} "
                             f"and offsets.device={offsets.device}")
    if lengths is not None and len(lengths) != len(offsets) - 1:
        raise AssertionError(f"offsets and lengths batch sizes must match: offsets.shape[0] - 1 = {len(offsets) - 1}, "
                             f"lengths.shape[0] = {lengths.shape[0]}")
    if not 1 <= ragged <= values.ndim:
        raise ValueError(f"the ragged dimension has to be between 1 and {values.ndim}, those of the values, "
                         f"got {ragged}")


Jagged.tensor_class, Strided.tensor_class = NestedTensor, StridedNestedTensor
for _cls in (NestedTensor, StridedNestedTensor):
    enter_layout(_cls, properties=True)
