"""Tests that compare minitorch with PyTorch; skipped where PyTorch is not installed."""
