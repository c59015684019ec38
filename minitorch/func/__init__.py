"""Functions of functions, ``torch.func``: gradients, Jacobians, products with them, mapping over a batch.

Arguments and results are pytrees: nested tuples, lists and dicts of tensors (`minitorch/utils/_pytree.py`).
"""

from .derivatives import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from .modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from .vmap import vmap, vmap_fallbacks

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
           "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
           "vmap_fallbacks"]
