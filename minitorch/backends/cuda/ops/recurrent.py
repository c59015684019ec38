"""Recurrent layers by the CPU's kernels, written for any array module: far fewer launches than the reference's."""

from ...cpu.recurrent import recurrent, recurrent_backward
from ..backend import kernel

kernel("recurrent")(recurrent)
kernel("recurrent_backward")(recurrent_backward)
