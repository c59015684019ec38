"""What PyTorch builds on `fx`, as far as it is here: `optimization`."""
