"""``skip_init``: a module whose initial values do not matter, because they will be loaded."""

import inspect

from ... import random
from ..modules.module import Module


def skip_init(module_cls, *args, **kwargs):
    """``module_cls(*args, **kwargs)`` with undefined values and the random number generator as it was before.

    PyTorch saves the time of drawing the values; here they are drawn and the generator is set back.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    state = random.get_rng_state()
    try:
        return module_cls(*args, **kwargs)
    finally:
        random.set_rng_state(state)
