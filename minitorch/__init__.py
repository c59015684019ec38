"""minitorch: PyTorch's eager API in pure Python over NumPy and CuPy, small enough to read in a weekend."""

import warnings

# Division by zero, overflow and the like give inf and NaN, silently, as in PyTorch; NumPy warns of them, and the
# warnings of this package's own calls, not of its users', are switched off.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"minitorch\.")

from . import autograd, backends, call, dtypes, ops, random  # noqa: F401
from .autograd.grad_mode import (enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad,
                                 set_grad_enabled)
from .device import device
from .dtypes import can_cast, dtype, finfo, get_default_dtype, iinfo, promote_types, result_type, set_default_dtype
from .generator import Generator, default_generator
from .op import FUNCTIONS
from .tensor import (Size, Tensor, channels_last, channels_last_3d, contiguous_format, layout, memory_format,
                     preserve_format, strided)

__version__ = "0.1.0"

globals().update({name: getattr(dtypes, name) for name in dtypes.NAMES})
globals().update({name: public.call for (namespace, name), public in FUNCTIONS.items() if not namespace})
