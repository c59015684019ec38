"""`associative_scan`: scans of pairs against their recurrence."""

from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch


@settings(max_examples=20, derandomize=True, deadline=None)
@given(st.integers(0, 9), st.booleans(), st.integers(0, 1))
def test_scan_of_pairs_is_a_recurrence(n, reverse, dim):
    from minitorch.func.scans import associative_scan
    torch.manual_seed(n)
    a, b = [torch.rand(n, 2).movedim(0, dim).requires_grad_() for _ in range(2)]
    _, found = associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b), dim=dim, reverse=reverse)
    rows, state = [], 0
    order = range(n)[::-1] if reverse else range(n)
    for i in order:
        state = a.select(dim, i) * state + b.select(dim, i)
        rows.append(state)
    expected = torch.stack(rows[::-1] if reverse else rows, dim) if rows else b
    torch.testing.assert_close(found, expected)
    if n > 1:
        for x, y in zip(torch.autograd.grad(found.sum(), (a, b)), torch.autograd.grad(expected.sum(), (a, b))):
            torch.testing.assert_close(x, y)
