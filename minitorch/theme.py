"""Colours of all that notebooks show, on light pages and on dark ones; and matrices as heat maps.

Code that draws writes the colours of light pages, `LIGHT`'s keys. `themed` puts a variable in the place of each and
says what it stands for: a colour for light pages and one for dark pages. A page is dark if its notebook says so
(JupyterLab, VS Code, Colab, documentation sites), else if the reader's system does.
"""

import base64
import re

import numpy as np

from .utils.png import encode_png

__all__ = ["ABOVE_ZERO", "BELOW_ZERO", "DARK", "heat_map", "themed"]

# Colours on light pages -> on dark ones. The strong colours are those of Okabe and Ito, lighter
# where the ground is dark; every text has a contrast of at least 4.5 to 1 to the grounds it stands
# on.
DARK = {
    "#1b1b1b": "#ececea", "#1a1a1a": "#ececea", "#111111": "#ececea", "#6b6b6b": "#a6a8ad", "#555555": "#b9bbc0",
    "#ffffff": "#181a1f", "#fafaf8": "#1f2228", "#0072b2": "#5fb4ea", "#e69f00": "#f0b429", "#009e73": "#3fc79a",
    "#00704f": "#3fc79a", "#d55e00": "#ff8f4d", "#b34700": "#ff9d61", "#cc79a7": "#e39cc4", "#9c3f73": "#e39cc4",
    "#56b4e9": "#7cc7f2", "#f0e442": "#8a7f00", "#cfe3f2": "#17405e", "#fbdcc8": "#5c3016", "#c9ebdf": "#124a3a",
    "#f4dceb": "#512c42", "#fbe8c0": "#54401a", "#d9eefb": "#1d4359", "#fbf8c9": "#48430f", "#8fbfe0": "#2a6a99",
    "#3f8fc4": "#4496cb", "#01304d": "#cfeaff", "#f2f2f2": "#262a31", "#eeeeee": "#2a2e36", "#dddddd": "#3a3f48",
    "#bbbbbb": "#565c66", "#cccccc": "#4b505a", "#e8f4ee": "#173a2e", "#eaf4fb": "#16303f", "#fdf1e7": "#40281a",
    "#f3f3f3": "#2a2d33", "#e4e4e0": "#343840",
}
COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b")
NAMES = {light: f"--m{i:x}" for i, light in enumerate(DARK)}

# Where notebooks and sites say which kind of page they are.
SAID_DARK = ("[data-jp-theme-light=false]", ".vscode-dark", ".vscode-high-contrast:not(.vscode-high-contrast-light)",
             "[theme=dark]", "[data-theme=dark]", "[data-bs-theme=dark]", "[data-md-color-scheme=slate]")
SAID_LIGHT = ("[data-jp-theme-light=true]", ".vscode-light", "[theme=light]", "[data-theme=light]",
              "[data-bs-theme=light]", "[data-md-color-scheme=default]")


def themed(selector, markup):
    """`markup`, all within the element that `selector` finds, with its colours as variables; and their style."""
    used = {}

    def name(found):
        light = found.group().lower()
        if light not in NAMES:
            return found.group()
        used[light] = NAMES[light]
        return f"var({NAMES[light]})"
    markup = COLOUR.sub(name, markup)
    light = "".join(f"{name}:{colour};" for colour, name in used.items())
    both = "".join(f"{name}:light-dark({colour},{DARK[colour]});" for colour, name in used.items())

    def pages(said):
        return f":is({','.join(said)}) {selector}"
    return (f"<style>{selector}{{color-scheme:light dark;{light}}}"
            f"{pages(SAID_LIGHT)}{{color-scheme:light}}{pages(SAID_DARK)}{{color-scheme:dark}}"
            f"@supports (color:light-dark(red,red)){{{selector}{{{both}}}}}</style>{markup}")


# ------------------------------------------------------------------ heat maps
# Ends of the two colour ramps, told apart with every kind of colour blindness; black on them has a contrast above 7:1.
BELOW_ZERO, ABOVE_ZERO = (253, 174, 97), (107, 174, 214)   # of full strength; white is 0
FINEST = 160                                               # points along a side: larger matrices are averaged


def heat_map(matrix):
    """A real matrix as a picture in HTML: blue above zero, orange below, grey where a number is not finite.

    Of a matrix with more than `FINEST` rows or columns, each point is the mean of a block.
    """
    rows, columns = matrix.shape
    finite = np.isfinite(matrix)
    largest = np.abs(matrix[finite]).max(initial=0.0)
    small = averaged(averaged(np.where(finite, matrix, np.nan), 0), 1)
    strength = np.where(np.isfinite(small), small, 0.0) / (largest or 1.0)
    levels = np.where(np.isfinite(small), 128 + np.rint(126 * np.clip(2.5 * strength, -1, 1)), 255).astype(np.uint8)
    words = f"heat map of {rows} x {columns} numbers, of magnitudes up to {largest:.4g}"
    width = min(max(small.shape[1] * 4, 64), 480)
    return (f'<img alt="{words}" title="{words}" style="width:{width}px;max-width:100%;image-rendering:pixelated;'
            f'display:block;margin:.4em 0" src="data:image/png;base64,{base64.b64encode(png(levels)).decode()}"/>')


def averaged(matrix, axis):
    """`matrix` with the means of equal stretches along an axis of more than `FINEST`; NaN where all are."""
    if matrix.shape[axis] <= FINEST:
        return matrix
    starts = np.linspace(0, matrix.shape[axis], FINEST, endpoint=False).astype(int)
    known = np.isfinite(matrix)
    total = np.add.reduceat(np.where(known, matrix, 0.0), starts, axis)
    with np.errstate(invalid="ignore", divide="ignore"):
        return total / np.add.reduceat(known.astype(float), starts, axis)


def png(levels):
    """A PNG of one byte a point: 2 to 254 from orange over white to blue, 255 grey."""
    at = (np.arange(256)[:, None] - 128) / 126
    ends = np.where(at < 0, BELOW_ZERO, ABOVE_ZERO)
    palette = np.rint(255 + (ends - 255) * np.minimum(abs(at), 1)).astype(np.uint8)
    palette[255] = 0xDD
    return encode_png(levels[..., None], palette)
