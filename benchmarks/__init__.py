"""Benchmarks: ratios to PyTorch, measured in one run. ``python -m benchmarks --help``."""
