"""Plans: calls of functions of arrays, recorded once as launches and carried out from then on without their Python.

A function that computes on a device's arrays does the same for all calls whose arrays agree in shape, strides, dtype
and alignment, and whose other arguments are equal: it allocates the same sizes and launches the same kernels, on other
addresses. `planned` makes such a function keep a plan for each kind of call. The second call of a kind runs the
function on *phantoms*, arrays without memory, on a backend whose machine notes down what is asked of it (`Recorder`):
the plan is what was noted. So a plan holds for kernels, for references made of several of them, for products, copies
and reductions alike, and nothing has to be written for any of them.

Phantoms lie at addresses that no memory and no number has (they are the bits of signalling NaNs), a terabyte apart.
Any word of a launch's parameters in that range is therefore the address of an array, wherever it stands, and which one.

What cannot be planned goes on as it was: functions that read values of the device, that copy from the host, that leave
work to the array library, or that are given arguments whose value is not their identity, such as generators.
"""

import functools
import re
import threading
from typing import NamedTuple

import numpy as np

from ... import precision
from .parameters import LINE, Buffers, Late, lay_out

__all__ = ["MOST_PLANS", "Recorder", "Unplannable", "planned"]

PHANTOM, APART, MIDDLE = 0x7FF4 << 48, 40, 1 << 39         # the first address; an array's bits, and its place there
MOST_ARRAYS = 256
MOST_PLANS, MOST_SEEN = 1 << 14, 1 << 12
OF_REAL = frozenset({"kind", "index", "arch", "form", "cupy", "device", "ndarray", "load"})
PLAIN = frozenset({int, float, bool, str, type(None)})
TENSOR_MAP = 128                                           # bytes
UNIT = 512                                                 # bytes: the grain of scratch memory
recording = threading.RLock()                              # shadows have one recorder each


class Unplannable(Exception):
    """A request to a recorder that cannot be part of a plan."""


# ---- recording ---------------------------------------------------------------------------------------------
class Recorder:
    """A machine that launches nothing and notes launches down; in all else the machine `real`."""

    capture = None

    def __init__(self, real):
        self.real = real
        self.begin()

    def begin(self):
        """Forget what was noted."""
        self.steps, self.made = [], []

    def __getattr__(self, name):
        if name in OF_REAL:
            return getattr(self.real, name)
        if name.startswith("__"):
            raise AttributeError(name)
        raise Unplannable(f"the machine's {name}, which may reach the device")

    def __eq__(self, other):
        return other is self or other is self.real         # what is known of the machine holds for its recorder

    def __hash__(self):
        return hash(self.real)

    def phantom(self, nbytes, low=0):
        """A pointer to memory that does not exist, whose address has these low bits."""
        if len(self.made) == MOST_ARRAYS or nbytes >= MIDDLE:
            raise Unplannable("too many arrays, or too large ones")
        address = PHANTOM + (len(self.made) << APART) + MIDDLE + low
        made = Made(nbytes, len(self.steps), low)
        self.made.append(made)
        memory = self.cupy.cuda.UnownedMemory(address, nbytes, Phantom(made, self.steps), 0)
        return self.cupy.cuda.MemoryPointer(memory, 0)

    def allocate(self, nbytes):
        return self.phantom(nbytes)

    def launch(self, function, grid, block, values, shared):
        shape = (*triple(grid), *triple(block), int(shared))
        data, places = lay_out(values)
        late = {offset: x for x, (offset, _) in zip(values, places) if isinstance(x, Late)}
        self.steps.append(Launch(function, shape, data, places, late))

    def fill_bytes(self, array, value):
        self.steps.append(Fill(array.data.ptr, array.nbytes, value))

    def by_address(self, array, make):
        return Late(array.data.ptr, make, TENSOR_MAP)

    def look(self, array, check):
        if self.kind == "sim":
            self.steps.append(Look(array, check))

    def refuse(self, *args, **options):
        raise Unplannable("the host's part of this depends on more than shapes")

    from_host = to_host = from_device = view = synchronize = outside_capture = by_library = lasting = refuse


class Made:
    """Memory of a recording: its size, the steps between which it is needed, the low bits of its address."""

    def __init__(self, nbytes, begin, low=0):
        self.nbytes, self.begin, self.end, self.low = nbytes, begin, None, low


class Phantom:
    """The owner of a phantom's memory, which notes down when nobody holds it any more."""

    def __init__(self, made, steps):
        self.made, self.steps = made, steps

    def __del__(self):
        self.made.end = len(self.steps)


class Launch(NamedTuple):
    """A step: a loaded kernel, its grid, block and shared memory, its parameters as bytes and where each of them is,
    and those that are `Late` by their offset."""

    function: object
    shape: tuple
    data: bytes
    places: list
    late: dict

    def fields(self):
        """(begin, end, address, what makes the bytes of it or None) of all that depends on addresses, in order."""
        data = self.data + bytes(-len(self.data) % 8)
        words = np.frombuffer(data, "u8")
        found = [(8 * k, 8 * k + 8, int(words[k]), None) for k in np.flatnonzero(words >> 48 == PHANTOM >> 48).tolist()]
        return sorted([*found, *[(k, k + x.size, x.address, x.make) for k, x in self.late.items()]], key=lambda f: f[0])


class Fill(NamedTuple):
    """A step: bytes of one value."""

    pointer: int
    nbytes: int
    value: int


class Look(NamedTuple):
    """A step: the simulator's look at the values of an array."""

    array: object
    check: object


def triple(n):
    return tuple([int(x) for x in (*((n,) if isinstance(n, int) else n), 1, 1)[:3]])


# ---- functions with plans ----------------------------------------------------------------------------------
def planned(F, name, function, twin):
    """`function`, of arrays of `F` and plain values, with a plan for each kind of call.

    `name` tells it from others, ``twin(shadow)`` is the same function on a backend whose machine is a `Recorder`. The
    plans are in `F.plans`.
    """
    ndarray, seen = F.ndarray, set()

    def quick(*args, **attrs):
        """The commonest calls, of one or two arrays without gaps: a shorter key."""
        if not attrs:
            if len(args) == 2:
                x, y = args
                if x.__class__ is y.__class__ is ndarray and x._c_contiguous and y._c_contiguous \
                        and not (x.data.ptr | y.data.ptr) & 15:
                    plan = F.plans.get((name, precision.state, x.shape, x.dtype, y.shape, y.dtype))
                    return plan(x, y) if plan is not None else call(*args)
            elif len(args) == 1:
                x, = args
                if x.__class__ is ndarray and x._c_contiguous and not x.data.ptr & 15:
                    plan = F.plans.get((name, precision.state, x.shape, x.dtype))
                    return plan(x) if plan is not None else call(*args)
        return call(*args, **attrs)

    def call(*args, **attrs):
        key, aligned = [name, precision.state], 0
        for x in args:
            if x.__class__ is ndarray:
                aligned |= x.data.ptr
                key += (x.shape, x.dtype) if x._c_contiguous else (x.shape, x.dtype, x.strides)
            elif x.__class__ in PLAIN:
                key += x.__class__, x or repr(x)           # 0.0 and -0.0 are equal, and not the same
            elif x.__class__ is tuple and is_plain(x) or isinstance(x, np.dtype):
                key += np.dtype, x                         # a word between, that it is not taken for strides
            else:
                return function(*args, **attrs)
        for k, x in attrs.items():
            if x.__class__ in PLAIN:
                key += k, x.__class__, x or repr(x)
            elif isinstance(x, tuple) and is_plain(x) or isinstance(x, np.dtype):
                key += k, x
            else:
                return function(*args, **attrs)
        if aligned & 15:
            key += [x.data.ptr & 15 for x in args if x.__class__ is ndarray]
        key = tuple(key)
        plan = F.plans.get(key)
        if plan is not None:
            return plan(*args)
        if key in seen:
            return first(F, key, twin, function, args, attrs)(*args)
        if len(seen) >= MOST_SEEN:
            seen.clear()
        seen.add(key)
        return function(*args, **attrs)

    quick.takes_halves, quick.without_plans = getattr(function, "takes_halves", False), function
    return quick


def is_plain(values):
    """True for a tuple of numbers, words, None and such tuples."""
    for x in values:
        if x.__class__ not in PLAIN and not (isinstance(x, tuple) and is_plain(x)):
            return False
    return True


def first(F, key, twin, function, args, attrs):
    """The plan of a kind of call that has come up a second time: the function itself where there can be none."""
    try:
        plan = record(F, twin, args, attrs)
    except Unplannable:
        plan = functools.partial(function, **attrs)
    if len(F.plans) >= MOST_PLANS:
        F.plans.clear()
    F.plans[key] = plan
    return plan


def record(F, twin, args, attrs):
    """A function of `args` that does what the function did with their phantoms."""
    with recording:
        shadow = F.shadow
        recorder = shadow.machine
        recorder.begin()
        shadow.plans.clear()                               # of kernels that may be other ones now
        inputs = [shadow.ndarray(x.shape, x.dtype, recorder.phantom(x.nbytes, x.data.ptr & 15), x.strides)
                  if x.__class__ is F.ndarray else x for x in args]
        result = twin(shadow)(*inputs, **attrs)
        writer = Writer(F, recorder, inputs, result)
        kept = [i for i, made in enumerate(recorder.made)
                if made.end is None and i not in writer.arrays and i not in writer.owners]
        if kept:                                           # in a cache, which must not hand them to other recordings
            del F.shadow
            raise Unplannable("an array that outlives the call")
        return writer.plan(result)


# ---- writing a plan ----------------------------------------------------------------------------------------
class Writer:
    """The source of a plan, a function in straight lines; everything that differs between plans of one form, sizes,
    offsets, kernels, is a name in it, so that few texts are ever compiled."""

    def __init__(self, F, recorder, inputs, result):
        self.F, self.machine, self.inputs = F, F.machine, inputs
        self.steps, self.made = recorder.steps, recorder.made
        self.scope, self.lines, self.pointers = {}, [], {}
        arrays = [f"a{i}" for i, x in enumerate(inputs) if isinstance(x, F.ndarray)]
        self.type = F.shadow.ndarray
        self.arrays = dict(enumerate(arrays))              # index of a phantom -> the parameter
        self.owners = self.results_of(result)

    def place(self, address):
        """(index, offset) of the phantom that an address belongs to."""
        index = address - PHANTOM >> APART
        return index, (address & (1 << APART) - 1) - MIDDLE - self.made[index].low

    def name(self, kind, value):
        """A new name for a value."""
        name = f"{kind}{len(self.scope)}"
        self.scope[name] = value
        return name

    def plan(self, result):
        self.allocate()
        self.buffer()
        for k, step in enumerate(self.steps):
            self.step(k, step)
        if any([isinstance(s, Launch) for s in self.steps]):
            self.lines.append("spare.append(b)")
        self.lines.append(f"return {self.value(result)}")
        return self.compiled()

    def compiled(self):
        parameters = ", ".join([f"a{i}" for i in range(len(self.inputs))])
        body = "".join([f"    {line}\n" for line in self.lines])
        used = re.findall(r"\b[a-z]+\d*\b", body)
        scope = {"new": self.machine.cupy.ndarray.__base__.__new__, "T": self.F.ndarray, "queue": self.machine.queue,
                 "allocate": self.machine.allocate, "start": self.machine.start, "fill": self.machine.fill,
                 "look": self.machine.look, **self.scope}
        names = [n for n in scope if n in used or n == "T"]
        text = f"def plan({parameters}{', ' if parameters else ''}*, {', '.join(f'{n}={n}' for n in names)}):\n{body}"
        exec(code_of(text), found := {n: scope[n] for n in names})
        return found["plan"]

    # -- memory ------------------------------------------------------------------------------------------------
    def pointer(self, address):
        """An expression for the address that a phantom's address stands for."""
        index, offset = self.place(address)
        if index not in self.pointers:
            self.pointers[index] = f"p{index}"
            self.lines.append(f"p{index} = {self.arrays[index]}.data.ptr")
        return f"p{index} + {self.name('o', offset)}" if offset else f"p{index}"

    def results_of(self, result):
        """The indices of the memory that results lie in. Unplannable where two share it."""
        found = {}
        for x in leaves(result):
            if x.__class__ is self.type and not any([x is y for y in self.inputs]):
                index, offset = self.place(x.data.ptr)
                if found.setdefault(index, x) is not x:
                    raise Unplannable("results that share memory")
        return [index for index in found if index not in self.arrays]

    def allocate(self):
        """Lines that allocate results, and one piece of memory for all that is needed only on the way."""
        on_the_way = []
        for index, made in enumerate(self.made):
            if index in self.arrays:
                continue
            self.pointers[index] = f"p{index}"
            if index in self.owners:
                self.lines += [f"m{index} = allocate({self.name('n', made.nbytes)})", f"p{index} = m{index}.ptr"]
            else:
                on_the_way.append(index)
        offsets, total = arrange([self.made[i] for i in on_the_way], len(self.steps))
        if total:
            self.lines += [f"s = allocate({self.name('n', total)})", "q = s.ptr"]
        for index, offset in zip(on_the_way, offsets):
            self.lines.append(f"p{index} = q + {self.name('o', offset)}" if total else f"p{index} = 0")

    def value(self, x):
        """An expression for a result."""
        if isinstance(x, (tuple, list)):
            if type(x) not in (tuple, list):
                return f"{self.name('k', type(x))}({', '.join(map(self.value, x))})"
            open, close = ("(", ",)") if type(x) is tuple and x else "()" if type(x) is tuple else "[]"
            return f"{open}{', '.join(map(self.value, x))}{close}"
        if x.__class__ is not self.type:
            if x.__class__ not in PLAIN:
                raise Unplannable(f"a result that is {type(x).__name__}")
            return self.name("k", x)
        for i, y in enumerate(self.inputs):
            if x is y:
                return f"a{i}"
        return self.array(x)

    def array(self, x):
        """A new array, or a view of an input, whose lines stand before."""
        index, offset = self.place(x.data.ptr)
        name, shape, strides = f"r{index}", self.name("k", x.shape), self.name("k", x.strides)
        if f"{name} = new(T)" in self.lines:
            return name
        if index in self.arrays:
            y = self.inputs[int(self.arrays[index][1:])]
            if offset or x.dtype != y.dtype:
                raise Unplannable("a view that begins elsewhere than its array")
            self.lines += [f"{name} = {self.arrays[index]}.view()",
                           f"{name}._set_shape_and_strides({shape}, {strides}, True, True)"]
            return name
        memory = f"m{index} + {self.name('o', offset)}" if offset else f"m{index}"
        dtype = self.name("k", x.dtype)
        self.lines += [f"{name} = new(T)", f"{name}._init({shape}, {dtype}, {memory}"
                       f"{'' if x._c_contiguous else ', ' + strides})"]
        return name

    # -- steps -------------------------------------------------------------------------------------------------
    def buffer(self):
        """Lines that take a parameter buffer and write the addresses of this call into it."""
        launches = [s for s in self.steps if isinstance(s, Launch)]
        if not launches:
            return
        formats, values = [], []

        def constant(piece):
            if piece:
                formats.append(f"{len(piece)}s")
                values.append(self.name("c", piece))
        for s in launches:
            data, at = s.data + bytes(-len(s.data) % LINE), 0
            for begin, end, address, make in s.fields():
                constant(data[at:begin])
                formats.append("Q" if make is None else f"{end - begin}s")
                pointer, at = self.pointer(address), end
                values.append(pointer if make is None else f"{self.name('f', make)}({pointer})")
            constant(data[at:])
        buffers = Buffers([(s.data, s.places) for s in launches], "<" + "".join(formats), self.machine.extra)
        self.scope |= {"spare": buffers.spare, "take": buffers.take, "pack": buffers.format.pack_into}
        self.lines += ["try:", "    b = spare.pop()", "except IndexError:", "    b = take()",
                       f"pack(b[0], b[1], {', '.join(values)})", "u = queue()"]
        self.extras = iter(range(2, 2 + len(launches)))

    def step(self, k, step):
        if isinstance(step, Launch):
            handle = self.name("h", self.machine.handle(step.function, step.shape[-1]))
            shape = ", ".join([self.name("g", n) for n in step.shape])
            self.lines.append(f"start({handle}, {shape}, u, 0, b[{next(self.extras)}])")
        elif isinstance(step, Fill):
            self.lines.append(f"fill({self.pointer(step.pointer)}, {self.name('n', step.nbytes)}, "
                              f"{self.name('n', step.value)})")
        else:
            seen = next((f"a{i}" for i, x in enumerate(self.inputs) if x is step.array), None)
            if seen is None:
                raise Unplannable("values of an array that is made on the way")
            self.lines.append(f"look({seen}, {self.name('k', step.check)})")


@functools.lru_cache(maxsize=4096)
def code_of(text):
    return compile(text, "<minitorch plan>", "exec")


def leaves(x):
    if isinstance(x, (tuple, list)):
        return [leaf for v in x for leaf in leaves(v)]
    return [x]


def arrange(pieces, steps):
    """Offsets of pieces of memory that are needed at different times in one that is as small as need be, and its size.

    Each goes to the lowest place that is free from its first step to its last: the greedy rule, in the order in which
    they are made.
    """
    placed, offsets, total = [], [], 0
    for piece in pieces:
        end = steps if piece.end is None else piece.end
        size = -(-piece.nbytes // UNIT) * UNIT
        offset = 0
        for low, high, others_begin, others_end in sorted(placed):
            if others_begin < end and piece.begin < others_end and low < offset + size and offset < high:
                offset = high
        placed.append((offset, offset + size, piece.begin, end))
        offsets.append(offset)
        total = max(total, offset + size)
    return offsets, total
