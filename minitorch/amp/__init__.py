"""Mixed precision training, ``torch.amp``: `autocast` (see `autocast_mode`) and the gradient scaler."""

import enum
import inspect
import math
from collections import defaultdict

from ..core.arrays import counted
from ..core.dtypes import float16
from ..core.graph import bump_version, calling_line, versions
from ..core.tensor import Tensor
from ..utils._pytree import tree_map
from . import autocast_mode
from .autocast_mode import autocast, get_autocast_dtype, is_autocast_available, is_autocast_enabled

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "get_autocast_dtype", "is_autocast_available",
           "is_autocast_enabled"]


def _setting(name):
    """A getter and a setter of the attribute `name`."""
    def get(self):
        return getattr(self, name)

    def set(self, value):
        setattr(self, name, value)
    get.__doc__ = f"The {name[1:].replace('_', ' ')}."
    set.__doc__ = f"Change the {name[1:].replace('_', ' ')}."
    return get, set


class OptState(enum.Enum):
    """How far the gradients of an optimizer are, in `GradScaler`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Scales the loss so that float16 gradients do not vanish, and skips steps whose gradients overflowed.

    ``scale(loss).backward(); step(optimizer); update()``. The scale starts at `init_scale`, is multiplied by
    `backoff_factor` after an overflow and by `growth_factor` after `growth_interval` steps without one.
    Micikevicius et al. (2018), "Mixed precision training", https://arxiv.org/abs/1710.03740
    """

    def __init__(self, device="cuda", init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000,
                 enabled=True):
        if growth_factor <= 1.0 or backoff_factor >= 1.0:
            raise AssertionError("The growth factor must be > 1.0, the backoff factor must be < 1.0.")
        self._scale, self._growth_factor, self._backoff_factor = float(init_scale), growth_factor, backoff_factor
        self._growth_interval, self._growth_tracker, self._enabled = growth_interval, 0, enabled
        self._scaled = False                               # whether something was ever scaled
        self._found = {}                                   # id of an optimizer -> was a gradient infinite or NaN?
        self._stepped = set()

    def scale(self, outputs):
        """`outputs`, a tensor or a collection of them, times the scale."""
        if not self._enabled:
            return outputs

        def scaled(output):
            if not isinstance(output, Tensor):
                raise ValueError("outputs must be a Tensor or an iterable of Tensors")
            self._scaled = True
            return output * self._scale
        return tree_map(scaled, outputs)

    def _check_scaled(self, function):
        """AssertionError if gradients would be divided by a scale that no loss was multiplied by."""
        if not self._scaled:
            raise AssertionError(f"Attempted {function} before anything was scaled: call scaler.scale(loss).backward() "
                                 "in place of loss.backward() first.")

    def unscale_(self, optimizer):
        """Divide the optimizer's gradients by the scale, as `step` does unless it was done before (to clip them)."""
        if not self._enabled:
            return
        self._check_scaled("unscale_")
        if id(optimizer) in self._found:
            raise RuntimeError("unscale_() is being called after step()." if id(optimizer) in self._stepped else
                               "unscale_() has already been called on this optimizer since the last update().")
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if any(grad.dtype is float16 for grad in grads):
            raise ValueError("Attempting to unscale FP16 gradients: keep parameters in float32, under autocast.")
        self._found[id(optimizer)] = unscale(grads, 1.0 / self._scale) if grads else None

    def step(self, optimizer, *args, **kwargs):
        """Unscale the gradients if that was not done, and step unless one of them is not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has already been called since the last update().")
        self._check_scaled("step")
        if id(optimizer) not in self._found:
            self.unscale_(optimizer)
        if self._found[id(optimizer)] is None:
            raise AssertionError("No inf checks were recorded for this optimizer: no parameter of it has a gradient.")
        self._stepped.add(id(optimizer))
        return None if self._found[id(optimizer)] else optimizer.step(*args, **kwargs)

    def update(self, new_scale=None):
        """Choose the scale of the next step, or set it."""
        if not self._enabled:
            return
        self._check_scaled("update")
        if new_scale is not None:
            self._scale = float(new_scale.item() if isinstance(new_scale, Tensor) else new_scale)
        elif set(self._found.values()) <= {None}:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif any(self._found.values()):
            self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                grown = self._scale * self._growth_factor
                self._scale, self._growth_tracker = grown if math.isfinite(grown) else self._scale, 0
        self._found.clear()
        self._stepped.clear()

    @property
    def _per_optimizer_states(self):
        """``{id of an optimizer: {"stage": OptState}}``, which libraries read: a new dict."""
        found = defaultdict(lambda: {"stage": OptState.READY})
        for key in self._found:
            stage = OptState.STEPPED if key in self._stepped else OptState.UNSCALED
            found[key] = {"stage": stage}
        return found

    def get_scale(self):
        """The scale as a number; 1 if disabled."""
        return self._scale if self._enabled else 1.0

    def is_enabled(self):
        """True if the scaler is enabled."""
        return self._enabled

    get_growth_factor, set_growth_factor = _setting("_growth_factor")
    get_backoff_factor, set_backoff_factor = _setting("_backoff_factor")
    get_growth_interval, set_growth_interval = _setting("_growth_interval")

    def state_dict(self):
        """State for a checkpoint; empty if disabled."""
        if not self._enabled:
            return {}
        return {"scale": self._scale, "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": self._growth_tracker}

    def load_state_dict(self, state_dict):
        """Take over what `state_dict` returned."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance "
                               "of GradScaler.")
        self._scale, self._growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]


def unscale(grads, factor):
    """Multiply the gradients by a number in place; whether one of them is then not finite."""
    grads = [g._values() if g.is_sparse else g for g in grads]
    backend = grads[0].backend if grads else None
    found = backend.scale_all([g.array for g in grads], factor, check=True) if grads else False
    if found is not False:
        versions.bump([counted(g.array) for g in grads], "GradScaler.unscale_", calling_line())
        return bool(found)
    overflow = False
    for grad in grads:
        array = grad.array
        array *= array.dtype.type(factor)
        bump_version(grad, "GradScaler.unscale_")
        overflow = overflow or not bool(grad.backend.xp.isfinite(array).all())
    return overflow


def custom_fwd(fwd=None, *, device_type="cuda", cast_inputs=None):
    """Decorator of the `forward` of a `Function` under mixed precision: with `cast_inputs`, run it in that type."""
    if fwd is None:
        return lambda f: custom_fwd(f, device_type=device_type, cast_inputs=cast_inputs)

    def wrapped(*args, **kwargs):
        if cast_inputs is None or not is_autocast_enabled(device_type):
            return fwd(*args, **kwargs)
        args = [a.to(cast_inputs) if isinstance(a, Tensor) and a.is_floating_point() else a for a in args]
        with autocast(device_type, enabled=False):
            return fwd(*args, **kwargs)
    wrapped.__signature__ = inspect.signature(fwd)
    return wrapped


def custom_bwd(bwd=None, *, device_type="cuda"):
    """Decorator of the `backward` of a `Function` under mixed precision; backward passes run outside of it here."""
    return bwd if bwd is not None else lambda f: custom_bwd(f, device_type=device_type)


vars(autocast_mode).update(custom_fwd=custom_fwd, custom_bwd=custom_bwd)       # PyTorch has them there
