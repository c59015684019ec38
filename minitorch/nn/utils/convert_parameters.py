"""Parameters as one flat vector, and back."""

from ...core.tensor import Tensor
from ...ops.shapes.join import cat


def _check_one_device(parameters):
    devices = {str(p.device) for p in parameters}
    if len(devices) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported: "
                        + ", ".join(sorted(devices)))


def parameters_to_vector(parameters):
    """All elements of an iterable of tensors, in order, as a 1-D tensor (a copy, recorded)."""
    parameters = list(parameters)
    _check_one_device(parameters)
    return cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec, parameters):
    """Make pieces of the 1-D tensor ``vec`` the data of the parameters, in order; they share its memory."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    parameters = list(parameters)
    _check_one_device(parameters)
    start = 0
    for p in parameters:
        p.data = vec[start:start + p.numel()].view_as(p).data
        start += p.numel()
