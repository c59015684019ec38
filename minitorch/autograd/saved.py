"""Saved tensors: hooks that store them elsewhere between the forward and the backward pass.

    with saved_tensors_hooks(pack, unpack):
        loss = model(x)                                    # the graph keeps ``pack(tensor)``
    loss.backward()                                        # and computes with ``unpack(packed)``

A node hook packs the values that a node has just saved: without such a block, calls and backward
passes pay nothing. Only the innermost pair
of hooks is used, in the thread that entered it. As in PyTorch, writes to a packed tensor are not
noticed: the hooks are responsible for it.
"""

import threading
import weakref

from ..core import graph
from ..core.grad_mode import recording
from ..core.graph import Node, OutputNode
from ..core.hooks import NodeHook, add_node_hook, remove_node_hook
from ..core.op import Op
from ..core.recording import placed, rewrap
from ..core.registry import extends
from ..core.tensor import Tensor, wrap
from .function import FunctionNode, Saved

__all__ = ["allow_mutation_on_saved_tensors", "are_hooks_active", "disable_saved_tensors_hooks", "save_on_cpu",
           "saved_tensors_hooks"]


class Stack(threading.local):
    """The pairs of hooks of this thread, the innermost last, and the message that forbids hooks, if
    any."""

    pairs: tuple = ()
    refusal: str | None = None


stack = Stack()
# the number of open blocks, in all threads
_entered = 0
_changing = threading.Lock()


def are_hooks_active():
    """True if this thread is inside a block of `saved_tensors_hooks`."""
    return bool(stack.pairs)


class saved_tensors_hooks:
    """Within the block, the graph keeps ``pack_hook(tensor)`` for each tensor that a call saves.

    ``unpack_hook`` receives that and returns a tensor equal to the packed one. Neither may write to
    its argument.

    >>> import minitorch
    >>> x = minitorch.ones(2, requires_grad=True)
    >>> with minitorch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), minitorch.tensor):
    ...     y = x.exp()
    >>> y.sum().backward()
    >>> x.grad
    tensor([2.7183, 2.7183])
    """

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        if stack.refusal is not None:
            raise RuntimeError(stack.refusal)
        stack.pairs = (*stack.pairs, (self.pack_hook, self.unpack_hook))
        count(1)

    def __exit__(self, *exc):
        stack.pairs = stack.pairs[:-1]
        count(-1)


class without_hooks:
    """A block in which saved tensors are not packed."""

    def __enter__(self):
        self.outer, stack.pairs = stack.pairs, ()

    def __exit__(self, *exc):
        stack.pairs = self.outer


def count(n):
    """Keep the node hook in the list while a block is open in any thread."""
    global _entered
    with _changing:
        before, _entered = _entered, _entered + n
        if not before:
            add_node_hook(packer)
        elif not _entered:
            remove_node_hook(packer)


class disable_saved_tensors_hooks:
    """Forbids `saved_tensors_hooks` within a block: entering it raises
    RuntimeError(error_message)."""

    def __init__(self, error_message):
        self.error_message = error_message

    def __enter__(self):
        if stack.pairs:
            raise RuntimeError(self.error_message)
        self.outer, stack.refusal = stack.refusal, self.error_message

    def __exit__(self, *exc):
        stack.refusal = self.outer


# ------------------------------------------------------------------ packing
class Packer(NodeHook):
    """Packs the saved values of each new node, if this thread has hooks."""

    def recorded(self, node, result):
        """Give the node packed values."""
        if stack.pairs:
            pack(node, *stack.pairs[-1])


packer = Packer()


@extends(Node)
def pack_saved(node, pack_hook, unpack_hook, chosen):
    """Let a new node keep ``pack_hook(tensor)`` for the saved arrays with ``chosen(array)``, and
    compute with ``unpack_hook`` of that. Within `saved_tensors_hooks` those decide instead."""
    if not stack.pairs:
        pack(node, pack_hook, unpack_hook, chosen)


def pack(node, pack_hook, unpack_hook, chosen=lambda array: True):
    """Give the node packed values."""
    hooks = pack_hook, unpack_hook, chosen
    if isinstance(node, FunctionNode):
        node.saved._saved = tuple([PackedSaved(x, pack_hook, unpack_hook)
                                   if x is not None and chosen(array_of(x)) else x
                                   for x in node.saved._saved])
    elif isinstance(node.op, Op) and node.saved:
        places = (*node.parents, node)
        at = [places[place] if place is not None else None for place in node.op.saved_places]
        saved = tuple([packed(value, place, node, hooks) for value, place in zip(node.saved, at)])
        if any(a is not b for a, b in zip(saved, node.saved)):
            node.saved = PackedValues(saved)


def array_of(saved):
    """The array of what a `Function` has saved."""
    return saved.value.array if saved.output is None else saved.value


class Packed:
    """The result of the pack hook for one tensor, and the hook that unpacks it; `whole`: a function
    that puts its array into a dual one."""

    __slots__ = ("value", "unpack_hook", "whole")

    def __init__(self, tensor, pack_hook, unpack_hook, whole=None):
        self.whole = whole
        version = graph.versions.count(tensor.array)
        with recording(False):
            self.value = pack_hook(tensor)
        self.unpack_hook = unpack_hook
        if graph.versions.count(tensor.array) != version:
            raise RuntimeError("A saved tensor pack hook is modifying its input in place. Tensors provided as input to "
                               "pack hook can not be modified by in-place operations as this can lead to unexpected "
                               "side-effects. Please open an issue if you need to perform in-place operations on the "
                               "input to a pack hook.")

    def tensor(self):
        """The tensor that the unpack hook returns."""
        found = self.unpack_hook(self.value)
        if not isinstance(found, Tensor):
            raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                            f"{type(found)}")
        return found


def packed(value, place, node, hooks):
    """A saved value, with `Packed` in the place of the arrays chosen; `place`: where it stands in
    the graph."""
    if isinstance(value, node.backend.ndarray):
        pack_hook, unpack_hook, chosen = hooks
        if not chosen(value):
            return value
        if place is node:                                  # its own result: detached, or the node would hold itself
            place = None
        if node.backend.level is None:
            return Packed(rewrap(value, place, node.backend), pack_hook, unpack_hook)
        tensor, whole = node.backend.apart(value)          # hooks see the values of dual arrays
        return Packed(tensor, pack_hook, unpack_hook, whole)
    if type(value) is tuple:
        several = place if type(place) is tuple else (None,) * len(value)
        found = tuple([packed(v, p, node, hooks) for v, p in zip(value, several)])
        return value if all(a is b for a, b in zip(found, value)) else found
    return value


def unpacked(value):
    """The saved value again, as arrays."""
    if value.__class__ is Packed:
        array = value.tensor().array
        return array if value.whole is None else value.whole(array)
    return tuple([unpacked(v) for v in value]) if type(value) is tuple else value


class PackedValues(tuple):
    """The saved values of a node, some of them `Packed`."""

    def unpacked(self):
        """The saved values, as arrays."""
        return tuple([unpacked(value) for value in self])


class PackedSaved(Saved):
    """A packed tensor that a `Function` saved; its context has it in place of a `Saved`."""

    def __init__(self, saved, pack_hook, unpack_hook):
        tensor, self.output = saved.value, saved.output
        if self.output is not None:                        # an array of its own result
            tensor, self.place = wrap(tensor, saved.backend), None
        else:
            self.place = (tensor.node or tensor) if tensor.needs_grad else None
        self.packed = Packed(tensor, pack_hook, unpack_hook)

    def unpack(self, node):
        """The tensor, attached to its place in the graph."""
        found = self.packed.tensor()
        place = self.place if self.output is None else OutputNode(node, self.output)
        if place is None or place is found or (found.needs_grad and found.node is place):
            return found
        return placed(wrap(found.array, found.backend), place)


def kept(tensor):
    """A tensor as a context saves it for a backward pass: packed if this thread has hooks."""
    saved = Saved(tensor, None)
    return PackedSaved(saved, *stack.pairs[-1]) if stack.pairs else saved


# ------------------------------------------------------------------ ready-made hooks
class save_on_cpu(saved_tensors_hooks):
    """Within the block, saved tensors are moved to the CPU's memory; the backward pass copies them
    back.

    `pin_memory` uses page-locked memory if there is a GPU.
    """

    def __init__(self, pin_memory=False, device_type="cuda"):
        def pack(tensor):
            kept = tensor.detach().cpu()
            return tensor.device, kept.pin_memory() if pin_memory and kept.numel() else kept

        def unpack(packed):
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


OUTSIDE = ("Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
           "originally recorded.")


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """Within the block, tensors may be written to although a backward pass inside it needs their
    old values.

    Tensors are copied when they are saved, whereas PyTorch copies them when they are written to: so
    it takes as much memory again as all saved tensors.
    """

    entered = threading.local()

    def __init__(self):
        self.cloned = weakref.WeakKeyDictionary()
        super().__init__(self.pack, self.unpack)

    def pack(self, tensor):
        """A handle of a copy."""
        handle = Handle()
        self.cloned[handle] = tensor.detach().clone()
        return handle

    def unpack(self, handle):
        """The copy, while the block is open."""
        if handle not in self.cloned:
            raise AssertionError(OUTSIDE)
        return self.cloned[handle]

    def clear(self):
        """Forget all copies."""
        self.cloned.clear()

    def __enter__(self):
        if getattr(self.entered, "on", False):
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        super().__enter__()
        self.entered.on = True
        return self

    def __exit__(self, *exc):
        super().__exit__(*exc)
        self.entered.on = False
        self.clear()


class Handle:
    """Stands in a graph for a copy that the context holds."""
