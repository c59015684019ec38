"""The backends, one object for each device, and questions about libraries under PyTorch's names of the modules.

`get(device)` finds or makes a backend; `register(type, maker)` adds a kind of device in one call.
"""

from ..core import device
from ..core.backend import Backend
from ..core.device import get, is_pinned, made, register
from . import cuda, native
from .cpu.convolution.choice import convolution_method
from .switches import cudnn, mkl, mkldnn, mps, openmp

__all__ = ["Backend", "accelerator", "convolution_method", "cuda", "cudnn", "get", "is_pinned", "made", "mkl", "mkldnn",
           "mps", "native", "openmp", "register"]

register("cpu", "minitorch.backends.cpu.backend:make_cpu", current=lambda: None)
register("meta", "minitorch.backends.meta:make_meta", current=lambda: None)
MAKERS = "minitorch.backends.cuda.makers"
register("cuda", f"{MAKERS}:make_cuda", current=f"{MAKERS}:current_device")
register("sim", f"{MAKERS}:make_sim")


@device.accelerator.fill
def accelerator():
    """The backend of the GPU in use; None where there is no GPU."""
    return get("cuda") if cuda.device_count() else None


