"""Losses: reductions and their old names, labels, dtypes, targets that would broadcast."""

import pytest

import minitorch as T
import minitorch.nn.functional as F
from minitorch import nn


def test_old_names_of_reductions_in_losses():
    with pytest.warns(UserWarning, match="reduction='sum'"):
        assert nn.MSELoss(size_average=False).reduction == "sum"
    with pytest.warns(UserWarning, match="reduction='none'"):
        assert nn.MSELoss(reduce=False).reduction == "none"
    with pytest.warns(UserWarning, match="reduction='mean'"):
        assert nn.MSELoss(reduce=True).reduction == "mean"


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_smoothed_labels_that_are_ignored(reduction):
    x, y = T.tensor([[1.0, 2, 4], [0, 5, 1], [2, 2, 3]]), T.tensor([0, -100, 2])
    found = F.cross_entropy(x, y, label_smoothing=0.2, reduction=reduction)
    kept = F.cross_entropy(x[[0, 2]], y[[0, 2]], label_smoothing=0.2, reduction=reduction)
    assert found.item() == pytest.approx(kept.item(), rel=1e-6)


@pytest.mark.parametrize("margin", [0.0, -1.0])
def test_margins_are_positive(margin):
    for make in (nn.TripletMarginWithDistanceLoss, nn.TripletMarginLoss):
        with pytest.raises(ValueError, match="greater than 0"):
            make(margin=margin)


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss])
@pytest.mark.filterwarnings("ignore")
def test_losses_of_a_number_tensor_keep_its_digits(loss):
    x, y = T.tensor(1.0, dtype=T.float64), T.ones(3, dtype=T.bfloat16)
    assert loss(x, y).dtype is loss(y, x).dtype is T.float64


def leaf(data):
    return T.tensor(data, dtype=T.float64, requires_grad=True)


def test_N_4_losses_pass_the_upstream_gradient_on():
    target = T.tensor([0])
    for loss in (F.cross_entropy, lambda x, t: F.nll_loss(F.log_softmax(x, 1), t),
                 lambda x, t: F.mse_loss(x, F.one_hot(t, 2).double())):
        one, three = leaf([[1.0, 2.0]]), leaf([[1.0, 2.0]])
        loss(one, target).backward()
        (3 * loss(three, target)).backward()
        assert T.allclose(three.grad, 3 * one.grad) and one.grad.any()


def test_N_5_large_logits():
    x = leaf([[1000.0, 0.0], [-1000.0, 0.0]])
    loss = F.cross_entropy(x, T.tensor([1, 0]))
    loss.backward()
    assert loss.item() == 1000 and x.grad.tolist() == [[0.5, -0.5], [-0.5, 0.5]]
    assert F.softmax(x, 1).isfinite().all() and F.log_softmax(x, 1).isfinite().all()


def test_D_15_the_mean_squared_error_is_a_mean():
    x, y = T.tensor([1.0, 2, 3]), T.tensor([1.0, 4, 7])
    assert F.mse_loss(x, y).item() == pytest.approx(20 / 3) and F.mse_loss(x, y, reduction="sum").item() == 20


def test_program_7_a_loss_whose_target_would_broadcast():
    x, y = T.ones(4, 1), T.ones(4)
    for loss in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.binary_cross_entropy_with_logits):
        with pytest.raises((RuntimeError, ValueError), match=r"(?s)\[4, 1\].*\[4\]|\[4\].*\[4, 1\]"):
            loss(x, y)
        assert loss(x, y.unsqueeze(1)).ndim == 0
    assert F.mse_loss(x, y.unsqueeze(1)).item() == 0
