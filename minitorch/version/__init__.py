"""``torch.version``: the version of PyTorch whose names and behaviour these are, and of the tools it was built with.

``minitorch.__version__`` is the version of this library. A program that is run in PyTorch's place
(``python -m minitorch script.py``) sees `__version__` of this module as ``torch.__version__``.
"""

from ..torch_version import TorchVersion

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

__version__ = TorchVersion("2.13.0+minitorch")
debug = False
git_version = "Unknown"
cuda = hip = rocm = xpu = None                             # CuPy brings its own CUDA, unknown before it is loaded
