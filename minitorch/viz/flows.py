"""Activations, gradients and updates of a network while it trains, layer by layer, step by step.

    with viz.flow(model) as f:
        train(model)
    f

Hooks that any program could register do the measuring: a forward hook on each layer, a hook on its output for the
gradient, and one around the model that notices how far the parameters have moved since the step before.
"""

from dataclasses import dataclass, field

import numpy as np

from .. import Tensor, is_grad_enabled
from . import drawing
from .drawing import COLOURS, FAINT, INK, Picture, element, number, text

__all__ = ["Flow", "flow", "Stats"]

BINS, STEPS, LINES = 24, 120, 7                            # of the histograms; drawn along a curve; curves in a panel
POWERS = (-10, 2)                                          # of ten: where the histograms of gradients begin and end


@dataclass
class Stats:
    """The mean, standard deviation, 2-norm, share of zeros and histogram of magnitudes of one
    array.

    The histogram has BINS bins between `low` and `high`, or with `powers` between these powers of ten; what is smaller
    counts in the first, what is larger in the last, what is not finite nowhere.
    """

    mean: float
    std: float
    norm: float
    zeros: float
    counts: np.ndarray = field(repr=False, default_factory=lambda: np.zeros(BINS, int))

    @classmethod
    def of(cls, array, low, high, powers=False):
        """The statistics of a NumPy array, computed in float64."""
        x = array.astype(np.float64).ravel()
        if not x.size:
            return cls(0.0, 0.0, 0.0, 0.0)
        with np.errstate(all="ignore"):
            size = np.abs(x)
            size = np.clip(np.log10(size) if powers else size, low, high)
            bins = np.minimum((size[np.isfinite(x)] - low) * (BINS / (high - low)), BINS - 1).astype(int)
            counts = np.bincount(bins, minlength=BINS)
            return cls(float(x.mean()), float(x.std()), float(np.sqrt((x * x).sum())), float((x == 0).mean()), counts)


def flow(model, top=4.0):
    """Watch `model` while it trains: ``with viz.flow(model) as f: ...``, then look at ``f``.

    Every forward call of the model begins a step, but validation (eval mode under ``no_grad``) is left out. For each
    layer (a module without children) `f.activations[name]` and `f.gradients[name]` are lists of `Stats`, one a step
    (None where there was none); `f.updates[name]` has, for each parameter, the ratio of the norm of its change during a
    step to its norm. `top` is where the histograms of activations end; those of gradients are over powers of ten.
    """
    return Flow(model, top)


class Flow(Picture):
    """Result of `flow`: `layers`, `activations`, `gradients`, `updates`, and pictures of them."""

    title = "What flows through the network"

    def __init__(self, model, top=4.0):
        self.model, self.top, self.steps = model, top, 0
        self.names = {m: name or type(m).__name__ for name, m in model.named_modules() if not list(m.children())}
        self.layers = list(self.names.values())
        self.shown = {name: f"{name} {kind}" if (kind := type(m).__name__) != name else name
                      for m, name in self.names.items()}   # as they are drawn
        self.activations = {name: [] for name in self.layers}
        self.gradients = {name: [] for name in self.layers}
        self.updates = {name: [] for name, _ in model.named_parameters()}
        self._handles, self._before, self._watching = [], None, False

    # -- watching ----------------------------------------------------------------------------------------------
    def __enter__(self):
        self._handles = [self.model.register_forward_pre_hook(self.begin, prepend=True)]
        self._handles += [m.register_forward_hook(self.after) for m in self.names]
        return self

    def __exit__(self, *exc):
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self.measure_updates()
        self._before = None

    def begin(self, module, args):
        """A step begins: fill up the lists and see how far the step before has moved the parameters."""
        self._watching = is_grad_enabled() or self.model.training
        if not self._watching:                             # validation
            return
        self.measure_updates()
        self.steps += 1
        for lists in (self.activations, self.gradients):
            for found in lists.values():
                found.extend([None] * (self.steps - len(found)))
        self._before = {name: p.detach().clone() for name, p in self.model.named_parameters()}

    def measure_updates(self):
        if self._before is None:
            return
        for name, p in self.model.named_parameters():
            old = self._before.get(name)
            if old is not None:
                size = float(old.norm())
                moved = float((p.detach() - old).norm())
                self.updates[name].append(moved / size if size else float("nan") if moved else 0.0)

    def after(self, module, args, output):
        """A layer has run: note its output now and its gradient when it comes."""
        out = output[0] if isinstance(output, (tuple, list)) and output else output
        if not self._watching or not isinstance(out, Tensor) or not out.is_floating_point():
            return
        name, step = self.names[module], self.steps - 1
        self.activations[name][step] = Stats.of(array_of(out), 0.0, self.top)
        if out.requires_grad:
            out.register_hook(lambda g: self.gradients[name].__setitem__(step, Stats.of(array_of(g), *POWERS, True)))

    # -- pictures ------------------------------------------------------------------------------------------------
    def text(self):
        """The last step of each layer, as a table."""
        head = ["layer", "act mean", "act std", "act norm", "% zero", "grad std", "grad norm"]
        rows = [[self.shown[name], *self.row(name)] for name in self.layers]
        ratios = [[name, number(r[-1])] for name, r in self.updates.items() if r]
        lines = [f"{self.steps} steps; the last one:", *aligned([head, *rows])]
        if ratios:
            lines += ["", *aligned([["parameter", "update : weight"], *ratios])]
        return "\n".join(lines)

    def row(self, name):
        a, g = last_of(self.activations[name]), last_of(self.gradients[name])
        return [*([number(a.mean), number(a.std), number(a.norm), f"{100 * a.zeros:.0f}"] if a else ["-"] * 4),
                *([number(g.std), number(g.norm)] if g else ["-"] * 2)]

    def curves(self):
        """Panel title -> {line: values}: what `svg` draws."""
        def of(lists, what):
            return {self.shown[name]: [np.nan if s is None else getattr(s, what) for s in found]
                    for name, found in lists.items()}
        return {"activations: mean": (of(self.activations, "mean"), False),
                "activations: standard deviation": (of(self.activations, "std"), False),
                "activations: % zero": ({k: [100 * x for x in v] for k, v in of(self.activations, "zeros").items()},
                                        False),
                "gradients: standard deviation (log)": (of(self.gradients, "std"), True),
                "update : weight (log; about 0.001 is usual)": (self.updates, True)}

    def svg(self):
        """Curves over the steps, one panel for each statistic, one line for each layer."""
        parts, y, width = [], 6, 760
        for title, (lines, logarithmic) in self.curves().items():
            drawn, y = draw_panel(title, lines, y, width, logarithmic)
            parts.append(drawn)
        return drawing.svg_root(width, y, "Flow of activations, gradients and updates", self.text(), *parts)

    _repr_svg_ = svg

    def html(self):
        """The curves, and the last step as a table."""
        rows = [[self.shown[name], *self.row(name)] for name in self.layers]
        head = ["layer", "act mean", "act std", "act norm", "% zero", "grad std", "grad norm"]
        return drawing.frame(drawing.new_id(), self.svg(), drawing.table(rows, head, "The last step"),
                             title=self.title)

    def histograms(self, of="activations"):
        """The "colour dim": for each layer a picture of how magnitudes are spread, from 0 up, over the steps."""
        return Histograms(self, of)


def array_of(tensor):
    """A tensor as a NumPy array of a type that NumPy computes with."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.itemsize == 2 else tensor).numpy()


def last_of(found):
    return next((x for x in reversed(found) if x is not None), None)


def aligned(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(x.ljust(w) if i == 0 else x.rjust(w) for i, (x, w) in enumerate(zip(row, widths)))
            for row in rows]


DASHES = (None, "6 3", "2 3", "8 3 2 3", "3 2")


def draw_panel(title, lines, top, width, logarithmic, height=110):
    """A small plot: thinned lines, the range in numbers at the left, names at the right."""
    left, right, y0 = 64, width - 200, top + 20
    lines = {name: v for name, v in lines.items() if len(v)}
    chosen = [list(lines)[k] for k in sorted(set(np.linspace(0, len(lines) - 1, LINES).astype(int)))] if lines else []
    series = {name: thin(np.asarray(lines[name], float), logarithmic) for name in chosen}
    known = np.concatenate(list(series.values()) or [np.zeros(1)])
    known = known[np.isfinite(known)]
    low, high = (known.min(), known.max()) if known.size else (0.0, 1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    parts = [text(10, top + 12, title, 12, "start", font_weight="bold"),
             element("rect", x=left, y=y0, width=right - left, height=height, fill="none", stroke="#bbbbbb")]
    for value, y in ((high, y0 + 10), (low, y0 + height)):
        parts.append(text(left - 6, y, number(10 ** value if logarithmic else value), 10, "end", FAINT))
    count = max(map(len, lines.values()), default=0)
    if count > 1:
        parts += [text(left, y0 + height + 12, "first step", 10, "start", FAINT),
                  text(right, y0 + height + 12, f"{count:,}", 10, "end", FAINT)]
    for i, (name, v) in enumerate(series.items()):
        look = dict(stroke=COLOURS[i % len(COLOURS)], stroke_dasharray=DASHES[i % len(DASHES)])
        parts.append(element("path", d=line_through(v, left, right, y0, height, low, high), fill="none",
                             stroke_width=1.6, **look))
        y = y0 + 10 + 13 * i
        parts.append(text(right + 40, y, drawing.clipped(name, 24), 10, "start"))
        parts.append(element("path", d=f"M{right + 10},{y - 4}h24", fill="none", stroke_width=2, **look))
    if len(lines) > len(series):
        parts.append(text(right + 40, y0 + 10 + 13 * LINES, f"{len(lines) - len(series)} more not drawn", 10, "start",
                          FAINT))
    return "".join(parts), y0 + height + 24


def thin(values, logarithmic):
    """At most STEPS values, the means of equal stretches; as powers of ten if `logarithmic`, zeros left out."""
    with np.errstate(all="ignore"):
        if logarithmic:
            values = np.where(values > 0, np.log10(np.where(values > 0, values, 1)), np.nan)
        if len(values) <= STEPS:
            return values
        made = []
        for part in np.array_split(values, STEPS):
            part = part[np.isfinite(part)]
            made.append(part.mean() if part.size else np.nan)
        return np.array(made)


def line_through(values, left, right, top, height, low, high):
    """An SVG path; a gap where a value is not finite."""
    n, path, pen = max(len(values) - 1, 1), [], "M"
    for i, v in enumerate(values):
        if not np.isfinite(v):
            pen = "M"
            continue
        x, y = left + (right - left) * i / n, top + height - height * (v - low) / (high - low)
        path.append(f"{pen}{x:.1f},{y:.1f}")
        pen = "L"
    if len(path) == 1:
        path.append("h2")
    return "".join(path)


SHADES = ("#f2f2f2", "#cfe3f2", "#8fbfe0", "#3f8fc4", "#0072B2", "#01304d")      # few to many


class Histograms(Picture):
    """Histograms of magnitudes over the steps, a strip for each layer: zero at the bottom, strong where many are."""

    title = "Magnitudes over the steps"

    def __init__(self, flow, of):
        if of not in ("activations", "gradients"):
            raise ValueError(f'histograms() shows "activations" or "gradients", got {of!r}')
        self.flow, self.of = flow, of

    def table(self, name):
        """The counts of one layer: (BINS, at most STEPS), as shares of each step's elements."""
        found = [np.zeros(BINS) if s is None else s.counts / max(s.counts.sum(), 1)
                 for s in getattr(self.flow, self.of)[name]]
        if not found:
            return np.zeros((BINS, 0))
        return np.stack([np.mean(part, 0) for part in np.array_split(np.array(found), min(len(found), STEPS))], 1)

    def text(self):
        """For each layer the share of magnitudes in the lowest bin at the last step."""
        ends, first = self.ends()
        lines = [f"{self.of}: magnitudes from {ends[0]} to {ends[1]} over {self.flow.steps} steps"]
        for name in self.flow.layers:
            shares = self.table(name)
            if shares.shape[1]:
                lines.append(f"  {name}: {100 * shares[0, -1]:.0f} % below {first}")
        return "\n".join(lines)

    def ends(self):
        """Words for where the histograms begin and end, and where their first bin ends."""
        if self.of == "activations":
            return ("0", number(self.flow.top)), number(self.flow.top / BINS)
        return tuple(f"1e{p}" for p in POWERS), number(10 ** (POWERS[0] + (POWERS[1] - POWERS[0]) / BINS))

    def svg(self):
        """The strips."""
        parts, y, width, shown = [], 10, 640, self.flow.layers[:12]
        for name in shown:
            shares = self.table(name)
            level = np.digitize(np.log1p(100 * shares), (0.01, 0.8, 1.7, 2.6, 3.5))
            parts.append(text(10, y + 30, drawing.clipped(self.flow.shown[name], 20), 11, "start"))
            parts.append(draw_shades(level, 150, y, width - 170, 60))
            parts.append(element("rect", x=150, y=y, width=width - 170, height=60, fill="none", stroke=INK))
            y += 70
        if len(self.flow.layers) > len(shown):
            parts.append(text(10, y + 10, f"and {len(self.flow.layers) - len(shown)} more layers", 11, "start", FAINT))
            y += 18
        (low, high), _ = self.ends()
        words = f"steps from left to right; {low} at the bottom, {high} or more on top; strong colour: many"
        parts.append(text(150, y + 8, words, 10, "start", FAINT))
        return drawing.svg_root(width, y + 16, f"Magnitudes of {self.of}", self.text(), *parts)

    _repr_svg_ = svg


def draw_shades(level, left, top, width, height, shades=SHADES):
    """A matrix of levels as one path for each level, neighbours in a row joined; the lowest row is drawn at the bottom.

    Level 0 is the ground, `shades[0]`.
    """
    rows, columns = level.shape
    paths = {k: [] for k in range(1, len(shades))}
    w, h = width / max(columns, 1), height / max(rows, 1)
    for i in range(rows):
        j = 0
        while j < columns:
            end = j
            while end < columns and level[i, end] == level[i, j]:
                end += 1
            if level[i, j]:
                x, y, run = left + j * w, top + height - (i + 1) * h, (end - j) * w
                paths[int(level[i, j])].append(f"M{x:.1f},{y:.1f}h{run:.1f}v{h:.1f}h-{run:.1f}z")
            j = end
    return element("rect", x=left, y=top, width=width, height=height, fill=shades[0]) + "".join(
        element("path", d="".join(p), fill=shades[k]) for k, p in paths.items() if p)
