"""Recurrent layers over a whole sequence, in one call of C forward and one backward, products included.

`gates` are kept as (T, B, G H), where NumPy's kernel keeps (G, T, B, H): each computes what the other one kept again.
"""

from functools import partial
from math import prod

import numpy as np

from ....ops.nn.recurrent import GATES, LayerBackward
from ..eager import kernel, limits, plain, whole

PANEL, MANY = 64, 256          # as in src, at most
MODES = {"LSTM": 0, "GRU": 1, "RNN_TANH": 2, "RNN_RELU": 3}


def layer(d):
    mode, reverse = d.choice(list(GATES)), d.bool()
    steps, batch, size, n = d.int(1, 3), d.int(1, 40), d.int(1, 5), d.int(1, 20)
    rows = GATES[mode] * n
    state = [d.array((batch, n)), d.array((batch, n))]
    biases = [d.choice([None, d.array((rows,))]) for _ in range(2)]
    return [d.array((steps, batch, size)), state[0], d.array((rows, size)), d.array((rows, n)), *biases,
            state[1] if mode == "LSTM" else None], dict(mode=mode, reverse=reverse)


def layer_backward(d):
    inputs, attrs = layer(d)
    (steps, *_), (batch, n) = inputs[0].shape, inputs[1].shape
    grad_cell = d.choice([None, d.array((batch, n))]) if attrs["mode"] == "LSTM" else None
    return [*inputs, d.array((steps, batch, n)), grad_cell], attrs | dict(needs=(True,) * 7)


def supported(input, hidden, w_ih, w_hh, b_ih, b_hh, cell, *grads):
    """Arrays that C takes, none of them empty, and a BLAS for it. Steps are counted, not elements: they cost most."""
    if input.__class__ is not np.ndarray or input.ndim != 3 or hidden.ndim != 2:
        return False
    work = prod(input.shape[:2]) * (w_ih.shape[0] if w_ih.ndim else 0)
    if not input.size or not hidden.size or work < limits.least:
        return False
    return (plain(w_hh, w_ih, b_ih, b_hh) or w_hh.size < limits.least) and all(
        [x is None or x.__class__ is np.ndarray and x.dtype == input.dtype and x.dtype.char in "fd" and x.dtype.isnative
         for x in (input, hidden, w_ih, w_hh, b_ih, b_hh, cell, *grads)])


def takes(F, input, hidden, w_ih, w_hh, b_ih=None, b_hh=None, cell=None, *, mode="LSTM", reverse=False):
    return supported(input, hidden, w_ih, w_hh, b_ih, b_hh, cell)


def dense(*arrays):
    return [x if x is None else np.ascontiguousarray(x) for x in arrays]


@kernel("rnn_layer", called=True, when=takes, sample=layer)
def rnn_layer(F, input, hidden, w_ih, w_hh, b_ih=None, b_hh=None, cell=None, *, mode="LSTM", reverse=False):
    (steps, batch, size), n, dtype = input.shape, hidden.shape[1], input.dtype
    x, w_ih, w_hh = dense(input, w_ih, w_hh)
    width = len(w_hh)
    gates, h = np.empty((steps, batch, width), dtype), np.empty((steps + 1, batch, n), dtype)
    first, last = (steps, 0) if reverse else (0, steps)
    h[first] = hidden
    c = np.empty_like(h) if mode == "LSTM" else None
    if c is not None:
        c[first] = cell
    extra = np.empty((steps, batch, n), dtype) if mode in ("LSTM", "GRU") else None
    bias, of_state = biases(mode, b_ih, b_hh, n, width, dtype)
    scratch = np.empty((width + PANEL) * (size + n) + (batch * width if mode == "GRU" else 0), dtype)
    whole("recurrent", "forward", x, "ppppp pppp p llllll", x, w_ih, w_hh, bias, of_state, gates, h, c, extra, scratch,
          steps, batch, size, n, MODES[mode], reverse)
    y = (h[:-1] if reverse else h[1:]).copy()
    return ((y, c[last].copy()) if mode == "LSTM" else (y,)), gates, h, c, extra


def biases(mode, b_ih, b_hh, n, width, dtype):
    """The bias of all gates, and for a GRU that of the part of n that comes from the state."""
    if b_ih is None and b_hh is None:
        return np.zeros(width, dtype), None
    both = [b for b in (b_ih, b_hh) if b is not None]
    total = np.ascontiguousarray(both[0] + both[1] if len(both) == 2 else both[0]).copy()
    if mode != "GRU":
        return total, None
    total[2 * n:] = 0 if b_ih is None else b_ih[2 * n:]
    return total, None if b_hh is None else np.ascontiguousarray(b_hh[2 * n:])


def takes_kept(F, *arrays, **attrs):
    p = LayerBackward(*arrays, **attrs)
    return (p.gates is None or p.gates.ndim == 3) and supported(*p.layer, p.grad, p.grad_cell)


@kernel("rnn_layer_backward", called=True, when=takes_kept, sample=layer_backward)
def rnn_layer_backward(F, *arrays, **attrs):
    p = LayerBackward(*arrays, **attrs)
    if p.gates is None:
        p = p.computed(partial(rnn_layer, F))
    (steps, batch, size), n, dtype = p.input.shape, p.hidden.shape[1], p.input.dtype
    x, w_ih, w_hh, grad = dense(p.input, p.w_ih, p.w_hh, p.grad)
    dg = np.empty(p.gates.shape, dtype)
    dp = np.empty(p.gates.shape, dtype) if p.mode == "GRU" else dg
    dh, dc = np.zeros((batch, n), dtype), np.zeros((batch, n), dtype)
    if p.grad_cell is not None:
        dc[...] = p.grad_cell
    dx = np.empty(x.shape, dtype) if p.needs[0] else None
    dw = np.empty(w_ih.shape, dtype) if p.needs[2] else None
    width = len(w_hh)
    scratch = np.empty((n + PANEL) * width + (width + PANEL) * max(batch, MANY) + n * width
                       + (2 * size + PANEL) * width, dtype)
    dw_hh, sums = np.empty(w_hh.shape, dtype), np.zeros((2, width))
    whole("recurrent", "backward", x, "ppp ppppp pp ppppp pp llllll",
          x, w_ih, w_hh, grad, p.gates, p.h, p.c, p.extra, dg, dp, dx, dh, dc, dw, dw_hh, scratch,
          sums, steps, batch, size, n, MODES[p.mode], p.reverse)
    db_ih = sums[0].astype(dtype)
    found = dx, dh, dw, dw_hh, db_ih, sums[1].astype(dtype) if p.mode == "GRU" else db_ih
    return (*found, dc) if p.mode == "LSTM" else found
