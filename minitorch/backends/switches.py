"""``torch.backends.cudnn`` and its like: switches that programs set, and questions they ask, about other libraries.

None of these libraries is used here: `is_available` says so, and settings are kept but change nothing.
"""


class Switches:
    """A library that is not used: not available, with settings that can be set and read."""

    def __init__(self, name, **settings):
        self.__dict__.update(settings, name=name)

    def is_available(self):
        """Whether the library is used: no."""
        return False

    is_built = is_available

    def version(self):
        """The version that is used: none."""
        return None

    def __repr__(self):
        return f"<switches of {self.name}, which is not used>"


cudnn = Switches("cuDNN", enabled=False, benchmark=False, deterministic=True, allow_tf32=False)
cuda = Switches("CUDA libraries", matmul=Switches("cuBLAS", allow_tf32=False,
                                                  allow_fp16_reduced_precision_reduction=False))
mps = Switches("Metal")
mkl = Switches("MKL")
mkldnn = Switches("oneDNN", enabled=False)
openmp = Switches("OpenMP")
