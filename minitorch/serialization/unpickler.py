"""A reader of pickles that cannot run code.

A pickle is a program for a small stack machine. This is that machine without the dangerous part: it calls nothing but
the functions in `names.calls` (and what the caller allowed by name), and it is prepared for programs written to
harm: each length is checked against what is left of the file, work that a short program could ask for without end is
counted against a budget, and dictionary keys are examined before they are hashed.

The opcodes are those of the binary protocols (1 to 5, see ``pickletools``); the text ones of protocol 0, in no file of
PyTorch's, are refused.
"""

import _compat_pickle
import pickle
import re
import struct
from collections import Counter, OrderedDict, defaultdict
from pickle import UnpicklingError

from . import names
from .collisions import Table
from .names import encode
from .tensors import Ignored, shown

__all__ = ["Unpickler", "encode", "shown"]

MAX_KEY = 1000                                             # parts of a dictionary key that is a tuple
MAX_SAME_HASH = 64                                         # keys of one dictionary with the same hash
WATCHED = 512                                              # keys of one container from which on paths are followed
MAX_MARKS = 100_000
MAX_NESTED = 1000
SIZED = (str, bytes, bytearray, tuple, list, dict, set, frozenset)
DICTS = (dict, OrderedDict, Counter, defaultdict)
MEMORY_PROTOCOL = re.compile("__(array|cuda_array|dlpack|buffer|c_dlpack)|__class__$")
OPCODES: dict = {}                                         # the code of an operation -> the method that does it
DAMAGED = (IndexError, KeyError, ValueError, TypeError, AttributeError, OverflowError, RecursionError, struct.error)


def opcode(*codes):
    """Enter the method below in the table of operations; it is called with the code's own argument, if given."""
    def enter(method):
        for code in codes:
            code, *args = code if isinstance(code, tuple) else (code,)
            OPCODES[code[0]] = method, args
        return method
    return enter


class Unpickler:
    """Reads one pickle in `data` from position `at`; `persistent_load` is called for references to storages.

    Subclasses may know other names: `find`, `apply` and `restore` say what these are and what a file may do with them.
    """

    encoding = "utf-8", "surrogatepass"                    # of Python 2's strings

    def __init__(self, data, persistent_load, at=0):
        self.data, self.persistent_load, self.at = data, persistent_load, at
        self.stack, self.outer, self.memo = [], [], {}
        self.budget, self.seen, self.nested, self.outside = 4 * len(data) + 2**18, Counter(), 0, False
        self.watched = {}                                  # id of a container -> it, its `Table`, hashes to come

    def load(self):
        """The object; afterwards `at` is the position after it. UnpicklingError if anything is wrong."""
        stop = pickle.STOP[0]
        try:
            while True:
                start = self.at
                code = self.data[start]
                self.at += 1
                if code == stop:
                    return self.stack.pop()
                method, args = OPCODES.get(code, (Unpickler.unsupported, (code,)))
                method(self, *args)
        except DAMAGED as error:
            if self.outside:
                raise
            what = f"{type(error).__name__}: {error}"
            if isinstance(error, IndexError):
                at_end = start >= len(self.data)
                what = "it ends too early" if at_end else "an operation takes a value that is not there"
            elif isinstance(error, KeyError):
                what = f"it refers to value {error}, which it has not stored"
            raise UnpicklingError(f"this pickle is damaged at byte {start}: {what}") from error

    def unsupported(self, code):
        raise UnpicklingError(f"Unsupported operand {code} in a pickle at byte {self.at - 1}")

    def spend(self, amount):
        """Count work; a file may ask for so much in proportion to its size, and no more."""
        self.budget -= amount
        if self.budget < 0:
            raise UnpicklingError("this pickle asks for more work than a file of its size can need")

    def call(self, function, *args, **kwargs):
        """Call what the caller has provided: its errors are the caller's."""
        self.outside = True
        result = function(*args, **kwargs)
        self.outside = False
        return result

    # -- reading -------------------------------------------------------------------------------------------
    def take(self, n):
        """The next `n` bytes."""
        start, end = self.at, self.at + n
        if end > len(self.data):
            raise UnpicklingError(f"this pickle ends too early: {n} bytes were announced at byte {start}, "
                                  f"{len(self.data) - start} are left")
        self.at = end
        return bytes(self.data[start:end])

    def number(self, layout):
        return struct.unpack(layout, self.take(struct.calcsize(layout)))[0]

    def line(self):
        end = self.data.find(b"\n", self.at, self.at + 1000)
        if end < 0:
            raise UnpicklingError(f"a name at byte {self.at} of this pickle does not end")
        found = self.take(end - self.at).decode("utf-8")
        self.at += 1
        return found

    def push(self, value):
        self.stack.append(value)

    # -- constants -----------------------------------------------------------------------------------------
    @opcode(pickle.PROTO)
    def protocol(self):
        version = self.take(1)[0]
        if version > pickle.HIGHEST_PROTOCOL:
            raise UnpicklingError(f"unsupported pickle protocol: {version}")

    @opcode(pickle.FRAME)
    def frame(self):
        self.number("<Q")

    @opcode((pickle.NONE, None), (pickle.NEWTRUE, True), (pickle.NEWFALSE, False), (pickle.EMPTY_TUPLE, ()))
    def constant(self, value):
        self.push(value)

    @opcode((pickle.EMPTY_LIST, list), (pickle.EMPTY_DICT, dict), (pickle.EMPTY_SET, set))
    def empty(self, kind):
        self.push(kind())

    @opcode((pickle.BININT, "<i"), (pickle.BININT1, "<B"), (pickle.BININT2, "<H"), (pickle.BINFLOAT, ">d"))
    def scalar(self, layout):
        self.push(self.number(layout))

    @opcode((pickle.LONG1, "<B"), (pickle.LONG4, "<i"))
    def big_int(self, length):
        n = self.number(length)
        if n < 0:
            raise UnpicklingError(f"an int of {n} bytes at byte {self.at}")
        self.push(int.from_bytes(self.take(n), "little", signed=True))

    @opcode((pickle.SHORT_BINUNICODE, "<B"), (pickle.BINUNICODE, "<I"), (pickle.BINUNICODE8, "<Q"))
    def text(self, length):
        self.push(str(self.take(self.number(length)), "utf-8", "surrogatepass"))

    @opcode((pickle.SHORT_BINSTRING, "<B"), (pickle.BINSTRING, "<I"))
    def text_of_python_2(self, length):
        self.push(str(self.take(self.number(length)), *self.encoding))

    @opcode((pickle.SHORT_BINBYTES, "<B", bytes), (pickle.BINBYTES, "<I", bytes), (pickle.BINBYTES8, "<Q", bytes),
            (pickle.BYTEARRAY8, "<Q", bytearray))
    def byte_string(self, length, kind):
        self.push(kind(self.take(self.number(length))))

    # -- the stack -----------------------------------------------------------------------------------------
    @opcode(pickle.MARK)
    def mark(self):
        if len(self.outer) >= MAX_MARKS:
            raise UnpicklingError(f"more than {MAX_MARKS} nested marks in a pickle")
        self.outer.append(self.stack)
        self.stack = []

    def since_mark(self):
        items, self.stack = self.stack, self.outer.pop()
        return items

    @opcode(pickle.POP)
    def pop(self):
        if self.stack:
            self.stack.pop()
        else:
            self.since_mark()

    @opcode(pickle.POP_MARK)
    def pop_mark(self):
        self.since_mark()

    @opcode(pickle.DUP)
    def dup(self):
        self.push(self.stack[-1])

    @opcode((pickle.BINGET, "<B"), (pickle.LONG_BINGET, "<I"))
    def get(self, layout):
        self.push(self.memo[self.number(layout)])

    @opcode((pickle.BINPUT, "<B"), (pickle.LONG_BINPUT, "<I"))
    def put(self, layout):
        self.memo[self.number(layout)] = self.stack[-1]

    @opcode(pickle.MEMOIZE)
    def memoize(self):
        self.memo[len(self.memo)] = self.stack[-1]

    # -- containers ----------------------------------------------------------------------------------------
    @opcode((pickle.TUPLE1, 1), (pickle.TUPLE2, 2), (pickle.TUPLE3, 3))
    def small_tuple(self, n):
        if len(self.stack) < n:
            raise UnpicklingError(f"a tuple of {n} values at byte {self.at - 1}, but there are {len(self.stack)}")
        self.stack[-n:] = [tuple(self.stack[-n:])]

    @opcode((pickle.TUPLE, tuple), (pickle.LIST, list))
    def sequence(self, kind):
        self.push(kind(self.since_mark()))

    @opcode(pickle.DICT)
    def dictionary(self):
        items = self.since_mark()
        self.push({})
        self.fill(items)

    @opcode(pickle.FROZENSET)
    def frozen(self):
        items = self.since_mark()
        self.push(frozenset(self.keys(items, items, set)))

    @opcode(pickle.APPEND)
    def append(self):
        self.extend([self.stack.pop()])

    @opcode(pickle.APPENDS)
    def appends(self):
        self.extend(self.since_mark())

    def extend(self, items):
        target = self.stack[-1]
        if type(target) is not list and not (isinstance(target, list) and self.is_allowed(type(target))):
            raise UnpicklingError(f"Can only append to lists, but got {type(target)}")
        target.extend(items)

    @opcode(pickle.ADDITEMS)
    def add_items(self):
        items, target = self.since_mark(), self.stack[-1]
        if type(target) is not set:
            raise UnpicklingError(f"Can only add items to sets, but got {type(target)}")
        target.update(self.keys(items, target))

    @opcode(pickle.SETITEM)
    def set_item(self):
        value, key = self.stack.pop(), self.stack.pop()
        self.fill([key, value])

    @opcode(pickle.SETITEMS)
    def set_items(self):
        self.fill(self.since_mark())

    def fill(self, items):
        target = self.stack[-1]
        if type(target) not in DICTS and not (isinstance(target, dict) and self.is_allowed(type(target))):
            raise UnpicklingError(f"Can only set items of a dict, collections.OrderedDict, collections.Counter or "
                                  f"collections.defaultdict, but got {type(target)}")
        if len(items) % 2:
            raise UnpicklingError("a key without a value in a pickle")
        for key, value in zip(self.keys(items[::2], target), items[1::2]):
            if type(value) is type(target) is defaultdict:
                self.nested += 1                           # CPython crashes when it takes a deep nest of them apart
                if self.nested > MAX_NESTED:
                    raise UnpicklingError(f"more than {MAX_NESTED} defaultdicts in defaultdicts")
            target[key] = value

    def keys(self, items, container, kind_of_table=None):
        """`items`, examined: keys made to collide, or tuples that take forever to hash, are refused.

        They go into `container`, or into a new dict or set, as `kind_of_table` says, if that is only a list of them.
        """
        known = False                                      # whether somebody else can compute one of the hashes
        for item in items:
            kind = type(item)
            if kind is str or kind is bytes:
                self.spend(len(item) // 16)                # it may be compared with an equal one
                continue
            known = True
            if kind is float or kind is bool or item is None or kind is int and -2**60 < item < 2**60:
                continue
            self.examine(item)
            place = id(container), hash(item)
            self.seen[place] += 1
            if self.seen[place] > MAX_SAME_HASH:
                raise UnpicklingError("too many keys with the same hash in one container")
        if known or id(container) in self.watched:
            self.watch(items, container, kind_of_table or type(container))
        return items

    def watch(self, items, container, kind):
        """Refuse keys whose hashes lead one behind the other through the container's table."""
        if id(container) not in self.watched:              # kept alive, so that no other one gets its id
            before = dict.keys(container) if isinstance(container, dict) else ()
            before = container if type(container) is set else before
            self.watched[id(container)] = container, Table(not issubclass(kind, dict)), [hash(key) for key in before]
        _, table, hashes = self.watched[id(container)]
        hashes.extend(map(hash, items))
        if len(hashes) >= WATCHED:
            if not table.add(hashes):
                raise UnpicklingError("too many keys whose hashes collide in one container")
            hashes.clear()

    def examine(self, key):
        """Refuse a key of very many parts, counted as often as they occur: hashing visits them all."""
        parts, level = 0, [key]
        while level:
            parts += len(level) + sum(part.bit_length() // 64 for part in level if isinstance(part, int))
            level = [part for whole in level if isinstance(whole, (tuple, frozenset)) for part in whole]
            if parts + len(level) > MAX_KEY:
                raise UnpicklingError(f"a dictionary key of more than {MAX_KEY} parts")
        self.spend(parts)

    # -- objects -------------------------------------------------------------------------------------------
    @opcode(pickle.GLOBAL)
    def named_global(self):
        self.push(self.find(self.line(), self.line()))

    @opcode(pickle.STACK_GLOBAL)
    def stack_global(self):
        name, module = self.stack.pop(), self.stack.pop()
        if type(name) is not str or type(module) is not str:
            raise UnpicklingError("the name of a global is text")
        self.push(self.find(module, name))

    def find(self, module, name):
        full = full_name(module, name)
        if len(full) > 500:
            raise UnpicklingError(f"the name of a global has {len(full)} characters")
        if full.partition(".")[0] in names.BLOCKED:
            raise UnpicklingError(f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked.")
        for table in (names.table(), names.allowed()):
            if full in table:
                return table[full]
        kind = full[6:] if full.startswith("torch.") else ""
        if kind.startswith(("float8_", "float4_", "qint", "quint", "bits", "uint", "int", "complex32")):
            raise UnpicklingError(f"this file holds tensors of {full}, a dtype that minitorch does not have")
        if "_rebuild_" in full and full.startswith("torch."):
            raise UnpicklingError(f"this file holds a tensor rebuilt by {full}: minitorch has dense and sparse tensors "
                                  "only")
        raise UnpicklingError(
            f"Unsupported global: GLOBAL {full} was not an allowed global by default. If you trust this class or "
            f"function with any arguments, use `minitorch.serialization.add_safe_globals([{full}])` or the "
            f"`minitorch.serialization.safe_globals([{full}])` context manager to allow it.")

    def is_allowed(self, value):
        return any(value is f for f in names.allowed().values())

    @opcode(pickle.REDUCE)
    def reduce(self):
        args, function = self.stack.pop(), self.stack[-1]
        if type(args) is not tuple:
            raise UnpicklingError(f"the arguments of a call are a tuple, got {type(args)}")
        self.spend(sum(len(x) for x in args if isinstance(x, SIZED)))
        self.stack[-1] = self.apply(function, args)

    def apply(self, function, args):
        """The object that a file gets for ``function(*args)``."""
        call = names.calls().get(id(function))
        if call is not None:
            return call(*args)
        if function is set or function is frozenset:
            return self.make_set(function, *args)
        if function is OrderedDict:
            return self.make_ordered(*args)
        if self.is_allowed(function):
            return self.call(function, *args)
        raise UnpicklingError(f"Trying to call reduce for unrecognized function {shown(function)}")

    def make_set(self, kind, items=()):
        if type(items) not in (list, tuple):
            raise UnpicklingError(f"a set is made of a list, got {type(items)}")
        return kind(self.keys(items, items, set))

    def make_ordered(self, pairs=()):
        if type(pairs) not in (list, tuple) or not all(type(p) in (list, tuple) and len(p) == 2 for p in pairs):
            raise UnpicklingError(f"an OrderedDict is made of pairs, got {shown(pairs)}")
        self.keys([key for key, _ in pairs], pairs, dict)
        return OrderedDict(pairs)

    @opcode(pickle.NEWOBJ)
    def new_object(self, kwargs=None):
        args, cls = self.stack.pop(), self.stack.pop()
        if cls is Ignored and not args:
            self.push(Ignored())
            return
        if not isinstance(cls, type) or not self.is_allowed(cls) or type(args) is not tuple:
            raise UnpicklingError(f"Can only create new object for classes allowlisted via `add_safe_globals` but got "
                                  f"{shown(cls)}")
        self.push(self.call(cls.__new__, cls, *args, **(kwargs or {})))

    @opcode(pickle.NEWOBJ_EX)
    def new_object_with_names(self):
        kwargs = self.stack.pop()
        if type(kwargs) is not dict:
            raise UnpicklingError(f"the named arguments of a call are a dict, got {type(kwargs)}")
        self.new_object(kwargs)

    @opcode(pickle.BUILD)
    def build(self):
        state = self.stack.pop()
        self.restore(self.stack[-1], state)

    def restore(self, target, state):
        """Give an object the state that a file has for it."""
        if type(target) is OrderedDict and type(state) is dict:
            self.spend(len(state))
            for key, value in state.items():                # a state_dict's _metadata
                if type(key) is not str or key.startswith("__") or hasattr(OrderedDict, key):
                    raise UnpicklingError(f"a file may not replace {shown(key)} of an OrderedDict")
                target.__dict__[key] = value
        elif type(target) is Ignored:              # whatever it was
            pass
        elif self.is_allowed(type(target)):
            self.call(set_state, target, state)
        else:
            raise UnpicklingError(f"Can only build OrderedDict or types allowlisted via `add_safe_globals`, but got "
                                  f"{type(target)}")

    @opcode(pickle.BINPERSID)
    def persistent(self):
        self.push(self.call(self.persistent_load, self.stack.pop()))


def full_name(module, name):
    """The full name of a global, with Python 2's names, which protocol 2 uses, turned into Python 3's."""
    if (module, name) in _compat_pickle.NAME_MAPPING:
        module, name = _compat_pickle.NAME_MAPPING[module, name]
    module = _compat_pickle.IMPORT_MAPPING.get(module, module)
    return f"{'torch._tensor' if module == 'torch.tensor' else module}.{name}"


def set_state(target, state):
    """Set the state of an object of a class that the caller allowed, as ``pickle`` does.

    Names with which an object tells NumPy and others where its memory is are refused: they would be the file's.
    """
    if hasattr(target, "__setstate__"):
        target.__setstate__(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    for key in (*(state or {}), *(slots or {})):
        if not isinstance(key, str) or MEMORY_PROTOCOL.match(key):
            raise UnpicklingError(f"a file may not set {shown(key)} of a {shown(type(target))}")
    if state:
        target.__dict__.update(state)
    for key, value in (slots or {}).items():
        setattr(target, key, value)
