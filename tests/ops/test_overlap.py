"""Reading and writing the same memory in one call: right, or refused."""

import pytest

import minitorch as torch


@pytest.mark.parametrize("call", [
    lambda x, i: torch.cat([x[:2], x[2:]], out=x), lambda x, i: torch.gather(x, 0, i, out=x),
    lambda x, i: torch.take(x, i, out=x), lambda x, i: torch.index_select(x, 0, i, out=x),
    lambda x, i: torch.stack([x, x], out=x.expand(2, 4)),
], ids=["cat", "gather", "take", "index_select", "stack"])
def test_out_that_is_the_input_is_refused_or_right(call):
    x = torch.arange(4.0)
    expected = {"cat": [0, 1, 2, 3]}
    try:
        found = call(x, torch.tensor([3, 0, 0, 1]))
    except RuntimeError as error:
        assert "memory" in str(error) and x.tolist() == [0, 1, 2, 3]
    else:
        assert found.tolist() in ([3, 0, 0, 1], expected["cat"])


def test_writes_from_their_own_transposed_memory():
    x = torch.arange(9.0).reshape(3, 3).clone()
    for target, source in ((x.t(), x), (x, x.t())):
        with pytest.raises(RuntimeError, match="single memory location"):
            target.add_(source)


def test_a_tensor_is_written_to_itself_only_in_a_shape_that_fits():
    x = torch.ones(4, 4, 3)
    x[None] = x
    x[...] = x[None]
    with pytest.raises((RuntimeError, ValueError), match="broadcast"):
        x[..., None] = x
    assert x._version == 0 or x.eq(1).all()


def test_a_tensor_is_written_to_its_own_elements_under_another_shape():
    x = torch.tensor([[1.0, 2.0]])
    x[-1, None].copy_(x)
    one = torch.ones(2)[:1]
    one[-1] = one
    assert x.tolist() == [[1, 2]] and one.tolist() == [1]
    with pytest.raises(RuntimeError, match="single memory location"):
        x = torch.arange(4.0)
        x[1:] = x[:-1]


def test_a_column_of_rows_is_negated_in_place_at_its_own_places():
    x = torch.arange(12.0).reshape(3, 4) + 1
    x[:2, :1].neg_()                                       # NumPy 2.4 negates the wrong elements through out=
    assert x[:, 0].tolist() == [-1, -5, 9] and x[0].tolist() == [-1, 2, 3, 4]
