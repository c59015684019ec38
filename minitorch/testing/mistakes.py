"""Notes on the common mistakes of training loops, as warnings: nothing there is an error, but nothing is learnt."""

import warnings
import weakref

from ..autograd.hooks import NodeHook, add_node_hook, remove_node_hook
from ..core.layers import observed
from ..optim.optimizer import register_optimizer_step_post_hook

__all__ = ["doctor"]


class doctor(NodeHook):
    """A context that warns (UserWarning, once each) of mistakes that PyTorch's rules allow:

    - a step of an optimiser without any gradient: ``loss.backward()`` was not called, or reached none of its tensors;
    - a backward pass that adds to the gradients that a step has used: ``optimizer.zero_grad()`` is missing;
    - probabilities given to `cross_entropy`, which takes logits and applies the softmax itself.

    It compares values, so training is slower inside it.

    >>> import minitorch as torch
    >>> w = torch.ones(1, requires_grad=True)
    >>> with torch.testing.doctor() as notes:
    ...     torch.optim.SGD([w], lr=0.1).step()
    >>> print(notes.notes[0])
    SGD.step() found no gradients: call loss.backward() before it, on a loss that depends on its parameters
    """

    def __init__(self):
        self.notes = []
        self.used = weakref.WeakKeyDictionary()            # optimiser -> the (parameter, gradient) pairs it has used

    def __enter__(self):
        self.layer = observed(self.look_at_call, lambda token, result: None)
        self.layer.__enter__()
        self.handle = register_optimizer_step_post_hook(self.look_at_step)
        add_node_hook(self)
        return self

    def __exit__(self, *exc):
        remove_node_hook(self)
        self.handle.remove()
        self.layer.__exit__(*exc)

    def note(self, text, stacklevel):
        if text not in self.notes:
            self.notes.append(text)
            warnings.warn(text, stacklevel=stacklevel + 1)

    def look_at_step(self, optimizer, args, kwargs):
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        self.used[optimizer] = [(p, p.grad) for p in parameters if p.grad is not None]
        if not self.used[optimizer]:
            self.note(f"{type(optimizer).__name__}.step() found no gradients: call loss.backward() before it, on a "
                      f"loss that depends on its parameters", 3)

    def backward(self, run):
        """The pass is about to add to gradients; those that a step has used should be gone, or zero."""
        for optimizer, pairs in self.used.items():
            if any(p.grad is grad and bool((grad != 0).any()) for p, grad in pairs):
                self.note(f"backward() adds to gradients that {type(optimizer).__name__}.step() has used: call "
                          f"optimizer.zero_grad() after each step", 6)
        self.used.clear()
        run()

    def look_at_call(self, name, arrays, attrs, backend):
        if name != "cross_entropy" or not arrays[0].size or arrays[0].ndim == 0:
            return
        x = arrays[0].astype("float32")
        totals = x.sum(1 if x.ndim > 1 else 0)
        if bool((x >= 0).all() and (abs(totals - 1) < 1e-3).all()):
            self.note("cross_entropy() was given probabilities (numbers in [0, 1] that sum to 1 over the classes): "
                      "give it the logits, it applies log_softmax itself", 6)
