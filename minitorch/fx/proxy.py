"""Proxies: stand-ins for the values of a program, whose operators, methods and function calls become nodes."""

import dis
import operator
import re
import sys
import traceback
from dataclasses import fields, is_dataclass

from .. import Tensor, device
from ..extend import FUNCTIONS, activate_overrides
from ..sym import _assert
from .codegen import INFIX, PREFIX
from .graph import Graph
from .immutable_collections import immutable_dict
from .node import BASE_TYPES, Node, map_aggregate
from .operator_schemas import with_defaults

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """The program asks for something that depends on values: which way to go, how long a loop is."""


class TracerBase:
    """Makes nodes and proxies in `graph`; `Tracer` walks through a program with it."""

    record_stack_traces = False                            # keep the line of the traced program in each node's meta
    check_mutable_operations = False                       # refuse writes in place
    trace_asserts = False                                  # let assertions about proxies become nodes
    proxy_buffer_attributes = False                        # let buffers be proxies where they are read
    traced_func_name = "forward"
    graph: Graph

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        """Add a node to the graph."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if self.check_mutable_operations and node.is_impure(False) and kind not in ("placeholder", "output"):
            raise RuntimeError(f"Tried to trace mutable operation {target}. FX only supports functional code, so "
                               f"operations that mutate operands in-place (e.g. via `out` arguments) are not "
                               f"supported")
        if self.record_stack_traces:
            frames = [f for f in traceback.extract_stack() if not f.filename.startswith(PACKAGE)]
            if frames:
                node.stack_trace = "".join(traceback.format_list(frames))
        return node

    def proxy(self, node):
        """The proxy of a node."""
        return Proxy(node, self)

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        """Add a node with arguments as the program gave them, and return its proxy."""
        node = self.create_node(kind, target, self.create_arg(tuple(args)), self.create_arg(dict(kwargs)), name,
                                type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a):
        """An argument of the program as an argument of a node: proxies become their nodes, containers are walked
        through. NotImplementedError for objects that graphs cannot keep."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, (tuple, list, slice)) and not hasattr(a, "_fields"):
            return map_children(a, self.create_arg)
        if isinstance(a, tuple):
            return self.create_node("call_function", type(a), tuple([self.create_arg(x) for x in a]), {})
        if isinstance(a, dict):
            return immutable_dict({self.check_key(k): self.create_arg(v) for k, v in a.items()})
        if isinstance(a, range):
            return range(*[self.create_arg(x) for x in (a.start, a.stop, a.step)])
        if is_dataclass(a) and not isinstance(a, type):
            return self.create_node("call_function", type(a), (),
                                    {f.name: self.create_arg(getattr(a, f.name)) for f in fields(a)})
        if isinstance(a, (*BASE_TYPES, device, Node)) or a is None or callable(a) and not isinstance(a, Tensor):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def check_key(self, key):
        """A key of a dict; RuntimeError if a node is in it."""
        def refuse(x):
            if isinstance(x, (Node, Proxy)):
                raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: "
                                   f"{getattr(x, 'node', x)}")
        map_aggregate(key, refuse)
        return key

    def to_bool(self, obj):
        """The truth of a proxy, which nobody knows: TraceError. Derived classes may know."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj):
        """An iterator over a proxy, whose length nobody knows: TraceError. Derived classes may know."""
        raise TraceError("Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or "
                         "as a *args or **kwargs function argument. Unpacking it to a known number of names works; for "
                         "loops of a known length use torch.fx.wrap or a concrete argument")

    def keys(self, obj):
        """The keys of a proxy as a proxy: what ``**proxy`` asks for."""
        return Attribute(obj, "keys")()


PACKAGE = __file__.rpartition("fx")[0]


def map_children(a, fn):
    if isinstance(a, slice):
        return slice(*[fn(x) for x in (a.start, a.stop, a.step)])
    return type(a)([fn(x) for x in a]) if type(a) in (list, tuple) else [fn(x) for x in a]


class GraphAppendingTracer(TracerBase):
    """Adds nodes to the end of a graph: what operators on proxies made by hand go to."""

    def __init__(self, graph):
        self.graph = graph


class Proxy:
    """The value of a node while a program is traced.

    Operators, attributes, methods, and functions of this package add nodes. A proxy has no value: ``if``, ``len``,
    ``int`` and loops over it raise. With a graph at hand, ``Proxy(node)`` adds nodes to the node's graph:

    >>> import minitorch as torch
    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"))
    >>> _ = graph.output((torch.relu(x) + 1).node)
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
        %add : [num_users=1] = call_function[target=operator.add](args = (%relu, 1), kwargs = {})
        return add
    """

    def __init__(self, node, tracer=None):
        activate_overrides()
        self.node, self.tracer = node, tracer or GraphAppendingTracer(node.graph)

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, name):
        if name in ("node", "tracer", "__fx_create_arg__") or name.startswith("__array"):
            raise AttributeError(name)                     # not made yet, or a protocol that asks every object
        return Attribute(self, name)

    def __getstate__(self):
        return dict(vars(self))

    def __setstate__(self, state):
        vars(self).update(state)

    def __deepcopy__(self, memo):
        raise TypeError("a Proxy belongs to the trace of a program and cannot be copied")

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self):
        count = unpacked(sys._getframe(1))
        return self.tracer.iter(self) if count is None else iter([self[i] for i in range(count)])

    def __abs__(self):
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self):
        if self.tracer.trace_asserts:
            frame = sys._getframe(1)
            message = asserted(frame)
            if message is not None:
                self.tracer.create_proxy("call_function", _assert, (self, message), {})
                return True
        return self.tracer.to_bool(self)

    def keys(self):
        """The keys, as a proxy."""
        return self.tracer.keys(self)

    def __len__(self):
        raise RuntimeError("'len' is not supported in symbolic tracing by default. If you want this call to be "
                           "recorded, please call torch.fx.wrap('len') at module scope")

    def __hash__(self):
        return id(self)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """A function of this package, or a method of another tensor, called with proxies: a node."""
        tracers = {}
        map_aggregate((args, kwargs or {}), lambda a: tracers.setdefault(a.tracer) if isinstance(a, Proxy) else None)
        if len(tracers) > 1:
            raise RuntimeError(f"Found multiple different tracers {list(tracers)} while trying to trace operations "
                               f"{func}")
        tracer = next(iter(tracers))
        name = func.__name__
        if vars(Tensor).get(name) is func:
            return tracer.create_proxy("call_method", name, args, kwargs or {})
        args, kwargs = with_defaults(func, args, kwargs or {}) if is_python(func) else (args, kwargs or {})
        return tracer.create_proxy("call_function", func, args, kwargs)


# Functions of `nn.functional` that `torch` has too are C++ in PyTorch. Exceptions: these are C++
# though `torch` lacks them, and those are Python though `torch` has functions of the same name.
CPP, PYTHON = re.compile("avg_pool[23]d|one_hot|scaled_dot_.*|.*_"), re.compile("(layer|group|rms)_norm|max_pool[123]d")


def is_python(func):
    """True if a function of `nn.functional` is Python in PyTorch: these pass on all arguments."""
    name = getattr(func, "__name__", "")
    found = FUNCTIONS.get(("nn.functional", name))
    if found is None or found.call is not func or hasattr(func, "op") or CPP.fullmatch(name):
        return False
    return ("", name) not in FUNCTIONS or FUNCTIONS["", name].call is not func or bool(PYTHON.fullmatch(name))


def unpacked(frame):
    """How many names the line that asks a proxy for an iterator unpacks it to; None if it does something else."""
    code = frame.f_code
    found = [i for i in dis.get_instructions(code) if i.offset >= frame.f_lasti]
    found = [i for i in found if i.opname not in ("CACHE", "EXTENDED_ARG")]
    return found[0].argval if found and found[0].opname == "UNPACK_SEQUENCE" else None


def asserted(frame):
    """The message of the assertion whose condition is being evaluated; None outside of one."""
    found = [i for i in dis.get_instructions(frame.f_code) if i.offset >= frame.f_lasti][:8]
    jumps = [i for i in found if i.opname.startswith(("POP_JUMP", "TO_BOOL"))]
    if not jumps or not any("ASSERTION" in i.opname or i.argval == "AssertionError" for i in found):
        return None
    texts = [i.argval for i in found if i.opname == "LOAD_CONST" and isinstance(i.argval, str)]
    return texts[0] if texts else "assertion failed"


class Attribute(Proxy):
    """An attribute of a proxy: a method if it is called, else a node of its own as soon as it is used."""

    def __init__(self, root, attr):
        self.root, self.attr, self.tracer, self._node = root, attr, root.tracer, None

    @property
    def node(self):
        """The node of the attribute's value, made when first asked for."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """The proxy of a parameter, whose shape is known: `shape`, `size`, `dim`, `ndim` and `numel` are numbers."""

    def __init__(self, tracer, node, name, param):
        super().__init__(node, tracer)
        if not isinstance(param, Tensor):
            raise RuntimeError(f"expected a Parameter, got {type(param)}")
        self.param, self.name = param, name

    def __repr__(self):
        return f"ParameterProxy({self.name})"

    @property
    def shape(self):
        return self.param.shape

    def size(self, *dim):
        return self.param.size(*dim)

    def dim(self):
        return self.param.dim()

    @property
    def ndim(self):
        return self.param.ndim

    def numel(self):
        return self.param.numel()

    def nelement(self):
        return self.param.numel()


def operation(function, reflected=False):
    """A method of Proxy that adds a node of a function of `operator`."""
    def method(self, *others):
        args = (others[0], self) if reflected else (self, *others)
        return self.tracer.create_proxy("call_function", function, args, {})
    return method


for _name in (*INFIX, *PREFIX, "getitem"):
    setattr(Proxy, f"__{_name.strip('_')}__", operation(getattr(operator, _name)))
for _name in list(INFIX)[:list(INFIX).index("eq")]:        # comparisons have no reflected methods
    setattr(Proxy, f"__r{_name.strip('_')}__", operation(getattr(operator, _name), True))
