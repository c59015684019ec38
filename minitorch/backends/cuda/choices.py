"""Choices among PyTorch's kernels of attention and libraries for matrices, as ``torch.backends.cuda`` has them.

They are kept and change nothing: attention on a GPU is one kernel of this library.
"""

from contextlib import contextmanager

__all__ = ["cudnn_sdp_enabled", "enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp",
           "flash_sdp_enabled", "is_flash_attention_available", "math_sdp_enabled", "mem_efficient_sdp_enabled",
           "preferred_blas_library", "preferred_linalg_library", "sdp_kernel"]

_state = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def enable_flash_sdp(enabled):
    """Kept: `flash_sdp_enabled` returns it."""
    _state["flash"] = bool(enabled)


def flash_sdp_enabled():
    """The flag that `enable_flash_sdp` was given."""
    return _state["flash"]


def enable_mem_efficient_sdp(enabled):
    """Kept: `mem_efficient_sdp_enabled` returns it."""
    _state["mem_efficient"] = bool(enabled)


def mem_efficient_sdp_enabled():
    """The flag that `enable_mem_efficient_sdp` was given."""
    return _state["mem_efficient"]


def enable_math_sdp(enabled):
    """Kept: `math_sdp_enabled` returns it."""
    _state["math"] = bool(enabled)


def math_sdp_enabled():
    """The flag that `enable_math_sdp` was given."""
    return _state["math"]


def enable_cudnn_sdp(enabled):
    """Kept: `cudnn_sdp_enabled` returns it."""
    _state["cudnn"] = bool(enabled)


def cudnn_sdp_enabled():
    """The flag that `enable_cudnn_sdp` was given."""
    return _state["cudnn"]


@contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """A context with these choices."""
    before = dict(_state)
    _state.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield {}
    finally:
        _state.update(before)


def is_flash_attention_available():
    """False: PyTorch's kernel of that name is not part of this library."""
    return False


def preferred_linalg_library(backend=None):
    """"default": there is no choice. RuntimeError for unknown names."""
    if backend not in (None, "default", "cusolver", "magma"):
        raise RuntimeError(f"Unknown input value. Choose from: default, cusolver, magma; got {backend!r}")
    return "default"


def preferred_blas_library(backend=None):
    """"default": there is no choice. RuntimeError for unknown names."""
    if backend not in (None, "default", "cublas", "cublaslt", "hipblaslt", "ck"):
        raise RuntimeError(f"Unknown input value. Choose from: default, cublas, cublaslt; got {backend!r}")
    return "default"
