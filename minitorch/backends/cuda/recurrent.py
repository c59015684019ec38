"""Recurrent layers by the CPU's kernels, written for any array module: far fewer launches than the reference's."""

from ..cpu.recurrent import recurrent, recurrent_backward

__all__ = ["KERNELS"]

KERNELS = {"recurrent": recurrent, "recurrent_backward": recurrent_backward}
