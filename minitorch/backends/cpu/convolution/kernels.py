"""The kernels of convolution and of its two transposes: each allocates the result, the cheapest method fills it."""

from ....ops.nn.windows import pad_sides
from ..backend import kernel
from . import depthwise, fft, im2col, rows, side_by_side, small, winograd
from .methods import TRANSFORMS, Problem, cheapest, choose_for, turning_pays

FORWARD = {"channels": im2col.forward_by_channels, "pixels": im2col.forward_by_pixels,
           "images": side_by_side.forward, "rows": rows.forward, "winograd": winograd.forward, "fft": fft.forward,
           "depthwise": depthwise.forward}
WEIGHT = {"channels": im2col.weight_by_channels, "pixels": im2col.weight_by_pixels,
          "images": side_by_side.weight, "rows": rows.weight, "winograd": winograd.weight, "fft": fft.weight,
          "depthwise": depthwise.weight}
SCATTER = {"channels": im2col.scatter_by_channels, "pixels": im2col.scatter_by_pixels,
           "images": side_by_side.scatter, "depthwise": depthwise.input}


# ---- the kernels -------------------------------------------------------------------------------------------
@kernel("convolution")
def convolution(F, input, weight, bias=None, *, geometry=None):
    size = geometry.out_size(input.shape[2:], weight.shape[2:])
    out = F.xp.empty((input.shape[0], weight.shape[0], *size), input.dtype)
    if out.size and weight.size:
        run_forward(F, input, weight, bias, geometry, out)
    elif out.size:                                         # sums of nothing
        out[...] = 0 if bias is None else bias.reshape(-1, *(1,) * len(size))
    return out


@kernel("convolution_backward_input")
def convolution_backward_input(F, grad, weight, *, geometry, size):
    shape = (grad.shape[0], weight.shape[1] * geometry.groups, *size)
    out = F.xp.empty(shape, grad.dtype) if grad.size else F.xp.zeros(shape, grad.dtype)
    if grad.size and out.size:
        run_input(F, grad, weight, geometry, out)
    return out


@kernel("convolution_backward_weight")
def convolution_backward_weight(F, input, grad, *, geometry, size):
    out = F.xp.zeros((grad.shape[1], input.shape[1] // geometry.groups, *size), grad.dtype)
    if grad.size and out.size:
        run_weight(F, input, grad, geometry, out)
    return out


# ---- the method that the shapes call for -------------------------------------------------------------------
def run_forward(F, x, weight, bias, geometry, out):
    """Fill `out` (N, O, *out) with the convolution of x (N, C, *size)."""
    p = Problem("forward", len(x), x.shape[1], len(weight), x.shape[2:], weight.shape[2:], out.shape[2:], geometry,
                x.dtype)
    method, levels = choose_for(F, p, x, weight)
    bounds = levels and small.bounds(p, levels, weight)
    forward(F, p, method, bounds, x, weight, bias, geometry, out)


def forward(F, p, method, bounds, x, weight, bias, geometry, out):
    if method in TRANSFORMS:
        FORWARD[method](F, x, weight, geometry, out)
        if small.settle_forward(F, bounds, x, weight, geometry, out):
            if bias is not None:
                out += bias.reshape(-1, *(1,) * (out.ndim - 2))
            return
        method = cheapest(p, mixing=False)
    FORWARD[method](F, x, weight, bias, geometry, out)


def run_weight(F, x, grad, geometry, out):
    """Fill `out` (O, C / G, *kernel) with the gradient of the weight."""
    p = Problem("weight", len(x), x.shape[1], len(out), x.shape[2:], out.shape[2:], grad.shape[2:], geometry, x.dtype)
    method, levels = choose_for(F, p, x, grad)
    WEIGHT[method](F, x, grad, geometry, out)
    if method in TRANSFORMS and not small.settle_weight(F, levels, x, grad, geometry, out):
        out[...] = 0                                       # some methods add to it
        WEIGHT[cheapest(p, mixing=False)](F, x, grad, geometry, out)


def run_input(F, grad, weight, geometry, out):
    """Fill `out` (N, C, *size) with the gradient of the input."""
    p = Problem("input", len(grad), out.shape[1], len(weight), out.shape[2:], weight.shape[2:], grad.shape[2:],
                geometry, grad.dtype)
    method, levels = choose_for(F, p, grad, weight)
    bounds = levels and small.bounds(p, levels, weight)
    if method == "fft":
        fft.input(F, grad, weight, geometry, out)
        mirrored = im2col.turned_weight(F, weight, geometry.groups)
        if small.settle_forward(F, bounds, grad, mirrored, p.turned.geometry, out):
            return
        method = cheapest(p, mixing=False)
    if method not in SCATTER or turning_pays(p, method):
        by_forward(F, p.turned, method, bounds, grad, weight, out)
    else:
        SCATTER[method](F, grad, weight, geometry, out)


def by_forward(F, p, method, bounds, grad, weight, out):
    """With stride 1, the gradient of the input is a convolution of `grad` with the mirrored weight."""
    mirrored = im2col.turned_weight(F, weight, p.geometry.groups)
    size = p.geometry.out_size(grad.shape[2:], weight.shape[2:])
    if size != out.shape[2:]:                    # output_padding: what lay in the padding behind
        extra = [wanted - n for wanted, n in zip(out.shape[2:], size)]
        grad = pad_sides(F.xp, grad, [(0, e) for e in extra])
    forward(F, p, method, bounds, grad, mirrored, None, p.geometry, out)
