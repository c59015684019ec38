"""`torch.jit`: annotations and functions that give back what they take; `fork` and its futures."""

import typing

import pytest

import minitorch as torch
from minitorch import nn


def test_jit_returns_what_it_is_given():
    def f(x):
        return x + 1
    linear = nn.Linear(2, 3)
    for decorate in (torch.jit.script, torch.jit.export, torch.jit.unused, torch.jit.ignore, torch.jit.interface,
                     torch.jit.ignore(drop=True), torch.jit.script_method, torch.jit.script_if_tracing):
        assert decorate(f) is f
    assert torch.jit.script(linear) is torch.jit.trace(linear, torch.ones(1, 2)) is linear
    assert not torch.jit.is_scripting() and not torch.jit.is_tracing() and torch.jit.annotate(int, 3) == 3
    assert not isinstance(linear, torch.jit.ScriptModule) and torch.jit.Final is typing.Final

    class Scripted(torch.jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        @torch.jit.script_method
        def forward(self, x):
            return self.layer(x)
    assert Scripted()(torch.ones(1, 2)).shape == (1, 2) and len(Scripted().state_dict()) == 2


def test_jit_refuses_files_and_says_what_to_do(tmp_path):
    with pytest.raises(NotImplementedError, match="state_dict"):
        torch.jit.save(nn.Linear(1, 1), tmp_path / "x.pt")
    with pytest.raises(NotImplementedError, match="state_dict"):
        torch.jit.load(tmp_path / "x.pt")
    with pytest.raises(RuntimeError, match="eval"):
        torch.jit.freeze(nn.Linear(1, 1))
    assert torch.jit.freeze(nn.Linear(1, 1).eval()).training is False


@pytest.mark.parametrize("value, kind, answer", [
    ([1, 2], list[int], True), ([1, "a"], list[int], False), ([], list[str], True), ({"a": 1}, dict[str, int], True),
    ({"a": "b"}, dict[str, int], False), ((1, "a"), tuple[int, str], True), ((1,), tuple[int, str], False),
    ((1, 2, 3), tuple[int, ...], True), (None, typing.Optional[int], True), (3, int | None, True),      # noqa: UP045
    (3.0, int | str, False),
    ([None, 1], list[int | None], True), (3, (str, int), True), ([[1]], list[list[int]], True)])
def test_jit_isinstance_looks_inside(value, kind, answer):
    assert torch.jit.isinstance(value, kind) is answer


def test_jit_isinstance_needs_an_element_type():
    with pytest.raises(RuntimeError, match="needs an element type"):
        torch.jit.isinstance([1], list)


def test_errors_of_futures_reach_who_waits():
    future = torch.futures.Future()
    after = future.then(lambda done: done.wait())
    future.set_exception(ValueError("broken"))
    good = torch.jit.fork(lambda x: x + 1, torch.ones(1))
    for failing in (future, after, torch.futures.collect_all([good, future])):
        with pytest.raises(ValueError, match="broken"):
            failing.wait()
    assert torch.jit.wait(good).item() == 2.0 and torch.futures.wait_all([good])[0] is good.value()
    assert torch.futures.collect_all([]).wait() == []
    with pytest.raises(AssertionError):
        future.set_exception("no exception")
