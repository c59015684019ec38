"""Normalisation layers: batch and instance norms (with running statistics), group, layer, RMS and local response."""

import numbers

from ...core.dtypes import long
from ...core.registry import guests, process_group_place
from ...ops.creation import create
from ...ops.creation.create import zeros
from ...ops.nn.norm import count_batch
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedBuffer, UninitializedParameter
from .lazy import LazyVariant
from .module import Module

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d",
           "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
           "LazyInstanceNorm3d", "GroupNorm", "LayerNorm", "RMSNorm", "LocalResponseNorm", "CrossMapLRN2d",
           "SyncBatchNorm"]


class _Affine(Module):
    """The weight and bias that follow a normalisation; either may be absent."""

    def _make_affine(self, shape, weight: bool, bias: bool, device, dtype) -> None:
        for name, wanted in (("weight", weight), ("bias", bias)):
            self.register_parameter(name, Parameter(create.empty(shape, device=device, dtype=dtype))
                                    if wanted else None)

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class _NormBase(_Affine):
    """Base of batch and instance norms: ``weight`` and ``bias`` (num_features,) if ``affine``, and, if
    ``track_running_stats``, the buffers ``running_mean``, ``running_var`` and ``num_batches_tracked``."""

    _version = 2

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device=None, dtype=None, *, bias: bool = True) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats

        def empty(*shape):
            return create.empty(*shape, device=device, dtype=dtype)

        self._make_affine(num_features, affine, affine and bias, device, dtype)
        self.register_buffer("running_mean", empty(num_features) if track_running_stats else None)
        self.register_buffer("running_var", empty(num_features) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", zeros((), dtype=long, device=device)
                             if track_running_stats else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the statistics seen so far: mean 0, variance 1."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Set the weight to 1, the bias to 0, and forget the statistics."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input):
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        version = local_metadata.get("version", None)
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            # Version 1 did not count batches.
            state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class _BatchNorm(_NormBase):
    """The forward pass that the batch norms share."""

    def forward(self, input):
        self._check_input_dim(input)
        average_factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            count_batch(self.num_batches_tracked)
            if self.momentum is None:
                average_factor = 1.0 / float(self.num_batches_tracked)
        use_batch = self.training or (self.running_mean is None and self.running_var is None)
        update = not self.training or self.track_running_stats
        return F.batch_norm(input, self.running_mean if update else None, self.running_var if update else None,
                            self.weight, self.bias, use_batch, average_factor, self.eps)


class _Dims1d:
    def _check_input_dim(self, input):
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class _Dims2d:
    def _check_input_dim(self, input):
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class _Dims3d:
    def _check_input_dim(self, input):
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class BatchNorm1d(_Dims1d, _BatchNorm):
    """Batch norm of (N, C) or (N, C, L), per channel: see ``BatchNorm2d``."""


class BatchNorm2d(_Dims2d, _BatchNorm):
    """Batch norm of (N, C, H, W): ``(x - mean) / sqrt(var + eps) * weight + bias`` per channel. Ioffe & Szegedy 2015.

    In training mean and variance are the batch's, and ``running_mean`` and ``running_var`` (the unbiased one) move
    towards them by ``momentum``; with ``momentum=None`` they are the plain average over all batches. In eval these
    running statistics are used, or the batch's with ``track_running_stats=False``.
    """


class BatchNorm3d(_Dims3d, _BatchNorm):
    """Batch norm of (N, C, D, H, W), per channel: see ``BatchNorm2d``."""


class SyncBatchNorm(_BatchNorm):
    """Batch norm of (N, C, ...) with mean and variance over the batches of all ranks of `process_group` (None: all).

    In eval, and where there is one rank, as ``BatchNorm2d``. It works on every device (PyTorch's on GPUs only).
    """

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, process_group=None, device=None, dtype=None, *,
                 bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def forward(self, input):
        if not (self.training and process_group_place() and guests.has_peers(self.process_group)):
            return super().forward(input)
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.track_running_stats:
            count_batch(self.num_batches_tracked)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked)
        kept = (self.running_mean, self.running_var) if self.track_running_stats else (None, None)
        return guests.sync_batch_norm(input, *kept, self.weight, self.bias, factor, self.eps, self.process_group)

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """`module` with a SyncBatchNorm in the place of each batch norm, with its parameters and statistics."""
        made = module
        if isinstance(module, _BatchNorm) and not isinstance(module, cls):
            made = cls(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats,
                       process_group, bias=getattr(module, "bias", None) is not None)
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
                setattr(made, name, getattr(module, name, None))
            made.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


class _InstanceNorm(_NormBase):
    """The forward pass that the instance norms share."""

    spatial_dims: int

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
                 track_running_stats: bool = False, device=None, dtype=None, *, bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _check_input_dim(self, input):
        n = self.spatial_dims
        if input.dim() not in (n + 1, n + 2):
            raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)")

    def forward(self, input):
        self._check_input_dim(input)
        channel_dim = input.dim() - self.spatial_dims - 1
        if input.size(channel_dim) != self.num_features and self.affine:
            raise ValueError(f"expected input's size at dim={channel_dim} to match num_features "
                             f"({self.num_features}), but got: {input.size(channel_dim)}.")
        batched = input if channel_dim == 1 else input.unsqueeze(0)
        output = F.instance_norm(batched, self.running_mean, self.running_var, self.weight, self.bias,
                                 self.training or not self.track_running_stats,
                                 self.momentum if self.momentum is not None else 0.0, self.eps)
        return output if channel_dim == 1 else output.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Instance norm of (N, C, L) or (C, L), per sample and channel: see ``InstanceNorm2d``."""

    spatial_dims = 1


class InstanceNorm2d(_InstanceNorm):
    """Instance norm of (N, C, H, W) or (C, H, W): ``(x - mean) / sqrt(var + eps) * weight + bias``, mean and variance
    per sample and channel: Ulyanov et al. 2016.

    By default without parameters and without running statistics; with ``track_running_stats`` those serve in eval.
    """

    spatial_dims = 2


class InstanceNorm3d(_InstanceNorm):
    """Instance norm of (N, C, D, H, W) or (C, D, H, W), per sample and channel: see ``InstanceNorm2d``."""

    spatial_dims = 3


class _LazyNormBase(LazyVariant):
    """Takes ``num_features`` from dimension 1 of the first input."""

    def __init__(self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *,
                 bias: bool = True) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = zeros((), dtype=long, device=device)

    def reset_parameters(self) -> None:
        """Set the initial values, if the shapes are known already."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input) -> None:
        """Set the shapes from ``input``."""
        self.num_features = input.shape[1]
        if not self.has_uninitialized_params():
            return
        for tensor in (self.weight, self.bias, self.running_mean, self.running_var):
            if tensor is not None:
                tensor.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """``BatchNorm1d`` that takes ``num_features`` from its first input."""


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """``BatchNorm2d`` that takes ``num_features`` from its first input."""


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """``BatchNorm3d`` that takes ``num_features`` from its first input."""


class LazyInstanceNorm1d(_LazyNormBase, InstanceNorm1d):
    """``InstanceNorm1d`` that takes ``num_features`` from its first input."""


class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d):
    """``InstanceNorm2d`` that takes ``num_features`` from its first input."""


class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d):
    """``InstanceNorm3d`` that takes ``num_features`` from its first input."""


class GroupNorm(_Affine):
    """Mean and variance over groups of channels and all positions of a sample: Wu & He 2018. Shapes as the input.

    ``weight`` and ``bias`` are (num_channels,), if ``affine``.
    """

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device=None,
                 dtype=None, *, bias: bool = True) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine

        self._make_affine(num_channels, affine, affine and bias, device, dtype)
        self.reset_parameters()

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
                f"bias={self.bias is not None}")


def _shape(normalized_shape):
    return (normalized_shape,) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)


class LayerNorm(_Affine):
    """Mean and variance over the last dimensions, ``normalized_shape``: Ba et al. 2016.

    ``weight`` and ``bias`` have that shape, if ``elementwise_affine``.
    """

    def __init__(self, normalized_shape, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
                 device=None, dtype=None) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine

        self._make_affine(self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)
        self.reset_parameters()

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
                f"bias={self.bias is not None}")


class RMSNorm(Module):
    """``x / sqrt(mean(x^2) + eps) * weight`` over the last dimensions, ``normalized_shape``: Zhang & Sennrich 2019.

    ``eps=None`` is the machine epsilon of the input's dtype.
    """

    def __init__(self, normalized_shape, eps: float | None = None, elementwise_affine: bool = True, device=None,
                 dtype=None) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = create.empty(self.normalized_shape, device=device, dtype=dtype) if elementwise_affine else None
        self.register_parameter("weight", None if weight is None else Parameter(weight))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x):
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LocalResponseNorm(Module):
    """``x / (k + alpha mean(x^2 over size neighbouring channels))^beta``: Krizhevsky et al. 2012."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """``LocalResponseNorm`` of (N, C, H, W) under its old name, for odd ``size``.

    (For an even size PyTorch's class of this name looks at one channel less than it should; this one does not.)
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)
