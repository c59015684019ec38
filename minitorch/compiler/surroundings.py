"""Python values that a function reads besides its arguments: globals, closures, attributes of
modules and objects, and what lies in these.

A program uses the values that these had in its trace, so it is valid only while they are the same
objects (or equal numbers and strings). Everything that can be reached by the names in the
function's code is one of three:

- known to be immutable, or without state: numbers, strings, types, functions of `math`
- watched: variables, attributes, lists, dicts, sets, buffers. `hold` is a guard of a plan; what the
  function itself changes makes it run eagerly
- anything else: an iterator, a file, a lock, a source of random numbers. If a line that uses such
  an object is executed, the function runs eagerly, and the note names the line

Tensors may change their values, because a program reads these in each run. Optimisers and schedules
take their steps themselves.
"""

import abc
import builtins
import collections
import fractions
import functools
import math
import operator
import os
import re
import sys
import types
import warnings
import weakref
from collections import deque
from typing import NamedTuple

import numpy as np

from .. import Generator, Size, Tensor, device, dtype
from ..extend import Stepping, attributes_of, module_changes
from ..nn import Module
from .settings import LEVELS, OF_NUMPY, answer_of, is_setter, registered_classes, settings_in
from .used_names import BY_NAME, OF_ALL, Executed, used_by
from .watched import PLAIN, Contents, Given, Items, Registries, Slots

__all__ = ["Surroundings"]

SMALL = 4096               # bytes of an array of NumPy's up to which it is compared
MANY = 20_000              # watched values; a function that reaches more runs eagerly
HEAP_TYPE = 1 << 9                                         # of classes made at run time
OURS = {"minitorch", "numpy", "builtins", *sys.stdlib_module_names} - {"__main__"}

# Python's modules whose functions and classes have no state of their own.
STATELESS = set(
    "builtins math cmath operator _operator itertools functools _functools collections _collections "
    "collections.abc _collections_abc typing types dataclasses enum abc _abc copy copyreg string re "
    "numbers fractions contextlib inspect bisect _bisect heapq _heapq textwrap statistics struct "
    "_struct posixpath ntpath genericpath warnings _warnings".split())
# The exceptions among them: output, input, files, all variables, names and places of the moment.
STATEFUL = {print, input, open, exec, eval, compile, globals, locals, __import__, breakpoint, id,
            warnings.warn, warnings.warn_explicit}
# Immutable objects of the standard library, and their methods that look at the world.
CONSTANT = {"datetime.timedelta", "datetime.date", "datetime.time", "datetime.datetime",
            "datetime.timezone", "uuid.UUID", "ipaddress.IPv4Address", "ipaddress.IPv6Address",
            "pathlib.PosixPath", "pathlib.PurePosixPath", "pathlib.WindowsPath",
            "pathlib.PureWindowsPath"}
READING = frozenset("""absolute chmod cwd exists expanduser glob group hardlink_to home is_block_device
    is_char_device is_dir is_fifo is_file is_mount is_socket is_symlink iterdir lchmod link_to lstat
    mkdir now open owner read_bytes read_text readlink rename replace resolve rglob rmdir samefile
    stat symlink_to today touch unlink utcnow walk write_bytes write_text""".split())
# Modules with classes that register others.
ABSTRACT = {"collections.abc", "_collections_abc", "numbers", "typing"}
IMMUTABLE = (*PLAIN, type(...), type(NotImplemented), range, slice, re.Pattern, fractions.Fraction,
             types.GenericAlias, types.UnionType, operator.itemgetter, np.generic,
             np.dtype, np.ufunc, Size, dtype, device,
             Generator)                                    # whose draws and seeds are recorded
PLACES = ("_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks", "_backward_hooks",
          "_backward_pre_hooks")
OF_MODULES = frozenset(vars(Module()))                     # attributes of any module, also hooks
# Attributes of optimisers and schedules, by the names in code that lead to them.
STEPPED = {"param_groups": ["param_groups"], "defaults": ["defaults"], "state": ["state"],
           "last_epoch": ["last_epoch"], "_last_lr": ["_last_lr"], "get_last_lr": ["_last_lr"],
           "get_lr": ["last_epoch", "base_lrs", "_last_lr"]}
BOUND = (types.BuiltinFunctionType, types.MethodWrapperType, types.BuiltinMethodType)
UNBOUND = (types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType,
           types.GetSetDescriptorType, types.MemberDescriptorType,
           type(vars(collections.namedtuple("Named", "x"))["x"]))
GETTERS = operator.attrgetter, operator.methodcaller
NAMED = {"__name__", "__qualname__", "__doc__", "__module__"}   # of functions and classes
WEAK = weakref.ref, weakref.WeakValueDictionary, weakref.WeakKeyDictionary, weakref.WeakSet
HOLDERS = {"argparse.Namespace"}   # classes of Python's that have only what they are given
CACHE = {"cache_clear", "cache_info", "cache_parameters"}
# Attributes that change without a place to watch.
UNSEEN = {"__subclasses__", "_version", "data_ptr"}
# Names that Python looks up in a class by itself: operators, conversions, ways to attributes.
SPECIAL = frozenset([n for kind in (int, float, dict, list, types.CodeType, types.CoroutineType)
                     for n in dir(kind) if n[:2] == "__"] + """
    __getattr__ __delattr__ __call__ __enter__ __exit__ __del__ __bool__ __iter__ __next__ __reversed__
    __missing__ __length_hint__ __fspath__ __bytes__ __complex__ __array__ __array_function__
    __array_ufunc__ __torch_function__ __matmul__ __rmatmul__ __imatmul__ __iand__ __ifloordiv__
    __ilshift__ __imod__ __ior__ __ipow__ __irshift__ __isub__ __itruediv__ __ixor__ __get__ __set__
    __delete__ __set_name__ __instancecheck__ __subclasscheck__ __deepcopy__ __copy__""".split()) - {
    "__class__", "__doc__", "__new__", "__init__", "__init_subclass__"}


class Strange(NamedTuple):
    """An object that cannot be watched, and the name by which it was reached; None: always read.
    `x` is None where the name itself says what is read."""

    x: object
    name: str | None
    only: frozenset | None = None                          # attributes without which a line is none

    def text(self):
        if self.x is sys.modules:
            return "it uses `sys.modules`, which leads to everything"
        if isinstance(self.x, np.ndarray):
            return "it reads an array of NumPy's, whose values may change"
        if self.x is None or isinstance(self.x, (*BOUND, types.FunctionType, type)):
            return f"it uses `{self.name}`, which may read or change what a program does not see"
        return f"it uses `{self.name}`, a {type(self.x).__name__}, whose state cannot be watched"


class Surroundings:
    """The places that a function reads, and their values; ``hold()`` is True if they are unchanged.
    """

    def __init__(self, function, arguments):
        self.root, self.arguments = function, {id(x) for x in arguments}
        self.any_name = True
        self.find(arguments)
        if self.computed and self.at_once():               # what any name leads to is too much
            self.any_name = False
            self.find(arguments)
        self.settled = True                                # False if its own run has changed it
        self.changes = module_changes()
        self.contents += [found for found in (self.grads, self.registries) if len(found)]
        self.registries.end()
        self.none = not (len(self.slots) or self.contents or len(self.in_modules))

    def find(self, arguments):
        """Find all that can be reached. Names that the code computes may be any, or, if not
        `any_name`, the lines that compute one must not be executed."""
        self.attributes, self.texts = {"forward"}, set()
        self.computed = self.catches = self.asks = False
        before = None
        while before != self.reached():                    # new names lead to more
            before = self.reached()
            self.clear()
            self.go_to([self.root, *arguments])
            while self.queue and self.count + len(self.slots) < MANY:
                self.look(*self.queue.popleft())
        unseen = UNSEEN & self.attributes if self.any_name else UNSEEN | BY_NAME | OF_ALL
        self.strange += [Strange(None, n) for n in sorted(unseen)]
        if self.abstract:
            self.contents.append(Items(None, "register", registered_classes))

    def clear(self):
        """Let go of everything that was found but the names."""
        self.slots, self.contents, self.strange = Slots(), [], []
        self.in_modules, self.of_modules, self.classes = Slots(), [], set()
        self.grads, self.registries, self.abstract = Given(), Registries(), False
        self.seen, self.queue, self.count, self.codes = {}, deque(), 0, []

    def reached(self):
        """All that is known of the code: names only become more."""
        return len(self.attributes), len(self.texts), self.computed, self.catches, self.asks

    # -- questions -----------------------------------------------------------------------------
    def hold(self, tensors=()):
        """True if everything is as it was: a guard of a plan."""
        if self.none:
            return True
        if not self.slots.same():
            return False
        for contents in self.contents:
            if not contents.same():
                return False
        if self.in_modules.keys and self.changes != (now := module_changes()):
            if now[0] != self.changes[0] or not self.in_modules.same():
                return False
            if not all([contents.same() for contents in self.of_modules]):
                return False
            self.changes = now
        return True

    def changed(self):
        """A value that has changed: (words, place); ("", None) if none has."""
        found = [self.slots.changed(), self.in_modules.changed(),
                 *[c.name or "a list, dict or set" for c in (*self.contents, *self.of_modules)
                   if not c.same()]]
        found = [name for name in found if name is not None]
        if not found:
            return "", None
        self.settled = False
        return f"it changes {found[0]!r}, which is not a tensor's value", self.place_of(found[0])

    def place_of(self, name):
        """(file, line) of a line in the functions that uses a name; None if there is none."""
        return next(((code.co_filename, line) for code in self.codes
                     for line, names in used_by(code).lines.items() if name in names), None)

    def at_once(self):
        """Why the function runs eagerly whatever it does, in words; "" if nothing is against a
        trace."""
        if self.queue:
            return f"it reaches more than {MANY} Python values"
        for strange in self.strange:
            if id(strange.x) in self.arguments:
                return f"an argument is a {type(strange.x).__name__}"
            if isinstance(strange.x, WEAK):                # which this list would keep alive
                self.clear()
                return strange.text()
        return ""

    def execution(self):
        """A block around the run of the function that notes what it executes, if that matters."""
        return Executed(is_frame_of_user) if self.strange else None

    def executed(self, execution):
        """Why the function must run eagerly, given what it has executed: (words, place)."""
        for strange in self.strange:
            place = None if strange.name is None else execution.place_of(strange.name, strange.only)
            if place is not None or strange.name is None or execution.all and (
                    strange.only is None or strange.only & self.attributes):
                return strange.text(), place
        return "", None

    # -- finding -----------------------------------------------------------------------------------
    def go_to(self, values, name=None):
        self.queue.extend([(x, name) for x in values])

    def look(self, x, name):
        """Note the places in an object, and the objects to look at next. `name`: the name by which
        code reaches it."""
        if type(x) in IMMUTABLE or id(x) in self.seen:
            return
        self.seen[id(x)] = x  # and keep it, so that its id stays its own
        for kind, method in KINDS:
            if isinstance(x, kind):
                method(self, x, name)
                return
        module = module_of(type(x))
        if watched_otherwise(self, x, name, f"{module}.{type(x).__name__}"):
            return
        if "__wrapped__" in (attributes_in_dict(x) or ()):  # a compiled or a cached function
            if isinstance(x, functools._lru_cache_wrapper) and CACHE & self.attributes:
                self.strange.append(Strange(x, name))
            self.go_to([x.__wrapped__], name)
        elif isinstance(x, UNBOUND) or module == "typing" or is_of_numpy(module):
            pass
        elif has_state_in_c(type(x)) or not (is_trusted(module) or is_foreign(module) or (
                f"{module}.{type(x).__name__}" in HOLDERS)):
            self.strange.append(Strange(x, name))
        else:
            self.instance(x, name)

    def ndarray(self, x, name):
        """An array of NumPy's: a small one is compared, one that nobody can write to stays."""
        if x.dtype.kind not in "biufcVSU" or x.nbytes > SMALL and is_writeable(x):
            self.strange.append(Strange(x, name))
        elif is_writeable(x):
            self.contents.append(Items(x, name, elements))

    def tensor(self, x, name):
        """A tensor: attributes that the user gave it."""
        own = attributes_of.__get__(x)
        self.places(own, [n for n in own if n in self.attributes and not hasattr(Tensor, n)])
        if self.catches or self.asks:                      # those that it does not have
            self.slots.add(own, [n for n in self.attributes if n not in own
                                 and (self.catches or n in self.texts) and not hasattr(Tensor, n)])
        if "requires_grad" in self.attributes:             # of a result it follows from these, too
            self.slots.add_attribute(x, "requires_grad")
        if "grad" in self.attributes:
            self.grads.add(x)

    def stepping(self, x, name):
        """An optimiser or a schedule: whose gradients it forgets, and its numbers, if the code
        reads them itself."""
        if hasattr(x, "param_groups"):
            self.contents.append(Items(x, name, parameters_of))
        read = {n for name in self.attributes & STEPPED.keys() for n in STEPPED[name]}
        self.places(vars(x), sorted(read & vars(x).keys()))

    def function(self, f, name):
        """A function: its closure, its defaults, and the globals that it names."""
        module = module_with(f.__globals__)
        if not is_foreign(module):
            if module.split(".")[0] in ("minitorch", "numpy"):
                self.setting(f, name)
                self.go_to([getattr(f, "__wrapped__", None)], name)
            elif module in STATELESS:                      # such as a context manager's
                self.go_to([contents(c) for c in f.__closure__ or ()], name)
                self.go_to([getattr(f, "__wrapped__", None)], name)
            elif f is os.getenv:
                self.go_to([os.environ], name)
            else:
                self.strange.append(Strange(f, name))
            return
        for free, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
            self.slots.add_attribute(cell, "cell_contents", free)
            self.go_to([contents(cell)], free)
        used = used_by(f.__code__)
        self.codes.append(f.__code__)
        self.attributes |= used.attributes
        self.texts |= used.texts
        self.computed = self.computed or used.computed and self.any_name
        self.catches = self.catches or used.catches
        self.asks = self.asks or not BY_NAME.isdisjoint(used.globals)
        self.globals(f.__globals__, used)
        for kept in ("__code__", "__defaults__", "__kwdefaults__", *NAMED & self.attributes):
            if f is not self.root and getattr(f, kept) is not None:
                self.slots.add_attribute(f, kept)
        self.go_to([f.__defaults__, f.__kwdefaults__, getattr(f, "__wrapped__", None)])
        if vars(f):
            self.places(vars(f), self.wanted(vars(f)))

    def globals(self, scope, used):
        """The globals that a function names, Python's own functions, and what it imports."""
        own = [n for n in sorted(used.globals) if n in scope]
        self.places(scope, own)
        self.slots.add(scope, used.globals.difference(own))   # where one would hide Python's own
        pythons = vars(builtins)
        for n in sorted(used.globals.difference(own).intersection(pythons)):
            self.go_to([pythons[n]], n)
        loaded = [n for n in sorted(used.modules) if n in sys.modules]
        self.slots.add(sys.modules, loaded)                # whose place another one may take
        self.go_to([sys.modules[n] for n in loaded])

    def method(self, x, name):
        self.go_to([x.__self__, x.__func__], name)

    def builtin(self, x, name):
        """A function in C: of a module without state, or bound to an object."""
        owner = x.__self__
        if owner is None or isinstance(owner, types.ModuleType):
            module = x.__module__ or getattr(owner, "__name__", "")
            if x in STATEFUL or not (module in STATELESS or is_of_numpy(module)):
                self.strange.append(Strange(x, name))
        else:
            self.go_to([owner], name)

    def getter(self, x, name):
        """A function that gets an attribute or calls a method, whose name it has."""
        made, rest = x.__reduce__()                        # a partial, if there are keywords
        given = [*getattr(made, "args", ()), *rest, *getattr(made, "keywords", {}).values()]
        for text in given:
            if isinstance(text, str):
                self.attributes.update(text.split("."))
        self.go_to(given, name)

    def partial(self, x, name):
        self.go_to([x.func, x.args, x.keywords], name)

    def descriptor(self, x, name):
        """A property, a static or class method, a cached property: the functions in it."""
        parts = ("fget", "fset", "fdel", "__func__", "func")
        self.go_to([getattr(x, part, None) for part in parts], name)

    def module(self, m, name):
        """A layer or model: its attributes and hooks, through the count of changes to modules."""
        kept = vars(m)
        inner = [kept[p] for p in PLACES if p in kept]
        self.in_modules.add(kept, [k for k, v in kept.items()
                                   if k in PLACES or isinstance(v, (*PLAIN, tuple, Tensor))])
        self.in_modules.add(kept, [n for n in self.attributes if n not in kept
                                   and self.is_missed(type(m), n)])
        for place in inner:
            self.in_modules.add(place, list(place))
            self.of_modules.append(Contents(place, name))
            self.go_to(place.values(), name)
        self.registries.add(inner[:3])               # these count no changes of their own
        read = self.attributes | names_in_methods(type(m))
        self.slots.add(kept, [k for k in kept if (k in read or self.computed)
                              and (k not in OF_MODULES or k == "training")])
        # Objects that can change inside, such as lists; for the user's classes, also attributes
        # that are assigned without `__setattr__`.
        counted = PLAIN if is_foreign(module_of(type(m))) else (*PLAIN, tuple, Tensor)
        self.places(kept, [k for k, v in kept.items()
                           if k not in OF_MODULES and not isinstance(v, counted)])
        self.methods(type(m))

    def sequence(self, x, name):
        self.contains(x, x, name)

    def mapping(self, x, name):
        """A dict: its keys in their order, and its values. That of all modules reaches everything:
        only lines that are executed matter."""
        if x is sys.modules:
            self.strange.append(Strange(x, name))
            return
        self.contains(x, x, name)
        self.contains(x, x.values(), name)
        if isinstance(x, collections.defaultdict):
            self.go_to([x.default_factory], name)

    def contains(self, x, values, name):
        """A container of these `values`, and its own attributes if its class is the user's."""
        self.count += len(values)
        if type(x) is not tuple:
            self.contents.append(Contents(values, name))
        self.go_to(values, name)
        if type(x) not in EXACT and values is x:
            self.instance(x, name)

    def set(self, x, name):
        self.count += len(x)
        if not isinstance(x, frozenset):
            self.contents.append(Items(x, name, typed))
        self.go_to(x, name)
        if type(x) not in (set, frozenset):
            self.instance(x, name)

    def buffer(self, x, name):
        self.contents.append(Items(x, name, bytes))
        if type(x) not in (bytearray, memoryview):
            self.instance(x, name)

    def named(self, x, name):
        """A Python module or a class: the attributes whose names occur in the functions."""
        kind = type(x)
        module = x.__name__ if isinstance(x, types.ModuleType) else module_of(x)
        if isinstance(kind, type) and issubclass(kind, abc.ABCMeta) or module in ABSTRACT:
            self.abstract = True
        if module.split(".")[0] == "minitorch" or module in STATELESS:
            if isinstance(x, types.ModuleType):
                self.library(x)
            return
        if module.startswith("numpy"):
            if module.startswith("numpy.random"):
                self.strange.append(Strange(x, name))
            else:
                self.go_to([vars(x)[n] for n in ("random",) if n in vars(x)
                            and n in self.attributes], "random")
                self.strange += [Strange(None, n) for n in sorted(self.attributes)
                                 if n in vars(x) and OF_NUMPY.match(n)]
        elif isinstance(x, types.ModuleType):
            self.places(vars(x), self.wanted(vars(x)))
            self.slots.add(vars(x), self.texts.difference(vars(x)))
        elif not is_foreign(module):                       # a class of Python's
            self.strange.append(Strange(x, name))
        else:
            self.methods(x, made=True)
            if is_foreign(module_of(kind)):
                self.methods(kind)

    def library(self, module):
        """A module of this library, or of Python's without state: its settings, functions that
        tell or change them, and those of Python's that act outside."""
        if module.__name__.startswith("minitorch"):
            for n in settings_in(module, self.attributes):
                self.slots.add_attribute(module, n)
        for n in sorted(self.attributes & vars(module).keys()):
            found = vars(module)[n]
            if isinstance(found, types.ModuleType) or isinstance(found, type) and (
                    isinstance(found, abc.ABCMeta)):
                self.go_to([found], n)
            elif isinstance(found, (types.FunctionType, *BOUND)):
                self.setting(found, n)

    def setting(self, f, name):
        """A function of this library or of Python's, if it tells or changes how something is set."""
        if is_setter(f) or isinstance(f, BOUND) and f in STATEFUL:
            self.strange.append(Strange(f, name))
        elif answer_of(f) is not None:
            self.contents.append(Items(f, name, answer))

    def instance(self, x, name):
        """An object whose state is its attributes: those that the code names, all of one whose code
        is not the user's."""
        kept, cls = attributes_in_dict(x), type(x)
        if kept is not None:
            self.attributes_in(kept, cls, name)
        for n in slots_of(cls):
            if n in self.attributes or self.computed:
                self.slots.add_attribute(x, n)
                self.go_to([getattr(x, n, None)], n)
        if is_foreign(module_of(cls)):
            self.slots.add_attribute(x, "__class__")
        self.methods(cls)

    def attributes_in(self, kept, cls, name):
        """The attributes of an object that the code may read, and those that are absent."""
        if is_foreign(module_of(cls)):
            self.places(kept, self.wanted(kept))
        else:                                              # read by code that is not looked at
            self.places(kept, list(kept))
        self.slots.add(kept, [n for n in self.attributes
                              if n not in kept and self.is_missed(cls, n)])
        if self.computed:
            self.contents.append(Contents(kept, name))

    def is_missed(self, cls, n):
        """True if it matters that an instance of `cls` does not have attribute `n`: the class has
        one, or the code goes on without (``getattr(x, "n", None)``, ``except AttributeError``)."""
        return (self.catches or n in self.texts or hasattr(cls, n)
                or hasattr(cls, "__getattr__"))

    def methods(self, cls, made=False):
        """Look at a class of the user's: functions that the code names or Python calls, and other
        attributes that the code names. `made`: the class itself is used, so instances are made."""
        if (cls, made) in self.classes:
            return
        self.classes.add((cls, made))
        own = [c for c in cls.__mro__ if is_foreign(module_of(c))]
        for c in own:
            ours = any([module_of(b).split(".")[0] == "minitorch" for b in c.__mro__])
            kept = vars(c)
            self.places(kept, [n for n, v in kept.items() if n not in NOT_CALLED and (
                n in self.attributes or self.computed or n[:2] == "__" and callable(v)
                and (made or n not in MAKING) or ours and isinstance(v, CALLED))])
        self.hidden([vars(c) for c in own], cls)
        for n in ("__mro__", *NAMED & self.attributes) if own else ():
            self.slots.add_attribute(cls, n)
        if is_foreign(module_of(type(cls))) and type(cls) is not type:
            self.methods(type(cls))

    def hidden(self, places, cls):
        """Attributes of a class that a class before the one that has them might get. `places`: the
        dicts of its classes, in their order."""
        absent = {n for n in self.attributes if self.is_missed(cls, n)} | SPECIAL
        for kept in places:
            absent.difference_update(kept)
            self.slots.add(kept, absent)

    def wanted(self, kept):
        """The attributes in a dict that the code may read."""
        return [n for n in kept if n in self.attributes or self.computed
                and not (isinstance(n, str) and n[:2] == "__")]

    def places(self, kept, names):
        """Watch values in a dict by name, and look at them."""
        self.slots.add(kept, names)
        for n in names:
            self.go_to([kept[n]], n)


EXACT = {list, tuple, dict, deque, types.MappingProxyType, collections.OrderedDict,
         collections.defaultdict, collections.Counter, type({}.values())}
MAKING = {"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__"}
NOT_CALLED = {"__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__slots__",
              "__class_getitem__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"}
CALLED = (types.FunctionType, staticmethod, classmethod, property)
SHOWING = {"__init__", "__repr__", "extra_repr", "reset_parameters", "__setstate__"}
KINDS = (
    (np.ndarray, Surroundings.ndarray), (Tensor, Surroundings.tensor),
    (Stepping, Surroundings.stepping), (types.FunctionType, Surroundings.function),
    (types.MethodType, Surroundings.method), (BOUND, Surroundings.builtin),
    (functools.partial, Surroundings.partial), (GETTERS, Surroundings.getter),
    ((property, staticmethod, classmethod, functools.cached_property), Surroundings.descriptor),
    (Module, Surroundings.module), ((list, tuple, deque), Surroundings.sequence),
    ((dict, types.MappingProxyType), Surroundings.mapping), ((set, frozenset), Surroundings.set),
    ((bytearray, memoryview), Surroundings.buffer),
    ((types.ModuleType, type), Surroundings.named),
)


def contents(cell):
    try:
        return cell.cell_contents
    except ValueError:                                     # not assigned yet
        return None


def attributes_in_dict(x):
    """The ``__dict__`` of an object, without its own ways to it; None if it has none."""
    try:
        return object.__getattribute__(x, "__dict__")
    except AttributeError:
        return None


def parameters_of(optimizer):
    """The ids of the parameters of an optimiser, which keeps them alive."""
    return [id(p) for group in optimizer.param_groups for p in group["params"]]


def watched_otherwise(found, x, name, kind):
    """True for an object of the standard library that is constant, or has its own way to be watched
    among the surroundings `found`; `kind`: the name of its class."""
    if kind == "os._Environ":
        found.contents.append(Items(x, name, variables))
    elif kind == "logging.Logger":
        found.contents.append(Items(x, name, level_of))
        lowest = level_of(x)
        speak = [n for n, level in LEVELS.items() if level is None or level >= lowest]
        found.strange.append(Strange(x, name, frozenset(speak)))
    elif kind in CONSTANT:
        if READING & found.attributes:
            found.strange.append(Strange(x, name, READING))
    else:
        return False
    return True


def is_writeable(x):
    """True if an array, or the memory that it looks at, can be written to."""
    return isinstance(x, np.ndarray) and (x.flags.writeable or x.base is not None and (
        not isinstance(x.base, np.ndarray) or is_writeable(x.base)))


def elements(x):
    return x.dtype, x.shape, x.tobytes()


def variables(environ):
    """The variables of the environment, as the process has them."""
    return getattr(environ, "_data", environ).copy()


def level_of(logger):
    """The level from which a logger says anything."""
    return math.inf if logger.disabled else max(logger.getEffectiveLevel(),
                                                logger.manager.disable + 1)


def answer(f):
    """The value that a function without arguments returns, or the error that it raises."""
    try:
        return f()
    except Exception as error:                             # as for a GPU where there is none
        return type(error), str(error)


def typed(x):
    """The elements of a set, with their types: 1 is not 1.0."""
    return {(type(v), v) for v in x}


@functools.lru_cache(maxsize=1024)
def names_in_methods(cls):
    """The attributes that the methods of a layer of this library name, but for those that make or
    show it; for a class of the user's nothing, whose methods are looked at as they are."""
    return frozenset().union(*[
        used_by(f.__code__).attributes for c in cls.__mro__
        if c not in Module.__mro__ and not is_foreign(module_of(c))
        for n, f in vars(c).items() if isinstance(f, types.FunctionType) and n not in SHOWING])


def slots_of(cls):
    """Name -> the descriptor of each slot of a class written in Python."""
    return {n: v for c in cls.__mro__ if "__slots__" in vars(c) for n, v in vars(c).items()
            if isinstance(v, types.MemberDescriptorType)}


def has_state_in_c(cls):
    """True if an instance has more memory than its attributes: an iterator, a file, a lock.

    Containers, numbers and strings, whose contents are compared, count as without.
    """
    known = (list, tuple, dict, deque, set, frozenset, *IMMUTABLE)
    if issubclass(cls, known):
        return False
    words = len(slots_of(cls)) + (cls.__dictoffset__ > 0) + (cls.__weakrefoffset__ > 0)
    return cls.__itemsize__ != 0 or cls.__basicsize__ > object.__basicsize__ + 8 * words


def module_of(cls):
    """The name of the module that a class is from; some of Python's have a descriptor there.

    "" for a class that `exec` has made with globals without ``__name__``: it says "builtins".
    """
    name = cls.__module__ if isinstance(cls.__module__, str) else "builtins"
    made = name == "builtins" and cls.__flags__ & HEAP_TYPE
    return "" if made and vars(builtins).get(cls.__name__) is not cls else name


def module_with(scope):
    """The name of the module with these globals, "" if they have none; no Python code is in
    `builtins`."""
    name = scope.get("__name__")
    return name if isinstance(name, str) and name != "builtins" else ""


def is_trusted(module_name):
    """True for this package, and for Python's modules without state."""
    return module_name in STATELESS or module_name.split(".")[0] == "minitorch"


def is_of_numpy(module_name):
    """True for NumPy, without its random numbers."""
    return module_name.split(".")[0] == "numpy" and not module_name.startswith("numpy.random")


def is_foreign(module_name):
    """True if something of this module is the user's, or at least not Python's or ours."""
    return module_name.split(".")[0] not in OURS


def is_frame_of_user(frame):
    return is_foreign(module_with(frame.f_globals))
