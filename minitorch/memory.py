"""Why is this array alive? Who keeps a tensor's memory: variables, graphs, views, parameters, gradients, containers.

    h = model.features(x)
    losses.append(loss)                                    # the classical leak: every loss keeps its whole graph
    print(minitorch.memory.explain(h))

Memory is shared by a tensor, its views and its detached twins, and a graph keeps the arrays that its rules will read:
so the reason is often not the variable one thinks of. Only what can be found by looking at all objects is told; looking
takes as long as a garbage collection.
"""

import gc
import re
import sys
import warnings
from dataclasses import dataclass
from types import FrameType, ModuleType

import numpy as np

from .core.arrays import owner
from .core.attributes import kept
from .core.graph import Node
from .core.tensor import Tensor
from .explain.graphs import lines
from .nn.parameter import is_lazy

__all__ = ["explain", "Explanation", "Holder"]

MOST = 12                                                  # reasons that are told
SKIPPED = (FrameType, ModuleType)                          # whose variables are known already
LEVELS, WAYS, WIDTH = 16, 20, 200                          # how far and how widely a variable is looked for


@dataclass
class Holder:
    """One reason: `kind` is "variable", "graph", "view" or "other", `words` the chain from the holder to the memory."""

    kind: str
    words: str


class Explanation:
    """The result of `explain`: `holders`, the size of the memory, and the words of it."""

    def __init__(self, tensor, holders, memory):
        self.holders, self.nbytes = holders, int(memory.nbytes)
        self.what = f"{list(tensor.shape)} {tensor.dtype.name}, {self.nbytes:,} bytes of memory"

    def __str__(self):
        if not self.holders:
            return f"{self.what}: nothing else was found that keeps it alive"
        lines = [f"{self.what}, kept alive by"]
        lines += [f"  {i}. {h.words}" for i, h in enumerate(self.holders[:MOST], 1)]
        if len(self.holders) > MOST:
            lines.append(f"  and {len(self.holders) - MOST} more")
        return "\n".join(lines)

    __repr__ = __str__


def explain(tensor):
    """Explain what keeps the memory of `tensor` alive: an `Explanation`, to be printed.

    It names variables (of functions that run and of modules), closures, items of containers and
    attributes of objects that a variable leads to; graphs that saved the array, by op and, in
    anomaly mode, line, and the tensors that keep these graphs; parameters and buffers by their
    module; gradients; views and other tensors on the same memory. The garbage collector is asked,
    so a holder that `gc.freeze` has hidden from it is not found.

    >>> import minitorch
    >>> w = minitorch.ones(3, requires_grad=True)
    >>> h = w * 2
    >>> loss = h.exp().sum()
    >>> reasons = explain(h)
    >>> [r.words for r in reasons.holders if r.kind == "graph"]
    []
    >>> loss2 = (h * h).sum()
    >>> "saved by mul() (MulBackward0) for the backward pass" in str(explain(h))
    True
    """
    return Explanation(tensor, Search(owner(tensor.array)).holders(), owner(tensor.array))


class Search:
    """One look at all living objects for those that keep `memory`."""

    def __init__(self, memory):
        self.memory = memory
        objects = gc.get_objects()
        with warnings.catch_warnings():                    # objects of others may warn when looked at
            warnings.simplefilter("ignore")
            self.tensors = [x for x in objects if isinstance(x, Tensor) and not is_lazy(x)]
            self.nodes = [x for x in objects if isinstance(x, Node)]
            self.names, self.arrays, self.scopes = variables()
        del objects

    def holders(self):
        """All the reasons, each once."""
        sharing = [t for t in self.tensors if owner(t.array) is self.memory]
        found = [Holder("variable", words) for words in self.array_variables()]
        ways = self.ways(sharing, everything=True)
        for t in sharing:
            what = "" if t.array is self.memory else "a view, " if t._base is not None else "the same memory, "
            found += [Holder("view" if what else "variable", what + way) for way in ways.get(id(t), ())]
        found += self.of_graphs()
        return list({h.words: h for h in found}.values())

    # -- variables -----------------------------------------------------------------------------------------------
    def array_variables(self):
        """Variables that hold a raw array on the memory."""
        for value, name in self.arrays:
            if owner(value) is self.memory:
                yield f"{named(name, '')}, a NumPy array that views it"

    def ways(self, things, everything=False):
        """id of a thing -> chains of words that lead to it from variables, the shortest first.

        What a variable holds is not followed further, except the things themselves, if `everything` is asked for.
        """
        found, seen, self.hidden = {}, set(), {id(things), id(self.tensors), id(self.nodes), id(self.__dict__)}
        objects = {id(x): x for x in things}               # what is kept in this dict and looked for next
        sources = {key: [(key, "")] for key in objects}    # how it leads to the things
        for depth in range(LEVELS):
            for key in objects:
                for source, way in sources[key]:
                    found.setdefault(source, []).extend(named(name, way) for name in self.names.get(key, ()))
            objects = {key: x for key, x in objects.items()
                       if key not in self.names or (everything and not depth)}
            if not objects or len(objects) > WIDTH:
                break
            seen.update(objects)
            objects, sources = self.level_above(objects, sources, seen)
        return found

    def level_above(self, objects, sources, seen):
        """The holders of `objects`, as they are: id -> holder, and id -> [(source, way)]."""
        made, ways = {}, {}
        self.hidden |= {id(objects), id(made)}
        things = list(objects.values())
        self.hidden.add(id(things))
        for holder in gc.get_referrers(*things):
            key = id(holder)
            if key in self.hidden or key in self.scopes or key in seen or isinstance(holder, SKIPPED):
                continue
            steps = steps_from(holder, objects)
            if steps:
                made[key] = holder
                ways[key] = [(source, step + way) for step, x in steps[:WAYS] for source, way in sources[id(x)][:WAYS]]
        return made, ways

    # -- graphs --------------------------------------------------------------------------------------------------
    def of_graphs(self):
        """The nodes that saved the memory, and the tensors at the end of their graphs."""
        users = {}
        for node in self.nodes:
            for parent in node.parents:
                if isinstance(parent, Node):
                    users.setdefault(id(parent), []).append(node)
        tops = {}                                          # id of a node -> where in `tensors` its own are
        for i, t in enumerate(self.tensors):
            if t.node is not None:
                tops.setdefault(id(t.node), []).append(i)
        for node in self.nodes:
            if any(isinstance(x, type(self.memory)) and owner(x) is self.memory for x in saved_arrays(node)):
                saver = getattr(node.op, "name", None) or node.name()
                where = lines.get(node)
                line = f" called at {where[0]}:{where[1]}" if isinstance(where, tuple) else ""
                yield Holder("graph", f"saved by {saver}() ({node.name()}) for the backward pass{line}, "
                                      f"{self.ends_of(node, users, tops)}")

    def ends_of(self, node, users, tops):
        """The tensors behind whose graph a node is, by name."""
        above, ends = [node], {}
        seen = {id(node)}
        for place in above:                                # grows while it is read
            for i in tops.get(id(place), ()):
                t = self.tensors[i]
                ends.update((way, None) for way in self.ways([t]).get(id(t), ()))
            for user in users.get(id(place), ()):
                if id(user) not in seen:
                    seen.add(id(user))
                    above.append(user)
        ends = list(ends)
        if not ends:
            return "in a graph that no named tensor ends"
        more = f" and {len(ends) - 3} more" if len(ends) > 3 else ""
        return f"in the graph of {', '.join(ends[-3:][::-1])}{more}"


def saved_arrays(node):
    """The arrays that a node keeps."""
    saved = node.saved
    if saved is None:
        return []
    if not isinstance(saved, tuple):                       # the context of a user's function
        saved = tuple(getattr(s, "value", s) for s in getattr(saved, "_saved", None) or ())
    flat = [y for x in saved for y in (x if isinstance(x, tuple) else (x,))]
    return [getattr(x, "array", x) for x in flat]


# ------------------------------------------------------------------ names
def variables():
    """The variables of all functions that run and all modules, but this package's.

    As id of a value -> names; as (array, name) pairs of those that are NumPy arrays; and the ids of the dicts that
    hold them.
    """
    found = {}
    arrays, scopes, locals_ = [], {}, set()

    def note(value, words):
        found.setdefault(id(value), []).append(words)
        if isinstance(value, np.ndarray):
            arrays.append((value, words))

    for frame in frames():
        module = frame.f_globals.get("__name__", "")
        scopes.setdefault(id(frame.f_globals), (frame.f_globals, module))
        local = frame.f_locals
        locals_.add(id(local))
        if local is not frame.f_globals and not is_own(module):
            for name, value in list(local.items()):
                if name.isidentifier():                    # a test runner may have others
                    note(value, ("the variable", name, f" of {frame.f_code.co_name}()"))
    for name, module in list(sys.modules.items()):
        if isinstance(module, ModuleType):
            scopes.setdefault(id(module.__dict__), (module.__dict__, name))
    for scope, module in scopes.values():
        if not is_own(module):
            for name, value in list(scope.items()):
                if not isinstance(value, ModuleType):
                    note(value, ("the global variable", name,
                                 "" if module == "__main__" else f" of the module {module}"))
    return found, arrays, locals_ | set(scopes)


def frames():
    """The frames of all functions that run, in all threads, innermost first."""
    for frame in sys._current_frames().values():
        while frame is not None:
            yield frame
            frame = frame.f_back


def named(variable, way):
    """A variable, and the way from it, as Python would write it: ``the variable `net[0].weight` of train()``."""
    kind, name, after = variable
    after += ", a parameter" if "._parameters[" in way or "['_parameters'][" in way else ""
    way = re.sub(r"\.__dict__\['(\w+)'\]", r".\1", way)
    way = re.sub(r"\._modules\['(\d+)'\]", r"[\1]", way)
    way = re.sub(r"\._(?:modules|parameters|buffers)\['(\w+)'\]", r".\1", way)
    way = way.replace("._grad", ".grad")
    return f"{kind} `{name}{way}`{after}"


def is_own(module):
    return module == "minitorch" or module.startswith("minitorch.")


def steps_from(holder, held):
    """(words, thing) for each of the things in `held` that `holder` holds: ``[3]``, ``.weight``."""
    if isinstance(holder, dict):
        return [(f"[{key!r}]", value) for key, value in list(holder.items()) if id(value) in held]
    if isinstance(holder, (list, tuple)):
        return [(f"[{i}]", value) for i, value in enumerate(list(holder)) if id(value) in held]
    if isinstance(holder, Node):
        return []                                          # graphs are reported separately
    return [(attribute_of(holder, value), value) for value in gc.get_referents(holder) if id(value) in held]


def attribute_of(holder, value):
    """How `holder` calls `value`: the name of an attribute, or nothing for what has no name."""
    for name in ("__dict__", "__closure__", "__self__", "__func__", "__defaults__"):
        if getattr(holder, name, None) is value:
            return f".{name}"
    if isinstance(holder, type((lambda: holder).__closure__[0])):
        return ""                                          # a cell of a closure
    own = kept.__get__(holder) if isinstance(holder, Tensor) else getattr(holder, "__dict__", None)
    for name, x in (own.items() if isinstance(own, dict) else ()):
        if x is value:
            return f".{name}"
    return f".<{type(holder).__name__}>"
