"""Shapes of parts, at the place of PyTorch's own: libraries that read a rank's part of a file ask here."""

from .placement_types import local_part, normalized, whole_shape

__all__ = ["compute_global_tensor_shape", "compute_local_shape_and_global_offset"]


def compute_local_shape_and_global_offset(global_shape, mesh, placements, skip_offset=False):
    """The shape of this rank's part of a tensor, and where in the whole it begins (empty with `skip_offset`)."""
    shape, offsets = local_part(global_shape, mesh, normalized(placements, mesh, len(global_shape)))
    return shape, () if skip_offset else offsets


def compute_global_tensor_shape(shape, mesh, placements):
    """The shape of the whole whose parts have `shape`, the same on each rank."""
    return whole_shape(shape, mesh, normalized(placements, mesh, len(shape)))
