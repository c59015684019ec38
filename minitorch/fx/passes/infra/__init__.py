"""Passes over graphs and what runs them, where PyTorch has them."""
