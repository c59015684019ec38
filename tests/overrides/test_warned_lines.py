"""Warnings name the line of the user's, whatever lies between it and the function that warns."""

import contextlib
import warnings

import pytest

import minitorch as torch
from minitorch.explain import callers

F = torch.nn.functional


class Sub(torch.Tensor):
    """A subclass: its calls go through ``__torch_function__``."""


class Quiet(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))           # a line of the user's, too


HANDLER = Quiet.__torch_function__.__code__.co_firstlineno + 1


def image():
    return torch.ones(1, 1, 4, 4)


# Composites, an op's kernel, composites that cast in mixed precision, out=, indices, modules, initialisers.
CALLS = [
    lambda x: F.softmax(x), lambda x: F.log_softmax(x), lambda x: torch.nn.Softmax()(x),
    lambda x: torch.nn.Sequential(torch.nn.Softmin())(x), lambda x: torch.std(x[:1, :1, :1, 0]),
    lambda x: x[:1, :1, :1, 0].var(), lambda x: F.mse_loss(x, x[..., 0]), lambda x: F.kl_div(x, x),
    lambda x: F.grid_sample(x, torch.zeros(1, 2, 2, 2)), lambda x: F.upsample(x, scale_factor=2),
    lambda x: torch.add(x, x, out=torch.ones(3)), lambda x: x[torch.ones(1, dtype=torch.uint8)],
    lambda x: F.dropout2d(x[0, 0]), lambda x: torch.nn.init.kaiming_uniform_(torch.empty(0, 2)),
    lambda x: x.permute(1, 2, 0, 3)[0].T,
]
AROUND = {"nothing": contextlib.nullcontext, "a mode": Quiet, "mixed precision": lambda: torch.autocast("cpu"),
          "both": lambda: contextlib.ExitStack()}


@pytest.mark.parametrize("around", list(AROUND))
@pytest.mark.parametrize("call", CALLS)
def test_the_line_is_the_caller_s(call, around):
    with AROUND[around]() as stack:
        if around == "both":
            stack.enter_context(torch.autocast("cpu"))
            stack.enter_context(Quiet())
        for kind in (torch.Tensor, Sub):
            for _ in range(2):                             # the first call, and one after it
                with warnings.catch_warnings(record=True) as found:
                    warnings.simplefilter("always")
                    try:
                        call(image().as_subclass(kind))
                    except (RuntimeError, NotImplementedError):
                        pass                               # what mixed precision does not take
                ours = [w for w in found if issubclass(w.category, UserWarning | DeprecationWarning | FutureWarning)]
                assert ours or around != "nothing", call
                lines = {call.__code__.co_firstlineno} | ({HANDLER} if around in ("a mode", "both") else set())
                assert {w.filename for w in ours} <= {__file__} and {w.lineno for w in ours} <= lines


def test_once_for_each_line_and_module():
    """As `warnings.warn`: filters by module and the registry of what was shown are the caller's."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            F.softmax(torch.ones(2))
        warnings.filterwarnings("ignore", module=__name__)
        F.softmax(torch.ones(2))
    assert len(found) == 1


def test_without_a_caller_the_outermost_frame_is_named():
    code = compile("callers.warn('alone')", callers.__file__, "exec")
    with pytest.warns(UserWarning, match="alone"):
        exec(code, {"callers": callers})
