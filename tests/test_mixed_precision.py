"""autocast and GradScaler on the CPU: types of results, gradients, skipped steps, checkpoints."""

import threading

import pytest

import minitorch as torch
from minitorch import nn
from minitorch.amp import GradScaler, custom_bwd, custom_fwd
from minitorch.nn import functional as F


@pytest.fixture
def layer():
    torch.manual_seed(0)
    return nn.Linear(3, 2)


def test_which_ops_run_in_which_type(layer):
    x = torch.randn(4, 3)
    with torch.autocast("cpu"):
        y = layer(x)
        assert y.dtype == (x @ x.t()).dtype == torch.bfloat16
        assert (y + 1).dtype == torch.bfloat16 and (y + x.sum()).dtype == torch.bfloat16
        assert F.mse_loss(y, torch.zeros(4, 2)).dtype == torch.float32
        assert (x + 1).dtype == torch.float32, "only products are cast down"
        assert F.conv2d(torch.randn(1, 1, 4, 4), torch.randn(1, 1, 2, 2)).dtype == torch.bfloat16
    assert layer(x).dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gradients_come_back_in_float32_and_agree(layer, dtype):
    x = torch.randn(8, 3)
    layer(x).square().mean().backward()
    exact = layer.weight.grad.clone()
    layer.zero_grad()
    with torch.autocast("cpu", dtype=dtype):
        loss = layer(x).float().square().mean()
    loss.backward()
    assert layer.weight.grad.dtype == torch.float32
    torch.testing.assert_close(layer.weight.grad, exact, rtol=0.05, atol=0.02)


def test_blocks_nest_and_decorate(layer):
    x = torch.randn(4, 3)
    with torch.autocast("cpu"):
        assert torch.is_autocast_enabled("cpu") and not torch.is_autocast_enabled("cuda")
        with torch.autocast("cpu", enabled=False):
            assert layer(x).dtype == torch.float32
        assert layer(x).dtype == torch.bfloat16
    assert torch.autocast("cpu")(layer)(x).dtype == torch.bfloat16
    with pytest.raises(KeyError), torch.autocast("cpu"):
        raise KeyError
    assert not torch.is_autocast_enabled("cpu") and layer(x).dtype == torch.float32
    with pytest.warns(UserWarning, match="target dtype is not supported"), torch.autocast("cpu", dtype=torch.float64):
        assert layer(x).dtype == torch.float32


def test_each_thread_has_its_own_switch(layer):
    found = []
    with torch.autocast("cpu"):
        thread = threading.Thread(target=lambda: found.append(layer(torch.randn(4, 3)).dtype))
        thread.start()
        thread.join()
    assert found == [torch.float32]


def test_errors_inside_a_cast_call_leave_the_switch_on(layer):
    with torch.autocast("cpu"):
        with pytest.raises(RuntimeError, match="cannot be multiplied"):
            layer(torch.randn(4, 5))
        assert layer(torch.randn(4, 3)).dtype == torch.bfloat16


def test_scaler_steps_like_plain_training(layer):
    twin = nn.Linear(3, 2)
    twin.load_state_dict(layer.state_dict())
    scaler = GradScaler("cpu", init_scale=1024.0, growth_interval=2)
    ours, theirs = torch.optim.SGD(layer.parameters(), lr=0.1), torch.optim.SGD(twin.parameters(), lr=0.1)
    for i in range(4):
        x = torch.randn(5, 3)
        for optimizer in (ours, theirs):
            optimizer.zero_grad()
        scaler.scale(layer(x).square().mean()).backward()
        scaler.step(ours)
        scaler.update()
        twin(x).square().mean().backward()
        theirs.step()
        assert scaler.get_scale() == 1024 * 2 ** ((i + 1) // 2)
    torch.testing.assert_close(layer.weight, twin.weight)


def test_scaler_skips_steps_that_overflowed(layer):
    scaler, optimizer = GradScaler("cpu", init_scale=4.0), torch.optim.SGD(layer.parameters(), lr=0.1)
    before = layer.weight.detach().clone()
    scaler.scale((layer(torch.ones(1, 3)) * float("inf")).sum()).backward()
    assert scaler.step(optimizer) is None
    scaler.update()
    assert torch.equal(layer.weight, before) and scaler.get_scale() == 2


def test_scaler_order_and_state(layer):
    scaler, optimizer = GradScaler("cpu"), torch.optim.SGD(layer.parameters(), lr=0.1)
    with pytest.raises(AssertionError, match="No inf checks"):
        scaler.update()
    scaler.scale(layer(torch.ones(1, 3)).sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    assert layer.bias.grad.tolist() == [1, 1], "gradients to clip are the true ones"
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.step(optimizer)
    scaler.update(8.0)
    other = GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == 8
    off = GradScaler("cpu", enabled=False)
    assert off.get_scale() == 1 and off.state_dict() == {} and off.scale(3) == 3


def test_functions_under_mixed_precision():
    class Double(torch.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx, x):
            assert x.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
            return x * 2

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx, g):
            return g * 2
    x = torch.ones(2, requires_grad=True)
    with torch.autocast("cpu"):
        y = Double.apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]
