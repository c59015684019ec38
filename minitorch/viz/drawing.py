"""Parts of every picture: colours, text, SVG and HTML elements, and the object that a notebook shows.

A picture is one self-contained fragment: no file, font, library or address outside it. The colours are those of Okabe
and Ito, which are told apart with every kind of colour blindness; nothing is said by colour alone.
"""

import itertools
import math
from html import escape
from pathlib import Path

import numpy as np

from .. import theme

__all__ = ["Picture", "View", "element", "text", "number", "brief", "shape_text", "COLOURS", "INK", "svg_root"]

INK, FAINT, PAPER = "#1b1b1b", "#6b6b6b", "#ffffff"
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9",
                                                 "#F0E442")
COLOURS = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, YELLOW)
TINTS = ("#cfe3f2", "#fbdcc8", "#c9ebdf", "#f4dceb", "#fbe8c0", "#d9eefb", "#fbf8c9")      # the same, pale
FONT = "ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"
NARROWEST = 0.6                                            # of its size, to which a picture shrinks on a phone

counter = itertools.count(1)


class Picture:
    """A drawing that notebooks show, ``print`` writes as text and ``save`` writes to a file.

    A subclass says what it shows by `title`, `svg` or `html`, and `text`.
    """

    title = "picture"

    def svg(self):
        """The picture as an SVG element."""
        raise NotImplementedError(f"{type(self).__name__} has no SVG form: save it as .html or .txt")

    def html(self):
        """The picture as an HTML fragment."""
        return frame(new_id(), self.svg(), title=self.title)

    def text(self):
        """The picture in words."""
        raise NotImplementedError

    def _repr_html_(self):
        return self.html()

    def __str__(self):
        return self.text()

    __repr__ = __str__

    def save(self, path):
        """Write it to `path`, whose ending chooses the form: .svg, .html or .txt; returns the path."""
        path = Path(path)
        if path.suffix == ".svg":
            made = self.svg().replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
        elif path.suffix in (".html", ".htm"):
            made = page(self.title, self.html())
        elif path.suffix == ".txt":
            made = self.text() + "\n"
        else:
            raise ValueError(f"save() writes .svg, .html or .txt, got {path.name!r}")
        path.write_text(made, encoding="utf-8")
        return path


class View(Picture):
    """Whatever a notebook shows of an object, as a view that can be saved: a tensor, a module, a profile, a check.

    >>> import minitorch
    >>> print(View(minitorch.tensor([1.0, 2.0])))
    tensor([1., 2.])
    """

    def __init__(self, shown):
        if not hasattr(shown, "_repr_html_") or shown._repr_html_() is None:
            raise TypeError(f"a {type(shown).__name__} has no view in notebooks")
        self.shown, self.title = shown, type(shown).__name__

    def html(self):
        """The HTML that the notebook shows."""
        return self.shown._repr_html_()

    def text(self):
        """The object printed."""
        return str(self.shown)


def page(title, *bodies):
    """A whole HTML page, light or dark as the reader's system is, as wide as its screen."""
    style = ("body{margin:16px;background:#f6f6f3;color:#1b1b1b;font:15px/1.5 system-ui,sans-serif}"
             "@media(prefers-color-scheme:dark){body{background:#0f1114;color:#ececea}}"
             "@media(max-width:600px){body{margin:6px}}pre{overflow-x:auto}")
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
            f'<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
            f"<style>{style}</style></head>\n<body>\n" + "\n".join(bodies) + "\n</body></html>\n")


def new_id():
    """An id that no other picture of this process has."""
    return f"minitorch-{next(counter)}"


# The look of all views: prose in the system's font, numbers and names in a monospaced one.
LOOK = """%(k)s{background:#ffffff;color:#1b1b1b;font:13px/1.5 system-ui,sans-serif;padding:12px 14px;margin:4px 0;
overflow-x:auto;max-width:100%%;box-sizing:border-box;border:1px solid #e4e4e0;border-radius:10px}
%(k)s h4{font:600 14px/1.3 system-ui,sans-serif;margin:0 0 8px;padding:0;color:#1b1b1b}
%(k)s p,%(k)s small{color:#6b6b6b}%(k)s p{margin:4px 0}
%(k)s svg{max-width:100%%;height:auto;display:block}
%(k)s table{border-collapse:collapse;margin:10px 0 4px;font:12px/1.45 %(f)s;table-layout:auto;border:none}
%(k)s caption{text-align:left;padding:2px 8px 4px 0;font:600 12.5px system-ui,sans-serif;color:#1b1b1b;caption-side:top}
%(k)s tr,%(k)s tbody tr:nth-child(odd),%(k)s tbody tr:hover{background:none}
%(k)s td,%(k)s th{padding:3px 14px 3px 0;text-align:left;white-space:pre-wrap;background:none;color:#1b1b1b;
border:none;border-bottom:1px solid #e4e4e0;vertical-align:top;max-width:none}
%(k)s td:first-child:not(:only-child){white-space:pre}
%(k)s th{font:600 11px system-ui,sans-serif;color:#6b6b6b;border-bottom-color:#bbbbbb;white-space:nowrap}
%(k)s button{font:inherit;color:#1b1b1b;background:#fafaf8;border:1px solid #bbbbbb;border-radius:7px;padding:3px 10px;
margin:0 4px 4px 0;cursor:pointer;min-height:28px}
%(k)s button[aria-pressed=true]{background:#cfe3f2;border-color:#0072b2}
%(k)s:focus-visible,%(k)s button:focus-visible,%(k)s input:focus-visible{outline:2px solid #0072b2;outline-offset:1px}
@media(max-width:600px){%(k)s{padding:8px}}
@media print{%(k)s{border:none}}"""


def frame(key, *content, style="", title=""):
    """The box around a view, with the id `key` and a heading. Its colours are its own, on light and dark pages."""
    head = element("h4", escape(title)) if title else ""
    look = LOOK.replace("\n", "") % {"k": f"#{key}", "f": FONT}
    return (f'<div id="{key}" class="minitorch-view">' + theme.themed(
        f"#{key}", f"<style>{look}</style>{style}{head}" + "\n".join(content)) + "</div>")


# ------------------------------------------------------------------ elements
def element(name, *content, **attributes):
    """An element: ``element("rect", x=1, class_="a")``. `content` is markup; attributes of None are left out."""
    words = "".join(f' {k.rstrip("_").replace("_", "-")}="{escape(spell(v))}"' for k, v in attributes.items()
                    if v is not None)
    inside = "".join(content)
    return f"<{name}{words}>{inside}</{name}>" if inside or name in ("g", "td", "th", "div", "svg") else (
        f"<{name}{words}/>")


def spell(value):
    if isinstance(value, float):
        return f"{value:.1f}".removesuffix(".0")
    return str(value)


def text(x, y, words, size=12, anchor="middle", fill=INK, halo=False, **more):
    """A line of text; with `halo`, on a white rim that sets it off from lines behind it."""
    rim = dict(stroke=PAPER, stroke_width=4, paint_order="stroke") if halo else {}
    return element("text", escape(str(words)), x=x, y=y, font_size=size, text_anchor=anchor, fill=fill, **rim, **more)


def svg_root(width, height, title, description, *content):
    """An SVG of this size, which says in words what it shows."""
    key = new_id()
    return element("svg", element("title", escape(title), id=key + "-t"),
                   element("desc", escape(description), id=key + "-d"), *content,
                   role="img", aria_labelledby=f"{key}-t {key}-d", viewBox=f"0 0 {spell(float(width))} "
                   f"{spell(float(height))}", width=float(width), height=float(height), font_family=FONT,
                   style=f"background:{PAPER};min-width:min({spell(NARROWEST * width)}px,100%)" if width < 420 else
                   f"background:{PAPER};min-width:{spell(NARROWEST * width)}px")


def table(rows, head, caption=None, row_keys=None):
    """An HTML table of words; a row whose key is given can be lit by a stepper."""
    lines = [f"<caption>{escape(caption)}</caption>"] if caption else []
    lines += ["<tr>" + "".join(f'<th scope="col">{escape(h)}</th>' for h in head) + "</tr>"]
    for i, row in enumerate(rows):
        key = f' data-k="{escape(row_keys[i])}"' if row_keys else ""
        lines += [f"<tr{key}>" + "".join(f"<td>{escape(str(x))}</td>" for x in row) + "</tr>"]
    return f"<table>{''.join(lines)}</table>"


def width_of(words, size=12):
    """About how wide a line of text is: the fonts are monospaced."""
    return 0.62 * size * len(str(words))


# ------------------------------------------------------------------ numbers
def number(x):
    """A number in at most four digits.

    >>> number(0.123456), number(3.0), number(float("nan"))
    ('0.1235', '3', 'nan')
    """
    x = x.item() if hasattr(x, "item") else x
    if isinstance(x, (bool, int)):
        return str(x)
    if isinstance(x, complex):
        return f"{x:.3g}"
    return f"{x:.4g}" if math.isfinite(x) else str(x)


def brief(array, limit=4):
    """An array in one short line: its elements if they are few, else what they are like.

    >>> brief(np.array(2.5)), brief(np.array([[1.0, 2.0]])), brief(np.zeros((3, 4)))
    ('2.5', '[[1, 2]]', '[3, 4], all 0')
    """
    array = np.asarray(array)
    if array.dtype.kind == "V":
        array = array.astype(np.float32)
    if array.size == 0:
        return f"{list(array.shape)}, empty"
    if array.size <= limit:
        return nested([number(x) for x in array.ravel()], array.shape)
    low, high = array.min(), array.max()
    if array.dtype.kind != "c" and low == high:
        return f"{list(array.shape)}, all {number(low)}"
    if array.dtype.kind == "c":
        return f"{list(array.shape)}, complex"
    return f"{list(array.shape)}, {number(low)} to {number(high)}"


def nested(words, shape):
    """Words in brackets, nested by `shape`."""
    if not shape:
        return words[0]
    step = len(words) // shape[0] if shape[0] else 0
    return "[" + ", ".join(nested(words[i * step:(i + 1) * step], shape[1:]) for i in range(shape[0])) + "]"


def shape_text(shape):
    """A shape as it stands on an edge: ``2x3``, nothing for a single number."""
    return "\u00d7".join(map(str, shape))


def clipped(words, length):
    """`words`, cut to `length` characters with an ellipsis."""
    words = str(words)
    return words if len(words) <= length else words[:length - 1] + "\u2026"
