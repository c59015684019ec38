"""Recurrent layers by the CPU's kernels, written for any array module: far fewer launches than the reference's."""

from ...cpu.recurrent import rnn_layer, rnn_layer_backward
from ..backend import kernel

kernel("rnn_layer")(rnn_layer)
kernel("rnn_layer_backward")(rnn_layer_backward)
