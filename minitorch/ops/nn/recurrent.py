"""Op definitions: recurrent layers (LSTM, GRU, plain RNN) over a whole sequence, as one op.

The reference takes the steps one by one (`step_by_step`), and its gradients are those of that loop; so does a backward
pass that is itself recorded, so second derivatives need no formula. Kernels take all steps at once.

Alphabet: T time, B batch, I input size, H hidden size, G gates (LSTM: i, f, g, o; GRU: r, z, n; RNN: one).
"""

from typing import NamedTuple

from ...autograd import api
from ...core.grad_mode import grad_mode, recording
from ...core.op import Other
from ...core.recording import recorded
from ...core.tensor import wrap
from ..define import op
from ..linalg.linear import linear
from ..shapes.join import stack

GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


# ---- one step on tensors ------------------------------------------------------------------------------------
def lstm_step(gates, state, w_hh, b_hh, w_hr=None):
    """One step of an LSTM (Hochreiter & Schmidhuber 1997): ``gates`` (B, 4 H) come from the input, state is (h, c)."""
    h, c = state
    i, f, g, o = (gates + linear(h, w_hh, b_hh)).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    return (h if w_hr is None else linear(h, w_hr)), c


def gru_step(gates, state, w_hh, b_hh, w_hr=None):
    """One step of a GRU (Cho et al. 2014): ``gates`` (B, 3 H) come from the input, state is (h,)."""
    (h,) = state
    r_i, z_i, n_i = gates.chunk(3, 1)
    r_h, z_h, n_h = linear(h, w_hh, b_hh).chunk(3, 1)
    z = (z_i + z_h).sigmoid()
    n = (n_i + (r_i + r_h).sigmoid() * n_h).tanh()
    return (n + z * (h - n),)


def tanh_step(gates, state, w_hh, b_hh, w_hr=None):
    """One step of a plain RNN: ``tanh(gates + W h + b)``."""
    return ((gates + linear(state[0], w_hh, b_hh)).tanh(),)


def relu_step(gates, state, w_hh, b_hh, w_hr=None):
    """One step of a plain RNN: ``relu(gates + W h + b)``."""
    return ((gates + linear(state[0], w_hh, b_hh)).relu(),)


STEPS = {"LSTM": lstm_step, "GRU": gru_step, "RNN_TANH": tanh_step, "RNN_RELU": relu_step}


def step_by_step(input, h, w_ih, w_hh, b_ih, b_hh, c, mode, reverse):
    """`rnn_layer` on tensors by a plain loop, which is recorded op by op."""
    gates, state = linear(input, w_ih, b_ih), (h,) if c is None else (h, c)
    outputs = [None] * len(gates)
    for t in reversed(range(len(gates))) if reverse else range(len(gates)):
        state = STEPS[mode](gates[t], state, w_hh, b_hh)
        outputs[t] = state[0]
    return (stack(outputs), *state[1:])


# ---- definitions --------------------------------------------------------------------------------------------
def recurrent_grads(F, g, needs, input, hidden, w_ih, w_hh, b_ih, b_hh, cell, gates, h, c, extra, mode,
                    reverse):
    """The derivatives of `rnn_layer`."""
    grad, grad_cell = g if mode == "LSTM" else (*g, None)
    found = F.rnn_layer_backward(input, hidden, w_ih, w_hh, b_ih, b_hh, cell, grad, grad_cell, gates, h, c, extra,
                                 mode=mode, reverse=reverse, needs=needs)
    return found if mode == "LSTM" else (*found, None)


def sample(d):
    mode, n, batch = d.choice(list(GATES)), d.int(1, 2), d.int(1, 2)
    rows, size = GATES[mode] * n, 1 if n == 2 else d.int(1, 2)
    biases = [d.array((rows,)), d.array((rows,))] if d.bool() else [None, None]
    state = [d.array((batch, n)), d.array((batch, n))]
    inputs = [d.array((2, batch, size)), state[0], d.array((rows, size)), d.array((rows, n)), *biases,
              state[1] if mode == "LSTM" else None]
    return inputs, dict(mode=mode, reverse=d.bool())


def sample_backward(d):
    inputs, attrs = sample(d)
    (batch, n), cell = inputs[1].shape, inputs[6]
    grads = [d.array((2, batch, n)), cell if cell is None else d.array((batch, n))]
    return [*inputs, *grads], attrs | dict(needs=tuple([x is not None for x in inputs]))


def recurrent_flops(out, input, hidden, w_ih, w_hh, *rest):
    """The products with both matrices, for every step of every sequence."""
    return 2 * input.shape[0] * input.shape[1] * (int(w_ih.size) + int(w_hh.size))


LAYER = "[t] b [i], b [h], [g i], [g h], [g], [g], b [h]"  # index notation of the inputs of a layer


def layer_dims(mode):
    return f"{LAYER} -> [t] b [h]{', b [h]' if mode == 'LSTM' else ''}"


def layer_backward_dims(mode):
    """That without what the forward pass kept. A gradient that is not needed is None."""
    found = LAYER if mode == "LSTM" else LAYER.rpartition(",")[0]
    return f"{LAYER}, [t] b [h], b [h] -> {found}"


@op(dims=layer_dims,
    node_name="RecurrentBackward0", promotion="floating", namespace=None, flops=recurrent_flops,
    outputs="list", keeps=("gates", "h", "c", "extra"), sample=sample, joint=recurrent_grads)
def rnn_layer(F, input, hidden, w_ih, w_hh, b_ih=None, b_hh=None, cell=None, *, mode="LSTM", reverse=False):
    """One layer in one direction over a whole sequence: the states h (T, B, H); for an LSTM also the last cell state.

    `input` (T, B, I), `hidden` and `cell` (B, H), `w_ih` (G H, I), `w_hh` (G H, H), biases (G H). `mode` is "LSTM",
    "GRU", "RNN_TANH" or "RNN_RELU"; `reverse` goes through time backwards.
    """
    inputs = [x if x is None else wrap(x, F) for x in (input, hidden, w_ih, w_hh, b_ih, b_hh, cell)]
    with recording(False):
        outputs = tuple([x.array for x in step_by_step(*inputs, mode, reverse)])
    return outputs, None, None, None, None


class LayerBackward(NamedTuple):
    """The arguments of `rnn_layer_backward`, which its kernels take together."""

    input: object
    hidden: object
    w_ih: object
    w_hh: object
    b_ih: object = None
    b_hh: object = None
    cell: object = None
    grad: object = None                                    # of the states h
    grad_cell: object = None                               # of the last cell state
    gates: object = None                                   # from here on: kept by the forward pass
    h: object = None
    c: object = None
    extra: object = None
    mode: str = "LSTM"
    reverse: bool = False
    needs: tuple = ()                                      # for which inputs gradients are asked

    @property
    def layer(self):
        """The inputs of `rnn_layer`."""
        return self[:7]

    def computed(self, rnn_layer):
        """The same with what `rnn_layer`, a kernel, keeps for its own backward pass."""
        _, gates, h, c, extra = rnn_layer(*self.layer, mode=self.mode, reverse=self.reverse)
        return self._replace(gates=gates, h=h, c=c, extra=extra)


@op(dims=layer_backward_dims,
    promotion=None, namespace=None, outputs="list", sample=sample_backward, tangent="reference")
def rnn_layer_backward(F, input, hidden, w_ih, w_hh, b_ih=None, b_hh=None, cell=None, grad=None, grad_cell=None,
                       gates: Other = None, h: Other = None, c: Other = None, extra: Other = None, *, mode="LSTM",
                       reverse=False, needs=()):
    """The gradients of `rnn_layer`'s inputs from those of its outputs; kernels take what the forward pass kept."""
    arrays = input, hidden, w_ih, w_hh, b_ih, b_hh, cell, grad, grad_cell
    tensors = [x if x is None else wrap(x, F).requires_grad_(need) for x, need in zip(arrays, (*needs, False, False))]
    with recording(True):
        found = recorded_backward(*tensors, mode=mode, reverse=reverse, needs=needs)
    return tuple([x if x is None else x.array for x in found])


def recorded_backward(*inputs, mode, reverse, needs):
    """`rnn_layer_backward` on tensors, as the gradient of a plain loop, so that it can be differentiated again."""
    *inputs, grad, grad_cell = inputs[:9]
    needs = [need and x is not None for x, need in zip(inputs, needs)]
    is_recorded = grad_mode.enabled                        # in a pass of its own: not where gradients are batched
    with recording(True):
        again = [x if not need else x.view_as(x) if x.needs_grad else x.detach().requires_grad_()
                 for x, need in zip(inputs, needs)]        # graph nodes of their own
        outputs = zip(step_by_step(*again, mode, reverse), (grad, grad_cell))
        outputs, grads = zip(*[(y, g) for y, g in outputs if g is not None])
    live = [x for x, need in zip(again, needs) if need]
    found = iter(api.grad(outputs, live, grads, create_graph=is_recorded, materialize_grads=True))
    return tuple([next(found) if need else None for need in (needs if mode == "LSTM" else needs[:-1])])


recorded.rnn_layer_backward = staticmethod(recorded_backward)    # type: ignore[attr-defined]
