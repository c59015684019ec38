"""Sizes are plain numbers where PyTorch has symbols; and assertions about them."""

import pytest

import minitorch as torch


def test_sizes_are_numbers():
    assert (torch.sym_max(2, 3.0), torch.sym_min(2, 3), torch.sym_int(-2.5), torch.sym_not(True)) == (3.0, 2, -2, False)
    assert isinstance(torch.sym_max(3, 2.0), float) and not isinstance(3, torch.SymInt)
    torch._assert(torch.ones(1) > 0, "fine")
    torch._assert_async(torch.ones(1), "fine")
    with pytest.raises(RuntimeError, match="wrong"):
        torch._assert_async(torch.zeros(1), "wrong")
    with pytest.raises(AssertionError, match="wrong"):
        torch._assert(False, "wrong")
