"""The backend of `vmap`: arrays with a hidden axis, and how each op treats it.

Inside `minitorch.func.vmap` tensors hold `Batched` arrays on a `BatchedBackend`. Such an array shows the shape of one
element of the batch and has another one, the first of its `value`, an array of the backend below: all elements of the
batch, or 1 where they are the same. Tensors, autograd and derivative formulas do not know about
vmap: they call ops of a backend. A backend may stand on another batched one: that is a vmap in a
vmap.

How an op treats the hidden axis is derived from its index notation (`classes.py`): elementwise ops
treat it as one more leading dimension, those with `dim` count one further. The labels of a call
show how others are one call of the op on the backend below (`ways.py`). Where they do not, the
reference itself is run: on batched arrays, whose functions (`functions.py`) handle the axis. A few
rules are written by hand (`rules/`), each with its reason. What depends on the values of one
element runs element by element (`loop.py`).
"""
