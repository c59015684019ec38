"""Nested tensors themselves, where PyTorch has them: files know the classes by these places."""
