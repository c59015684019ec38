"""Recurrent layers over a whole sequence: all products with the inputs at once, and gates in place.

Step by step in Python, such a layer is a dozen small ops a step, forward and backward. Here the products with the
inputs of all steps are one matrix product, and so are the gradients of the weights; a step is the product with the
state and a few passes over its gates, in place. Gates are the first dimension, (G, T, B, H), so that each gate of a
step is contiguous, and the weights are (G, H, I) and (G, H, H): a product with all gates of a step is G small
matrix products, faster here than a wide one.

Alphabet: T time, B batch, I input size, H hidden size, G gates (LSTM: i, f, g, o; GRU: r, z, n; RNN: one).
"""

from ...ops.nn.recurrent import LayerBackward
from .backend import kernel
from .sums import column_sums


# ---- all steps on raw arrays --------------------------------------------------------------------------------
# `gates` (G, T, B, H) come from the input and are overwritten by the results of their nonlinearities; `h` and `c` are
# (T + 1, B, H) and begin with the given states; `extra` (T, B, H) holds intermediates for the backward pass.
def sigmoid_(xp, x):
    """``1 / (1 + exp(-x))`` in place; far below zero exp overflows, and the result is 0 as it should be."""
    xp.negative(x, out=x)
    xp.exp(x, out=x)
    x += 1
    xp.reciprocal(x, out=x)


def lstm_forward(xp, gates, w, h, c, extra):
    """``c' = f c + i g``, ``h' = o tanh(c')``; `extra` is ``tanh(c')``."""
    part, product = xp.empty_like(gates[:, 0]), xp.empty_like(h[0])
    for a, h0, h1, c0, c1, tanh_c in zip(gates.swapaxes(0, 1), h[:-1], h[1:], c[:-1], c[1:], extra):
        i, f, g, o = a
        a += xp.matmul(h0, w, out=part)
        sigmoid_(xp, a[:2])
        xp.tanh(g, out=g)
        sigmoid_(xp, o)
        xp.multiply(f, c0, out=c1)
        c1 += xp.multiply(i, g, out=product)
        xp.tanh(c1, out=tanh_c)
        xp.multiply(o, tanh_c, out=h1)


def lstm_backward(xp, dy, dc, w, dgates, dpart, gates, h, c, extra):
    """Fill `dgates` with the gradients of the gates before their nonlinearities; those of h and c at the start."""
    slope, product, dh = xp.empty_like(gates[:, 0]), xp.empty_like(dc), xp.zeros_like(dc)
    for a, d, c0, tanh_c, g in zip(*map(backwards, (gates, dgates)), c[-2::-1], extra[::-1], dy[::-1]):
        i, f, new, o = a
        di, df, dnew, do = d
        dh += g
        xp.multiply(dh, tanh_c, out=do)
        dh *= o
        dc += xp.multiply(dh, one_minus_square(xp, tanh_c, product), out=product)
        xp.multiply(dc, new, out=di)
        xp.multiply(dc, c0, out=df)
        xp.multiply(dc, i, out=dnew)
        d *= slopes(xp, a, 2, slope)
        dc *= f
        xp.add.reduce(xp.matmul(d, w, out=slope), 0, out=dh)
    return dh, dc


def gru_forward(xp, gates, w, h, c, extra):
    """``n = tanh(gates + r (W h + b))``, ``h' = n + z (h - n)``; `extra` is ``W h + b``, and begins as b."""
    part = xp.empty_like(gates[:, 0])
    for a, h0, h1, state in zip(gates.swapaxes(0, 1), h[:-1], h[1:], extra):
        r, z, n = a
        xp.matmul(h0, w, out=part)
        both = a[:2]
        both += part[:2]
        sigmoid_(xp, both)
        state += part[2]
        n += xp.multiply(r, state, out=part[2])
        xp.tanh(n, out=n)
        xp.subtract(h0, n, out=h1)
        h1 *= z
        h1 += n


def gru_backward(xp, dy, dc, w, dgates, dpart, gates, h, c, extra):
    """As for the LSTM; `dpart` are the gradients of ``W h + b``, in which that of n is multiplied by r."""
    slope, dh = xp.empty_like(gates[:, 0]), xp.zeros_like(dc)
    for a, d, p, h0, state, g in zip(*map(backwards, (gates, dgates, dpart)), h[-2::-1], extra[::-1], dy[::-1]):
        r, z, n = a
        dr, dz, dn = d
        dh += g
        xp.multiply(xp.subtract(h0, n, out=dz), dh, out=dz)
        xp.multiply(xp.subtract(1, z, out=dn), dh, out=dn)
        dh *= z
        slopes(xp, a, 2, slope)
        d[1:] *= slope[1:]
        xp.multiply(xp.multiply(dn, state, out=dr), slope[0], out=dr)
        p[:2] = d[:2]
        xp.multiply(dn, r, out=p[2])
        dh += xp.add.reduce(xp.matmul(p, w, out=slope), 0)
    return dh, None


def tanh_forward(xp, gates, w, h, c, extra):
    for a, h0, h1 in zip(gates[0], h[:-1], h[1:]):
        a += xp.matmul(h0, w[0])
        xp.tanh(a, out=h1)


def relu_forward(xp, gates, w, h, c, extra):
    zero = xp.zeros_like(h[0])                             # much faster than a number
    for a, h0, h1 in zip(gates[0], h[:-1], h[1:]):
        a += xp.matmul(h0, w[0])
        xp.maximum(a, zero, out=h1)


def tanh_backward(xp, dy, dc, w, dgates, dpart, gates, h, c, extra):
    return plain_backward(xp, dy, dc, w, dgates[0], lambda after, out: one_minus_square(xp, after, out), h)


def relu_backward(xp, dy, dc, w, dgates, dpart, gates, h, c, extra):
    return plain_backward(xp, dy, dc, w, dgates[0], lambda after, out: after > 0, h)


def plain_backward(xp, dy, dh, w, dgate, slope, h):
    """Backward pass of a plain RNN; `slope` is that of its nonlinearity by its value, `dh` is zeros."""
    out = xp.empty_like(dh)
    for d, h1, g in zip(dgate[::-1], h[:0:-1], dy[::-1]):
        dh += g
        xp.multiply(dh, slope(h1, out), out=d)
        xp.matmul(d, w[0], out=dh)
    return dh, None


def backwards(gates):
    """(G, T, B, H) by step, the last one first."""
    return gates.swapaxes(0, 1)[::-1]


def one_minus_square(xp, y, out):
    """The slope of tanh, by its value."""
    xp.multiply(y, y, out=out)
    return xp.subtract(1, out, out=out)


def slopes(xp, a, tanh, out):
    """The slopes of gates by their values: ``a (1 - a)``, but ``1 - a^2`` for the gate `tanh`."""
    xp.subtract(1, a, out=out)
    out *= a
    one_minus_square(xp, a[tanh], out[tanh])
    return out


FORWARD = {"LSTM": lstm_forward, "GRU": gru_forward, "RNN_TANH": tanh_forward, "RNN_RELU": relu_forward}
BACKWARD = {"LSTM": lstm_backward, "GRU": gru_backward, "RNN_TANH": tanh_backward, "RNN_RELU": relu_backward}


# ---- the kernels -------------------------------------------------------------------------------------------
@kernel("rnn_layer")
def rnn_layer(F, input, hidden, w_ih, w_hh, b_ih=None, b_hh=None, cell=None, *, mode="LSTM", reverse=False):
    xp, (steps, batch, size), n = F.xp, input.shape, hidden.shape[1]
    gates = xp.matmul(forwards(input, reverse).reshape(-1, size), by_gate(xp, w_ih, n, turned=True))
    gates = gates.reshape(len(gates), steps, batch, n)
    h = xp.empty((steps + 1, batch, n), gates.dtype)
    h[0] = hidden
    c = xp.empty_like(h) if mode == "LSTM" else None
    if mode == "LSTM":
        c[0] = cell
    extra = xp.zeros_like(h[1:]) if mode in ("LSTM", "GRU") else None
    if b_ih is not None or b_hh is not None:
        add_biases(xp, mode, gates, extra, b_ih, b_hh)
    FORWARD[mode](xp, gates, by_gate(xp, w_hh, n, turned=True), h, c, extra)
    y = xp.array(forwards(h[1:], reverse))
    return ((y, xp.array(c[steps])) if mode == "LSTM" else (y,)), gates, h, c, extra


@kernel("rnn_layer_backward")
def rnn_layer_backward(F, *arrays, **attrs):
    p = LayerBackward(*arrays, **attrs)
    if p.gates is None or p.gates.ndim != 4:               # or a native kernel has kept them
        p = p.computed(F.full_rnn_layer)
    xp, size, n = F.xp, p.input.shape[2], p.hidden.shape[1]
    dy = xp.zeros_like(p.h[1:]) if p.grad is None else forwards(p.grad, p.reverse)
    dc = xp.zeros_like(p.h[0]) if p.grad_cell is None else xp.array(p.grad_cell)
    dgates = xp.empty(p.gates.shape, p.gates.dtype)
    dpart = xp.empty(p.gates.shape, p.gates.dtype) if p.mode == "GRU" else dgates
    w_hh = by_gate(xp, p.w_hh, n)
    dh, dc = BACKWARD[p.mode](xp, dy, dc, w_hh, dgates, dpart, p.gates, p.h, p.c, p.extra)
    rows = dgates.reshape(len(p.gates), -1, n)
    part = rows if dpart is dgates else dpart.reshape(rows.shape)
    dx = dw = None
    if p.needs[0]:
        dx = xp.empty(p.input.shape, p.gates.dtype)
        add_products(xp, dx.reshape(-1, size), rows, by_gate(xp, p.w_ih, n))
        dx = forwards(dx, p.reverse)
    if p.needs[2]:
        dw = product_by_gate(xp, p.w_ih, rows, forwards(p.input, p.reverse))
    dw_hh = product_by_gate(xp, p.w_hh, part, p.h[:-1])
    db_hh = xp.concatenate([column_sums(xp, gate) for gate in part])
    db_ih = db_hh if part is rows else xp.concatenate([column_sums(xp, gate) for gate in rows])
    found = dx, dh, dw, dw_hh, db_ih, db_hh
    return (*found, dc) if p.mode == "LSTM" else found


def add_biases(xp, mode, gates, extra, b_ih, b_hh):
    """Add both biases to the gates; but a GRU scales the part of n that comes from the state, with its bias."""
    n = gates.shape[-1]
    total = xp.zeros(len(gates) * n, gates.dtype)
    if b_ih is not None:
        total += b_ih
    if b_hh is not None:
        with_state = 2 * n if mode == "GRU" else len(total)
        total[:with_state] += b_hh[:with_state]
        if mode == "GRU":
            extra += b_hh[2 * n:]
    gates += total.reshape(-1, 1, 1, n)


def forwards(x, reverse):
    """`x` in the order of the steps."""
    return x[::-1] if reverse else x


def by_gate(xp, w, n, turned=False):
    """A weight (G H, I) as (G, H, I), or `turned` (G, I, H), contiguous."""
    w = w.reshape(-1, n, w.shape[1])
    return xp.ascontiguousarray(w.swapaxes(1, 2) if turned else w)


def add_products(xp, out, rows, matrices):
    """Fill `out` with the sum of products gate by gate: (G, N, H) and (G, H, I) to (N, I)."""
    xp.matmul(rows[0], matrices[0], out=out)
    for x, matrix in zip(rows[1:], matrices[1:]):
        out += xp.matmul(x, matrix)


def product_by_gate(xp, w, rows, x):
    """The gradient of a weight (G H, I) by rows (G, N, H) and its input (T, B, I)."""
    out = xp.empty(w.shape, w.dtype)
    xp.matmul(rows.swapaxes(1, 2), x.reshape(-1, x.shape[-1]), out=out.reshape(len(rows), -1, w.shape[1]))
    return out
