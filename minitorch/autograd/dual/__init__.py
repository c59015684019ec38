"""The backend of forward mode: arrays with a tangent, and how each op computes it.

While a level of forward mode is open, tensors that are differentiated hold `Dual` arrays on a
`DualBackend`: a value and its derivative in one direction, two arrays of the backend below.
Tensors, autograd and derivative formulas do not know about forward mode: they call ops of a
backend, which compute both (`calls.py`). Levels nest by standing on each other. Those of `vmap`
stand below them all: a batch of dual numbers is kept as a dual number of batches.
"""

from . import functions, writes  # noqa: F401  they fill hooks
