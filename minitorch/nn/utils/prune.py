"""Pruning: parameters multiplied by masks of zeros and ones.

Pruning ``weight`` moves the parameter to ``weight_orig``, keeps the mask in the buffer ``weight_mask``, and a hook
makes ``weight`` their product before every ``forward``. ``remove`` makes the product the parameter. Pruned again, a
tensor loses a share of what is left. ``amount`` is a number of entries (int) or a share of them (float in [0, 1]).
"""

import numbers

from ...ops.creation.create import ones_like, zeros_like
from ...ops.creation.random import rand, rand_like
from ...ops.indexing.sort import topk
from ...ops.reductions.norms import norm
from ...ops.shapes.join import cat


class BasePruningMethod:
    """A way to choose what is pruned: subclasses define ``compute_mask(t, default_mask)`` and ``PRUNING_TYPE``,
    which is "unstructured" (single entries), "structured" (whole slices along ``dim``) or "global"."""

    PRUNING_TYPE: str

    def compute_mask(self, t, default_mask):
        """The mask for the tensor ``t``, which scores what is worth keeping; zero at least where ``default_mask``
        is."""
        raise NotImplementedError(f"{type(self).__name__} does not define compute_mask")

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    def apply_mask(self, module):
        """The pruned tensor: mask times original."""
        mask = getattr(module, self._tensor_name + "_mask")
        original = getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prune the parameter ``name`` of ``module``; returns the method. ``importance_scores``, shaped as the
        parameter, stands in for its values."""
        key, old = _find(module, name)
        method = cls(*args, **kwargs)
        method._tensor_name = name
        if old is not None:                     # pruned before: go on from there
            del module._forward_pre_hooks[key]
            method = PruningContainer(old, method)
            original = getattr(module, name + "_orig")
            default_mask = getattr(module, name + "_mask").detach().clone()
        else:
            original = getattr(module, name)
            default_mask = ones_like(original).detach()
        scores = getattr(module, name) if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}")
        mask = method.compute_mask(scores.detach(), default_mask)
        if old is None:
            del module._parameters[name]
            module.register_parameter(name + "_orig", original)
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """``t`` times the mask that this method computes for it."""
        scores = t if importance_scores is None else importance_scores
        default_mask = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask)

    def remove(self, module):
        """Make the pruned tensor the parameter, and forget original and mask."""
        name = self._tensor_name
        pruned = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = pruned.detach()
        del module._buffers[name + "_mask"]
        module.register_parameter(name, original)


class PruningContainer(BasePruningMethod):
    """Several methods, one after the other on what the ones before have left."""

    def __init__(self, *methods):
        self._tensor_name = methods[0]._tensor_name if methods else None
        self._pruning_methods = ()
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Append ``method``, which must be for the same parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name is None:                      # of an empty container: it is the first one's
            self._tensor_name = method._tensor_name
        if method._tensor_name != self._tensor_name:
            raise ValueError("Can only add pruning methods acting on the parameter named "
                             f"'{self._tensor_name}' to PruningContainer. Found '{method._tensor_name}'")
        more = method._pruning_methods if isinstance(method, PruningContainer) else (method,)
        self._pruning_methods += more

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, index):
        return self._pruning_methods[index]

    def compute_mask(self, t, default_mask):
        method, mask = self._pruning_methods[-1], default_mask.to(t.dtype, copy=True)
        if method.PRUNING_TYPE == "unstructured":
            left = mask != 0
        elif method.PRUNING_TYPE == "structured":
            others = [d for d in range(t.dim()) if d != method.dim % t.dim()]
            left = [slice(None)] * t.dim()
            left[method.dim] = (mask.sum(dim=others) != 0).nonzero().squeeze(1)
            left = tuple(left)
        else:
            left = (slice(None),) * t.dim()
        mask[left] = method.compute_mask(t[left], mask[left]).to(mask.dtype)
        return mask


def _check_amount(amount):
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (not isinstance(amount, numbers.Integral) and amount > 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _count(amount, size):
    """How many of ``size`` entries ``amount`` means; ValueError if more than there are."""
    if not isinstance(amount, numbers.Integral):
        return round(amount * size)
    if amount > size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")
    return amount


class Identity(BasePruningMethod):
    """Prunes nothing, but sets up mask and original."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        return default_mask


class _Unstructured(BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def __init__(self, amount):
        _check_amount(amount)
        self.amount = amount

    def compute_mask(self, t, default_mask):
        mask = default_mask.clone().contiguous()
        n = _count(self.amount, t.numel())
        if n:
            mask.view(-1)[self.choose(t, n)] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Prunes entries at random."""

    def choose(self, t, n):
        """`n` places, at random."""
        return topk(rand_like(t).view(-1), n).indices


class L1Unstructured(_Unstructured):
    """Prunes the entries with the smallest absolute values."""

    def choose(self, t, n):
        """The `n` places of the smallest magnitude."""
        return topk(t.abs().reshape(-1), n, largest=False).indices


class _Structured(BasePruningMethod):
    PRUNING_TYPE = "structured"

    def compute_mask(self, t, default_mask):
        if t.dim() <= 1:
            raise ValueError("Structured pruning can only be applied to multidimensional tensors. Found tensor of "
                             f"shape {t.shape} with {t.dim()} dims")
        if not -t.dim() <= self.dim < t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.size(self.dim)
        n = _count(self.amount, size)
        if n == 0:
            return default_mask
        shape = [1] * t.dim()
        shape[self.dim] = size
        return default_mask * self.keep(t, n).to(default_mask.dtype).view(shape)


class RandomStructured(_Structured):
    """Prunes slices along ``dim`` at random."""

    def __init__(self, amount, dim=-1):
        _check_amount(amount)
        self.amount, self.dim = amount, dim

    def keep(self, t, n):
        """Which channels stay when `n`, chosen at random, go."""
        chance = rand(t.size(self.dim))
        return chance > chance.kthvalue(n).values


class LnStructured(_Structured):
    """Prunes the slices along ``dim`` with the smallest ``n``-norm."""

    def __init__(self, amount, n, dim=-1):
        _check_amount(amount)
        self.amount, self.n, self.dim = amount, n, dim

    def keep(self, t, n):
        """Which channels stay when the `n` of the smallest norm go."""
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        norms = norm(t, p=self.n, dim=others)
        kept = zeros_like(norms)
        kept[topk(norms, t.size(self.dim) - n).indices] = 1
        return kept


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"default_mask shape {default_mask.shape} must match self.mask shape "
                                 f"{self.mask.shape}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module, name):
    """Set up mask and original of a parameter without pruning; returns the module, as all of these do."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prune entries at random."""
    RandomUnstructured.apply(module, name, amount=amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prune the entries with the smallest absolute values."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prune slices along ``dim`` at random."""
    RandomStructured.apply(module, name, amount=amount, dim=dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prune the slices along ``dim`` with the smallest ``n``-norm."""
    LnStructured.apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    """Prune where ``mask`` is zero."""
    CustomFromMask.apply(module, name, mask=mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prune several parameters, ``[(module, name), ...]``, as if they were one vector.

    ``importance_scores``: a dict of tensors by the same pairs, for those that their values should not speak for.
    """
    if not isinstance(parameters, (list, tuple)):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    if importance_scores is not None and not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    scores = [(importance_scores or {}).get((module, name), getattr(module, name)) for module, name in parameters]
    masks = [getattr(module, name + "_mask", ones_like(getattr(module, name)))
             for module, name in parameters]
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError('Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
                        f"{pruning_method} of type {method.PRUNING_TYPE}")
    method._tensor_name = "temp"
    container = PruningContainer(method)
    flat = [cat([t.detach().reshape(-1) for t in tensors]) for tensors in (scores, masks)]
    mask = container.compute_mask(*flat)
    for (module, name), part in zip(parameters, mask.split([t.numel() for t in scores])):
        custom_from_mask(module, name, part.view_as(getattr(module, name)))


def _find(module, name):
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return key, hook
    return None, None


def remove(module, name):
    """Make the pruned values the parameter for good; returns the module."""
    key, method = _find(module, name)
    if method is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    method.remove(module)
    del module._forward_pre_hooks[key]
    return module


def is_pruned(module):
    """True if some parameter of the module or of its descendants is pruned."""
    return any(isinstance(hook, BasePruningMethod) for m in module.modules() for hook in m._forward_pre_hooks.values())
