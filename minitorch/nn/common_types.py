"""``torch.nn.common_types``: names for annotations of sizes, one number for all dimensions or one for each."""

from typing import TypeVar, Union

from ..core.tensor import Tensor

T = TypeVar("T")
_scalar_or_tuple_any_t = Union[T, tuple[T, ...]]                                                       # noqa: UP007
_scalar_or_tuple_1_t = Union[T, tuple[T]]                                                              # noqa: UP007
_scalar_or_tuple_2_t = Union[T, tuple[T, T]]                                                           # noqa: UP007
_scalar_or_tuple_3_t = Union[T, tuple[T, T, T]]                                                        # noqa: UP007
_scalar_or_tuple_4_t = Union[T, tuple[T, T, T, T]]                                                     # noqa: UP007
_scalar_or_tuple_5_t = Union[T, tuple[T, T, T, T, T]]                                                  # noqa: UP007
_scalar_or_tuple_6_t = Union[T, tuple[T, T, T, T, T, T]]                                               # noqa: UP007

_size_any_t, _ratio_any_t = _scalar_or_tuple_any_t[int], _scalar_or_tuple_any_t[float]  # type: ignore[misc]
_size_1_t, _size_2_t, _size_3_t = _scalar_or_tuple_1_t[int], _scalar_or_tuple_2_t[int], _scalar_or_tuple_3_t[int]  # type: ignore[misc]
_size_4_t, _size_5_t, _size_6_t = _scalar_or_tuple_4_t[int], _scalar_or_tuple_5_t[int], _scalar_or_tuple_6_t[int]  # type: ignore[misc]
_ratio_2_t, _ratio_3_t = _scalar_or_tuple_2_t[float], _scalar_or_tuple_3_t[float]  # type: ignore[misc]

_tensor_list_t = Union[Tensor, list[Tensor]]                                                           # noqa: UP007
_maybe_indices_t = _scalar_or_tuple_2_t[Tensor]
