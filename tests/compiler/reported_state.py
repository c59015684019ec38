"""More kinds of Python state for `python_state`: tensors, layers and settings that code asks about,
what classes and modules may become, and objects of the standard library.

Each was written by hand, as a way in which a compiled function could miss a change.
"""

from typing import NamedTuple

__all__ = ["Kind", "REPORTED"]


class Kind(NamedTuple):
    """Statements that make a piece of state `s`, an expression that reads a number from it, and
    statements that change it."""

    make: str
    read: str
    change: str


REPORTED = {
    "gradient that is there": Kind(
        "w = nn.Parameter(torch.ones(2))",
        "(2.0 if w.grad is None else 3.0)",
        "w.grad = torch.ones(2) if w.grad is None else None"),
    "class of a layer": Kind(
        "class M(nn.Module):\n    k = 1.0\n    def forward(self, x):\n"
        "        return x * self.k\nclass B(M):\n    k = 2.0\n"
        "s = M()",
        "s(torch.ones(2))",
        "s.__class__ = B if type(s) is M else M"),
    "forward of a layer's class": Kind(
        "class M(nn.Module):\n    def forward(self, x):\n        return x\ns = M()",
        "s(torch.ones(2))",
        "type(s).forward = lambda self, x, q=float(s(torch.ones(()))) + 1: x * q"),
    "attribute of a layer past its setter": Kind(
        "s = nn.Linear(2, 2); s.k = 1.0",
        "s.k",
        "s.__dict__['k'] += 1"),
    "attribute of a layer by object": Kind(
        "s = nn.Linear(2, 2); s.k = 1.0",
        "s.k",
        "object.__setattr__(s, 'k', s.k + 1)"),
    "parameter of a layer past its setter": Kind(
        "s = nn.Linear(2, 2)",
        "s.weight.sum()",
        "s._parameters['weight'] = nn.Parameter(s.weight.detach() + 1)"),
    "training past its setter": Kind(
        "s = nn.Linear(2, 2)",
        "(2.0 if s.training else 3.0)",
        "s.__dict__['training'] = not s.training"),
    "module dict": Kind("s = nn.ModuleDict()", "len(s)", "s[f'k{len(s)}'] = nn.Identity()"),
    "sequential that is exchanged": Kind(
        "s = nn.Sequential(nn.Identity())",
        "s(torch.ones(2))",
        "s[0] = nn.ReLU() if type(s[0]) is nn.Identity else nn.Identity()"),
    "buffer": Kind(
        "s = nn.Module(); s.register_buffer('b', torch.ones(2))",
        "s.b",
        "s.b = s.b + 1"),
    "operator that comes": Kind(
        "class P:\n    n = 1.0\ns = P()\ndef t():\n    try:\n"
        "        return s + 1.0\n    except TypeError:\n"
        "        return 1.0",
        "t()",
        "type(s).__add__ = lambda self, o, q=t() + 1: q"),
    "length that comes": Kind(
        "class P:\n    pass\ns = P()",
        "(2.0 if s else 3.0)",
        "type(s).__bool__ = lambda self, q=not s: q"),
    "call that comes": Kind(
        "class P:\n    pass\ns = P()",
        "(2.0 if callable(s) else 3.0)",
        "type(s).__call__ = lambda self: 1"),
    "equality that comes": Kind(
        "class P:\n    pass\ns = P()",
        "(2.0 if s == 1 else 3.0)",
        "type(s).__eq__ = lambda self, o, q=not (s == 1): q"),
    "getattr that comes": Kind(
        "class P:\n    pass\ns = P()",
        "getattr(s, 'anything', 1.0)",
        "type(s).__getattr__ = lambda self, n, q=getattr(s, 'anything', 1.0) + 1: q"),
    "iteration that comes": Kind(
        "class P:\n    pass\ns = P()\ndef t():\n    try:\n"
        "        return sum(s)\n    except TypeError:\n"
        "        return 1.0",
        "t()",
        "type(s).__iter__ = lambda self, q=t() + 1: iter([q])"),
    "getattribute that comes": Kind(
        "class P:\n    n = 1.0\ns = P()",
        "s.n",
        "type(s).__getattribute__ = lambda self, n, q=s.n + 1: q"),
    "contains that comes": Kind(
        "class P:\n    def __iter__(self):\n        return iter(())\ns = P()",
        "(2.0 if 1 in s else 3.0)",
        "type(s).__contains__ = lambda self, o, q=not (1 in s): q"),
    "hash that changes": Kind(
        "class P:\n    def __hash__(self):\n        return 1\ns = P()",
        "hash(s)",
        "type(s).__hash__ = lambda self, q=hash(s) + 1: q"),
    "length that changes": Kind(
        "class P:\n    def __len__(self):\n        return 1\ns = P()",
        "len(s)",
        "type(s).__len__ = lambda self, q=len(s) + 1: q"),
    "registered class": Kind(
        "import abc\nclass D(abc.ABC):\n    pass\nclass P:\n    pass\ns = P()",
        "(2.0 if isinstance(s, D) else 3.0)",
        "D.register(P)"),
    "registered subclass": Kind(
        "import abc\nclass D(abc.ABC):\n    pass\nclass P:\n    pass\n",
        "(2.0 if issubclass(P, D) else 3.0)",
        "D.register(P)"),
    "registered with Python's": Kind(
        "from collections import abc as abcs\nclass P:\n    pass\ns = P()",
        "(2.0 if isinstance(s, abcs.Sequence) else 3.0)",
        "abcs.Sequence.register(P)"),
    "singledispatch": Kind(
        "class P:\n    pass\n@functools.singledispatch\ndef s(x):\n    return 1.0\nt = P()",
        "s(t)",
        "s.register(P, lambda x, q=s(t) + 1: q)"),
    "threads": Kind(
        "torch.set_num_threads(2)",
        "torch.get_num_threads()",
        "torch.set_num_threads(3 - torch.get_num_threads())"),
    "default type as a condition": Kind(
        "torch.set_default_dtype(torch.float32)",
        "(2.0 if torch.get_default_dtype() is torch.float32 else 3.0)",
        "torch.set_default_dtype(torch.float64 if torch.get_default_dtype() is torch.float32 "
        "else torch.float32)"),
    "gradient mode": Kind(
        "torch.set_grad_enabled(True)",
        "(2.0 if torch.is_grad_enabled() else 3.0)",
        "torch.set_grad_enabled(not torch.is_grad_enabled())"),
    "deterministic": Kind(
        "torch.use_deterministic_algorithms(False)",
        "(2.0 if torch.are_deterministic_algorithms_enabled() else 3.0)",
        "torch.use_deterministic_algorithms(not torch.are_deterministic_algorithms_enabled())"),
    "matmul precision": Kind(
        "torch.set_float32_matmul_precision('highest')",
        "len(torch.get_float32_matmul_precision())",
        "torch.set_float32_matmul_precision('high' if torch.get_float32_matmul_precision() == "
        "'highest' else 'highest')"),
    "tf32": Kind(
        "torch.backends.cuda.matmul.allow_tf32 = False",
        "(2.0 if torch.backends.cuda.matmul.allow_tf32 else 3.0)",
        "torch.backends.cuda.matmul.allow_tf32 = not torch.backends.cuda.matmul.allow_tf32"),
    "initial seed": Kind(
        "torch.manual_seed(3)",
        "float(torch.initial_seed())",
        "torch.manual_seed(torch.initial_seed() + 1)"),
    "autocast": Kind(
        "torch.set_autocast_enabled('cpu', False)",
        "(2.0 if torch.is_autocast_enabled('cpu') else 3.0)",
        "torch.set_autocast_enabled('cpu', not torch.is_autocast_enabled('cpu'))"),
    "anomaly mode": Kind(
        "torch.autograd.set_detect_anomaly(False)",
        "(2.0 if torch.is_anomaly_enabled() else 3.0)",
        "torch.autograd.set_detect_anomaly(not torch.is_anomaly_enabled())"),
    "version of a tensor": Kind("w = torch.ones(2)", "w._version", "w.add_(1)"),
    "requires grad": Kind(
        "w = torch.ones(2)",
        "(2.0 if w.requires_grad else 3.0)",
        "w.requires_grad_(not w.requires_grad)"),
    "leaf": Kind(
        "s = torch.ones(2)",
        "(2.0 if s.is_leaf else 3.0)",
        "s = torch.ones(2) if not s.is_leaf else torch.ones(2, requires_grad=True) * 1"),
    "shape of a tensor": Kind("s = torch.ones(2)", "s.shape[0]", "s = torch.ones(s.shape[0] + 1)"),
    "shape set": Kind("w = torch.ones(2)", "w.numel()", "w.data = torch.ones(w.numel() + 1)"),
    "dtype set": Kind(
        "w = torch.ones(2)",
        "w.element_size()",
        "w.data = w.data.to(torch.float64 if w.element_size() == 4 else torch.float32)"),
    "address": Kind(
        "s = torch.ones(2); t = torch.ones(2)",
        "(2.0 if s.data_ptr() == t.data_ptr() else 3.0)",
        "s = t if s is not t else torch.ones(2)"),
    "address by data": Kind(
        "s = torch.ones(2); t = torch.ones(2)",
        "(2.0 if s.data_ptr() == t.data_ptr() else 3.0)",
        "s.data = t.data if s.data_ptr() != t.data_ptr() else torch.ones(2)"),
    "identity of a tensor": Kind(
        "s = torch.ones(2); t = s",
        "(2.0 if s is t else 3.0)",
        "s = torch.ones(2)"),
    "hook of a tensor": Kind(
        "w = torch.ones(2, requires_grad=True)\nt = []",
        "len(t)",
        "t.append(w.register_hook(lambda g: g * 2))"),
    "hasattr of a tensor": Kind(
        "w = torch.ones(2)",
        "(2.0 if hasattr(w, 'own') else 3.0)",
        "w.own = 1"),
    "len of optimizer state": Kind(
        "w = nn.Parameter(torch.ones(2)); s = torch.optim.SGD([w], lr=0.5, momentum=.5)\n"
        "def step():\n    w.grad = torch.ones(2)\n    s.step()",
        "len(s.state)",
        "step()"),
    "epoch of schedule": Kind(
        "w = nn.Parameter(torch.ones(2)); t = torch.optim.SGD([w], lr=0.5)\n"
        "s = torch.optim.lr_scheduler.StepLR(t, 2)\n",
        "s.last_epoch",
        "t.step(); s.step()"),
    "logger": Kind(
        "import logging\ns = logging.getLogger('mini.own'); s.setLevel(logging.ERROR)",
        "(2.0 if s.isEnabledFor(logging.INFO) else 3.0)",
        "s.setLevel(logging.INFO if s.level != logging.INFO else logging.ERROR)"),
    "logger that speaks": Kind(
        "import logging\nclass H(logging.Handler):\n    def emit(self, r):\n"
        "        print(r.getMessage())\ns = logging.getLogger('mini.own2'); s.handlers[:] = "
        "[H()]; s.setLevel(logging.INFO)",
        "1.0",
        "s.info('hello')"),
    "logger that is silent": Kind(
        "import logging\nclass H(logging.Handler):\n    def emit(self, r):\n"
        "        print(r.getMessage())\ns = logging.getLogger('mini.own3'); s.handlers[:] = "
        "[H()]; s.setLevel(logging.ERROR)",
        "1.0",
        "s.info('hello')"),
    "logging disabled": Kind(
        "import logging\ns = logging.getLogger('mini.own5'); s.setLevel(logging.INFO)\n"
        "logging.disable(0)",
        "(2.0 if s.isEnabledFor(logging.INFO) else 3.0)",
        "logging.disable(0 if s.manager.disable else 50)"),
    "warning": Kind(
        "import warnings\nwarnings.simplefilter('always')\n"
        "warnings.showwarning = lambda *a, **k: sys.stdout.write('w')",
        "1.0",
        "warnings.warn('hi')"),
    "path concrete": Kind(
        "import pathlib\ns = pathlib.Path('/tmp')",
        "len(s.parts)",
        "s = s / 'b'"),
    "timedelta": Kind(
        "import datetime\ns = datetime.timedelta(days=1)",
        "s.days",
        "s = s + datetime.timedelta(days=1)"),
    "ipaddress": Kind("import ipaddress\ns = ipaddress.ip_address(1)", "int(s)", "s = s + 1"),
    "template": Kind(
        "import string\ns = string.Template('$x')",
        "len(s.template)",
        "s.template += 'a'"),
    "struct": Kind(
        "import struct\ns = struct.Struct('i')",
        "s.size",
        "s = struct.Struct(s.format + 'i')"),
    "exception": Kind("s = ValueError(1.0)", "s.args[0]", "s.args = (s.args[0] + 1,)"),
    "exception of own": Kind(
        "class E(Exception):\n    pass\ns = E(1.0); s.n = 1.0",
        "s.n + s.args[0]",
        "s.n += 1"),
    "constant array": Kind("s = np.ones(2)", "torch.tensor(s)", "pass"),
    "array written": Kind("s = np.ones(2, np.float32)", "torch.from_numpy(s)", "s += 1"),
    "array read only": Kind(
        "s = np.ones(2); s.flags.writeable = False",
        "float(s.sum())",
        "s = s + 1"),
    "array in a dict": Kind("s = {'a': np.ones(2)}", "float(s['a'].sum())", "s['a'][0] += 1"),
    "NumPy error state": Kind(
        "np.seterr(all='warn')",
        "len(np.geterr()['divide'])",
        "np.seterr(divide='ignore' if np.geterr()['divide'] == 'warn' else 'warn')"),
    "NumPy print options": Kind(
        "np.set_printoptions(precision=4)",
        "np.get_printoptions()['precision']",
        "np.set_printoptions(precision=np.get_printoptions()['precision'] + 1)"),
    "modules": Kind(
        "sys.modules.pop('own_mod', None)",
        "(2.0 if 'own_mod' in sys.modules else 3.0)",
        "sys.modules['own_mod'] = types.ModuleType('own_mod')"),
    "import of exchanged": Kind(
        "sys.modules['own_mod3'] = types.ModuleType('own_mod3'); sys.modules['own_mod3'].n = "
        "1.0\ndef t():\n    import own_mod3\n    return own_mod3.n",
        "t()",
        "m = types.ModuleType('own_mod3'); m.n = t() + 1; sys.modules['own_mod3'] = m"),
    "class of code without a module": Kind(
        "q = {}\nexec('class K:\\n    items = []\\n    def f(self):\\n"
        "        K.items.append(1.0)\\n        return len(K.items)', q)\ns = q['K']()",
        "s.f()",
        "type(s).items.append(1.0)"),
    "attribute of a class without a module": Kind(
        "q = {}\nexec('class K:\\n    n = 1.0\\n    def f(self):\\n        return K.n', q)\n"
        "s = q['K']()",
        "s.f()",
        "type(s).n += 1"),
    "function that says builtins": Kind(
        "q = {'__name__': 'builtins'}\nexec('n = [1.0]\\ndef f():\\n    return n[0]', q)\n"
        "s = q['f']",
        "s()",
        "s.__globals__['n'][0] += 1"),
    "locals of outer": Kind("s = 1.0", "eval('s')", "s += 1"),
    "type of an instance made": Kind(
        "class P:\n    n = 1.0\n    def __init__(self):\n        self.m = self.n\n",
        "P().m",
        "P.n += 1"),
    "counter of instances": Kind(
        "class P:\n    made = 0\n    def __init__(self):\n        type(self).made += 1\n",
        "P.made",
        "P()"),
    "new": Kind(
        "class P:\n    def __new__(cls):\n        return 1.0\n",
        "P()",
        "P.__new__ = lambda cls, q=P() + 1: q"),
    "subclasses": Kind(
        "class P:\n    pass\nt = []",
        "len(P.__subclasses__())",
        "t.append(type('Q', (P,), {}))"),
    "init subclass": Kind(
        "t = []\nclass P:\n    def __init_subclass__(cls):\n        t.append(1)\n",
        "len(t)",
        "type('Q', (P,), {})"),
    "contextmanager": Kind(
        "from contextlib import contextmanager as manager\n"
        "t = [1.0]\n@manager\ndef s():\n    t[0] += 1\n"
        "    yield t[0]\ndef d():\n    with s() as k:\n"
        "        return k",
        "d()",
        "pass"),
    "exit stack": Kind(
        "import contextlib\nt = []\ns = contextlib.ExitStack()",
        "len(t)",
        "s.callback(t.append, 1); s.close()"),
    "partialmethod": Kind(
        "class P:\n    n = 1.0\n    def f(self, k):\n        return self.n * k\n"
        "    g = functools.partialmethod(f, 2)\ns = P()",
        "s.g()",
        "s.n += 1"),
    "slice": Kind(
        "s = slice(0, 1)",
        "len([1, 2, 3, 4, 5, 6, 7, 8, 9][s])",
        "s = slice(0, s.stop + 1)"),
    "flag enum": Kind(
        "class E(enum.Flag):\n    ONE = 1\n    TWO = 2\ns = E.ONE",
        "s.value",
        "s = E.TWO if s is E.ONE else E.ONE"),
    "nested default dict": Kind(
        "s = collections.defaultdict(list)",
        "len(s['a'])",
        "s['a'].append(1)"),
    "bisect": Kind("import bisect\ns = [1, 2, 3]", "bisect.bisect(s, 2)", "bisect.insort(s, 0)"),
    "argv": Kind("sys.argv[:] = ['a']", "len(sys.argv)", "sys.argv.append('b')"),
    "gc": Kind(
        "import gc; gc.enable()",
        "(2.0 if gc.isenabled() else 3.0)",
        "gc.disable() if gc.isenabled() else gc.enable()"),
    "annotation": Kind(
        "class P:\n    n: int = 1\n",
        "len(P.__annotations__)",
        "P.__annotations__[str(len(P.__annotations__))] = int"),
    "mutable class dict": Kind(
        "class P:\n    own = {'a': 1.0}\ns = P()",
        "s.own['a']",
        "P.own['a'] += 1"),
    "slots without dict": Kind(
        "class P:\n    __slots__ = ('n', 'm')\ns = P()",
        "getattr(s, 'n', 1.0)",
        "s.n = getattr(s, 'n', 1.0) + 1"),
    "deleted attribute": Kind(
        "class P:\n    n = 1.0\ns = P(); s.n = 2.0",
        "s.n",
        "vars(s).pop('n', None)"),
    "deleted global": Kind(
        "s = [1.0]\ndef t():\n    return globals().get('GONE', 1.0)",
        "t()",
        "globals()['GONE'] = t() + 1"),
    "super": Kind(
        "class B:\n    n = 1.0\n    def f(self):\n        return self.n\n"
        "class P(B):\n    def f(self):\n        return super().f() + 1\n"
        "s = P()",
        "s.f()",
        "B.f = lambda self, q=s.f(): q"),
    "generator method": Kind(
        "class P:\n    n = 1.0\n    def __iter__(self):\n        yield self.n\ns = P()",
        "sum(s)",
        "s.n += 1"),
    "iterator of own": Kind(
        "class P:\n    n = 0.0\n    def __iter__(self):\n"
        "        return self\n    def __next__(self):\n"
        "        self.n += 1\n        return self.n\ns = P()",
        "next(s)",
        "pass"),
    "awaitable": Kind(
        "async def t():\n    return 1.0\ndef s():\n    c = t()\n"
        "    try:\n        c.send(None)\n    except StopIteration as e:\n"
        "        return e.value",
        "s()",
        "pass"),
    "frozen dataclass": Kind(
        "@dataclasses.dataclass(frozen=True)\nclass P:\n    n: float = 1.0\ns = P()",
        "s.n",
        "s = dataclasses.replace(s, n=s.n + 1)"),
    "frozen dataclass past": Kind(
        "@dataclasses.dataclass(frozen=True)\nclass P:\n    n: float = 1.0\ns = P()",
        "s.n",
        "object.__setattr__(s, 'n', s.n + 1)"),
    "eval mode": Kind("s = nn.Dropout(0.5)", "(2.0 if s.training else 3.0)", "s.eval()"),
    "int subclass": Kind("class I(int):\n    pass\ns = I(1); s.n = 1.0", "s.n + s", "s.n += 1"),
    "tuple subclass": Kind(
        "class I(tuple):\n    pass\ns = I((1.0,)); s.n = 1.0",
        "s.n + s[0]",
        "s.n += 1"),
    "set subclass": Kind(
        "class I(set):\n    pass\ns = I({1.0}); s.n = 1.0",
        "s.n + len(s)",
        "s.n += 1"),
    "hooks of all modules": Kind(
        "s = nn.Identity(); t = []",
        "s(torch.ones(2))",
        "t.append(s.register_forward_hook(lambda m, i, o: o * 2))"),
    "pre-hooks": Kind(
        "s = nn.Identity(); t = []",
        "s(torch.ones(2))",
        "t.append(s.register_forward_pre_hook(lambda m, i: (i[0] * 2,)))"),
    "global hook": Kind(
        "s = nn.Identity(); t = []",
        "s(torch.ones(2))",
        "t.append(nn.modules.module.register_module_forward_hook(lambda m, i, o: o * 2 if m is s "
        "else o)) if not t else (t.pop().remove())"),
    "global pre hook": Kind(
        "s = nn.Identity(); t = []",
        "s(torch.ones(2))",
        "t.append(nn.modules.module.register_module_forward_pre_hook(lambda m, i: (i[0] * 2,) if "
        "m is s else None)) if not t else (t.pop().remove())"),
    "operator in place that comes": Kind(
        "class P:\n    n = 1.0\n    def __add__(self, o):\n"
        "        return self\ns = P()\ndef t():\n    global_s = s\n"
        "    global_s += 1\n    return global_s.n",
        "t()",
        "type(s).__iadd__ = lambda self, o, q=t() + 1: types.SimpleNamespace(n=q)"),
    "base class that is registered": Kind(
        "import abc\nclass D(abc.ABC):\n    @classmethod\n"
        "    def __subclasshook__(cls, c):\n        return hasattr(c, 'own') or NotImplemented\n"
        "class P:\n    pass\ns = P()",
        "(2.0 if isinstance(s, D) else 3.0)",
        "type(s).own = 1"),
}
