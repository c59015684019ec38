"""How a tensor is written out: the text PyTorch prints, and an HTML table for notebooks.

The text goes through four steps, each a small function on NumPy arrays:

1. `edges` keeps the values that will be shown, so that a large tensor is never read as a whole;
2. `cells` writes each of them, in one style and one width for the whole tensor;
3. `_brackets` nests the cells, breaks long rows and puts ``...`` where something was left out;
4. `_close` adds ``dtype=``, ``device=`` and the like, each only where it is not what a reader would assume.

The format is the one of PyTorch 2.13 to the letter; the parity tests compare the two.
"""

from __future__ import annotations

import contextlib
import math
import operator
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any

import numpy as np

from .core.dtypes import get_default_dtype
from .core.grad_mode import grad_mode
from .core.tensor import wrap
from .theme import ABOVE_ZERO, BELOW_ZERO, heat_map

__all__ = [
    "format_array",
    "format_tensor",
    "get_printoptions",
    "printoptions",
    "set_printoptions",
    "shows_html",
    "suffixes_of",
    "tensor_html",
    "tensor_repr",
]


# ---------------------------------------------------------------- options


@dataclass(frozen=True)
class PrintOptions:
    """The options that `set_printoptions` sets. Never changed in place: a running print keeps its own."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: float = 80
    sci_mode: bool | None = None
    html: bool = True


_PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}
_options = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: float | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
    *,
    html: bool | None = None,
) -> None:
    """Set how tensors are printed from now on.

    An argument left out (or None) leaves its option as it is, with one exception that comes from PyTorch:
    ``sci_mode`` goes back to None, the automatic choice, in every call that does not give it.

    Args:
        precision: digits after the point, 4 at first.
        threshold: tensors with more elements than this are summarised, 1000 at first; ``math.inf`` for never.
        edgeitems: how many items a summary shows at each end of a dimension, 3 at first.
        linewidth: characters after which a row is broken, 80 at first.
        profile: ``"default"``, ``"short"`` (2 digits, 2 items) or ``"full"`` (no summary), applied before the others.
        sci_mode: True for ``1.0000e+00``, False for ``1.0000``, None to choose by the values of each tensor.
        html: not in PyTorch. Whether notebooks show tensors as HTML tables, True at first.

    Raises:
        ValueError, TypeError: at once, for an option that could not be printed with. (PyTorch ignores an unknown
            profile, and fails at the next print for the others.)
    """
    global _options
    if profile is None:
        base = _options
    elif profile in _PROFILES:
        base = replace(_PROFILES[profile], html=_options.html)
    else:
        raise ValueError(f"profile must be one of {', '.join(map(repr, _PROFILES))}, got {profile!r}")
    given = {
        "precision": _count("precision", precision),
        "threshold": _size("threshold", threshold),
        "edgeitems": _count("edgeitems", edgeitems),
        "linewidth": _size("linewidth", linewidth),
        "html": html,
    }
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    _options = replace(base, **changes, sci_mode=sci_mode)


def _count(name: str, value: int | None) -> int | None:
    """`value` as a whole number that is not negative."""
    if value is None:
        return None
    try:
        whole = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, got {value!r} ({type(value).__name__})") from None
    if whole < 0:
        raise ValueError(f"{name} must be 0 or more, got {whole}")
    return whole


def _size(name: str, value: float | None) -> float | None:
    """`value` as a number that can be compared with a length; infinity is one."""
    if value is None:
        return None
    try:
        undefined = math.isnan(value)
    except TypeError:
        raise TypeError(f"{name} must be a number, got {value!r} ({type(value).__name__})") from None
    if undefined:
        raise ValueError(f"{name} must be a number, got {value!r}; math.inf stands for no limit")
    return value


def get_printoptions() -> dict[str, Any]:
    """The present options as a dict whose keys are PyTorch's, fit for ``set_printoptions(**options)``."""
    options = asdict(_options)
    del options["html"]
    return options


def shows_html() -> bool:
    """True unless ``set_printoptions(html=False)`` has switched HTML off."""
    return _options.html


@contextlib.contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Print with other options inside a ``with`` block; takes what `set_printoptions` takes."""
    global _options
    before = _options
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        _options = before


# ---------------------------------------------------------------- which values are shown


def edges(array: Any, n: int, cut: Sequence[bool]) -> np.ndarray:
    """The first and last `n` items along each dimension marked in `cut`, all items along the others.

    Reads only what it keeps, and brings that to the host.
    """
    if any(cut):
        kept = [np.r_[:n, size - n : size] if c else np.arange(size) for size, c in zip(array.shape, cut, strict=True)]
        array = array[np.ix_(*kept)]
    return _host(array)


def _host(array: Any) -> np.ndarray:
    """A NumPy or CuPy array as a NumPy array."""
    return array if isinstance(array, np.ndarray) else array.get()


def _cut(shape: Sequence[int], n: int) -> list[bool]:
    """For each dimension, whether showing `n` items at each end leaves some out."""
    return [size > 2 * n for size in shape]


# ---------------------------------------------------------------- how one value is written


def cells(values: np.ndarray, options: PrintOptions) -> tuple[list[str], int]:
    """The text of each of the `values` (1-D, any dtype), padded so that they align, and the width of one cell.

    The width decides how many cells fit on a line. As in PyTorch it is not always the length of the longest
    text: see `_real_cells`; and a complex cell counts its two parts and the ``j``, but not the sign between them.
    """
    if values.dtype.kind != "c":
        texts, width = _real_cells(values, options)
        return [text.rjust(width) for text in texts], width
    real, real_width = _real_cells(values.real, options)
    imag, imag_width = _real_cells(values.imag, options)
    texts = [f"{re.rjust(real_width)}{_signed(im)}j" for re, im in zip(real, imag, strict=True)]
    return texts, real_width + imag_width + 1


def _signed(text: str) -> str:
    return text if text.startswith("-") else "+" + text


def _real_cells(values: np.ndarray, options: PrintOptions) -> tuple[list[str], int]:
    """The unpadded texts of real `values` and the width to pad them to.

    Among floats, zeros, infinities and NaN have no say in the width: they are written as they come, even where
    that is longer (``-inf`` among one-digit numbers).
    """
    if values.dtype.kind in "biu":
        texts = [str(value) for value in values.tolist()]
        return texts, max(map(len, texts), default=1)
    values = values.astype(np.float64)  # exact for every float dtype, bfloat16 and the 8-bit ones included
    counted = np.isfinite(values) & (values != 0)
    spec, point = _float_style(np.abs(values[counted]), options)
    texts = [format(value, spec) + (point if math.isfinite(value) else "") for value in values.tolist()]
    width = max((len(text) for text, counts in zip(texts, counted.tolist(), strict=True) if counts), default=1)
    return texts, width


def _float_style(magnitudes: np.ndarray, options: PrintOptions) -> tuple[str, str]:
    """The format specification for a tensor of floats, and what follows each finite number.

    `magnitudes` are the absolute values of its finite, nonzero elements. Unless ``sci_mode`` says otherwise the
    exponent is written when plain digits would lose values (below 1e-4) or run long (above 1e8, or a range of
    more than a factor of 1000). Otherwise whole numbers are written as ``2.``.
    """
    if not magnitudes.size:
        return ".0f", "."
    small, large = float(magnitudes.min()), float(magnitudes.max())
    scientific = options.sci_mode
    if scientific is None:
        scientific = large / small > 1000 or large > 1e8 or small < 1e-4
    if scientific:
        return f".{options.precision}e", ""
    if np.array_equal(magnitudes, np.floor(magnitudes)):
        return ".0f", "."
    return f".{options.precision}f", ""


# ---------------------------------------------------------------- how the values are laid out


def format_array(array: Any, indent: int = 0, options: PrintOptions | None = None) -> str:
    """The values of `array` in nested brackets, for text that begins in column `indent`.

    >>> print("tensor(" + format_array(np.array([[1.5, -2], [0, np.inf]]), indent=7))
    tensor([[ 1.5000, -2.0000],
            [ 0.0000,     inf]]
    """
    options = options or _options
    if not array.size:
        return "[]"
    n = options.edgeitems
    cut = _cut(array.shape, n) if array.size > options.threshold else [False] * array.ndim
    shown = edges(array, n, cut)
    texts, width = cells(shown.reshape(-1), options)
    return _brackets(_nested(texts, shown.shape), cut, indent, width, options)


def _nested(texts: list[str], shape: tuple[int, ...]) -> Any:
    """`texts` as lists of lists of this shape; the one text itself for shape ``()``."""
    return np.array(texts, dtype=object).reshape(shape).tolist()


def _brackets(nested: Any, cut: Sequence[bool], indent: int, width: int, options: PrintOptions) -> str:
    """Join nested lists of cells; `cut` says for each dimension whether its middle was left out."""
    if not cut:
        return nested
    if len(cut) == 1:
        return _row(nested, cut[0], indent, width, options)
    blocks = [_brackets(part, cut[1:], indent + 1, width, options) for part in nested]
    if cut[0]:
        blocks.insert(options.edgeitems, "...")
    # One line break between rows, two between matrices, three between stacks of matrices.
    return "[" + ("," + "\n" * (len(cut) - 1) + " " * (indent + 1)).join(blocks) + "]"


def _row(items: list[str], cut: bool, indent: int, width: int, options: PrintOptions) -> str:
    """One row of cells in brackets, broken where it would pass the line width."""
    if cut:
        n = options.edgeitems
        items = [*items[:n], " ..." if n else "...", *items[n:]]
    fit = (options.linewidth - indent) / (width + 2)  # 2 for the comma and the space
    per_line = max(1, int(min(fit, len(items))))
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


PRINT_OPTS = PrintOptions()                                # PyTorch's name; `get_printoptions` has what is set now


def _tensor_str(self: Any, indent: int) -> str:
    """The values of a tensor in brackets: `format_array`, by PyTorch's name."""
    return format_array(_host(self.array), indent)


def _add_suffixes(tensor_str: str, suffixes: Sequence[str], indent: int, force_newline: bool) -> str:
    """`_close`, by PyTorch's name."""
    return _close(tensor_str, suffixes, indent, _options, force_newline)


def _close(text: str, suffixes: Sequence[str], indent: int, options: PrintOptions, new_line: bool = False) -> str:
    """Append `suffixes` and the closing parenthesis; a suffix that would pass the line width starts a new line, and so
    does the first if `new_line`."""
    column = len(text) - text.rfind("\n") + 1  # PyTorch's count, a little beyond the true column
    for suffix in suffixes:
        if new_line or column + len(suffix) + 2 > options.linewidth:
            text += ",\n" + " " * indent + suffix
            column, new_line = indent + len(suffix), False
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text + ")"


def format_tensor(
    array: Any,
    *,
    suffixes: Sequence[str] = (),
    prefix: str = "tensor(",
    contents: str | None = None,
    options: PrintOptions | None = None,
    new_line: bool = False,
) -> str:
    """``prefix``, the values (or `contents` in their place), the `suffixes`, and ``)``.

    Rows are indented by the length of `prefix`. `new_line`: the suffixes begin on one of their own.

    >>> format_tensor(np.array([1, 2]), suffixes=["dtype=torch.int32"])
    'tensor([1, 2], dtype=torch.int32)'
    """
    options = options or _options
    indent = len(prefix)
    if contents is None:
        contents = format_array(array, indent, options)
    return _close(prefix + contents, suffixes, indent, options, new_line)


# ---------------------------------------------------------------- a tensor's text


def tensor_repr(
    tensor: Any, *, contents: str | None = None, default_dtype: Any = None, options: PrintOptions | None = None
) -> str:
    """The text of a tensor, as PyTorch 2.13 prints it.

    Args:
        tensor: has ``array``, ``dtype``, ``device``, ``requires_grad`` and ``grad_fn``. Its class gives the word in
            front: ``tensor`` for Tensor, the class's own name for a subclass; a Parameter is announced as one.
        contents: written in place of the values (the argument ``tensor_contents`` of ``Tensor.__repr__``).
        default_dtype: the dtype that goes without saying; ``minitorch.get_default_dtype()`` by default.
        options: those of `set_printoptions` by default.
    """
    options = options or _options
    backend: Any = getattr(tensor, "backend", None)
    if getattr(backend, "depth", 0) and not backend.marks:
        return _of_batch(tensor, default_dtype, options)
    while getattr(backend, "level", None) is not None:     # tangents are not shown
        backend = backend.inner
    own = getattr(type(backend), "text_of", None)
    if own is not None:                                    # of a DTensor
        return ("Parameter containing:\n" if "Parameter" in type(tensor).__name__ else "") + own(tensor)
    family = [cls.__name__ for cls in type(tensor).__mro__]
    plain = family[0] in ("Tensor", "Parameter")
    prefix = "tensor(" if plain else family[0] + "("
    suffixes = suffixes_of(tensor, default_dtype, options)
    contents = "..." if contents is None and tensor.device.type == "meta" else contents      # it has no values
    text = format_tensor(tensor.array, suffixes=suffixes, prefix=prefix, contents=contents, options=options)
    if "Parameter" not in family:
        return text
    return "Parameter containing:\n" + (text if plain else f"Parameter({text})")


def _of_batch(tensor: Any, default_dtype: Any, options: PrintOptions) -> str:
    """The text of a tensor within `vmap`: all elements of the batch, or one that is the same for all."""
    value, backend = tensor.array.value, tensor.backend
    one = value.shape[0] == 1 and backend.size != 1
    inside = tensor_repr(wrap(value[0] if one else value, backend.inner), default_dtype=default_dtype, options=options)
    return (f"BatchedTensor(lvl={backend.depth}, bdim={None if one else 0}, value=\n"
            f"{textwrap.indent(inside, '    ')}\n)")


def suffixes_of(
    tensor: Any, default_dtype: Any = None, options: PrintOptions | None = None
) -> list[str]:
    """Words after the values, in PyTorch's order: device, size, dtype, then the part in autograd.

    >>> import minitorch
    >>> suffixes_of(minitorch.ones(2, dtype=minitorch.float64, requires_grad=True))
    ['dtype=torch.float64', 'requires_grad=True']
    """
    options = options or _options
    suffixes = []
    if tensor.device.type != "cpu":
        suffixes.append(f"device='{tensor.device}'")
    shape = tensor.array.shape
    empty = 0 in shape
    # "[]" is the text of every empty shape and is read as (0,); without edge items "[...]" is that
    # of many.
    ambiguous = tensor.device.type == "meta" or (len(shape) != 1 if empty else options.edgeitems == 0)
    if ambiguous:
        suffixes.append(f"size={tuple(shape)}")
    if not _dtype_is_evident(str(tensor.dtype), str(default_dtype or _default_dtype()),
                             empty or tensor.device.type == "meta"):
        suffixes.append(f"dtype={tensor.dtype}")
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn=<{_grad_fn_name(tensor)}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    backend: Any = getattr(tensor, "backend", None)
    if getattr(backend, "level", None) in grad_mode.levels:
        suffixes.append(f"tangent={backend.tangent(tensor)}")
    return suffixes


def _dtype_is_evident(dtype: str, default: str, empty: bool) -> bool:
    """True if the values alone, given the default dtype, tell a reader the dtype."""
    if empty:
        return dtype == default
    default_complex = "torch.complex128" if default == "torch.float64" else "torch.complex64"
    return dtype in (default, default_complex, "torch.int64", "torch.bool")


def _default_dtype() -> Any:
    return get_default_dtype()


def _grad_fn_name(tensor: Any) -> str:
    return tensor.grad_fn.name().rsplit("::", 1)[-1]


# ---------------------------------------------------------------- a tensor as HTML

SIDE = 10  # of a dimension of more than 2 * SIDE items, this many are shown at each end
SLICES = 2  # of more than 2 * SLICES matrices, this many are shown at each end
COUNTED = 1 << 20  # tensors with more elements are shown without minimum, mean and maximum


def tensor_html(tensor: Any, *, default_dtype: Any = None) -> str | None:
    """A tensor as a small self-contained HTML fragment for notebooks, or None after ``set_printoptions(html=False)``.

    A line that says what the tensor is, a line of statistics, its values as a table (one for each matrix where there
    are more than two dimensions), and the ordinary text, folded away, for readers and programs that take no tables.
    Cells of floating-point matrices are shaded by value: blue above zero, orange below, stronger away from zero. They
    show two decimals, and all digits under the pointer. Of a matrix too large for a table there is a heat map, too.
    """
    options = _options
    if not options.html:
        return None
    array = tensor.array
    folded = replace(options, threshold=min(options.threshold, 1000))
    text = tensor_repr(tensor, default_dtype=default_dtype, options=folded)
    parts = [
        f"<div><b>{escape(type(tensor).__name__)}</b> {escape(_headline(tensor))}</div>",
        f'<div style="opacity:.75">{escape(_statistics(array))}</div>',
        *_maps(array),
        *_tables(array, options),
        f"<details><summary>as text</summary><pre>{escape(text)}</pre></details>",
    ]
    return '<div style="font-family:monospace;overflow-x:auto">' + "\n".join(parts) + "</div>"


def _headline(tensor: Any) -> str:
    words = [f"shape={tuple(tensor.array.shape)}", f"dtype={tensor.dtype}", f"device={tensor.device}"]
    words.append(f"requires_grad={tensor.requires_grad}")
    if tensor.grad_fn is not None:
        words.append(f"grad_fn=<{_grad_fn_name(tensor)}>")
    return ", ".join(words)


def _statistics(array: Any) -> str:
    """Minimum, mean and maximum of the finite elements, and how many are not finite; as words."""
    if array.size < 2:
        return "1 element" if array.size else "no elements"
    if array.size > COUNTED:
        return f"{array.size:,} elements, too many to read for minimum, mean and maximum"
    values = _host(array)
    if values.dtype.kind == "b":
        return f"{np.count_nonzero(values):,} of {values.size:,} True"
    if values.dtype.kind != "c":
        values = values.astype(np.float64)
    finite = values[np.isfinite(values)]
    words = []
    if finite.size and values.dtype.kind != "c":
        scale = np.abs(finite).max() or 1.0  # the sum of huge values must not overflow
        mean = (finite / scale).mean() * scale
        words += [f"min {finite.min():.4g}", f"mean {mean:.4g}", f"max {finite.max():.4g}"]
    nan = np.count_nonzero(np.isnan(values))
    words += [f"{nan:,} NaN"] if nan else []
    infinite = values.size - finite.size - nan
    words += [f"{infinite:,} infinite"] if infinite else []
    return ", ".join(words) or f"{values.size:,} elements"


def _tables(array: Any, options: PrintOptions) -> list[str]:
    """One table for each matrix of the last two dimensions, at most ``2 * SLICES`` of them, in one style."""
    if not array.size:
        return []
    lead, (rows, columns) = array.shape[:-2], (1, 1, *array.shape)[-2:]  # a vector is one row, a number one cell
    total = math.prod(lead)
    numbers = range(total) if total <= 2 * SLICES else [*range(SLICES), *range(total - SLICES, total)]
    places = [tuple(map(int, np.unravel_index(number, lead))) for number in numbers] if lead else [()]

    cut = _cut((rows, columns), SIDE)
    shown = np.stack([edges(array[place + (...,)].reshape(rows, columns), SIDE, cut) for place in places])
    texts, _ = cells(shown.reshape(-1), options)
    shaded = array.ndim > 1 and shown.dtype.kind not in "biuc"
    styles, legend = _shading(shown.reshape(-1)) if shaded else ([""] * len(texts), "")
    short = [_two_decimals(text.strip(), value) for text, value in zip(texts, shown.reshape(-1).tolist(), strict=True)]
    values = [
        f"<td{style}{_hover(text.strip(), word)}>{escape(word)}</td>"
        for text, style, word in zip(texts, styles, short, strict=True)
    ]

    row_heads = _heads(rows, "row") if array.ndim > 1 else None
    column_heads = _heads(columns, "col") if array.ndim else None
    matrices = _nested(values, shown.shape)
    tables = [_table(*found, cut, row_heads, column_heads) for found in zip(matrices, places, strict=True)]
    if len(places) < total:
        tables.insert(SLICES, f"<div>... {total - len(places):,} more matrices ...</div>")
    return [*tables, legend]


def _hover(text: str, shown: str) -> str:
    """The attribute that tells the whole text under the pointer, where less is shown."""
    return f' title="{escape(text)}"' if text != shown else ""


def _two_decimals(text: str, value: Any) -> str:
    """A floating-point number as short as a cell needs it; others, and whole numbers, as they are."""
    if not isinstance(value, float) or not math.isfinite(value) or value == round(value):
        return text
    if abs(value) < 0.005 or abs(value) >= 10_000:
        return f"{value:.0e}"
    return f"{value:.2f}"


def _maps(array: Any) -> list[str]:
    """A heat map of a real matrix whose table shows the edges only, or of the first of several."""
    if array.ndim < 2 or not array.size or array.size > COUNTED or max(array.shape[-2:]) <= 2 * SIDE:
        return []
    matrix = _host(array[(0,) * (array.ndim - 2)])
    return [heat_map(matrix.astype(np.float64))] if matrix.dtype.kind not in "bc" else []


def _table(
    matrix: list[list[str]],
    place: tuple[int, ...],
    cut: Sequence[bool],
    row_heads: list[str] | None,
    column_heads: list[str] | None,
) -> str:
    """The table of one matrix of ``<td>`` cells, which is ``[*place, :, :]`` of the whole tensor."""
    lines = [_with_gap(row, cut[1], "<td>...</td>") for row in matrix]
    lines = _with_gap(lines, cut[0], ["<td>...</td>"] * len(lines[0]))
    if column_heads:
        lines.insert(0, column_heads)
    if row_heads:
        lines = [[head, *line] for head, line in zip(["<td></td>", *row_heads], lines, strict=True)]
    caption = f"<caption>[{', '.join(map(str, place))}, :, :]</caption>\n" if place else ""
    body = "\n".join("<tr>" + "".join(line) + "</tr>" for line in lines)
    style = "border-spacing:1px;margin:.4em 0;text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums"
    return f'<table cellpadding="4" style="{style}">\n{caption}{body}\n</table>'


def _with_gap(items: list[Any], cut: bool, gap: Any) -> list[Any]:
    return [*items[:SIDE], gap, *items[SIDE:]] if cut else items


def _heads(size: int, scope: str) -> list[str]:
    """Header cells with the indices shown along a dimension of this size."""
    cut = size > 2 * SIDE
    numbers = [*range(SIDE), *range(size - SIDE, size)] if cut else range(size)
    return _with_gap([f'<th scope="{scope}">{i}</th>' for i in numbers], cut, "<th>...</th>")


def _shading(values: np.ndarray) -> tuple[list[str], str]:
    """The style of each cell and a line that explains the colours.

    White at zero, the full colour at the greatest finite magnitude shown, grey where not finite.
    """
    values = values.astype(np.float64)
    finite = np.isfinite(values)
    largest = np.abs(values[finite]).max(initial=0.0)
    strength = np.where(finite, values, 0.0) / (largest or 1.0)
    ends = np.where(strength[:, None] < 0, BELOW_ZERO, ABOVE_ZERO)
    colours = np.rint(255 + (ends - 255) * np.abs(strength)[:, None]).astype(int)
    colours[~finite] = 0xDD
    styles = [f' style="color:#111;background:#{r:02x}{g:02x}{b:02x}"' for r, g, b in colours.tolist()]
    words = f"shading: blue above 0, orange below, full at {largest:.4g} from 0; grey: not finite"
    return styles, f"<div><small>{words}</small></div>"
