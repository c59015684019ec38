"""Columns that definitions of matrix products share: the error texts for shapes that do not fit.

The definitions themselves are in `matmul.py`, `linear.py` and `attention.py`.
"""

from ...explain.failures import draw, mismatch


# ---- shapes that do not fit --------------------------------------------------------------------------------
def product_mismatch(a, b):
    """The error text for ``a @ b``."""
    text = mismatch_text(a, b)
    if len(a) < 2 or len(b) < 2:
        return text
    if a[-1] == b[-2]:                                     # the batch does not fit
        return f"{text}\n{draw(a[:-2], b[:-2])}"
    lines = [text, *mark("mat1", a, -1), *mark("mat2", b, -2)]
    if a[-1] == b[-1]:
        lines.append(f"  with the second one transposed, a @ b.mT, it fits: {a[-2]}x{a[-1]} and {b[-1]}x{b[-2]}")
    elif a[-2] == b[-2]:
        lines.append(f"  with the first one transposed, a.mT @ b, it fits: {a[-1]}x{a[-2]} and {b[-2]}x{b[-1]}")
    return "\n".join(lines)


def linear_mismatch(a, b):
    """The error text for ``a @ b.T``."""
    text = mismatch_text(a, b[::-1], "linear")
    if len(a) < 2 or len(b) < 2:
        return text
    if a[-1] == b[-1]:
        return f"{text}\n{draw(a[:-2], b[:-2])}"
    return "\n".join([text, *mark("input", a, -1), *mark("weight", b, -1),
                      f"  the layer takes {b[-1]} features, the input has {a[-1]} in its last dimension"])


def mismatch_text(a, b, name="matmul"):
    """PyTorch's words for two shapes that cannot be multiplied."""
    if not a or not b:
        return f"both arguments to {name} need to be at least 1D, but they are {len(a)}D and {len(b)}D"
    if len(a) == 1 and len(b) == 1:
        return (f"inconsistent tensor size, expected tensor [{a[0]}] and src [{b[0]}] to have the same number of "
                f"elements")
    if len(a) > 2 and len(b) > 2 and a[-1] == b[-2]:
        place = mismatch(a[:-2], b[:-2])
        if place:
            return (f"The size of tensor a ({a[:-2][place[0]]}) must match the size of tensor b ({b[:-2][place[1]]}) "
                    f"at non-singleton dimension {place[2]}: the batch dimensions {list(a[:-2])} and {list(b[:-2])} do "
                    f"not broadcast")
    if len(b) == 1:
        return f"size mismatch, got input ({a[-2] if len(a) > 1 else 1}), mat ({'x'.join(map(str, a))}), vec ({b[0]})"
    left = "x".join(map(str, a[-2:])) if len(a) > 1 else f"1x{a[0]}"
    return (f"mat1 and mat2 shapes cannot be multiplied ({left} and {b[-2]}x{b[-1]}): the last size of the first, "
            f"{a[-1]}, must be the second last of the second, {b[-2]}")


def mark(label, shape, place):
    """Two lines: a shape with its label, and a mark under the size at `place`."""
    cells = [str(n) for n in shape]
    marks = "  ".join(("^" if i == len(shape) + place else " ") * len(c) for i, c in enumerate(cells))
    return [f"  {label.rjust(6)}: {'  '.join(cells)}", f"          {marks}".rstrip()]
