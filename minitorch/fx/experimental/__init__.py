"""Parts of PyTorch that are built on `fx`: `optimization` and `proxy_tensor`."""
