"""``torch.utils.cpp_extension``: extensions in C++, which are written against PyTorch's own C++ and are not built here.

Programs that build one only where it can be (``if CUDA_HOME is not None``) go on; building raises RuntimeError.
"""

__all__ = ["BuildExtension", "CUDAExtension", "CppExtension", "include_paths", "is_ninja_available",
           "library_paths", "load", "load_inline"]

CUDA_HOME = ROCM_HOME = CUDNN_HOME = None
IS_HIP_EXTENSION = False


def load(name, *args, **kwargs):
    """RuntimeError: extensions of PyTorch are not built."""
    raise RuntimeError(f"the extension {name!r} is written against PyTorch's C++ and cannot be built for minitorch: "
                       "use the program's way in Python, or write a backends.cuda kernel (CONTRIBUTING.md)")


CppExtension = CUDAExtension = load_inline = load


class BuildExtension:
    """RuntimeError, as `load`, when it is made: extensions of PyTorch are not built."""

    def __init__(self, *args, **kwargs):
        load("of this setup.py")

    @classmethod
    def with_options(cls, **options):
        """The class: the options have nothing to change."""
        return cls


def include_paths(device_type="cpu"):
    """No folders: there are no headers."""
    return []


library_paths = include_paths


def is_ninja_available():
    """False: nothing is built with ninja."""
    return False
