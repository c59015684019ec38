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

from ....random.philox import Place
from ... import precision
from .parameters import LINE, Buffers, Late, lay_out

__all__ = ["MOST_PLANS", "Recorder", "Unplannable", "planned"]

PHANTOM, APART, MIDDLE = 0x7FF4 << 48, 40, 1 << 39         # the first address; an array's bits, and its place there
MOST_ARRAYS = 256
MOST_PLANS, MOST_SEEN = 1 << 14, 1 << 12
OF_REAL = frozenset({"kind", "index", "arch", "form", "cupy", "device", "ndarray", "load"})
PLAIN = frozenset({int, float, bool, str, type(None)})
TENSOR_MAP = 128                                           # bytes
SMALL = 4096                                               # bytes: results that do not hold on to much memory
UNIT = 512                                                 # bytes: the grain of scratch memory
recording = threading.RLock()                              # shadows have one recorder each


class Unplannable(Exception):
    """A request to a recorder that cannot be part of a plan."""


# ---- recording ---------------------------------------------------------------------------------------------
class Recorder:
    """A machine that launches nothing and notes launches down; in all else the machine `real`."""

    capture = None

    def __init__(self, real):
        self.real, self.at_work = real, False
        self.begin()

    def begin(self):
        """Forget what was noted."""
        self.steps, self.made, self.lasts = [], [], []

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

    def lasting(self, function, *args):
        """Arrays that keep their values are real ones: the plan has their addresses, and keeps them."""
        found = self.real.lasting(function, *[getattr(x, "stands_for", x) for x in args])
        self.lasts.append(found)
        return found

    def refuse(self, *args, **options):
        raise Unplannable("the host's part of this depends on more than shapes")

    from_host = to_host = from_device = view = synchronize = outside_capture = by_library = refuse


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
    plans are in `F.plans`. A call looks its plan up without asking whether its arguments are plain: only those that are
    have one. The random numbers' `Place`, which differs from call to call, may be given by keyword.
    """
    ndarray, plans, seen = F.ndarray, F.plans, set()

    def call(*args, **attrs):
        key, place = [name, precision.state], None
        for x in args:
            kind = x.__class__
            if kind is ndarray:
                key.append(getattr(x, "kind", None) or name_kind(x))
            else:
                key += kind, x if kind is not float or x else repr(x)      # 0.0 and -0.0 are equal, and not the same
        for k, x in attrs.items():
            kind = x.__class__
            if kind is Place and place is None:
                place = x
                key += k, x.state is None
            else:
                key += k, kind, x if kind is not float or x else repr(x)
        key = tuple(key)
        try:
            plan = plans.get(key)
        except TypeError:                                  # what has no hash is not plain
            return function(*args, **attrs)
        if plan is not None:
            return plan(*args) if place is None else plan(*args, place)
        if not is_plain([x for x in (*args, *attrs.values()) if x.__class__ is not ndarray and x is not place]):
            return function(*args, **attrs)
        if key in seen:
            return first(F, key, twin, function, args, attrs)(*args, *([] if place is None else [place]))
        if len(seen) >= MOST_SEEN:
            seen.clear()
        seen.add(key)
        return function(*args, **attrs)

    call.takes_halves, call.without_plans = getattr(function, "takes_halves", False), function
    return call


@functools.lru_cache(maxsize=MOST_SEEN)
def kind_of(shape, dtype, strides, offset):
    """The kind of arrays of a shape, a dtype, strides (None without gaps) and an address modulo 16, as keys have it."""
    return object()


def name_kind(x):
    """The kind of an array, which it remembers from now on: it costs as much to ask for as all the rest of a key."""
    x.kind = found = kind_of(x.shape, x.dtype, None if x._c_contiguous else x.strides, x.data.ptr & 15)
    return found


def is_plain(values):
    """True for numbers, words, None, dtypes and tuples of them."""
    for x in values:
        if x.__class__ not in PLAIN and not (isinstance(x, np.dtype) or isinstance(x, tuple) and is_plain(x)):
            return False
    return True


def first(F, key, twin, function, args, attrs):
    """The plan of a kind of call that has come up a second time: the function itself where there can be none."""
    try:
        plan = record(F, twin, args, attrs)
    except Unplannable:
        plan = without_plan(function, attrs)
    if plan is None:                                       # the call is a part of what a recording needs at once
        return without_plan(function, attrs)
    if len(F.plans) >= MOST_PLANS:
        F.plans.clear()
    F.plans[key] = plan
    return plan


def without_plan(function, attrs):
    """`function` as a plan is called: with its arrays, and the place of random numbers behind them."""
    at = next((k for k, x in attrs.items() if x.__class__ is Place), None)
    if at is None:
        return functools.partial(function, **attrs)
    return lambda *args: function(*args[:-1], **{**attrs, at: args[-1]})


def record(F, twin, args, attrs):
    """A function of `args` that does what the function did with their phantoms; None within a recording."""
    with recording:
        shadow = F.shadow
        recorder = shadow.machine
        if recorder.at_work:
            return None
        recorder.at_work = True
        try:
            return recorded(F, shadow, recorder, twin, args, attrs)
        finally:
            recorder.at_work = False


def recorded(F, shadow, recorder, twin, args, attrs):
    recorder.begin()
    shadow.plans.clear()                                   # of kernels that may be other ones now
    inputs, sources = [], []                               # sources: the address, or number, of each phantom
    for i, x in enumerate(args):
        if x.__class__ is F.ndarray:
            sources.append(f"a{i}.data.ptr")
            x = shadow.ndarray(x.shape, x.dtype, recorder.phantom(x.nbytes, x.data.ptr & 15), x.strides)
        inputs.append(x)
    for k, x in attrs.items():
        if x.__class__ is Place:                           # two phantoms that stand for numbers
            x, n = Place(recorder.phantom(0).ptr, recorder.phantom(0).ptr, x.state), len(args)
            sources += [f"a{n}.seed", f"a{n}.offset"]
            if x.state is not None:
                x = x._replace(state=shadow.ndarray((2,), np.uint64, recorder.phantom(16)))
                sources.append(f"a{n}.state.data.ptr")
            inputs.append(x)
            attrs = {**attrs, k: x}
    result = twin(shadow)(*inputs[:len(args)], **attrs)
    writer = Writer(F, recorder, inputs, sources, result)
    kept = [i for i, made in enumerate(recorder.made)
            if made.end is None and i not in writer.arrays and i not in writer.owners]
    if kept:                                               # in a cache, which must not hand them to other recordings
        del F.shadow
        raise Unplannable("an array that outlives the call")
    return writer.plan(result)


# ---- writing a plan ----------------------------------------------------------------------------------------
class Writer:
    """The source of a plan, a function in straight lines; everything that differs between plans of one form, sizes,
    offsets, kernels, is a name in it, so that few texts are ever compiled."""

    def __init__(self, F, recorder, inputs, sources, result):
        self.F, self.machine, self.inputs = F, F.machine, inputs
        self.steps, self.made, self.lasts = recorder.steps, recorder.made, recorder.lasts
        self.scope, self.lines, self.pointers = {}, [], {}
        self.type = F.shadow.ndarray
        self.arrays = dict(enumerate(sources))             # index of a phantom -> the expression that it stands for
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
        if self.lasts:
            self.lines.append(f"keep({self.name('k', self.lasts)})")
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
                 "look": self.machine.look, "keep": self.machine.keep, **self.scope}
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
            self.lines.append(f"p{index} = {self.arrays[index]}")
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
        """Lines that allocate results, small ones together, and one piece of memory for all that is needed only on the
        way."""
        on_the_way = []
        small = [i for i in self.owners if self.made[i].nbytes <= SMALL]
        if len(small) > 1:
            offsets, total = arrange([Made(self.made[i].nbytes, 0) for i in small], len(self.steps))
            self.lines.append(f"m = allocate({self.name('n', total)})")
            self.lines += [f"m{i} = m + {self.name('o', offset)}" if offset else f"m{i} = m"
                           for i, offset in zip(small, offsets)]
        for index, made in enumerate(self.made):
            if index in self.arrays:
                continue
            self.pointers[index] = f"p{index}"
            if index in small and len(small) > 1:
                self.lines.append(f"p{index} = m{index}.ptr")
            elif index in self.owners:
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
            source = self.arrays[index].partition(".")[0]
            y = self.inputs[int(source[1:])]
            if offset or x.dtype != y.dtype:
                raise Unplannable("a view that begins elsewhere than its array")
            self.lines += [f"{name} = {source}.view()",
                           f"{name}._set_shape_and_strides({shape}, {strides}, True, True)"]
            return name
        memory = f"m{index} + {self.name('o', offset)}" if offset else f"m{index}"
        dtype = self.name("k", x.dtype)
        kind = self.name("k", kind_of(x.shape, x.dtype, None if x._c_contiguous else x.strides, offset & 15))
        self.lines += [f"{name} = new(T)", f"{name}._init({shape}, {dtype}, {memory}"
                       f"{'' if x._c_contiguous else ', ' + strides})", f"{name}.kind = {kind}"]
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
                values.append(pointer if make is None else f"{self.name('f', remembering(make))}({pointer})")
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


def remembering(make):
    """``make(address)`` for the addresses that arrays of a program come back to."""
    return functools.lru_cache(maxsize=64)(make)


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
