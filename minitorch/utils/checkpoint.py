"""Trade time for memory: `checkpoint` runs a part of a model again in the backward pass instead of keeping its values.

Chen et al. (2016), "Training deep nets with sublinear memory cost", https://arxiv.org/abs/1604.06174
"""

from ..autograd import api
from ..autograd.function import Function
from ..autograd.grad_mode import enable_grad, no_grad
from ..core.tensor import Tensor
from ..random.generator import default_states, restore_defaults

__all__ = ["checkpoint", "checkpoint_sequential"]


def checkpoint(function, *args, use_reentrant=None, context_fn=None, determinism_check="default", debug=False,
               preserve_rng_state=True, **kwargs):
    """``function(*args, **kwargs)`` without keeping what it computes in between.

    In the backward pass the function is called a second time, with the random generator in the state that it had in
    the first (unless `preserve_rng_state` is False), so dropout draws the same. Gradients reach `args` and every
    parameter that the function uses. `use_reentrant` and the further options are accepted for PyTorch's sake.
    """
    anchor = Tensor([0.0]).requires_grad_()                # parameters alone may need gradients: always record
    return _Checkpoint.apply(lambda *a: function(*a, **kwargs), preserve_rng_state, anchor, *args)


class _Checkpoint(Function):
    """Forward unrecorded; backward records the call again and pulls through it."""

    @staticmethod
    def forward(ctx, function, preserve, anchor, *args):
        ctx.function, ctx.preserve = function, preserve
        ctx.state = default_states() if preserve else None
        ctx.args = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*[a if isinstance(a, Tensor) else None for a in args])
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx, *grads):
        inputs = [a if t is None else t.detach().requires_grad_(t.requires_grad)
                  for a, t in zip(ctx.args, ctx.saved_tensors)]
        now = default_states()
        if ctx.preserve:
            restore_defaults(ctx.state)
        try:
            with enable_grad():
                outputs = ctx.function(*inputs)
        finally:
            if ctx.preserve:
                restore_defaults(now)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        live = [(o, g) for o, g in zip(outputs, grads) if isinstance(o, Tensor) and o.requires_grad and g is not None]
        if live:
            api.backward([o for o, _ in live], [g for _, g in live])
        return (None, None, None, *[x.grad if isinstance(x, Tensor) and x.requires_grad else None for x in inputs])


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """A `Sequential` or list of functions in `segments` parts, each checkpointed but the last."""
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(functions) // segments

    def run(part):
        def call(x):
            for f in part:
                x = f(x)
            return x
        return call
    for i in range(segments - 1):
        input = checkpoint(run(functions[i * size:(i + 1) * size]), input, **kwargs)
    return run(functions[(segments - 1) * size:])(input)
