"""Where the boxes of a graph go: in layers, inputs on top, with few crossings and short lines.

The method of Sugiyama, Tagawa and Toda (1981): boxes get layers by their longest path from an input, lines that pass
a layer get a point in it, each layer is ordered by where its neighbours stand, and then everything is pulled towards
its neighbours as far as the boxes beside it let it. All of it is loops, so a deep graph is only tall.
"""

from dataclasses import dataclass

__all__ = ["Arrangement", "arrange"]

SIDE, DOWN = 26, 46                                        # the space between boxes, beside and below, in pixels
SWEEPS = 8


@dataclass
class Arrangement:
    """`places`: box -> its centre; `routes`: for each edge the points that its line passes; in pixels."""

    places: dict
    routes: list
    width: float
    height: float


def arrange(sizes, edges):
    """Place boxes of `sizes` (key -> (width, height)) so that `edges` ((from, to) pairs, without cycles) lead down."""
    layer = layers_of(list(sizes), edges)
    above, below, chains, rows = with_points(sizes, edges, layer)
    rows = ordered(rows, above, below)
    widths = {key: sizes[key][0] if key in sizes else 8.0 for row in rows for key in row}
    across = columns(rows, widths, above, below)
    down, y = {}, 0.0
    for row in rows:
        height = max((sizes[key][1] for key in row if key in sizes), default=0)
        down.update((key, y + height / 2) for key in row)
        y += height + DOWN
    left = min((across[k] - widths[k] / 2 for k in across), default=0)
    right = max((across[k] + widths[k] / 2 for k in across), default=0)
    places = {key: (across[key] - left, down[key]) for key in across}
    return Arrangement({key: places[key] for key in sizes}, [[places[k] for k in chain] for chain in chains],
                       right - left, max(y - DOWN, 0))


def layers_of(keys, edges):
    """Key -> layer: the longest path from an input, but inputs stand just above the first box that uses them."""
    above = {key: [] for key in keys}
    below = {key: [] for key in keys}
    for u, v in edges:
        above[v].append(u)
        below[u].append(v)
    waiting = {key: len(above[key]) for key in keys}
    ready, layer = [key for key in keys if not waiting[key]], dict.fromkeys(keys, 0)
    for key in ready:                                      # grows while it is read
        for v in below[key]:
            layer[v] = max(layer[v], layer[key] + 1)
            waiting[v] -= 1
            if not waiting[v]:
                ready.append(v)
    if len(ready) < len(keys):
        raise ValueError("arrange() takes graphs without cycles, this one has one")
    for key in keys:
        if not above[key] and below[key]:
            layer[key] = min(layer[v] for v in below[key]) - 1
    return layer


def with_points(sizes, edges, layer):
    """The layers as rows, with a point wherever an edge passes one; neighbours above and below; each edge's points."""
    rows = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for key in sizes:
        rows[layer[key]].append(key)
    above = {key: [] for key in sizes}
    below = {key: [] for key in sizes}
    chains = []
    for i, (u, v) in enumerate(edges):
        chain = [u, *[("point", i, k) for k in range(layer[u] + 1, layer[v])], v]
        for point in chain[1:-1]:
            rows[point[2]].append(point)
            above[point], below[point] = [], []
        for a, b in zip(chain, chain[1:]):
            below[a].append(b)
            above[b].append(a)
        chains.append(chain)
    return above, below, chains, rows


def ordered(rows, above, below):
    """The rows, each in the order that crosses the fewest lines of all that were tried."""
    best, fewest = rows, crossings(rows, below)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        rows, neighbours = [list(row) for row in rows], above if sweep % 2 == 0 else below
        for row, beside in along(rows, sweep):
            where = {key: i for i, key in enumerate(beside)}
            now = {key: i for i, key in enumerate(row)}
            row.sort(key=lambda key: average([where[k] for k in neighbours[key] if k in where], now[key]))
        found = crossings(rows, below)
        if found < fewest:
            best, fewest = rows, found
    return best


def along(rows, sweep):
    """Pairs (row, the one before it), downwards or upwards."""
    rows = rows if sweep % 2 == 0 else rows[::-1]
    return list(zip(rows[1:], rows))


def average(found, otherwise):
    return sum(found) / len(found) if found else otherwise


def crossings(rows, below):
    """How many pairs of lines cross between neighbouring rows."""
    total = 0
    for row, beneath in zip(rows, rows[1:]):
        where = {key: i for i, key in enumerate(beneath)}
        ends = [where[k] for key in row for k in sorted(below[key], key=lambda k: where.get(k, -1)) if k in where]
        total += sum(ends[i] > ends[j] for i in range(len(ends)) for j in range(i + 1, min(len(ends), i + 400)))
    return total


def columns(rows, widths, above, below):
    """Key -> x: each as near to the middle of its neighbours as the boxes beside it allow."""
    across = {}
    for row in rows:
        x = 0.0
        for key in row:
            across[key] = x + widths[key] / 2
            x += widths[key] + SIDE
    for sweep in range(2 * SWEEPS + 1):
        neighbours = (above, below)[sweep % 2] if sweep < 2 * SWEEPS else None
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            wanted = [average([across[k] for k in (neighbours[key] if neighbours else above[key] + below[key])],
                              across[key]) for key in row]
            gaps = [(widths[a] + widths[b]) / 2 + SIDE for a, b in zip(row, row[1:])]
            across.update(zip(row, spaced(wanted, gaps)))
    return across


def spaced(wanted, gaps):
    """The positions nearest to `wanted`, in squares, whose neighbours are at least `gaps` apart.

    Less the gaps before it, each position must not be less than the one before: the isotonic regression, found by
    merging neighbours that are out of order into their mean.

    >>> spaced([0.0, 0.0], [2.0])
    [-1.0, 1.0]
    """
    shifts, total = [0.0], 0.0
    for gap in gaps:
        total += gap
        shifts.append(total)
    blocks = []                                      # [sum, count] of merged positions
    for want, shift in zip(wanted, shifts):
        blocks.append([want - shift, 1])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            amount, count = blocks.pop()
            blocks[-1][0] += amount
            blocks[-1][1] += count
    level = [amount / count for amount, count in blocks for _ in range(count)]
    return [x + shift for x, shift in zip(level, shifts)]
