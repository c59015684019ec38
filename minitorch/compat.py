"""The namespaces of PyTorch that exist here so that programs can import them: one table.

Each answers as PyTorch does where a feature is absent, or has names of other modules. A row of
`TABLE` is a namespace: its docstring and its names, each with its value or its `Place`, which is
imported when it is first asked for. Where PyTorch has code of its own that works here too, it is a
module of its own (`futures`, `hub`, `jit`, `sym`, `ao`, ...).

The package's root finds them as Python finds files (``import minitorch.xpu``); it lists their names,
so that this file is loaded when the first is asked for.
"""

import contextlib
import platform
import typing
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from os import PathLike
from types import FunctionType, ModuleType, SimpleNamespace
from typing import IO, Any, Final, NamedTuple, TypeAlias, Union

import numpy as np

from .autograd.dispatch import disabled_torch_function, state
from .core.device import device
from .core.dtypes import dtype
from .core.grad_mode import grad_mode
from .core.registry import FUNCTIONS
from .core.storage import layout
from .core.tensor import Size, Tensor
from .ops.shapes.memory import TypedStorage, UntypedStorage
from .settings import get_num_interop_threads, get_num_threads


class Place(NamedTuple):
    """Where a value is defined: a module of this package ("" is its root), and a name in it."""

    module: str
    name: str = ""

    def find(self):
        module = import_module(f"minitorch.{self.module}".rstrip("."))
        return getattr(module, self.name) if self.name else module


def at(module, names):
    """Part of a row: these names, each the same name of `module`."""
    return {name: Place(module, name) for name in names.split()}


# ---- devices -----------------------------------------------------------------------------------
def no():
    """False."""
    return False


def yes():
    """True."""
    return True


def zero(device=None):
    """0."""
    return 0


def no_devices():
    """0."""
    return 0


def nothing():
    """Nothing: there is no memory of such a device."""


def seed_nothing(seed):
    """Nothing: there is no device whose random numbers it would begin."""


def no_xpu(device=None):
    """AssertionError: there is no such device."""
    raise AssertionError("minitorch computes on the processor and, with CuPy, on CUDA's GPUs; "
                         "there are no XPUs")


def no_mps():
    """RuntimeError: there is no such device."""
    raise RuntimeError("minitorch computes on the processor and, with CuPy, on CUDA's GPUs; "
                       "there is no MPS")


def limit_mps(fraction):
    """RuntimeError: there is no such device."""
    no_mps()


def one():
    """1: the processor is one device."""
    return 1


def processor():
    """The name of the processor as a device: "cpu"."""
    return "cpu"


def use_processor(device):
    """Nothing: there is one processor."""


def synchronize_processor(device=None):
    """Nothing: calls on the processor are done when they return."""


class Stream:
    """The order of calls on the processor, which come one after the other."""

    def __init__(self, priority=-1):
        pass

    def wait_stream(self, stream):
        """Nothing: earlier calls are done."""

    record_event = wait_event = wait_stream


class StreamContext(contextlib.AbstractContextManager):
    """A context that changes nothing: there is one stream."""

    def __init__(self, stream):
        self.stream = stream

    def __exit__(self, *exc):
        return None


only_stream = Stream()


def current_stream(device=None):
    """The one stream there is."""
    return only_stream


def in_stream(stream):
    """A context that changes nothing."""
    return StreamContext(stream)


def get_capabilities():
    """The kind of processor, ``{"architecture": ...}``, without extensions of PyTorch's kernels."""
    return {"architecture": platform.machine()}


# ---- __config__ --------------------------------------------------------------------------------
def show():
    """NumPy's version and the libraries that it was built with."""
    libraries = np.show_config(mode="dicts").get("Build Dependencies", {})
    lines = [f"  - {kind}: {x.get('name')} {x.get('version')}" for kind, x in libraries.items()]
    return "\n".join(["minitorch built with:", f"  - NumPy {np.__version__}", *lines, ""])


def parallel_info():
    """The numbers of threads."""
    return (f"minitorch parallel info:\n"
            f"  threads of products and elementwise work: {get_num_threads()}\n"
            f"  calls at a time: {get_num_interop_threads()}\n")


# ---- types -------------------------------------------------------------------------------------
# Programs may ask a Union or a tuple of PyTorch's for its items: these are of the same kinds.
Number: TypeAlias = Union[int, float, bool]
numbers = (int, float, bool)
Device: TypeAlias = Union[device, str, int, None]
FileLike: TypeAlias = Union[str, PathLike[str], IO[bytes]]
Storage: TypeAlias = Union[TypedStorage, UntypedStorage]
Sizes: TypeAlias = Size | list[int] | tuple[int, ...]
TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
Dict, List, Optional, Tuple = typing.Dict, typing.List, typing.Optional, typing.Tuple  # noqa: UP006


# ---- exporting, TorchScript --------------------------------------------------------------------
def is_in_onnx_export():
    """False: nothing is exported."""
    return False


def export_onnx(model, *args, **kwargs):
    """Raises NotImplementedError: minitorch has no traced graph to write as ONNX.

    PyTorch can: save ``model.state_dict()``, load it into the same module there, and export that.
    """
    raise NotImplementedError("minitorch runs eagerly and writes no ONNX files; "
                              "torch.save(model.state_dict(), path), load that into the same "
                              "module in PyTorch, and export it there")


def boolean_dispatch(arg_name, arg_index, default, if_true, if_false, module_name, func_name):
    """A function that calls `if_true` or `if_false`, as its argument `arg_name` says."""
    def chosen(*args, **kwargs):
        flag = args[arg_index] if arg_index < len(args) else kwargs.get(arg_name, default)
        return (if_true if flag else if_false)(*args, **kwargs)
    chosen.__name__, chosen.__doc__ = func_name or if_true.__name__, if_true.__doc__
    return chosen


def same(fn):
    """`fn` as it is."""
    return fn


# ---- _C, _VF: PyTorch's functions in C++ -------------------------------------------------------
TensorMeta = type(Tensor)


def is_torch_function_enabled():
    return state.everything and state.subclasses


def is_torch_function_mode_enabled():
    return bool(state.modes)


def are_functorch_transforms_active():
    return bool(grad_mode.batches or grad_mode.levels)


def log_api_usage_once(name):
    """Nothing: nobody counts."""


def get_tracing_state():
    """None: TorchScript traces nothing."""


def parse_to(*args, **kwargs):
    return Place("nn.parameter", "parse_to").find()(*args, **kwargs)


nn_functions = SimpleNamespace(_parse_to=parse_to)


def public_function(name):
    """The public function of that name."""
    if ("", name) not in FUNCTIONS:
        raise AttributeError(f"module 'minitorch._VF' has no attribute {name!r}")
    return FUNCTIONS["", name].call


# ---- _dynamo -----------------------------------------------------------------------------------
config = SimpleNamespace(
    cache_size_limit=8, recompile_limit=8, accumulated_cache_size_limit=256, suppress_errors=False,
    verbose=False, dynamic_shapes=True, assume_static_by_default=True,
    automatic_dynamic_shapes=True, capture_scalar_outputs=False, optimize_ddp=True,
    capture_dynamic_output_shape_ops=False, allow_unspec_int_on_nn_module=False,
    inline_inbuilt_nn_modules=True)


def graph_break(msg=""):
    """A function that calls this while it is compiled runs eagerly, as a whole."""
    Place("compiler", "disable").find()(lambda: None, reason=msg or None)()


def mark_dynamic(t, index=None, **kwargs):
    """Nothing: a function is compiled once for each shape."""


def optimize(backend="auto", *, nopython=False, disable=False, **kwargs):
    """`compile` as a decorator, by its older name; `nopython` is its `fullgraph`."""
    return Place("compiler", "compile").find()(backend=backend, fullgraph=nopython, disable=disable)


def run(fn=None):
    """A compiled function as it is."""
    return fn if fn is not None else lambda f: f


class TransformGetItemToIndex(contextlib.nullcontext):
    """``mask[b, h]`` with 0-d tensors as indices, within `vmap`: that works without a mode here."""


# ---- _subclasses: tensors without values -------------------------------------------------------
class FakeTensor(Tensor):
    """The class of fake tensors, which no tensor has; making one raises NotImplementedError."""

    __torch_function__ = disabled_torch_function           # a class that answers calls slows them all

    def __new__(cls, *args, **kwargs):
        raise NotImplementedError("there are no fake tensors: device='meta' computes shapes "
                                  "without values")


class FakeTensorMode:
    """NotImplementedError: in PyTorch, a block in which tensors are fake."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("there are no fake tensors: `with torch.device('meta'):` "
                                  "computes shapes without values")


def is_fake(x):
    """False: no tensor is fake."""
    return False


# ---- what is imported by name and cannot be used ------------------------------------------------
def refused(doc):
    """A function that raises NotImplementedError with a text: what is not there, what to write."""
    def refuse(*args, **kwargs):
        raise NotImplementedError(doc)
    refuse.__doc__ = f"NotImplementedError: {doc}."
    return refuse


def refused_class(doc):
    """A class without objects: making one raises NotImplementedError."""
    return type("Refused", (), {"__init__": refused(doc), "__doc__": f"NotImplementedError: {doc}.",
                                "__module__": __name__})


NO_EXPORT = ("calls run at once and leave no graph to export; save model.state_dict(), load it in "
             "PyTorch, and export it there")
NO_RPC = ("gradients do not cross remote calls; use torch.distributed with "
          "DistributedDataParallel or fully_shard")
no_export, no_rpc, ExportedProgram = refused(NO_EXPORT), refused(NO_RPC), refused_class(NO_EXPORT)

ONNXProgram = refused_class("minitorch writes no ONNX files: export in PyTorch")


class HigherOrderOperator:
    """The class of PyTorch's operators that take functions, which are plain functions here; an
    operator of your own is made by `library.custom_op`."""

    def __init__(self, name, *args, **kwargs):
        raise NotImplementedError(f"{name}: a function that takes functions is a plain function; "
                                  f"torch.library.custom_op makes an operator")


def is_compile_supported(device_type):
    """True: `compile` takes tensors of any device."""
    return True


def group_by_device_and_dtype(tensorlistlist, with_indices=False):
    """Lists of tensors, cut into groups of one device and dtype, those of the first list:
    ``{(device, dtype): (lists, places)}``."""
    groups = {}
    for place, row in enumerate(zip(*tensorlistlist)):
        first = next(x for x in row if x is not None)
        lists, places = groups.setdefault((first.device, first.dtype),
                                          ([[] for _ in tensorlistlist], []))
        for column, x in zip(lists, row):
            column.append(x)
        if with_indices:
            places.append(place)
    return groups


def device_types_of_foreach():
    """The types of devices on which lists of tensors are taken."""
    return ["cuda", "cpu"]


def has_foreach_support(tensors, device=None):
    """True if all elements are tensors, or None."""
    return all(x is None or isinstance(x, Tensor) for x in tensors)


class CallableModule(ModuleType):
    """A module with the name of its function, which calls it: ``torch.autograd.gradcheck``."""

    def __call__(self, *args, **kwargs):
        return getattr(self, self.__name__.rpartition(".")[2])(*args, **kwargs)


# ---- the table ---------------------------------------------------------------------------------
TABLE: dict[str, dict[str, Any]] = {
    "__config__": {
        "__doc__": "The libraries and threads that computing rests on, as texts.",
        "show": show, "parallel_info": parallel_info,
    },
    "storage": {
        "__doc__": "The memory of tensors, under the name that PyTorch has for it.",
        **at("ops.shapes.memory", "TypedStorage UntypedStorage"),
    },
    "functional": {
        "__doc__": "``torch.functional``: an old place of functions of the package, the very same.",
        **at("", "atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes "
                 "broadcast_tensors cartesian_prod cdist chain_matmul einsum istft lu meshgrid "
                 "norm pca_lowrank split stft svd_lowrank tensordot unique unique_consecutive "
                 "unravel_index"),
    },
    "types": {
        "__doc__": "``torch.types``: names for annotations.",
        "__all__": ["Device", "FileLike", "Number", "Storage"],
        "Device": Device, "FileLike": FileLike, "Number": Number, "Storage": Storage,
        "PySymType": Number, "_Number": numbers, "_size": Sizes, "_dispatchkey": str,
        "_bool": bool, "_complex": complex, "_float": float, "_int": int, "_symint": int,
        "_device": device, "_dtype": dtype, "_layout": layout,
        "_TensorOrTensors": TensorOrTensors, "_TensorOrTensorsOrGradEdge": Any,
        "Any": Any, "IO": IO, "Sequence": Sequence, "Tensor": Tensor, "TypeAlias": TypeAlias,
        "Union": Union,
    },
    "version": {
        "__doc__": """``torch.version``: the version of PyTorch whose names and behaviour these are.

``minitorch.__version__`` is the version of this library. A program that is run in PyTorch's place
(``python -m minitorch script.py``) sees `__version__` of this module as ``torch.__version__``.
""",
        "__all__": ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"],
        "__version__": Place("torch_version", "__version__"),
        "debug": False, "git_version": "Unknown",
        "cuda": None, "hip": None, "rocm": None, "xpu": None,    # CuPy brings its own CUDA, later
    },
    "onnx": {
        "__doc__": "``torch.onnx``. Calls run at once and leave no graph to export.",
        "export": export_onnx, "is_in_onnx_export": is_in_onnx_export,
        "ONNXProgram": ONNXProgram,
    },
    "quantization": {
        "__doc__": "``torch.quantization``: the old place of `ao.quantization`.",
        **at("ao.quantization", "DeQuantStub QuantStub QuantWrapper convert get_default_qconfig "
                                "prepare prepare_qat quantize quantize_dynamic"),
    },
    "autograd.profiler": {
        "__doc__": "``torch.autograd.profiler``: the old place of `profiler`, with older arguments.",
        "__all__": ["EventList", "emit_nvtx", "profile", "record_function"],
        **at("profiler.older", "EventList emit_nvtx profile record_function"),
    },
    "utils.model_zoo": {
        "__doc__": "``torch.utils.model_zoo``: the old place of `load_url`, which `hub` has.",
        "__all__": ["load_url"], "tqdm": Place("hub", "tqdm"),
        "load_url": Place("hub", "load_state_dict_from_url"),
    },
    # -- devices: what the absent ones say, and the processor as one of them
    "xpu": {
        "__doc__": "``torch.xpu``: Intel's GPUs, absent, as in PyTorch built without them.",
        "is_available": no, "is_initialized": no, "is_bf16_supported": no,
        "device_count": no_devices, "empty_cache": nothing, "memory_allocated": zero,
        "manual_seed": seed_nothing, "manual_seed_all": seed_nothing,
        "synchronize": no_xpu, "set_device": no_xpu, "current_device": no_xpu,
        "get_device_name": no_xpu,
    },
    "mps": {
        "__doc__": "``torch.mps``: Apple's GPUs, absent, as in PyTorch built without them.",
        "is_available": no, "device_count": no_devices, "manual_seed": seed_nothing,
        "synchronize": no_mps, "seed": no_mps, "empty_cache": no_mps,
        "current_allocated_memory": no_mps,
        "set_per_process_memory_fraction": limit_mps,
    },
    "mtia": {
        "__doc__": "``torch.mtia``: Meta's accelerators, which are absent.",
        "is_available": no, "is_initialized": no, "device_count": no_devices,
    },
    "cpu": {
        "__doc__": "``torch.cpu``: the processor, by the functions that every kind of device has.",
        "__all__": ["Stream", "StreamContext", "current_device", "current_stream", "device_count",
                    "get_capabilities", "is_available", "is_initialized", "set_device", "stream",
                    "synchronize"],
        "amp": Place("amp.cpu"),
        "is_available": yes, "is_initialized": yes, "device_count": one,
        "current_device": processor, "set_device": use_processor,
        "synchronize": synchronize_processor,
        "Stream": Stream, "StreamContext": StreamContext, "_stream": only_stream,
        "current_stream": current_stream, "stream": in_stream, "get_capabilities": get_capabilities,
    },
    # -- private places of PyTorch that programs name all the same
    "_tensor": {
        "__doc__": "``torch._tensor``: the module in which PyTorch has `Tensor`.",
        "Tensor": Tensor,
    },
    "_VF": {
        "__doc__": "``torch._VF``: functions by the name by which PyTorch's own layers call them.",
        "__getattr__": public_function,
    },
    "_C": {
        "__doc__": "The names of PyTorch's C module that programs use, for subclasses of Tensor.",
        "__all__": ["DisableTorchFunction", "DisableTorchFunctionSubclass", "Generator", "Size",
                    "TensorBase", "_disabled_torch_function_impl", "default_generator", "device",
                    "dtype", "layout", "memory_format"],
        **at("autograd.dispatch", "DisableTorchFunction DisableTorchFunctionSubclass"),
        "_disabled_torch_function_impl": disabled_torch_function,
        **at("random.generator", "Generator default_generator"),
        **at("core.storage", "layout memory_format"),
        "device": device, "dtype": dtype, "Size": Size,
        "TensorBase": Tensor, "_TensorBase": Tensor, "_TensorMeta": TensorMeta,
        "_is_torch_function_enabled": is_torch_function_enabled,
        "_is_torch_function_mode_enabled": is_torch_function_mode_enabled,
        "_are_functorch_transforms_active": are_functorch_transforms_active,
        "_log_api_usage_once": log_api_usage_once, "_get_tracing_state": get_tracing_state,
        "_nn": nn_functions,
    },
    "_jit_internal": {
        "__doc__": "``torch._jit_internal``: marks for TorchScript in PyTorch's own layers.",
        "__all__": ["Any", "Dict", "Final", "Future", "List", "Optional", "Tuple", "Union",
                    "_copy_to_script_wrapper", "_overload", "_overload_method", "boolean_dispatch",
                    "export", "ignore", "is_scripting", "unused"],
        **at("futures", "Future"), **at("jit", "export ignore is_scripting unused"),
        "boolean_dispatch": boolean_dispatch, "_copy_to_script_wrapper": same, "_overload": same,
        "_overload_method": same, "Any": Any, "Final": Final, "Dict": Dict, "List": List,
        "Optional": Optional, "Tuple": Tuple, "Union": Union,
    },
    "_dynamo": {
        "__doc__": """``torch._dynamo``: what programs say to PyTorch's compiler, for `compiler`.

`config` keeps what is set on it and changes nothing.
""",
        **at("compiler", "allow_in_graph assume_constant_result disable is_compiling list_backends "
                         "reset set_stance substitute_in_graph"),
        "disallow_in_graph": Place("compiler", "disable"),
        "forbid_in_graph": Place("compiler", "disable"),
        "OptimizedModule": Place("compiler.module", "CompiledModule"),
        "eval_frame": Place("_dynamo"),           # a file of PyTorch's, which has `OptimizedModule`
        "is_dynamo_supported": yes, "config": config, "graph_break": graph_break, "optimize": optimize, "run": run,
        "mark_dynamic": mark_dynamic, "mark_static": mark_dynamic,
        "mark_static_address": mark_dynamic, "maybe_mark_dynamic": mark_dynamic,
        "exc": Place("_dynamo.exc"),
    },
    "_dynamo.exc": {
        "__doc__": "Errors of `compile`.",
        "InvalidBackend": Place("compiler.options", "InvalidBackend"),
    },
    "_dynamo._trace_wrapped_higher_order_op": {
        "__doc__": "A mode of PyTorch's compiler for masks computed by index, under `vmap`.",
        "TransformGetItemToIndex": TransformGetItemToIndex,
    },
    "_dynamo.utils": {
        "__doc__": "``torch._dynamo.utils``: a question that libraries ask before they compile.",
        "is_compile_supported": is_compile_supported,
    },
    "_ops": {
        "__doc__": "``torch._ops``: the classes of operators.",
        "OpOverload": Place("library.namespaces", "Overload"),
        "OpOverloadPacket": Place("library.namespaces", "Packet"),
        "HigherOrderOperator": HigherOrderOperator, "ops": Place("", "ops"),
    },
    "_custom_ops": {
        "__doc__": "``torch._custom_ops``: the old place of functions of `library`.",
        "impl_abstract": Place("library", "register_fake"),
    },
    "autograd.gradcheck": {
        "__doc__": "``torch.autograd.gradcheck``, the file; called, it is its function.",
        **at("testing.gradcheck", "GradcheckError gradcheck gradgradcheck"),
    },
    "utils._foreach_utils": {
        "__doc__": "``torch.utils._foreach_utils``: groups of tensors for functions of lists.",
        "_group_tensors_by_device_and_dtype": group_by_device_and_dtype,
        "_get_foreach_kernels_supported_devices": device_types_of_foreach,
        "_get_fused_kernels_supported_devices": device_types_of_foreach,
        "_has_foreach_support": has_foreach_support,
    },
    "export": {
        "__doc__": "``torch.export``, which is refused: nothing here records a whole program.",
        "export": no_export, "ExportedProgram": ExportedProgram,
    },
    "export.decomp_utils": {
        "__doc__": "A table of PyTorch's exporter, which is absent.",
        "CustomDecompTable": refused_class(NO_EXPORT),
    },
    "onnx.symbolic_helper": {
        "__doc__": "``torch.onnx.symbolic_helper``: parts of an exporter, which is absent.",
        "parse_args": refused("calls leave no graph to export to ONNX: export in PyTorch"),
    },
    "distributed.autograd": {
        "__doc__": "``torch.distributed.autograd``: gradients across remote calls, absent.",
        "backward": no_rpc, "get_gradients": refused(NO_RPC), "context": refused_class(NO_RPC),
        "DistAutogradContext": refused_class(NO_RPC),
    },
    "_subclasses.fake_tensor": {
        "__doc__": "Names that libraries import to ask whether a tensor is a fake one: none is.",
        "FakeTensor": FakeTensor, "FakeTensorMode": FakeTensorMode, "is_fake": is_fake,
    },
    "_subclasses": {
        "__doc__": "PyTorch's fake tensors, which have no values: use device \"meta\" here.",
        "__all__": ["FakeTensor", "FakeTensorMode"],
        "FakeTensor": FakeTensor, "FakeTensorMode": FakeTensorMode,
        "fake_tensor": Place("_subclasses.fake_tensor"),
    },
}


def name_as_shown():
    """Give each function and class of this file the module and name of its first row."""
    for namespace, row in TABLE.items():
        for name, value in row.items():
            if isinstance(value, (FunctionType, type)) and value.__module__ == __name__:
                value.__module__ = f"minitorch.{namespace}"
                value.__name__ = value.__qualname__ = name


name_as_shown()


# ---- modules made of rows ----------------------------------------------------------------------
class Loader:
    """Fills a module with a row; what has a `Place` is imported when it is first asked for."""

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        row = TABLE[module.__name__.removeprefix("minitorch.")]
        places = {name: value for name, value in row.items() if isinstance(value, Place)}

        def find(name):
            if name not in places:
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            value = places[name].find()
            setattr(module, name, value)
            return value

        names = {"__all__": sorted(name for name in row if not name.startswith("_")),
                 "__getattr__": find,
                 "__dir__": lambda: sorted({*vars(module), *places} - {"__getattr__", "__dir__"})}
        if module.__name__.rpartition(".")[2] in places and row is TABLE["autograd.gradcheck"]:
            module.__class__ = CallableModule
        vars(module).update(names | {name: row[name] for name in row if name not in places})


def find_spec(name):
    """The spec of the module of a row; None for other names."""
    if name.removeprefix("minitorch.") not in TABLE:
        return None
    spec = ModuleSpec(name, Loader, origin=__file__, is_package=True)
    spec.has_location = True
    return spec
