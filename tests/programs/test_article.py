"""The article that this library started from: its training run, its look into a tensor's memory, its small programs."""

import ctypes
import runpy

import pytest

import minitorch as torch
from tests import ROOT

LOSSES = [1.7035, 0.7193, 0.3068, 0.1742, 0.1342, 0.1232, 0.1220, 0.1241, 0.1270, 0.1297]
SCRIPT = ROOT / "examples" / "article.py"


def test_the_training_run_prints_the_articles_losses(capsys):
    losses = runpy.run_path(str(SCRIPT))["train"]()
    assert [round(loss, 4) for loss in losses] == LOSSES
    printed = capsys.readouterr().out.split("\n")
    assert printed[:10] == [f"Epoch [{i}/10], Loss: {loss:.4f}" for i, loss in enumerate(LOSSES, 1)]


# As the article has it, but for the colon's annotation.
def print_internal(t: torch.Tensor):
    print(
        torch.frombuffer(
            ctypes.string_at(t.data_ptr(), t.storage().nbytes()), dtype=t.dtype
        )
    )


def internal(t, capsys):
    print_internal(t)
    return capsys.readouterr().out


@pytest.mark.filterwarnings("ignore")                      # PyTorch warns of a buffer that cannot be written to
def test_print_internal_shows_the_storage(capsys):
    t = torch.arange(0, 24).reshape(2, 3, 4)
    new_t = t.transpose(0, 1)
    in_order = ("tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
                "        18, 19, 20, 21, 22, 23])\n")
    assert internal(t, capsys) == in_order
    assert internal(new_t, capsys) == in_order, "transposing leaves the storage as it is"
    assert internal(new_t.contiguous(), capsys) == (
        "tensor([ 0,  1,  2,  3, 12, 13, 14, 15,  4,  5,  6,  7, 16, 17, 18, 19,  8,  9,\n"
        "        10, 11, 20, 21, 22, 23])\n"), "contiguous() rearranges it"


@pytest.mark.filterwarnings("ignore")
def test_print_internal_of_floats(capsys):
    torch.manual_seed(0)
    t = torch.rand(2, 3, 4)
    assert t.stride() == (12, 4, 1)
    assert internal(t, capsys) == internal(t.reshape(4, 6), capsys) == repr(t.flatten()) + "\n"


def test_strides_and_contiguity():
    t = torch.arange(0, 24).reshape(2, 3, 4)
    new_t = t.transpose(0, 1)
    assert repr(t.shape) == "torch.Size([2, 3, 4])" and t.stride() == (12, 4, 1)
    assert repr(new_t.shape) == "torch.Size([3, 2, 4])" and new_t.stride() == (4, 12, 1)
    assert t.is_contiguous() and not new_t.is_contiguous()
    assert new_t.contiguous().is_contiguous()
    assert t[1, 2, 3].item() == t.storage()[12 * 1 + 4 * 2 + 1 * 3]


def test_gradients_of_the_articles_example():
    x = torch.tensor([[1., 2, 3], [3., 2, 1]], requires_grad=True)
    y = torch.tensor([[3., 2, 1], [1., 2, 3]], requires_grad=True)
    L = ((x - y) ** 3).sum()
    L.backward()
    assert x.grad.tolist() == [[12, 0, 12], [12, 0, 12]]
    assert y.grad.tolist() == [[-12, 0, -12], [-12, 0, -12]]
