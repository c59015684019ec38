"""Workloads: what a call costs beyond the arithmetic. Ops on tiny tensors, recorded unless they say otherwise."""

import numpy as np

from .rows import row

CHAIN, CALLS = 1000, 1000


def leaf(torch, *shape):
    values = np.linspace(0.5, 1.5, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    return torch.from_numpy(values).requires_grad_()


# name: (function of a (4,), b (4,) and m (4, 4); whether the gate of a recorded op is upon it)
CALLS_OF = {
    "a + b": (lambda a, b, m: a + b, True),
    "a * b": (lambda a, b, m: a * b, True),
    "a * 2.0": (lambda a, b, m: a * 2.0, True),
    "a - b": (lambda a, b, m: a - b, True),
    "a.sin()": (lambda a, b, m: a.sin(), True),
    "a.exp()": (lambda a, b, m: a.exp(), True),
    "a.sum()": (lambda a, b, m: a.sum(), True),
    "m @ m": (lambda a, b, m: m @ m, True),
    "m.reshape(2, 8)": (lambda a, b, m: m.reshape(2, 8), True),
    "m.view(2, 8)": (lambda a, b, m: m.view(2, 8), True),
    "m.transpose(0, 1)": (lambda a, b, m: m.transpose(0, 1), True),
    "m[1]": (lambda a, b, m: m[1], True),
}


def calls(torch, f, recorded=True):
    a, b, m = leaf(torch, 4), leaf(torch, 4), leaf(torch, 4, 4)
    if not recorded:
        a, b, m = a.detach(), b.detach(), m.detach()

    def step():
        for _ in range(CALLS):
            f(a, b, m)
    return step


for text, (f, gated) in CALLS_OF.items():
    row(f"op/{text}", "overhead", f"`{text}`, recorded", *((0.8, 0.6) if gated else ()), steps=CALLS)(
        lambda torch, f=f: calls(torch, f))
row("op/a + b, no grad", "overhead", "`a + b`, nothing requires grad", steps=CALLS)(
    lambda torch: calls(torch, lambda a, b, m: a + b, recorded=False))


@row("chain", "overhead", f"{CHAIN:,}-op chain, forward and backward", 0.6, 0.36)
def chain(torch):
    a, b = leaf(torch, 4), leaf(torch, 4)
    one = torch.ones(4)

    def step():
        a.grad = b.grad = None
        y = a
        for _ in range(CHAIN // 2):
            y = y * 1.0001
            y = y + b
        y.backward(one)
    return step
