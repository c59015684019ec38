"""Recurrent layers, ``RNN``, ``LSTM`` and ``GRU``, and their cells.

A layer over sequences of one length is one op, `minitorch/ops/nn/recurrent.py`. Everything else (packed sequences,
projections, 16-bit floats, autocast) runs over time in a plain loop of its steps.
Alphabet: T time, B batch, I input_size, H hidden_size, D directions, L layers.
"""

import math

from ...amp.autocast_mode import get_autocast_dtype, is_autocast_enabled
from ...explain.callers import warn
from ...ops.creation import create
from ...ops.creation.create import empty
from ...ops.nn.recurrent import GATES, STEPS, gru_step, lstm_step, relu_step, rnn_layer, tanh_step
from ...ops.shapes.join import cat, stack
from .. import functional as F
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

__all__ = ["RNNBase", "RNN", "LSTM", "GRU", "RNNCellBase", "RNNCell", "LSTMCell", "GRUCell"]


def _over_time(step, gates, batch_sizes, initial, reverse):
    """Run ``step(gates[t], state)`` through time, or backwards; ``(outputs by time, last states)``.

    ``batch_sizes[t]`` sequences are alive at time t, the longest first. Forwards the state shrinks as sequences end;
    backwards it grows as they begin, from ``initial``, a tuple of (B, H).
    """
    times = range(len(gates))
    outputs, ended = [None] * len(gates), []
    state = initial
    if reverse:
        times = reversed(times)
        state = tuple(s[:batch_sizes[-1]] for s in initial)
    for t in times:
        alive, have = batch_sizes[t], state[0].size(0)
        if alive < have:
            ended.append(tuple(s[alive:] for s in state))
            state = tuple(s[:alive] for s in state)
        elif alive > have:
            state = tuple(cat([s, s0[have:alive]]) for s, s0 in zip(state, initial))
        state = step(gates[t], state)
        outputs[t] = state[0]
    if ended:
        state = tuple(cat(parts) for parts in zip(state, *reversed(ended)))
    return outputs, state


class RNNBase(Module):
    """Base of ``RNN``, ``LSTM`` and ``GRU``.

    Parameters of layer k: ``weight_ih_lk`` (G H, inputs), ``weight_hh_lk`` (G H, H), ``bias_ih_lk``, ``bias_hh_lk``
    (G H,), G the number of gates, and ``weight_hr_lk`` (proj_size, H) with projections; ``_reverse`` follows in the
    other direction. All start uniform in ``+-1/sqrt(H)``.
    """

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
                 device=None, dtype=None) -> None:
        super().__init__()
        self._check_types(input_size=(input_size, int), hidden_size=(hidden_size, int), bias=(bias, bool),
                          batch_first=(batch_first, bool))
        self._check_arguments(mode, input_size, hidden_size, num_layers, dropout, proj_size)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        directions = 2 if bidirectional else 1
        gates, output_size = GATES[mode] * hidden_size, proj_size or hidden_size
        self._all_weights = []
        for layer in range(num_layers):
            width = input_size if layer == 0 else output_size * directions
            shapes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, width), "weight_hh": (gates, output_size)}
            if bias:
                shapes.update(bias_ih=(gates,), bias_hh=(gates,))
            if proj_size:
                shapes["weight_hr"] = (proj_size, hidden_size)
            for suffix in ("", "_reverse")[:directions]:
                names = [f"{kind}_l{layer}{suffix}" for kind in shapes]
                for name, shape in zip(names, shapes.values()):
                    setattr(self, name, Parameter(empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(names)
        self.reset_parameters()

    @staticmethod
    def _check_types(**arguments):
        for name, (value, kind) in arguments.items():
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")

    @staticmethod
    def _check_arguments(mode, input_size, hidden_size, num_layers, dropout, proj_size):
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element "
                             "being zeroed")
        if dropout > 0 and num_layers == 1:
            warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                 f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}")
        for name, value in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
            if value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in GATES:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        if proj_size and mode != "LSTM":
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")

    def reset_parameters(self) -> None:
        """Draw the parameters again."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def all_weights(self):
        """The parameters, a list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self):
        return [weight for weights in self.all_weights for weight in weights]

    def flatten_parameters(self) -> None:
        """Do nothing; PyTorch gathers the weights in one piece of memory for cuDNN here."""

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        for name, default in (("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False),
                              ("dropout", 0), ("bidirectional", False)):
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text

    # -- forward ----------------------------------------------------------------------------------------------------
    def forward(self, input, hx=None):
        """``input`` (T, B, I), or (B, T, I) with ``batch_first``, (T, I), or packed; ``hx`` (D L, B, H), zeros if None.

        Returns the last layer's states over time (T, B, D H), and the states after the last step. An LSTM's ``hx``
        and states are pairs (h, c).
        """
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            tensor = " tensor" if self.mode.startswith("RNN") else ""
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D{tensor} instead")
        batched = input.dim() == 3
        if hx is not None:
            hx = self._as_tuple(hx)
            self._check_hidden_dims(hx, batched)
        if not batched:
            input = input.unsqueeze(1)
            hx = None if hx is None else tuple(h.unsqueeze(1) for h in hx)
        elif self.batch_first:
            input = input.transpose(0, 1)
        self._check_input(input, 3)
        T, B = input.size(0), input.size(1)
        if T == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        output, state = self._run(input, [B] * T, self._initial(hx, B, input, None))
        if not batched:
            output, state = output.squeeze(1), tuple(s.squeeze(1) for s in state)
        elif self.batch_first:
            output = output.transpose(0, 1)
        return output, self._as_given(state)

    def _forward_packed(self, packed, hx):
        data, batch_sizes, sorted_indices, unsorted_indices = packed
        self._check_input(data, 2)
        sizes = batch_sizes.tolist()
        hx = None if hx is None else self._as_tuple(hx)
        output, state = self._run(data, sizes, self._initial(hx, sizes[0], data, sorted_indices), packed=True)
        if unsorted_indices is not None:
            state = tuple(s.index_select(1, unsorted_indices) for s in state)
        return PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices), self._as_given(state)

    def _run(self, input, batch_sizes, initial, packed=False):
        """All layers: ``(output, states)``; ``input`` is (T, B, I), or (sum of batch_sizes, I) if packed."""
        directions = 2 if self.bidirectional else 1
        last = []
        for layer in range(self.num_layers):
            if layer > 0 and self.dropout > 0 and self.training:
                input = F.dropout(input, self.dropout, True)
            outputs = []
            for direction in range(directions):
                k = layer * directions + direction
                output, state = self._run_direction(k, input, batch_sizes, tuple(s[k] for s in initial), packed)
                outputs.append(output)
                last.append(state)
            input = outputs[0] if directions == 1 else cat(outputs, -1)
        return input, tuple(stack(states) for states in zip(*last))

    def _run_direction(self, k, input, batch_sizes, initial, packed):
        weights = dict(zip((name.split("_l")[0] for name in self._all_weights[k]), self.all_weights[k]))
        reverse = self._all_weights[k][0].endswith("_reverse")
        w_ih, b_ih = weights["weight_ih"], weights.get("bias_ih")
        w_hh, b_hh, w_hr = weights["weight_hh"], weights.get("bias_hh"), weights.get("weight_hr")
        kind = input.device.type
        if is_autocast_enabled(kind):                      # as the libraries that PyTorch calls: oneDNN and cuDNN
            low = get_autocast_dtype(kind)
            if kind != "cpu" or self.mode == "LSTM" and not packed and w_hr is None:
                initial = tuple(h.to(low) for h in initial)
        elif not packed and w_hr is None and input.dtype.itemsize >= 4:
            output, *cell = rnn_layer(input, initial[0], w_ih, w_hh, b_ih, b_hh, *initial[1:] or (None,), self.mode,
                                       reverse)
            return output, (output[0 if reverse else -1], *cell)
        gates = F.linear(input, w_ih, b_ih)
        gates = gates.split(batch_sizes) if packed else gates.unbind(0)
        cell = STEPS[self.mode]
        steps, state = _over_time(lambda x, state: cell(x, state, w_hh, b_hh, w_hr), gates, batch_sizes, initial,
                                  reverse)
        return cat(steps) if packed else stack(steps), state

    # -- states -----------------------------------------------------------------------------------------------------
    def _as_tuple(self, hx):
        return tuple(hx) if self.mode == "LSTM" else (hx,)

    def _as_given(self, state):
        return state if self.mode == "LSTM" else state[0]

    def _initial(self, hx, batch, like, sorted_indices):
        """The initial states as a tuple of (D L, B, H): zeros, or ``hx`` in the order of the packed sequences."""
        rows = self.num_layers * (2 if self.bidirectional else 1)
        widths = [self.proj_size or self.hidden_size] + [self.hidden_size] * (self.mode == "LSTM")
        if hx is None:
            return tuple(create.zeros(rows, batch, width, dtype=like.dtype, device=like.device)
                         for width in widths)
        for i, (h, width) in enumerate(zip(hx, widths)):
            if tuple(h.size()) != (rows, batch, width):
                which = f"hidden[{i}]" if self.mode == "LSTM" else "hidden"
                raise RuntimeError(f"Expected {which} size {(rows, batch, width)}, got {list(h.size())}")
        return hx if sorted_indices is None else tuple(h.index_select(1, sorted_indices) for h in hx)

    def _check_hidden_dims(self, hx, batched):
        want = 3 if batched else 2
        if any(h.dim() != want for h in hx):
            if len(hx) == 1:
                names, got = "hx", f"{hx[0].dim()}-D tensor"
            else:
                names, got = "hx and cx", f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            raise RuntimeError(f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, {names} should also be "
                               f"{want}-D but got {got}")

    def _check_input(self, input, dims):
        dtype = self._parameters[self._all_weights[0][0]].dtype if self._parameters else input.dtype
        if input.dtype is not dtype and not is_autocast_enabled(input.device.type):
            raise ValueError(f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert input: "
                             f"input.to({dtype}), or convert model: model.to({input.dtype})")
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, "
                               f"got {input.size(-1)}")


class RNN(RNNBase):
    """``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)``, or relu; arguments: input_size, hidden_size, num_layers=1,
    nonlinearity="tanh", then as in ``RNNBase``.

    >>> import minitorch
    >>> from minitorch import nn
    >>> output, h = nn.RNN(10, 20, 2)(minitorch.zeros(5, 3, 10))
    >>> output.shape, h.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, *args, **kwargs):
        if len(args) > 3:
            self.nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        modes = {"tanh": "RNN_TANH", "relu": "RNN_RELU"}
        if self.nonlinearity not in modes:
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(modes[self.nonlinearity], *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory; arguments and shapes as in ``RNNBase``, gates in the order i, f, g, o.

    ``proj_size`` makes the states h of that size, multiplied by ``weight_hr``.
    """

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """Gated recurrent units; arguments and shapes as in ``RNNBase``, gates in the order r, z, n."""

    def __init__(self, *args, **kwargs):
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(Module):
    """Base of the cells: ``weight_ih`` (G H, I), ``weight_hh`` (G H, H), ``bias_ih`` and ``bias_hh`` (G H,)."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device=None,
                 dtype=None) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias

        def parameter(*shape):
            return Parameter(empty(shape, device=device, dtype=dtype))

        self.weight_ih = parameter(num_chunks * hidden_size, input_size)
        self.weight_hh = parameter(num_chunks * hidden_size, hidden_size)
        self.register_parameter("bias_ih", parameter(num_chunks * hidden_size) if bias else None)
        self.register_parameter("bias_hh", parameter(num_chunks * hidden_size) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters again: uniform in ``+-1/sqrt(H)``."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def _step(self, step, input, hx, states):
        """One step from ``input`` (B, I) or (I,) and ``hx``, a tuple of ``states`` tensors (B, H) or (H,), or None."""
        name = self._get_name()
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for i, h in enumerate(() if hx is None else hx):
            if h.dim() not in (1, 2):
                which = f"hx[{i}]" if states > 1 else "hidden"
                raise ValueError(f"{name}: Expected {which} to be 1D or 2D, got {h.dim()}D instead")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
            hx = None if hx is None else tuple(h.unsqueeze(0) for h in hx)
        if input.size(1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {self.input_size}")
        if hx is None:
            zeros = create.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
            hx = (zeros,) * states
        for i, h in enumerate(hx):
            if h.size(0) != input.size(0):
                raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{i} batch size {h.size(0)}")
            if h.size(1) != self.hidden_size:
                raise RuntimeError(f"hidden{i} has inconsistent hidden_size: got {h.size(1)}, "
                                   f"expected {self.hidden_size}")
        new = step(F.linear(input, self.weight_ih, self.bias_ih), hx, self.weight_hh, self.bias_hh)
        return new if batched else tuple(h.squeeze(0) for h in new)


class RNNCell(RNNCellBase):
    """One step of an ``RNN``: input (B, I) or (I,) and state (B, H) or (H,) -> new state."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device=None,
                 dtype=None) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        steps = {"tanh": tanh_step, "relu": relu_step}
        if self.nonlinearity not in steps:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(steps[self.nonlinearity], input, None if hx is None else (hx,), 1)[0]


class LSTMCell(RNNCellBase):
    """One step of an ``LSTM``: input (B, I) or (I,) and states (h, c) -> new (h, c)."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        return self._step(lstm_step, input, hx, 2)


class GRUCell(RNNCellBase):
    """One step of a ``GRU``: input (B, I) or (I,) and state (B, H) or (H,) -> new state."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        return self._step(gru_step, input, None if hx is None else (hx,), 1)[0]
