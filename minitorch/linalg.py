"""Linear algebra, as ``torch.linalg``: the functions that `minitorch/ops/linalg` publishes under that name.

Products are in `matmul.py` there, decompositions in `decompositions.py`, what is built on them in `matrices.py`;
norms are in `minitorch/ops/reductions/norms.py`.
"""

from .core.registry import FUNCTIONS
from .ops.linalg.decompositions import LinAlgError

globals().update({name: public.call for (namespace, name), public in FUNCTIONS.items() if namespace == "linalg"})
__all__ = ["LinAlgError"] + [name for namespace, name in FUNCTIONS if namespace == "linalg"]
