"""From samples to a batch: `default_collate`, `default_convert`, and pinning, which walk the same nested containers."""

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from ...core.dtypes import float64
from ...core.tensor import Tensor
from ...ops.creation.create import as_tensor
from ...ops.shapes.join import stack

CollateMap = dict[type | tuple[type, ...], Callable]


def default_convert(data: Any) -> Any:
    """NumPy arrays and numbers inside ``data`` become tensors, everything else stays: the collation of unbatched data.

    >>> default_convert([0, {"x": np.array([1, 2])}])
    [0, {'x': tensor([1, 2])}]
    """
    if isinstance(data, Tensor):
        return data
    if isinstance(data, np.ndarray) or isinstance(data, (np.number, np.bool_)):
        return data if _is_text(data.dtype) else as_tensor(data)
    return rebuild(data, default_convert)


def default_collate(batch: Sequence) -> Any:
    """A batch from a list of samples that are alike: tensors get a new first dimension.

    Tensors, NumPy arrays and numbers become tensors (float: float64, int: int64); strings and bytes stay lists;
    mappings, named tuples, tuples and lists are collated field by field (a tuple becomes a list, as in PyTorch).

    Raises TypeError for samples of other types, RuntimeError where their sizes differ.

    >>> default_collate([(0, "a"), (1, "b")])
    [tensor([0, 1]), ('a', 'b')]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Sequence, *, collate_fn_map: CollateMap | None = None) -> Any:
    """`default_collate` with a custom table: type of a sample ->
    ``function(batch, *, collate_fn_map)``."""
    sample = batch[0]
    function = _lookup(sample, collate_fn_map or {})
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)

    def column(values: Sequence) -> Any:
        return collate(values, collate_fn_map=collate_fn_map)

    if isinstance(sample, Mapping):
        return _like_mapping(sample, {key: column([other[key] for other in batch]) for key in sample})
    if isinstance(sample, tuple) and hasattr(sample, "_fields"):
        return type(sample)(*(column(values) for values in zip(*batch)))
    if isinstance(sample, Sequence):
        if any(len(other) != len(sample) for other in batch):
            sizes = [len(other) for other in batch]
            raise RuntimeError(f"each element in list of batch should be of equal size, got sizes {sizes}")
        columns = [column(values) for values in zip(*batch)]
        return columns if isinstance(sample, tuple) else _like_sequence(sample, columns)
    raise TypeError(_WRONG_TYPE.format(type(sample)))


def _lookup(sample: Any, table: CollateMap) -> Callable | None:
    if type(sample) in table:
        return table[type(sample)]
    return next((function for kind, function in table.items() if isinstance(sample, kind)), None)


def collate_tensor_fn(batch: Sequence, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    return stack(list(batch), 0)


def collate_numpy_array_fn(batch: Sequence, *, collate_fn_map: CollateMap | None = None) -> Any:
    if _is_text(batch[0].dtype):
        raise TypeError(_WRONG_TYPE.format(batch[0].dtype))
    return collate([as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Sequence, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    return as_tensor(np.array(batch))


def collate_float_fn(batch: Sequence, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    return as_tensor(batch, dtype=float64)


def collate_int_fn(batch: Sequence, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    return as_tensor(batch)


def collate_str_fn(batch: Sequence, *, collate_fn_map: CollateMap | None = None) -> Sequence:
    return batch


# The first entry whose type a sample is an instance of decides, so the order counts: np.float64 is a float too.
default_collate_fn_map: CollateMap = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}

np_str_obj_array_pattern = re.compile(r"[SaUO]")           # as PyTorch has it, for names of dtypes
_WRONG_TYPE = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def pin_memory(data: Any) -> Any:
    """``data`` with every tensor in it (and whatever else has a ``pin_memory()``) in page-locked memory."""
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if type(data) is tuple:  # unlike `default_convert`, PyTorch keeps tuples here
        return tuple(pin_memory(item) for item in data)
    return rebuild(data, pin_memory)


def rebuild(data: Any, convert: Callable[[Any], Any]) -> Any:
    """A container like ``data`` with its items converted (a plain tuple becomes a list); anything else as it is."""
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(convert(item) for item in data))
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        items = [convert(item) for item in data]
        return items if isinstance(data, tuple) else _like_sequence(data, items)
    return data


def _like_mapping(model: Mapping, items: dict) -> Any:
    """``items`` in a mapping of ``model``'s class; a copy keeps further state such as a default factory."""
    try:
        if isinstance(model, MutableMapping):
            clone = copy.copy(model)
            clone.update(items)
            return clone
        return type(model)(items)  # type: ignore[call-arg]
    except TypeError:  # a class with a constructor of its own
        return items


def _like_sequence(model: Sequence, items: list) -> Any:
    try:
        if isinstance(model, MutableSequence):
            clone = copy.copy(model)
            for i, item in enumerate(items):
                clone[i] = item
            return clone
        return type(model)(items)  # type: ignore[call-arg]
    except TypeError:  # range, for one, cannot be built from a list
        return items


def _is_text(dtype: np.dtype) -> bool:
    """Arrays of strings, bytes or objects, which no tensor can hold."""
    return dtype.kind in "SUO"
