"""The report of a run doctor as a view: what is wrong, and curves of what was seen."""

import numpy as np

from . import drawing
from .drawing import FAINT, GREEN, RED, Picture, element, text
from .flows import draw_panel

__all__ = ["Checkup"]

WIDTH = 760


class Checkup(Picture):
    """Findings and curves of a `minitorch.testing.doctor`: loss, updates, gradients, activations, learning rate."""

    title = "Run doctor"

    def __init__(self, doctor):
        self.doctor, self.seen = doctor, doctor.seen

    def text(self):
        """The doctor's own words."""
        return self.doctor.text()

    def panels(self):
        """Panel title -> ({line: values}, whether logarithmic)."""
        watched, loss = self.seen.watched, self.seen.series()
        made = {}
        if loss.size > 1:
            high = np.isfinite(loss).all() and loss.min() > 0 and loss.max() > 50 * loss.min()
            made["loss" + " (log)" * bool(high)] = {"loss": loss}, bool(high)
        made["update : weight of a step (log; about 0.001 is usual)"] = along(watched, "updates", "ratio"), True
        made["size of gradients, root mean square (log)"] = along(watched, "updates", "grad"), True
        made["size of activations, root mean square (log)"] = along(watched, "layers", "rms"), True
        if len(set(self.seen.rates)) > 1:
            made["learning rate"] = {"rate": np.array(self.seen.rates, float)}, False
        return {title: found for title, found in made.items() if found[0]}

    def svg(self):
        """The curves, over the steps that were watched."""
        parts, y = [], 6
        for title, (lines, logarithmic) in self.panels().items():
            drawn, y = draw_panel(title, lines, y, WIDTH, logarithmic)
            parts.append(drawn)
        if not parts:
            parts, y = [text(10, 18, "nothing was seen to draw", 12, "start", FAINT)], 30
        return drawing.svg_root(WIDTH, y, self.title, self.text(), *parts)

    _repr_svg_ = svg

    def html(self):
        """The findings, each with its line, above the curves."""
        head, *_ = self.text().split("\n")
        found = "".join(card(f, i) for i, f in enumerate(self.doctor.findings, 1)) or element(
            "div", element("b", "\u2713 nothing wrong was found"), style=f"color:{GREEN};margin:6px 0 10px")
        return drawing.frame(drawing.new_id(), element("p", drawing.escape(head)), found, self.svg(), title=self.title)


def card(finding, number):
    """One finding in HTML."""
    where = element("code", drawing.escape(finding.where))
    line = element("div", where, style="margin-top:3px") if finding.where else ""
    return element("div", element("b", f"{number}. {drawing.escape(finding.kind)}"), element(
        "div", drawing.escape(finding.text)), line, role="note",
        style=f"border-left:4px solid {RED};background:#fdf1e7;padding:6px 12px;margin:6px 0;border-radius:0 8px 8px 0")


def along(watched, what, value):
    """Name -> values over the watched steps, NaN where there is none; of a layer that is called often, the first."""
    names = dict.fromkeys(name_of(x) for w in watched for x in getattr(w, what))
    made = {name: np.full(len(watched), np.nan) for name in names}
    for i, w in enumerate(watched):
        for x in reversed(getattr(w, what)):
            v = getattr(x, value)
            made[name_of(x)][i] = np.nan if v is None else v
    return {name: v for name, v in made.items() if np.isfinite(v).any()}


def name_of(x):
    return getattr(x, "name", None) or x.path
