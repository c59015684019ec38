"""Pictures by matplotlib, where it is installed: curves, feature and attention maps, surfaces, decision boundaries.

Each function draws into `ax` (or `axes`), made if not given, and returns it. Colours are Okabe and Ito's, maps those
that are even in brightness. Numbers may be tensors, arrays or lists.
"""

import numpy as np

from .. import from_numpy, get_default_dtype, no_grad
from .drawing import COLOURS

__all__ = ["attention_map", "curves", "decision_boundary", "feature_maps", "loss_surface"]

DASHES = ("-", "--", "-.", ":")


def pyplot():
    """Matplotlib's pyplot, or ImportError that says what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("this picture is drawn by matplotlib, which is not installed: pip install "
                          "matplotlib. The graph, replay, layout, alias, flow and kernel views need nothing"
                          ) from error
    return plt


def numbers(x):
    """A tensor, array or nested list as a NumPy array."""
    if hasattr(x, "detach"):
        x = x.detach().cpu().numpy(force=True)
    x = np.asarray([numbers(v) if hasattr(v, "detach") else v for v in x] if isinstance(x, (list, tuple)) else x)
    return x.astype(np.float32) if x.dtype.kind == "V" else x


def axes_of(ax, **how):
    return ax if ax is not None else pyplot().subplots(**how)[1]


def curves(series, *, x=None, ax=None, log=False, smooth=0, xlabel="step", ylabel="", title=""):
    """Lines over the steps: `series` is a dict from name to numbers, or numbers alone; each has a dash of its own.

    `smooth` averages over that many steps and leaves the raw line pale; `log` makes the vertical axis logarithmic.
    """
    ax = axes_of(ax, figsize=(6, 3.2), layout="constrained")
    series = series if isinstance(series, dict) else {"": series}
    for i, (name, values) in enumerate(series.items()):
        values = numbers(values).astype(float)
        at = np.arange(len(values)) if x is None else numbers(x)
        look = dict(color=COLOURS[i % len(COLOURS)], linestyle=DASHES[i % len(DASHES)])
        if smooth > 1 and len(values) >= smooth:
            ax.plot(at, values, color=look["color"], alpha=0.25, linewidth=1)
            values, at = np.convolve(values, np.ones(smooth) / smooth, "valid"), at[smooth - 1:]
        ax.plot(at, values, label=name or None, **look)
    ax.set(xlabel=xlabel, ylabel=ylabel, title=title, yscale="log" if log else "linear")
    if any(series):
        ax.legend(frameon=False)
    return ax


def feature_maps(images, *, columns=8, titles=None, axes=None, same_scale=True):
    """The channels of a (C, H, W) tensor, or of the first of a batch (N, C, H, W), as small grey pictures.

    With `same_scale` they share black and white, so that a channel that does nothing looks empty.
    """
    maps = numbers(images)
    maps = maps[0] if maps.ndim == 4 else maps
    if maps.ndim != 3:
        raise ValueError(f"feature_maps() draws (C, H, W) or (N, C, H, W), got {list(maps.shape)}")
    columns = min(columns, len(maps))
    rows = -(-len(maps) // columns)
    if axes is None:
        axes = pyplot().subplots(rows, columns, figsize=(1.1 * columns, 1.2 * rows), squeeze=False,
                                 layout="constrained")[1]
    limits = dict(vmin=maps.min(), vmax=maps.max()) if same_scale else {}
    for i, ax in enumerate(np.ravel(axes)):
        ax.axis("off")
        if i < len(maps):
            ax.imshow(maps[i], cmap="gray", **limits)
            ax.set_title(str(i if titles is None else titles[i]), fontsize=8)
    return axes


def attention_map(weights, queries=None, keys=None, *, ax=None, title=""):
    """Attention weights (L, S), one row for each query, as a matrix; `queries` and `keys` name rows and columns.

    Weights (heads, L, S) give a matrix for each head, side by side; `ax` is an array of that many axes then.
    """
    weights = numbers(weights)
    if weights.ndim == 3 and len(weights):
        axes = np.ravel(ax) if ax is not None else np.ravel(pyplot().subplots(
            1, len(weights), figsize=(len(weights) * (1 + 0.3 * weights.shape[2]), 1 + 0.3 * weights.shape[1]),
            squeeze=False, layout="constrained")[1])
        if len(axes) != len(weights):
            raise ValueError(f"attention_map() draws {len(weights)} heads into as many axes, got {len(axes)}")
        return np.array([attention_map(w, queries, keys, ax=a, title=f"{title} head {h}".strip())
                         for h, (w, a) in enumerate(zip(weights, axes))])
    if weights.ndim != 2:
        raise ValueError(f"attention_map() draws (queries, keys) or (heads, queries, keys), got {list(weights.shape)}: "
                         f"choose a batch")
    ax = axes_of(ax, figsize=(1 + 0.32 * weights.shape[1], 1 + 0.32 * weights.shape[0]), layout="constrained")
    picture = ax.imshow(weights, cmap="cividis", vmin=0, vmax=max(weights.max(), 1e-12))
    ax.figure.colorbar(picture, ax=ax, shrink=0.8)
    ax.set(xlabel="key", ylabel="query", title=title)
    if keys is not None:
        ax.set_xticks(range(len(keys)), list(keys))
    if queries is not None:
        ax.set_yticks(range(len(queries)), list(queries))
    return ax


def loss_surface(loss, x=(-2, 2), y=(-2, 2), *, path=None, points=60, ax=None, log=True, title=""):
    """Level lines of ``loss(x, y)``, a function of two tensors of one shape, and the `path` (steps, 2) of an optimiser.

    `log` spaces the levels evenly in the logarithm of the height above the lowest point.
    """
    ax = axes_of(ax, figsize=(5, 4), layout="constrained")
    across, down = np.meshgrid(np.linspace(*x, points), np.linspace(*y, points))
    with no_grad():
        height = numbers(loss(from_numpy(across), from_numpy(down)))
    shown = np.log10(height - height.min() + 1e-3 * (np.ptp(height) or 1)) if log else height
    ax.contourf(across, down, shown, levels=20, cmap="cividis")
    if path is not None:
        path = numbers(path)
        ax.plot(path[:, 0], path[:, 1], color="white", linewidth=2.5)
        ax.plot(path[:, 0], path[:, 1], color=COLOURS[1], linewidth=1.2, marker=".", markersize=4)
        ax.plot(*path[-1], color="white", marker="*", markersize=11, markeredgecolor="black")
    ax.set(title=title)
    return ax


def decision_boundary(model, points, labels, *, steps=150, ax=None, title=""):
    """Where a classifier of points in the plane decides for which class, and the `points` (N, 2) with their `labels`.

    `model` maps (M, 2) to (M, classes) scores, or to (M,) or (M, 1) logits of the class 1. It is run in eval mode.
    Classes differ in marker and colour.
    """
    points, labels = numbers(points), numbers(labels).astype(int).ravel()
    ax = axes_of(ax, figsize=(4.5, 4), layout="constrained")
    low, high = points.min(0), points.max(0)
    low, high = low - 0.1 * (high - low), high + 0.1 * (high - low)
    across, down = np.meshgrid(np.linspace(low[0], high[0], steps), np.linspace(low[1], high[1], steps))
    plane = from_numpy(np.stack([across.ravel(), down.ravel()], 1)).to(get_default_dtype())
    training = getattr(model, "training", False)
    if training:
        model.eval()
    with no_grad():
        scores = numbers(model(plane))
    if training:
        model.train()
    scores = scores.reshape(len(scores), -1)
    chosen = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(1)
    classes = max(chosen.max(), labels.max()) + 1
    ax.contourf(across, down, chosen.reshape(across.shape), levels=np.arange(classes + 1) - 0.5, alpha=0.3,
                colors=[COLOURS[k % len(COLOURS)] for k in range(classes)])
    for k in range(classes):
        mine = points[labels == k]
        ax.scatter(mine[:, 0], mine[:, 1], s=22, color=COLOURS[k % len(COLOURS)], marker="osD^vP*"[k % 7],
                   edgecolor="black", linewidth=0.4, label=str(k))
    ax.legend(frameon=False, title="class")
    ax.set(title=title)
    return ax
