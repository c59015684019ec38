"""Parts of PyTorch that are built on `fx`: `optimization`, `proxy_tensor`, `symbolic_shapes`."""
