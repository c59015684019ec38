"""Batching rules written by hand, as kernels are: `rule` is their decorator (see `minitorch/backends/kernels.py`)."""
