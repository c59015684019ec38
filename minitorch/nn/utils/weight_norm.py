"""``weight_norm`` and ``spectral_norm`` of old: a hook computes the weight before every ``forward``.

Kept for the programs and files that use them (``weight_g``, ``weight_v``, ``weight_orig``, ``weight_u``); new code
takes those of ``nn.utils.parametrizations``.
"""

from ...autograd.grad_mode import no_grad
from ...explain.callers import warn
from .. import functional as F
from ..modules.conv import _ConvTransposeNd
from ..parameter import Parameter
from .parametrizations import norm_except_dim


def _find(module, kind, name):
    """The id of the hook of class ``kind`` for ``name``, or None."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            return key
    return None


def _register(module, hook):
    if _find(module, type(hook), hook.name) is not None:
        raise RuntimeError(f"Cannot register two {hook.title} hooks on the same parameter {hook.name}")
    hook.split(module)
    module.register_forward_pre_hook(hook)
    return module


def _remove(module, kind, name):
    key = _find(module, kind, name)
    if key is None:
        raise ValueError(f"{kind.title} of '{name}' not found in {module}")
    module._forward_pre_hooks.pop(key).join(module)
    return module


class WeightNorm:
    """``weight = g v / |v|``."""

    title = "weight_norm"

    def __init__(self, name, dim):
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module):
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return v * (g / norm_except_dim(v, self.dim))

    def split(self, module):
        weight = getattr(module, self.name)
        del module._parameters[self.name]
        module.register_parameter(self.name + "_g", Parameter(norm_except_dim(weight, self.dim).detach()))
        module.register_parameter(self.name + "_v", Parameter(weight.detach()))
        setattr(module, self.name, self.compute_weight(module))

    def join(self, module):
        weight = self.compute_weight(module)
        delattr(module, self.name)
        for part in ("_g", "_v"):
            del module._parameters[self.name + part]
        setattr(module, self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module, name="weight", dim=0):
    """Split a weight into length ``<name>_g`` and direction ``<name>_v``; see ``parametrizations.weight_norm``."""
    warn("`nn.utils.weight_norm` is deprecated in favor of `nn.utils.parametrizations.weight_norm`.",
         FutureWarning)
    return _register(module, WeightNorm(name, dim))


def remove_weight_norm(module, name="weight"):
    """Make the weight an ordinary parameter again."""
    return _remove(module, WeightNorm, name)


class SpectralNorm:
    """``weight = weight_orig / sigma``, sigma by power iterations on the buffers ``weight_u`` and ``weight_v``."""

    title = "spectral_norm"

    def __init__(self, name="weight", n_power_iterations=1, dim=0, eps=1e-12):
        if n_power_iterations <= 0:
            raise ValueError("Expected n_power_iterations to be positive, but got "
                             f"n_power_iterations={n_power_iterations}")
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def reshape_weight_to_matrix(self, weight):
        return weight.movedim(self.dim, 0).flatten(1)

    def compute_weight(self, module, do_power_iteration):
        weight, u, v = (getattr(module, self.name + end) for end in ("_orig", "_u", "_v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(matrix.t() @ u, dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix @ v, dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()     # the next iterations must not spoil this one's backward pass
        return weight / (u @ (matrix @ v))

    def split(self, module):
        weight = module._parameters[self.name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{self.name}` is None")
        with no_grad():
            sizes = self.reshape_weight_to_matrix(weight).size()
            u, v = (F.normalize(weight.new_empty(n).normal_(0, 1), dim=0, eps=self.eps) for n in sizes)
        delattr(module, self.name)
        module.register_parameter(self.name + "_orig", weight)
        # Not a parameter, but it must be there (for repr, initialisers, fusion) before the first forward.
        setattr(module, self.name, weight.data)
        module.register_buffer(self.name + "_u", u)
        module.register_buffer(self.name + "_v", v)

    def join(self, module):
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        delattr(module, self.name)
        for end in ("_u", "_v", "_orig"):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a weight by its spectral norm before every ``forward``; see ``parametrizations.spectral_norm``."""
    if dim is None:
        dim = 1 if isinstance(module, _ConvTransposeNd) else 0
    return _register(module, SpectralNorm(name, n_power_iterations, dim, eps))


def remove_spectral_norm(module, name="weight"):
    """Make the weight an ordinary parameter again."""
    return _remove(module, SpectralNorm, name)
