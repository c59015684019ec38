"""Random programs of views, writes in place and recorded calls, run by both libraries: values and gradients agree.

Where they differ PyTorch refuses what is well defined here: it gives up where a value that a derivative needs was
overwritten by the very op that needs it, and where a value overlaps the memory that it is written to.
"""

import random
import warnings

import numpy as np
import pytest

import minitorch

torch = pytest.importorskip("torch", reason="parity tests compare with PyTorch")

VIEWS = [lambda t: t[1:], lambda t: t[..., :2], lambda t: t[::2], lambda t: t.transpose(0, -1), lambda t: t[0],
         lambda t: t.reshape(-1), lambda t: t.view(-1), lambda t: t.unsqueeze(0), lambda t: t.diagonal(),
         lambda t: t[...], lambda t: t.narrow(0, 0, 1), lambda t: t.select(-1, 0), lambda t: t.squeeze()]
OPS = [lambda t, s: t.sin(), lambda t, s: t.exp(), lambda t, s: t * 2, lambda t, s: t + 1, lambda t, s: t * t,
       lambda t, s: t.sum(0), lambda t, s: t * s, lambda t, s: t + s, lambda t, s: t.clone(), lambda t, s: t.detach()]
WRITES = [lambda t, s: t.add_(s), lambda t, s: t.mul_(s), lambda t, s: t.copy_(s), lambda t, s: t.div_(2),
          lambda t, s: t.mul_(1.5), lambda t, s: t.sin_(), lambda t, s: t.exp_(), lambda t, s: t.zero_(),
          lambda t, s: t.fill_(0.7), lambda t, s: t.clamp_(0.3, 0.9), lambda t, s: t.tanh_(), lambda t, s: t.neg_(),
          lambda t, s: t.relu_(), lambda t, s: t.square_()]
ASSIGNMENTS = [(0, True), ((..., slice(1, None)), 3.0), (slice(1, None), True), (..., True), ([0], 0.5), ([0, 2], 0.25)]
REFUSED_BY_PYTORCH = ("modified by an inplace operation", "refer to a single memory location", "a leaf Variable")


def random_program(rng):
    """Steps (kind, which, two numbers that choose the tensors)."""
    kinds = {"view": VIEWS, "op": OPS, "write": WRITES, "assign": ASSIGNMENTS, "no_grad": [None]}
    steps = []
    for _ in range(rng.randint(3, 9)):
        kind = rng.choice(["view"] * 4 + ["write"] * 5 + ["op"] * 5 + ["assign"] * 3 + ["no_grad"])
        steps.append((kind, rng.choice(kinds[kind]), rng.random(), rng.random()))
    return steps


def run(torch, steps):
    """The outcome of each step, the tensors at the end, and the gradients (or the error) of a
    weighted sum of them."""
    x, w = [torch.tensor(np.linspace(a, b, 12).reshape(3, 4), requires_grad=True) for a, b in ((0.2, 2), (1, -1))]
    tensors, outcomes = [x * 1.0, w * 2.0, x, torch.zeros(3, 4, dtype=torch.float64)], []
    for kind, what, a, b in steps:
        t, s = [tensors[int(u * len(tensors))] for u in (a, b)]
        try:
            if kind == "view":
                tensors.append(what(t))
            elif kind == "op":
                tensors.append(what(t, s))
            elif kind == "write":
                what(t, s)
            elif kind == "assign":
                index, value = what
                t[index] = s[index] if value is True else value
            else:
                with torch.no_grad():
                    t.mul_(1.1)
            outcomes.append(None)
        except (RuntimeError, IndexError) as error:
            outcomes.append(error)
    loss = sum((t * (k + 1)).sum() for k, t in enumerate(tensors) if t.requires_grad)
    try:
        loss.backward()
    except RuntimeError as error:
        return outcomes, tensors, error
    return outcomes, tensors, [g if g is None else g.numpy() for g in (x.grad, w.grad)]


def refused(error):
    return any(words in str(error) for words in REFUSED_BY_PYTORCH)


@pytest.mark.parametrize("block", range(8))
def test_programs_of_writes(block):
    compared = 0
    for seed in range(60):
        steps = random_program(random.Random(f"{block} {seed}"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours, theirs = run(minitorch, steps), run(torch, steps)
        failed = [(a, b) for a, b in zip(ours[0], theirs[0]) if a or b]
        assert all(a is not None or refused(b) for a, b in failed), f"{block} {seed}: {failed}"
        if any(b is not None and not (a is not None and refused(b)) for a, b in failed):
            continue                                       # PyTorch may have written a part before it raised
        for a, b in zip(ours[1], theirs[1]):
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), err_msg=f"{block} {seed}")
            assert a.requires_grad == b.requires_grad
        if isinstance(theirs[2], Exception):
            assert refused(theirs[2]), f"{block} {seed}: {theirs[2]}"
            continue
        assert not isinstance(ours[2], Exception), f"{block} {seed}: {ours[2]}"
        for a, b in zip(ours[2], theirs[2]):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a, b, rtol=1e-9, err_msg=f"{block} {seed}")
        compared += 1
    assert compared > 20
