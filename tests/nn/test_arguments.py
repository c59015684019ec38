"""Arguments that losses and layers refuse, as PyTorch does: probabilities, dtypes of class indices, data in the
place of settings."""

import inspect

import pytest

import minitorch as torch
from minitorch import nn

F = nn.functional
DTYPES = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
LONG, LONG_BYTE, LONG_INT = (torch.int64,), (torch.int64, torch.uint8), (torch.int64, torch.int32)


# ---- probabilities -------------------------------------------------------------------------------
@pytest.mark.parametrize("bad", [1.5, -0.1, float("nan")])
@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_inputs_and_targets_are_probabilities(bad, device):
    good, wrong = torch.tensor([0.0, 0.5, 1.0], device=device), torch.tensor([0.0, bad, 1.0], device=device)
    assert F.binary_cross_entropy(good, good).isfinite()
    with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
        F.binary_cross_entropy(wrong, good)
    with pytest.raises(RuntimeError, match="all elements of target should be between 0 and 1"):
        nn.BCELoss()(good, wrong)
    assert not F.binary_cross_entropy_with_logits(good, wrong).isinf()         # which takes any


# ---- class indices -------------------------------------------------------------------------------
logits = torch.zeros(2, 3)


@pytest.mark.parametrize("function, allowed", [
    (lambda y: F.cross_entropy(logits, y), LONG_BYTE),
    (lambda y: F.cross_entropy(logits, y, label_smoothing=0.1), LONG_BYTE),
    (lambda y: F.nll_loss(logits, y), LONG_BYTE),
    (lambda y: F.nll_loss(torch.zeros(2, 3, 1, 1), y.reshape(2, 1, 1)), LONG),
    (lambda y: F.multi_margin_loss(logits, y), LONG),
    (lambda y: F.multilabel_margin_loss(torch.zeros(2), y), LONG),
    (lambda y: F.embedding(y, logits), LONG_INT),
    (lambda y: F.embedding_bag(y.reshape(1, 2), logits), LONG_INT),
    (lambda y: F.one_hot(y), LONG),
    (lambda y: torch.repeat_interleave(torch.zeros(2), y), LONG_INT),
    (lambda y: torch.repeat_interleave(y), LONG_INT),
    (lambda y: torch.zeros(2).index_put((y,), torch.tensor(1.0)), (*LONG_INT, torch.uint8)),
    (lambda y: torch.gather(torch.zeros(3), 0, y), LONG_INT),
    (lambda y: torch.take(logits, y), LONG),
])
def test_indices_have_the_dtypes_that_pytorch_takes(function, allowed):
    for dtype in DTYPES:
        y = torch.tensor([0, 1], dtype=dtype)
        if dtype in allowed:
            function(y)
        else:
            with pytest.raises((RuntimeError, IndexError), match="ong|not implemented"):
                function(y)


# ---- settings ------------------------------------------------------------------------------------
LOSSES = [getattr(nn, name) for name in dir(nn) if name.endswith("Loss")]
x, y = torch.randn(2, 3), torch.tensor([0, 1])


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
def test_a_loss_is_not_made_of_predictions_and_targets(loss):
    with pytest.raises((RuntimeError, TypeError, ValueError)) as raised:
        loss(x, y)
    takes = [p for p in inspect.signature(loss).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    words = f"`nn.{loss.__name__}(...)(input, target)`"
    assert words in str(raised.value) or len(takes) < 2 or any(
        word in str(raised.value) for word in ("ambiguous", "missing", "delta must be"))


@pytest.mark.parametrize("make", [
    lambda: nn.CrossEntropyLoss(x, y), lambda: nn.MSELoss(x, y),
    lambda: nn.CTCLoss(x, y), lambda: nn.PoissonNLLLoss(x, y), lambda: nn.Softmax(x),
    lambda: nn.Flatten(x), lambda: nn.MaxPool2d(x), lambda: nn.GELU(x), lambda: nn.LeakyReLU(x),
    lambda: nn.Linear(x, x), lambda: nn.CosineSimilarity(x, x),
    lambda: nn.Upsample(x), lambda: nn.PixelShuffle(x), lambda: nn.Embedding(x, x)])
def test_a_layer_is_not_made_of_data(make):
    with pytest.raises((RuntimeError, TypeError), match=r"makes a layer, .* as in `nn\.\w+\(...\)\(input"):
        make()


def test_tensors_that_are_settings_are_taken():
    assert nn.LeakyReLU(torch.tensor(0.5))(torch.tensor(-2.0)) == -1
    assert nn.CrossEntropyLoss(torch.ones(3)).weight.shape == (3,)
    assert nn.BCEWithLogitsLoss(pos_weight=torch.ones(3)).pos_weight.shape == (3,)

    class Mine(nn.Softmax):                                # a class of the user's own keeps what it likes
        def __init__(self, table):
            super().__init__(dim=1)
            self.table = table
    assert Mine(x).table is x
    layer = torch.nn.utils.spectral_norm(nn.Linear(3, 2))
    assert layer(x).shape == (2, 2)


def test_what_has_no_shape_yet_has_no_data():
    lazy = nn.LazyLinear(2)
    assert lazy.weight.data.shape == (0,) and type(lazy.weight.data) is torch.Tensor
    lazy(x)
    assert lazy.weight.data.shape == (2, 3)
