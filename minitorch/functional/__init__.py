"""``torch.functional``: an old place of functions of the package, which are the very same."""

from ..core.registry import FUNCTIONS

__all__ = ["align_tensors", "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes",
           "broadcast_tensors", "cartesian_prod", "cdist", "chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm",
           "pca_lowrank", "split", "stft", "svd_lowrank", "tensordot", "unique", "unique_consecutive", "unravel_index"]
__all__ = [name for name in __all__ if ("", name) in FUNCTIONS]
globals().update({name: FUNCTIONS["", name].call for name in __all__})
