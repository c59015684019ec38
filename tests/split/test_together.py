"""Properties that held for each piece of work alone, and not for all of them together."""

import traceback

import pytest

import minitorch as torch
from minitorch.autograd import dispatch
from minitorch.core.grad_mode import open_batches, open_levels
from minitorch.func import jvp, vmap
from minitorch.ops.define import composite
from minitorch.ops.guarded import guarded


def made(offset):
    @composite(method=False)
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
        assert "offset = 1" in text and "test_together" in text


def test_a_function_is_guarded_once():
    def f(x):
        return x
    once = guarded(f)
    assert guarded(once) is once and guarded(once)(3) == 3
    x = torch.arange(6.0)
    assert x.as_strided((2, 2), (2, 1)).tolist() == torch.as_strided(x, (2, 2), (2, 1)).tolist() == [[0, 1], [2, 3]]


def test_threads_are_asked_for_levels_and_batches_only_within():
    seen = []

    def f(x):
        seen.append((len(open_levels), len(open_batches)))
        return x * 2
    jvp(vmap(f), (torch.ones(3),), (torch.ones(3),))
    vmap(lambda x: jvp(f, (x,), (x,))[1])(torch.ones(3))
    assert seen == [(1, 1), (1, 1)] and not open_levels and not open_batches
    for transformed in (vmap(lambda x: x.nothing), lambda x: jvp(lambda y: y.nothing, (x,), (x,))):
        with pytest.raises(AttributeError):
            transformed(torch.ones(3))
        assert not open_levels and not open_batches
