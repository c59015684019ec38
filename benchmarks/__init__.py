"""Benchmarks: ratios to PyTorch, measured in one run."""
