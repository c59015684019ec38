"""Attention, step by step: queries, keys, scores, mask, softmax, values; every number is there to be pointed at."""

import math

import numpy as np

from .. import Tensor
from . import drawing
from .drawing import BLUE, FAINT, INK, Picture, element, text
from .stepper import script_for, style_for

__all__ = ["Attention", "attention"]

CELL, HIGH, ROOM = 38, 22, 10                              # pixels of a cell; cells along a side that are drawn
STEPS = (
    ("q", "queries", "Each token asks a question: its row of Q. Here {length} tokens with {width} numbers each."),
    ("k", "keys", "Each token also says what it has to offer: its row of K."),
    ("s", "scores = Q K\u1d40 / \u221a{width}",
     "Each question meets each key: the score is their dot product, divided by \u221a{width} so that it does not grow "
     "with the width."),
    ("m", "mask", "Where the mask forbids to look, the score becomes -inf. {mask}"),
    ("w", "weights = softmax(scores)",
     "Softmax turns each row of scores into weights that are not negative and sum to 1."),
    ("v", "values", "What is passed on: a row of V for each token."),
    ("o", "output = weights V", "Each token's output is the mean of the values, weighted by its row of weights."))


def attention(query, key, value, mask=None, *, is_causal=False, scale=None, tokens=None, head=0):
    """One head of scaled dot product attention as a stepper.

    `query`, `key` and `value` are (L, E), (S, E) and (S, V); of tensors with more dimensions the first batch and the
    head `head` are shown. `mask` (L, S) is True where a query may look, or numbers to be added to the scores;
    ``is_causal=True`` hides later keys. `tokens` are words for the rows. At most 10 rows and columns are drawn.

    The view has `scores`, `weights` and `output` as NumPy arrays. ValueError if shapes do not fit.

    >>> import minitorch
    >>> x = minitorch.eye(2)
    >>> print(minitorch.viz.attention(x, x, x, is_causal=True))
    queries [2, 2], keys [2, 2], values [2, 2]
    query 0 looks at 0 (1.00), 1 (0.00)
    query 1 looks at 0 (0.33), 1 (0.67)
    """
    return Attention(query, key, value, mask, is_causal, scale, tokens, head)


def matrix(x, name, head):
    """The last two dimensions of a tensor or array, of the first batch and the given head, as float64."""
    x = x.detach().cpu().double().numpy() if isinstance(x, Tensor) else np.asarray(x, float)
    if x.ndim < 2:
        raise ValueError(f"attention() takes a {name} of (length, width), got {list(x.shape)}")
    if x.ndim > 2:
        heads = x.reshape(-1, *x.shape[-3:])[0]
        if not 0 <= head < len(heads):
            raise ValueError(f"head {head} of a {name} with {len(heads)} heads: choose 0 to {len(heads) - 1}")
        x = heads[head]
    return x


class Attention(Picture):
    """Result of `attention`: `q`, `k`, `v`, `scores`, `mask`, `weights`, `output`, and the picture of them."""

    title = "Attention, step by step"

    def __init__(self, query, key, value, mask, is_causal, scale, tokens, head):
        self.q, self.k, self.v = (matrix(x, name, head) for x, name in
                                  ((query, "query"), (key, "key"), (value, "value")))
        (rows, width), columns = self.q.shape, len(self.k)
        if self.k.shape[1] != width or len(self.v) != columns:
            raise ValueError(f"attention() takes queries (L, E), keys (S, E) and values (S, V), got "
                             f"{list(self.q.shape)}, {list(self.k.shape)} and {list(self.v.shape)}")
        self.scores = self.q @ self.k.T * (1 / math.sqrt(width) if scale is None else scale)
        self.mask = added(mask, is_causal, (rows, columns), head)
        seen = self.scores + self.mask
        with np.errstate(invalid="ignore"):
            powers = np.exp(seen - np.where(np.isfinite(top := seen.max(1, keepdims=True)), top, 0))
            self.weights = powers / powers.sum(1, keepdims=True)
        self.output = self.weights @ self.v
        self.tokens = [str(t) for t in tokens] if tokens is not None else [str(i) for i in range(max(rows, columns))]
        if len(self.tokens) < max(rows, columns):
            raise ValueError(f"{len(self.tokens)} tokens for {max(rows, columns)} rows: give a word for each")

    def text(self):
        """Where each query looks, the largest weights first."""
        lines = [f"queries {list(self.q.shape)}, keys {list(self.k.shape)}, values {list(self.v.shape)}"]
        for i, row in enumerate(self.weights[:ROOM]):
            best = sorted(np.argsort(-row, kind="stable")[:4])
            lines.append(f"query {self.tokens[i]} looks at " + ", ".join(f"{self.tokens[j]} ({row[j]:.2f})"
                                                                        for j in best))
        return "\n".join(lines)

    # -- the picture -------------------------------------------------------------------------------------------
    def parts(self):
        """Key -> (array, names of the rows, names of the columns, which rows and columns of the tokens they are)."""
        wide = [str(i) for i in range(max(self.q.shape[1], self.v.shape[1]))]
        rows = self.tokens
        seen = np.where(np.isfinite(self.mask), self.scores + self.mask, -np.inf)
        return {"q": (self.q, rows, wide), "k": (self.k, rows, wide), "s": (self.scores, rows, rows),
                "m": (seen, rows, rows), "w": (self.weights, rows, rows), "v": (self.v, rows, wide),
                "o": (self.output, rows, wide)}

    def places(self):
        """Key -> (x, y), and the size of the whole: three columns, as the products go."""
        high, across = min(len(self.q), ROOM), min(len(self.k), ROOM)
        width, out = min(self.q.shape[1], ROOM), min(self.v.shape[1], ROOM)
        left, line = 20, HIGH * max(high, across) + 62
        second = left + label_room(self.tokens) + CELL * max(width, out) + 46
        third = second + label_room(self.tokens) + CELL * across + 46
        places = {"q": (left, 20), "k": (left, 20 + line), "v": (left, 20 + 2 * line), "s": (second, 20),
                  "m": (second, 20 + line), "w": (second, 20 + 2 * line), "o": (third, 20 + 2 * line)}
        return places, third + label_room(self.tokens) + CELL * out + 20, 20 + 3 * line

    def svg(self):
        """The seven matrices."""
        places, width, height = self.places()
        words = {key: title.format(width=self.q.shape[1]) for key, title, _ in STEPS}
        drawn = [element("g", *draw_matrix(key, places[key], words[key], *found), data_k=f"all-{key}", font_size=10.5,
                         text_anchor="middle", fill=INK, stroke_width=1)
                 for key, found in self.parts().items()]
        return drawing.svg_root(width, height, self.title, self.text(), *drawn)

    _repr_svg_ = svg

    def html(self):
        """The stepper; a cell that is pointed at lights up with what it was made of."""
        key = drawing.new_id()
        return drawing.frame(key, element("div", class_="controls"), self.svg(),
                             script_for(key, {"steps": self.steps()}), style=style_for(key), title=self.title)

    def steps(self):
        """The seven steps, then how one row of the output came about."""
        hidden = int(np.isinf(self.mask).sum())
        mask = f"{hidden} of {self.mask.size} pairs are hidden." if hidden else "Nothing is hidden here."
        order, made = [key for key, *_ in STEPS], []
        for at, (key, _, words) in enumerate(STEPS):
            words = words.format(length=len(self.q), width=self.q.shape[1], mask=mask)
            made.append({"say": words, "dim": [f"all-{k}" for k in order[at + 1:]], "on": [f"t-{key}"]})
        for i in range(min(len(self.q), ROOM)):
            best = int(np.nanargmax(self.weights[i])) if np.isfinite(self.weights[i]).any() else 0
            made.append({"say": f"Query {self.tokens[i]}: its row of Q meets all keys, and it looks most at "
                                f"{self.tokens[best]} ({self.weights[i, best]:.2f}); row {self.tokens[i]} of the "
                                f"output is the mean of the values with these weights.",
                         "on": [f"{k}r{i}" for k in "qsmwo"]})
        return made


def added(mask, is_causal, shape, head):
    """The mask as numbers to add to the scores: 0 where a query may look, -inf where not."""
    total = np.zeros(shape)
    if is_causal:
        total[np.triu_indices(shape[0], 1, shape[1])] = -np.inf
    if mask is not None:
        raw = np.asarray(mask.detach().cpu().numpy() if isinstance(mask, Tensor) else mask)
        m = matrix(raw.astype(float), "mask", head if raw.ndim > 2 and raw.shape[-3] > 1 else 0)
        if m.shape != shape:
            raise ValueError(f"attention() takes a mask of {list(shape)}, got {list(m.shape)}")
        total = total + (np.where(m != 0, 0.0, -np.inf) if raw.dtype == bool else m)
    return total


def label_room(names):
    return min(max(map(len, names)), 8) * 7 + 8


def draw_matrix(key, place, title, array, rows, columns):
    """A matrix as shaded cells; each tells its value, and lights up with its row and column."""
    (x, y), room = place, label_room(rows)
    high, wide = min(len(array), ROOM), min(array.shape[1], ROOM)
    parts = [text(x + room, y, title, 12.5, "start", font_weight="bold", data_k=f"t-{key}")]
    largest = np.abs(array[np.isfinite(array)]).max(initial=0.0) or 1.0
    for j in range(wide):
        parts.append(text(x + room + CELL * (j + 0.5), y + 16, drawing.clipped(columns[j], 5), 9.5, fill=FAINT))
    for i in range(high):
        parts.append(text(x + room - 6, y + 22 + HIGH * i + 15, drawing.clipped(rows[i], 8), 10, "end", FAINT))
        for j in range(wide):
            parts.append(draw_number((f"{key}{i}-{j} {key}r{i} {key}c{j}", origins(key, i, j)),
                                     (x + room + CELL * j, y + 22 + HIGH * i), array[i, j], largest))
    if high < len(array) or wide < array.shape[1]:
        words = f"of {len(array)} \u00d7 {array.shape[1]}"
        parts.append(text(x + room, y + 36 + HIGH * high, words, 10, "start", FAINT))
    return parts


def origins(key, i, j):
    """The names of the cells that belong to a cell: what it was made of, and what was made of it."""
    pair = f"s{i}-{j} m{i}-{j} w{i}-{j} qr{i} kr{j}"
    return {"q": f"qr{i} sr{i}", "k": f"kr{i} sc{i}", "v": f"vr{i} wc{i}", "o": f"o{i}-{j} wr{i} vc{j}",
            "s": pair, "m": pair, "w": f"{pair} vr{j} or{i}"}[key]


def draw_number(keys, place, value, largest):
    """One cell: stronger blue for what is larger, orange below zero, pale where nothing is seen.

    `keys`: its own names, and those that light up with it.
    """
    (x, y), seen = place, bool(np.isfinite(value))
    strength = f"{0.55 * abs(value) / largest:.2f}" if seen else "0"
    box = element("rect", x=x, y=y, width=CELL - 2, height=HIGH - 2, rx=3, fill_opacity=strength,
                  fill=BLUE if value > 0 else drawing.ORANGE)
    words = element("text", f"{value:.2f}" if seen else "-\u221e", x=x + CELL / 2 - 1, y=y + 14)
    return element("g", element("title", f"{value:.6g}"), box, words, data_k=keys[0], data_lit=keys[1])
