"""The default random generator: seeding it, saving and restoring its state.

The functions that draw from it are in `minitorch.ops.creation.random`; docs/randomness.md says what a seed reproduces.
"""

import contextlib

from ..ops.define import composite
from . import philox  # noqa: F401  which enters its kind of generator
from .generator import Generator, default_generator, default_states, defaults, restore_defaults

__all__ = ["Generator", "default_generator", "manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state",
           "fork_rng"]


@composite(method=False)
def manual_seed(seed):
    """Start the default generators' streams of `seed`, an integer from -2**63 to 2**64 - 1; returns the CPU's."""
    for generator in defaults.values():
        generator.manual_seed(int(seed))
    return default_generator


@composite(method=False)
def seed():
    """Seed the default generators from the operating system's randomness; returns the seed."""
    found = default_generator.seed()
    manual_seed(found)
    return found


@composite(method=False)
def initial_seed():
    """The seed that the default generator's stream started from."""
    return default_generator.initial_seed()


@composite(method=False)
def get_rng_state():
    """The default generator's state, as a uint8 tensor."""
    return default_generator.get_state()


@composite(method=False)
def set_rng_state(new_state):
    """Continue from a state that `get_rng_state`, here or in PyTorch, has returned."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, device_type=None):
    """A context at whose end the default generators are again where they were at the beginning.

    Those of all devices are, so that `devices` and `device_type` make no difference. Without `enabled` nothing is
    restored.
    """
    states = default_states() if enabled else {}
    try:
        yield
    finally:
        restore_defaults(states)
