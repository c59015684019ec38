"""Random programs that read and change Python state, compiled and eager, call by call.

    python -m tests.compiler.python_state --programs 5000 --seed 1

A program is a function of one tensor that multiplies it by numbers out of Python's state: closures,
globals, attributes, iterators, files, and so on (`KINDS`). State changes inside the function, outside
between the calls, or both. Each program is made twice. One copy is compiled; after each of five
calls its result, its state and what it printed are those of the other one.
"""

import contextlib
import gc
import io
import logging
import random
import re
import sys
import textwrap
import types
import warnings
from collections import Counter
from typing import NamedTuple

import numpy as np

import minitorch as torch
from tests.compiler.program_search import command_line, search
from tests.compiler.reported_state import REPORTED, Kind

CALLS = 5
IMPORTS = """
import array, collections, contextvars, copy, dataclasses, decimal, enum, functools, io, itertools
import os, queue, random, sys, threading, types, weakref
import numpy as np
import minitorch as torch
from minitorch import nn
"""


THING = """
class Thing:
    shared = 1.0
    def __init__(self):
        self.n = 1.0
    def value(self):
        return self.n
s = Thing()
"""

KINDS = {
    # -- variables and containers
    "number": Kind("s = 1.0", "s", "s = s + 1"),
    "text": Kind("s = 'a'", "len(s)", "s = s + 'a'"),
    "same number again": Kind("s = 300.5", "s", "s = float(str(s))"),
    "boolean": Kind("s = True", "(2.0 if s else 3.0)", "s = not s"),
    "tuple": Kind("s = (1.0,)", "sum(s)", "s = (*s, 2.0)"),
    "list": Kind("s = [1.0]", "s[0]", "s[0] += 1"),
    "list that grows": Kind("s = [1.0]", "len(s)", "s.append(2.0)"),
    "list in a dict": Kind("s = {'a': [1.0]}", "s['a'][0]", "s['a'][0] += 1"),
    "order of a list": Kind("s = [1.0, 2.0, 3.0]", "s[0]", "s.append(s.pop(0))"),
    "dict": Kind("s = {'a': 1.0}", "s['a']", "s['a'] += 1"),
    "order of a dict": Kind("s = dict(a=1.0, b=2.0)", "s[next(iter(s))]",
                            "k = next(iter(s)); s[k] = s.pop(k)"),
    "key of a dict": Kind("s = {1.0: 0}", "next(iter(s))", "k, v = s.popitem(); s[k + 1] = v"),
    "set": Kind("s = {1.0}", "sum(s)", "s.add(len(s) + 1.0)"),
    "set of one size": Kind("s = {1.0}", "sum(s)", "s.add(s.pop() + 1)"),
    "frozenset": Kind("s = frozenset([1.0])", "sum(s)", "s = s | {len(s) + 1.0}"),
    "bytearray": Kind("s = bytearray(b'ab')", "s[0]", "s[0] += 1"),
    "memoryview": Kind("s = memoryview(bytearray(b'ab'))", "s[0]", "s[0] += 1"),
    "array.array": Kind("s = array.array('d', [1.0])", "s[0]", "s[0] += 1"),
    "NumPy's array": Kind("s = np.ones(2)", "float(s[0])", "s[0] += 1"),
    "NumPy's number": Kind("s = np.float64(1)", "float(s)", "s = s + 1"),
    "deque": Kind("s = collections.deque([1.0, 2.0, 3.0])", "s[0]", "s.rotate(1)"),
    "Counter": Kind("s = collections.Counter('ab')", "s['a']", "s['a'] += 1"),
    "missing key": Kind("s = collections.defaultdict(lambda: 1.0)", "len(s)", "s[len(s)]"),
    "OrderedDict": Kind("s = collections.OrderedDict(a=1.0, b=2.0)", "s[next(iter(s))]",
                        "s.move_to_end(next(iter(s)))"),
    "ChainMap": Kind("s = collections.ChainMap({}, {'a': 1.0})", "s['a']", "s['a'] = s['a'] + 1"),
    "UserList": Kind("s = collections.UserList([1.0])", "s[0]", "s[0] += 1"),
    "UserDict": Kind("s = collections.UserDict(a=1.0)", "s['a']", "s['a'] += 1"),
    "list of a class": Kind("class L(list):\n    n = 1.0\ns = L([2.0])", "s.n", "s.n += 1"),
    "dict of a class": Kind("class D(dict):\n    pass\ns = D(a=1.0); s.n = 1.0", "s.n", "s.n += 1"),
    "text of a class": Kind("class T(str):\n    pass\ns = T('a'); s.n = 1.0", "s.n", "s.n += 1"),
    "queue": Kind("s = queue.Queue(); s.put(1.0)", "s.queue[0]", "s.put(s.get() + 1)"),
    # -- objects
    "attribute": Kind(THING, "s.n", "s.n += 1"),
    "attribute by a method": Kind(THING, "s.value()", "s.n += 1"),
    "new attribute": Kind(THING, "len(vars(s))", "setattr(s, f'x{len(vars(s))}', 1)"),
    "attribute by name": Kind(THING, "getattr(s, ''.join(['n']))", "s.n += 1"),
    "class attribute": Kind(THING, "s.shared", "type(s).shared += 1"),
    "class itself": Kind(THING + "s = Thing", "s.shared", "s.shared += 1"),
    "object that is exchanged": Kind(THING, "s.n", "t = copy.copy(s); t.n += 1; s = t"),
    "method that is exchanged": Kind(THING, "s.value()",
                                     "type(s).value = lambda self, q=s.value() + 1: q"),
    "class that is exchanged": Kind(THING + "class Other(Thing):\n    shared = 2.0\n", "s.shared",
                                    "s.__class__ = Other if s.__class__ is Thing else Thing"),
    "attribute of a class before": Kind(THING + "class Other(Thing):\n    pass\ns = Other()",
                                        "s.shared", "type(s).shared = s.shared + 1"),
    "attribute of a class between": Kind(
        THING + "class B:\n    pass\nclass Other(B, Thing):\n    pass\ns = Other()", "s.shared",
        "B.shared = s.shared + 1"),
    "base that is exchanged": Kind(
        THING + "class B(Thing):\n    shared = 2.0\nclass Other(B):\n    pass\ns = Other()",
        "s.shared", "type(s).__bases__ = (Thing if B in type(s).__bases__ else B,)"),
    "attribute of a class with a metaclass": Kind(
        "class M(type):\n    n = 1.0\n    double = property(lambda c: c.n * 2)\n"
        "class P(metaclass=M):\n    pass\ns = P", "s.double", "s.n = s.n + 1"),
    "attribute that comes": Kind(
        "class P:\n    pass\ns = P()\ndef t():\n    try:\n        return s.n\n"
        "    except AttributeError:\n        return 1.0", "t()", "s.n = t() + 1"),
    "attribute that a bare except misses": Kind(
        "class P:\n    pass\ns = P()\ndef t():\n    try:\n        return s.n\n"
        "    except:\n        return 1.0", "t()", "type(s).n = t() + 1"),
    "attribute that is asked for": Kind("class P:\n    pass\ns = P()", "getattr(s, 'n', 1.0)",
                                        "type(s).n = getattr(s, 'n', 1.0) + 1"),
    "attribute in place of a dynamic one": Kind(
        "class P:\n    def __getattr__(self, name):\n        return 1.0\ns = P()", "s.anything",
        "s.anything = s.anything + 1"),
    "own ways to attributes": Kind(
        "class P:\n    def __getattribute__(self, name):\n"
        "        return object.__getattribute__(self, 'm')\ns = P(); s.m = 1.0", "s.anything",
        "object.__setattr__(s, 'm', s.anything + 1)"),
    "slot": Kind("class P:\n    __slots__ = ('n',)\ns = P(); s.n = 1.0", "s.n", "s.n += 1"),
    "slot of a base": Kind("class B:\n    __slots__ = ('n',)\nclass P(B):\n    pass\n"
                           "s = P(); s.n = 1.0", "s.n", "s.n += 1"),
    "property": Kind("box = [1.0]\nclass P:\n    n = property(lambda self: box[0])\ns = P()",
                     "s.n", "box[0] += 1"),
    "property with a setter": Kind(
        "class P:\n    _n = 1.0\n    @property\n    def n(self):\n        return self._n\n"
        "    @n.setter\n    def n(self, n):\n        self._n = n\ns = P()", "s.n", "s.n += 1"),
    "descriptor": Kind("class D:\n    kept = {}\n    def __get__(self, x, cls):\n"
                       "        return self.kept.get(id(x), 1.0)\n"
                       "class P:\n    n = D()\ns = P()", "s.n",
                       "D.kept[id(s)] = D.kept.get(id(s), 1.0) + 1"),
    "dynamic attribute": Kind("box = [1.0]\nclass P:\n    def __getattr__(self, name):\n"
                              "        return box[0]\ns = P()", "s.anything", "box[0] += 1"),
    "metaclass": Kind("class M(type):\n    n = 1.0\nclass P(metaclass=M):\n    pass\ns = P",
                      "s.n", "type(s).n += 1"),
    "dataclass": Kind("@dataclasses.dataclass\nclass P:\n    n: float = 1.0\ns = P()", "s.n",
                      "s.n += 1"),
    "named tuple": Kind("P = collections.namedtuple('P', 'n')\ns = P(1.0)", "s.n",
                        "s = s._replace(n=s.n + 1)"),
    "enum": Kind("class E(enum.Enum):\n    A = 1\nE.A.n = 1.0\ns = E.A", "s.n", "s.n += 1"),
    "static method": Kind("box = [1.0]\nclass P:\n    n = staticmethod(lambda: box[0])\ns = P()",
                          "s.n()", "box[0] += 1"),
    "callable object": Kind("class P:\n    n = 1.0\n    def __call__(self):\n"
                            "        self.n += 1\n        return self.n\ns = P()", "s()", "pass"),
    "namespace": Kind("s = types.SimpleNamespace(n=1.0)", "s.n", "s.n += 1"),
    "namespace that grows": Kind("s = types.SimpleNamespace()", "getattr(s, 'n', 1.0)",
                                 "s.n = getattr(s, 'n', 1.0) + 1"),
    "arguments of a command": Kind("import argparse\ns = argparse.Namespace(n=1.0)", "s.n",
                                   "s.n += 1"),
    "function in a namespace": Kind("s = types.SimpleNamespace(f=lambda: 1.0)", "s.f()",
                                    "s.f = lambda q=s.f() + 1: q"),
    "module": Kind("s = types.ModuleType('own'); s.n = 1.0", "s.n", "s.n += 1"),
    "mapping proxy": Kind("d = {'a': 1.0}; s = types.MappingProxyType(d)", "s['a']", "d['a'] += 1"),
    # -- functions
    "default argument": Kind("def s(n=1.0):\n    return n", "s()",
                             "s.__defaults__ = (s() + 1,)"),
    "default that is a list": Kind("def s(n=[1.0]):\n    return n[0]", "s()",
                                   "s.__defaults__[0][0] += 1"),
    "keyword default": Kind("def s(*, n=1.0):\n    return n", "s()",
                            "s.__kwdefaults__['n'] += 1"),
    "function attribute": Kind("def s():\n    return s.n\ns.n = 1.0", "s()", "s.n += 1"),
    "code that is exchanged": Kind("def s():\n    return 1.0\ndef t():\n    return 2.0", "s()",
                                   "s.__code__, t.__code__ = t.__code__, s.__code__"),
    "partial": Kind("s = functools.partial(lambda n: n, n=1.0)", "s()", "s.keywords['n'] += 1"),
    "bound method": Kind(THING + "t = s; s = t.value", "s()", "t.n += 1"),
    "bound method of a list": Kind("t = [1.0]; s = t.append", "len(t)", "s(1.0)"),
    "inner closure": Kind("def outer():\n    n = [1.0]\n    return lambda: n[0]\ns = outer()", "s()",
                          "s.__closure__[0].cell_contents[0] += 1"),
    "cell": Kind("def outer():\n    n = 1.0\n    return lambda: n\ns = outer()", "s()",
                 "s.__closure__[0].cell_contents = s() + 1"),
    "counter of calls": Kind("t = [1.0]\ndef s():\n    t[0] += 1\n    return t[0]", "s()", "pass"),
    "lru_cache": Kind("t = [1.0]\n@functools.lru_cache\ndef s(k):\n    t[0] += 1\n    return t[0]",
                      "s(1)", "s.cache_clear()"),
    "cached property": Kind("t = [1.0]\nclass P:\n    @functools.cached_property\n"
                            "    def n(self):\n        t[0] += 1\n        return t[0]\ns = P()",
                            "s.n", "vars(s).pop('n', None)"),
    "itemgetter": Kind("import operator\nt = {'a': 1.0}\ns = operator.itemgetter('a')", "s(t)",
                       "t['a'] += 1"),
    "attrgetter": Kind("import operator\nt = types.SimpleNamespace(own=1.0)\n"
                       "s = operator.attrgetter('own')", "s(t)", "t.own += 1"),
    "methodcaller": Kind(
        "import operator\nclass P:\n    n = 1.0\n    def own(self, k):\n"
        "        return self.n * k\nt = P()\ns = operator.methodcaller('o' + 'wn', k=2)", "s(t)",
        "t.n += 1"),
    "name of a function": Kind("def s():\n    pass", "len(s.__name__)", "s.__name__ += 'a'"),
    "name of a class": Kind(THING + "s = Thing", "len(s.__name__)", "s.__name__ += 'a'"),
    "global that comes": Kind(
        "def t():\n    try:\n        return OWNED\n    except NameError:\n        return 1.0",
        "t()", "globals()['OWNED'] = t() + 1"),
    "global that hides Python's": Kind("", "max(1.0, 2.0)", "globals()['max'] = min"),
    # -- state in C
    "count": Kind("s = itertools.count(1)", "next(s)", "pass"),
    "cycle": Kind("s = itertools.cycle([1.0, 2.0, 3.0])", "next(s)", "next(s)"),
    "iterator of a list": Kind("s = iter([float(k) for k in range(99)])", "next(s)", "next(s)"),
    "generator": Kind("s = (float(k) for k in range(99))", "next(s)", "next(s)"),
    "map": Kind("s = map(float, range(99))", "next(s)", "next(s)"),
    "zip in a dict": Kind("s = {'a': zip(range(99), range(99))}", "next(s['a'])[0]", "pass"),
    "random.Random": Kind("s = random.Random(0)", "s.random()", "s.random()"),
    "random": Kind("random.seed(0); s = random.random", "s()", "s()"),
    "random module": Kind("random.seed(0)", "random.random()", "random.random()"),
    "NumPy's generator": Kind("s = np.random.default_rng(0)", "float(s.random())", "s.random()"),
    "NumPy's old generator": Kind("s = np.random.RandomState(0)", "float(s.rand())", "s.rand()"),
    "NumPy's generator made inside": Kind("", "float(np.random.default_rng(3).random())", "pass"),
    "context variable": Kind("s = contextvars.ContextVar('s', default=1.0)", "s.get()",
                             "s.set(s.get() + 1)"),
    "thread local": Kind("s = threading.local(); s.n = 1.0", "s.n", "s.n += 1"),
    "lock": Kind("s = threading.Lock()", "(2.0 if s.locked() else 3.0)",
                 "s.release() if s.locked() else s.acquire()"),
    "event": Kind("s = threading.Event()", "(2.0 if s.is_set() else 3.0)",
                  "s.clear() if s.is_set() else s.set()"),
    "weak reference": Kind(THING + "t = s; s = weakref.ref(t)",
                           "(1.0 if s() is None else s().n)", "t.n += 1"),
    "weak reference that dies": Kind(THING + "t = [s]; s = weakref.ref(s)",
                                     "(1.0 if s() is None else 2.0)", "t.clear()"),
    "weak dictionary": Kind(THING + "t = s; s = weakref.WeakValueDictionary(a=t)", "len(s)",
                            "s[str(len(s))] = t"),
    "StringIO": Kind("s = io.StringIO()", "s.tell() + 1.0", "s.write('a')"),
    "print to a file": Kind("s = io.StringIO()", "1.0", "print('a', file=s)"),
    "BytesIO": Kind("s = io.BytesIO(bytes(range(1, 99)))", "s.read(1)[0]", "s.read(1)"),
    "print": Kind("s = 1.0", "s", "print('a')"),
    "print of a tensor": Kind("s = 1.0", "s", "print(torch.ones(2))"),
    "stdout": Kind("s = 1.0", "s", "sys.stdout.write('a')"),
    "environment": Kind("os.environ['MINITORCH_TEST'] = '1'", "float(os.environ['MINITORCH_TEST'])",
                        "os.environ['MINITORCH_TEST'] += '1'"),
    "getenv": Kind("os.environ['MINITORCH_TEST'] = '1'", "float(os.getenv('MINITORCH_TEST'))",
                   "os.environ['MINITORCH_TEST'] += '1'"),
    "decimal context": Kind("s = decimal.getcontext(); s.prec = 3",
                            "float(decimal.Decimal(1) / decimal.Decimal(3))", "s.prec += 1"),
    "attribute of sys": Kind("sys.own_state = 1.0", "sys.own_state", "sys.own_state += 1"),
    "globals": Kind("globals()['OWN'] = 1.0", "globals()['O' + 'WN']", "globals()['OWN'] += 1"),
    "import inside": Kind("import os\nos.own_state = 1.0", "__import__('os').own_state",
                          "os.own_state += 1"),
    # -- this library's
    "learning rate": Kind(
        "w = nn.Parameter(torch.ones(2)); s = torch.optim.SGD([w], lr=0.5)",
        "s.param_groups[0]['lr']", "s.param_groups[0]['lr'] *= 0.5"),
    "step with a learning rate": Kind(
        "w = nn.Parameter(torch.ones(2)); s = torch.optim.SGD([w], lr=0.5)\n"
        "def step():\n    w.grad = torch.ones(2)\n    s.step()\n    return w.detach()",
        "step()", "s.param_groups[0]['lr'] *= 0.5"),
    "momentum": Kind(
        "w = nn.Parameter(torch.ones(2)); s = torch.optim.SGD([w], lr=0.5, momentum=0.5)\n"
        "def step():\n    w.grad = torch.ones(2)\n    s.step()\n    return w.detach()",
        "step()", "s.param_groups[0]['momentum'] *= 0.5"),
    "schedule": Kind(
        "w = nn.Parameter(torch.ones(2)); t = torch.optim.SGD([w], lr=0.5)\n"
        "s = torch.optim.lr_scheduler.StepLR(t, 2)\n"
        "def step():\n    w.grad = torch.ones(2)\n    t.step()\n    return w.detach()",
        "step()", "s.step()"),
    "group of parameters": Kind(
        "w = nn.Parameter(torch.ones(2)); t = nn.Parameter(torch.ones(2))\n"
        "s = torch.optim.SGD([w], lr=0.1)\n"
        "def step():\n    s.zero_grad(); (w * t).sum().backward(); s.step()\n"
        "    return w.detach() * t.detach()",
        "step()", "s.add_param_group({'params': [t]}) if len(s.param_groups) == 1 else None"),
    "parameter that is frozen": Kind(
        "s = nn.Linear(2, 2)",
        "(2.0 if (s(torch.ones(2)) * 1).requires_grad else 3.0)",
        "[w.requires_grad_(not w.requires_grad) for w in s.parameters()]"),
    "forward that is exchanged": Kind(
        "s = nn.Identity()", "s(torch.ones(2))",
        "s.forward = lambda x, q=s(torch.ones(())).item() + 1: x * q"),
    "attribute of a layer": Kind("s = nn.Dropout(0.5).eval()", "s.p", "s.p *= 0.9"),
    "list in a layer": Kind("s = nn.Linear(2, 2); s.n = [1.0]", "s.n[0]", "s.n[0] += 1"),
    "mode of a layer": Kind("s = nn.Linear(2, 2)", "(2.0 if s.training else 3.0)",
                            "s.train(not s.training)"),
    "torch.Generator": Kind("s = torch.Generator().manual_seed(3)",
                              "torch.rand(2, generator=s)", "torch.rand(2, generator=s)"),
    "generator made inside": Kind(
        "", "torch.rand(2, generator=torch.Generator().manual_seed(3))", "pass"),
    "default type": Kind("torch.set_default_dtype(torch.float32)",
                         "torch.ones(2).dtype.itemsize", "pass"),
    "size": Kind("s = torch.Size([2])", "s[0]", "s = torch.Size([s[0] + 1])"),
    "tensor": Kind("s = torch.ones(2)", "s", "s.add_(1)"),
    "tensor that is exchanged": Kind("s = torch.ones(2)", "s", "s = s + 1"),
    "number in a tensor": Kind("s = torch.ones(())", "s.item()", "s.add_(1)"),
} | REPORTED


class Case(NamedTuple):
    """`steps` has for each piece of state its kind and where it changes: "inside" the function, or
    "outside", and whether before or after it is read. `style`: "globals" or a "closure"."""

    steps: tuple
    style: str

    def source(self):
        """The program: the functions `f` and `outside`."""
        make, body, outside = [], [], []
        names = []
        for n, (kind, where, first) in enumerate(self.steps):
            k = KINDS[kind]
            make.append(renamed(k.make, n))
            read = f"y = y + x * ({renamed(k.read, n)})"
            change = renamed(k.change, n)
            body += [change, read] if where != "outside" and first else [read]
            body += [change] if where != "outside" and not first else []
            outside += [change] if where != "inside" else []
            names += [f"{v}{n}" for v in ("s", "t", "box") if f"{v} = " in k.make
                      or f"{v} = " in k.change or f"; {v}" in k.make]
        names = [name for name in dict.fromkeys(names) if name in bound(make)]
        declared = [f"{'global' if self.style == 'globals' else 'nonlocal'} {', '.join(names)}"
                    ] if names else []
        f = function("f(x)", [*declared, "y = x * 1", *body, "return y"])
        between = function("outside()", [*declared, *outside, "pass"])
        if self.style == "globals":
            return "\n".join([IMPORTS, *make, f, between])
        inner = "\n".join([*make, f, between, "return f, outside"])
        return "\n".join([IMPORTS, function("build()", [inner]), "f, outside = build()"])

    def __str__(self):
        return f"{self.style}: {self.steps}\n{self.source()}"


def renamed(text, n):
    """Names of one piece of state, with its number."""
    for name in ("s", "t", "box", "Thing", "Other", "w", "d", "step", "P", "D", "B", "M", "E",
                 "L", "T", "k"):
        text = re.sub(rf"(?<![\w.']){name}(?!\w|=[^=])(?!')", f"{name}{n}", text)
    return text


def bound(make):
    """The names that statements at one level bind."""
    scope = {}
    exec(compile("\n".join([IMPORTS, *make]), "<state>", "exec"), scope)
    return scope


def function(head, lines):
    return f"def {head}:\n" + textwrap.indent("\n".join(lines), "    ")


def any_case(rng):
    steps = tuple([(rng.choice(list(KINDS)), rng.choice(("inside", "outside", "both")),
                    rng.random() < 0.5) for _ in range(rng.choice((1, 1, 2, 3)))])
    return Case(steps, rng.choice(("globals", "closure")))


class World:
    """One copy of a program, with a namespace of its own."""

    def __init__(self, source, compiled):
        module = types.ModuleType(f"own_program_{id(self)}")
        sys.modules[module.__name__] = module
        exec(compile(source, f"<{module.__name__}>", "exec"), vars(module))
        self.call = module.f
        if compiled:
            self.call = module.f = torch.compile(module.f, backend="numpy")
        self.outside, self.module = module.outside, module

    def run(self, x):
        """The result of a call as numbers, or its error, and what it printed."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                found = self.call(x).detach().numpy().copy()
            except Exception as error:
                found = f"{type(error).__name__}: {error}"
            self.outside()
        return found, printed.getvalue()


@contextlib.contextmanager
def settings_kept():
    """A block after which the settings of the process that kinds change are what they were."""
    threads, argv, numpy, shown = (torch.get_num_threads(), sys.argv[:], np.geterr(),
                                   np.get_printoptions())
    try:
        with warnings.catch_warnings():
            yield
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)
        torch.set_autocast_enabled("cpu", False)
        torch.autograd.set_detect_anomaly(False)
        torch.use_deterministic_algorithms(False)
        torch.set_float32_matmul_precision("highest")
        torch.backends.cuda.matmul.allow_tf32 = False
        np.seterr(**numpy)
        np.set_printoptions(**shown)
        logging.disable(0)
        gc.enable()
        sys.argv[:] = argv


def check(case):
    """AssertionError at the first difference; returns "program", or why it runs eagerly."""
    source, found = case.source(), []
    for compiled in (False, True):
        torch.manual_seed(0)
        random.seed(0)
        np.random.seed(0)
        with settings_kept():
            world = World(source, compiled)
            found.append([world.run(torch.arange(2.0) + n) for n in range(CALLS)])
        notes = getattr(world.call, "notes", ())
        del sys.modules[world.module.__name__]
    for n, ((a, printed_a), (b, printed_b)) in enumerate(zip(*found)):
        assert printed_a == printed_b, f"call {n}: printed {printed_b!r} for {printed_a!r}\n{case}"
        assert type(a) is type(b) and np.array_equal(a, b), f"call {n}: {b} for {a}\n{case}"
    return next((note for note in notes if "eagerly" in note), "program")


def main():
    arguments, seen = command_line(__doc__), Counter()
    failures = search(arguments, any_case, check, lambda how: seen.update([how == "program"]))
    print(f"{seen[True]} ran as programs, {seen[False]} eagerly")
    return failures


if __name__ == "__main__":
    sys.exit(bool(main()))
