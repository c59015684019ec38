"""The op table, padding: constants, mirrored, repeated or wrapped places around the last dimensions.

`pad` counts from the last dimension: (left, right, top, bottom, ...). Negative numbers cut places off.
"""

from ..op import composite, op
from .windows import pad_sides


def sides_of(pad):
    """PyTorch's flat list, last dimension first, as (before, after) pairs, last dimension last."""
    return [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]


@op(namespace=None, node_name="ConstantPadNdBackward0",
    input=lambda F, g, pad: F.constant_pad(g, pad=tuple([-p for p in pad]), value=0),
    sample=lambda d: ([d.array((2, 3, 4))], dict(pad=(d.int(-1, 2), 1, d.int(0, 2), d.int(-1, 1)), value=0.5)))
def constant_pad(F, input, *, pad, value):
    """`input` with places of `value` around its last dimensions."""
    out = pad_sides(F.xp, input, sides_of(pad), value)
    return input.copy() if out is input else out


@composite(namespace="nn.functional")
def pad(input, pad, mode="constant", value=None):
    """`input` with places around its last dimensions: ``pad`` is (left, right, top, bottom, ...)."""
    pad = tuple([p.__index__() for p in pad])
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(f"Padding length should be less than or equal to two times the input dimension but got "
                           f"padding length {len(pad)} and input of dimension {input.ndim}")
    if mode == "constant":
        return constant_pad(input, pad, 0 if value is None else value)
    raise NotImplementedError(f"Unrecognised padding mode {mode}")
