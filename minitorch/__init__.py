"""minitorch: PyTorch's eager API in pure Python over NumPy and CuPy.

>>> import minitorch as torch
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])

The public names, in PyTorch's spelling, and nothing else: functions come from the op registry (`minitorch/ops`), parts
that not every program needs are imported when first asked for. `docs/architecture.md` says in which order to read.
"""

import importlib
import os as _os
import sys as _sys
import warnings

# Division by zero, overflow and the like give inf and NaN, silently, as in PyTorch; NumPy warns of them, and the
# warnings of this package's own calls, not of its users', are switched off.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"minitorch\.")

from .core import call, dtypes  # noqa: F401
from .core.device import device
from .core.dtypes import can_cast, dtype, get_default_dtype, promote_types, set_default_dtype
from .host.type_info import finfo, iinfo, result_type
from .autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .core.registry import FUNCTIONS, late
from .core.registry import HOOKS as _HOOKS
from .core.registry import guests as _guests
from .core.registry import imported as _imported
from .core.storage import (channels_last, channels_last_3d, contiguous_format, jagged, layout, memory_format,
                           preserve_format, strided)
from .core.tensor import Size, Tensor
from . import ops
from . import amp, autograd, backends, random
from .backends.cpu import kernels as _cpu_kernels  # noqa: F401  the CPU's kernels, which need the definitions
from .random.generator import Generator, default_generator
from .settings import (are_deterministic_algorithms_enabled, get_default_device, get_float32_matmul_precision,
                       get_num_interop_threads, get_num_threads, is_warn_always_enabled, set_default_device,
                       set_float32_matmul_precision, set_flush_denormal, set_num_interop_threads, set_num_threads,
                       set_warn_always, use_deterministic_algorithms)
from .ops.shapes.memory import TypedStorage, UntypedStorage
from .utils import einops_backend

__version__ = "0.1.0"

# Where they are pickled and shown, wherever they are defined.
Tensor.__module__ = Size.__module__ = device.__module__ = dtype.__module__ = "minitorch"

einops_backend.watch(importlib.import_module(__name__))
globals().update({name: getattr(dtypes, name) for name in dtypes.NAMES})
globals().update(ops.creation.query.CONSTANTS)
globals().update(ops.creation.legacy.TYPES)
globals().update(ops.creation.legacy.STORAGES)
globals().update({name: public.call for (namespace, name), public in FUNCTIONS.items() if not namespace})

if _os.environ.get("MINITORCH_NATIVE", "").strip().lower() in ("1", "yes", "on", "true"):
    backends.native.enable_or_warn()

# Words and pictures of the kernel that are imported when they are first needed.
late.places.update(
    explain="minitorch.formula:explain",
    explain_call="minitorch.explain.arguments:of_call",
    explain_failure="minitorch.explain.failures:explain",
    formula="minitorch.formula:formula",
    no_device="minitorch.explain.arguments:no_device",
    on_two_devices="minitorch.explain.failures:on_two_devices",
    raise_freed="minitorch.explain.graphs:raise_freed",
    raise_written="minitorch.explain.graphs:raise_written",
    source="minitorch.formula:source",
    tensor_html="minitorch.printing:tensor_html",
    tensor_repr="minitorch.printing:tensor_repr",
    warn="minitorch.explain.callers:warn",
)

# Functions of the kernel's packages that not every program loads, which those below them call.
_HOOKS["deepcopy_tensor"].fill_from("minitorch.serialization.tensors:deepcopy_tensor")
_HOOKS["function_in_batch"].fill_from("minitorch.func.custom:function_in_batch")
_HOOKS["misfit"].fill_from("minitorch.ops.misfits:misfit")
_HOOKS["reduce_tensor"].fill_from("minitorch.serialization.tensors:reduce_tensor")
_HOOKS["vmap"].fill_from("minitorch.func.vmap:vmap")

# The functions of guests behind methods and functions of the kernel: all that the kernel knows of
# guests.
_guests.places.update(
    array_namespace="minitorch.array_api:namespace",
    checkup="minitorch.viz.checkups:Checkup",
    Compiled="minitorch.compiler.compiled:Compiled",
    DistributedDataParallel="minitorch.distributed.ddp:DistributedDataParallel",
    draw_graph="minitorch.viz.graphs:graph",
    draw_layout="minitorch.viz.storage:layout",
    empty_sparse="minitorch.sparse.creation:empty_of",
    has_peers="minitorch.distributed.batch_norm:has_peers",
    module_html="minitorch.viz.modules:module_html",
    nested_of_elements="minitorch.nested._internal.crossing:of_elements",
    NestedTensor="minitorch.nested._internal.nested_tensor:NestedTensor",
    op_namespace="minitorch.library.namespaces:namespace",
    resize_as_sparse_="minitorch.sparse.pointwise:resize_as_sparse_",
    share_memory="minitorch.multiprocessing.sharing:share_memory",
    sparse_by_values="minitorch.sparse.gradcheck:by_values",
    sparse_compressed_tensor="minitorch.sparse.creation:sparse_compressed_tensor",
    sparse_coo_tensor="minitorch.sparse.creation:sparse_coo_tensor",
    sparse_embedding="minitorch.sparse.embedding:embedding",
    sparse_layout="minitorch.sparse.layouts:layout_named",
    sparse_mask="minitorch.sparse.convert:sparse_mask",
    sparse_parameter="minitorch.sparse.tensor:SparseParameter",
    summary_html="minitorch.viz.modules:summary_html",
    sync_batch_norm="minitorch.distributed.batch_norm:sync_batch_norm",
    to_sparse="minitorch.sparse.convert:to_sparse",
    to_sparse_csc="minitorch.sparse.convert:to_sparse_csc",
    to_sparse_csr="minitorch.sparse.convert:to_sparse_csr",
    view="minitorch.viz.drawing:View",
)

# Parts that are imported when first asked for, and names that live in them.
PARTS = ("nn", "optim", "utils", "testing", "datasets", "transforms", "serialization", "printing", "viz",
         "special", "fft", "linalg", "return_types", "cuda", "accelerator", "func", "profiler", "memory",
         "formula", "overrides", "signal", "distributed", "distributions", "multiprocessing", "compiler",
         "jit", "hub", "futures", "library", "torch_version", "ao", "fx", "nested", "masked", "sparse",
         "array_api", "quasirandom")
# Namespaces that exist so that programs can import them: rows of the table in `compat`.
_ROWS = ("__config__", "_C", "_VF", "_dynamo", "_jit_internal", "_subclasses", "_tensor", "cpu", "functional",
         "mps", "mtia", "onnx", "quantization", "storage", "types", "version", "xpu", "_ops",
         "_custom_ops", "export", "autograd.gradcheck", "autograd.profiler",
         "distributed.autograd", "utils._foreach_utils", "utils.model_zoo")
ELSEWHERE = {"save": "serialization", "load": "serialization", "set_printoptions": "printing",
             "compile": "compiler", "export_c": "compiler.export", "OutOfMemoryError": "core.errors",
             "Event": "cuda", "Stream": "cuda",
             "GradScaler": "amp", "PyTorchFileReader": "serialization.archive", "vmap": "func",
             **dict.fromkeys(("autocast", "is_autocast_enabled", "get_autocast_dtype", "set_autocast_enabled",
                              "set_autocast_dtype", "is_autocast_available", "clear_autocast_cache",
                              "get_autocast_cpu_dtype", "get_autocast_gpu_dtype", "is_autocast_cache_enabled",
                              "is_autocast_cpu_enabled", "set_autocast_cache_enabled", "set_autocast_cpu_dtype",
                              "set_autocast_cpu_enabled", "set_autocast_gpu_dtype"), "amp.autocast_mode"),
             **dict.fromkeys(("get_deterministic_debug_mode", "is_deterministic_algorithms_warn_only_enabled",
                              "set_deterministic_debug_mode", "has_lapack", "has_mkl", "has_openmp", "has_spectral"),
                             "settings"),
             "get_device_module": "accelerator",
             **dict.fromkeys(("is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_anomaly_enabled"),
                             "autograd.anomaly"),
             **dict.fromkeys(("Future", "fork", "wait", "ScriptModule", "CompilationUnit", "ScriptFunction",
                              "TensorType"), "jit"),
             **dict.fromkeys(("DisableTorchFunction", "DisableTorchFunctionSubclass"), "autograd.dispatch"),
             **dict.fromkeys(("sparse_compressed_tensor", "sparse_coo_tensor", "sparse_csc_tensor",
                             "sparse_csr_tensor"), "sparse.creation"),
             **dict.fromkeys(("sparse_coo", "sparse_csc", "sparse_csr"), "sparse.layouts"),
             **dict.fromkeys(("dsmm", "hsmm", "hspmm", "saddmm", "smm", "spmm", "sspaddmm"), "sparse.products"),
             "resize_as_sparse_": "sparse.pointwise", "_softmax_backward_data": "ops.nn.softmax",
             **dict.fromkeys(("SymBool", "SymFloat", "SymInt", "_assert", "_assert_async", "sym_float",
                              "sym_fresh_size", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt",
                              "sym_sum"), "sym")}


class _Namespaces:
    """Finds the rows of `compat`. It stands first: a folder that an older version left would hide one."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        row = name.removeprefix("minitorch.")
        if row != name and (row in _ROWS or row.split(".")[0] in _ROWS):
            return importlib.import_module("minitorch.compat").find_spec(name)


_sys.meta_path.insert(0, _Namespaces)


def __getattr__(name):
    if name in ELSEWHERE:
        found = getattr(_imported(f"minitorch.{ELSEWHERE[name]}", f"minitorch.{name}"), name)
    elif name == "_tensor_str":                            # PyTorch's module of `set_printoptions`
        found = importlib.import_module("minitorch.printing")
    elif name.startswith("_foreach_"):
        found = getattr(importlib.import_module("minitorch.optim.foreach"), name)
    elif name in PARTS or name in _ROWS or name == "_utils":
        found = _imported(f"minitorch.{name}", f"minitorch.{name}")
    else:
        text = importlib.import_module("minitorch.explain.names").NoAttribute       # Python itself looks at 750 names
        raise AttributeError(text(f"module 'minitorch' has no attribute {name!r}", name, __dir__), name=name)
    globals()[name] = found
    return found


def __dir__():
    rows = {name for name in _ROWS if not name.startswith("_") and "." not in name}
    return sorted({*globals(), *PARTS, *ELSEWHERE, *rows, "__config__"})
