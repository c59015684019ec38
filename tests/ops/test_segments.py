"""`segment_reduce` against slices, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch

REDUCTIONS = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min}


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.data())
def test_segments_are_reduced_as_slices_are(data):
    reduce = data.draw(st.sampled_from(sorted(REDUCTIONS)))
    rows, lengths = data.draw(st.integers(1, 2)), []
    size = data.draw(st.integers(0, 6))
    for _ in range(rows):
        ends = [0, *sorted(data.draw(st.lists(st.integers(0, size), min_size=2, max_size=2))), size]
        lengths.append(np.diff(ends).tolist())
    initial = data.draw(st.sampled_from([None, 2.0]))
    x = torch.arange(rows * size * 2.0, dtype=torch.float64).reshape(rows, size, 2) - 3
    out = torch.segment_reduce(x, reduce, lengths=torch.tensor(lengths), axis=1, initial=initial)
    assert out.shape == (rows, 3, 2)
    offsets = torch.tensor([[0, *np.cumsum(row)] for row in lengths])
    assert torch.equal(out.nan_to_num(),
                       torch.segment_reduce(x, reduce, offsets=offsets, axis=1, initial=initial).nan_to_num())
    nothing = {"sum": 0.0, "mean": np.nan, "prod": 1.0, "max": -np.inf, "min": np.inf}[reduce]
    for i, row in enumerate(offsets.tolist()):
        for k in range(3):
            part = x.numpy()[i, row[k]:row[k + 1]]
            if initial is None:
                expected = REDUCTIONS[reduce](part, 0) if len(part) else np.full(2, nothing)
            elif reduce == "mean":
                expected = (part.sum(0) + initial) / max(len(part), 1)
            else:
                expected = REDUCTIONS[reduce](np.concatenate([part, np.full((1, 2), initial)]), 0)
            np.testing.assert_allclose(out[i, k].numpy(), expected)


def test_segments_that_do_not_fit_are_refused():
    x, number = torch.ones(4, 3), torch.tensor
    for error, match, keywords in (
            (RuntimeError, "Either lengths or offsets", {}),
            (RuntimeError, "indices based", dict(indices=number([0, 0, 1, 1]))),
            (RuntimeError, "sum to data.size", dict(lengths=number([2, 1]))),
            (RuntimeError, "sum to data.size", dict(lengths=number([3, 3]), unsafe=True)),
            (RuntimeError, "negative", dict(lengths=number([-1, 5]))),
            (RuntimeError, "decrease", dict(offsets=number([0, 3, 2, 4]))),
            (RuntimeError, "last dimension of lengths", dict(lengths=number([[2, 2]]))),
            (NotImplementedError, "Float", dict(lengths=number([2.0, 2.0])))):
        with pytest.raises(error, match=match):
            torch.segment_reduce(x, "sum", **keywords)
    with pytest.raises(RuntimeError, match="sum, prod, mean, amax or amin"):
        torch.segment_reduce(x, "median", lengths=number([4]))
    with pytest.raises(NotImplementedError):
        torch.segment_reduce(x.long(), "sum", lengths=number([4]))
    assert torch.segment_reduce(x, "sum", lengths=number([1, 2]), unsafe=True)[:, 0].tolist() == [1, 2]
    assert torch.segment_reduce(x, "sum", offsets=number([1, 2, 3]))[:, 0].tolist() == [1, 1]
    assert not hasattr(x, "segment_reduce")
