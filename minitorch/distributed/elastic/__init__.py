"""PyTorch's names around its launcher."""
