"""The graph: a node for each recorded call, and a version counter for each piece of memory.

A `Node` stands for one call. Its `parents` say where its inputs came from: a Node, a leaf tensor,
or None for a constant. There is no other structure: tensors point to nodes, nodes to nodes, and
nothing points back, so there are no reference cycles.

A write in place is counted on the array that owns the memory, so a tensor, its views and its
detached copies share one count, and a node can tell whether a value that it saved has changed
since. ``x.data`` has a count of its own.
"""

import sys
import weakref

from .arrays import counted
from .registry import Hook, late

version_counter = 0                  # the number of writes in place so far, anywhere
# id of an array that owns memory -> weak reference, for arrays made in inference mode
inference: dict = {}
# the `NodeHook`s of `core/hooks.py`, which are notified of all nodes; None if there are none
node_hooks: tuple | None = None


class Node:
    """One recorded call: its op, the nodes of its inputs, and the values that its derivative
    formulas read.

    `shape` is that of the result, `backend` the namespace that the formulas run on, `time` the
    version counter when it was recorded, `hooks` the functions to run around it (or None).
    """

    __slots__ = ("op", "parents", "saved", "shape", "backend", "time", "hooks", "__weakref__")
    is_function = False                           # True for the node of an `autograd.Function`

    def name(self):
        """PyTorch's name for this kind of node, such as ``MulBackward0``."""
        name = self.op.node_name
        return name if name.__class__ is str else name(self)

    def __repr__(self):
        return f"<{self.name()}>"

    def pull(self, g, create_graph):
        """Gradients for `parents`: Tensors if the pass is itself recorded, raw arrays otherwise."""
        saved, F = self.saved, self.backend
        if saved.__class__ is not tuple or self.time != version_counter:
            saved = self.checked_values()
        pull = self.op.pull if F.pull_of is None else F.pull_of(self, create_graph)
        if create_graph:
            return pull(self.op.recorded, g, self.as_tensors(saved), self.parents)
        return pull(F, g, saved, self.parents)

    def release(self):
        """Free the saved values; a second backward pass raises an error that says so."""
        if self.op.saves_arrays:
            self.saved = None

    def as_tensors(self, values):
        """The saved `values` as tensors attached to the graph where they came from."""
        return self.op.recorded.placed_values(self, values)

    def checked_values(self):
        """The saved values; RuntimeError if they have been freed, or written to since.

        `saved` is a tuple of them, or an object whose `unpacked` returns it.
        """
        saved = self.saved
        if saved is None:
            late.raise_freed(self)
        if self.time != version_counter:
            self.check_unwritten()
        return saved if saved.__class__ is tuple else saved.unpacked()

    def check_unwritten(self):
        """RuntimeError if a saved array was written to since this node was recorded."""
        for value in self.saved:
            for x in value if isinstance(value, tuple) else (value,):
                if isinstance(x, self.backend.ndarray):
                    found = self.written(x)
                    if found is not None:
                        late.raise_written(self, x, found)

    def written(self, array):
        """The `Version` of an array's memory, if written to since this call; else None."""
        found = versions.get(id(counted(array)))
        return found if found is not None and found.time > self.time else None


def made_node(op, parents, saved, shape, backend, kind=Node):
    """A new node, for code outside generated calls (which do the same inline); `kind` is its class.
    """
    node = object.__new__(kind)
    node.op, node.parents, node.saved, node.shape = op, parents, saved, shape
    node.backend, node.time, node.hooks = backend, version_counter, None
    return node


def set_node_hooks(hooks):
    """Replace the list of node hooks, which all threads share. While it is empty, a call pays one
    ``is None`` for it."""
    global node_hooks
    node_hooks = tuple(hooks) or None


def record(node, result):
    """Attach a new node to its single `result`, and notify all node hooks."""
    result.node, result.needs_grad = node, True
    if node_hooks is not None:
        tell_recorded(node, result)


def tell_recorded(node, result):
    """Notify all node hooks of a new node."""
    for hook in node_hooks or ():
        hook.recorded(node, result)


@Hook
def note_inference(tensor):
    """Note in `inference` that a tensor was made in inference mode. Filled by `autograd.inference`.
    """


# ------------------------------------------------------------------ several outputs
class MultiOutputNode(Node):
    """The node of an op with several outputs: its gradient is a tuple, None for outputs that were
    not used.

    `shape` is the tuple of the outputs' shapes. Between each output and this node there is an
    `OutputNode`, so that ops with one output pay nothing for this case.
    """

    __slots__ = ()


def wrap_outputs(arrays, backend, Tensor):
    """Tensors around the result arrays of an op with several outputs, in a tuple; in a named tuple
    if the arrays come in one."""
    made = []
    for y in arrays:
        t = object.__new__(Tensor)
        t.array = y if y.__class__ is backend.ndarray else backend.asarray(y)
        t.backend = backend
        made.append(t)
    return type(arrays)(*made) if hasattr(arrays, "_fields") else tuple(made)


def attach_outputs(node, outputs, differentiable):
    """Attach `node` to the outputs that have a gradient."""
    for i, (t, on) in enumerate(zip(outputs, differentiable)):
        if on:
            t.node, t.needs_grad = OutputNode(node, i), True


class OutputNode(Node):
    """The node of one output of a `MultiOutputNode`; `op` is the index of the output, an int."""

    __slots__ = ()

    def __init__(self, node, which):
        self.op, self.parents, self.saved, self.shape = which, (node,), (), node.shape[which]
        self.backend, self.time, self.hooks = node.backend, node.time, None

    def name(self):
        return self.parents[0].name()

    def pull(self, g, create_graph):
        return (g,)

    def release(self):
        pass


# ------------------------------------------------------------------ writes in place
class Version:
    """The writes to one piece of memory: their number (`count`), and of the last one the `time`,
    the op (`writer`) and the user's `line`."""

    __slots__ = ("count", "time", "writer", "line", "ref")


class Versions(dict):
    """The table of all writes in place: id of an array that owns memory (`counted`) -> its
    `Version`.

    Memory that nobody has written to is not in it, and what is goes with the memory.
    """

    def count(self, array):
        """How often the memory of `array` was written to."""
        return getattr(self.get(id(counted(array))), "count", 0)

    counted = staticmethod(counted)                        # the array on which writes are counted

    def now(self):
        """The time: the number of writes so far, anywhere."""
        return version_counter

    def written_since(self, time, but=()):
        """True if memory was written to after `time`, other than that of the arrays `but`."""
        known = {id(self.get(id(memory))) for memory in but}
        return any(v.time > time and id(v) not in known for v in self.values())

    def bump(self, memories, writer, line=None):
        """Count a write to each of these arrays, which own their memory; `line`: whose it is."""
        global version_counter
        version_counter += 1
        line = line or calling_line()
        for memory in memories:
            found = self.get(id(memory))
            if found is None:
                found = Version()
                found.count = 0
                self.enter(memory, found)
            found.count += 1
            found.time, found.writer, found.line = version_counter, writer, line

    def enter(self, memory, version):
        """Let memory have a `Version` as long as it lives."""
        key = id(memory)
        self[key] = version
        version.ref = weakref.ref(memory, lambda _: self.pop(key, None))

    def share(self, memory, twin):
        """Let `twin`, an array that stands for another, have the count that the other has."""
        found = self.get(id(memory))
        if found is not None:
            self[id(twin)] = found

    def move(self, twin, memory):
        """Count the writes to `twin` on the array that it stood for, and forget the twin."""
        found, known = self.pop(id(twin), None), self.get(id(memory))
        if found is None or known is found:
            return
        if known is None:
            self.enter(memory, found)
            return
        known.count += found.count
        if found.time > known.time:
            known.time, known.writer, known.line = found.time, found.writer, found.line

    def forget(self, memory):
        """Count from the beginning, as for new memory; False if that is not allowed, as the memory
        was made in inference mode."""
        if id(memory) in inference:
            return False
        self.pop(id(memory), None)
        return True


versions = Versions()


def bump_version(tensor, writer, line=None):
    """Count a write in place to `tensor`: graphs that saved the old values will refuse to run."""
    versions.bump([counted(tensor.array)], writer, line or calling_line())


def calling_line():
    """File and line of the innermost frame outside this package: the line that asked for the write.
    """
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__") or ""
        if not name.startswith("minitorch.") and name != "minitorch":
            break
        frame = frame.f_back
    return "an unknown line" if frame is None else (frame.f_code.co_filename, frame.f_lineno)
