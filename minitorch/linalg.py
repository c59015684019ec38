"""Linear algebra, as ``torch.linalg``: what the op table publishes under that name.

Products are in `minitorch/ops/matmul.py`, decompositions and what is built on them in `minitorch/ops/linalg.py` and
`minitorch/ops/decompositions.py`, norms in `minitorch/ops/norms.py`.
"""

from .op import FUNCTIONS
from .ops.decompositions import LinAlgError

globals().update({name: public.call for (namespace, name), public in FUNCTIONS.items() if namespace == "linalg"})
__all__ = ["LinAlgError"] + [name for namespace, name in FUNCTIONS if namespace == "linalg"]
