"""Guarded functions, which explain an error once a call has failed: guarded once, all variables readable."""

import traceback

import pytest

import minitorch as torch
from minitorch.autograd import dispatch
from minitorch.ops.define import composite
from minitorch.ops.guarded import guarded


def made(offset):
    @composite(namespace=None)                             # not published: other tests list what is
    def shifted(x):
        """`x` and a number that the function has from outside."""
        return x.array.nothing + offset
    return shifted


@pytest.mark.parametrize("exchanged", [False, True])
def test_a_debugger_may_read_the_variables_of_every_frame(exchanged):
    """It read memory that was none: the code of a first call had free variables without being given them."""
    function = made(1)
    if exchanged:
        dispatch.exchange(function)
    for _ in range(2):
        with pytest.raises(AttributeError, match="nothing") as error:
            function(torch.ones(2))
        text = "".join(traceback.TracebackException.from_exception(error.value, capture_locals=True).format())
        assert "offset = 1" in text and "test_guarded" in text


def test_a_function_is_guarded_once():
    def f(x):
        return x
    once = guarded(f)
    assert guarded(once) is once and guarded(once)(3) == 3
    x = torch.arange(6.0)
    assert x.as_strided((2, 2), (2, 1)).tolist() == torch.as_strided(x, (2, 2), (2, 1)).tolist() == [[0, 1], [2, 3]]
