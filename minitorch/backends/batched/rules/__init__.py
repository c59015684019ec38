"""Batching rules written by hand, as kernels are: `rule` is their decorator (`backends/kernels.py`)."""
