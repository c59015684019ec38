"""minitorch: PyTorch's eager API in pure Python over NumPy and CuPy.

>>> import minitorch as torch
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])

The public names, in PyTorch's spelling, and nothing else: functions come from the op registry (`minitorch/ops`), parts
that not every program needs are imported when first asked for. `docs/architecture.md` says in which order to read.
"""
# Generated from the op registry by `python docs/build_stubs.py`: edit docs/stub_types.py, or the definition, instead.
import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, SupportsIndex, TypeAlias, overload

import numpy as _np
from .ops.creation.legacy import storagetype as _storagetype, tensortype as _tensortype
from . import return_types as return_types
from .core.device import device as _device
from .core.dtypes import dtype as _dtype
from .ops.shapes.memory import TypedStorage as _TypedStorage
from .ops.shapes.memory import UntypedStorage as _UntypedStorage
from .core.storage import layout as _layout
from .core.storage import memory_format as _memory_format
from .random.generator import Generator as _Generator
from .jit import CompilationUnit as CompilationUnit
from .autograd.dispatch import DisableTorchFunction as DisableTorchFunction
from .autograd.dispatch import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from .cuda import Event as Event
from .jit import Future as Future
from .random.generator import Generator as Generator
from .amp import GradScaler as GradScaler
from .core.errors import OutOfMemoryError as OutOfMemoryError
from .serialization.archive import PyTorchFileReader as PyTorchFileReader
from .jit import ScriptFunction as ScriptFunction
from .jit import ScriptModule as ScriptModule
from .core.tensor import Size as Size
from .cuda import Stream as Stream
from .sym import SymBool as SymBool
from .sym import SymFloat as SymFloat
from .sym import SymInt as SymInt
from .core.tensor import Tensor as Tensor
from .jit import TensorType as TensorType
from .ops.shapes.memory import TypedStorage as TypedStorage
from .ops.shapes.memory import UntypedStorage as UntypedStorage
from . import __config__ as __config__
from .sym import _assert as _assert
from .sym import _assert_async as _assert_async
from .ops.nn.softmax import _softmax_backward_data as _softmax_backward_data
from . import accelerator as accelerator
from . import amp as amp
from . import ao as ao
from .settings import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from . import array_api as array_api
from .amp.autocast_mode import autocast as autocast
from . import autograd as autograd
from . import backends as backends
from .core.dtypes import bfloat16 as bfloat16
from .core.dtypes import bool as bool
from .core.dtypes import can_cast as can_cast
from .core.dtypes import cdouble as cdouble
from .core.dtypes import cfloat as cfloat
from .core.dtypes import chalf as chalf
from .core.storage import channels_last as channels_last
from .core.storage import channels_last_3d as channels_last_3d
from .amp.autocast_mode import clear_autocast_cache as clear_autocast_cache
from .compiler import compile as compile
from . import compiler as compiler
from .core.dtypes import complex128 as complex128
from .core.dtypes import complex32 as complex32
from .core.dtypes import complex64 as complex64
from .core.storage import contiguous_format as contiguous_format
from . import core as core
from . import cpu as cpu
from . import cuda as cuda
from . import datasets as datasets
from .random.generator import default_generator as default_generator
from .core.device import device as device
from . import distributed as distributed
from . import distributions as distributions
from .core.dtypes import double as double
from .sparse.products import dsmm as dsmm
from .core.dtypes import dtype as dtype
from .autograd.grad_mode import enable_grad as enable_grad
from . import export as export
from .compiler.export import export_c as export_c
from . import fft as fft
from .host.type_info import finfo as finfo
from .core.dtypes import float as float
from .core.dtypes import float16 as float16
from .core.dtypes import float32 as float32
from .core.dtypes import float64 as float64
from .core.dtypes import float8_e4m3fn as float8_e4m3fn
from .core.dtypes import float8_e4m3fnuz as float8_e4m3fnuz
from .core.dtypes import float8_e5m2 as float8_e5m2
from .core.dtypes import float8_e5m2fnuz as float8_e5m2fnuz
from .core.dtypes import float8_e8m0fnu as float8_e8m0fnu
from .jit import fork as fork
from . import formula as formula
from . import func as func
from . import functional as functional
from . import futures as futures
from . import fx as fx
from .amp.autocast_mode import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from .amp.autocast_mode import get_autocast_dtype as get_autocast_dtype
from .amp.autocast_mode import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from .settings import get_default_device as get_default_device
from .core.dtypes import get_default_dtype as get_default_dtype
from .settings import get_deterministic_debug_mode as get_deterministic_debug_mode
from .accelerator import get_device_module as get_device_module
from .settings import get_float32_matmul_precision as get_float32_matmul_precision
from .settings import get_num_interop_threads as get_num_interop_threads
from .settings import get_num_threads as get_num_threads
from .core.dtypes import half as half
from .sparse.products import hsmm as hsmm
from .sparse.products import hspmm as hspmm
from . import hub as hub
from .host.type_info import iinfo as iinfo
from .autograd.grad_mode import inference_mode as inference_mode
from .core.dtypes import int as int
from .core.dtypes import int16 as int16
from .core.dtypes import int32 as int32
from .core.dtypes import int64 as int64
from .core.dtypes import int8 as int8
from .autograd.anomaly import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from .autograd.anomaly import is_anomaly_enabled as is_anomaly_enabled
from .amp.autocast_mode import is_autocast_available as is_autocast_available
from .amp.autocast_mode import is_autocast_cache_enabled as is_autocast_cache_enabled
from .amp.autocast_mode import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from .amp.autocast_mode import is_autocast_enabled as is_autocast_enabled
from .settings import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from .autograd.grad_mode import is_grad_enabled as is_grad_enabled
from .autograd.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from .settings import is_warn_always_enabled as is_warn_always_enabled
from .core.storage import jagged as jagged
from . import jit as jit
from .core.storage import layout as layout
from . import library as library
from . import linalg as linalg
from .serialization import load as load
from .core.dtypes import long as long
from . import masked as masked
from . import memory as memory
from .core.storage import memory_format as memory_format
from . import mps as mps
from . import mtia as mtia
from . import multiprocessing as multiprocessing
from . import nested as nested
from . import nn as nn
from .autograd.grad_mode import no_grad as no_grad
from . import onnx as onnx
from . import ops as ops
from . import optim as optim
from . import overrides as overrides
from .core.storage import preserve_format as preserve_format
from . import printing as printing
from . import profiler as profiler
from .core.dtypes import promote_types as promote_types
from . import quantization as quantization
from . import quasirandom as quasirandom
from . import random as random
from .sparse.pointwise import resize_as_sparse_ as resize_as_sparse_
from .host.type_info import result_type as result_type
from .sparse.products import saddmm as saddmm
from .serialization import save as save
from . import serialization as serialization
from .autograd.anomaly import set_anomaly_enabled as set_anomaly_enabled
from .amp.autocast_mode import set_autocast_cache_enabled as set_autocast_cache_enabled
from .amp.autocast_mode import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from .amp.autocast_mode import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from .amp.autocast_mode import set_autocast_dtype as set_autocast_dtype
from .amp.autocast_mode import set_autocast_enabled as set_autocast_enabled
from .amp.autocast_mode import set_autocast_gpu_dtype as set_autocast_gpu_dtype
from .settings import set_default_device as set_default_device
from .core.dtypes import set_default_dtype as set_default_dtype
from .settings import set_deterministic_debug_mode as set_deterministic_debug_mode
from .settings import set_float32_matmul_precision as set_float32_matmul_precision
from .settings import set_flush_denormal as set_flush_denormal
from .autograd.grad_mode import set_grad_enabled as set_grad_enabled
from .settings import set_num_interop_threads as set_num_interop_threads
from .settings import set_num_threads as set_num_threads
from .printing import set_printoptions as set_printoptions
from .settings import set_warn_always as set_warn_always
from . import settings as settings
from .core.dtypes import short as short
from . import signal as signal
from .sparse.products import smm as smm
from . import sparse as sparse
from .sparse.creation import sparse_compressed_tensor as sparse_compressed_tensor
from .sparse.layouts import sparse_coo as sparse_coo
from .sparse.creation import sparse_coo_tensor as sparse_coo_tensor
from .sparse.layouts import sparse_csc as sparse_csc
from .sparse.creation import sparse_csc_tensor as sparse_csc_tensor
from .sparse.layouts import sparse_csr as sparse_csr
from .sparse.creation import sparse_csr_tensor as sparse_csr_tensor
from . import special as special
from .sparse.products import spmm as spmm
from .sparse.products import sspaddmm as sspaddmm
from . import storage as storage
from .core.storage import strided as strided
from .sym import sym_float as sym_float
from .sym import sym_fresh_size as sym_fresh_size
from .sym import sym_int as sym_int
from .sym import sym_ite as sym_ite
from .sym import sym_max as sym_max
from .sym import sym_min as sym_min
from .sym import sym_not as sym_not
from .sym import sym_sqrt as sym_sqrt
from .sym import sym_sum as sym_sum
from . import testing as testing
from . import torch_version as torch_version
from . import transforms as transforms
from . import types as types
from .core.dtypes import uint16 as uint16
from .core.dtypes import uint32 as uint32
from .core.dtypes import uint64 as uint64
from .core.dtypes import uint8 as uint8
from .settings import use_deterministic_algorithms as use_deterministic_algorithms
from . import utils as utils
from . import version as version
from . import viz as viz
from .func import vmap as vmap
from .jit import wait as wait
from . import xpu as xpu
__version__: builtins.str
_bool: TypeAlias = builtins.bool                           # the plain names are dtypes, and methods of Tensor
_int: TypeAlias = builtins.int
_Int: TypeAlias = builtins.int | _np.integer[Any]
_float: TypeAlias = builtins.float
_complex: TypeAlias = builtins.complex
_str: TypeAlias = builtins.str
_Number: TypeAlias = _complex | _np.generic
_Operand: TypeAlias = Tensor | _complex | _np.generic | _np.ndarray[Any, Any]

BFloat16Storage: _storagetype
BFloat16Tensor: _tensortype
BoolStorage: _storagetype
BoolTensor: _tensortype
ByteStorage: _storagetype
ByteTensor: _tensortype
CharStorage: _storagetype
CharTensor: _tensortype
ComplexDoubleStorage: _storagetype
ComplexFloatStorage: _storagetype
DoubleStorage: _storagetype
DoubleTensor: _tensortype
FloatStorage: _storagetype
FloatTensor: _tensortype
HalfStorage: _storagetype
HalfTensor: _tensortype
IntStorage: _storagetype
IntTensor: _tensortype
LongStorage: _storagetype
LongTensor: _tensortype
ShortStorage: _storagetype
ShortTensor: _tensortype
Storage: _storagetype
e: _float
has_lapack: _bool
has_mkl: _bool
has_openmp: _bool
has_spectral: _bool
inf: _float
nan: _float
newaxis: None
pi: _float
def reshape(input: Tensor, shape: _Int | Sequence[_Int]) -> Tensor:
    """`input` with another shape: a view where the strides allow it, otherwise a copy. One size may be -1."""
def transpose(input: Tensor, dim0: _Int, dim1: _Int) -> Tensor:
    """A view with two dimensions swapped."""
def swapdims(input: Tensor, dim0: _Int, dim1: _Int) -> Tensor:
    """A view with two dimensions swapped."""
def permute(input: Tensor, dims: _Int | Sequence[_Int]) -> Tensor:
    """A view with the dimensions in the order `dims`."""
@overload
def unsqueeze(input: Tensor, dim: _Int) -> Tensor:
    """A view with a dimension of size 1 inserted at `dim`."""
@overload
def unsqueeze(input: Tensor, *, axis: _Int | Sequence[_Int]) -> Tensor: ...
def tensor(data: Any, *, dtype: _dtype | builtins.type[Any] | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A new tensor holding a copy of `data`: a number, (nested) list, NumPy array or tensor.

    Floats become the default dtype, integers int64, bools bool; NumPy arrays keep their dtype.

    >>> import minitorch
    >>> minitorch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
def as_tensor(data: Any, dtype: _dtype | builtins.type[Any] | None = None, device: _device | _str | _Int | None = None) -> Tensor:
    """`data` as a tensor, sharing memory where it can: tensors and NumPy arrays of the right dtype are not copied."""
def asarray(obj: Any, *, dtype: _dtype | builtins.type[Any] | None = None, device: _device | _str | _Int | None = None, copy: _bool | None = None, requires_grad: _bool | None = None) -> Tensor:
    """`obj` as a tensor; `copy` True always copies, False never (ValueError if it would have to).

    A tensor stays in its graph, as a copy of it does, unless `requires_grad` is False, or True and nothing is copied.
    """
def from_numpy(ndarray: Any) -> Tensor:
    """A tensor that shares the memory of a NumPy array: writes to one are seen in the other."""
def frombuffer(buffer: Any, *, dtype: _dtype | builtins.type[Any], count: _Int = -1, offset: _Int = 0, requires_grad: _bool = False) -> Tensor:
    """A 1-D tensor over the memory of a Python buffer (bytes, bytearray, array.array ...), without copying."""
def from_file(filename: Any, shared: Any = None, size: _Int | Sequence[_Int] = 0, *, dtype: _dtype | builtins.type[Any] | None = None, requires_grad: _bool = False) -> Tensor:
    """A 1-D tensor of `size` elements over the bytes of a file; writes reach the file if it is `shared`.

    The file is made, or made longer, if it is `shared`; else RuntimeError if it is too short.
    """
def from_dlpack(ext_tensor: Any, *, device: _device | _str | _Int | None = None, copy: _bool | None = None) -> Tensor:
    """A tensor over the memory of any object that speaks DLPack, or over a capsule that such an object made, once.

    The memory may be the host's or a GPU's: the tensor is on the device where it lies, `device` moves it.
    `copy`: True always copies, False never (ValueError, or the object's own error, if it would have to).
    """
def zeros(*shape: _Int | Sequence[_Int], size: _Int | Sequence[_Int] | None = None, out: Tensor | None = None, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """A tensor of zeros; of a sparse `layout`, one without entries."""
def ones(*shape: _Int | Sequence[_Int], size: _Int | Sequence[_Int] | None = None, out: Tensor | None = None, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """A tensor of ones."""
def empty(*shape: _Int | Sequence[_Int], size: _Int | Sequence[_Int] | None = None, out: Tensor | None = None, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False, pin_memory: _bool = False, memory_format: _memory_format | None = None) -> Tensor:
    """A tensor whose elements are whatever the memory held."""
def full(size: _Int | Sequence[_Int], fill_value: _Number, *, out: Tensor | None = None, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A tensor of `size` filled with a number, whose type decides the dtype if none is given."""
def zeros_like(input: Tensor, *, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False, pin_memory: _bool = False, memory_format: _memory_format | None = None) -> Tensor:
    """A tensor of the shape, dtype and device of `input`: see `zeros`."""
def ones_like(input: Tensor, *, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False, pin_memory: _bool = False, memory_format: _memory_format | None = None) -> Tensor:
    """A tensor of the shape, dtype and device of `input`: see `ones`."""
def empty_like(input: Tensor, *, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False, pin_memory: _bool = False, memory_format: _memory_format | None = None) -> Tensor:
    """A tensor of the shape, dtype and device of `input`: see `empty`."""
def full_like(input: Tensor, fill_value: _Number, *, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False, pin_memory: _bool = False, memory_format: _memory_format | None = None) -> Tensor:
    """A tensor of the shape, dtype and device of `input`, filled with a number."""
def arange(start: _Number | Tensor, end: _Number | Tensor | None = None, step: _Number | Tensor = 1, *, out: Tensor | None = None, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Numbers from `start` (0 if only one bound is given) up to, but without, `end`, `step` apart."""
def range(start: _Number | Tensor, end: _Number | Tensor | None = None, step: _Number | Tensor = 1, *, out: Tensor | None = None, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False) -> Tensor:
    """Numbers from `start` to `end`, both included, `step` apart; PyTorch keeps it for old programs."""
def linspace(start: _Number | Tensor, end: _Number | Tensor, steps: _Int, *, out: Tensor | None = None, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """`steps` numbers at equal distances from `start` to `end`, both included."""
def logspace(start: _Number | Tensor, end: _Number | Tensor, steps: _Int, base: _Number = 10.0, *, out: Tensor | None = None, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """`steps` powers of `base` with exponents at equal distances from `start` to `end`, both included."""
def eye(n: _Int, m: _Int | None = None, *, out: Tensor | None = None, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """An n by m (default n) matrix with ones on the diagonal."""
def tril_indices(row: _Int, col: _Int, offset: _Int = 0, *, dtype: _dtype | builtins.type[Any] = ..., device: _device | _str | _Int | None = None, layout: _layout | None = None) -> Tensor:
    """Rows and columns of the lower triangle, as a (2, n) tensor."""
def triu_indices(row: _Int, col: _Int, offset: _Int = 0, *, dtype: _dtype | builtins.type[Any] = ..., device: _device | _str | _Int | None = None, layout: _layout | None = None) -> Tensor:
    """Rows and columns of the upper triangle, as a (2, n) tensor."""
def scalar_tensor(s: Any, *, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """A 0-d tensor of a number."""
def empty_strided(size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int], *, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """An uninitialised tensor with the given strides (in elements)."""
def empty_permuted(size: _Int | Sequence[_Int], physical_layout: _Int | Sequence[_Int], *, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """An uninitialised tensor whose memory has the dimensions in the order `physical_layout`."""
def clone(input: Tensor, *, memory_format: _memory_format | None = None) -> Tensor:
    """A copy with memory of its own; gradients flow through it. The elements keep their order in memory, unless
    `memory_format` asks for another.
    """
def set_default_tensor_type(t: Any) -> None:
    """Let new tensors have the dtype of a legacy type; `set_default_dtype` says it more clearly."""
def typename(obj: Any) -> _str:
    """The name of an object's type, with its module; for a tensor the name of its legacy type."""
def is_storage(obj: Any) -> _bool:
    """True if `obj` is a storage."""
def is_tensor(obj: object) -> _bool:
    """True if `obj` is a tensor."""
def is_floating_point(input: Tensor) -> _bool:
    """True if the dtype of `input` is a floating-point type."""
def is_complex(input: Tensor) -> _bool:
    """True if the dtype of `input` is complex."""
def is_signed(input: Tensor) -> _bool:
    """True if the dtype of `input` has negative values."""
def numel(input: Tensor) -> _int:
    """The number of elements of `input`."""
def detach(input: Tensor) -> Tensor:
    """The memory of `input` without its graph."""
def is_nonzero(input: Tensor) -> _bool:
    """True if the one element of `input` is not zero."""
def get_device(input: Tensor) -> _int:
    """The index of the device of `input`; -1 for the CPU."""
def is_same_size(input: Tensor, other: _Operand) -> _bool:
    """True if both tensors have the same shape."""
def is_conj(input: Tensor) -> _bool:
    """False: conjugates are computed at once, not marked."""
def is_neg(input: Tensor) -> _bool:
    """False: negations are computed at once, not marked."""
def manual_seed(seed: _Int) -> _Generator:
    """Start the default generators' streams of `seed`, an integer from -2**63 to 2**64 - 1; returns the CPU's."""
def seed() -> _int:
    """Seed the default generators from the operating system's randomness; returns the seed."""
def initial_seed() -> _int:
    """The seed that the default generator's stream started from."""
def get_rng_state() -> Tensor:
    """The default generator's state, as a uint8 tensor."""
def set_rng_state(new_state: Tensor) -> None:
    """Continue from a state that `get_rng_state`, here or in PyTorch, has returned."""
def flatten(input: Tensor, start_dim: _Int = 0, end_dim: _Int = -1) -> Tensor:
    """`input` with the dimensions from `start_dim` to `end_dim` as one; a view where the strides allow it."""
def unflatten(input: Tensor, dim: _Int, sizes: _Int | Sequence[_Int]) -> Tensor:
    """`input` with dimension `dim` as several of `sizes`; one size may be -1."""
def ravel(input: Tensor) -> Tensor:
    """`input` as one row; a view where the strides allow it."""
def squeeze(input: Tensor, dim: _Int | Sequence[_Int] | None = None) -> Tensor:
    """`input` without its dimensions of size 1, or without those of them that are among `dim`: a view."""
def expand_as(input: Tensor, other: _Operand) -> Tensor:
    """`input` expanded to the shape of `other`."""
def broadcast_to(input: Tensor, size: _Int | Sequence[_Int]) -> Tensor:
    """A view of `input` broadcast to `size`."""
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors as views of their common broadcast shape; those that have it already as they are."""
def broadcast_shapes(*shapes: _Int | Sequence[_Int]) -> Size:
    """The shape to which tensors of these shapes broadcast."""
def swapaxes(input: Tensor, axis0: _Int, axis1: _Int) -> Tensor:
    """The same as `transpose`."""
def movedim(input: Tensor, source: _Int | Sequence[_Int], destination: _Int | Sequence[_Int]) -> Tensor:
    """`input` with the dimensions `source` moved to the positions `destination`: a view."""
def moveaxis(input: Tensor, source: _Int | Sequence[_Int], destination: _Int | Sequence[_Int]) -> Tensor:
    """The same as `movedim`."""
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; a vector or number as it is."""
def select(input: Tensor, dim: _Int, index: _Int) -> Tensor:
    """The slice of `input` at `index` of dimension `dim`, which disappears: a view."""
def narrow(input: Tensor, dim: _Int, start: _Int | Tensor, length: _Int) -> Tensor:
    """`length` slices of `input` from `start` on, along `dim`: a view."""
def diagonal(input: Tensor, offset: _Int = 0, dim1: _Int = 0, dim2: _Int = 1) -> Tensor:
    """The diagonal of the matrices in dimensions `dim1` and `dim2`, as the last dimension: a view."""
def unbind(input: Tensor, dim: _Int = 0) -> tuple[Tensor, ...]:
    """The slices of `input` along `dim` as a tuple of views."""
def split(tensor: Tensor, split_size_or_sections: _Int | Sequence[_Int], dim: _Int = 0) -> tuple[Tensor, ...]:
    """Consecutive chunks along `dim`, of one size (the last may be smaller) or of the sizes given: views."""
def split_with_sizes(input: Tensor, split_sizes: Sequence[_Int], dim: _Int = 0) -> tuple[Tensor, ...]:
    """Consecutive chunks of the given sizes along `dim`: views."""
def chunk(input: Tensor, chunks: _Int, dim: _Int = 0) -> tuple[Tensor, ...]:
    """`input` in at most `chunks` parts of one size along `dim` (the last may be smaller): views."""
def tensor_split(input: Tensor, sections: _Int | Sequence[_Int] | Tensor | None = None, dim: _Int = 0, *, indices: _Int | Sequence[_Int] | Tensor | None = None, indices_or_sections: _Int | Sequence[_Int] | Tensor | None = None, tensor_indices_or_sections: _Int | Sequence[_Int] | Tensor | None = None) -> tuple[Tensor, ...]:
    """`input` in `sections` parts of nearly one size, or cut at the given `indices`, along `dim`: views.

    The second argument may be an int, a list of ints or a tensor, under any of PyTorch's names for it.
    """
def hsplit(input: Tensor, sections: _Int | Sequence[_Int] | Tensor | None = None, *, indices: _Int | Sequence[_Int] | Tensor | None = None, indices_or_sections: _Int | Sequence[_Int] | Tensor | None = None) -> tuple[Tensor, ...]:
    """`input` in equal pieces, or cut at indices, along dimension 1: views."""
def vsplit(input: Tensor, sections: _Int | Sequence[_Int] | Tensor | None = None, *, indices: _Int | Sequence[_Int] | Tensor | None = None, indices_or_sections: _Int | Sequence[_Int] | Tensor | None = None) -> tuple[Tensor, ...]:
    """`input` in equal pieces, or cut at indices, along dimension 0: views."""
def dsplit(input: Tensor, sections: _Int | Sequence[_Int] | Tensor | None = None, *, indices: _Int | Sequence[_Int] | Tensor | None = None, indices_or_sections: _Int | Sequence[_Int] | Tensor | None = None) -> tuple[Tensor, ...]:
    """`input` in equal pieces, or cut at indices, along dimension 2: views."""
def as_strided(input: Tensor, size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int], storage_offset: _Int | None = None) -> Tensor:
    """A view of `input`'s memory by size, stride and offset (default: `input`'s own), in elements."""
def rand(*shape: _Int | Sequence[_Int], size: _Int | Sequence[_Int] | None = None, generator: _Generator | None = None, out: Tensor | None = None, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """Uniform numbers in [0, 1) of the default or a floating-point dtype, of 24 random bits (float64: of 53).

    >>> import minitorch
    >>> _ = minitorch.manual_seed(0)
    >>> minitorch.rand(3)
    tensor([0.4963, 0.7682, 0.0885])
    """
def randn(*shape: _Int | Sequence[_Int], size: _Int | Sequence[_Int] | None = None, generator: _Generator | None = None, out: Tensor | None = None, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """Normal numbers of mean 0 and variance 1 (of a complex dtype: 1/2 for each part)."""
def rand_like(input: Tensor, *, generator: _Generator | None = None, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False, pin_memory: _bool = False, memory_format: _memory_format | None = None) -> Tensor:
    """Uniform numbers in [0, 1), in the shape, dtype and device of `input`."""
def randn_like(input: Tensor, *, generator: _Generator | None = None, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False, pin_memory: _bool = False, memory_format: _memory_format | None = None) -> Tensor:
    """Normal numbers of mean 0 and variance 1, in the shape, dtype and device of `input`."""
def normal(mean: _Operand, std: _Operand = 1.0, size: _Int | Sequence[_Int] | None = None, *, generator: _Generator | None = None, out: Tensor | None = None, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Normal numbers whose means and standard deviations are given: by tensors that broadcast, or by numbers.

    With two numbers `size` says how many. The dtype of the result is that of `mean`, or of `std` if `mean` is a
    number; with two numbers, it is `dtype` or the default one.
    """
def randint(low: Any = None, high: Any = None, size: Any = None, *, generator: _Generator | None = None, out: Tensor | None = None, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """Integers in [low, high), of int64 unless `dtype` says otherwise: ``randint(high, size)`` or with `low` first.

    >>> import minitorch
    >>> _ = minitorch.manual_seed(0)
    >>> minitorch.randint(10, (4,))
    tensor([4, 9, 3, 0])
    """
def randint_like(input: Tensor, low: Any = None, high: Any = None, *, generator: _Generator | None = None, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False, pin_memory: _bool = False, memory_format: _memory_format | None = None) -> Tensor:
    """Integers in [low, high), or [0, low) if only one number is given, in the shape, dtype and device of `input`."""
def randperm(n: _Int, *, generator: _Generator | None = None, out: Tensor | None = None, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """The integers from 0 to `n` - 1 in random order; of int64 unless `dtype` says otherwise.

    >>> import minitorch
    >>> _ = minitorch.manual_seed(0)
    >>> minitorch.randperm(5)
    tensor([4, 0, 1, 3, 2])
    """
def bernoulli(input: Tensor, p: _Number | None = None, *, generator: _Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Ones, each with the probability that `input` has there (or the number `p`), and zeros."""
def poisson(input: Tensor, generator: _Generator | None = None) -> Tensor:
    """Poisson numbers of the rates in `input`, in its dtype."""
def binomial(count: Tensor, prob: Tensor, generator: _Generator | None = None) -> Tensor:
    """How many of `count` trials of probability `prob` succeed, for tensors of one float32 or float64 dtype."""
def multinomial(input: Tensor, num_samples: _Int, replacement: _bool = False, *, generator: _Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Indices drawn with probabilities proportional to the weights in `input`, a vector or one for each row.

    Without `replacement` an index comes up once at most. The result is int64, of shape (num_samples,) or
    (rows, num_samples).
    """
def sum(input: Tensor, dim: _Int | Sequence[_Int] | None = None, keepdim: _bool = False, dtype: _dtype | builtins.type[Any] | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
    """The sum over `dim`. Integers and bools are summed in int64."""
def mean(input: Tensor, dim: _Int | Sequence[_Int] | None = None, keepdim: _bool = False, dtype: _dtype | builtins.type[Any] | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
    """The mean over `dim`; of floating-point tensors only, unless `dtype` says what to compute in."""
def nansum(input: Tensor, dim: _Int | Sequence[_Int] | None = None, keepdim: _bool = False, dtype: _dtype | builtins.type[Any] | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
    """The sum over `dim`, NaN counting as 0. Integers and bools are summed in int64."""
def nanmean(input: Tensor, dim: _Int | Sequence[_Int] | None = None, keepdim: _bool = False, *, dtype: _dtype | builtins.type[Any] | None = None, out: Tensor | None = None) -> Tensor:
    """The mean over `dim` of what is not NaN; NaN if nothing else is there."""
def count_nonzero(input: Tensor, dim: _Int | Sequence[_Int] | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
    """How many elements are not zero, over `dim`; NaN is not zero."""
def prod(input: Tensor, dim: _Int | Sequence[_Int] | None = (), keepdim: _bool = False, dtype: _dtype | builtins.type[Any] | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
    """The product over `dim`, one dimension or, by default, all. Integers and bools are multiplied in int64."""
@overload
def logsumexp(input: Tensor, dim: _Int | Sequence[_Int] | None, keepdim: _bool = False, *, out: Tensor | None = None, keepdims: _bool = ...) -> Tensor:
    """``log(exp(input).sum(dim))``, shifted by the maximum so that it cannot overflow. An empty sum gives -inf."""
@overload
def logsumexp(input: Tensor, keepdim: _bool = False, *, axis: _Int | Sequence[_Int], out: Tensor | None = None, keepdims: _bool = ...) -> Tensor: ...
def norm(input: Tensor, p: _Number | _str = 'fro', dim: _Int | Sequence[_Int] | None = None, keepdim: _bool = False, dtype: _dtype | builtins.type[Any] | None = None, *, out: Tensor | None = None) -> Tensor:
    """The norm over `dim`, or of all elements: of a vector for a number `p` and for "fro", of a matrix for "nuc"."""
def dist(input: Tensor, other: _Operand, p: _Number = 2) -> Tensor:
    """The `p`-norm of ``input - other``."""
@overload
def renorm(input: Tensor, p: _Number, dim: _Int, maxnorm: _Number, *, out: Tensor | None = None) -> Tensor:
    """`input` with each slice along `dim` scaled down to a `p`-norm of `maxnorm`, if it has a larger one."""
@overload
def renorm(input: Tensor, p: _Number, maxnorm: _Number, *, axis: _Int | Sequence[_Int], out: Tensor | None = None) -> Tensor: ...
def cat(tensors: Sequence[Tensor], dim: _Int = 0, *, out: Tensor | None = None) -> Tensor:
    """Concatenate the tensors along `dim`; all other sizes must agree. Dtypes are promoted."""
def concat(tensors: Sequence[Tensor], dim: _Int = 0, *, out: Tensor | None = None) -> Tensor:
    """Concatenate the tensors along `dim`; all other sizes must agree. Dtypes are promoted."""
def concatenate(tensors: Sequence[Tensor], dim: _Int = 0, *, out: Tensor | None = None) -> Tensor:
    """Concatenate the tensors along `dim`; all other sizes must agree. Dtypes are promoted."""
def stack(tensors: Sequence[Tensor], dim: _Int = 0, *, out: Tensor | None = None) -> Tensor:
    """The tensors, all of one shape, side by side along a new dimension `dim`."""
def atleast_1d(*tensors: Any) -> Any:
    """The tensors with at least one dimension."""
def atleast_2d(*tensors: Any) -> Any:
    """The tensors with at least two dimensions; a vector becomes a row."""
def atleast_3d(*tensors: Any) -> Any:
    """The tensors with at least three dimensions."""
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors side by side: along dimension 0 for vectors, 1 otherwise."""
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors one below the other, vectors as rows."""
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors one below the other, vectors as rows."""
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors one behind the other, along dimension 2."""
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors side by side, vectors as columns."""
def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given matrices along its diagonal and zeros elsewhere."""
def meshgrid(*tensors: Any, indexing: _str | None = None) -> tuple[Tensor, ...]:
    """Coordinates of a grid: for n vectors n tensors of n dimensions, views; `indexing` "ij" (default) or "xy"."""
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All tuples that take one element of each vector, as rows."""
def combinations(input: Tensor, r: _Int = 2, with_replacement: _bool = False) -> Tensor:
    """All choices of `r` elements of a vector, as rows."""
def tile(input: Tensor, dims: _Int | Sequence[_Int]) -> Tensor:
    """`input` side by side with itself; fewer `dims` than dimensions mean the last ones."""
def repeat_interleave(input: Tensor = ..., repeats: _Int | Sequence[_Int] | Tensor = ..., dim: _Int | None = None, *, output_size: _Int | None = None) -> Tensor:
    """Each slice along `dim` repeated: `repeats` times, or each as often as a tensor of counts says.

    Without `dim` the input is flattened first. ``repeat_interleave(repeats)``, of counts alone,
    repeats the numbers 0, 1, ... and has the dtype of the counts.

    >>> import minitorch
    >>> minitorch.repeat_interleave(minitorch.tensor([1, 0, 2])).tolist()
    [0, 2, 2]
    """
def flip(input: Tensor, dims: _Int | Sequence[_Int]) -> Tensor:
    """A copy of `input` with the order along `dims` reversed."""
def fliplr(input: Tensor) -> Tensor:
    """The columns in reverse order."""
def flipud(input: Tensor) -> Tensor:
    """The rows in reverse order."""
def rot90(input: Tensor, k: _Int = 1, dims: Sequence[_Int] = (0, 1)) -> Tensor:
    """`input` turned by k times 90 degrees in the plane of two dimensions, from the first towards the second."""
def roll(input: Tensor, shifts: _Int | Sequence[_Int], dims: _Int | Sequence[_Int] | None = None) -> Tensor:
    """A copy with the slices moved by `shifts` along `dims`, around the ends; flattened if no `dims` are given."""
def tril(input: Tensor, diagonal: _Int = 0, *, out: Tensor | None = None) -> Tensor:
    """The lower triangles of the matrices in the last two dimensions; zeros above `diagonal`."""
def triu(input: Tensor, diagonal: _Int = 0, *, out: Tensor | None = None) -> Tensor:
    """The upper triangles of the matrices in the last two dimensions; zeros below `diagonal`."""
def diag_embed(input: Tensor, offset: _Int = 0, dim1: _Int = -2, dim2: _Int = -1) -> Tensor:
    """Matrices with the last dimension of `input` on a diagonal, in dimensions `dim1` and `dim2` of the result."""
def diag(input: Tensor, diagonal: _Int = 0, *, out: Tensor | None = None) -> Tensor:
    """The diagonal of a matrix (a copy), or the matrix with a vector on its diagonal."""
def diagflat(input: Tensor, offset: _Int = 0) -> Tensor:
    """A matrix with the elements of `input`, flattened, on its diagonal."""
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""
def select_scatter(input: Tensor, src: Tensor, dim: _Int, index: _Int) -> Tensor:
    """A copy of `input` with the slice at `index` of `dim` replaced by `src`."""
def slice_scatter(input: Tensor, src: Tensor, dim: _Int = 0, start: _Int | None = None, end: _Int | None = None, step: _Int = 1) -> Tensor:
    """A copy of `input` with the slices ``start:end:step`` of `dim` replaced by `src`."""
def diagonal_scatter(input: Tensor, src: Tensor, offset: _Int = 0, dim1: _Int = 0, dim2: _Int = 1) -> Tensor:
    """A copy of `input` with a diagonal replaced by `src`."""
def as_strided_scatter(input: Tensor, src: Tensor, size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int], storage_offset: _Int | None = None) -> Tensor:
    """A copy of `input` with the elements that `as_strided` would read replaced by `src`."""
def narrow_copy(input: Tensor, dim: _Int, start: _Int | Tensor, length: _Int) -> Tensor:
    """A copy of `narrow`."""
def unsafe_chunk(input: Tensor, chunks: _Int, dim: _Int = 0) -> tuple[Tensor, ...]:
    """The same as `chunk`."""
def unsafe_split(input: Tensor, split_size: _Int, dim: _Int = 0) -> tuple[Tensor, ...]:
    """The same as `split`."""
def eq(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input == other``, as bools."""
def ne(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input != other``, as bools."""
def not_equal(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input != other``, as bools."""
def lt(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input < other``, as bools."""
def less(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input < other``, as bools."""
def le(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input <= other``, as bools."""
def less_equal(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input <= other``, as bools."""
def gt(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input > other``, as bools."""
def greater(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input > other``, as bools."""
def ge(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input >= other``, as bools."""
def greater_equal(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input >= other``, as bools."""
def logical_and(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """True where both are nonzero."""
def logical_or(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """True where one or both are nonzero."""
def logical_xor(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """True where just one of them is nonzero."""
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """True where `input` is zero."""
def bitwise_and(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input & other`` for integers, bit by bit, and bools."""
def bitwise_or(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input | other`` for integers, bit by bit, and bools."""
def bitwise_xor(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input ^ other`` for integers, bit by bit, and bools."""
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``~input`` for integers, bit by bit, and bools."""
def bitwise_left_shift(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input << other``; 0 when all bits are shifted out."""
def bitwise_right_shift(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input >> other``; the sign stays when all bits are shifted out."""
def isnan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """True where `input` is not a number."""
def isinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """True where `input` is infinite."""
def isfinite(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """True where `input` is neither infinite nor NaN."""
def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """True if `input` is positive infinity."""
def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """True if `input` is negative infinity."""
def isreal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """True if `input` has no imaginary part: True for every real dtype."""
def maximum(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The larger of the two, NaN if either is; the gradient of equal values is shared."""
def minimum(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The smaller of the two, NaN if either is; the gradient of equal values is shared."""
def fmax(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The larger of the two, the other one if one is NaN; equal values leave the gradient to `input`."""
def fmin(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The smaller of the two, the other one if one is NaN; equal values leave the gradient to `input`."""
def clamp(input: Tensor, min: _Operand | None = None, max: _Operand | None = None, *, out: Tensor | None = None) -> Tensor:
    """`input` between `min` and `max`, tensors or numbers, or None for no bound; `max` if they cross.

    Beside a number, a tensor without dimensions is one too. The gradient at a bound goes to `input`.

    >>> import minitorch
    >>> minitorch.clamp(minitorch.tensor([-2.0, 0.5, 2.0]), -1, 1)
    tensor([-1.0000,  0.5000,  1.0000])
    """
def clip(input: Tensor, min: _Operand | None = None, max: _Operand | None = None, *, out: Tensor | None = None) -> Tensor:
    """`input` between `min` and `max`, tensors or numbers, or None for no bound; `max` if they cross.

    Beside a number, a tensor without dimensions is one too. The gradient at a bound goes to `input`.

    >>> import minitorch
    >>> minitorch.clamp(minitorch.tensor([-2.0, 0.5, 2.0]), -1, 1)
    tensor([-1.0000,  0.5000,  1.0000])
    """
def clamp_min(input: Tensor, min: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input`, but not below `min`, a number or a tensor."""
def clamp_max(input: Tensor, max: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input`, but not above `max`, a number or a tensor."""
def heaviside(input: Tensor, values: _Operand, *, out: Tensor | None = None) -> Tensor:
    """0 where `input` is negative (or NaN), `values` where it is 0, 1 where it is positive."""
@overload
def where(condition: Tensor, input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input` where `condition` (bools) holds, `other` elsewhere; all three broadcast, numbers are taken too.

    Without `input` and `other` the indices where `condition` holds, as ``nonzero(as_tuple=True)``.

    >>> import minitorch
    >>> x = minitorch.tensor([-2.0, 3.0])
    >>> minitorch.where(x > 0, x, 0)
    tensor([0., 3.])
    """
@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
def fill(input: Tensor, value: _Operand) -> Tensor:
    """A tensor like `input` filled with `value`, a number or a 0-d tensor."""
def isclose(input: Tensor, other: _Operand, rtol: _Number | Tensor = 1e-05, atol: _Number | Tensor = 1e-08, equal_nan: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """``|input - other| <= atol + rtol |other|``, elementwise; infinities are close to themselves only.

    NaN is close to nothing, or with `equal_nan` to NaN.
    """
def allclose(input: Tensor, other: _Operand, rtol: _Number | Tensor = 1e-05, atol: _Number | Tensor = 1e-08, equal_nan: _bool = False) -> _bool:
    """True if all elements are close (see `isclose`), as a bool."""
def equal(input: Tensor, other: Tensor) -> _bool:
    """True if two tensors have the same shape and equal elements, as a bool."""
def real(input: Tensor) -> Tensor:
    """The real parts of a complex tensor, as a view; a real tensor itself. Also ``x.real``, which can be assigned to.

    The gradient of the view is that of the complex tensor, with imaginary part 0.

    >>> import minitorch
    >>> minitorch.tensor([1 + 2j, 3 - 1j]).real
    tensor([1., 3.])
    """
def imag(input: Tensor) -> Tensor:
    """The imaginary parts of a complex tensor, as a view: also ``x.imag``. RuntimeError for a real tensor.

    The gradient ``g`` of the view is that of the complex tensor as ``i g``.
    """
def complex(real: Any, imag: Any, *, out: Tensor | None = None) -> Tensor:
    """``real + i imag``, with broadcasting: complex64 from float32, complex128 from float64.

    RuntimeError for other dtypes, or two different ones.

    >>> import minitorch
    >>> minitorch.complex(minitorch.tensor([1.0, 3.0]), minitorch.tensor([2.0, -1.0]))
    tensor([1.+2.j, 3.-1.j])
    """
def polar(abs: Any, angle: Any, *, out: Tensor | None = None) -> Tensor:
    """The complex numbers of size `abs` and angle `angle` (radians): ``abs * (cos(angle) + i sin(angle))``.

    float32 or float64 tensors that broadcast against each other; RuntimeError for other dtypes, or two different ones.
    The gradient of `abs` is right where that is positive, as in PyTorch.
    """
def view_as_real(input: Tensor) -> Tensor:
    """The parts of complex numbers along a new last dimension of size 2: a view.

    complex64 as float32, complex128 as float64. RuntimeError for real tensors.
    """
def view_as_complex(input: Tensor) -> Tensor:
    """Complex numbers from their parts along a last dimension of size 2, which disappears: a view.

    float32 as complex64, float64 as complex128. RuntimeError for other dtypes, for a last dimension of another size or
    stride, and for other strides that are not divisible by 2.
    """
def conj(input: Tensor) -> Tensor:
    """The complex conjugates ``x - iy``, a copy (in PyTorch a view, see `is_conj`); a real tensor itself."""
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugates, a copy; a real tensor itself."""
def resolve_conj(input: Tensor) -> Tensor:
    """`input` itself: conjugates are computed at once."""
def resolve_neg(input: Tensor) -> Tensor:
    """`input` itself: negations are computed at once."""
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions swapped and the elements conjugated; of a real tensor a view."""
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angles of complex numbers, between -pi and pi; of real numbers 0, or pi where they are negative.

    float32 of complex64, float64 of complex128; integers and bools give the default float. NaN stays.
    """
def mul(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input * other``."""
def multiply(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input * other``."""
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``-input``."""
def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``-input``."""
def add(input: _Operand, other: _Operand, *tensor: Tensor, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """``input + alpha * other``, elementwise with broadcasting and PyTorch's type promotion."""
def sub(input: _Operand, other: _Operand, *tensor: Tensor, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """``input - alpha * other``, elementwise with broadcasting and PyTorch's type promotion."""
def subtract(input: _Operand, other: _Operand, *tensor: Tensor, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """``input - alpha * other``, elementwise with broadcasting and PyTorch's type promotion."""
def rsub(input: _Operand, other: _Operand, *, alpha: _Number = 1) -> Tensor:
    """``other - alpha * input``."""
def div(input: _Operand, other: _Operand, *, rounding_mode: _str | None = None, out: Tensor | None = None) -> Tensor:
    """``input / other``; with `rounding_mode` "trunc" or "floor" rounded to whole numbers of the promoted type."""
def divide(input: _Operand, other: _Operand, *, rounding_mode: _str | None = None, out: Tensor | None = None) -> Tensor:
    """``input / other``; with `rounding_mode` "trunc" or "floor" rounded to whole numbers of the promoted type."""
def true_divide(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input / other``, true division."""
def floor_divide(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input / other``, rounded down; RuntimeError for integers divided by zero."""
def remainder(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The rest of ``input / other`` with the sign of `other`, as Python's ``%``."""
def fmod(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The rest of ``input / other`` with the sign of `input`, as C's fmod."""
def gcd(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The greatest common divisor of integers."""
def lcm(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The least common multiple of integers."""
def pow(input: _Operand, exponent: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input ** exponent``, elementwise.

    Negative exponents of integers: refused as a number; as a tensor they leave 1, -1 or 0.
    """
def float_power(input: _Operand, exponent: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input ** exponent``, computed and returned in float64, of complex numbers in complex128."""
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: _Number = 1, *, out: Tensor | None = None) -> Tensor:
    """``input + value * tensor1 * tensor2``."""
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: _Number = 1, *, out: Tensor | None = None) -> Tensor:
    """``input + value * tensor1 / tensor2``."""
def lerp(input: Tensor, end: _Operand, weight: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input + weight * (end - input)``, computed from the nearer of the two ends.

    >>> import minitorch
    >>> minitorch.lerp(minitorch.tensor([0.0, 10.0]), minitorch.tensor([1.0, 20.0]), 0.25)
    tensor([ 0.2500, 12.5000])
    """
def matmul(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The matrix product of (..., n, k) and (..., k, m): (..., n, m), batched by broadcasting.

    A 1-D `input` is one row, a 1-D `other` one column, and that dimension is not in the result. The dtypes must
    agree. RuntimeError if the shapes do not fit.

    >>> import minitorch as torch
    >>> torch.matmul(torch.tensor([[1, 2], [3, 4]]), torch.tensor([1, 10]))
    tensor([21, 43])
    """
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices: (n, k), (k, m) -> (n, m). No broadcasting; see `matmul`."""
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of two batches of matrices: (b, n, k), (b, k, m) -> (b, n, m). No broadcasting; see `matmul`."""
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix and a vector: (n, k), (k) -> (n)."""
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of products of two vectors of one length, as a 0-d tensor."""
def vdot(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The sum of products of two vectors of one length, as a 0-d tensor; of complex ones `input` is conjugated."""
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: _Number = 1, alpha: _Number = 1, *, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * mat1 @ mat2``: (n, k), (k, m), and an `input` that broadcasts to (n, m).

    With ``beta=0`` the values of `input` do not matter, not even NaN.
    """
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * mat @ vec``: (n, k), (k), and an `input` that broadcasts to (n)."""
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * (batch1 @ batch2).sum(0)``: (b, n, k), (b, k, m), `input` broadcasts to (n, m)."""
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * batch1 @ batch2``: (b, n, k), (b, k, m), `input` broadcasts to (b, n, m)."""
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``: (n), (m), and an `input` that broadcasts to (n, m)."""
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """All products of an element of `input` and one of `vec2`: (n), (m) -> (n, m)."""
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """All products of an element of `input` and one of `vec2`: (n), (m) -> (n, m)."""
def inner(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Sums of products over the last dimensions: (..., k), (***, k) -> (..., ***). A number multiplies."""
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, *, out: Tensor | None = None) -> Tensor:
    """Sums of products over `dims`: so many last ones of `a` and first ones of `b`, or a pair of lists of dimensions.

    The result has the remaining dimensions of `a`, then those of `b`.
    """
def kron(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: every element of `input` times the whole of `other`, as blocks."""
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of matrices, in the order that takes the fewest operations. See `linalg.multi_dot`."""
def cdist(x1: Tensor, x2: Tensor, p: _Number = 2.0, compute_mode: _str = 'use_mm_for_euclid_dist_if_necessary') -> Tensor:
    """The p-norm distances between all rows of (..., P, M) and all of (..., R, M): (..., P, R).

    Where P or R exceeds 25 Euclidean distances come from a matrix product, unless `compute_mode` is
    "donot_use_mm_for_euclid_dist"; "use_mm_for_euclid_dist" takes it always.
    """
def triangular_solve(b: Tensor, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False) -> return_types.triangular_solve:
    """The X of ``A X = b`` (or ``A.T X = b``) for a triangular `A`, and `A` itself. See `linalg.solve_triangular`."""
def cholesky_inverse(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the matrix with Cholesky factor `input`: ``(L @ L.mH)^-1``, or ``(U.mH @ U)^-1`` if `upper`."""
def cholesky_solve(input: Tensor, L: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The X of ``A X = input`` for the A with Cholesky factor `L` (or upper factor): (..., n, k), (..., n, n).

    Only the triangle of `L` is read, and only there it has a gradient (PyTorch gives the other one a gradient too).
    """
def cholesky(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The Cholesky factor of a symmetric positive definite matrix. See `linalg.cholesky`."""
def qr(input: Tensor, some: _bool = True, *, out: Sequence[Tensor] | None = None) -> return_types.qr:
    """Q and R with ``input = Q @ R``; Q square if not `some`. See `linalg.qr`."""
def svd(input: Tensor, some: _bool = True, compute_uv: _bool = True, *, out: Sequence[Tensor] | None = None) -> return_types.svd:
    """U, S and V (not its transpose) with ``input = U @ diag(S) @ V.mH``. See `linalg.svd`."""
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """The same as `linalg.householder_product`."""
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = True, unpack_pivots: _bool = True) -> return_types.lu_unpack:
    """P, L and U as matrices, from what `linalg.lu_factor` returns; empty tensors for what is not asked for."""
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The X of ``A X = b`` from what `linalg.lu_factor` returns for A. See `linalg.lu_solve`."""
def lu(A: Tensor, pivot: _bool = True, get_infos: _bool = False, out: Sequence[Tensor] | None = None) -> Any:
    """L and U in one, the pivots, and with `get_infos` also the infos. See `linalg.lu_factor_ex`."""
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverses of square matrices. The same as `linalg.inv`."""
def pinverse(input: Tensor, rcond: _Number | Tensor = 1e-15) -> Tensor:
    """The pseudo-inverses of matrices. See `linalg.pinv`."""
def matrix_power(input: Tensor, n: _Int, *, out: Tensor | None = None) -> Tensor:
    """The n-th powers of square matrices. The same as `linalg.matrix_power`."""
def matrix_exp(input: Tensor) -> Tensor:
    """The exponentials of square matrices. The same as `linalg.matrix_exp`."""
def cross(input: Tensor, other: _Operand, dim: _Int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The cross products of vectors of length 3 in dimension `dim`, by default the first of that size."""
def vander(x: Tensor, N: _Int | None = None, increasing: _bool = False) -> Tensor:
    """The powers of the elements of a vector, as columns: N - 1 down to 0, or 0 to N - 1 if `increasing`."""
def is_distributed(input: Tensor) -> Tensor:
    """False: a tensor is in one process."""
def is_inference(input: Tensor) -> Tensor:
    """True if the memory of `input` was made in `inference_mode`."""
def is_vulkan_available() -> Tensor:
    """False."""
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[_Int], dim: _Int = 0) -> Tensor:
    """`split_with_sizes`."""
def nuclear_norm(input: Tensor, dim: _Int | None = None, keepdim: _bool = False) -> Tensor:
    """``linalg.matrix_norm(input, "nuc", dim)``, by its older name; `dim` is the last two by default."""
def frobenius_norm(input: Tensor, dim: _Int, keepdim: _bool = False) -> Tensor:
    """The root of the sum of squares along one dimension or several, by its older name."""
def norm_except_dim(v: Any, pow: Any = 2, dim: _Int = 0) -> Tensor:
    """The norm of each slice along `dim`, with ones for the other sizes; with -1 of the whole tensor."""
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The exponential, e to the power `input`."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power `input`."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(input) - 1``, without cancellation near 0."""
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The natural logarithm."""
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 2."""
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 10."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``log(1 + input)``, without cancellation near 0."""
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 / (1 + exp(-input))``; to full relative precision also where it is close to 0."""
def logit(input: Tensor, eps: _Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """``log(input / (1 - input))``, with `input` clamped to [eps, 1 - eps] first if `eps` is given.

    Without `eps` NaN outside [0, 1].
    """
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square root."""
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 / sqrt(input)``."""
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 / input``."""
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input ** 2``; bools become int64."""
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sine of `input` (radians)."""
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The cosine of `input` (radians)."""
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tangent of `input` (radians)."""
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle, between -pi/2 and pi/2, whose sine is `input`."""
def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle, between -pi/2 and pi/2, whose sine is `input`."""
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle, between 0 and pi, whose cosine is `input`."""
def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle, between 0 and pi, whose cosine is `input`."""
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle, between -pi/2 and pi/2, whose tangent is `input`."""
def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle, between -pi/2 and pi/2, whose tangent is `input`."""
def atan2(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The angle, between -pi and pi, from the first axis to the point (`other`, `input`)."""
def arctan2(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The angle, between -pi and pi, from the first axis to the point (`other`, `input`)."""
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Degrees as radians: ``input * pi / 180``."""
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Radians as degrees: ``input * 180 / pi``."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``sin(pi input) / (pi input)``, and 1 at 0."""
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic sine."""
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic cosine."""
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic tangent."""
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose hyperbolic sine is `input`."""
def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose hyperbolic sine is `input`."""
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number, not negative, whose hyperbolic cosine is `input`."""
def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number, not negative, whose hyperbolic cosine is `input`."""
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose hyperbolic tangent is `input`."""
def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose hyperbolic tangent is `input`."""
def logaddexp(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``log(exp(input) + exp(other))``, without overflow."""
def logaddexp2(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``log2(2 ** input + 2 ** other)``, without overflow."""
def hypot(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``sqrt(input ** 2 + other ** 2)``, without overflow."""
def xlogy(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input * log(other)``, and 0 where `input` is 0 (NaN where `other` is NaN)."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function, ``2 / sqrt(pi) * integral of exp(-t^2) from 0 to input``."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 - erf(input)``, without cancellation."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose error function is `input`; infinite at -1 and 1, NaN outside."""
def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the absolute value of the gamma function."""
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of `lgamma`."""
def polygamma(n: _Int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The `n`-th derivative of `digamma` at `input`: ``(-1)^(n+1) n! zeta(n + 1, input)``."""
def mvlgamma(input: Tensor, p: _Number, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p`.

    ``p (p - 1) / 4 log(pi) + sum over j < p of lgamma(input - j / 2)``.
    """
def igamma(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularized lower incomplete gamma function P(input, other).

    ``1 / Gamma(a) * integral of t^(a-1) exp(-t) from 0 to x`` for a = `input`, x = `other`; differentiable in `other`.
    """
def igammac(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularized upper incomplete gamma function: ``1 - igamma(input, other)``, without cancellation."""
def _standard_gamma_grad(input: Tensor, output: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative by its shape `input` of a gamma number `output`, which stays at its level of probability.

    Exact to rounding. Source: M. Figurnov et al., "Implicit reparameterization gradients", 2018.
    """
def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative by its concentration `alpha` of a Dirichlet number's coordinate `x`, over ``1 - x``.

    `total` is the sum of all concentrations. The other coordinates y move by ``-y`` times this.
    Source: M. Jankowiak and F. Obermeyer, "Pathwise derivatives beyond the reparameterization trick", 2018.
    """
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""
def hann_window(window_length: Any, periodic: Any = True, *, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """The Hann window, ``0.5 - 0.5 * cos(2 pi k / n)``."""
def hamming_window(window_length: Any, periodic: Any = True, alpha: _Number = 0.54, beta: _Number = 0.46, *, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """The Hamming window, ``alpha - beta * cos(2 pi k / n)``."""
def blackman_window(window_length: Any, periodic: Any = True, *, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """The Blackman window, ``0.42 - 0.5 * cos(2 pi k / n) + 0.08 * cos(4 pi k / n)``."""
def bartlett_window(window_length: Any, periodic: Any = True, *, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """The Bartlett window, a triangle: ``1 - |2 k / n - 1|``."""
def kaiser_window(window_length: Any, periodic: Any = True, beta: _Number = 12.0, *, dtype: _dtype | builtins.type[Any] | None = None, layout: _layout | None = None, device: _device | _str | _Int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """The Kaiser window, ``i0(beta * sqrt(1 - (2 k / n - 1) ** 2)) / i0(beta)``."""
def relu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``max(input, 0)``; the gradient at 0 is 0, at NaN 1."""
def threshold(input: Tensor, threshold: _Number, value: _Number, *, out: Tensor | None = None) -> Tensor:
    """`input` where it is greater than `threshold`, elsewhere `value`."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`input` where positive, elsewhere ``weight * input``, with one learnt weight or one per channel (dimension 1).

    Source: K. He et al., "Delving Deep into Rectifiers", 2015.
    """
def celu(input: Tensor, alpha: _Number = 1.0) -> Tensor:
    """`input` where positive, elsewhere ``alpha * (exp(input / alpha) - 1)``. Source: J. Barron, 2017."""
def selu(input: Tensor) -> Tensor:
    """`elu` with the scale and the alpha that keep mean 0 and variance 1. Source: G. Klambauer et al., 2017."""
def rrelu(input: Tensor, lower: _Number = 0.125, upper: _Number = 0.3333333333333333, training: _bool = False) -> Tensor:
    """`input` where positive, elsewhere ``a * input``: in training `a` is drawn from [lower, upper), else their mean.

    The numbers are PyTorch's on the CPU for the same seed. Source: B. Xu et al., "Empirical Evaluation of Rectified
    Activations in Convolution Network", 2015.
    """
def hardshrink(input: Tensor, lambd: _Number = 0.5, *, out: Tensor | None = None) -> Tensor:
    """`input` where ``|input| > lambd``, elsewhere 0."""
def celu_(input: Tensor, alpha: _Number = 1.0) -> Tensor:
    """In-place twin of `celu`: writes the result into this tensor and returns it."""
def selu_(input: Tensor) -> Tensor:
    """In-place twin of `selu`: writes the result into this tensor and returns it."""
def rrelu_(input: Tensor, lower: _Number = 0.125, upper: _Number = 0.3333333333333333, training: _bool = False) -> Tensor:
    """In-place twin of `rrelu`: writes the result into this tensor and returns it."""
def threshold_(input: Tensor, threshold: _Number, value: _Number) -> Tensor:
    """In-place twin of `threshold`: writes the result into this tensor and returns it."""
def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value; its gradient at 0 is 0."""
def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value; its gradient at 0 is 0."""
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1 by the sign of `input`; 0 for NaN. Complex numbers have no sign, see `sgn`."""
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The direction of a complex number, ``x / |x|`` and 0 for 0; the `sign` of real numbers."""
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """True if the sign is negative, that of -0.0 included."""
def copysign(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The absolute value of `input` with the sign of `other`; the gradient at 0 is 0."""
def positive(input: Tensor) -> Tensor:
    """`input` itself; RuntimeError for bools."""
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest whole number that is not above `input`. The gradient is 0."""
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest whole number that is not below `input`. The gradient is 0."""
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input` without what follows the point. The gradient is 0."""
def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input` without what follows the point. The gradient is 0."""
def round(input: Tensor, decimals: _Int = 0, *, out: Tensor | None = None) -> Tensor:
    """`input` rounded to `decimals` places (to tens, hundreds, ... if negative), halves to the even neighbour.

    Integers are returned as they are; with `decimals` they are refused.
    """
def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The fractional part: ``input - trunc(input)``, with the sign of `input`."""
def nan_to_num(input: Tensor, nan: _Number | None = None, posinf: _Number | None = None, neginf: _Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """`input` with NaN replaced by `nan` (0) and infinities by `posinf`, `neginf` (the dtype's limits)."""
def nextafter(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The next float after `input` towards `other`."""
def frexp(input: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.frexp:
    """(mantissa, exponent) with ``input = mantissa * 2 ** exponent`` and the mantissa in [0.5, 1); int32 exponents.

    >>> import minitorch
    >>> minitorch.frexp(minitorch.tensor([6.0])).exponent
    tensor([3], dtype=torch.int32)
    """
def ldexp(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input * 2 ** other``; for floats and integers exactly, even where the power alone would overflow."""
def gather(input: Tensor, dim: _Int, index: Tensor, *, sparse_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """The elements of `input` that `index` names along `dim`, in the shape of `index`.

    ``out[i][j] = input[index[i][j]][j]`` for ``dim=0``, ``input[i][index[i][j]]`` for ``dim=1``. `index` is an
    integer tensor with as many dimensions as `input`, nowhere larger but in `dim`. RuntimeError for an index outside
    the dimension. `sparse_grad` is accepted and has no effect: gradients are dense.

    >>> import minitorch as torch
    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
def scatter(input: Tensor, dim: _Int, index: Tensor, src: _Operand | None = None, *, value: _Number | None = None, reduce: _str | None = None, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with the elements that `index` names along `dim` replaced by those of `src`, or by a number.

    The opposite of `gather`: ``out[index[i][j]][j] = src[i][j]`` for ``dim=0``. Where `index` names a position twice,
    the last one counts. `reduce` "add" or "multiply" combines instead of replacing. RuntimeError for an index outside
    the dimension, and where the dtypes differ.
    """
@overload
def scatter_add(input: Tensor, dim: _Int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with `src` added where `index` says along `dim`, as often as it names a position."""
@overload
def scatter_add(input: Tensor, index: Tensor, src: Tensor, *, axis: _Int | Sequence[_Int], out: Tensor | None = None) -> Tensor: ...
def scatter_reduce(input: Tensor, dim: _Int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
    """The "sum", "prod", "mean", "amax" or "amin" of `input` and all of `src` that `index` sends to the same position.

    With ``include_self=False`` the positions that `index` names begin empty; the others keep what they hold. Equal
    extremes share the gradient.
    """
def take_along_dim(input: Tensor, indices: Tensor, dim: _Int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The elements of `input` that `indices` names along `dim`, other dimensions broadcast; flattened if None."""
def index_select(input: Tensor, dim: _Int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The slices of `input` along `dim` that the integer vector `index` names: a copy.

    >>> import minitorch as torch
    >>> torch.index_select(torch.tensor([[1, 2, 3], [4, 5, 6]]), 1, torch.tensor([2, 0]))
    tensor([[3, 1],
            [6, 4]])
    """
def index_add(input: Tensor, dim: _Int, index: Tensor, source: Tensor, *, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with the slices of `source`, times `alpha`, added to those that `index` names along `dim`."""
@overload
def index_copy(input: Tensor, dim: _Int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with the slices that `index` names along `dim` replaced by those of `source`."""
@overload
def index_copy(input: Tensor, index: Tensor, source: Tensor, *, axis: _Int | Sequence[_Int], out: Tensor | None = None) -> Tensor: ...
def index_fill(input: Tensor, dim: _Int, index: Tensor, value: _Operand, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with the slices that `index` names along `dim` filled with a number or 0-d tensor."""
def index_reduce(input: Tensor, dim: _Int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
    """The "prod", "mean", "amax" or "amin" of slices of `input` and all slices of `source` sent there by `index`."""
def index_put(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
    """A copy of `input` with ``input[indices] = values``, or ``+= values`` with `accumulate`.

    `indices` is a tuple of integer or bool tensors, `values` a tensor of the same dtype that broadcasts to
    ``input[indices]``.
    """
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of the flattened `input` that `index` names, in the shape of `index`; negative ones from the end."""
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
    """A copy of `input` with the elements that `index` names in flattened order replaced by (or added to) `source`."""
def unravel_index(indices: Tensor, shape: _Int | Sequence[_Int]) -> tuple[Tensor, ...]:
    """The coordinates, in a tensor of `shape`, of elements given by their flat position: one tensor each."""
def masked_fill(input: Tensor, mask: Tensor, value: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input` with `value`, a number or 0-d tensor, where the bool tensor `mask` is True; the two are broadcast.

    >>> import minitorch as torch
    >>> torch.zeros(2, 3).masked_fill(torch.tensor([True, False, True]), 5)
    tensor([[5., 0., 5.],
            [5., 0., 5.]])
    """
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where the bool tensor `mask` is True, as one row; the two are broadcast."""
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input` with the first elements of `source`, one after the other, where the bool tensor `mask` is True."""
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False, out: Tensor | None = None) -> Tensor:
    """The indices of the elements that are not zero, in order, as int64: (N, D), one row of D indices for each.

    With `as_tuple` a tuple of D vectors of length N, which can stand between brackets: ``x[x.nonzero(as_tuple=True)]``.
    """
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
def nonzero_static(input: Tensor, *, size: _Int | Sequence[_Int], fill_value: _Number = -1) -> Tensor:
    """`nonzero` with exactly `size` rows: those too many are left out, missing ones filled with `fill_value`."""
def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not zero, in order: (N, D), one row for each. The same as `nonzero`."""
def searchsorted(sorted_sequence: Tensor, input: _Operand, *, out_int32: _bool = False, right: _bool = False, side: _str | None = None, sorter: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The positions of the elements of `input` in the sorted innermost dimension of `sorted_sequence`, (*, N), (*, M).

    Before elements equal to it, or with ``side="right"`` (or `right`) after them. A one-dimensional sequence serves an
    `input` of any shape. `sorter` holds the indices that sort a sequence which is not sorted.
    """
def bucketize(input: _Operand, boundaries: Tensor, *, out_int32: _bool = False, right: _bool = False, out: Tensor | None = None) -> Tensor:
    """The number of the bucket between sorted `boundaries`, (N,), for each of `input`: i if it is at most boundary i.

    With `right`, i if it is less than boundary i.
    """
def isin(elements: _Operand, test_elements: _Operand, assume_unique: _bool = False, invert: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Which of `elements` are equal to one of `test_elements`; with `invert`, to none. One of both may be a number."""
def unique(input: Tensor, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _Int | None = None) -> Any:
    """The distinct elements, or slices along `dim`, in order, also without `sorted`.

    With `return_inverse` also where among them each one of `input` is found, with `return_counts` also how often each
    occurs.
    """
def unique_consecutive(input: Tensor, return_inverse: _bool = False, return_counts: _bool = False, dim: _Int | None = None) -> Any:
    """The elements, or slices along `dim`, without those equal to the one just before them; see `unique`."""
def segment_reduce(data: Any, reduce: _str, *, lengths: Any = None, indices: Tensor | None = None, offsets: Tensor | None = None, axis: _Int | Sequence[_Int] = 0, unsafe: Any = False, initial: Any = None) -> Tensor:
    """The "sum", "mean", "prod", "max" or "min" of each segment of `data`, a tensor of floats, along `axis`.

    `lengths` (..., n) says how long the n segments are, `offsets` (..., n + 1) where each begins and the last one ends;
    dimensions before the last are those of `data` before `axis`. Of both, `offsets` are used. The result has size n
    along `axis`. `initial` takes part in each segment; without it an empty segment gives 0, NaN, 1, -inf or inf.
    Lengths must add up to the size of `axis` unless `unsafe`: then what lies behind them does not count. `indices` is
    refused, as in PyTorch.
    """
def amax(input: Tensor, dim: _Int | Sequence[_Int] | None = (), keepdim: _bool = False, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
    """The largest element over `dim` (all dimensions by default)."""
def amin(input: Tensor, dim: _Int | Sequence[_Int] | None = (), keepdim: _bool = False, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
    """The smallest element over `dim` (all dimensions by default)."""
def argmax(input: Tensor, dim: _Int | None = None, keepdim: _bool = False, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
    """The index of the largest element along `dim`, or in the flattened tensor; the first one of several."""
def argmin(input: Tensor, dim: _Int | None = None, keepdim: _bool = False, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
    """The index of the smallest element along `dim`, or in the flattened tensor; the first one of several."""
@overload
def max(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The maximum of all elements; with `dim` the maxima along it and their indices, as a named tuple; with a second tensor the elementwise `maximum`."""
@overload
def max(input: Tensor, dim: _Int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None) -> return_types.max: ...
@overload
def max(input: Tensor, *, axis: _Int, keepdims: _bool = False, out: Sequence[Tensor] | None = None) -> return_types.max: ...
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def min(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The minimum of all elements; with `dim` the minima along it and their indices, as a named tuple; with a second tensor the elementwise `minimum`."""
@overload
def min(input: Tensor, dim: _Int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None) -> return_types.min: ...
@overload
def min(input: Tensor, *, axis: _Int, keepdims: _bool = False, out: Sequence[Tensor] | None = None) -> return_types.min: ...
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def aminmax(input: Tensor, *, dim: _Int | None = None, keepdim: _bool = False, out: Sequence[Tensor] | None = None) -> return_types.aminmax:
    """The smallest and the largest elements, of all or along `dim`, as a named tuple."""
def all(input: Tensor, dim: _Int | Sequence[_Int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
    """True if all elements (along `dim`) are nonzero."""
def any(input: Tensor, dim: _Int | Sequence[_Int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
    """True if an element (along `dim`) is nonzero."""
def sort(input: Tensor, dim: _Int = -1, descending: _bool = False, stable: _bool = False, *, out: Sequence[Tensor] | None = None, axis: _Int | Sequence[_Int] | None = ...) -> return_types.sort:
    """The elements in order along `dim`, and their indices in `input`, as a named tuple (values, indices).

    NaN counts as the largest. Equal elements keep their order, also without `stable`.
    """
def argsort(input: Tensor, dim: _Int = -1, descending: _bool = False, stable: _bool = False, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ...) -> Tensor:
    """The indices that put the elements in order along `dim`: those of `sort`."""
def msort(input: Tensor) -> Tensor:
    """The elements in order along the first dimension."""
def topk(input: Tensor, k: _Int, dim: _Int = -1, largest: _bool = True, sorted: _bool = True, *, out: Sequence[Tensor] | None = None, axis: _Int | Sequence[_Int] | None = ...) -> return_types.topk:
    """The `k` largest (or smallest) elements along `dim` and their indices, as a named tuple (values, indices).

    They come in order, whether `sorted` or not. NaN counts as the largest.
    """
def kthvalue(input: Tensor, k: _Int, dim: _Int = -1, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> return_types.kthvalue:
    """The `k`-th smallest element along `dim`, counted from 1, and its index, as a named tuple."""
@overload
def median(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The median of all elements, or along `dim` with its index, as a named tuple.

    Of an even number of elements it is the lower of the two in the middle. NaN if an element is.
    """
@overload
def median(input: Tensor, dim: _Int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None) -> return_types.median: ...
@overload
def median(input: Tensor, *, axis: _Int, keepdims: _bool = False, out: Sequence[Tensor] | None = None) -> return_types.median: ...
@overload
def nanmedian(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The median of what is not NaN: of all elements, or along `dim` with its index, as a named tuple."""
@overload
def nanmedian(input: Tensor, dim: _Int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None) -> return_types.nanmedian: ...
@overload
def nanmedian(input: Tensor, *, axis: _Int, keepdims: _bool = False, out: Sequence[Tensor] | None = None) -> return_types.nanmedian: ...
def mode(input: Tensor, dim: _Int = -1, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> return_types.mode:
    """The most frequent element along `dim`, the smallest of several, and its last index, as a named tuple."""
def quantile(input: Tensor, q: _Number | Tensor, dim: _Int | None = None, keepdim: _bool = False, *, interpolation: _str = 'linear', out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
    """The `q`-th quantiles, of all elements or along `dim`; the dimension of a vector `q` comes first. NaN if one is.

    `interpolation` decides for a rank between two elements: "linear", "lower", "higher", "midpoint", "nearest".
    """
def nanquantile(input: Tensor, q: _Number | Tensor, dim: _Int | None = None, keepdim: _bool = False, *, interpolation: _str = 'linear', out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
    """The quantiles of what is not NaN; see `quantile`."""
def slogdet(input: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.slogdet:
    """The same as `linalg.slogdet`."""
def det(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinants of square matrices. The same as `linalg.det`."""
def logdet(input: Tensor) -> Tensor:
    """The logarithms of the determinants; -inf for a singular matrix, NaN where a real determinant is negative."""
def einsum(*args: Any) -> Tensor:
    """The sum of products that an equation describes: ``einsum("bij,bjk->bik", x, y)`` is a batched matrix product.

    Each operand has a letter for each of its dimensions. The result has the letters after "->"; all others are summed
    over. Without "->" it has those that occur once, sorted. "..." stands for further dimensions, which broadcast; a
    letter twice in one operand takes its diagonal. Sizes of equal letters must agree or be 1. Also
    ``einsum(x, [0, 1, 2], y, [0, 2, 3], [0, 1, 3])``, with numbers for letters. Three or more operands are multiplied
    two at a time, those with the smallest product first. RuntimeError if equation and operands do not fit.

    >>> import minitorch as torch
    >>> torch.einsum("ij,j->i", torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1., 10.]))
    tensor([21., 43.])
    """
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 . weight[o] . input2 + bias[o]``: (..., I), (..., J), (O, I, J), (O,) -> (..., O)."""
def svd_lowrank(A: Tensor, q: _Number | Tensor = 6, niter: Any = 2, M: Any = None) -> Tensor:
    """(U, S, V) of the `q` largest singular values of ``A - M``, nearly: ``A - M`` is about ``U @ diag(S) @ V.mH``.

    `A`: (..., m, n); `M` of the same shape or that broadcasts to it; `niter` power iterations make it more exact.
    """
def pca_lowrank(A: Tensor, q: _Number | Tensor | None = None, center: Any = True, niter: Any = 2) -> Tensor:
    """The `q` (default min(6, m, n)) first principal components of the rows of `A`, (..., m, n): (U, S, V).

    The columns of V are the directions, ``S**2 / (m - 1)`` the variances along them; `center` subtracts the means of
    the columns first. ValueError for a `q` outside 0 ... min(m, n) or a negative `niter`.
    """
def _weight_int8pack_mm(input: Tensor, mat2: Tensor, scales: Any) -> Tensor:
    """The product with a weight of 8 bits, ``input @ (mat2 * scales[:, None]).T``: (m, k), (n, k), (n,) -> (m, n).

    `mat2` is int8 and has no gradient. `input` and `scales` are floats of one dtype, that of the result. On the CPU the
    weight is made float a block at a time; with native kernels (`minitorch.backends.native.enable`) it is read as it
    is, for up to 16 rows of `input`.

    Raises:
        RuntimeError: shapes or dtypes are others.

    >>> import minitorch as torch
    >>> weight, scales = torch.tensor([[100, -50]], dtype=torch.int8), torch.tensor([0.01])
    >>> torch._weight_int8pack_mm(torch.tensor([[1.0, 2.0]]), weight, scales)
    tensor([[0.]])
    """
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Int | Sequence[_Int] = 1, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, groups: _Int = 1) -> Tensor:
    """Convolution: each output is the sum of a window of `input` times `weight`, plus `bias`.

    Shapes: `input` (N, C, L), N being optional, `weight` (O, C / groups, *kernel), `bias` (O); the result has
    ``(size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1`` positions in each dimension. `stride`,
    `padding` and `dilation` are ints or tuples; `padding` may also be "valid" (none) or "same" (the result has the
    size of the input, for stride 1). `groups` divides the channels into parts that are convolved apart.

    As in PyTorch, this is what mathematics calls cross-correlation. RuntimeError for shapes that do not fit.
    """
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Int | Sequence[_Int] = 1, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, groups: _Int = 1) -> Tensor:
    """Convolution: each output is the sum of a window of `input` times `weight`, plus `bias`.

    Shapes: `input` (N, C, H, W), N being optional, `weight` (O, C / groups, *kernel), `bias` (O); the result has
    ``(size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1`` positions in each dimension. `stride`,
    `padding` and `dilation` are ints or tuples; `padding` may also be "valid" (none) or "same" (the result has the
    size of the input, for stride 1). `groups` divides the channels into parts that are convolved apart.

    As in PyTorch, this is what mathematics calls cross-correlation. RuntimeError for shapes that do not fit.
    """
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Int | Sequence[_Int] = 1, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, groups: _Int = 1) -> Tensor:
    """Convolution: each output is the sum of a window of `input` times `weight`, plus `bias`.

    Shapes: `input` (N, C, D, H, W), N being optional, `weight` (O, C / groups, *kernel), `bias` (O); the result has
    ``(size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1`` positions in each dimension. `stride`,
    `padding` and `dilation` are ints or tuples; `padding` may also be "valid" (none) or "same" (the result has the
    size of the input, for stride 1). `groups` divides the channels into parts that are convolved apart.

    As in PyTorch, this is what mathematics calls cross-correlation. RuntimeError for shapes that do not fit.
    """
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Int | Sequence[_Int] = 1, padding: _Int | Sequence[_Int] | _str = 0, output_padding: _Int | Sequence[_Int] = 0, groups: _Int = 1, dilation: _Int | Sequence[_Int] = 1) -> Tensor:
    """Transposed convolution: each element of `input` times `weight`, added up in a window of the result.

    It is the gradient of a convolution with the same numbers. Shapes: `input` (N, C, L), N being optional, `weight`
    (C, O / groups, *kernel), `bias` (O); the result has ``(size - 1) * stride - 2 * padding + dilation *
    (kernel - 1) + output_padding + 1`` positions in each dimension. `output_padding` chooses between the sizes that
    a strided convolution maps to the same one; it must be smaller than the stride or the dilation.
    """
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Int | Sequence[_Int] = 1, padding: _Int | Sequence[_Int] | _str = 0, output_padding: _Int | Sequence[_Int] = 0, groups: _Int = 1, dilation: _Int | Sequence[_Int] = 1) -> Tensor:
    """Transposed convolution: each element of `input` times `weight`, added up in a window of the result.

    It is the gradient of a convolution with the same numbers. Shapes: `input` (N, C, H, W), N being optional, `weight`
    (C, O / groups, *kernel), `bias` (O); the result has ``(size - 1) * stride - 2 * padding + dilation *
    (kernel - 1) + output_padding + 1`` positions in each dimension. `output_padding` chooses between the sizes that
    a strided convolution maps to the same one; it must be smaller than the stride or the dilation.
    """
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Int | Sequence[_Int] = 1, padding: _Int | Sequence[_Int] | _str = 0, output_padding: _Int | Sequence[_Int] = 0, groups: _Int = 1, dilation: _Int | Sequence[_Int] = 1) -> Tensor:
    """Transposed convolution: each element of `input` times `weight`, added up in a window of the result.

    It is the gradient of a convolution with the same numbers. Shapes: `input` (N, C, D, H, W), N being optional, `weight`
    (C, O / groups, *kernel), `bias` (O); the result has ``(size - 1) * stride - 2 * padding + dilation *
    (kernel - 1) + output_padding + 1`` positions in each dimension. `output_padding` chooses between the sizes that
    a strided convolution maps to the same one; it must be smaller than the stride or the dilation.
    """
def softmax(input: Tensor, dim: _Int, dtype: _dtype | builtins.type[Any] | None = None, *, out: Tensor | None = None) -> Tensor:
    """The softmax over `dim`: ``exp(x) / sum(exp(x))``; with `dtype`, `input` is cast to it first.

    >>> import minitorch
    >>> minitorch.softmax(minitorch.tensor([0.0, 0.0]), 0)
    tensor([0.5000, 0.5000])
    """
def log_softmax(input: Tensor, dim: _Int, dtype: _dtype | builtins.type[Any] | None = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the softmax over `dim`, without overflow; with `dtype`, `input` is cast to it first."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: _Number = 2.0, eps: _Number = 1e-06, keepdim: _bool = False) -> Tensor:
    """``||x1 - x2 + eps||_p`` over the last dimension: (N, D) and (N, D) give (N,), or (N, 1) with `keepdim`."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _Int = 1, eps: _Number = 1e-08) -> Tensor:
    """``x1 . x2 / (max(||x1||, eps) max(||x2||, eps))`` over `dim`, after broadcasting."""
def pdist(input: Tensor, p: _Number = 2.0) -> Tensor:
    """The p-norm distances between all rows of (N, D): (0, 1), (0, 2), ..., (N-2, N-1), N (N-1) / 2 of them."""
def layer_norm(input: Tensor, normalized_shape: _Int | Sequence[_Int], weight: Tensor | None = None, bias: Tensor | None = None, eps: _Number = 1e-05) -> Tensor:
    """``(x - mean) / sqrt(var + eps) * weight + bias``, mean and variance over the last dimensions.

    `normalized_shape` is the size of these dimensions, and the shape of `weight` and `bias`. Source: J. Ba et al.,
    "Layer Normalization", 2016.
    """
def group_norm(input: Tensor, num_groups: _Int, weight: Tensor | None = None, bias: Tensor | None = None, eps: _Number = 1e-05) -> Tensor:
    """``(x - mean) / sqrt(var + eps) * weight + bias``, mean and variance over each of `num_groups` groups of channels.

    `input` is (N, C, *); `weight` and `bias` are (C,). Source: Y. Wu and K. He, "Group Normalization", 2018.
    """
def rms_norm(input: Tensor, normalized_shape: _Int | Sequence[_Int], weight: Tensor | None = None, eps: _Number | None = None) -> Tensor:
    """``x / sqrt(mean(x^2) + eps) * weight``, the mean over the last dimensions, whose sizes `normalized_shape` are.

    `eps` is by default the machine epsilon of the dtype, of float32 for 16-bit floats. Source: B. Zhang and R.
    Sennrich, "Root Mean Square Layer Normalization", 2019.
    """
@overload
def max_pool1d(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The maximum of each window of (N, C, L), N being optional; nothing is larger than padding.

    `stride` is the kernel size by default, `padding` at most half of it. `ceil_mode` allows a last window that
    reaches over the end. With `return_indices` also where the maxima stand, for `max_unpool`.
    """
@overload
def max_pool1d(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool1d(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any: ...
@overload
def max_pool2d(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The maximum of each window of (N, C, H, W), N being optional; nothing is larger than padding.

    `stride` is the kernel size by default, `padding` at most half of it. `ceil_mode` allows a last window that
    reaches over the end. With `return_indices` also where the maxima stand, for `max_unpool`.
    """
@overload
def max_pool2d(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool2d(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any: ...
@overload
def max_pool3d(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The maximum of each window of (N, C, D, H, W), N being optional; nothing is larger than padding.

    `stride` is the kernel size by default, `padding` at most half of it. `ceil_mode` allows a last window that
    reaches over the end. With `return_indices` also where the maxima stand, for `max_unpool`.
    """
@overload
def max_pool3d(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool3d(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any: ...
def max_pool1d_with_indices(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """The maximum of each window of (N, C, L), and where it stands: `max_pool` with ``return_indices=True``."""
def max_pool2d_with_indices(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """The maximum of each window of (N, C, H, W), and where it stands: `max_pool` with ``return_indices=True``."""
def max_pool3d_with_indices(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, dilation: _Int | Sequence[_Int] = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """The maximum of each window of (N, C, D, H, W), and where it stands: `max_pool` with ``return_indices=True``."""
def avg_pool1d(input: Tensor, kernel_size: _Int | Sequence[_Int], stride: _Int | Sequence[_Int] | None = None, padding: _Int | Sequence[_Int] | _str = 0, ceil_mode: _bool = False, count_include_pad: _bool = True) -> Tensor:
    """The mean of each window of (N, C, L), as `avg_pool2d`."""
def adaptive_avg_pool1d(input: Tensor, output_size: _Int | Sequence[_Int]) -> Tensor:
    """The means of windows that divide (N, C, L) into `output_size` parts; None keeps a dimension's size.

    Window i of `out` in a dimension of size n covers ``floor(i n / out)`` to ``ceil((i+1) n / out)``.
    """
def adaptive_max_pool1d(input: Tensor, output_size: _Int | Sequence[_Int]) -> Tensor:
    """The maxima of adaptive windows of (N, C, L), and where they stand (`nn.functional`: without)."""
def pixel_shuffle(input: Tensor, upscale_factor: _Int) -> Tensor:
    """(*, C r^2, H, W) as (*, C, H r, W r), r the `upscale_factor`: the sub-pixel convolution of Shi et al. (2016)."""
def pixel_unshuffle(input: Tensor, downscale_factor: _Int) -> Tensor:
    """(*, C, H r, W r) as (*, C r^2, H, W), r the `downscale_factor`: the inverse of `pixel_shuffle`."""
def channel_shuffle(input: Tensor, groups: _Int) -> Tensor:
    """(N, C, *) with the channels of `groups` groups interleaved: (g, C / g) is read as (C / g, g)."""
@overload
def cumsum(input: Tensor, dim: _Int, dtype: _dtype | builtins.type[Any] | None = None, *, out: Tensor | None = None) -> Tensor:
    """The sums of the elements up to and including each one along `dim`. Integers and bools are summed in int64."""
@overload
def cumsum(input: Tensor, dtype: _dtype | builtins.type[Any] | None = None, *, axis: _Int | Sequence[_Int], out: Tensor | None = None) -> Tensor: ...
@overload
def cumprod(input: Tensor, dim: _Int, dtype: _dtype | builtins.type[Any] | None = None, *, out: Tensor | None = None) -> Tensor:
    """The products of the elements up to and including each one along `dim`; of integers and bools in int64.

    The derivative by ``x[i]`` of all products together is the product before it times ``y[i]``, where
    ``y[i] = g[i] + x[i + 1] * y[i + 1]``.
    """
@overload
def cumprod(input: Tensor, dtype: _dtype | builtins.type[Any] | None = None, *, axis: _Int | Sequence[_Int], out: Tensor | None = None) -> Tensor: ...
@overload
def cummax(input: Tensor, dim: _Int, *, out: Sequence[Tensor] | None = None) -> return_types.cummax:
    """The largest elements so far along `dim`, and their indices, as a named tuple; of equal ones the last."""
@overload
def cummax(input: Tensor, *, axis: _Int | Sequence[_Int], out: Sequence[Tensor] | None = None) -> return_types.cummax: ...
@overload
def cummin(input: Tensor, dim: _Int, *, out: Sequence[Tensor] | None = None) -> return_types.cummin:
    """The smallest elements so far along `dim`, and their indices, as a named tuple; of equal ones the last."""
@overload
def cummin(input: Tensor, *, axis: _Int | Sequence[_Int], out: Sequence[Tensor] | None = None) -> return_types.cummin: ...
@overload
def logcumsumexp(input: Tensor, dim: _Int, *, out: Tensor | None = None) -> Tensor:
    """``log(cumsum(exp(input)))`` along `dim`, without overflow."""
@overload
def logcumsumexp(input: Tensor, *, axis: _Int | Sequence[_Int], out: Tensor | None = None) -> Tensor: ...
def diff(input: Tensor, n: _Int = 1, dim: _Int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """The differences of neighbours along `dim`, `n` times over, of `input` between `prepend` and `append`."""
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _Number | None = None, dim: _Int = -1) -> Tensor:
    """The integral of `y` along `dim` by the trapezoidal rule, at points `x` or at distances `dx` (1)."""
def trapz(y: Tensor, x: Tensor | None = None, *, dx: _Number | None = None, dim: _Int = -1) -> Tensor:
    """The integral of `y` along `dim` by the trapezoidal rule, at points `x` or at distances `dx` (1)."""
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _Number | None = None, dim: _Int = -1) -> Tensor:
    """The integrals of `y` from the first point up to each of the others, by the trapezoidal rule."""
def gradient(input: Tensor, *, spacing: Any = 1, dim: _Int | Sequence[_Int] | None = None, edge_order: _Int = 1) -> tuple[Tensor, ...]:
    """The derivative of `input` along each dimension (or each of `dim`), from samples: a tuple of tensors.

    Second order inside, one-sided and of `edge_order` 1 or 2 at both ends. `spacing` is one distance, one for each
    dimension, or a tensor of coordinates for each. Fornberg, Generation of finite difference formulas on arbitrarily
    spaced grids (1988), for three points.
    """
def bincount(input: Tensor, weights: Tensor | None = None, minlength: _Int = 0, *, out: Tensor | None = None) -> Tensor:
    """How often each of 0, 1, 2, ... occurs in a vector, up to its largest element or `minlength`, as int64.

    With `weights`, of the shape of `input`, the sums of the weights, as float64, or float32 if they are.
    """
def histc(input: Tensor, bins: _Int = 100, min: _Number = 0, max: _Number = 0, *, out: Tensor | None = None) -> Tensor:
    """How many elements lie in each of `bins` equal bins between `min` and `max`; if these are equal, between the
    least and the largest element. NaN counts nowhere.
    """
def histogram(input: Tensor, bins: Any = 100, *, range: Any = None, weight: Tensor | None = None, density: _bool = False) -> return_types.histogram:
    """The histogram of all elements and the edges of its bins, as a named tuple (hist, bin_edges).

    `bins` is the number of equal bins between the two of `range` (the extremes by default), or a vector of edges.
    `weight`, of the shape of `input`, counts each element by that much; `density` makes the integral 1.
    """
def histogramdd(input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None, density: _bool = False) -> return_types.histogramdd:
    """The histogram of points in D dimensions, (*, D), and the edges of its bins, as (hist, bin_edges).

    `bins` is a number of bins, one for each dimension, or a vector of edges for each; `range` has two bounds for each
    dimension, one after the other.
    """
def var(input: Tensor, dim: _Int | Sequence[_Int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, correction: _Number | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
    """The variance over `dim`: ``((x - mean) ** 2).sum() / (n - correction)``; `correction` is 1 by default.

    ``unbiased=False`` is another spelling of ``correction=0``. In two passes, so that no digits cancel.
    """
def std(input: Tensor, dim: _Int | Sequence[_Int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, correction: _Number | None = None, *, out: Tensor | None = None, axis: _Int | Sequence[_Int] | None = ..., keepdims: _bool = ...) -> Tensor:
    """The standard deviation over `dim`, the square root of `var`. Its gradient at 0 is 0."""
def var_mean(input: Tensor, dim: _Int | Sequence[_Int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _Number | None = None, out: Sequence[Tensor] | None = None) -> tuple[Tensor, Tensor]:
    """The variance and the mean over `dim`, as a pair."""
def std_mean(input: Tensor, dim: _Int | Sequence[_Int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _Number | None = None, out: Sequence[Tensor] | None = None) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean over `dim`, as a pair."""
def cov(input: Tensor, *, correction: _Int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariances of the rows of `input`, (N, D) to (N, N): each column is one observation of N variables.

    `fweights`, integers, says how often each observation was made, `aweights` how much it weighs; `correction` as in
    `var`.
    """
def corrcoef(input: Tensor) -> Tensor:
    """The correlations of the rows of `input`, (N, D) to (N, N): their covariances over their standard deviations."""
def stft(input: Tensor, n_fft: Any, hop_length: Any = None, win_length: Any = None, window: Any = None, center: Any = True, pad_mode: Any = 'reflect', normalized: Any = False, onesided: Any = None, return_complex: Any = None, align_to_window: Any = None) -> Tensor:
    """Fourier transforms of overlapping frames: (length) or (batch, length) to (..., frequencies, frames), complex.

    Args:
        n_fft: how many points each frame has.
        hop_length: how far apart frames begin; default ``n_fft // 4``.
        win_length: the size of the window, padded with zeros on both sides to `n_fft`; default `n_fft`.
        window: what each frame is multiplied by, (win_length); default ones.
        center: pad both ends by ``n_fft // 2``, so that frame t is centred on ``t * hop_length``.
        pad_mode: how to pad, as in `nn.functional.pad`.
        normalized: divide by the root of `n_fft`.
        onesided: only the first ``n_fft // 2 + 1`` frequencies, the default for a real input and window.
        return_complex: must be given for a real input; False: the parts along a last dimension of size 2.
        align_to_window: only for ``center=False``: frames of the window's length, not of `n_fft`.

    Frame t at frequency w is ``sum_k window[k] input[t hop + k] exp(-2 pi i w k / n_fft)``. Gradients flow to the
    input and the window. RuntimeError for sizes that do not fit.
    """
def istft(input: Tensor, n_fft: Any, hop_length: Any = None, win_length: Any = None, window: Any = None, center: Any = True, normalized: Any = False, onesided: Any = None, length: _Int | None = None, return_complex: Any = False) -> Tensor:
    """The signal whose `stft` is nearest to `input`: complex (..., frequencies, frames) to (length) or (batch, length).

    The arguments are those of `stft`; `length` cuts the result or pads it with zeros. Frames are transformed back,
    multiplied by the window and added, and the sum is divided by that of the squares of the windows: RuntimeError where
    this is 0. The result is real, or complex with `return_complex`, for a transform that has all frequencies.
    """
def _standard_gamma(input: Tensor, generator: _Generator | None = None) -> Tensor:
    """Gamma numbers of the shapes in `input` and of scale 1, in its dtype; differentiable.

    The gradient is that of the number at its level of probability (`_standard_gamma_grad`). It has no second
    derivative.
    """
def _sample_dirichlet(input: Tensor, generator: _Generator | None = None) -> Tensor:
    """Points of the simplex along the last dimension, for the concentrations in `input`; differentiable.

    The gradient is that of `_dirichlet_grad`. It has no second derivative.
    """
def renorm_(input: Tensor, p: _Number, dim: _Int, maxnorm: _Number) -> Tensor:
    """In-place twin of `renorm`: writes the result into this tensor and returns it."""
def tril_(input: Tensor, diagonal: _Int = 0) -> Tensor:
    """In-place twin of `tril`: writes the result into this tensor and returns it."""
def triu_(input: Tensor, diagonal: _Int = 0) -> Tensor:
    """In-place twin of `triu`: writes the result into this tensor and returns it."""
def eq_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `eq`: writes the result into this tensor and returns it."""
def ne_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `ne`: writes the result into this tensor and returns it."""
def not_equal_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `not_equal`: writes the result into this tensor and returns it."""
def lt_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `lt`: writes the result into this tensor and returns it."""
def less_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `less`: writes the result into this tensor and returns it."""
def le_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `le`: writes the result into this tensor and returns it."""
def less_equal_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `less_equal`: writes the result into this tensor and returns it."""
def gt_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `gt`: writes the result into this tensor and returns it."""
def greater_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `greater`: writes the result into this tensor and returns it."""
def ge_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `ge`: writes the result into this tensor and returns it."""
def greater_equal_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `greater_equal`: writes the result into this tensor and returns it."""
def logical_and_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `logical_and`: writes the result into this tensor and returns it."""
def logical_or_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `logical_or`: writes the result into this tensor and returns it."""
def logical_xor_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `logical_xor`: writes the result into this tensor and returns it."""
def logical_not_(input: Tensor) -> Tensor:
    """In-place twin of `logical_not`: writes the result into this tensor and returns it."""
def bitwise_and_(input: _Operand, other: _Operand) -> Tensor:
    """In-place twin of `bitwise_and`: writes the result into this tensor and returns it."""
def bitwise_or_(input: _Operand, other: _Operand) -> Tensor:
    """In-place twin of `bitwise_or`: writes the result into this tensor and returns it."""
def bitwise_xor_(input: _Operand, other: _Operand) -> Tensor:
    """In-place twin of `bitwise_xor`: writes the result into this tensor and returns it."""
def bitwise_not_(input: Tensor) -> Tensor:
    """In-place twin of `bitwise_not`: writes the result into this tensor and returns it."""
def bitwise_left_shift_(input: _Operand, other: _Operand) -> Tensor:
    """In-place twin of `bitwise_left_shift`: writes the result into this tensor and returns it."""
def bitwise_right_shift_(input: _Operand, other: _Operand) -> Tensor:
    """In-place twin of `bitwise_right_shift`: writes the result into this tensor and returns it."""
def clamp_(input: Tensor, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
    """In-place twin of `clamp`: writes the result into this tensor and returns it."""
def clip_(input: Tensor, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
    """In-place twin of `clip`: writes the result into this tensor and returns it."""
def clamp_min_(input: Tensor, min: _Operand) -> Tensor:
    """In-place twin of `clamp_min`: writes the result into this tensor and returns it."""
def clamp_max_(input: Tensor, max: _Operand) -> Tensor:
    """In-place twin of `clamp_max`: writes the result into this tensor and returns it."""
def heaviside_(input: Tensor, values: _Operand) -> Tensor:
    """In-place twin of `heaviside`: writes the result into this tensor and returns it."""
def mul_(input: _Operand, other: _Operand) -> Tensor:
    """In-place twin of `mul`: writes the result into this tensor and returns it."""
def multiply_(input: _Operand, other: _Operand) -> Tensor:
    """In-place twin of `multiply`: writes the result into this tensor and returns it."""
def neg_(input: Tensor) -> Tensor:
    """In-place twin of `neg`: writes the result into this tensor and returns it."""
def negative_(input: Tensor) -> Tensor:
    """In-place twin of `negative`: writes the result into this tensor and returns it."""
def add_(input: _Operand, other: _Operand, *tensor: Tensor, alpha: _Number = 1) -> Tensor:
    """In-place twin of `add`: writes the result into this tensor and returns it."""
def sub_(input: _Operand, other: _Operand, *tensor: Tensor, alpha: _Number = 1) -> Tensor:
    """In-place twin of `sub`: writes the result into this tensor and returns it."""
def subtract_(input: _Operand, other: _Operand, *tensor: Tensor, alpha: _Number = 1) -> Tensor:
    """In-place twin of `subtract`: writes the result into this tensor and returns it."""
def div_(input: _Operand, other: _Operand, *, rounding_mode: _str | None = None) -> Tensor:
    """In-place twin of `div`: writes the result into this tensor and returns it."""
def divide_(input: _Operand, other: _Operand, *, rounding_mode: _str | None = None) -> Tensor:
    """In-place twin of `divide`: writes the result into this tensor and returns it."""
def true_divide_(input: _Operand, other: _Operand) -> Tensor:
    """In-place twin of `true_divide`: writes the result into this tensor and returns it."""
def floor_divide_(input: _Operand, other: _Operand) -> Tensor:
    """In-place twin of `floor_divide`: writes the result into this tensor and returns it."""
def remainder_(input: _Operand, other: _Operand) -> Tensor:
    """In-place twin of `remainder`: writes the result into this tensor and returns it."""
def fmod_(input: _Operand, other: _Operand) -> Tensor:
    """In-place twin of `fmod`: writes the result into this tensor and returns it."""
def gcd_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `gcd`: writes the result into this tensor and returns it."""
def lcm_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `lcm`: writes the result into this tensor and returns it."""
def pow_(input: _Operand, exponent: _Operand) -> Tensor:
    """In-place twin of `pow`: writes the result into this tensor and returns it."""
def addcmul_(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: _Number = 1) -> Tensor:
    """In-place twin of `addcmul`: writes the result into this tensor and returns it."""
def addcdiv_(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: _Number = 1) -> Tensor:
    """In-place twin of `addcdiv`: writes the result into this tensor and returns it."""
def lerp_(input: Tensor, end: _Operand, weight: _Operand) -> Tensor:
    """In-place twin of `lerp`: writes the result into this tensor and returns it."""
def addmm_(input: Tensor, mat1: Tensor, mat2: Tensor, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
    """In-place twin of `addmm`: writes the result into this tensor and returns it."""
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
    """In-place twin of `addmv`: writes the result into this tensor and returns it."""
def addbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
    """In-place twin of `addbmm`: writes the result into this tensor and returns it."""
def baddbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
    """In-place twin of `baddbmm`: writes the result into this tensor and returns it."""
def addr_(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
    """In-place twin of `addr`: writes the result into this tensor and returns it."""
def exp_(input: Tensor) -> Tensor:
    """In-place twin of `exp`: writes the result into this tensor and returns it."""
def exp2_(input: Tensor) -> Tensor:
    """In-place twin of `exp2`: writes the result into this tensor and returns it."""
def expm1_(input: Tensor) -> Tensor:
    """In-place twin of `expm1`: writes the result into this tensor and returns it."""
def log_(input: Tensor) -> Tensor:
    """In-place twin of `log`: writes the result into this tensor and returns it."""
def log2_(input: Tensor) -> Tensor:
    """In-place twin of `log2`: writes the result into this tensor and returns it."""
def log10_(input: Tensor) -> Tensor:
    """In-place twin of `log10`: writes the result into this tensor and returns it."""
def log1p_(input: Tensor) -> Tensor:
    """In-place twin of `log1p`: writes the result into this tensor and returns it."""
def sigmoid_(input: Tensor) -> Tensor:
    """In-place twin of `sigmoid`: writes the result into this tensor and returns it."""
def logit_(input: Tensor, eps: _Number | None = None) -> Tensor:
    """In-place twin of `logit`: writes the result into this tensor and returns it."""
def sqrt_(input: Tensor) -> Tensor:
    """In-place twin of `sqrt`: writes the result into this tensor and returns it."""
def rsqrt_(input: Tensor) -> Tensor:
    """In-place twin of `rsqrt`: writes the result into this tensor and returns it."""
def reciprocal_(input: Tensor) -> Tensor:
    """In-place twin of `reciprocal`: writes the result into this tensor and returns it."""
def square_(input: Tensor) -> Tensor:
    """In-place twin of `square`: writes the result into this tensor and returns it."""
def sin_(input: Tensor) -> Tensor:
    """In-place twin of `sin`: writes the result into this tensor and returns it."""
def cos_(input: Tensor) -> Tensor:
    """In-place twin of `cos`: writes the result into this tensor and returns it."""
def tan_(input: Tensor) -> Tensor:
    """In-place twin of `tan`: writes the result into this tensor and returns it."""
def asin_(input: Tensor) -> Tensor:
    """In-place twin of `asin`: writes the result into this tensor and returns it."""
def arcsin_(input: Tensor) -> Tensor:
    """In-place twin of `arcsin`: writes the result into this tensor and returns it."""
def acos_(input: Tensor) -> Tensor:
    """In-place twin of `acos`: writes the result into this tensor and returns it."""
def arccos_(input: Tensor) -> Tensor:
    """In-place twin of `arccos`: writes the result into this tensor and returns it."""
def atan_(input: Tensor) -> Tensor:
    """In-place twin of `atan`: writes the result into this tensor and returns it."""
def arctan_(input: Tensor) -> Tensor:
    """In-place twin of `arctan`: writes the result into this tensor and returns it."""
def atan2_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `atan2`: writes the result into this tensor and returns it."""
def arctan2_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `arctan2`: writes the result into this tensor and returns it."""
def deg2rad_(input: Tensor) -> Tensor:
    """In-place twin of `deg2rad`: writes the result into this tensor and returns it."""
def rad2deg_(input: Tensor) -> Tensor:
    """In-place twin of `rad2deg`: writes the result into this tensor and returns it."""
def sinc_(input: Tensor) -> Tensor:
    """In-place twin of `sinc`: writes the result into this tensor and returns it."""
def sinh_(input: Tensor) -> Tensor:
    """In-place twin of `sinh`: writes the result into this tensor and returns it."""
def cosh_(input: Tensor) -> Tensor:
    """In-place twin of `cosh`: writes the result into this tensor and returns it."""
def tanh_(input: Tensor) -> Tensor:
    """In-place twin of `tanh`: writes the result into this tensor and returns it."""
def asinh_(input: Tensor) -> Tensor:
    """In-place twin of `asinh`: writes the result into this tensor and returns it."""
def arcsinh_(input: Tensor) -> Tensor:
    """In-place twin of `arcsinh`: writes the result into this tensor and returns it."""
def acosh_(input: Tensor) -> Tensor:
    """In-place twin of `acosh`: writes the result into this tensor and returns it."""
def arccosh_(input: Tensor) -> Tensor:
    """In-place twin of `arccosh`: writes the result into this tensor and returns it."""
def atanh_(input: Tensor) -> Tensor:
    """In-place twin of `atanh`: writes the result into this tensor and returns it."""
def arctanh_(input: Tensor) -> Tensor:
    """In-place twin of `arctanh`: writes the result into this tensor and returns it."""
def hypot_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `hypot`: writes the result into this tensor and returns it."""
def xlogy_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `xlogy`: writes the result into this tensor and returns it."""
def erf_(input: Tensor) -> Tensor:
    """In-place twin of `erf`: writes the result into this tensor and returns it."""
def erfc_(input: Tensor) -> Tensor:
    """In-place twin of `erfc`: writes the result into this tensor and returns it."""
def erfinv_(input: Tensor) -> Tensor:
    """In-place twin of `erfinv`: writes the result into this tensor and returns it."""
def lgamma_(input: Tensor) -> Tensor:
    """In-place twin of `lgamma`: writes the result into this tensor and returns it."""
def digamma_(input: Tensor) -> Tensor:
    """In-place twin of `digamma`: writes the result into this tensor and returns it."""
def mvlgamma_(input: Tensor, p: _Number) -> Tensor:
    """In-place twin of `mvlgamma`: writes the result into this tensor and returns it."""
def igamma_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `igamma`: writes the result into this tensor and returns it."""
def igammac_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `igammac`: writes the result into this tensor and returns it."""
def i0_(input: Tensor) -> Tensor:
    """In-place twin of `i0`: writes the result into this tensor and returns it."""
def relu_(input: Tensor) -> Tensor:
    """In-place twin of `relu`: writes the result into this tensor and returns it."""
def abs_(input: Tensor) -> Tensor:
    """In-place twin of `abs`: writes the result into this tensor and returns it."""
def absolute_(input: Tensor) -> Tensor:
    """In-place twin of `absolute`: writes the result into this tensor and returns it."""
def sign_(input: Tensor) -> Tensor:
    """In-place twin of `sign`: writes the result into this tensor and returns it."""
def sgn_(input: Tensor) -> Tensor:
    """In-place twin of `sgn`: writes the result into this tensor and returns it."""
def copysign_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `copysign`: writes the result into this tensor and returns it."""
def floor_(input: Tensor) -> Tensor:
    """In-place twin of `floor`: writes the result into this tensor and returns it."""
def ceil_(input: Tensor) -> Tensor:
    """In-place twin of `ceil`: writes the result into this tensor and returns it."""
def trunc_(input: Tensor) -> Tensor:
    """In-place twin of `trunc`: writes the result into this tensor and returns it."""
def fix_(input: Tensor) -> Tensor:
    """In-place twin of `fix`: writes the result into this tensor and returns it."""
def round_(input: Tensor, decimals: _Int = 0) -> Tensor:
    """In-place twin of `round`: writes the result into this tensor and returns it."""
def frac_(input: Tensor) -> Tensor:
    """In-place twin of `frac`: writes the result into this tensor and returns it."""
def nan_to_num_(input: Tensor, nan: _Number | None = None, posinf: _Number | None = None, neginf: _Number | None = None) -> Tensor:
    """In-place twin of `nan_to_num`: writes the result into this tensor and returns it."""
def nextafter_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `nextafter`: writes the result into this tensor and returns it."""
def ldexp_(input: Tensor, other: _Operand) -> Tensor:
    """In-place twin of `ldexp`: writes the result into this tensor and returns it."""
@overload
def scatter_(input: Tensor, dim: _Int, index: Tensor, src: _Operand | None = None, *, value: _Number | None = None, reduce: _str | None = None) -> Tensor:
    """In-place twin of `scatter`: writes the result into this tensor and returns it."""
@overload
def scatter_(input: Tensor, index: Tensor, src: _Operand | None = None, *, axis: _Int | Sequence[_Int], value: _Number | None = None, reduce: _str | None = None) -> Tensor: ...
def scatter_add_(input: Tensor, dim: _Int, index: Tensor, src: Tensor) -> Tensor:
    """In-place twin of `scatter_add`: writes the result into this tensor and returns it."""
@overload
def scatter_reduce_(input: Tensor, dim: _Int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = True) -> Tensor:
    """In-place twin of `scatter_reduce`: writes the result into this tensor and returns it."""
@overload
def scatter_reduce_(input: Tensor, index: Tensor, src: Tensor, reduce: _str, *, axis: _Int | Sequence[_Int], include_self: _bool = True) -> Tensor: ...
@overload
def index_add_(input: Tensor, dim: _Int, index: Tensor, source: Tensor, *, alpha: _Number = 1) -> Tensor:
    """In-place twin of `index_add`: writes the result into this tensor and returns it."""
@overload
def index_add_(input: Tensor, index: Tensor, source: Tensor, *, axis: _Int | Sequence[_Int], alpha: _Number = 1) -> Tensor: ...
def index_copy_(input: Tensor, dim: _Int, index: Tensor, source: Tensor) -> Tensor:
    """In-place twin of `index_copy`: writes the result into this tensor and returns it."""
@overload
def index_fill_(input: Tensor, dim: _Int, index: Tensor, value: _Operand) -> Tensor:
    """In-place twin of `index_fill`: writes the result into this tensor and returns it."""
@overload
def index_fill_(input: Tensor, index: Tensor, value: _Operand, *, axis: _Int | Sequence[_Int]) -> Tensor: ...
@overload
def index_reduce_(input: Tensor, dim: _Int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = True) -> Tensor:
    """In-place twin of `index_reduce`: writes the result into this tensor and returns it."""
@overload
def index_reduce_(input: Tensor, index: Tensor, source: Tensor, reduce: _str, *, axis: _Int | Sequence[_Int], include_self: _bool = True) -> Tensor: ...
def index_put_(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
    """In-place twin of `index_put`: writes the result into this tensor and returns it."""
def put_(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
    """In-place twin of `put`: writes the result into this tensor and returns it."""
def masked_fill_(input: Tensor, mask: Tensor, value: _Operand) -> Tensor:
    """In-place twin of `masked_fill`: writes the result into this tensor and returns it."""
def masked_scatter_(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """In-place twin of `masked_scatter`: writes the result into this tensor and returns it."""
@overload
def cumsum_(input: Tensor, dim: _Int, dtype: _dtype | builtins.type[Any] | None = None) -> Tensor:
    """In-place twin of `cumsum`: writes the result into this tensor and returns it."""
@overload
def cumsum_(input: Tensor, dtype: _dtype | builtins.type[Any] | None = None, *, axis: _Int | Sequence[_Int]) -> Tensor: ...
@overload
def cumprod_(input: Tensor, dim: _Int, dtype: _dtype | builtins.type[Any] | None = None) -> Tensor:
    """In-place twin of `cumprod`: writes the result into this tensor and returns it."""
@overload
def cumprod_(input: Tensor, dtype: _dtype | builtins.type[Any] | None = None, *, axis: _Int | Sequence[_Int]) -> Tensor: ...
def zero_(self) -> Tensor:
    """Fill this tensor with zeros."""
def fill_(self, value: _Operand) -> Tensor:
    """Fill this tensor with a number or a 0-d tensor."""
def resize_as_(self, the_template: Tensor, *, memory_format: _memory_format | None = None) -> Tensor:
    """Give this tensor the shape of another."""
def detach_(self) -> Tensor:
    """Forget the call that made this tensor; it becomes a leaf that does not require grad."""
