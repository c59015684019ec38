"""`canvas`: a drawing surface in the notebook, and a network that judges what is drawn on it.

The weights travel in the page, and a few lines of JavaScript run the network: it goes on working in a saved notebook,
on a page without a kernel, on a phone. What is drawn is a path, and it is scaled, centred and rendered by the formulas
that `minitorch.datasets.RenderedDigits` is rendered by, so that the network sees what it has learned from.
"""

import base64
import json
import math
from html import escape

import numpy as np

from .. import Tensor, from_numpy
from ..datasets.rendered import BOX, SIDE, placed, render
from ..nn import (
    BatchNorm2d,
    Conv2d,
    Dropout,
    Dropout2d,
    Flatten,
    Identity,
    Linear,
    MaxPool2d,
    Module,
    ReLU,
    Sequential,
)
from .canvas_script import SCRIPT, STYLE
from .drawing import Picture, element, frame, new_id

__all__ = ["Canvas", "canvas"]

STEPS = 40                      # a path is cut into pieces no longer than its larger side by this
EXAMPLE = [[(90, 70), (190, 62), (192, 66), (160, 130), (132, 220)], [(112, 140), (182, 134)]]


def canvas(model, classes=None, *, pen=1.0, mean=0.0, std=1.0):
    """A surface to draw on, judged by `model` in the reader's browser.

    model: a `Sequential` of Conv2d, ReLU, MaxPool2d, BatchNorm2d, Flatten, Linear (Dropout and Identity are left out)
        that takes images (N, 1, 28, 28) with values 0 to 1, white on black, and gives scores. Its weights are copied:
        training it further does not change the page.
    classes: the names of the scores, by default their numbers.
    pen: the standard deviation of the pen's spot in pixels of the 28x28 image.
    mean, std: what the network's inputs are normalised by.

    Raises TypeError for other layers, ValueError for forms of these that the page cannot compute (groups, dilation).
    """
    return Canvas(model, classes, pen, mean, std)


class Canvas(Picture):
    """The view that `canvas` gives; ``.save("digit.html")`` writes a page that works without Python."""

    title = "draw a digit"

    def __init__(self, model, classes, pen, mean, std):
        self.model, self.pen, self.mean, self.std = model, float(pen), float(mean), float(std)
        self.layers = exported(model)
        scores = self.scores(EXAMPLE)
        self.classes = [str(name) for name in (range(len(scores)) if classes is None else classes)]
        if len(self.classes) != len(scores):
            raise ValueError(f"the model gives {len(scores)} scores, and there are {len(self.classes)} classes")

    def image(self, strokes):
        """The image (1, 1, 28, 28), 0 to 1, that the page makes of strokes: lists of points (x, y), y downwards."""
        points, ink = traced(strokes)
        if not ink.any():
            return from_numpy(np.zeros((1, 1, SIDE, SIDE), np.float32))
        return from_numpy(render(placed(points[None], ink[None]), ink[None], [self.pen])[None].astype(np.float32))

    def scores(self, strokes):
        """The model's scores (classes,) for strokes, computed here; the page computes the same."""
        training = self.model.training
        try:
            found = self.model.eval()((self.image(strokes) - self.mean) / self.std)
        finally:
            self.model.train(training)
        if found.dim() != 2 or len(found) != 1:
            raise ValueError(f"expected a model that gives (N, classes) for (N, 1, 28, 28), got {tuple(found.shape)}")
        return found.detach()[0]

    def judged(self, strokes):
        """The names and probabilities for strokes, the likeliest first."""
        p = self.scores(strokes).double().softmax(0)
        return [(self.classes[i], p[i].item()) for i in p.argsort(descending=True).tolist()]

    def text(self):
        first, p = self.judged(EXAMPLE)[0]
        return (f"a surface to draw on, with a network of {sum(p.numel() for p in self.model.parameters()):,} "
                f"parameters that judges what is drawn; of the example, a seven, it says {first} ({p:.0%})")

    def svg(self):
        """The first frame: the example, and what the network says of it."""
        rows = []
        for i, (name, p) in enumerate(self.judged(EXAMPLE)[:10]):
            y = 24 + 24 * i
            rows += [element("text", escape(name), x=330, y=y + 4, text_anchor="end", fill="currentColor"),
                     element("rect", x=340, y=y - 8, width=max(160 * p, 1.0), height=16, fill="#0072B2"),
                     element("text", f"{p:.0%}", x=346 + 160 * p, y=y + 4, fill="currentColor")]
        lines = [element("polyline", points=" ".join(f"{x},{y}" for x, y in stroke), fill="none",
                         stroke="currentColor", stroke_width=16, stroke_linecap="round", stroke_linejoin="round")
                 for stroke in EXAMPLE]
        said = escape(self.text())
        paper = element("rect", x=1, y=1, width=278, height=278, fill="none", stroke="currentColor")
        return element("svg", element("title", said), paper, *lines, *rows, role="img",
                       viewBox="0 0 560 280", width=560, height=280, font_size=13)

    def html(self):
        key = new_id()
        data = json.dumps({"key": key, "layers": self.layers, "classes": self.classes, "pen": self.pen,
                           "mean": self.mean, "std": self.std, "side": SIDE, "box": BOX, "steps": STEPS},
                          separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
        still = f'<div class="still">{self.svg()}<p>An example; where scripts run, you draw here yourself.</p></div>'
        return frame(key, still, SCRIPT.replace("DATA", data), title=self.title,
                     style=f"<style>{STYLE.replace('#KEY', f'#{key}')}</style>")


def traced(strokes):
    """Points (P, 2) at small distances along strokes, and their ink (P,): 0 at the end of each."""
    strokes = [np.asarray(stroke, float).reshape(-1, 2) for stroke in strokes if len(stroke)]
    if not strokes:
        return np.zeros((1, 2)), np.zeros(1)
    every = np.concatenate(strokes)
    step = max(float((every.max(0) - every.min(0)).max()) / STEPS, 1e-9)
    points, ink = [], []
    for stroke in strokes:
        for a, b in zip(stroke, stroke[1:]):
            n = max(1, math.ceil(math.hypot(*(b - a)) / step))
            points += [a + (b - a) * (i / n) for i in range(n)]
            ink += [1.0] * n
        points.append(stroke[-1])
        ink.append(0.0)
    return np.array(points), np.array(ink)


def exported(model):
    """The layers of a network as plain values, weights as base64 of float32."""
    if not isinstance(model, Sequential):
        raise TypeError(f"canvas() takes a Sequential, whose layers it can list, got {type(model).__name__}")
    found = []
    for name, layer in model.named_children():
        if isinstance(layer, Sequential):
            found += exported(layer)
        elif not isinstance(layer, (Dropout, Dropout2d, Identity)):
            found.append(described(name, layer))
    return found


def described(name, layer: Module):
    """One layer as plain values."""
    if isinstance(layer, Conv2d):
        if layer.groups != 1 or pair(layer.dilation) != [1, 1] or isinstance(layer.padding, str) or (
                layer.padding_mode != "zeros"):
            raise ValueError(f"layer {name}: the page computes convolutions with groups=1, dilation=1 and zeros as "
                             f"padding, given in numbers; got {layer}")
        return {"kind": "conv", "shape": list(layer.weight.shape), "stride": pair(layer.stride),
                "padding": pair(layer.padding), "w": packed(layer.weight), "b": packed(layer.bias)}
    if isinstance(layer, MaxPool2d):
        if layer.ceil_mode or pair(layer.padding) != [0, 0] or pair(layer.dilation) != [1, 1]:
            raise ValueError(f"layer {name}: the page computes pooling without padding, dilation and ceil_mode; got "
                             f"{layer}")
        return {"kind": "pool", "size": pair(layer.kernel_size), "stride": pair(layer.stride or layer.kernel_size)}
    if isinstance(layer, BatchNorm2d):
        if layer.running_mean is None:
            raise ValueError(f"layer {name}: batch norm without running statistics depends on the batch, and the page "
                             "judges one drawing")
        scale = (layer.running_var + layer.eps).rsqrt() * (1 if layer.weight is None else layer.weight)
        shift = (0 if layer.bias is None else layer.bias) - layer.running_mean * scale
        return {"kind": "scale", "w": packed(scale), "b": packed(shift)}
    if isinstance(layer, Linear):
        return {"kind": "linear", "shape": list(layer.weight.shape), "w": packed(layer.weight), "b": packed(layer.bias)}
    if isinstance(layer, ReLU):
        return {"kind": "relu"}
    if isinstance(layer, Flatten) and layer.start_dim == 1:
        return {"kind": "flatten"}
    raise TypeError(f"layer {name} is a {type(layer).__name__}: the page knows Conv2d, ReLU, MaxPool2d, BatchNorm2d, "
                    "Flatten and Linear")


def pair(value):
    return [int(v) for v in value] if isinstance(value, (tuple, list)) else [int(value)] * 2


def packed(tensor: Tensor | None):
    """A tensor as base64 of float32, row after row, with - and _: a page has no // in it; None for none."""
    if tensor is None:
        return None
    array = np.ascontiguousarray(tensor.detach().cpu().float().numpy(), dtype="<f4")
    return base64.urlsafe_b64encode(array.tobytes()).decode()
