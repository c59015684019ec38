"""`slides`: matplotlib figures under one slider, in a page that needs nothing else.

A notebook that is saved, printed or shown without scripts keeps the first figure.
"""

import base64
import itertools
import json
from html import escape

from .pictures import drawn
from .plots import pyplot

__all__ = ["Slides", "slides"]

# It makes its own slider, so that a page which drops scripts shows none that does nothing.
SCRIPT = """<script>(function () {
  var root = document.getElementById(%(key)s), frames = root.querySelectorAll("figure");
  var bar = document.createElement("p"), said = document.createElement("span");
  var slider = document.createElement("input");
  slider.type = "range"; slider.min = 0; slider.max = frames.length - 1; slider.value = 0;
  slider.style.width = "260px"; slider.style.verticalAlign = "middle"; slider.setAttribute("aria-label", "figure");
  function show() {
    frames.forEach(function (f, i) { f.style.display = i == slider.value ? "block" : "none"; });
    said.textContent = " " + frames[slider.value].getAttribute("data-label");
    slider.setAttribute("aria-valuetext", said.textContent);
  }
  slider.addEventListener("input", show); bar.appendChild(slider); bar.appendChild(said);
  root.insertBefore(bar, root.firstChild); show();
})();</script>"""
counter = itertools.count(1)


class Slides:
    """Pictures with labels, one at a time; ``print`` writes the labels."""

    def __init__(self, pictures, words=""):
        self.pictures, self.words = dict(pictures), words          # label -> PNG

    def _repr_html_(self):
        key = f"mt-slides-{next(counter)}"
        frames = "".join(
            f'<figure data-label="{escape(label)}" style="margin:0{";display:none" if i else ""}">'
            f'<img alt="{escape(f"{self.words} {label}".strip())}" style="max-width:100%;background:#ffffff" '
            f'src="data:image/png;base64,{base64.b64encode(png).decode()}"></figure>'
            for i, (label, png) in enumerate(self.pictures.items()))
        return f'<div id="{key}">{frames}{SCRIPT % {"key": json.dumps(key)}}</div>'

    def __str__(self):
        return "\n".join(self.pictures)

    __repr__ = __str__


def slides(figures, words="", dpi=110):
    """Figures under one slider; needs matplotlib, which brings Pillow.

    `figures`: pairs (label, matplotlib figure), or a dict; each is closed once it is drawn. `words` say what all of
    them show; with its label they are each picture's text alternative.

    Eight figures of 7 x 3.4 inches at 110 dots an inch, kept in 64 colours, are about 100 kB; a label of 7 points is
    11 pixels high.
    """
    pictures = []
    for label, figure in dict(figures).items():
        pictures.append((label, drawn(figure, dpi)))
        pyplot().close(figure)
    return Slides(pictures, words)
