"""The errors of backward passes whose saved values were written to or freed, and the lines that anomaly mode notes."""

import weakref

# In anomaly mode: node -> (file, line) of the call that it stands for, and of the backward pass that went through it.
lines: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
freed: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def raise_written(node, array, write):
    saver = getattr(node.op, "name", None) or node.name()
    where = write.line if isinstance(write.line, str) else f"{write.line[0]}:{write.line[1]}"
    kind = f"{array.dtype} tensor of shape {list(array.shape)}"
    raise RuntimeError(
        f"one of the variables needed for gradient computation has been modified by an inplace operation: a {kind}, "
        f"saved by {saver}() ({node.name()}{noted(lines, node, ' at ')}), was written by {write.writer} at {where}. "
        f"Hint: write to a copy (`x = x.clone()` before the write, or the op without the trailing underscore)."
        f"{ask_for_lines(node)}")


def raise_freed(node):
    raise RuntimeError(
        f"Trying to backward through the graph a second time: {node.name()}{noted(lines, node, ' (called at ', ')')} "
        f"has no saved values any more{noted(freed, node, ': the backward pass at ', ' has freed them')}. Saved "
        f"intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
        f"retain_graph=True if you need to backward through the graph a second time.{ask_for_lines(node)}")


def noted(places, node, before, after=""):
    """The line that anomaly mode has noted of a node, with words around it; nothing if it was off."""
    where = places.get(node)
    return f"{before}{where[0]}:{where[1]}{after}" if isinstance(where, tuple) else ""


def ask_for_lines(node):
    return "" if node in lines else (" To see the line of the forward call too, run it inside `with "
                                     "torch.autograd.detect_anomaly():`.")
