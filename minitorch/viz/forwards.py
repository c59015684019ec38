"""A forward pass, module by module: what each gave, as a picture of its numbers, and where attention looked."""

from dataclasses import dataclass

import numpy as np

from .. import Tensor, no_grad
from ..extend import is_floating, is_half, observed
from ..utils._pytree import tree_leaves
from . import drawing
from .drawing import FAINT, Picture, element, shape_text, text
from .flows import draw_shades
from .stepper import script_for, style_for

__all__ = ["Forward", "Stage", "forward"]

MOST, ROWS, COLUMNS = 40, 12, 32                           # stages drawn; of a map: rows and columns
CELL, LINE = 8, 12                                         # pixels: of a map's points; between stages
SHADES = ("#e69f00", "#fbe8c0", "#f2f2f2", "#cfe3f2", "#8fbfe0", "#0072b2")


def forward(model, *inputs, tokens=None):
    """Run ``model(*inputs)`` once, unrecorded, and show it stage by stage. Not in PyTorch.

    Each call of a module is a stage: its kind and path, the shape of its output, its parameters, and the numbers that
    it gave for the first sample, rows from top to bottom. A call in which attention ran shows the weights of its first
    head; a call that gave its argument back, as dropout does in eval mode, is not a stage.
    `tokens` are words for the positions. The model is in eval mode while it runs; its mode and buffers are put back.

    The view's `stages` hold the same as NumPy arrays. RuntimeError if the model calls no module.

    >>> import minitorch
    >>> from minitorch import nn
    >>> net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    >>> print(minitorch.viz.forward(net, minitorch.zeros(1, 2)).text().split(":")[0])
    1
    """
    return Forward(model, inputs, tokens)


@dataclass
class Stage:
    """One call of a module: `level` is how deep it lies, `output` its numbers for the first sample, 2-D.

    `weights`: where attention looked, (queries, keys), None if the call itself ran none.
    """

    path: str
    kind: str
    level: int
    shape: tuple
    parameters: int
    output: np.ndarray
    weights: np.ndarray | None = None


class Forward(Picture):
    """Result of `forward`: `stages`, in the order in which they ended, and the picture."""

    title = "Forward pass, module by module"

    def __init__(self, model, inputs, tokens):
        self.names = {m: path for path, m in model.named_modules()}
        self.tokens = None if tokens is None else [str(t) for t in tokens]
        self.stages, self.open = [], []
        modes, buffers = {m: m.training for m in self.names}, {b: b.detach().clone() for b in model.buffers()}
        handles = [m.register_forward_pre_hook(self.enter) for m in self.names]
        handles += [m.register_forward_hook(self.leave) for m in self.names]
        model.eval()
        try:
            with no_grad(), observed(self.look, self.found):
                model(*inputs)
        finally:
            for handle in handles:
                handle.remove()
            for m, training in modes.items():
                m.training = training
            with no_grad():
                for b, before in buffers.items():
                    b.copy_(before)
        if not self.stages:
            raise RuntimeError(f"forward() shows calls of modules, and {type(model).__name__} has made none")

    # -- watching ----------------------------------------------------------------------------------------------
    def enter(self, module, args):
        self.open.append(None)                             # the attention weights that this call will have seen

    def leave(self, module, args, output):
        weights, level = self.open.pop(), len(self.open)
        out = next((t for t in tree_leaves(output) if isinstance(t, Tensor)), None)
        if out is None or any(out is a for a in args):     # dropout in eval mode, Identity: nothing was done
            return
        own = sum(p.numel() for p in module.parameters())
        self.stages.append(Stage(self.names[module], type(module).__name__, level, tuple(out.shape), own,
                                 of_first(out), weights))

    def look(self, name, arrays, attrs, backend):
        """An op begins. Attention that is one op is asked for its weights, as `found` will see them."""
        if name == "scaled_dot_product_attention" and self.open:
            mask = arrays[3] if len(arrays) > 3 else None
            given = (None, mask) if mask is None or mask.dtype == bool else (mask, None)
            attrs = {name: attrs[name] for name in ("scale", "causal") if name in attrs}
            backend.scaled_dot_product_attention_weights(*arrays[:2], *given, **attrs)
        return name, backend

    def found(self, token, result):
        """An op has ended: a softmax of several matrices is attention."""
        name, backend = token
        if name in ("softmax", "scaled_dot_product_attention_weights") and self.open and result is not None and (
                result.ndim >= 3 and self.open[-1] is None):
            whole = as_numpy(result, backend.backend)
            self.open[-1] = whole.reshape(-1, *whole.shape[-2:])[0]

    # -- words -------------------------------------------------------------------------------------------------
    def text(self):
        """A line for each stage."""
        return "\n".join(f"{i}: {'  ' * s.level}{label(s)}, {list(s.shape)}, {s.parameters:,} parameters"
                         f"{', attention' * (s.weights is not None)}" for i, s in enumerate(self.stages, 1))

    # -- the picture -------------------------------------------------------------------------------------------
    def svg(self):
        """The stages from top to bottom, each with the map of its numbers."""
        parts, y, width = [], 8, 760
        for i, stage in enumerate(self.stages[:MOST]):
            *drawn, high = draw_stage(stage, y)
            parts += [element("g", *drawn[0], data_k=f"s{i}"), *drawn[1]]
            y += high + LINE
        if len(self.stages) > MOST:
            parts.append(text(10, y + 12, f"and {len(self.stages) - MOST} more", 11, "start", FAINT))
            y += 20
        return drawing.svg_root(width, y + 4, self.title, self.text(), *parts)

    _repr_svg_ = svg

    def html(self):
        """The stepper."""
        key = drawing.new_id()
        steps = [{"on": [f"s{i}"], "say": say(s, self.tokens)} for i, s in enumerate(self.stages[:MOST])]
        return drawing.frame(key, element("div", class_="controls"), self.svg(), script_for(key, {"stages": steps}),
                             style=style_for(key), title=self.title)


def of_first(out):
    """The numbers of the first sample as a matrix: positions by features; of images, the rows of the first channel."""
    x = out.detach().cpu()
    x = np.asarray((x.float() if x.itemsize == 2 else x).numpy())
    while x.ndim > 3:
        x = x[0]
    x = x[0] if x.ndim == 3 else x
    return np.atleast_2d(x)


def as_numpy(array, backend):
    """A raw array on the host, in a type that NumPy computes with."""
    found = np.asarray(backend.to_host(array))
    return found.astype(np.float32) if is_half(found.dtype) else found


def label(stage):
    return f"{stage.path}: {stage.kind}" if stage.path else stage.kind


def say(stage, tokens):
    """Words for the work of a stage."""
    x = stage.output[np.isfinite(stage.output)] if is_floating(stage.output.dtype) else stage.output
    words = f"{label(stage)} gave {list(stage.shape)}"
    if x.size:
        words += f", here from {x.min():.3g} to {x.max():.3g} with a spread of {x.std():.3g}"
    words += f"; {stage.parameters:,} parameters" if stage.parameters else "; it has no parameters"
    if stage.weights is None:
        return words + "."
    i = len(stage.weights) - 1
    j = int(stage.weights[i].argmax())
    named = tokens is not None and len(tokens) > max(i, j)
    names = tokens if named else [f"position {k}" for k in range(max(i, j) + 1)]
    return f"{words}.\nAttention ran here: {names[i]} looks most at {names[j]} ({stage.weights[i, j]:.2f})."


def draw_stage(stage, y):
    """The box with the words of a stage, the maps beside it, and its height."""
    x, wide = 4 + 16 * min(stage.level, 6), 290
    maps, left = [], x + wide + 16
    shown = [(stage.output, False)] + ([(stage.weights, True)] if stage.weights is not None else [])
    high = max([44, *(CELL * min(len(m), ROWS) for m, _ in shown)])
    for array, positive in shown:
        part, across = draw_map(array, left, y, positive)
        maps.append(part)
        left += across + 18
    note = [stage.path, shape_text(stage.shape), f"{stage.parameters:,} par." if stage.parameters else ""]
    box = element("rect", x=x, y=y, width=wide, height=44, rx=8, fill="#fafaf8", stroke="#bbbbbb")
    note = drawing.clipped(" \u00b7 ".join(filter(None, note)), 42)
    return [box, text(x + 10, y + 18, drawing.clipped(stage.kind, 36), 12, "start", font_weight="bold"),
            text(x + 10, y + 34, note, 10.5, "start", FAINT)], maps, high


def draw_map(array, x, y, positive):
    """A matrix as a map of shades; and its width."""
    shown = np.asarray(array[:ROWS, :COLUMNS], float)
    largest = np.abs(shown[np.isfinite(shown)]).max(initial=0.0) or 1.0
    strength = np.where(np.isfinite(shown), shown, 0.0) / largest
    level = np.digitize(strength, (0.02, 0.2, 0.5) if positive else (-0.45, -0.1, 0.1, 0.35, 0.7))
    colours = SHADES[2:] if positive else SHADES
    size = CELL * shown.shape[1], CELL * shown.shape[0]
    words = ("where attention looks, a row for each query" if positive else
             f"the numbers of the first sample, up to {largest:.3g}")
    drawn = draw_shades(level[::-1] + 1, x, y, *size, ("", *colours))
    frame = element("rect", x=x, y=y, width=size[0], height=size[1], fill="none", stroke="#bbbbbb", stroke_width=0.8)
    return element("g", element("title", words), drawn, frame), size[0]
