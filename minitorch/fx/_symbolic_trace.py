"""The tracer: runs a module or function on proxies, which write down what it does."""

import builtins
import functools
import inspect
import math
import threading
import types
import warnings

from .. import Tensor
from ..extend import activate_overrides
from ..nn import Module, Parameter, Sequential
from ..sym import _assert
from ..utils import _pytree
from .codegen import PyTreeCodeGen
from .graph import Graph
from .graph_module import GraphModule
from .node import map_aggregate
from .proxy import ParameterProxy, Proxy, TracerBase

__all__ = ["PH", "ProxyableClassMeta", "Tracer", "is_fx_symbolic_tracing", "is_fx_tracing", "symbolic_trace", "wrap"]


class Placeholder:
    """The mark for a leaf of a nested concrete argument that stays a parameter of the program."""

    def __repr__(self):
        return "PH"


PH = Placeholder()
CO_VARARGS, CO_VARKEYWORDS = inspect.CO_VARARGS, inspect.CO_VARKEYWORDS
wrapped: dict = {}                                         # (id of a module's globals, name): the globals
proxyable: dict = {}                                       # classes whose objects become constants of the module


class Running(threading.local):
    """The tracers at work in this thread, the innermost last."""

    def __init__(self):
        self.tracers = []


running = Running()


def is_fx_tracing():
    """True if this thread traces a program."""
    return bool(running.tracers)


is_fx_symbolic_tracing = is_fx_tracing


# ------------------------------------------------------------------ functions that become nodes whole
def wrap(fn_or_name):
    """Let calls of a function of this module be nodes: the tracer does not look inside.

    Called at the top level of a module with the name of a function, or as a decorator of one. Returns its argument.
    RuntimeError for anything else than a function or name, NotImplementedError elsewhere than at the top level.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe().f_back
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    wrapped[(id(frame.f_globals), name)] = frame.f_globals
    return fn_or_name


def recorded_call(function):
    """`function`, but a node if a proxy is among its arguments."""
    @functools.wraps(function)
    def call(*args, **kwargs):
        proxy = first_proxy((args, kwargs)) if running.tracers else None
        if proxy is None:
            return function(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        made.node.meta["is_wrapped"] = True                # so that the code says so, for a tracer of that code
        return made
    return call


def first_proxy(a):
    found = []
    map_aggregate(a, lambda x: found.append(x) if isinstance(x, Proxy) else None)
    return found[0] if found else None


class ProxyableClassMeta(type):
    """The metaclass of classes whose constructor may be called with proxies: the call becomes a node."""

    def __init__(cls, name, bases, attrs):
        proxyable.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args, **kwargs):
        proxy = first_proxy((args, kwargs))
        if proxy is not None:
            return proxy.tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


class Patches:
    """Names exchanged while a program is traced, put back at the end in the opposite order."""

    def __init__(self):
        self.before = []

    def put(self, where, name, value):
        """Exchange an entry of a dict, or an attribute of a class."""
        is_dict = isinstance(where, dict)
        had = name in where if is_dict else name in vars(where)
        old = where.get(name) if is_dict else vars(where).get(name)
        self.before.append((where, name, had, old))
        if is_dict:
            where[name] = value
        else:
            setattr(where, name, value)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for where, name, had, old in reversed(self.before):
            if isinstance(where, dict):
                if had:
                    where[name] = old
                else:
                    del where[name]
            elif had:
                setattr(where, name, old)
            else:
                delattr(where, name)


# ------------------------------------------------------------------ the tracer
class Tracer(TracerBase):
    """Traces modules and functions; derive from it to decide which modules are leaves, or what becomes of arguments.

    `autowrap_modules`: modules whose functions become nodes when called with proxies; `autowrap_functions`: functions
    that do. With `param_shapes_constant`, shapes of parameters are numbers in the trace.
    """

    def __init__(self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant=False):
        self.autowrapped = {id(f) for module in autowrap_modules for name, f in vars(module).items()
                            if not name.startswith("_") and callable(f)} | {id(f) for f in autowrap_functions}
        self.autowrap_places = [vars(module) for module in autowrap_modules]
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths = None

    # -- what derived classes may change -----------------------------------------------------------------------
    def is_leaf_module(self, m, module_qualified_name):
        """True if a module becomes one node; by default those of this package, but not
        `Sequential`."""
        return type(m).__module__.startswith("minitorch.nn.") and not isinstance(m, Sequential)

    def path_of_module(self, mod):
        """The qualified name of a submodule of the root. NameError if it is none."""
        found = (self.submodule_paths or {}).get(mod)
        if found is None:
            found = next((name for name, m in self.root.named_modules() if m is mod), None)
        if not isinstance(found, str):
            raise NameError("module is not installed as a submodule")
        return found

    def call_module(self, m, forward, args, kwargs):
        """The call of a submodule: a node if it is a leaf, else ``forward(*args, **kwargs)``, traced."""
        path = self.path_of_module(m)
        if not self.is_leaf_module(m, path):
            return forward(*args, **kwargs)
        return self.create_proxy("call_module", path, args, kwargs)

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """The value of a module's attribute: parameters become proxies (buffers if `proxy_buffer_attributes`)."""
        if isinstance(attr_val, Parameter):
            return self.attribute_proxy(attr_val, self.root.named_parameters(), parameter_proxy_cache,
                                        self.param_shapes_constant)
        if self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            return self.attribute_proxy(attr_val, self.root.named_buffers(), parameter_proxy_cache, False)
        return attr_val

    def attribute_proxy(self, value, names, cache, shapes):
        for name, other in names:
            if other is value:
                if name not in cache:
                    kind = functools.partial(ParameterProxy, self, name=name, param=value) if shapes else None
                    cache[name] = self.create_proxy("get_attr", name, (), {}, proxy_factory_fn=kind)
                return cache[name]
        return value

    def create_arg(self, a):
        """As in `TracerBase`; tensors become attributes of the module: parameters and buffers by their names, others
        as constants ``_tensor_constant0`` ... NameError for a parameter that the module does not have."""
        if isinstance(a, Tensor):
            named = self.root.named_parameters() if isinstance(a, Parameter) else self.root.named_buffers()
            name = next((name for name, other in named if other is a), None) or self.tensor_names.get(id(a))
            if name is None and isinstance(a, Parameter):
                raise NameError("parameter is not a member of this module")
            return self.create_node("get_attr", name or self.constant("_tensor_constant", a), (), {})
        if type(a) in proxyable:
            return self.create_node("get_attr", self.constant(f"_{type(a).__name__}_constant_", a), (), {})
        return super().create_arg(a)

    def constant(self, prefix, value):
        """Keep a value as an attribute of the root; its name."""
        name = self.tensor_names.get(id(value))
        if name is None:
            name = self.get_fresh_qualname(prefix)
            setattr(self.root, name, value)
            self.tensor_names[id(value)] = name
        return name

    def get_fresh_qualname(self, prefix):
        """`prefix` with the first number that the root has no attribute of."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    # -- tracing -----------------------------------------------------------------------------------------------
    def trace(self, root, concrete_args=None):
        """The `Graph` of a module or function.

        `concrete_args`: values of parameters, by name, that the program is traced for; in nested ones `PH` marks the
        leaves that stay open. TraceError where the program's way depends on values.
        """
        activate_overrides()
        if isinstance(root, Module):
            self.root, function = root, getattr(type(root), self.traced_func_name)
            self.submodule_paths = {m: name for name, m in root.named_modules()}
        else:
            self.root, function, self.submodule_paths = Module(), root, None
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_names = {id(value): f"{name}.{key}".lstrip(".") for name, module in self.root.named_modules()
                             for key, value in vars(module).items() if isinstance(value, Tensor)}
        function, args = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
        with Patches() as patches:
            self.patch(patches, function)
            running.tracers.append(self)
            try:
                result = function(*args)
                self.create_node("output", "output", (self.output_arg(result),), {},
                                 type_expr=getattr(function, "__annotations__", {}).get("return"))
            finally:
                running.tracers.pop()
                self.submodule_paths = None
        return self.graph

    def output_arg(self, result):
        """The result as nodes; taken apart if parameters are nested."""
        codegen = self.graph._codegen
        if isinstance(codegen, PyTreeCodeGen):
            leaves, codegen.out_spec = _pytree.tree_flatten(result)
            return self.create_arg(leaves)
        return self.create_arg(result)

    def patch(self, patches, function):
        """Let reads of parameters, calls of submodules and of wrapped functions come here, in this thread."""
        cache, thread = {}, threading.get_ident()
        read, call = Module.__getattr__, Module.__call__

        def is_ours():
            return threading.get_ident() == thread and running.tracers and running.tracers[-1] is self

        def read_attribute(module, name):
            value = read(module, name)
            return self.getattr(name, value, cache) if is_ours() else value

        def call_module(module, *args, **kwargs):
            if not is_ours():
                return call(module, *args, **kwargs)
            self.wrap_known(patches, vars(inspect.getmodule(type(module)) or builtins))
            return self.call_module(module, lambda *a, **k: call(module, *a, **k), args, kwargs)
        patches.put(Module, "__getattr__", read_attribute)
        patches.put(Module, "__call__", call_module)
        for (_, name), place in list(wrapped.items()):
            original = place.get(name) or getattr(builtins, name, None)
            if original is not None:
                patches.put(place, name, recorded_call(original))
        for place in (getattr(function, "__globals__", {}), *self.autowrap_places):
            self.wrap_known(patches, place)

    def wrap_known(self, patches, place):
        """Exchange the functions of `autowrapped` in a module's globals."""
        for name, value in list(place.items()):
            if id(value) in self.autowrapped and not name.startswith("_") and callable(value):
                patches.put(place, name, recorded_call(value))

    # -- parameters --------------------------------------------------------------------------------------------
    def create_args_for_root(self, root_fn, is_module, concrete_args=None):
        """The function to run and its arguments: a proxy for each parameter, one for ``*args``, for ``**kwargs``."""
        analysed = inspect.unwrap(root_fn)
        code, signature = analysed.__code__, inspect.signature(analysed)
        count = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames)
        args = [self.root] if is_module else []
        if is_module and not count:
            raise RuntimeError("`self` argument cannot be part of *args expansion!")
        stars = [("*", CO_VARARGS), ("**", CO_VARKEYWORDS)]
        params = names[len(args):count]
        starred = [s for s, flag in stars if code.co_flags & flag]
        params += [s + name for s, name in zip(starred, names[count:])]
        concrete = concrete_args if isinstance(concrete_args, dict) else dict(zip(params, concrete_args or ()))
        trees = [self.parameter(name, analysed, signature, concrete) for name in params]
        nested = any(isinstance(v, (tuple, list, dict)) for v in concrete.values())
        if starred:
            root_fn = without_stars(analysed, count + len(starred))
        if nested:
            spec = _pytree.tree_flatten(trees)[1]
            self.graph._codegen = PyTreeCodeGen(params, spec)
        return root_fn, args + trees

    def parameter(self, name, function, signature, concrete):
        """The stand-in for a parameter: a proxy, or its concrete value with proxies in open places."""
        if name not in concrete:
            args = () if name.startswith("*") else default_of(signature, name)
            return self.create_proxy("placeholder", name, args, {}, type_expr=function.__annotations__.get(name))
        number = 0

        def leaf(value):
            nonlocal number
            number += 1
            proxy = self.create_proxy("placeholder", f"{name}_{number}", default_of(signature, name), {})
            if value is PH:
                return proxy
            self.expect(proxy, name, value)
            return value
        return _pytree.tree_map(leaf, concrete[name], is_leaf=lambda x: x is None)

    def expect(self, proxy, name, value):
        """Let the program check that it gets the value that it was traced for."""
        message = f"{name} has been specialized to have value {value} but got another value"
        if isinstance(value, (bool, int, float)):
            self.create_proxy("call_function", _assert, (proxy == value, message), {})
        elif value is None:
            self.create_proxy("call_function", _assert_is_none, (proxy, message), {})
        else:
            warnings.warn(f"Was not able to add assertion to guarantee correct input {name} to specialized function. "
                          f"It is up to the user to make sure that your inputs match the inputs you specialized the "
                          f"function with.", stacklevel=2)


def default_of(signature, name):
    """The default of a parameter as the arguments of its node: a tuple of one or none."""
    default = signature.parameters[name].default
    return () if default is inspect.Parameter.empty else (default,)


def without_stars(function, count):
    """The function with ``*args`` and ``**kwargs`` as ordinary parameters, so that each can be a proxy."""
    code = function.__code__.replace(co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0,
                                     co_flags=function.__code__.co_flags & ~(CO_VARARGS | CO_VARKEYWORDS))
    made = types.FunctionType(code, function.__globals__, function.__name__, None, function.__closure__)
    made.__annotations__ = function.__annotations__
    return made


def _assert_is_none(value, message):
    assert value is None, message


def symbolic_trace(root, concrete_args=None):
    """The `GraphModule` of a module or function: its calls as a graph, which can be read, changed and run.

    `concrete_args`: values of parameters that the program is traced for, by name. The program runs once, on proxies;
    loops and branches that do not depend on values are unrolled. TraceError where it depends on values.

    >>> import minitorch as torch
    >>> def f(x):
    ...     return torch.relu(x) * 2
    >>> print(torch.fx.symbolic_trace(f).code.strip())
    def forward(self, x):
        relu = torch.relu(x);  x = None
        mul = relu * 2;  relu = None
        return mul
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


class WholeModules(Tracer):
    """A tracer for which every submodule is one node."""

    def is_leaf_module(self, m, module_qualified_name):
        return True
