"""Steps of optimisers where gradients are sparse: `SGD` and `Adagrad` take them, others refuse, as in PyTorch."""

from .. import no_grad
from ..extend import Elementwise
from ..optim import SGD, Adagrad, Adam, AdamW
from .functions import coalesce, dense
from .pointwise import add, mul, write_dense
from .tensor import SparseTensor

__all__ = ["step_sparse"]


@Elementwise.ask_first
def step_sparse(optimizer, key, group, params):
    """One step of parameters with sparse gradients, and of the others in the ordinary way; False if none is sparse."""
    found = [p for p in params if isinstance(p._grad, SparseTensor)]
    for p in params:
        buffer = optimizer.state.get(p, {}).get("momentum_buffer")
        if isinstance(buffer, SparseTensor) and not isinstance(p._grad, SparseTensor):
            optimizer.state[p]["momentum_buffer"] = dense(buffer)
    if not found:
        return False
    rule = RULES.get(type(optimizer).rule)
    if rule is None:
        name = type(optimizer).__name__
        instead = ", please consider SparseAdam instead" if isinstance(optimizer, Adam) and not isinstance(
            optimizer, AdamW) else ""
        raise RuntimeError(f"{name} does not support sparse gradients{instead}")
    if group["weight_decay"]:
        raise RuntimeError("weight_decay option is not compatible with sparse gradients")
    others = [p for p in params if not isinstance(p._grad, SparseTensor)]
    with no_grad():
        for p in found:
            grad = coalesce(p._grad.detach())
            rule(group, p, mul(grad, -1) if group["maximize"] else grad, optimizer.state[p])
    if others:
        optimizer._update(key, group, others)
    return True


def sgd(group, p, grad, state):
    """Gradient descent of the entries; the momentum is sparse too, and grows with every entry that ever was."""
    if group["momentum"]:
        buffer = state.get("momentum_buffer")
        if buffer is None:
            buffer = grad
        elif isinstance(buffer, SparseTensor):
            buffer = coalesce(add(mul(buffer, group["momentum"]), grad, alpha=1 - group["dampening"]))
        else:
            buffer = write_dense("add", buffer.mul_(group["momentum"]), grad, alpha=1 - group["dampening"])
        state["momentum_buffer"] = buffer.clone() if buffer is grad else buffer
        grad = add(grad, buffer, alpha=group["momentum"]) if group["nesterov"] else buffer
    if isinstance(grad, SparseTensor):
        write_dense("add", p, grad, alpha=-float(group["lr"]))
    else:
        p.add_(grad, alpha=-float(group["lr"]))


def adagrad(group, p, grad, state):
    """Adagrad of the entries: `optim.adaptive.adagrad` where there are some."""
    state["step"].array[()] += 1
    lr = float(group["lr"]) / (1 + (float(state["step"].array) - 1) * group["lr_decay"])
    at, g, total = tuple(grad.array.pattern.indices), grad.array.values, state["sum"].array
    total[at] += g * g
    step = grad.detach()
    step.array = type(grad.array)(grad.array.pattern, g / (p.backend.xp.sqrt(total[at]) + group["eps"]))
    write_dense("add", p, step, alpha=-lr)


# The rules that are known for entries. A subclass with a rule of its own is refused.
RULES = {SGD.rule: sgd, Adagrad.rule: adagrad}
