"""Tensors made in `inference_mode`, which must not be written to or saved for a backward pass
outside of it.

Their memory is noted while it lives. As long as there is such memory, a node hook checks the saved
values of new nodes; otherwise calls pay nothing.
"""

import weakref

from ..core import graph
from ..core.arrays import owner
from ..core.hooks import NodeHook, add_node_hook, remove_node_hook

__all__ = ["note_inference"]

SAVED = ("Inference tensors cannot be saved for backward. Please do not use Tensors created in "
         "inference mode in computation tracked by autograd. To work around this, you can make a "
         "clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
         "`torch.inference_mode()`.")


@graph.note_inference.fill
def note_inference(tensor):
    """Note that a tensor and its memory were made in inference mode."""
    memory = owner(tensor.array)
    key = id(memory)
    if key not in graph.inference:
        if not graph.inference:
            add_node_hook(guard)
        graph.inference[key] = weakref.ref(memory, lambda _: forget(key))


def forget(key):
    """Called when such memory is freed; removes the hook with the last of it."""
    graph.inference.pop(key, None)
    if not graph.inference:
        remove_node_hook(guard)


class Guard(NodeHook):
    """Refuses nodes that have saved inference tensors."""

    def recorded(self, node, result):
        """RuntimeError if the new node keeps a value in such memory."""
        saved = node.saved
        if not isinstance(saved, tuple):                   # the context of a user-defined function
            saved = [x.value for x in saved._saved if x is not None and x.output is None]
        for value in saved:
            for x in value if type(value) is tuple else (value,):
                x = getattr(x, "array", x)
                if isinstance(x, node.backend.ndarray) and id(owner(x)) in graph.inference:
                    raise RuntimeError(SAVED)


guard = Guard()
