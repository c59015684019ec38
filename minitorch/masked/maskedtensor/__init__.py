"""Masked tensors, where PyTorch has them."""
